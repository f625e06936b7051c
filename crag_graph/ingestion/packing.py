"""Packing units into chunks: what belongs together stays together where it fits."""

import dataclasses
from collections.abc import Iterator, Sequence

from crag_graph.ingestion.units import Count, Unit

_COUNTED = ("prose", "row", "record")
# A chunk that is filled to this share may end early so that a table, a fence or a section that
# cannot be whole anyway begins a new one.
_EARLY_END = 0.5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The units of one chunk, and what is repeated in front of them."""

    units: tuple[Unit, ...]
    prefix: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """How much a chunk holds.

    Attributes:
        size: Tokens of a chunk, the repeated header included.
        overlap: Tokens that a chunk may take over from the one before it, in whole sentences.
        sentences: Sentences of a chunk; None for as many as fit.
        sentence_overlap: Sentences to take over, where `sentences` is given.
        sections_apart: Whether a section always begins a chunk.
    """

    size: int
    overlap: int = 0
    sentences: int | None = None
    sentence_overlap: int = 0
    sections_apart: bool = False


def pack(units: Sequence[Unit], *, text: str, limits: Limits, count: Count) -> Iterator[Packed]:
    """Yield the chunks of `units`, each unit in at least one, none above `limits.size` tokens.

    Args:
        units: Of one part, in order.
        text: The part's.
        limits: How much a chunk holds.
        count: Counts tokens.
    """
    wholes = _sizes_of_wholes(units)
    current: list[Unit] = []
    fresh = 0  # how many of `current` no earlier chunk had
    prefix = ""
    for unit, whole in zip(units, wholes, strict=True):
        # Twice where an announcement was held back that the unit after it leaves no room for.
        while fresh and (
            _must_end(current, unit, whole, prefix, limits, count)
            or _grows_together(current, unit, text, prefix, limits, count)
        ):
            kept, carried = _without_announcements(current, fresh)
            yield Packed(units=tuple(kept), prefix=prefix)
            current = carried or _overlap(kept, unit, limits)
            fresh = len(carried)
            prefix = ""
        if not fresh:
            prefix, current = _beginning(current, unit, limits, count)
        current.append(unit)
        fresh += 1
    if fresh:
        yield Packed(units=tuple(current), prefix=prefix)


def _sizes_of_wholes(units: Sequence[Unit]) -> list[int]:
    """Return for each unit that begins a table, fence or section the tokens of all of it."""
    sizes = [0] * len(units)
    section_start = group_start = 0
    for at, unit in enumerate(units):
        before = units[at - 1] if at else None
        if before is None or before.section != unit.section:
            section_start = at
        if unit.group is not None and (before is None or before.group != unit.group):
            group_start = at
        sizes[section_start] += unit.tokens
        if unit.group is not None and group_start != section_start:
            sizes[group_start] += unit.tokens
    return sizes


def _must_end(
    current: Sequence[Unit], unit: Unit, whole: int, prefix: str, limits: Limits, count: Count
) -> bool:
    """Return whether `unit` cannot go into the chunk, or had better begin the next one."""
    if limits.sections_apart and unit.section != current[-1].section:
        return True
    if limits.sentences is not None and unit.kind in _COUNTED:
        counted = sum(entry.kind in _COUNTED for entry in current)
        if counted >= limits.sentences and unit.group is None:
            return True
    filled = count(prefix) + sum(entry.tokens for entry in current)
    if filled + unit.tokens > limits.size:
        return True
    if not whole or filled + whole <= limits.size:
        return False
    return whole <= limits.size or filled >= limits.size * _EARLY_END


def _grows_together(
    current: Sequence[Unit], unit: Unit, text: str, prefix: str, limits: Limits, count: Count
) -> bool:
    """Return whether a word that was cut in two is too long once its halves are together again."""
    if unit.start != current[-1].end:
        return False
    return count(prefix) + count(text[current[0].start : unit.end]) > limits.size


def _without_announcements(current: list[Unit], fresh: int) -> tuple[list[Unit], list[Unit]]:
    """Return the chunk without headings, captions and the like at its end, and these.

    They go with what they announce, unless nothing would be left.
    """
    cut = len(current)
    while cut and (current[cut - 1].kind == "heading" or current[cut - 1].leads):
        cut -= 1
    if cut <= len(current) - fresh:
        return current, []
    return current[:cut], current[cut:]


def _overlap(before: Sequence[Unit], unit: Unit, limits: Limits) -> list[Unit]:
    """Return the sentences at the end of a chunk that the next one, of `unit`, begins with."""
    last = before[-1]
    if unit.kind != "prose" or unit.section != last.section or unit.start == last.end:
        return []
    taken: list[Unit] = []
    tokens = unit.tokens
    budget = limits.overlap
    for entry in reversed(before[1:]):
        if entry.kind != "prose" or entry.section != unit.section:
            break
        tokens += entry.tokens
        budget -= entry.tokens
        enough = budget < 0 if limits.sentences is None else len(taken) >= limits.sentence_overlap
        if enough or tokens > limits.size:
            break
        taken.insert(0, entry)
    return taken


def _beginning(
    carried: list[Unit], unit: Unit, limits: Limits, count: Count
) -> tuple[str, list[Unit]]:
    """Return what to repeat before a chunk of `carried` and `unit`, and the carried that still fit.

    A header means more than an overlap: sentences are given up for it.
    """
    first = carried[0] if carried else unit
    heading = first.heading if first.kind != "heading" and first.path else ""
    room = limits.size - unit.tokens
    for prefix in (heading + unit.prefix, unit.prefix, heading):
        if not prefix or count(prefix) > room:
            continue
        room -= count(prefix)
        while carried and sum(entry.tokens for entry in carried) > room:
            carried = carried[1:]
        return prefix, carried
    return "", carried
