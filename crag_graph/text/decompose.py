"""Decomposing a passage into knowledge strips.

The strips of Yan et al. 2024 (arXiv:2401.15884), section 4.4, with offsets: a strip is
`document.page_content[start:end]`, and the strips of a document leave out white space alone.
"""

import unicodedata
from collections.abc import Sequence

from langchain_core.documents import Document

from crag_graph.state import Origin, Strip, as_documents
from crag_graph.text.sentences import Segment, segments

# A sentence narrower than this says too little on its own ("Yes.", "Port: 8443").
_SHORT = 24  # columns


def decompose(
    document: Document, *, origin: Origin, window: int = 1, max_chars: int = 600
) -> list[Strip]:
    """Return the strips of `document`, ascending, none overlapping, not yet scored or kept.

    A strip is a sentence, a list item, a table row, or a fence of code. A heading and the header
    of a table are joined to what follows them, a short sentence, item or line to its neighbour.

    Args:
        document: Its metadata `source` becomes the strips' source. Without an id, the strips get
            the one that `as_documents` would give it.
        origin: Whether it comes from the corpus or from the web.
        window: How many sentences make a strip, at most, from 1.
        max_chars: The longest strip, in characters, from 1.

    Raises:
        ValueError: `window` or `max_chars` is not at least 1.
    """
    if window < 1:
        raise ValueError(f"window must be at least 1, not {window}")
    text = document.page_content
    identifier = document.id or as_documents(None, [document])[0].id or ""
    source = str(document.metadata.get("source") or "")
    return [
        Strip(
            id=f"{identifier}:{start}-{end}",
            text=text[start:end],
            document_id=identifier,
            start=start,
            end=end,
            score=None,
            kept=False,
            origin=origin,
            source=source,
        )
        for start, end in _spans(text, window=window, max_chars=max_chars)
    ]


def _spans(text: str, *, window: int, max_chars: int) -> list[tuple[int, int]]:
    groups = _joined(text, segments(text, max_chars=max_chars), max_chars)
    spans: list[tuple[int, int]] = []
    sizes: list[int] = []
    kinds: list[str] = []
    for group in groups:
        start, end = group[0].start, group[-1].end
        kind = group[-1].kind
        fits = bool(spans) and end - spans[-1][0] <= max_chars
        if fits and sizes[-1] < window and kinds[-1] == kind and group[0].kind != "heading":
            spans[-1] = (spans[-1][0], end)
            sizes[-1] += 1
        else:
            spans.append((start, end))
            sizes.append(1)
            kinds.append(kind)
    return spans


def _joined(text: str, found: Sequence[Segment], max_chars: int) -> list[list[Segment]]:
    """Return the segments in groups: openers with what follows, short ones with a neighbour."""
    groups: list[list[Segment]] = []
    for segment in found:
        if groups and segment.block != groups[-1][-1].block and _ends_block(groups):
            _join_back(text, groups, max_chars)
        fits = bool(groups) and segment.end - groups[-1][0].start <= max_chars
        if fits and _leads_on(text, groups[-1], segment):
            groups[-1].append(segment)
            continue
        _join_back(text, groups, max_chars)
        groups.append([segment])
    _join_back(text, groups, max_chars)
    return groups


def _ends_block(groups: Sequence[Sequence[Segment]]) -> bool:
    """Return whether the last group is the end of a block of which the one before it is more."""
    return len(groups) > 1 and groups[-2][-1].block == groups[-1][0].block


def _leads_on(text: str, group: Sequence[Segment], segment: Segment) -> bool:
    """Return whether `group` says too little without `segment`."""
    last = group[-1]
    if last.kind == "heading" or (last.kind == "head" and segment.kind == "row"):
        return True
    return last.kind == segment.kind and _is_short(text, group)


def _join_back(text: str, groups: list[list[Segment]], max_chars: int) -> None:
    """Join the last group to the one before it, where it is short and nothing follows it."""
    if len(groups) < 2 or not _is_short(text, groups[-1]):
        return
    before, last = groups[-2:]
    if before[-1].kind == last[0].kind and last[-1].end - before[0].start <= max_chars:
        before.extend(groups.pop())


def _is_short(text: str, group: Sequence[Segment]) -> bool:
    said = [part for part in group if part.kind in ("prose", "item")]
    return bool(said) and sum(_width(text[part.start : part.end]) for part in said) < _SHORT


def _width(text: str) -> int:
    """Return how much room `text` takes, wide characters (CJK) counted twice."""
    if text.isascii() or len(text) > _SHORT:
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
