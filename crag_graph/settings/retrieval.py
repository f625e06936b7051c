"""The knobs of retrieval."""

from typing import Literal, Self

from pydantic import BaseModel, model_validator

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
    rerank_from: int = knob(
        "Rerank from",
        "So many passages are retrieved and scored, and the best top_k kept. The evaluator scores "
        "them; where it is a language model, the local one. 0: off.",
        "retrieve",
        ge=0,
        le=200,
        default=0,
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

    @model_validator(mode="after")
    def _more_than_are_kept(self) -> Self:
        if 0 < self.rerank_from < self.top_k:
            raise ValueError(
                f"rerank_from ({self.rerank_from}) is below top_k ({self.top_k}): it says of how "
                "many passages the top_k best are kept"
            )
        return self
