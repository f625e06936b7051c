"""From the state that a run left to what is kept of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from crag_graph.evaluation import measures
from crag_graph.evaluation.examples import Example
from crag_graph.evaluation.gold import Gold
from crag_graph.evaluation.measures import Pair
from crag_graph.evaluation.records import USAGE, Outcome

_DEPTHS = (5, 10, 20)


def observe(
    state: Mapping[str, Any], example: Example, gold: Gold, *, top_k: int, seconds: float
) -> Outcome:
    """Return the outcome of a finished run, measured where the labels allow it.

    Args:
        state: The output state.
        example: The question with its labels.
        gold: Which documents answer it.
        top_k: How many passages were asked for: the deepest k of the measures of retrieval.
        seconds: What the run took.
    """
    documents: Sequence[Document] = state.get("documents") or []
    decision = state.get("decision") or {}
    usage = state.get("usage") or {}
    refused = state.get("status") == "refused"
    graded = decision.get("grading") in ("scored", "empty")
    text = str(state.get("answer") or "")
    pairs: dict[str, dict[str, Pair]] = {
        "strips": measures.strips(state.get("strips") or [], documents, example)
    }
    if gold.known:
        ranked = gold.ranked(documents)
        pairs["retrieval"] = measures.retrieval(ranked, gold.grades, depths=depths(top_k))
        pairs["citations"] = measures.citations(state.get("citations") or [], documents, gold)
    if example.answers and example.should_answer is not False:
        pairs["answer"] = measures.answer(text, example.answers, refused=refused)
    if example.should_answer is not None:
        kind = "answerable_refused" if example.should_answer else "unanswerable_refused"
        pairs["refusal"] = {kind: (float(refused), 1)}
    return Outcome(
        status="refused" if refused else "answered",
        action=decision.get("action") if graded else None,
        score=decision.get("score") if graded else None,
        answer=text,
        seconds=seconds,
        usage={name: usage.get(name, 0) for name in USAGE},
        pairs={group: found for group, found in pairs.items() if found},
        degraded=tuple(decision.get("failures") or ()),
    )


def supported(documents: Sequence[Document], example: Example, gold: Gold) -> bool | None:
    """Return whether a question can be answered from `documents`; None where that is not known."""
    if example.answerable and gold.known:
        return any(gold.of(document) is not None for document in documents)
    return example.answerable


def depths(top_k: int) -> list[int]:
    """Return the k at which retrieval is measured: `top_k`, and the usual ones below it."""
    return sorted({*(depth for depth in _DEPTHS if depth < top_k), top_k})
