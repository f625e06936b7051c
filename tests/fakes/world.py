"""What a graph needs for one question about a ferry, and the actions that scores lead to."""

from typing import Any

from langchain_core.documents import Document

from tests.fakes.collaborators import (
    StubEvaluator,
    StubGenerator,
    StubRetriever,
    StubWeb,
    doc,
)

QUESTION = {"question": "When does the ferry leave?"}


PAGE = Document(page_content="The ferry leaves at 9.", metadata={"source": "https://a.example/f"})


def world(score: float | None, **given: Any) -> dict[str, Any]:
    return {
        "retriever": StubRetriever([doc("d1"), doc("d2", "Another matter.")]),
        "evaluator": StubEvaluator({"d1": score, "d2": 0.1 if score is not None else None}),
        "generator": StubGenerator(),
        "web": StubWeb([PAGE]),
    } | given


ACTIONS = [(0.9, "correct"), (0.5, "ambiguous"), (0.2, "incorrect")]
