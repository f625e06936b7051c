"""The output state as plain data: what `--json` prints and what the reports read."""

from collections.abc import Mapping, Sequence
from typing import Any

from crag_graph.state import plain

_DEFAULTS: dict[str, Any] = {
    "question": "",
    "status": None,
    "action": None,
    "answer": "",
    "grades": [],
    "strips": [],
    "citations": [],
    "documents": [],
    "web_documents": [],
    "search_query": "",
    "decision": {},
    "usage": {},
    "warnings": [],
}
_DOCUMENTS = ("documents", "web_documents")


def output_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run as JSON-ready data, every key of the output there whatever the run did.

    Documents are `{"id", "page_content", "metadata"}`.
    """
    output: dict[str, Any] = {}
    for key, default in _DEFAULTS.items():
        value = state.get(key)
        if key in _DOCUMENTS:
            output[key] = _documents(value or ())
        else:
            output[key] = plain(default if value is None else value)
    return output


def _documents(documents: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": document.id,
            "page_content": plain(document.page_content),
            "metadata": plain(document.metadata),
        }
        for document in documents
    ]
