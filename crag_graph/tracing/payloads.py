"""Keeping what was asked, read and answered out of traces, where a deployment wants that."""

import functools
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langsmith import Client

VARIABLE = "CRAG_TRACE_PAYLOADS"
"""`off` keeps the texts of questions, documents, prompts and answers out of traces; default on."""

_OFF = frozenset({"off", "0", "false", "no"})
# Names whose values are words of ours, identifiers, or names of models: never text of a document.
_KEPT = frozenset(
    {
        "action",
        "aggregate",
        "assistant_id",
        "checkpoint_id",
        "checkpoint_ns",
        "document_id",
        "evaluator",
        "finish_reason",
        "graph_id",
        "grading",
        "kind",
        "model",
        "model_name",
        "model_provider",
        "name",
        "origin",
        "profile",
        "role",
        "run_id",
        "status",
        "thread_id",
        "type",
    }
)
_KEPT_PREFIXES = ("crag_", "langgraph_", "ls_", "lc_")
_METADATA = "metadata"  # of a document: its values are the corpus's, whatever they are called
_LONGEST_KEPT = 120
_HIDING = (
    "LANGSMITH_HIDE_INPUTS",
    "LANGSMITH_HIDE_OUTPUTS",
    "OPENINFERENCE_HIDE_INPUTS",
    "OPENINFERENCE_HIDE_OUTPUTS",
    "OPENINFERENCE_HIDE_LLM_TOOLS",
    "OPENINFERENCE_HIDE_EMBEDDINGS_TEXT",
)
_ERROR_NAME = re.compile(r"[A-Za-z_][\w.]*")


def trace_payloads(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether traces may hold texts: what `CRAG_TRACE_PAYLOADS` says, by default yes."""
    return environ.get(VARIABLE, "").strip().lower() not in _OFF


def withhold(value: Any, name: str = "") -> Any:
    """Return `value` with every text replaced by its length.

    Numbers, booleans and the shape stay, and so do short words under names such as `action`,
    `status` or `document_id`: a trace still shows what was decided and how long it took. Of an
    error its class stays.
    """
    if isinstance(value, Mapping):
        inside = _METADATA if name == _METADATA else ""
        return {str(key): withhold(item, inside or str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [withhold(item, name) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else str(value)
    if name == "error":
        match = _ERROR_NAME.match(text)
        return f"{match[0] if match else 'error'} [withheld]"
    kept = name in _KEPT or name.startswith(_KEPT_PREFIXES)
    if kept and len(text) <= _LONGEST_KEPT and "\n" not in text:
        return text
    return f"[withheld: {len(text)} characters]"


def withhold_payloads() -> None:
    """Make the tracers of LangSmith and OpenInference in this process send no text.

    LangSmith's global client is replaced by one that passes everything through `withhold`; clients
    and OpenInference instrumentations that are made after this hide all inputs and outputs.
    `build_graph` calls it where `CRAG_TRACE_PAYLOADS` is off.
    """
    from langsmith import configure, utils

    os.environ.update(dict.fromkeys(_HIDING, "true"))
    if utils.tracing_is_enabled():
        configure(client=_withholding_client())


@functools.cache
def _withholding_client() -> "Client":
    from langsmith import Client

    return Client(anonymizer=withhold, hide_inputs=False, hide_outputs=False, hide_metadata=False)
