import subprocess
import sys
from pathlib import Path

import pytest

from crag_graph.environment import Environment
from crag_graph.errors import ConfigurationError, SearchQuotaError
from crag_graph.search.base import WebSearch
from crag_graph.search.chain import SearchChain
from crag_graph.search.providers import PROVIDERS, build_web_search
from tests.fakes.web_servers import WebServer
from tests.fakes.web_servers_wire import KEY, PAGE, TAVILY, WIRES

KEYS = {
    "TAVILY_API_KEY": KEY,
    "BRAVE_API_KEY": KEY,
    "EXA_API_KEY": KEY,
    "SEARXNG_URL": "https://s.example",
}


def built(**variables: str) -> WebSearch | None:
    return build_web_search(Environment.read({"CRAG_HOME": "nowhere", **variables}))


@pytest.mark.case(31)
@pytest.mark.parametrize("variables", [{}, {"CRAG_WEB_SEARCH": "off"}, {"TAVILY_API_KEY": " "}])
def test_without_a_choice_there_is_no_web_search(variables):
    assert built(**variables) is None


def test_a_tavily_key_alone_is_a_choice():
    web = built(TAVILY_API_KEY=KEY)
    assert web is not None
    assert web.name == "tavily"


@pytest.mark.parametrize("name", PROVIDERS)
def test_each_name_builds_its_provider(name):
    web = built(CRAG_WEB_SEARCH=name, **KEYS)
    assert isinstance(web, WebSearch)
    assert web.name == name


def test_several_names_make_a_chain_in_their_order_each_once():
    web = built(CRAG_WEB_SEARCH=" Exa , tavily,exa, wikipedia ", **KEYS)
    assert isinstance(web, SearchChain)
    assert web.name == "exa, tavily, wikipedia"


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ConfigurationError, match=r"no 'gogle'.*tavily, brave.*duckduckgo"):
        built(CRAG_WEB_SEARCH="tavily,gogle", **KEYS)


@pytest.mark.case(31)
@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("tavily", "TAVILY_API_KEY"),
        ("brave", "BRAVE_API_KEY"),
        ("exa", "EXA_API_KEY"),
        ("searxng", "SEARXNG_URL"),
    ],
)
def test_what_is_missing_is_named_by_its_variable(name, variable):
    with pytest.raises(ConfigurationError, match=variable):
        built(CRAG_WEB_SEARCH=f"wikipedia,{name}")


URLS = {
    "tavily": "TAVILY_BASE_URL",
    "brave": "BRAVE_BASE_URL",
    "exa": "EXA_BASE_URL",
    "searxng": "SEARXNG_URL",
    "wikipedia": "WIKIPEDIA_BASE_URL",
    "duckduckgo": "DUCKDUCKGO_BASE_URL",
}


@pytest.mark.parametrize(("name", "variable"), URLS.items())
def test_the_address_of_each_can_be_set(name, variable):
    with WebServer(WIRES[name].answer(lambda _: [PAGE])) as server:
        web = built(CRAG_WEB_SEARCH=name, **{**KEYS, variable: server.url + "/"})
        assert web is not None
        assert len(web.search("q", max_results=1, seconds=5).documents) == 1


def test_the_cap_of_the_month_is_kept_in_the_data_folder(tmp_path: Path):
    with WebServer(TAVILY.answer(lambda _: [PAGE])) as server:
        variables = {
            "CRAG_HOME": str(tmp_path),
            "TAVILY_API_KEY": KEY,
            "TAVILY_BASE_URL": server.url,
            "CRAG_WEB_MONTHLY_CAP": "1",
            "CRAG_WEB_PER_SECOND": "50",
        }
        for attempt in range(2):  # the second is a new process's, as far as the ledger can tell
            web = build_web_search(Environment.read(variables))
            assert web is not None
            if attempt == 0:
                web.search("q", max_results=1, seconds=5)
                continue
            with pytest.raises(SearchQuotaError, match="1 searches"):
                web.search("q", max_results=1, seconds=5)
    assert len(server.requests) == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "web_searches.sqlite3"]


@pytest.mark.parametrize("variable", ["CRAG_WEB_MONTHLY_CAP", "CRAG_WEB_PER_SECOND"])
@pytest.mark.parametrize("value", ["many", "-1", "nan", "inf"])
def test_a_limit_that_is_no_number_is_refused(variable, value):
    with pytest.raises(ConfigurationError, match=variable):
        built(TAVILY_API_KEY=KEY, **{variable: value})


@pytest.mark.case(122)
def test_no_repr_shows_a_key():
    for name in PROVIDERS:
        assert "TESTLEAK" not in repr(built(CRAG_WEB_SEARCH=name, **KEYS))
    assert "TESTLEAK" not in repr(built(CRAG_WEB_SEARCH="tavily,exa", **KEYS))


@pytest.mark.case(31)
def test_importing_the_providers_loads_no_client_of_theirs():
    code = (
        "import sys, crag_graph.search.providers;"
        "print([m for m in ('tavily', 'ddgs', 'primp', 'trafilatura', 'lxml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
