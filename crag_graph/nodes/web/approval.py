"""Asking a person before anything is searched."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from langgraph.runtime import get_runtime
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, model_validator


class SearchApproval(BaseModel):
    """What the run is resumed with: `Command(resume={"action": "approve"})`.

    A word alone will do (`"approve"`, `"refuse"`), true or false, and queries without an action,
    which mean `edit`. Anything else is refused by LangGraph, and can be answered again.
    """

    model_config = ConfigDict(extra="forbid")

    action: Literal["approve", "edit", "refuse"] = Field(
        description="Search as shown, search for other queries, or do not search."
    )
    queries: list[str] = Field(
        default_factory=list, description="What to search for instead; with edit alone."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, value: Any) -> Any:
        if isinstance(value, bool):
            return {"action": "approve" if value else "refuse"}
        if isinstance(value, str):
            return {"action": value.strip().lower()}
        if isinstance(value, dict):
            value = dict(value)
            if isinstance(query := value.pop("query", None), str):
                value.setdefault("queries", [query])
            if value.get("queries"):
                value.setdefault("action", "edit")
        return value

    @model_validator(mode="after")
    def _edited(self) -> Self:
        if self.action == "edit" and not any(query.strip() for query in self.queries):
            raise ValueError("edit needs queries: {'action': 'edit', 'queries': ['…']}")
        return self


def can_ask() -> bool:
    """Return whether the run can wait for a person: it is on a thread, so a checkpointer keeps it.

    Outside of a graph nobody can be asked.
    """
    try:
        info = get_runtime().execution_info
    except (RuntimeError, KeyError):
        return False
    return info is not None and info.thread_id is not None


def approved(question: str, queries: Sequence[str], *, provider: str) -> list[str] | None:
    """Return the queries that a person agrees to; None when they refuse.

    Interrupts the run until it is resumed with a `SearchApproval`. What stands before this call in
    the node is done again then, so nothing that costs may stand there.
    """
    answer = interrupt(
        {
            "type": "approve_search",
            "question": question,
            "queries": list(queries),
            "provider": provider,
            "answers": {
                "approve": "search as shown",
                "edit": "search for the queries that you send along",
                "refuse": "go on without a search",
            },
        },
        response_schema=SearchApproval,
    )
    if answer.action == "refuse":
        return None
    return answer.queries if answer.action == "edit" else list(queries)
