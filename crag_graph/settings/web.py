"""The knobs of web search."""

import re
from typing import Literal

from pydantic import BaseModel, field_validator

from crag_graph.settings.knob import knob

Topic = Literal["general", "news", "finance"]
TimeRange = Literal["day", "week", "month", "year"]

_DOMAIN = re.compile(r"[\w-]+(\.[\w-]+)*")  # \w: international names as people write them


class WebKnobs(BaseModel):
    """Whether, how and how much of the web is searched."""

    web_search: bool = knob(
        "Web search",
        "Whether the web may be searched, where a provider is configured.",
        "web_search",
        default=True,
    )
    max_results: int = knob(
        "Web results",
        "Results asked of the provider for one search.",
        "web_search",
        ge=1,
        le=20,
        default=5,
    )
    max_searches: int = knob(
        "Searches a run",
        "Most searches that one run may send.",
        "web_search",
        ge=0,
        le=10,
        default=1,
    )
    web_seconds: float = knob(
        "Seconds for the web",
        "Wall time of all searching, retries and providers in reserve included.",
        "web_search",
        gt=0,
        le=300,
        default=15.0,
    )
    web_gate: Literal["local", "llm"] = knob(
        "Gate for web results",
        "Who judges them: the local evaluator, or the run's own, which may cost a model call. A "
        "scorer that asks no model judges them either way.",
        "web_search",
        default="local",
    )
    topic: Topic = knob(
        "Topic",
        "What kind of pages to search, where the provider knows the difference.",
        "web_search",
        default="general",
    )
    time_range: TimeRange | None = knob(
        "Age of pages",
        "How old a page may be; unset: any age.",
        "web_search",
        default=None,
    )
    include_domains: tuple[str, ...] = knob(
        "Only these domains",
        "Search these domains and their subdomains alone, such as example.org.",
        "web_search",
        max_length=50,
        default=(),
    )
    exclude_domains: tuple[str, ...] = knob(
        "Never these domains",
        "Leave out these domains and their subdomains.",
        "web_search",
        max_length=50,
        default=(),
    )
    prefer_wikipedia: bool = knob(
        "Wikipedia first",
        "Rank pages of Wikipedia before all others, as the paper does.",
        "web_search",
        default=False,
    )
    prefer_recent: bool | None = knob(
        "Recent pages first",
        "Rank by date where dates are known; unset: when the question asks for what is current.",
        "web_search",
        default=None,
    )
    approve_searches: bool = knob(
        "Ask before searching",
        "Interrupt the run before the first search: a person approves, edits or refuses it.",
        "web_search",
        default=False,
    )
    redact_queries: bool = knob(
        "Redact queries",
        "Take e-mail addresses, phone numbers and what looks like a secret out of queries.",
        "web_search",
        default=True,
    )

    @field_validator("include_domains", "exclude_domains")
    @classmethod
    def _domains(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        domains = tuple(domain.strip().strip(".").lower() for domain in value)
        for given, domain in zip(value, domains, strict=True):
            if not _DOMAIN.fullmatch(domain):
                raise ValueError(f"a domain such as example.org is needed, not {given!r}")
        return domains
