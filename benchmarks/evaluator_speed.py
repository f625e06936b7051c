"""How long the local evaluator takes for a question with 10 passages of about 120 words.

    python -m benchmarks.evaluator_speed

The passages are the project's own handbook, cut anew, so that nothing is remembered; strips are
cut and scored, too. `evidence` is the evaluator without its trained cross-encoder. Prints wall
time, the processor time of all threads, and how long the first question takes, with loading. The
two kinds take turns, so that both meet the same load.
"""

import statistics
import sys
import time
from pathlib import Path

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


def main() -> int:
    """Print the times."""
    words = " ".join(path.read_text("utf-8") for path in sorted(_HANDBOOK.glob("*.md"))).split()
    size = sum(path.stat().st_size for path in _files()) / 1e6
    print(f"the trained cross-encoder takes {size:.1f} MB on disk")
    kinds = {
        "evidence": LocalEvaluator(model=MiniLM(), cross=None),
        "ours": LocalEvaluator(model=MiniLM()),
    }
    wall: dict[str, list[float]] = {name: [] for name in kinds}
    processor: dict[str, list[float]] = {name: [] for name in kinds}
    for at in range(-1, _ROUNDS):
        passages = _cut(words, max(0, at))
        for name, evaluator in kinds.items():
            started, spent = time.perf_counter(), time.process_time()
            evaluator.evaluate(_QUESTION, passages, settings=Settings(), budget=Budget())
            took, used = time.perf_counter() - started, time.process_time() - spent
            if at < 0:
                print(
                    f"{name:8} first question, with loading: {took:.2f} s ({used:.2f} s of processor)"
                )
            else:
                wall[name].append(took * 1000)
                processor[name].append(used * 1000)
    for name in kinds:
        print(
            f"{name:8} {_PASSAGES} passages of {_WORDS} words: median "
            f"{statistics.median(wall[name]):.0f} ms, best {min(wall[name]):.0f} ms "
            f"(processor time {statistics.median(processor[name]):.0f} ms)"
        )
    return 0


def _cut(words: list[str], at: int) -> list[Passage]:
    """Return ten passages that start at another word each time."""
    starts = [(at * 7 + number * _WORDS) % (len(words) - _WORDS) for number in range(_PASSAGES)]
    documents = [
        Document(id=f"p{number}", page_content=" ".join(words[start : start + _WORDS]))
        for number, start in enumerate(starts)
    ]
    return as_passages(documents, origin="internal")


def _files() -> list[Path]:
    from crag_graph.evaluators.local_cross import find_model

    folder = find_model()
    return [folder / "model.onnx", folder / "scores.json"] if folder else []


if __name__ == "__main__":
    sys.exit(main())
