"""Selecting strips: the floor and the top k, no repetitions, within a budget of tokens."""

import math
from collections.abc import Callable, Collection, Sequence

from langchain_core.documents import Document

from crag_graph.state import Strip
from crag_graph.text.duplicates import repeated


def select(
    strips: Sequence[Strip],
    *,
    floor: float,
    top_k: int,
    keep_documents: Collection[str] = (),
    distinct: bool = False,
) -> list[Strip]:
    """Return all of `strips` in their order, each marked as kept or not.

    Kept are the `top_k` best of those that score `floor` or more; where scores are equal, the
    earlier. A strip without a score was not judged on its own: it is kept where its document is one
    of `keep_documents`. A document of these of which nothing else is kept is kept whole. What was
    kept before does not matter.

    Args:
        strips: Of one origin, whole documents.
        floor: The least score, 0–1, inclusive.
        top_k: How many scored strips to keep at most.
        keep_documents: Ids of documents that were graded high as a whole.
        distinct: Whether a strip that repeats a better one is passed over, so that it takes no
            place among the `top_k`; it then counts for its document as if it had been kept.
    """
    scores = [_score(strip) for strip in strips]
    order = sorted(
        (index for index, score in enumerate(scores) if score is not None and score >= floor),
        key=lambda index: (-(scores[index] or 0.0), index),
    )
    passed: list[int] = []
    if distinct and len(order) > 1:
        first = repeated([strips[index]["text"] for index in order])
        passed = [
            index for index, original in zip(order, first, strict=True) if original is not None
        ]
        order = [index for index, original in zip(order, first, strict=True) if original is None]
    kept = set(order[: max(0, top_k)])
    kept.update(
        index
        for index, strip in enumerate(strips)
        if scores[index] is None and strip["document_id"] in keep_documents
    )
    served = {strips[index]["document_id"] for index in (*kept, *passed)}
    whole = set(keep_documents) - served
    return [
        {**strip, "kept": index in kept or strip["document_id"] in whole}
        for index, strip in enumerate(strips)
    ]


def deduplicate(strips: Sequence[Strip]) -> list[Strip]:
    """Return all of `strips`, those that repeat an earlier kept one no longer kept.

    What counts as a repetition: see `crag_graph.text.duplicates.repeated`.
    """
    kept = [index for index, strip in enumerate(strips) if strip["kept"]]
    if len(kept) < 2:
        return [{**strip} for strip in strips]
    first = repeated([strips[index]["text"] for index in kept])
    dropped = {index for index, original in zip(kept, first, strict=True) if original is not None}
    return [
        {**strip, "kept": False} if index in dropped else {**strip}
        for index, strip in enumerate(strips)
    ]


def deduplicate_documents(documents: Sequence[Document]) -> list[Document]:
    """Return `documents` in their order without those that repeat an earlier one.

    What counts as a repetition: see `crag_graph.text.duplicates.repeated`.
    """
    first = repeated([document.page_content for document in documents])
    return [
        document for document, original in zip(documents, first, strict=True) if original is None
    ]


def fit(strips: Sequence[Strip], *, tokens: int, count: Callable[[str], int]) -> list[Strip]:
    """Return all of `strips`, as many of the kept ones still kept as fit into `tokens`.

    The lowest scored go first, those without a score before them, and of equals the later; the best
    one stays, even when it alone is too much.

    Args:
        strips: With their scores.
        tokens: The most that the kept strips may take together.
        count: How many tokens a text takes.
    """
    kept = [index for index, strip in enumerate(strips) if strip["kept"]]
    sizes = {index: count(strips[index]["text"]) for index in kept}
    total = sum(sizes.values())
    if total <= tokens:
        return [{**strip} for strip in strips]
    worst_first = sorted(
        kept, key=lambda index: (-1.0 if (s := _score(strips[index])) is None else s, -index)
    )
    dropped: set[int] = set()
    for index in worst_first[:-1]:
        if total <= tokens:
            break
        dropped.add(index)
        total -= sizes[index]
    return [
        {**strip, "kept": False} if index in dropped else {**strip}
        for index, strip in enumerate(strips)
    ]


def _score(strip: Strip) -> float | None:
    score = strip["score"]
    return score if score is not None and math.isfinite(score) else None
