"""Every error that this package raises on purpose.

```
CRAGError
├── InputError                    a question, path or option that cannot be used  (also ValueError)
├── ConfigurationError            settings or environment that cannot work  (also ValueError)
├── BudgetExceededError           a limit of the run forbids the next call
├── ModelError                    a model gave no usable answer; `reason` says why
│   ├── EmbeddingError
│   ├── EvaluationError
│   └── GenerationError           `evidence` holds what was to be answered from
├── StoreError                    the vector store
│   ├── StoreLockedError          another process holds the embedded store
│   ├── StoreDamagedError         the store does not hold what its manifest says
│   ├── StoreFullError            the disk has no room for what would be written
│   ├── StoreAuthError            the server refuses the key
│   ├── StoreRequestError         the server refuses the request
│   ├── StoreUnavailableError     the server cannot be reached or is overloaded (transient)
│   ├── CollectionNotFoundError
│   └── CollectionMismatchError   made with another embedding model, size or schema
├── LoadError                     one document cannot be read; `path` and `reason`
│   └── EmptyDocumentError        there is nothing in it to be read
└── SearchError                   web search
    ├── SearchAuthError
    ├── SearchQuotaError
    ├── SearchRequestError
    └── SearchUnavailableError    (transient)
```

A message is one sentence: what happened, where, and what to do. Credentials are masked in it.
`exit_code` is what the command returns: 2 for what the user gave, 1 for what failed.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from crag_graph.redaction import redact

ModelFailure = Literal[
    "length", "filter", "refusal", "parse", "transport", "auth", "quota", "request"
]


class CRAGError(Exception):
    """The root of the tree.

    Attributes:
        message: One sentence, credentials masked.
        transient: Whether the same call may succeed a moment later.
        retry_after: Seconds that the other side asked to wait, where it did.
    """

    exit_code: ClassVar[int] = 1
    transient: bool = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        self.message = redact(message)
        self.retry_after = retry_after
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross processes when documents are ingested by several of them; the default would
        # call the class again with the message alone.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[CRAGError], args: tuple[Any, ...], attributes: dict[str, Any]) -> CRAGError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InputError(CRAGError, ValueError):
    """A question, path or option that cannot be used."""

    exit_code = 2


class ConfigurationError(CRAGError, ValueError):
    """Settings or environment variables that cannot work."""

    exit_code = 2


class BudgetExceededError(CRAGError):
    """A limit of the run forbids the next call.

    Attributes:
        limit: The name of the setting, for example `max_llm_calls`.
    """

    def __init__(self, message: str, *, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


class ModelError(CRAGError):
    """A model gave no usable answer.

    Attributes:
        reason: `length` (cut off), `filter` (content filter), `refusal`, `parse` (unreadable),
            `transport` (network, 5xx, time-out), `auth`, `quota` or `request` (refused as sent).
    """

    def __init__(
        self, message: str, *, reason: ModelFailure, retry_after: float | None = None
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.reason: ModelFailure = reason
        self.transient = reason == "transport" or (reason == "quota" and retry_after is not None)


class EmbeddingError(ModelError):
    """Text could not be turned into vectors."""


class EvaluationError(ModelError):
    """The retrieval evaluator gave no grades."""


class GenerationError(ModelError):
    """The answer could not be generated.

    Attributes:
        evidence: The texts that it was to be generated from, so that no work is lost.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: ModelFailure,
        evidence: Sequence[str] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, reason=reason, retry_after=retry_after)
        self.evidence = tuple(evidence)


class StoreError(CRAGError):
    """The vector store failed."""


class StoreLockedError(StoreError):
    """Another process holds the embedded store."""


class StoreDamagedError(StoreError):
    """The store does not hold what its manifest says."""


class StoreFullError(StoreError):
    """The disk has no room for what would be written."""


class StoreAuthError(StoreError):
    """The server refuses the key."""


class StoreRequestError(StoreError):
    """The server refuses the request as it was sent."""


class StoreUnavailableError(StoreError):
    """The server cannot be reached, answers nonsense, or is overloaded."""

    transient = True


class CollectionNotFoundError(StoreError):
    """There is no such collection: nothing was ingested into it."""


class CollectionMismatchError(StoreError):
    """The collection was made with another embedding model, vector size or schema."""


class LoadError(CRAGError):
    """One document cannot be read.

    Attributes:
        path: The file, as it was given but for credentials.
        reason: One clause without the path, for example `no text layer (a scan?)`.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = redact(path)
        self.reason = redact(reason)


class EmptyDocumentError(LoadError):
    """A document has nothing in it that could be read: no bytes, blanks, no rows.

    It is not raised for a format that may hold what cannot be read, such as the pictures of a scan.
    """


class SearchError(CRAGError):
    """Web search failed."""


class SearchAuthError(SearchError):
    """The provider refuses the key."""


class SearchQuotaError(SearchError):
    """The provider's quota or rate limit is used up."""


class SearchRequestError(SearchError):
    """The provider refuses the request as it was sent."""


class SearchUnavailableError(SearchError):
    """The provider cannot be reached, answers nonsense, or timed out."""

    transient = True
