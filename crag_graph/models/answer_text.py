"""The answer in a stream of text, without what comes around it."""

import regex

from crag_graph.models.reply import REASONING_TAGS

_OPENING = regex.compile(rf"<({'|'.join(REASONING_TAGS)})>", regex.I)
_TAGS = tuple(f"<{tag}>" for tag in REASONING_TAGS)
_LONGEST_TAG = max(map(len, _TAGS)) + 1
_TRAILING = regex.compile(r"\s+\Z")


class AnswerText:
    """The answer in a stream of text: without leading reasoning blocks and outer white space.

    Attributes:
        shown: Whether any of it has been given out.
    """

    def __init__(self) -> None:
        self.shown = False
        self._held = ""
        self._closing: regex.Pattern[str] | None = None

    def feed(self, text: str) -> str:
        """Return what can be shown now that `text` has come."""
        self._held += text
        if self.shown:
            return self._without_trailing()
        while self._skip_block():
            pass
        begins = self._held.lstrip()
        if self._closing or not begins or _may_open(begins):
            return ""
        self._held, self.shown = begins, True
        return self._without_trailing()

    def end(self) -> str:
        """Return what is still held back, now that nothing more comes."""
        held = "" if self._closing else self._held.strip() if not self.shown else ""
        self.shown = self.shown or bool(held)
        return held

    def _skip_block(self) -> bool:
        """Drop a reasoning block, or as much of it as there is; return whether one ended."""
        if self._closing is None:
            opening = _OPENING.match(self._held.lstrip())
            if opening is None:
                return False
            self._held = self._held.lstrip()[opening.end() :]
            self._closing = regex.compile(rf"</{opening[1]}>", regex.I)
        closing = self._closing.search(self._held)
        if closing is None:
            self._held = self._held[-_LONGEST_TAG:]
            return False
        self._held = self._held[closing.end() :]
        self._closing = None
        return True

    def _without_trailing(self) -> str:
        """Return what is held, but for white space that may turn out to be the end."""
        space = _TRAILING.search(self._held)
        cut = space.start() if space else len(self._held)
        ready, self._held = self._held[:cut], self._held[cut:]
        return ready


def _may_open(text: str) -> bool:
    """Return whether `text` may yet become the opening tag of a reasoning block."""
    return len(text) < _LONGEST_TAG and any(tag.startswith(text.lower()) for tag in _TAGS)
