"""What `CRAG_EVALUATOR` and `CRAG_CACHE` make of the environment."""

import pytest
from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.environment import Environment
from crag_graph.errors import ConfigurationError
from crag_graph.evaluators.cached import CachedEvaluator
from crag_graph.evaluators.cascade import CascadeEvaluator
from crag_graph.evaluators.cross_encoder import ScoringEvaluator
from crag_graph.evaluators.grading import as_passages
from crag_graph.evaluators.llm import LLMEvaluator
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.graph import build_graph
from crag_graph.models.scorers.hosted import HostedScorer
from crag_graph.models.scorers.onnx import OnnxScorer
from crag_graph.models.scorers.t5 import T5Scorer
from crag_graph.models.scorers.transformer import SentenceTransformerScorer
from crag_graph.services import Services
from crag_graph.settings import PROFILES, Profile, Settings
from tests.fakes.collaborators import StubEvaluator, StubWeb, services
from tests.fakes.grading import QUESTION, fused, passages
from tests.fakes.onnx_models import onnx_folder
from tests.fakes.openai_server import OpenAIServer, as_json
from tests.fakes.torch_libraries import install

KEYS = {"OPENAI_API_KEY": "sk-TESTLEAKxxxx", "CRAG_RERANK_API_KEY": "TESTLEAKxxxx"}


def built(tmp_path, **variables):
    return Services.from_env({"CRAG_HOME": str(tmp_path)} | KEYS | variables).evaluator.get()


def test_a_folder_with_a_model(tmp_path):
    folder = onnx_folder(tmp_path / "model", {"nine": 3.0})
    made = built(tmp_path, CRAG_EVALUATOR=f"cross-encoder:{folder}", CRAG_SCORER_THREADS="1")
    assert isinstance(made, ScoringEvaluator)
    assert isinstance(made.scorer, OnnxScorer)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cross-encoder:org/model", SentenceTransformerScorer),
        ("t5:org/model", T5Scorer),
        ("rerank:rerank-v4", HostedScorer),
    ],
)
def test_scorers_by_name(tmp_path, monkeypatch, name, kind):
    install(monkeypatch, lambda text: [0.5])
    made = built(tmp_path, CRAG_EVALUATOR=name)
    assert isinstance(made, ScoringEvaluator)
    assert isinstance(made.scorer, kind)


def test_the_papers_evaluator_is_shown_no_titles(tmp_path, monkeypatch):
    libraries = install(monkeypatch, lambda text: [0.5])
    made = built(tmp_path, CRAG_EVALUATOR="t5:org/model")
    titled = Document(id="a", page_content="It leaves.", metadata={"title": "The ferry"})
    given = as_passages([titled], origin="internal")
    made.evaluate("q", given, settings=Settings(), budget=Budget())
    assert libraries.calls == [["q [SEP] It leaves."]]


def test_a_cascade_has_the_local_evaluator_first_unless_told_otherwise(tmp_path):
    made = built(tmp_path, CRAG_EVALUATOR="cascade")
    assert isinstance(made, CascadeEvaluator)
    assert isinstance(made.first, LocalEvaluator)
    assert isinstance(made.then, LLMEvaluator)
    folder = onnx_folder(tmp_path / "model", {"nine": 3.0})
    made = built(tmp_path, CRAG_EVALUATOR=f"cascade:cross-encoder:{folder}")
    assert isinstance(made, CascadeEvaluator)
    assert made.first.name == "cross-encoder:model"


def test_what_costs_something_is_cached_and_nothing_else(tmp_path):
    cache = {"CRAG_CACHE": "memory"}
    assert isinstance(built(tmp_path, CRAG_EVALUATOR="local", **cache), LocalEvaluator)
    assert isinstance(built(tmp_path, CRAG_EVALUATOR="llm", **cache), CachedEvaluator)
    assert isinstance(built(tmp_path, CRAG_EVALUATOR="rerank:m", **cache), CachedEvaluator)
    cascade = built(tmp_path, CRAG_EVALUATOR="cascade", **cache)
    assert isinstance(cascade, CascadeEvaluator)
    assert isinstance(cascade.first, LocalEvaluator)
    assert isinstance(cascade.then, CachedEvaluator)
    assert isinstance(built(tmp_path, CRAG_EVALUATOR="llm", CRAG_CACHE="off"), LLMEvaluator)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cascade:cascade", "there is no 'cascade'"),
        ("cascade:llm", "must not be llm"),
        ("cross-encoder", "needs a model's name"),
        ("rerank:", "needs a model's name"),
        ("bm25", "rerank:MODEL"),
    ],
)
def test_what_does_not_exist_is_named(tmp_path, name, said):
    with pytest.raises(ConfigurationError, match=said) as caught:
        built(tmp_path, CRAG_EVALUATOR=name)
    assert "TESTLEAK" not in str(caught.value)


def test_a_cascade_without_a_model_says_what_to_set(tmp_path):
    variables = {"CRAG_HOME": str(tmp_path), "CRAG_EVALUATOR": "cascade"}
    with pytest.raises(ConfigurationError, match="cascade, but no model is configured: set CRAG_E"):
        Services.from_env(variables).evaluator.get()


def test_the_band_of_a_cascade_follows_the_profiles_of_the_services(tmp_path):
    narrow = Profile(name="narrow", upper=0.55, lower=0.45)
    given = Services.from_env(
        {"CRAG_HOME": str(tmp_path), "CRAG_EVALUATOR": "cascade"} | KEYS,
        profiles=PROFILES | {"narrow": narrow},
        local_evaluator=StubEvaluator(lambda _: 0.8, name="local"),
    )
    found = given.evaluator.get().evaluate(
        QUESTION, passages(), settings=Settings(profile="narrow"), budget=Budget()
    )
    assert "outside of the grey band 0.23–0.78" in found.why


def test_the_password_of_a_cache_is_not_shown():
    environment = Environment.read({"CRAG_CACHE": "redis://:TESTLEAK@127.0.0.1:6379/0"})
    assert "TESTLEAK" not in repr(environment)


def test_a_scorer_that_asks_no_model_judges_web_results_too():
    scores = {"d1": 0.1}
    own = StubEvaluator(lambda passage: scores.get(passage.id, 0.9), name="own")
    local = StubEvaluator(lambda _: 0.8, name="local")
    page = Document(page_content="The ferry leaves.", metadata={"source": "https://a.example"})
    for asks, kept_by in ((True, 0.8), (False, 0.9)):
        own.asks_model = asks
        graph = build_graph(services(evaluator=own, local_evaluator=local, web=StubWeb([page])))
        state = graph.invoke({"question": QUESTION})
        web = [strip["score"] for strip in state["strips"] if strip["origin"] == "web"]
        assert web == [kept_by]


def test_a_cascade_with_a_cache_asks_the_model_once_for_the_same_question(tmp_path):
    graded = as_json(fused(("P1", 5, [1]), ("P2", 2, []), ("P3", 1, [])))
    with OpenAIServer(lambda _: graded) as server:
        given = Services.from_env(
            {
                "CRAG_HOME": str(tmp_path),
                "CRAG_EVALUATOR": "cascade",
                "CRAG_CACHE": "sqlite",
                "CRAG_CHAT_MODEL": "openai:fake",
                "OPENAI_BASE_URL": server.url,
            }
            | KEYS,
            local_evaluator=StubEvaluator(lambda _: 0.5, name="local"),
        )
        found = [
            given.evaluator.get().evaluate(
                QUESTION, passages(), settings=Settings(), budget=Budget()
            )
            for _ in range(2)
        ]
        assert len(server.requests) == 1
    assert [each.decided_by for each in found] == ["llm", "llm"]
    assert found[1].grades == found[0].grades
    assert found[1].usage.get("llm_calls", 0) == 0
    assert found[1].usage["cache_hits"] == 3
