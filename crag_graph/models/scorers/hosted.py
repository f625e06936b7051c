"""Hosted rerankers over HTTP: Cohere, Jina, Voyage, and the servers that speak like them."""

import asyncio
import dataclasses
import functools
import json
import math
import ssl
import threading
import time
import urllib.parse
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import httpx

from crag_graph.errors import ConfigurationError, ModelError
from crag_graph.models.endpoint import Endpoint
from crag_graph.models.failures import EndpointError, as_model_error
from crag_graph.models.scorers.base import ScoreScale
from crag_graph.models.scorers.hosted_shapes import SHAPES, Shape
from crag_graph.redaction import MASK
from crag_graph.text.tokens import estimate_tokens
from crag_graph.transient import RetryPolicy, aretry

T = TypeVar("T")

DEFAULT_SECONDS = 30.0
_ONCE_MORE = RetryPolicy(attempts=2)
_MOST_BYTES = 4 * 1024 * 1024
# What every reranker reads whole: most were trained on 512 tokens of question and text.
_MAX_TOKENS = 480
# A proxy of the environment is for the way out, not for what listens on this machine.
_DIRECT = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()


class _StatusError(Exception):
    """An answer with an HTTP status that is none of success, as `as_model_error` reads it."""

    def __init__(self, response: httpx.Response, body: object) -> None:
        super().__init__("")
        self.status_code = response.status_code
        self.response = response
        self.body = body


class HostedScorer:
    """A reranker behind an address. Its scores are taken as they are, on 0–1.

    A transient failure is tried once more, after as long as the server asks to wait; all of it
    stays within the time of a call. A connection lives for one call, so that threads, event loops
    and forked processes may share a scorer. The key is in no error, name or fingerprint.

    Args:
        model: The model's name; a server of the shape `tei` has but one and is not told.
        shape: `cohere`, `jina`, `voyage` or `tei`.
        base_url: The address, in place of the provider's own.
        api_key: The key.
        seconds: Wall time of one request with its repetition.
        scale: How its scores map onto 0–1, where they are no numbers on it.
        retry: How often a transient failure is tried again; its time is that of the call.

    Raises:
        ConfigurationError: Shape, address or key cannot work.
    """

    max_tokens = _MAX_TOKENS

    def __init__(
        self,
        model: str,
        *,
        shape: str = "cohere",
        base_url: str = "",
        api_key: str = "",
        seconds: float = DEFAULT_SECONDS,
        scale: ScoreScale | None = None,
        retry: RetryPolicy = _ONCE_MORE,
    ) -> None:
        if shape not in SHAPES:
            known = ", ".join(SHAPES)
            raise ConfigurationError(f"CRAG_RERANK_SHAPE: there is no {shape!r}; there are {known}")
        self._shape: Shape = SHAPES[shape]
        self._url = self._shape.endpoint(_address(base_url or self._shape.url, shape))
        self._key = api_key.strip()
        if not self._key and self._shape.needs_key and not base_url:
            raise ConfigurationError(f"the reranker {model} needs a key: set CRAG_RERANK_API_KEY")
        if not (self._key.isascii() and self._key.isprintable()):
            raise ConfigurationError("CRAG_RERANK_API_KEY holds characters that no key has")
        self._seconds = seconds
        self._retry = retry
        self._model = model
        host = httpx.URL(self._url).netloc.decode("ascii")
        self._endpoint = Endpoint(kind="reranker", host=host, model=model or "the reranker")
        self._ssl_context = _ssl_context()
        self.name = f"rerank:{model or host}"
        self.scale = scale or ScoreScale(name="unit")
        self.most_texts = self._shape.most_texts

    def __repr__(self) -> str:
        return f"HostedScorer({self._endpoint.label!r}, shape={self._shape.name!r})"

    def fingerprint(self) -> str:
        """Return the shape, the address without credentials, the model and the scale."""
        return f"rerank:{self._shape.name}:{self._url}:{self._model}:{self.scale}"

    def count_tokens(self, text: str) -> int:
        """Return about how many tokens `text` takes."""
        return estimate_tokens(text)

    def score(
        self, question: str, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[float | None]:
        """Return the raw score of each text; where a loop runs already, from a thread's own."""
        return _run(self.ascore(question, texts, seconds=seconds))

    async def ascore(
        self, question: str, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[float | None]:
        """Return the raw score of each text, asked for in requests of at most `most_texts`."""
        scores: list[float | None] = []
        deadline = time.monotonic() + (math.inf if seconds is None else seconds)
        for start in range(0, len(texts), self.most_texts):
            left = max(0.0, min(self._seconds, deadline - time.monotonic()))
            scores += await self._ask(question, texts[start : start + self.most_texts], left)
        return scores

    async def _ask(self, question: str, texts: Sequence[str], seconds: float) -> list[float | None]:
        body = self._shape.request(self._model, question, texts)
        failure: ModelError
        try:
            async with asyncio.timeout(seconds), self._client(seconds) as client:
                policy = dataclasses.replace(self._retry, seconds=seconds)
                attempt = functools.partial(self._attempt, client, body, len(texts))
                return await aretry(attempt, policy=policy)
        except TimeoutError:
            failure = EndpointError(
                f"{self._endpoint.label} gave no answer within {seconds:.3g} seconds; raise "
                "CRAG_MODEL_TIMEOUT or try again",
                reason="transport",
            )
        raise failure  # outside of the block: what it chains to holds the request, and so the key

    async def _attempt(
        self, client: httpx.AsyncClient, body: dict[str, Any], count: int
    ) -> list[float | None]:
        failure: Exception
        try:
            answer = await self._post(client, body)
            scores = self._shape.scores(answer, count)
            if scores is not None:
                return scores
            failure = ValueError(f"it holds no scores; CRAG_RERANK_SHAPE is {self._shape.name}")
        except (httpx.HTTPError, httpx.InvalidURL, _StatusError, ValueError) as error:
            failure = error
        raise self._as_error(failure)

    async def _post(self, client: httpx.AsyncClient, body: dict[str, Any]) -> object:
        content = bytearray()
        async with client.stream("POST", self._url, json=body) as response:
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > _MOST_BYTES:
                    raise ValueError("it is larger than 4 MiB")
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not response.is_success:
            raise _StatusError(response, answer)
        if answer is None:
            raise ValueError("HTML" if content.lstrip()[:1] == b"<" else "it is no JSON")
        return answer

    def _as_error(self, error: Exception) -> EndpointError:
        """Return `error` as our own, without the request that it holds."""
        if isinstance(error, _StatusError) and error.response.is_redirect:
            return EndpointError(
                f"{self._endpoint.label} redirects: set CRAG_RERANK_URL to the final address",
                reason="request",
                status=error.status_code,
            )
        found = as_model_error(error, self._endpoint)
        message = found.message.replace(self._key, MASK) if self._key else found.message
        return EndpointError(
            message, reason=found.reason, retry_after=found.retry_after, status=found.status
        )

    def _client(self, seconds: float) -> httpx.AsyncClient:
        headers = {"accept": "application/json"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        return httpx.AsyncClient(
            headers=headers, timeout=seconds, verify=self._ssl_context, mounts=dict(_DIRECT)
        )


def _address(base_url: str, shape: str) -> str:
    """Return `base_url`, checked.

    Raises:
        ConfigurationError: It is no http or https address, or carries a name or password.
    """
    if not base_url:
        raise ConfigurationError(
            f"a reranker of the shape {shape} has no default: set CRAG_RERANK_URL"
        )
    parts = urllib.parse.urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            "CRAG_RERANK_URL: an address such as http://127.0.0.1:8080 is needed"
        )
    if parts.username or parts.password or parts.query:
        raise ConfigurationError(
            "CRAG_RERANK_URL holds a credential: set CRAG_RERANK_API_KEY instead"
        )
    return base_url


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` gives, on a loop of this thread, or of another where one runs here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failures: list[BaseException] = []

    def inside() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - raised in the thread that asked
            failures.append(error)

    thread = threading.Thread(target=inside, name="crag-rerank", daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return outcome[0]
