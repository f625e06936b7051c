"""What a scripted model sees of a grading prompt, and replies that grade by it."""

import dataclasses
import re
from collections.abc import Callable, Mapping

from tests.fakes.openai_server import Reply, Request, as_json

_FENCE = re.compile(r'<(passage-[0-9a-f]{8}) id="(P\d+)"[^>]*>\n(.*?)\n</\1>', re.S)
_STRIP = re.compile(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |\Z)", re.S | re.M)


@dataclasses.dataclass(frozen=True)
class Shown:
    """One fenced passage of a prompt: its label, and its strips by their number."""

    label: str
    strips: Mapping[int, str]

    @property
    def text(self) -> str:
        """All strips, joined."""
        return "\n".join(text.strip() for text in self.strips.values())


def shown(request: Request) -> list[Shown]:
    """Return the passages that the prompt quotes, in their order."""
    return [
        Shown(label, {int(number): text for number, text in _STRIP.findall(body)})
        for _, label, body in _FENCE.findall(request.last)
    ]


def by_text(
    scores: Mapping[str, int], *, query: str = "ferry timetable"
) -> Callable[[Request], Reply]:
    """Return a script that grades each passage by the first key that its text contains, else 1.

    Strips that contain the key hold up. It answers the forms of all modes.
    """

    def script(request: Request) -> Reply:
        passages = shown(request)
        if not passages:
            return Reply(content=query)
        if '"id": "S1"' in request.last:
            strips = [(n, text) for passage in passages for n, text in passage.strips.items()]
            return as_json(
                {"strips": [{"id": f"S{n}", "score": _score(scores, t)[0]} for n, t in strips]}
            )
        entries = []
        for passage in passages:
            score, key = _score(scores, passage.text)
            kept = [n for n, text in passage.strips.items() if key and key in text]
            entries.append({"id": passage.label, "reason": key, "score": score, "strips": kept})
        if '"id": "P1"' not in request.last:
            entry = entries[0]
            return as_json({**entry, "score": (entry["score"] - 1) / 4})
        return as_json({"passages": entries[::-1], "web_queries": [query]})

    return script


def _score(scores: Mapping[str, int], text: str) -> tuple[int, str]:
    return next(((score, key) for key, score in scores.items() if key in text), (1, ""))
