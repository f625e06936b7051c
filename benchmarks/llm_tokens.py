"""Tokens sent to the model per question: fused, staged, and one call a passage.

    python -m benchmarks.llm_tokens --data DIR [--set hotpot_100] [--questions 50] [--passages 5]

DIR holds labelled sets as gzip JSONL, one question a line with its passages. Questions run through
the graph with a scripted model on loopback that grades by the labels: 5 for a passage that is
labelled as holding the answer or a part of it, 1 for the others. The tokens are those of all
requests of a question, schemas and repeated instructions included, estimated at four characters
each, so that the ways compare; a provider's own count differs.
"""

import argparse
import gzip
import json
import random
import statistics
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from benchmarks.llm_stage import Web, chat, graph_with
from crag_graph.settings import EvaluationMode, Settings
from crag_graph.text.tokens import estimate_tokens
from tests.fakes.grader import by_text, shown
from tests.fakes.openai_server import OpenAIServer, Reply, Request

MODES: tuple[EvaluationMode, ...] = ("fused", "staged", "per_passage")
_SEED = 7


def read(path: Path, questions: int, passages: int) -> list[tuple[str, list[Document], list[str]]]:
    """Return questions with their passages, and the texts that hold an answer.

    Of a question with more passages, those with an answer stay, and the order is shuffled.
    """
    rows: list[tuple[str, list[Document], list[str]]] = []
    shuffle = random.Random(_SEED)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            given = sorted(row["passages"], key=lambda passage: -(passage["label"] or 0))[:passages]
            if len(given) < 2:
                continue
            shuffle.shuffle(given)
            documents = [
                Document(id=f"d{number}", page_content=passage["text"])
                for number, passage in enumerate(given)
            ]
            good = [passage["text"] for passage in given if passage["label"]]
            rows.append((row["question"], documents, good))
            if len(rows) == questions:
                break
    return rows


def script(good: list[str]) -> Any:
    """Return a model that knows the labels, and keeps the first strip of a good passage."""
    keys = {text[:40]: 5 for text in good}

    def answer(request: Request) -> Reply:
        if "<evidence-" in request.last:
            return Reply(content="As the source says [1].")
        if not shown(request):
            return Reply(content="the keywords of the question")
        return by_text(keys, query="the keywords of the question")(request)

    return answer


def sent(request: Request) -> int:
    """Return the tokens of one request, about: its messages, and the schema that comes along."""
    schema = request.body.get("response_format") or request.body.get("tools") or ""
    return estimate_tokens(request.prompt) + (estimate_tokens(json.dumps(schema)) if schema else 0)


def measure(
    rows: list[tuple[str, list[Document], list[str]]], mode: EvaluationMode
) -> tuple[list[int], list[int]]:
    """Return tokens and calls of each question."""
    tokens: list[int] = []
    calls: list[int] = []
    with OpenAIServer() as server:
        for question, documents, good in rows:
            server.requests.clear()
            server.script(script(good))
            graph = graph_with(chat(server), documents, web=Web(0.0))
            state: Any = {"question": question}
            graph.invoke(state, context=Settings(evaluation_mode=mode, top_k=len(documents)))
            tokens.append(sum(sent(request) for request in server.requests))
            calls.append(len(server.requests))
    return tokens, calls


def main(path: Path, questions: int, passages: int) -> None:
    """Print the three ways."""
    rows = read(path, questions, passages)
    mean = statistics.mean(len(documents) for _, documents, _ in rows)
    print(f"{len(rows)} questions of {path.name}, {mean:.1f} passages each")
    print("mode          calls/question  tokens sent/question: mean  median  against fused")
    base = 0.0
    for mode in MODES:
        tokens, calls = measure(rows, mode)
        average = statistics.mean(tokens)
        base = base or average
        print(
            f"{mode:<12} {statistics.mean(calls):>14.2f} {average:>28.0f} "
            f"{statistics.median(tokens):>7.0f} {average / base:>13.2f} x"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="hotpot_100")
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--passages", type=int, default=5)
    options = parser.parse_args()
    main(options.data / f"{options.set}.jsonl.gz", options.questions, options.passages)
