"""Nothing that blocks an event loop: as under `langgraph dev`, blocking calls raise there."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from blockbuster import BlockBuster, BlockingError, blockbuster_ctx

from crag_graph.retrieval.index import VectorIndex
from crag_graph.retrieval.retriever import HybridRetriever
from crag_graph.retrieval.server.index import ServerIndex
from crag_graph.settings import Settings
from tests.fakes.qdrant_facade import QdrantFacade
from tests.fakes.stores import SCHEMA, Backend, StubEmbeddings, chunk, vector_of


@pytest.fixture
def blocked() -> Iterator[BlockBuster]:
    with blockbuster_ctx() as guard:
        yield guard


async def ask(index: VectorIndex) -> None:
    """Ask all that is asynchronous, for the first time in this loop."""
    with pytest.raises(BlockingError):
        time.sleep(0.001)  # noqa: ASYNC251  # the guard is awake
    where = {"source": "a.md", "page": 4}
    ranked = await index.arank(vector=vector_of("x"), text="tide", limit=3, where=where)
    assert len(await index.aretrieve([hit.id for hit in ranked.dense])) == 1
    retriever = HybridRetriever(embeddings=StubEmbeddings(), index=index)
    assert len(await retriever.aretrieve("tide", settings=Settings())) == 2
    assert len(await retriever.ainvoke("tide")) == 2


@pytest.mark.case(59)
async def test_the_embedded_store_blocks_no_loop(tmp_path: Path, blocked: BlockBuster) -> None:
    blocked.deactivate()
    backend = Backend(tmp_path)
    index = backend.make()
    index.upsert([chunk("a", "the tide", page=4), chunk("b", "x")])
    blocked.activate()
    await ask(index)
    blocked.deactivate()
    backend.close()


@pytest.mark.case(59)
async def test_a_server_blocks_no_loop(facade: QdrantFacade, blocked: BlockBuster) -> None:
    blocked.deactivate()
    facade.strict = True
    index = ServerIndex.open(facade.url, "papers", create=SCHEMA)
    index.upsert([chunk("a", "the tide", page=4), chunk("b", "x")])
    blocked.activate()
    await ask(index)
    blocked.deactivate()
    index.close()
