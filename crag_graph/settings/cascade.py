"""The knobs of the cascade: where the cheap evaluator's word is enough."""

from pydantic import BaseModel

from crag_graph.settings.knob import knob


class CascadeKnobs(BaseModel):
    """The grey band, inside of which a cascade asks the language model."""

    grey_upper: float | None = knob(
        "Top of the grey band",
        "A cascade trusts its first evaluator where the aggregate reaches this; unset: halfway "
        "from the upper threshold to 1. Higher: more model calls. Of no effect without "
        "CRAG_EVALUATOR=cascade.",
        "evaluate",
        "web_search",
        ge=0,
        le=1,
        default=None,
    )
    grey_lower: float | None = knob(
        "Bottom of the grey band",
        "A cascade trusts its first evaluator where the aggregate is not above this; unset: "
        "halfway from the lower threshold to 0. Lower: more model calls.",
        "evaluate",
        "web_search",
        ge=0,
        le=1,
        default=None,
    )
