"""What must hold of a run whatever a model says.

What the model itself got wrong is another matter: see benchmarks/real_model_mistakes.py.
"""

import re
from collections.abc import Callable, Mapping

from benchmarks.real_model_runs import Run
from crag_graph.settings import EvaluationMode

MOST_CALLS: Mapping[EvaluationMode, Mapping[str, int]] = {
    "fused": {"correct": 2, "incorrect": 2, "ambiguous": 2},
    "staged": {"correct": 3, "incorrect": 3, "ambiguous": 4},
}
"""Model calls a run, by mode and action, that no reply can raise but one that must be repaired."""

_MARKER = re.compile(r"\[(\d+)\]")

Promise = Callable[[Run], bool]


def _ended(run: Run) -> bool:
    return not run.error and run.state.get("status") in ("answered", "refused")


def _acted(run: Run) -> bool:
    statuses = {grade["status"] for grade in run.state.get("grades") or []}
    return run.state.get("action") in ("correct", "ambiguous", "incorrect") and statuses <= {
        "scored",
        "unknown",
        "failed",
    }


def _few_calls(run: Run) -> bool:
    most = MOST_CALLS[run.mode].get(str(run.state.get("action")), 0)
    return run.calls <= most or bool(run.repeats)


def _counted(run: Run) -> bool:
    tokens = run.usage.get("input_tokens", 0), run.usage.get("output_tokens", 0)
    return run.usage.get("llm_calls") == run.calls and all(
        bool(count) == bool(run.calls) for count in tokens
    )


def _cited(run: Run) -> bool:
    answer, citations = str(run.state.get("answer")), run.state.get("citations") or []
    numbers = [citation["number"] for citation in citations]
    documents = [*(run.state.get("documents") or []), *(run.state.get("web_documents") or [])]
    known = {document.id: document.page_content for document in documents}
    strips = run.state.get("strips") or []
    kept = {strip["id"]: strip["text"] for strip in strips if strip["kept"]}
    return (
        numbers == list(range(1, len(numbers) + 1))
        and {int(number) for number in _MARKER.findall(answer)} == set(numbers)
        and all(citation["document_id"] in known for citation in citations)
        and all(
            name in kept and kept[name] in known[citation["document_id"]]
            for citation in citations
            for name in citation["strip_ids"]
        )
    )


def _generated_from_evidence(run: Run) -> bool:
    kept = any(strip["kept"] for strip in run.state.get("strips") or [])
    refused = run.state.get("status") == "refused"
    generations = run.usage.get("generation_calls", 0)
    return generations == 1 if kept else (refused and generations == 0)


def _streamed(run: Run) -> bool:
    text = "".join(piece for _, piece in run.shown)
    if not run.usage.get("generation_calls"):
        return not text
    pieces = [piece for _, piece in run.shown if piece]
    said = _MARKER.sub("", text).split()
    answer = _MARKER.sub("", str(run.state.get("answer"))).split()
    return {node for node, _ in run.shown} == {"generate"} and len(pieces) > 1 and said == answer


PROMISES: Mapping[str, Promise] = {
    "the run ends with an answer or a refusal": _ended,
    "there is an action, and every grade has a status": _acted,
    "no more model calls than the mode allows": _few_calls,
    "calls and tokens are counted": _counted,
    "every marker has its citation, of evidence that was given": _cited,
    "one generation where there is evidence, else a refusal in code": _generated_from_evidence,
    "the answer streams, and nothing else does": _streamed,
}
"""What must hold whatever the model says."""


def broken(run: Run) -> list[str]:
    """Return the promises that `run` broke."""
    if run.error:
        return [f"the run ends with an answer or a refusal ({run.error})"]
    return [promise for promise, holds in PROMISES.items() if not holds(run)]
