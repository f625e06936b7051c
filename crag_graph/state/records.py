"""What the state is made of: grades, strips, citations, usage, the decision card."""

from typing import Literal

from typing_extensions import TypedDict

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


class Reranked(TypedDict):
    """What a reranker said of the passages that stay, kept from `retrieve` to `evaluate`.

    `keys` holds for each document a hash of the question and the text that were scored, `strips`
    the scores of strips by id.
    """

    evaluator: str
    keys: dict[str, str]
    grades: list[Grade]
    strips: dict[str, float]
