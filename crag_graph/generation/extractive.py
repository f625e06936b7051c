"""An answer without a language model: the best strips, quoted in a readable order, each cited."""

import re

from crag_graph.budget import Budget
from crag_graph.generation.base import Evidence, Generation, GenerationRequest
from crag_graph.settings import Settings
from crag_graph.text.footnotes import without_footnotes

LABEL = "Quoted from the sources (extractive: no language model wrote this):"

_MOST_STRIPS = 4
_SHARE_OF_BEST = 0.6  # a strip far below the best one is more likely noise than an answer's part
_TELLING = 20  # characters; shorter ends are alike by chance, such as a number
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t#]*$")
# The number of an item stays: it says which step it is, or is the day of a date ("12. Mai").
_ITEM = re.compile(r"^\s*[-*+][ \t]+")
_FENCE = re.compile(r"^\s*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(?P<mark>```+|~~~+)(?P<info>.*)$")
_TICKS = re.compile(r"`+")


class ExtractiveGenerator:
    """Quotes the strips that the evaluator scored best.

    At most four, each at least 0.6 of the best score; strips without a score count as 0. One that
    says what a better one says behind another heading or key is passed over. They are ordered by
    evidence number, then as in the text.
    """

    name = "extractive"

    def generate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the quoted strips under a label that says what they are. Spends nothing."""
        del settings, budget
        scored = _distinct(
            sorted(
                (entry for item in request.evidence for entry in _entries(item)),
                key=lambda entry: (-entry[0], entry[1], entry[2]),
            )
        )
        bar = scored[0][0] * _SHARE_OF_BEST
        chosen = [entry for entry in scored[:_MOST_STRIPS] if entry[0] >= bar]
        chosen.sort(key=lambda entry: entry[1:3])
        lines = [f"- {text} [{number}]" for _, number, _, text in chosen]
        # What a source has in brackets is not ours, so nothing is left to be checked.
        cited = tuple(dict.fromkeys(number for _, number, _, _ in chosen))
        return Generation(answer="\n".join([LABEL, *lines]), cited=cited)

    async def agenerate(
        self, request: GenerationRequest, *, settings: Settings, budget: Budget
    ) -> Generation:
        """Return the quoted strips under a label that says what they are. Spends nothing."""
        return self.generate(request, settings=settings, budget=budget)


def _entries(item: Evidence) -> list[tuple[float, int, int, str]]:
    """Return score, evidence number, position and quotation of each strip."""
    contexts = item.contexts or ("",) * len(item.strips)
    return [
        (score or 0.0, item.number, position, _quotation(text, context, item.text))
        for position, (text, context, score) in enumerate(
            zip(item.strips, contexts, item.scores, strict=True)
        )
    ]


def _distinct(entries: list[tuple[float, int, int, str]]) -> list[tuple[float, int, int, str]]:
    """Return the entries without those that end as an earlier one does behind its last colon."""
    seen: set[str] = set()
    kept = []
    for entry in entries:
        said = entry[3].rpartition(": ")[2].casefold()
        if len(said) < _TELLING or said not in seen:
            kept.append(entry)
            seen.add(said)
    return kept


def _quotation(text: str, context: str, around: str) -> str:
    """Return the strip on one line, without Markdown's marks, a table's row after its header.

    Lines of code are inline code each: on one line a fence would be no fence.
    """
    header = context.rpartition("\n")[2] if text.lstrip().startswith("|") else ""
    quoted = without_footnotes(text, around=around)
    inside = _begins_in_code(text, around)
    return " ".join(f"{header} {_without_marks(quoted, inside=inside)}".split())


def _begins_in_code(text: str, around: str) -> bool:
    """Return whether the strip is a later part of a fenced block that was too long for one."""
    at = around.find(text)
    marks = [bool(_FENCE.match(line)) for line in around[: max(0, at)].split("\n")]
    if sum(marks) % 2:
        return True
    lines = [line for line in text.split("\n") if line.strip()]
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    # What ends in the one fence that it holds was begun before.
    return len(fences) == 1 and 0 < fences[0] == len(lines) - 1 and not _info(lines[-1])


def _info(line: str) -> str:
    fence = _FENCE.match(line)
    return fence["info"].strip() if fence else ""


def _without_marks(text: str, *, inside: bool) -> str:
    """Return the text with its last heading as `Heading: `, without the marks of items and code."""
    heading = ""
    lines = []
    for line in text.split("\n"):
        if _FENCE.match(line):
            inside = not inside
        elif inside:
            lines.append(_as_code(line.strip()))
        elif mark := _HEADING.match(line):
            heading = mark[1]
        else:
            lines.append(_ITEM.sub("", line))
    body = "\n".join(lines).strip()
    if not heading or not body:
        return heading or body
    return f"{heading}: {body}"


def _as_code(line: str) -> str:
    """Return a line of code as inline code, between more backticks than it has side by side."""
    if not line:
        return ""
    marks = "`" * (1 + max(map(len, _TICKS.findall(line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{marks}{space}{line}{space}{marks}"
