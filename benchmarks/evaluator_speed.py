"""How long the local evaluator takes for a question with 10 passages of about 120 words.

    python -m benchmarks.evaluator_speed

The passages are the project's own handbook, cut anew for each question; strips are scored, too.
`evidence` is the evaluator without its trained cross-encoder; `again` is another question over the
same passages, whose token vectors are remembered; `encoder alone` makes the passages' token vectors
and no more. Prints wall time, the processor time of all threads, and how long the first question
takes, with loading. The two kinds take turns, so that both meet the same load.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Passage
from crag_graph.evaluators.grading import as_passages
from crag_graph.evaluators.local import LocalEvaluator
from crag_graph.models.local.minilm import MiniLM
from crag_graph.settings import Settings

_HANDBOOK = Path(__file__).parents[1] / "docs" / "handbook"
_PASSAGES, _WORDS, _ROUNDS = 10, 120, 20
_QUESTION = "How many model calls does one question cost at most in the fused mode?"
_ANOTHER = "Which variable names the folder that the collections are kept in?"


def main() -> int:
    """Print the times."""
    words = " ".join(path.read_text("utf-8") for path in sorted(_HANDBOOK.glob("*.md"))).split()
    size = sum(path.stat().st_size for path in _files()) / 1e6
    print(f"the trained cross-encoder takes {size:.1f} MB on disk")
    model = MiniLM()
    tokens = [model.count_tokens(passage.text) for passage in _cut(words, 0)]
    print(f"a passage has {statistics.mean(tokens):.0f} tokens")
    kinds = {
        "evidence": LocalEvaluator(model=MiniLM(), cross=None),
        "ours": LocalEvaluator(model=MiniLM()),
    }
    times: dict[str, list[tuple[float, float]]] = {}
    for at in range(-1, _ROUNDS):
        passages = _cut(words, at + 1)
        for name, evaluator in kinds.items():
            took = _timed(evaluator, _QUESTION, passages)
            if at < 0:
                print(
                    f"{name:8} the first, with loading: {took[0]:.0f} ms (processor {took[1]:.0f})"
                )
            else:
                times.setdefault(name, []).append(took)
                times.setdefault(f"{name}, again", []).append(_timed(evaluator, _ANOTHER, passages))
    for at in range(_ROUNDS):
        texts = [passage.text for passage in _cut(words, at + 1)]
        times.setdefault("encoder alone", []).append(_clocked(model.token_vectors, texts))
    for name, taken in times.items():
        wall, processor = zip(*taken, strict=True)
        print(
            f"{name:15} {_PASSAGES} passages of {_WORDS} words: median "
            f"{statistics.median(wall):.0f} ms, best {min(wall):.0f} ms "
            f"(processor {statistics.median(processor):.0f} ms)"
        )
    return 0


def _timed(
    evaluator: LocalEvaluator, question: str, passages: list[Passage]
) -> tuple[float, float]:
    """Return wall and processor time of one evaluation in milliseconds."""
    return _clocked(evaluator.evaluate, question, passages, settings=Settings(), budget=Budget())


def _clocked(call: Callable[..., object], *given: Any, **named: Any) -> tuple[float, float]:
    """Return wall and processor time of `call` in milliseconds."""
    started, spent = time.perf_counter(), time.process_time()
    call(*given, **named)
    return (time.perf_counter() - started) * 1000, (time.process_time() - spent) * 1000


def _cut(words: list[str], at: int) -> list[Passage]:
    """Return ten passages that start at another word each time."""
    starts = [(at * 7 + number * _WORDS) % (len(words) - _WORDS) for number in range(_PASSAGES)]
    documents = [
        Document(id=f"p{number}", page_content=" ".join(words[start : start + _WORDS]))
        for number, start in enumerate(starts)
    ]
    return as_passages(documents, origin="internal")


def _files() -> list[Path]:
    from crag_graph.evaluators.local.cross import find_model

    folder = find_model()
    return [folder / "model.onnx", folder / "scores.json"] if folder else []


if __name__ == "__main__":
    sys.exit(main())
