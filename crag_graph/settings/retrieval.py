"""The knobs of retrieval."""

from typing import Literal

from pydantic import BaseModel

from crag_graph.settings.knob import knob


class RetrievalKnobs(BaseModel):
    """How passages are found."""

    top_k: int = knob(
        "Passages",
        "How many passages are retrieved and graded.",
        "retrieve",
        ge=1,
        le=100,
        default=5,
    )
    retrieval_mode: Literal["hybrid", "dense", "sparse"] = knob(
        "Retrieval mode",
        "Dense vectors, BM25, or both fused.",
        "retrieve",
        default="hybrid",
    )
    candidates: int = knob(
        "Candidates per list",
        "How deep each list is read before fusion.",
        "retrieve",
        ge=1,
        le=1000,
        default=50,
    )
    dense_weight: float = knob(
        "Weight of dense scores",
        "Share of the dense list in the fused score; the rest is BM25's.",
        "retrieve",
        ge=0,
        le=1,
        default=0.6,
    )
