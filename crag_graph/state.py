"""The state of the graph: what goes in, what the nodes share, what comes out.

Only str, int, float, bool, list, dict and LangChain documents are kept, so that checkpoints, strict
msgpack, Studio's edit-and-fork and JSON clients all see the same thing. Every reducer here is
idempotent: the same update twice, or an update that passes through a parent graph, changes nothing,
and nothing grows from one question to the next on a thread.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from langchain_core.documents import Document
from typing_extensions import NotRequired, TypedDict

Action = Literal["correct", "ambiguous", "incorrect"]
Origin = Literal["internal", "web"]
GradeStatus = Literal["scored", "unknown", "failed"]
Status = Literal["answered", "refused"]


class Grade(TypedDict):
    """What the retrieval evaluator says of one passage.

    `score` is its relevance on the internal scale, 0–1, or None where it is not known. `raw` is the
    same on the evaluator's own scale. `status` is `scored`, `unknown` (answered, but not with a
    usable score) or `failed` (no answer); only a `scored` grade takes part in the verdict.
    """

    document_id: str
    score: float | None
    raw: float | None
    status: GradeStatus
    reason: str
    evaluator: str


class Strip(TypedDict):
    """A knowledge strip: the smallest piece of a passage that is kept or dropped as a whole.

    `text` is `document.page_content[start:end]`; both offsets count characters. `score` is 0–1 or
    None. `source` is the path or URL of the document.
    """

    id: str
    text: str
    document_id: str
    start: int
    end: int
    score: float | None
    kept: bool
    origin: Origin
    source: str


class Citation(TypedDict):
    """A source that the answer cites. `number` is the marker in the answer, from 1."""

    number: int
    document_id: str
    origin: Origin
    kind: Literal["url", "path"]
    source: str
    title: str
    locator: str
    strip_ids: list[str]
    quote: str


class NodeUsage(TypedDict, total=False):
    """What one node spent: calls, tokens, seconds of wall time."""

    llm_calls: int
    evaluator_calls: int
    generation_calls: int
    web_searches: int
    input_tokens: int
    output_tokens: int
    cache_hits: int
    seconds: float


class Usage(TypedDict, total=False):
    """What the run spent: totals over `nodes`, and each node's own share.

    `llm_calls` counts requests to a language model, `evaluator_calls` passes of the retrieval
    evaluator whatever its kind, `generation_calls` answers generated (0 or 1), `web_searches`
    searches sent to a provider. `seconds` adds up the nodes, those that ran in parallel too.
    """

    run_id: str
    llm_calls: int
    evaluator_calls: int
    generation_calls: int
    web_searches: int
    input_tokens: int
    output_tokens: int
    cache_hits: int
    seconds: float
    nodes: dict[str, NodeUsage]


class Stage(TypedDict, total=False):
    """What one node decided and why, the fallbacks it took, what failed and what to warn of."""

    decided: str
    why: str
    fallbacks: list[str]
    failures: list[str]
    warnings: list[str]


class Decision(TypedDict, total=False):
    """The decision card: why the run did what it did.

    `score` is the aggregate of the known grades (0–1, None when there is none), compared with
    `upper` and `lower` on the same scale. `margin` is the distance to the nearest threshold.
    `grading` is `scored`, `empty` (nothing was retrieved) or `failed` (nothing could be graded; the
    outage policy decided). `stages` holds each node's own part, `fallbacks` and `failures` all of
    theirs in the order of the graph.
    """

    run_id: str
    action: Action
    reason: str
    score: float | None
    aggregate: str
    upper: float
    lower: float
    margin: float | None
    profile: str
    provenance: str
    grading: Literal["scored", "empty", "failed"]
    evaluator: str
    stages: dict[str, Stage]
    fallbacks: list[str]
    failures: list[str]


NODES = ("retrieve", "evaluate", "route", "refine", "web_search", "generate")

_SMALL = 2**53  # what every JSON client holds exactly; larger ones go the long way
_TOTALS = (
    "llm_calls",
    "evaluator_calls",
    "generation_calls",
    "web_searches",
    "input_tokens",
    "output_tokens",
    "cache_hits",
    "seconds",
)


def plain(value: Any) -> Any:
    """Return `value` as plain Python: str, int, float, bool, None, lists and dicts of these.

    numpy scalars and arrays become numbers and lists, sets and tuples lists, bytes their decoded
    text; anything else becomes its `str`, an integer beyond 64 bits too. NaN and infinities become
    None, lone surrogates U+FFFD, NUL characters nothing, since JSON or msgpack does not carry them.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**64 else str(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, Mapping):
        return {_encodable(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, bytes):
        return _encodable(value.decode("utf-8", "replace"))
    if hasattr(value, "tolist"):  # numpy scalars and arrays, without importing numpy
        return plain(value.tolist())
    return _encodable(str(value))


def _encodable(text: str) -> str:
    if text.isascii():
        return text.replace("\x00", "")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")


def as_documents(_: Sequence[Document] | None, new: Sequence[Any] | None) -> list[Document]:
    """Return `new` as documents with an id each and plain metadata; the old list is dropped.

    Accepts what Studio and JSON clients post (dicts, also in LangChain's serialised form) beside
    `Document`. A document without an id gets one that follows from its source and text; a second
    document with the same id gets a suffix, so that grades and strips can be told apart.

    Raises:
        ValueError: An item is neither a document nor a mapping with `page_content`.
    """
    documents: list[Document] = []
    taken: set[str] = set()
    for item in new or ():
        document = _as_document(item)
        base = identifier = _encodable(document.id or "") or _identifier(document)
        copy = 1
        while identifier in taken:
            copy += 1
            identifier = f"{base}#{copy}"
        taken.add(identifier)
        text = _encodable(document.page_content)
        if identifier == document.id and text == document.page_content and _is_plain(document):
            documents.append(document)  # as most are, since the nodes write none that are not
            continue
        metadata = plain(document.metadata)
        documents.append(Document(id=identifier, page_content=text, metadata=metadata))
    return documents


def _is_plain(document: Document) -> bool:
    """Return whether a document's metadata surely is plain: flat, ASCII, of Python's own types."""
    return type(document) is Document and all(
        type(key) is str
        and key.isascii()
        and (
            value is None
            or type(value) is bool
            or (type(value) is int and abs(value) < _SMALL)
            or (type(value) is float and math.isfinite(value))
            or (type(value) is str and value.isascii() and "\x00" not in value)
        )
        for key, value in document.metadata.items()
    )


def _as_document(item: Any) -> Document:
    if isinstance(item, Document):
        return item
    if isinstance(item, Mapping):
        fields = item["kwargs"] if "kwargs" in item and "page_content" not in item else item
        text = fields.get("page_content")
        if isinstance(text, str):
            return Document(
                id=fields.get("id"), page_content=text, metadata=fields.get("metadata") or {}
            )
    raise ValueError("a document needs a text under 'page_content'")


def _identifier(document: Document) -> str:
    source = str(document.metadata.get("source", ""))
    key = f"{source}\n{document.page_content}".encode("utf-8", "replace")
    return hashlib.sha256(key).hexdigest()[:16]


def merge_strips(old: Sequence[Strip] | None, new: Sequence[Strip] | None) -> list[Strip]:
    """Return the strips of both origins, internal first: `new` replaces those of its own origins.

    Refinement and web search can thus write in the same step. An empty `new` clears the list.
    """
    if not new:
        return []
    replaced = {strip["origin"] for strip in new}
    kept = [strip for strip in old or () if strip["origin"] not in replaced]
    return sorted([*kept, *new], key=lambda strip: strip["origin"] != "internal")


def merge_usage(old: Usage | None, new: Usage | None) -> Usage:
    """Return the usage with the nodes of `new` replacing their own; totals follow from the nodes.

    A `run_id` other than the old one starts anew.
    """
    nodes: dict[str, NodeUsage] = dict(_same_run(old, new).get("nodes", {}))
    nodes.update((new or {}).get("nodes", {}))
    merged: dict[str, Any] = {"run_id": _run_id(old, new), **dict.fromkeys(_TOTALS, 0)}
    for node in nodes.values():
        for name, amount in node.items():
            merged[name] = merged.get(name, 0) + amount
    merged["nodes"] = nodes
    return merged  # type: ignore[return-value]


def merge_decision(old: Decision | None, new: Decision | None) -> Decision:
    """Return the decision card with the fields and stages of `new` replacing their own.

    A `run_id` other than the old one starts anew.
    """
    kept = _same_run(old, new)
    stages = {**kept.get("stages", {}), **(new or {}).get("stages", {})}
    ordered = {name: stages[name] for name in NODES if name in stages}
    ordered.update((name, stage) for name, stage in stages.items() if name not in ordered)
    merged: dict[str, Any] = {**kept, **(new or {}), "run_id": _run_id(old, new), "stages": ordered}
    merged["fallbacks"] = [
        note for stage in ordered.values() for note in stage.get("fallbacks", [])
    ]
    merged["failures"] = [note for stage in ordered.values() for note in stage.get("failures", [])]
    return merged  # type: ignore[return-value]


def _run_id(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    return str((new or {}).get("run_id") or (old or {}).get("run_id") or "")


def _same_run(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return old if old and old.get("run_id", "") == _run_id(old, new) else {}


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
    """What the nodes share: the output, and the input beside it."""

    history: list[dict[str, Any]] | None
    filter: dict[str, Any] | None
