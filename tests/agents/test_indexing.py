"""What a client of the server may ingest, and what ingestion through a graph does."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from crag_graph.agents.indexing import build_index_graph
from crag_graph.agents.ingest_root import allowed_paths
from crag_graph.environment import Environment
from crag_graph.errors import ConfigurationError, InputError
from crag_graph.graph import build_graph
from crag_graph.ingestion import ingest as ingesting
from crag_graph.services import Services
from tests.fakes.collaborators import StubEvaluator, StubGenerator


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("The ferry leaves at nine.\n")
    (folder / "sub" / "b.md").write_text("The mayor is Ada.\n")
    return folder


def environment(tmp_path: Path, root: Path | None) -> Environment:
    variables = {"CRAG_HOME": str(tmp_path / "home")}
    return Environment.read(variables | ({"CRAG_INGEST_ROOT": str(root)} if root else {}))


def test_paths_are_taken_from_the_root_and_may_be_absolute(root):
    wanted = [root.resolve() / "a.md", root.resolve() / "sub"]
    assert allowed_paths(["a.md", "sub"], root=str(root)) == wanted
    assert allowed_paths([str(path) for path in wanted], root=str(root)) == wanted
    assert allowed_paths(["sub/../a.md"], root=str(root)) == wanted[:1]


@pytest.mark.case(124)
@pytest.mark.parametrize("path", ["/etc/passwd", "..", "../secret.md", "sub/../../x", "a\0b", 5])
def test_whatever_leads_out_of_the_root_is_refused(root, tmp_path, path):
    (tmp_path / "secret.md").write_text("secret\n")
    with pytest.raises(InputError) as caught:
        allowed_paths([path], root=str(root))
    assert "secret" not in str(caught.value).replace("../secret.md", "")


@pytest.mark.case(124)
def test_links_that_lead_out_are_refused_wherever_they_lie(root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret\n")
    (root / "sub" / "link").symlink_to(outside)
    with pytest.raises(InputError, match="CRAG_INGEST_ROOT"):
        allowed_paths(["."], root=str(root))
    (root / "sub" / "link").unlink()
    (root / "sub" / "link.md").symlink_to(outside / "secret.md")
    with pytest.raises(InputError, match="CRAG_INGEST_ROOT"):
        allowed_paths(["sub"], root=str(root))
    assert allowed_paths(["a.md"], root=str(root))


@pytest.mark.parametrize("value", ["", "  ", "/nonexistent/folder"])
def test_without_a_root_nothing_can_be_ingested(value):
    with pytest.raises(ConfigurationError, match="CRAG_INGEST_ROOT"):
        allowed_paths(["a.md"], root=value)


def test_the_graph_refuses_before_it_makes_anything(tmp_path, root):
    with pytest.raises(ConfigurationError):
        build_index_graph(environment(tmp_path, None)).invoke({"paths": ["a.md"]})
    graph = build_index_graph(environment(tmp_path, root))
    for given in ({"paths": ["/etc/passwd"]}, {"paths": "a.md"}, {"paths": []}, {}):
        with pytest.raises(InputError):
            graph.invoke(given)
    assert not (tmp_path / "home").exists()


async def test_what_is_ingested_is_answered_from_by_a_graph_that_runs_already(tmp_path, root):
    env = environment(tmp_path, root)
    index = build_index_graph(env)
    out = await index.ainvoke({"paths": ["a.md"]})
    assert (out["collection"], out["report"]["added"]) == ("default", 1)
    services = Services.from_env(
        env,
        evaluator=StubEvaluator(lambda _: 0.9),
        generator=StubGenerator(lambda request: " ".join(e.text for e in request.evidence)),
    )
    try:
        graph = build_graph(services)
        asked: Any = {"question": "Who is the mayor?"}
        assert "Ada" not in (await graph.ainvoke(asked))["answer"]
        events = [event async for event in index.astream({"paths": ["."]}, stream_mode="custom")]
        assert {event["event"] for event in events} == {"indexing"}
        assert events[-1]["total"] == 2
        assert "Ada" in (await graph.ainvoke(asked))["answer"]
        (root / "sub" / "b.md").unlink()
        again = index.invoke({"paths": ["."], "prune": True})["report"]
        assert (again["unchanged"], again["pruned"]) == (1, 1)
        assert "Ada" not in graph.invoke(asked)["answer"]
    finally:
        services.close()


async def test_another_collection_can_be_named(tmp_path, root):
    index = build_index_graph(environment(tmp_path, root))
    out = await index.ainvoke({"paths": ["a.md"], "collection": "second"})
    assert out["collection"] == "second"
    assert [path.name for path in (tmp_path / "home" / "collections").iterdir()] == ["second"]
    with pytest.raises(InputError):
        await index.ainvoke({"paths": ["a.md"], "collection": "../third"})


@pytest.mark.case(68)
async def test_a_cancelled_ingestion_stops(tmp_path, root, monkeypatch):
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(*_: Any, progress: Any, **__: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        try:
            progress(ingesting.IngestProgress(documents=1, total=2, chunks=1, waiting=0, path="a"))
        except asyncio.CancelledError:
            ended.set()
            raise

    monkeypatch.setattr(ingesting, "ingest", slow)
    index = build_index_graph(environment(tmp_path, root))
    running = asyncio.create_task(index.ainvoke({"paths": ["."]}))
    assert await asyncio.to_thread(begun.wait, 60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    go_on.set()
    assert await asyncio.to_thread(ended.wait, 30)
