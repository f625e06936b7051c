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
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_CODE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


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
        lines = [
            f"{text} [{number}]"
            for _, number, _, text in sorted(chosen, key=lambda entry: entry[1:3])
        ]
        return Generation(answer="\n".join([LABEL, *(f"- {line}" for line in lines)]))

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
    """Return the strip on one line, without Markdown's marks, a table's row after its header."""
    header = context.rpartition("\n")[2] if text.lstrip().startswith("|") else ""
    quoted = without_footnotes(text, around=around)
    return " ".join(f"{header} {_without_marks(quoted)}".split())


def _without_marks(text: str) -> str:
    """Return the text with its last heading as `Heading: `, and without the marks of list items."""
    if _CODE.search(text):
        return text
    heading = ""
    lines = []
    for line in text.split("\n"):
        if mark := _HEADING.match(line):
            heading = mark[1]
        else:
            lines.append(_ITEM.sub("", line))
    body = "\n".join(lines).strip()
    if not heading or not body:
        return heading or body
    return f"{heading}: {body}"
