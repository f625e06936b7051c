"""`Settings`: all the knobs of one run."""

from collections.abc import Mapping
from typing import Any, Self, get_args

from pydantic import ConfigDict, ValidationError, field_validator, model_validator

from crag_graph.errors import ConfigurationError
from crag_graph.settings.cascade import CascadeKnobs
from crag_graph.settings.evidence import EvidenceKnobs
from crag_graph.settings.models import ModelKnobs
from crag_graph.settings.profiles import PROFILES, Aggregate, Profile, Thresholds, to_unit
from crag_graph.settings.prompts import PromptKnobs
from crag_graph.settings.retrieval import RetrievalKnobs
from crag_graph.settings.verdict import VerdictKnobs
from crag_graph.settings.web import WebKnobs


# The last base comes first in the schema, and so in Studio and in the table of README.
class Settings(
    PromptKnobs, ModelKnobs, WebKnobs, EvidenceKnobs, RetrievalKnobs, CascadeKnobs, VerdictKnobs
):
    """The per-run knobs; the context schema of the graph. Frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", title="CRAG settings")

    def __init__(self, **fields: Any) -> None:
        # LangGraph builds the context itself from what a client sends: it too gets our sentence.
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise ConfigurationError(_one_sentence(error)) from None

    @field_validator("*", mode="before")
    @classmethod
    def _no_booleans_for_numbers(cls, value: Any, info: Any) -> Any:
        if isinstance(value, bool) and not _is_switch(cls.model_fields[info.field_name].annotation):
            raise ValueError("a number or a word is needed, not true or false")
        return value

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Self:
        if self.upper is not None and self.lower is not None and self.lower > self.upper:
            raise ValueError(f"lower ({self.lower:g}) is above upper ({self.upper:g})")
        top, bottom = self.grey_upper, self.grey_lower
        if top is not None and bottom is not None and bottom > top:
            raise ValueError(f"grey_lower ({bottom:g}) is above grey_upper ({top:g})")
        return self

    @classmethod
    def of(cls, context: object) -> "Settings":
        """Return the settings that `context` stands for.

        `context` is nothing (the defaults), a `Settings`, a mapping of fields, or a parent graph's
        own context: an object or mapping that carries any of these under `crag`. A parent's
        context without `crag` means the defaults.

        Raises:
            ConfigurationError: A field is unknown, off its scale or of the wrong type; the message
                names it.
        """
        if context is None:
            return _DEFAULTS
        if isinstance(context, cls):
            return context
        if isinstance(context, Mapping):
            if "crag" in context:
                return cls.of(context["crag"])
            return cls(**{str(name): value for name, value in context.items()})
        return cls.of(getattr(context, "crag", None))

    def thresholds(
        self, profiles: Mapping[str, Profile] = PROFILES, *, default: str = "general"
    ) -> Thresholds:
        """Return the profile's thresholds on 0–1 with this run's overrides in their place.

        Args:
            profiles: The profiles to choose from, by name.
            default: The profile when these settings name none.

        Raises:
            ConfigurationError: There is no such profile, or lower ends up above upper.
        """
        name = self.profile or default
        profile = profiles.get(name)
        if profile is None:
            known = ", ".join(sorted(profiles))
            raise ConfigurationError(f"profile: there is no {name!r}; there are {known}")
        upper = to_unit(profile.upper, profile.scale) if self.upper is None else self.upper
        lower = to_unit(profile.lower, profile.scale) if self.lower is None else self.lower
        if lower > upper:
            raise ConfigurationError(
                f"lower ({lower:g}) is above upper ({upper:g}) with profile {profile.name!r}"
            )
        k = profile.min_relevant_docs if self.min_relevant_docs is None else self.min_relevant_docs
        aggregate = self.aggregate or profile.aggregate
        if self.aggregate is None and self.min_relevant_docs is not None:
            aggregate = _aggregate_for(profile.aggregate, k)
        own = self.upper is not None and self.lower is not None
        return Thresholds(
            upper=upper,
            lower=lower,
            aggregate=aggregate,
            min_relevant_docs=k,
            profile=profile.name,
            provenance=profile.provenance,
            evaluator="" if own else profile.evaluator,
            fingerprint="" if own else profile.fingerprint,
        )


def _is_switch(annotation: Any) -> bool:
    return annotation is bool or bool in get_args(annotation)


def _aggregate_for(aggregate: Aggregate, k: int) -> Aggregate:
    return "kth_best" if aggregate == "max" and k > 1 else aggregate


def _one_sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "settings"
    if first["type"] == "extra_forbidden":
        return f"{field}: there is no such setting"
    return f"{field}: {first['msg'].removeprefix('Value error, ')}"


_DEFAULTS = Settings()
