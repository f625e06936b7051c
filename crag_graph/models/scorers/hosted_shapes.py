"""How hosted rerankers are asked, and where their scores stand: by index, never by order."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from crag_graph.models.scorers.base import finite


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shape:
    """One way of speaking to a reranker.

    Attributes:
        name: What `CRAG_RERANK_SHAPE` calls it.
        url: The provider's own address; empty where everybody has a server of their own.
        path: What is asked below the address.
        texts: The request's field for the texts.
        count: Its field for how many results are wanted; empty where all come anyway.
        extra: Further fields of the request.
        results: The answer's field for the results; empty: the answer is the list itself.
        score: The result's field for the score.
        most_texts: Most texts a request: what the provider bills as one search, or allows.
        needs_key: Whether nobody is let in without a key.
        names_model: Whether the request names the model.
    """

    name: str
    url: str
    path: str
    texts: str = "documents"
    count: str = "top_n"
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    results: str = "results"
    score: str = "relevance_score"
    most_texts: int = 100
    needs_key: bool = True
    names_model: bool = True

    def request(self, model: str, question: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the body of a request for the scores of all `texts`."""
        body: dict[str, Any] = {"query": question, self.texts: list(texts), **self.extra}
        if self.names_model:
            body["model"] = model
        if self.count:
            body[self.count] = len(texts)
        return body

    def endpoint(self, base_url: str) -> str:
        """Return the address that is posted to, whether `base_url` has a part of the path or all.

        `https://host`, `https://host/v1` and `https://host/v1/rerank` all mean the last one.
        """
        base = base_url.rstrip("/")
        if base.endswith("/rerank"):
            return base
        version = self.path.removesuffix("/rerank")
        if version and base.endswith(("/v1", "/v2")):
            return f"{base}/rerank"
        return base + self.path

    def scores(self, answer: object, count: int) -> list[float | None] | None:
        """Return the scores of `count` texts that `answer` holds; None where it holds no result.

        A text without a result, with two that differ, or with a score that is not a finite number
        has none. Results of texts that were not sent are left out.
        """
        if self.results:
            answer = answer.get(self.results) if isinstance(answer, Mapping) else None
        if not isinstance(answer, list):
            return None
        found: dict[int, set[float | None]] = {}
        for item in answer:
            place = item.get("index") if isinstance(item, Mapping) else None
            if isinstance(place, int) and not isinstance(place, bool) and 0 <= place < count:
                found.setdefault(place, set()).add(finite(item.get(self.score)))
        if not found:
            return None
        only = {place: values.pop() for place, values in found.items() if len(values) == 1}
        return [only.get(place) for place in range(count)]


SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        # docs.cohere.com/reference/rerank; a search is one query with up to 100 documents
        Shape(name="cohere", url="https://api.cohere.com", path="/v2/rerank"),
        # api.jina.ai/redoc; vLLM, Infinity, LocalAI and LiteLLM answer to the same
        Shape(
            name="jina",
            url="https://api.jina.ai",
            path="/v1/rerank",
            extra={"return_documents": False},
        ),
        # docs.voyageai.com/reference/reranker-api
        Shape(
            name="voyage",
            url="https://api.voyageai.com",
            path="/v1/rerank",
            count="top_k",
            extra={"return_documents": False, "truncation": True},
            results="data",
        ),
        # huggingface.github.io/text-embeddings-inference; a server takes 32 texts by default
        Shape(
            name="tei",
            url="",
            path="/rerank",
            texts="texts",
            count="",
            extra={"raw_scores": False, "return_text": False, "truncate": True},
            results="",
            score="score",
            most_texts=32,
            needs_key=False,
            names_model=False,
        ),
    )
}
