"""The schemas of the graph: what goes in, what the nodes share, what comes out."""

from typing import Annotated, Any

from langchain_core.documents import Document
from typing_extensions import NotRequired, TypedDict

from crag_graph.state.documents import as_documents
from crag_graph.state.merging import merge_decision, merge_strips, merge_usage
from crag_graph.state.records import (
    Action,
    Citation,
    Decision,
    Grade,
    Reranked,
    Status,
    Strip,
    Usage,
)


class CRAGInput(TypedDict):
    """What a run is given.

    `history` is earlier turns, oldest first, as `{"role": "user" | "assistant", "content": str}`.
    `filter` narrows retrieval by metadata, `{"field": value}` or `{"field": [value, …]}`, all of
    which must hold. Both belong to one run: they are not carried over to the next on a thread.
    """

    question: str
    history: NotRequired[list[dict[str, Any]] | None]
    filter: NotRequired[dict[str, Any] | None]


class CRAGOutput(TypedDict, total=False):
    """What a run leaves: the answer, and all that led to it."""

    question: str
    status: Status
    action: Action | None
    answer: str
    documents: Annotated[list[Document], as_documents]
    grades: list[Grade]
    strips: Annotated[list[Strip], merge_strips]
    citations: list[Citation]
    search_query: str
    web_documents: Annotated[list[Document], as_documents]
    decision: Annotated[Decision, merge_decision]
    usage: Annotated[Usage, merge_usage]
    warnings: list[str]


class CRAGState(CRAGOutput, total=False):
    """What the nodes share: the output, the input beside it, and scratch that is not told.

    `reranked` goes from `retrieve` to `evaluate`, which clears it.
    """

    history: list[dict[str, Any]] | None
    filter: dict[str, Any] | None
    reranked: Reranked | None
