"""What the evidence says of some texts is pinned: users' thresholds depend on it."""

from pathlib import Path

import pytest
from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Passage
from crag_graph.evaluators.grading import as_passages
from crag_graph.evaluators.local import LocalEvaluator, fit
from crag_graph.settings import Settings

DAM = (
    "The Harwell dam stands in a narrow valley. It was built between 1931 and 1935 by the county. "
    "Visitors may walk along its crest in summer."
)
TABLE = "| Boat | Leaves |\n|---|---|\n| Lund | 9:15 |\n| Orsk | 10:40 |"
PINNED = [
    ("When was the Harwell dam built?", "", DAM, 0.924),
    ("Who built the Harwell dam?", "", DAM, 0.895),
    ("How high is the Harwell dam?", "", DAM, 0.835),
    ("When was it built?", "Harwell dam", DAM, 0.433),
    ("When was the Harwell dam built in 1940?", "", DAM, 0.684),
    ("When does the boat to Orsk leave?", "Boats", TABLE, 0.797),
    ("When was the Harwell dam built?", "", "When was the Harwell dam built?", 0.000),
    ("Wann wurde die Talsperre gebaut?", "", "Die Talsperre wurde 1931 bis 1935 gebaut.", 0.905),
    ("大坝是哪一年建成的？", "", "哈韦尔大坝于1935年建成。", 0.193),
    ("When was the Harwell dam built?", "", "Bananas are rich in potassium.", 0.001),
]


@pytest.mark.parametrize(("question", "title", "text", "score"), PINNED)
def test_scores_stay_as_they_are_while_the_reading_is_the_first(
    question: str, title: str, text: str, score: float
) -> None:
    """Where scores change on purpose, `READING` is to be raised, and they are to be pinned anew."""
    document = Document(id="p", page_content=text, metadata={"title": title})
    found = LocalEvaluator(cross=None).evaluate(
        question, as_passages([document], origin="internal"), settings=Settings(), budget=Budget()
    )
    assert fit.READING == 1
    assert found.grades[0]["score"] == pytest.approx(score, abs=0.004)


def test_the_fingerprint_follows_from_the_fit_and_the_reading_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changed = tmp_path / "fit.json"
    changed.write_bytes(fit.FIT.read_bytes() + b"\n")

    def fingerprint(path: Path = fit.FIT) -> str:
        fit.digest_of_fit.cache_clear()
        evaluator = LocalEvaluator(fit=path)
        found = evaluator.fingerprint(Settings())
        # No setting changes a score, so none keeps a cached one from being found.
        assert {evaluator.cache_key(Settings()), evaluator.cache_key(Settings(top_k=3))} == {found}
        return found

    given, other = fingerprint(), fingerprint(changed)
    monkeypatch.setattr(fit, "READING", fit.READING + 1)
    raised = fingerprint()
    monkeypatch.undo()
    assert len({given, other, raised}) == 3
    assert fingerprint() == given


def test_a_grade_depends_on_the_passages_beside_it() -> None:
    evaluator = LocalEvaluator(cross=None)
    assert evaluator.joint(Settings())
    dam, *others = as_passages(
        [Document(id=str(at), page_content=text) for at, text in enumerate((DAM, TABLE, DAM[:44]))],
        origin="internal",
    )

    def score(*beside: Passage) -> float | None:
        found = evaluator.evaluate(
            "When was the dam of Harwell built?",
            [dam, *beside],
            settings=Settings(),
            budget=Budget(),
        )
        return found.grades[0]["score"]

    assert score() != score(*others)
