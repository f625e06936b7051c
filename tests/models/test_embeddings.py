import asyncio
import sys
import traceback
from collections.abc import Iterator

import pytest
from langchain_core.embeddings import Embeddings
from langchain_openai import OpenAIEmbeddings

from crag_graph.errors import ConfigurationError, EmbeddingError
from crag_graph.models.embeddings import NamedEmbeddings, load_embeddings
from crag_graph.models.local.embeddings import LocalEmbeddings
from tests.fakes.embeddings_server import EmbeddingsServer, letters

KEY = "sk-TESTLEAK0123456789"


class Stub(Embeddings):
    """Gives `vector` for every text and remembers what it was asked."""

    def __init__(self, vector: list[float] | None = None) -> None:
        self.vector = [3.0, 4.0] if vector is None else vector
        self.seen: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.seen += texts
        return [self.vector for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "HTTP_PROXY",
        "http_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingsServer]:
    with EmbeddingsServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield running


@pytest.mark.parametrize("spec", [None, "", "  ", "local", "LOCAL"])
def test_the_packaged_model_is_the_default(spec: str | None) -> None:
    embeddings = load_embeddings(spec)

    assert isinstance(embeddings.inner, LocalEmbeddings)
    assert (embeddings.name, embeddings.dimension) == ("all-MiniLM-L6-v2", 384)
    assert len(embeddings.embed_query("dam")) == 384
    assert embeddings.max_tokens == 256
    assert embeddings.count_tokens("hello worlds") == 2


@pytest.mark.case(86)
async def test_a_server_of_openais_protocol_gets_plain_strings(server: EmbeddingsServer) -> None:
    embeddings = load_embeddings("OpenAI: nomic-embed ")

    assert embeddings.name == "openai:nomic-embed"
    assert embeddings.embed_documents(["one", "two"]) == [letters("one"), letters("two")]
    assert embeddings.embed_query("one") == letters("one")
    assert await embeddings.aembed_documents(["one", "two"]) == [letters("one"), letters("two")]
    assert await embeddings.aembed_query("two") == letters("two")
    assert server.texts == ["one", "two", "one", "one", "two", "two"]
    assert {request["model"] for request in server.requests} == {"nomic-embed"}
    assert set(server.keys) == {f"Bearer {KEY}"}


def test_a_server_of_ones_own_needs_no_key(
    server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert load_embeddings("openai:x").embed_query("one") == letters("one")


def test_the_dimension_is_asked_for_once(server: EmbeddingsServer) -> None:
    embeddings = load_embeddings("openai:x")

    assert server.requests == []
    assert (embeddings.dimension, embeddings.dimension) == (8, 8)
    assert len(server.requests) == 1


def test_the_dimension_follows_from_vectors_that_were_made_anyway() -> None:
    stub = Stub()
    embeddings = load_embeddings(stub)
    embeddings.embed_documents(["a"])

    assert embeddings.dimension == 2
    assert stub.seen == ["a"]


@pytest.mark.case(87)
@pytest.mark.parametrize("blank", ["", " \n\t", "\u3000"])
async def test_a_blank_text_is_never_sent(server: EmbeddingsServer, blank: str) -> None:
    embeddings = load_embeddings("openai:x")

    with pytest.raises(EmbeddingError, match="text 2 of 3 is blank"):
        embeddings.embed_documents(["one", blank, "two"])
    with pytest.raises(EmbeddingError, match="text 2 of 3 is blank"):
        await embeddings.aembed_documents(["one", blank, "two"])
    with pytest.raises(EmbeddingError, match="is blank"):
        embeddings.embed_query(blank)
    with pytest.raises(EmbeddingError, match="is blank"):
        await embeddings.aembed_query(blank)
    assert embeddings.embed_documents([]) == []
    assert await embeddings.aembed_documents([]) == []
    assert server.requests == []


@pytest.mark.case(82)
@pytest.mark.parametrize(
    ("vector", "kind"),
    [
        ([0.0, 0.0], "a vector of zeros"),
        ([float("nan"), 1.0], "a vector of not numbers"),
        ([float("inf"), 1.0], "a vector of not numbers"),
    ],
)
async def test_zeros_and_nan_are_an_error_and_no_vector(vector: list[float], kind: str) -> None:
    embeddings = NamedEmbeddings(Stub(vector), name="stub-1")

    for make in (embeddings.embed_query, lambda text: embeddings.embed_documents([text])):
        with pytest.raises(
            EmbeddingError, match=f"model stub-1 gave {kind} for the text"
        ) as caught:
            make("one")
        assert caught.value.reason == "parse"
    with pytest.raises(EmbeddingError, match=kind):
        await embeddings.aembed_query("one")


@pytest.mark.case(82)
def test_the_text_with_the_bad_vector_is_named() -> None:
    class Sometimes(Stub):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[0.0, 0.0] if text == "bad" else [1.0, 2.0] for text in texts]

    with pytest.raises(EmbeddingError, match="zeros for text 2 of 3"):
        load_embeddings(Sometimes()).embed_documents(["good", "bad", "good"])


def test_another_dimension_than_before_is_refused() -> None:
    stub = Stub()
    embeddings = load_embeddings(stub)
    embeddings.embed_query("one")
    stub.vector = [1.0, 2.0, 3.0]

    with pytest.raises(EmbeddingError, match="gave 3 components where it has 2"):
        embeddings.embed_query("one")


@pytest.mark.parametrize(
    "vectors", [[], [[1.0]], [[1.0], [1.0, 2.0]], [1.0, 2.0], None, [["a"], ["b"]], [[], []]]
)
def test_vectors_that_are_no_table_are_refused(vectors: object) -> None:
    class Odd(Stub):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return vectors  # type: ignore[return-value]

    with pytest.raises(EmbeddingError, match="model Odd gave"):
        load_embeddings(Odd()).embed_documents(["one", "two"])


@pytest.mark.parametrize(
    ("status", "reason", "transient"),
    [(401, "auth", False), (400, "request", False), (404, "request", False)],
)
async def test_a_refusal_says_why_and_shows_no_key(
    server: EmbeddingsServer, status: int, reason: str, transient: bool
) -> None:
    server.status, server.message = status, f"not with {KEY}\nand more"
    embeddings = load_embeddings("openai:x")

    for _ in range(2):
        with pytest.raises(EmbeddingError, match="openai:x failed at 127") as caught:
            embeddings.embed_documents(["one"])
        assert (caught.value.reason, caught.value.transient) == (reason, transient)
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert KEY not in shown
        assert "TESTLEAK" not in shown
    with pytest.raises(EmbeddingError) as caught:
        await embeddings.aembed_query("one")
    assert caught.value.reason == reason


def test_an_overloaded_server_is_transient(
    server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.status, server.message = 503, "overloaded"
    server.headers = {"retry-after-ms": "1"}  # keeps the client's own retries short

    with pytest.raises(EmbeddingError, match="overloaded") as caught:
        load_embeddings("openai:x").embed_query("one")

    assert (caught.value.reason, caught.value.transient) == ("transport", True)
    assert len(server.requests) == 3


def test_a_rate_limit_keeps_what_it_asked_for(server: EmbeddingsServer) -> None:
    server.status, server.message = 429, "slow down"
    server.headers = {"retry-after": "7", "x-should-retry": "false"}

    with pytest.raises(EmbeddingError, match="slow down") as caught:
        load_embeddings("openai:x").embed_query("one")

    assert (caught.value.reason, caught.value.retry_after) == ("quota", 7.0)
    assert caught.value.transient


def test_a_server_that_is_not_there_is_named(
    server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    with pytest.raises(EmbeddingError, match=r"at 127\.0\.0\.1.*can be reached") as caught:
        load_embeddings("openai:x").embed_query("one")

    assert caught.value.reason == "transport"


@pytest.mark.parametrize("body", [b"{}", b'{"data": null}', b'{"data": [{}]}', b"<html>", b'{"da'])
def test_a_server_that_speaks_something_else_is_an_error(
    server: EmbeddingsServer, body: bytes
) -> None:
    server.body = body

    with pytest.raises(EmbeddingError, match="openai:x"):
        load_embeddings("openai:x").embed_query("one")


async def test_cancellation_passes_through() -> None:
    class Slow(Stub):
        async def aembed_query(self, text: str) -> list[float]:
            await asyncio.sleep(60)
            return [1.0]

    task = asyncio.create_task(load_embeddings(Slow()).aembed_query("one"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.case(112)
def test_a_foreign_model_gets_a_capped_question_with_its_end() -> None:
    stub = Stub()
    question = "Preface. " + "background " * 900 + "So, which valve?"

    load_embeddings(stub).embed_query(question)

    assert len(stub.seen[0]) <= 4001
    assert stub.seen[0].startswith("Preface.")
    assert stub.seen[0].endswith("So, which valve?")


def test_embeddings_objects_are_named_by_class_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    openai = OpenAIEmbeddings(model="text-embedding-3-small", api_key=KEY)
    named = load_embeddings(openai)

    assert named.name == "OpenAIEmbeddings:text-embedding-3-small"
    assert load_embeddings(named) is named
    assert load_embeddings(Stub()).name == "Stub"
    assert KEY not in repr(named)


def test_a_foreign_models_tokens_are_estimated() -> None:
    assert load_embeddings(Stub()).count_tokens("hello worlds") == 2
    assert load_embeddings(Stub()).max_tokens is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("minilm", "write local, or provider:model"),
        ("openai:", "write local, or provider:model"),
        ("nowhere:x", "Provider 'nowhere' is not supported$"),
        ("openai:x", "need OPENAI_API_KEY"),
    ],
)
def test_a_spec_that_cannot_work_is_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        load_embeddings(spec)
    assert "\n" not in str(caught.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_mistralai", None)

    with pytest.raises(
        ConfigurationError, match="need the package langchain-mistralai; install it"
    ):
        load_embeddings("mistralai:x")
