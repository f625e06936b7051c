"""What is measured of one question: pure, from what a run left and what its labels say.

Each measure of a question is a pair, what was right and out of how much; over many questions the
measure is the sum of the first by the sum of the second.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from langchain_core.documents import Document

from crag_graph.evaluation.examples import Example
from crag_graph.evaluation.gold import PASSAGE, Gold
from crag_graph.generation.extractive import LABEL
from crag_graph.state import Citation, Strip

Pair = tuple[float, float]

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MARKER = re.compile(r"\[\d{1,3}\]")


def retrieval(
    ranked: Sequence[Hashable | None], grades: Mapping[Hashable, float], *, depths: Sequence[int]
) -> dict[str, Pair]:
    """Return recall@k and nDCG@k for each depth k, and the reciprocal rank (`mrr`).

    Recall is the share of the gold items among the first k. nDCG has the gain 2^grade − 1 and the
    discount log2(rank + 1) (Burges et al. 2005), against the best order of all gold items.

    Args:
        ranked: For each retrieved document the gold item that it is the first to stand for.
        grades: All gold items; where there is none, nothing can be measured.
        depths: The k.
    """
    if not grades:
        return {}
    gains = [0.0 if item is None else 2 ** grades[item] - 1 for item in ranked]
    ideal = sorted((2**grade - 1 for grade in grades.values()), reverse=True)
    found: dict[str, Pair] = {}
    for depth in depths:
        hits = sum(item is not None for item in ranked[:depth])
        found[f"recall@{depth}"] = (hits / len(grades), 1)
        found[f"ndcg@{depth}"] = (_dcg(gains[:depth]) / _dcg(ideal[:depth]), 1)
    first = next((rank for rank, item in enumerate(ranked, 1) if item is not None), None)
    found["mrr"] = (1 / first if first else 0.0, 1)
    return found


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def answer(text: str, answers: Sequence[str], *, refused: bool) -> dict[str, Pair]:
    """Return how well an answer agrees with the best of `answers`; a refusal agrees with none.

    `exact` and `f1` are those of SQuAD (Rajpurkar et al. 2016): without case, punctuation and
    articles, the same text, and the harmonic mean of precision and recall of the words. `contained`
    says whether the words of one stand in the answer, side by side. Markers of citations and the
    label of extractive answers count for nothing.
    """
    said = [] if refused else normalised(_MARKER.sub(" ", text.removeprefix(LABEL)))
    wanted = [words for given in answers if (words := normalised(given))]
    if not wanted:
        return {}
    return {
        "exact": (float(any(said == words for words in wanted)), 1),
        "contained": (float(any(_holds(said, words) for words in wanted)), 1),
        "f1": (max(_f1(said, words) for words in wanted), 1),
    }


def normalised(text: str) -> list[str]:
    """Return the words of `text` as SQuAD compares them."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _holds(said: Sequence[str], words: Sequence[str]) -> bool:
    size = len(words)
    return any(said[at : at + size] == words for at in range(len(said) - size + 1))


def _f1(said: Sequence[str], words: Sequence[str]) -> float:
    common = (Counter(said) & Counter(words)).total()
    return 2 * common / (len(said) + len(words)) if common else 0.0


def citations(
    cited: Sequence[Citation], documents: Sequence[Document], gold: Gold
) -> dict[str, Pair]:
    """Return `precision` (share of the cited passages that are gold) and `recall` (of the gold).

    Sources from the web have no label, so they take no part.
    """
    if not gold.known:
        return {}
    by_id = {document.id: document for document in documents}
    found = {one["document_id"] for one in cited if one["document_id"] in by_id}
    items = [item for identifier in found if (item := gold.of(by_id[identifier])) is not None]
    measured: dict[str, Pair] = {}
    if found:
        measured["precision"] = (len(items) / len(found), 1)
    if gold.grades:
        measured["recall"] = (len(set(items)) / len(gold.grades), 1)
    return measured


def strips(
    kept: Sequence[Strip], documents: Sequence[Document], example: Example
) -> dict[str, Pair]:
    """Return what selection left of the retrieved text, by sentences where these are labelled.

    `kept_text` is the share of characters kept. Over the labelled sentences of what was retrieved,
    `precision` is the share of evidence among those kept, `recall` the share kept of the evidence;
    a sentence is kept when at least half of it is.
    """
    spans: dict[str, list[tuple[int, int]]] = {}
    for strip in kept:
        if strip["kept"] and strip["origin"] == "internal":
            spans.setdefault(strip["document_id"], []).append((strip["start"], strip["end"]))
    total = sum(len(document.page_content) for document in documents)
    if not total:
        return {}
    held = sum(end - start for parts in spans.values() for start, end in parts)
    measured: dict[str, Pair] = {"kept_text": (held, total)}
    right = chosen = evidence = labelled = 0
    for document in documents:
        place = document.metadata.get(PASSAGE)
        if not isinstance(place, int) or place >= len(example.passages):
            continue
        for start, end, label in located(document.page_content, example.passages[place].sentences):
            parts = spans.get(document.id or "", [])
            inside = sum(max(0, min(end, stop) - max(start, at)) for at, stop in parts)
            keeps = 2 * inside >= end - start
            labelled += 1
            chosen += keeps
            evidence += label
            right += keeps and label
    if labelled:
        measured |= {"precision": (right, chosen), "recall": (right, evidence)}
    return measured


def located(text: str, sentences: Sequence[tuple[str, bool]]) -> list[tuple[int, int, bool]]:
    """Return start, end and label of each sentence that is found in `text`, in their order."""
    found = []
    position = 0
    for sentence, label in sentences:
        start = text.find(sentence, position)
        if start >= 0 and sentence:
            position = start + len(sentence)
            found.append((start, position, label))
    return found
