import json
import os
from pathlib import Path

import pytest

from crag_graph.cli.checks import run_checks
from crag_graph.cli.entry import run
from crag_graph.environment import Environment
from crag_graph.retrieval.edge.index import EdgeIndex
from crag_graph.retrieval.index import CollectionSchema, Point
from crag_graph.retrieval.store import collection_folder
from tests.fakes.onnx_models import onnx_folder
from tests.fakes.redis_server import RedisServer
from tests.fakes.web_servers import Reply, WebServer

NAMES = [
    "versions",
    "home folder",
    "profile",
    "embeddings",
    "collection",
    "chat model",
    "evaluator",
    "cache",
    "web search",
]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own, and nothing else configured."""
    for name in list(os.environ):
        if name.startswith(("CRAG_", "OPENAI_", "TAVILY_", "QDRANT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CRAG_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def checks(capsys: pytest.CaptureFixture[str], *, code: int = 0) -> dict[str, dict[str, str]]:
    assert run(["doctor", "--json"]) == code
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is (code == 0)
    assert [check["name"] for check in report["checks"]] == NAMES
    for check in report["checks"]:
        assert check["detail"]
        assert bool(check["todo"]) is (check["state"] != "ok")
    return {check["name"]: check for check in report["checks"]}


def test_a_fresh_machine_has_nothing_wrong(bare: Path, capsys):
    found = checks(capsys)
    assert {name for name, check in found.items() if check["state"] == "off"} == {
        "cache",
        "collection",
        "chat model",
        "web search",
    }
    assert "crag ingest" in found["collection"]["todo"]
    assert not bare.exists()


def test_a_person_sees_a_line_for_each_and_the_verdict(bare: Path, capsys):
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    for name in NAMES:
        assert name in out
    assert "Everything that is configured works." in out


@pytest.mark.case(69)
def test_a_collection_is_counted_also_while_another_process_holds_it(bare: Path, capsys, hold):
    folder = collection_folder(home=bare, collection="default")
    schema = CollectionSchema(name="default", embedding_model="all-MiniLM-L6-v2", dimension=384)
    index = EdgeIndex.create(folder, schema)
    empty = checks(capsys)["collection"]
    assert (empty["state"], empty["todo"]) == ("off", "run `crag ingest PATH`")
    point = Point(
        id="6f3d4a10-0000-4000-8000-000000000001",
        vector=[1.0, *[0.0] * 383],
        text="A chunk.",
        payload={"document_id": "d", "version": "v", "source": "s"},
    )
    index.upsert([point])
    index.close()
    assert "1 chunk" in checks(capsys)["collection"]["detail"]
    with hold(bare, "default"):
        held = checks(capsys)["collection"]
    assert held["state"] == "ok"
    assert "in use by another process" in held["detail"]


@pytest.mark.case(71)
def test_a_collection_of_another_model_is_a_problem(bare: Path, capsys):
    schema = CollectionSchema(name="default", embedding_model="other-model", dimension=384)
    EdgeIndex.create(collection_folder(home=bare, collection="default"), schema).close()
    found = checks(capsys, code=1)["collection"]
    assert found["state"] == "problem"
    assert "other-model" in found["detail"]
    assert "all-MiniLM-L6-v2" in found["detail"]


@pytest.mark.parametrize(
    ("variables", "name", "said"),
    [
        ({"CRAG_PROFILE": "vetirinary"}, "profile", "there is no 'vetirinary'"),
        ({"CRAG_EMBEDDINGS": "nonsense"}, "embeddings", "nonsense"),
        ({"CRAG_CHAT_MODEL": "openai:gpt-4o-mini"}, "chat model", "OPENAI_API_KEY"),
        ({"CRAG_CHAT_MODEL": "nonsense"}, "chat model", "provider:model"),
        ({"CRAG_EVALUATOR": "astrologer"}, "evaluator", "astrologer"),
        ({"CRAG_EVALUATOR": "cascade"}, "evaluator", "CRAG_EVALUATOR is cascade, but no model"),
        ({"CRAG_EVALUATOR": "cascade:llm"}, "evaluator", "must not be llm"),
        ({"CRAG_EVALUATOR": "cross-encoder:./none"}, "evaluator", "./none does not exist"),
        ({"CRAG_EVALUATOR": "rerank:m"}, "evaluator", "CRAG_RERANK_API_KEY"),
        ({"CRAG_CACHE": "disk"}, "cache", "there is no 'disk'"),
        ({"CRAG_CACHE": "redis://:TESTLEAK@127.0.0.1:9"}, "cache", "redis at 127.0.0.1:9"),
        ({"CRAG_CACHE": "sqlite:/dev/null/x"}, "cache", "sqlite"),
        ({"CRAG_WEB_SEARCH": "altavista"}, "web search", "altavista"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_each_thing_that_does_not_work_is_told(bare, capsys, monkeypatch, variables, name, said):
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    found = checks(capsys, code=1)
    assert found[name]["state"] == "problem"
    assert said in found[name]["detail"]
    assert "TESTLEAK" not in str(found)
    assert run(["doctor"]) == 1
    assert "not work" in capsys.readouterr().out


def test_a_data_folder_that_is_a_file_is_a_problem(bare: Path, capsys):
    bare.write_text("", encoding="utf-8")
    found = checks(capsys, code=1)
    assert found["home folder"]["state"] == "problem"
    assert "is a file" in found["home folder"]["detail"]


@pytest.mark.case(122)
def test_keys_are_never_shown(bare: Path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-TESTLEAKxxxx")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-TESTLEAKxxxx")
    monkeypatch.setenv("QDRANT_API_KEY", "TESTLEAKxxxx")
    monkeypatch.setenv("QDRANT_URL", "http://user:TESTLEAK@127.0.0.1:9")
    assert run(["doctor"]) == 1
    captured = capsys.readouterr()
    assert "TESTLEAK" not in captured.out + captured.err


def test_hosted_models_are_asked_only_on_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    asked = []

    class Model:
        def invoke(self, prompt: str) -> None:
            asked.append(prompt)

    monkeypatch.setattr("crag_graph.models.chat.load_chat_model", lambda *_, **__: Model())
    environment = Environment(home=tmp_path, chat_model="openai:some", evaluator="local")
    found = {check.name: check for check in run_checks(environment)}
    assert "not asked" in found["chat model"].detail
    assert asked == []
    found = {check.name: check for check in run_checks(environment, online=True)}
    assert found["chat model"].detail == "openai:some answers"
    assert len(asked) == 1


def test_a_scorer_is_tried_and_a_hosted_one_only_on_request(bare: Path, capsys, monkeypatch):
    folder = onnx_folder(bare.parent / "tiny", {"inlet": 2.0})
    monkeypatch.setenv("CRAG_EVALUATOR", f"cross-encoder:{folder}")
    assert "tiny, scores a passage that answers 0.88" in checks(capsys)["evaluator"]["detail"]
    (folder / "scorer.toml").write_text('scale = "unit"')
    assert "not on its scale (unit)" in checks(capsys, code=1)["evaluator"]["detail"]
    monkeypatch.setenv("CRAG_EVALUATOR", "rerank:m")
    reply = Reply(body={"results": [{"index": 0, "relevance_score": 0.9}]})
    with WebServer(reply) as server:
        monkeypatch.setenv("CRAG_RERANK_URL", server.url)
        assert "not asked" in checks(capsys)["evaluator"]["detail"]
        assert server.requests == []
        assert run(["doctor", "--online"]) == 0
        assert "scores a passage that answers 0.90" in " ".join(capsys.readouterr().out.split())
    assert run(["doctor", "--online"]) == 1


def test_a_damaged_local_evaluator_is_a_problem(bare: Path, capsys, monkeypatch):
    damaged = bare.parent / "model"
    damaged.mkdir()
    (damaged / "scores.json").write_text("{", encoding="utf-8")
    monkeypatch.setattr("crag_graph.evaluators.local.evaluator.find_model", lambda: damaged)
    found = checks(capsys, code=1)["evaluator"]
    assert found["state"] == "problem"
    assert "install it again" in found["detail"]


def test_a_cascade_tells_both_of_its_stages(bare: Path, capsys, monkeypatch):
    monkeypatch.setenv("CRAG_EVALUATOR", "cascade")
    monkeypatch.setenv("CRAG_CACHE", "memory")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-TESTLEAKxxxx")
    found = checks(capsys)
    detail = found["evaluator"]["detail"]
    assert detail == "cascade: local; in the grey band llm: openai:gpt-4o-mini"
    assert found["cache"]["detail"] == "memory, works"


def test_a_cache_is_tried(bare: Path, capsys, monkeypatch):
    monkeypatch.setenv("CRAG_CACHE", "sqlite")
    assert checks(capsys)["cache"]["detail"] == "sqlite, works"
    with RedisServer() as server:
        monkeypatch.setenv("CRAG_CACHE", server.url)
        assert checks(capsys)["cache"]["state"] == "ok"
