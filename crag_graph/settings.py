"""The knobs of one run, with bounds and hints for Studio, and the threshold profiles.

`Settings` is the context schema of the graph: pass it, or a mapping of its fields, as `context=`.
Secrets and addresses are never settings; they come from the environment.
"""

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from crag_graph.errors import ConfigurationError

Aggregate = Literal["max", "mean", "kth_best"]
Scale = Literal["unit", "five_point", "signed"]
EvaluationMode = Literal["fused", "staged", "per_passage"]
OutagePolicy = Literal["ambiguous", "irrelevant", "raise", "local"]
Topic = Literal["general", "news", "finance"]
TimeRange = Literal["day", "week", "month", "year"]

_DOMAIN = re.compile(r"[\w-]+(\.[\w-]+)*")  # \w: international names as people write them

_SCALES: dict[Scale, tuple[float, float]] = {
    "unit": (0.0, 1.0),
    "five_point": (1.0, 5.0),
    "signed": (-1.0, 1.0),
}


def to_unit(value: float, scale: Scale) -> float:
    """Return `value` of `scale` on the internal scale, 0–1.

    `five_point` is 1–5 as (s−1)/4, `signed` is −1…1 as (s+1)/2, `unit` is already 0–1.

    Raises:
        ValueError: The value is not a finite number on its scale.
    """
    low, high = _SCALES[scale]
    if not math.isfinite(value) or not low <= value <= high:
        raise ValueError(f"{value} is not between {low:g} and {high:g} ({scale})")
    return (value - low) / (high - low)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Profile:
    """Thresholds under a name, and where they come from.

    Attributes:
        name: What `Settings.profile` and `CRAG_PROFILE` call it.
        upper: The aggregate from which the action is correct, on `scale`, inclusive.
        lower: The aggregate down from which it is incorrect, on `scale`, inclusive.
        scale: `unit` (0–1), `five_point` (1–5) or `signed` (−1…1).
        aggregate: `max`, `mean` or `kth_best` (the `min_relevant_docs`-th best grade).
        min_relevant_docs: How many passages must reach the bar, from 1.
        provenance: Where the numbers come from.
        labels: On how many labels they were chosen; 0 where they were not fitted here.
    """

    name: str
    upper: float
    lower: float
    scale: Scale = "unit"
    aggregate: Aggregate = "max"
    min_relevant_docs: int = 1
    provenance: str = ""
    labels: int = 0

    def __post_init__(self) -> None:
        for field in ("upper", "lower"):
            try:
                to_unit(getattr(self, field), self.scale)
            except ValueError as error:
                raise ConfigurationError(f"profile {self.name!r}: {field}: {error}") from None
        if self.lower > self.upper:
            raise ConfigurationError(
                f"profile {self.name!r}: lower ({self.lower:g}) is above upper ({self.upper:g})"
            )
        if self.min_relevant_docs < 1:
            raise ConfigurationError(f"profile {self.name!r}: min_relevant_docs must be at least 1")


_HAND_SET = "hand-set starting point for this field, not fitted on labels"
_PAPER = "Yan et al. 2024, Corrective Retrieval Augmented Generation (arXiv:2401.15884), section 5"

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(name="general", upper=0.7, lower=0.3, provenance=_HAND_SET),
        Profile(
            name="medical",
            upper=0.85,
            lower=0.5,
            aggregate="kth_best",
            min_relevant_docs=2,
            provenance=_HAND_SET,
        ),
        Profile(
            name="legal",
            upper=0.80,
            lower=0.45,
            aggregate="kth_best",
            min_relevant_docs=2,
            provenance=_HAND_SET,
        ),
        Profile(name="ecommerce", upper=0.6, lower=0.25, provenance=_HAND_SET),
        Profile(
            name="five_point",
            upper=4,
            lower=2,
            scale="five_point",
            provenance="the usual reading of a 1–5 relevance scale: 4 and up good, 2 and down bad",
        ),
        Profile(name="paper-popqa", upper=0.59, lower=-0.99, scale="signed", provenance=_PAPER),
        Profile(name="paper-pubhealth", upper=0.5, lower=-0.91, scale="signed", provenance=_PAPER),
        Profile(name="paper-arc", upper=0.5, lower=-0.91, scale="signed", provenance=_PAPER),
        Profile(name="paper-bio", upper=0.95, lower=-0.91, scale="signed", provenance=_PAPER),
    )
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What the verdict compares with, on the internal scale 0–1: a profile with its overrides."""

    upper: float
    lower: float
    aggregate: Aggregate
    min_relevant_docs: int
    profile: str
    provenance: str


def _knob(title: str, description: str, *nodes: str, default: Any, **bounds: Any) -> Any:
    """Return a field with its Studio hints: `nodes` are the nodes that the knob belongs to."""
    hints: dict[str, Any] = {"langgraph_nodes": list(nodes)}
    return Field(default, title=title, description=description, json_schema_extra=hints, **bounds)


def _prompt(title: str, file: str, node: str) -> Any:
    """Return the field for a run's own text in place of `prompts/{file}`; Studio edits it."""
    hints: dict[str, Any] = {"langgraph_nodes": [node], "langgraph_type": "prompt"}
    return Field(
        "",
        title=title,
        description=f"In place of prompts/{file}, which tells its variables; empty: that file.",
        json_schema_extra=hints,
        max_length=50_000,
    )


class Settings(BaseModel):
    """The per-run knobs; the context schema of the graph. Frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", title="CRAG settings")

    profile: str | None = _knob(
        "Threshold profile",
        "Named thresholds that turn grades into an action; a built-in name or one of your own; "
        "unset: CRAG_PROFILE, else general.",
        "route",
        min_length=1,
        max_length=100,
        default=None,
    )
    upper: float | None = _knob(
        "Upper threshold",
        "Aggregate from which the action is correct, inclusive, on 0–1; unset: the profile's.",
        "route",
        ge=0,
        le=1,
        default=None,
    )
    lower: float | None = _knob(
        "Lower threshold",
        "Aggregate down from which the action is incorrect, inclusive, on "
        "0–1; unset: the profile's.",
        "route",
        ge=0,
        le=1,
        default=None,
    )
    aggregate: Aggregate | None = _knob(
        "Aggregate",
        "How the grades become one number: the best, their mean, or the k-th "
        "best (k = min_relevant_docs); unset: the profile's.",
        "route",
        default=None,
    )
    min_relevant_docs: int | None = _knob(
        "Passages that must reach the bar",
        "k of the k-th best aggregate; unset: the "
        "profile's. A value above 1 turns the aggregate max into kth_best.",
        "route",
        ge=1,
        le=50,
        default=None,
    )
    outage_policy: OutagePolicy = _knob(
        "When grading fails",
        "What to do when no passage could be graded: treat it "
        "as ambiguous or irrelevant, raise, or grade with the local evaluator.",
        "evaluate",
        "route",
        default="ambiguous",
    )
    top_k: int = _knob(
        "Passages",
        "How many passages are retrieved and graded.",
        "retrieve",
        ge=1,
        le=100,
        default=5,
    )
    retrieval_mode: Literal["hybrid", "dense", "sparse"] = _knob(
        "Retrieval mode",
        "Dense vectors, BM25, or both fused.",
        "retrieve",
        default="hybrid",
    )
    candidates: int = _knob(
        "Candidates per list",
        "How deep each list is read before fusion.",
        "retrieve",
        ge=1,
        le=1000,
        default=50,
    )
    dense_weight: float = _knob(
        "Weight of dense scores",
        "Share of the dense list in the fused score; the rest is BM25's.",
        "retrieve",
        ge=0,
        le=1,
        default=0.6,
    )
    strip_floor: float = _knob(
        "Strip floor",
        "Strips below this score are dropped.",
        "refine",
        "web_search",
        ge=0,
        le=1,
        default=0.3,
    )
    strip_top_k: int = _knob(
        "Strips kept",
        "At most this many strips of each origin are kept.",
        "refine",
        "web_search",
        ge=1,
        le=200,
        default=12,
    )
    evidence_tokens: int = _knob(
        "Evidence budget",
        "Tokens of evidence that the generator is given, about.",
        "generate",
        ge=100,
        le=200_000,
        default=3000,
    )
    web_search: bool = _knob(
        "Web search",
        "Whether the web may be searched, where a provider is configured.",
        "web_search",
        default=True,
    )
    max_results: int = _knob(
        "Web results",
        "Results asked of the provider for one search.",
        "web_search",
        ge=1,
        le=20,
        default=5,
    )
    max_searches: int = _knob(
        "Searches a run",
        "Most searches that one run may send.",
        "web_search",
        ge=0,
        le=10,
        default=1,
    )
    web_seconds: float = _knob(
        "Seconds for the web",
        "Wall time of all searching, retries and providers in reserve included.",
        "web_search",
        gt=0,
        le=300,
        default=15.0,
    )
    web_gate: Literal["local", "llm"] = _knob(
        "Gate for web results",
        "Who judges them: the local evaluator, or the run's own, which may cost a model call.",
        "web_search",
        default="local",
    )
    topic: Topic = _knob(
        "Topic",
        "What kind of pages to search, where the provider knows the difference.",
        "web_search",
        default="general",
    )
    time_range: TimeRange | None = _knob(
        "Age of pages",
        "How old a page may be; unset: any age.",
        "web_search",
        default=None,
    )
    include_domains: tuple[str, ...] = _knob(
        "Only these domains",
        "Search these domains and their subdomains alone, such as example.org.",
        "web_search",
        max_length=50,
        default=(),
    )
    exclude_domains: tuple[str, ...] = _knob(
        "Never these domains",
        "Leave out these domains and their subdomains.",
        "web_search",
        max_length=50,
        default=(),
    )
    prefer_wikipedia: bool = _knob(
        "Wikipedia first",
        "Rank pages of Wikipedia before all others, as the paper does.",
        "web_search",
        default=False,
    )
    prefer_recent: bool | None = _knob(
        "Recent pages first",
        "Rank by date where dates are known; unset: when the question asks for what is current.",
        "web_search",
        default=None,
    )
    approve_searches: bool = _knob(
        "Ask before searching",
        "Interrupt the run before the first search: a person approves, edits or refuses it.",
        "web_search",
        default=False,
    )
    redact_queries: bool = _knob(
        "Redact queries",
        "Take e-mail addresses, phone numbers and what looks like a secret out of queries.",
        "web_search",
        default=True,
    )

    evaluation_mode: EvaluationMode = _knob(
        "How a model grades",
        "fused: one call grades, marks strips and writes the web query; staged: these are three "
        "calls; per_passage: one call a passage, on 0–1. Of no effect without a model.",
        "evaluate",
        "refine",
        "web_search",
        default="fused",
    )
    batch_passages: int = _knob(
        "Passages a call",
        "Most passages that one grading call holds; more are graded in parallel calls.",
        "evaluate",
        ge=1,
        le=100,
        default=20,
    )
    batch_tokens: int = _knob(
        "Tokens a call",
        "Most tokens of passages that one grading call holds, about.",
        "evaluate",
        ge=500,
        le=200_000,
        default=8000,
    )
    passage_tokens: int = _knob(
        "Tokens a passage",
        "A longer passage is graded by its beginning and its best matching parts, about so long.",
        "evaluate",
        ge=100,
        le=50_000,
        default=1500,
    )
    sub_queries: int = _knob(
        "Web queries",
        "Most web queries that a question of several parts is split into.",
        "evaluate",
        "web_search",
        ge=1,
        le=5,
        default=1,
    )
    withhold_instructions: bool = _knob(
        "Withhold instructions",
        "Keep sentences of passages that give the model orders from it. Turn it off for a corpus "
        "about prompts; passages stay fenced as data either way.",
        "evaluate",
        "refine",
        "generate",
        default=True,
    )
    verify_quotes: bool = _knob(
        "Verify quotes",
        "Check that each cited sentence of the answer overlaps what it cites; report the share.",
        "generate",
        default=False,
    )
    max_llm_calls: int | None = _knob(
        "Model calls a run",
        "Most requests to language models; then the run goes on without one. Unset: no limit.",
        "evaluate",
        "refine",
        "web_search",
        "generate",
        ge=0,
        le=1000,
        default=None,
    )
    max_tokens: int | None = _knob(
        "Tokens a run",
        "Most tokens in and out, over all model calls. Unset: no limit.",
        "evaluate",
        "refine",
        "web_search",
        "generate",
        ge=0,
        le=10_000_000,
        default=None,
    )
    max_seconds: float | None = _knob(
        "Seconds a run",
        "After so long no further model call or search is begun. Unset: no limit.",
        "evaluate",
        "refine",
        "web_search",
        "generate",
        gt=0,
        le=3600,
        default=None,
    )
    prompt_evaluate: str = _prompt("Prompt: fused grading", "evaluate.md", "evaluate")
    prompt_grade: str = _prompt("Prompt: staged grading", "grade.md", "evaluate")
    prompt_grade_passage: str = _prompt(
        "Prompt: grading one passage", "grade_passage.md", "evaluate"
    )
    prompt_refine: str = _prompt("Prompt: staged refinement", "refine.md", "refine")
    prompt_rewrite: str = _prompt("Prompt: web query", "rewrite.md", "web_search")
    prompt_answer_correct: str = _prompt(
        "Prompt: answer from the corpus", "answer_correct.md", "generate"
    )
    prompt_answer_incorrect: str = _prompt(
        "Prompt: answer from the web", "answer_incorrect.md", "generate"
    )
    prompt_answer_ambiguous: str = _prompt(
        "Prompt: answer from both", "answer_ambiguous.md", "generate"
    )

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

    @field_validator("include_domains", "exclude_domains")
    @classmethod
    def _domains(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        domains = tuple(domain.strip().strip(".").lower() for domain in value)
        for given, domain in zip(value, domains, strict=True):
            if not _DOMAIN.fullmatch(domain):
                raise ValueError(f"a domain such as example.org is needed, not {given!r}")
        return domains

    @model_validator(mode="after")
    def _thresholds_in_order(self) -> Self:
        if self.upper is not None and self.lower is not None and self.lower > self.upper:
            raise ValueError(f"lower ({self.lower:g}) is above upper ({self.upper:g})")
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
        return Thresholds(
            upper=upper,
            lower=lower,
            aggregate=aggregate,
            min_relevant_docs=k,
            profile=profile.name,
            provenance=profile.provenance,
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
