"""The knobs of refinement and of the evidence that is left."""

from pydantic import BaseModel

from crag_graph.settings.knob import knob


class EvidenceKnobs(BaseModel):
    """Which strips are kept.

    The defaults of floor and top k come from labelled sentences (`python -m benchmarks.strips`): of
    those that keep recall, the ones that keep the least text.
    """

    strip_floor: float = knob(
        "Strip floor",
        "Strips below this score are dropped.",
        "refine",
        "web_search",
        ge=0,
        le=1,
        default=0.4,
    )
    strip_top_k: int = knob(
        "Strips kept",
        "At most this many strips of each origin are kept.",
        "refine",
        "web_search",
        ge=1,
        le=200,
        default=8,
    )
    evidence_tokens: int = knob(
        "Evidence budget",
        "Tokens of evidence that the generator is given, about.",
        "generate",
        ge=100,
        le=200_000,
        default=3000,
    )
