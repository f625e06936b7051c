"""The web search that the environment names."""

from collections.abc import Callable, Mapping

from crag_graph.environment import Environment
from crag_graph.errors import ConfigurationError
from crag_graph.search.base import WebSearch
from crag_graph.search.brave import BraveSearch
from crag_graph.search.chain import SearchChain
from crag_graph.search.duckduckgo import DuckDuckGoSearch
from crag_graph.search.exa import ExaSearch
from crag_graph.search.http import HTTPSearch
from crag_graph.search.limits import Ledger, LimitedSearch, shared_limiter
from crag_graph.search.searxng import SearxngSearch
from crag_graph.search.tavily import TavilySearch
from crag_graph.search.wikipedia import WikipediaSearch

LEDGER_FILE = "web_searches.sqlite3"
"""The file in `CRAG_HOME` that counts the searches of each month."""
PER_SECOND = "CRAG_WEB_PER_SECOND"
MONTHLY_CAP = "CRAG_WEB_MONTHLY_CAP"

Variables = Mapping[str, str]


def _plain(provider: type[HTTPSearch]) -> Callable[[Variables], WebSearch]:
    def build(variables: Variables) -> WebSearch:
        return provider(
            api_key=variables.get(provider.key_variable, "") if provider.key_variable else "",
            base_url=variables.get(provider.url_variable, ""),
        )

    return build


def _wikipedia(variables: Variables) -> WebSearch:
    return WikipediaSearch(
        base_url=variables.get(WikipediaSearch.url_variable, ""),
        user_agent=variables.get("WIKIPEDIA_USER_AGENT", ""),
    )


def _duckduckgo(variables: Variables) -> WebSearch:
    return DuckDuckGoSearch(base_url=variables.get(DuckDuckGoSearch.url_variable, ""))


PROVIDERS: Mapping[str, Callable[[Variables], WebSearch]] = {
    "tavily": _plain(TavilySearch),
    "brave": _plain(BraveSearch),
    "exa": _plain(ExaSearch),
    "searxng": _plain(SearxngSearch),
    "wikipedia": _wikipedia,
    "duckduckgo": _duckduckgo,
}
"""How each provider that `CRAG_WEB_SEARCH` may name is built from the environment."""


def build_web_search(environment: Environment) -> WebSearch | None:
    """Return the web search that `environment` names; None when it names none.

    Nothing is sent. Several names make a chain in their order; `CRAG_WEB_PER_SECOND` and
    `CRAG_WEB_MONTHLY_CAP` limit each provider in it.

    Raises:
        ConfigurationError: A name is not known, a key or address is missing or cannot be, or a
            limit is no number; the message names the variable.
    """
    providers = [_limited(_built(name, environment), environment) for name in _names(environment)]
    if len(providers) > 1:
        return SearchChain(providers)
    return providers[0] if providers else None


def _names(environment: Environment) -> list[str]:
    return list(dict.fromkeys(environment.web_search))


def _built(name: str, environment: Environment) -> WebSearch:
    if name not in PROVIDERS:
        known = ", ".join(PROVIDERS)
        raise ConfigurationError(f"CRAG_WEB_SEARCH: there is no {name!r}; there are {known}")
    return PROVIDERS[name](environment.variables)


def _limited(provider: WebSearch, environment: Environment) -> WebSearch:
    rate = _number(environment.variables, PER_SECOND, least=0.001)
    cap = _number(environment.variables, MONTHLY_CAP, least=0)
    if rate is None and cap is None:
        return provider
    return LimitedSearch(
        provider,
        limiter=None if rate is None else shared_limiter(provider.name, rate),
        ledger=None if cap is None else Ledger(environment.home / LEDGER_FILE, cap=int(cap)),
    )


def _number(variables: Variables, name: str, *, least: float) -> float | None:
    if name not in variables:
        return None
    try:
        value = float(variables[name])
    except ValueError:
        value = float("nan")
    if not least <= value <= 1e9:  # not a number is on neither side
        raise ConfigurationError(f"{name}: a number from {least:g} is needed")
    return value
