"""The parts of a long page that bear on a query."""

import math
from collections import Counter
from collections.abc import Sequence

from crag_graph.text.clean import shorten
from crag_graph.text.language import fold
from crag_graph.text.terms import content_terms

_BLOCK = 800  # characters; about a paragraph, so that neighbouring sentences stay together
_HEAD = 600  # the beginning of a page says what it is about


def excerpt(text: str, query: str, *, limit: int) -> str:
    """Return at most `limit` characters of `text`: its beginning, and the parts that match `query`.

    Parts stay in the order of the text, with a blank line between them. They are chosen by the
    query's terms that they hold, each weighted by how few parts hold it.

    Args:
        text: A page's readable text.
        query: What was searched for.
        limit: Characters, from 1.
    """
    if len(text) <= limit:
        return text
    blocks = _blocks(text)
    terms = list(dict.fromkeys(content_terms(query)))
    scores = _scores([fold(block) for block in blocks], terms)
    order = sorted(range(1, len(blocks)), key=lambda at: (-scores[at], at))
    head = shorten(blocks[0], min(_HEAD, limit))
    room = limit - len(head)
    chosen = {0: head}
    for at in order:
        if scores[at] == 0.0 < scores[order[0]]:
            break  # the rest has nothing to do with the query
        if len(blocks[at]) + 2 <= room:
            chosen[at] = blocks[at]
            room -= len(blocks[at]) + 2
    return "\n\n".join(chosen[at] for at in sorted(chosen))


def _blocks(text: str) -> list[str]:
    blocks: list[str] = []
    for paragraph in text.split("\n\n"):
        text = paragraph.strip()
        if blocks and text and len(blocks[-1]) + len(text) + 2 <= _BLOCK:
            blocks[-1] = f"{blocks[-1]}\n\n{text}"
            continue
        start = 0
        while start < len(text):
            window = text[start : start + _BLOCK + 1]
            piece = shorten(window, _BLOCK)
            if piece:
                blocks.append(piece)
            start += window.index(piece) + len(piece) if piece else len(window)
    return blocks


def _scores(blocks: Sequence[str], terms: Sequence[str]) -> list[float]:
    held = [[term for term in terms if term in block] for block in blocks]
    frequency = Counter(term for found in held for term in found)
    weight = {term: math.log(1 + len(blocks) / count) for term, count in frequency.items()}
    own = [sum(weight[term] for term in found) for found in held]
    # What stands beside a match often answers what the match asks.
    beside = [max(pair) / 2 for pair in zip([0.0, *own], [*own[1:], 0.0], strict=False)]
    return [mine + near for mine, near in zip(own, beside, strict=True)]
