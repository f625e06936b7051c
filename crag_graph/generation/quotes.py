"""Whether the sentences of an answer say what the sources that they cite say."""

import dataclasses
from collections.abc import Sequence

import regex

from crag_graph.generation.base import Evidence
from crag_graph.text.citations import check_citations
from crag_graph.text.sentences import sentence_spans
from crag_graph.text.terms import content_terms

_OVERLAP = 0.5  # of a sentence's terms must stand in what it cites
_MARKER = regex.compile(r"\[(\d{1,6})\]")
_LEADING = regex.compile(r"\s*(?:\[\d{1,6}\]\s*)+")
_LONGEST_SHOWN = 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuoteCheck:
    """How many cited sentences overlap what they cite.

    Attributes:
        checked: Sentences with a citation.
        weak: Those of them that do not overlap, in the order of the answer.
    """

    checked: int
    weak: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The share, as a sentence for the user."""
        if not self.checked:
            return "no sentence of the answer cites a source that could be verified"
        held = self.checked - len(self.weak)
        text = f"{held} of {self.checked} cited sentences overlap what they cite"
        if not self.weak:
            return text
        return f"{text}; not: {'; '.join(shown[:_LONGEST_SHOWN] for shown in self.weak[:3])}"


def verify_quotes(answer: str, evidence: Sequence[Evidence]) -> QuoteCheck:
    """Return the check of each cited sentence of `answer`.

    A sentence holds when half of its terms stand in the strips that it cites, and all of its
    numbers do. Markers behind the full stop belong to the sentence before them.
    """
    checked = check_citations(answer, count=len(evidence), quoted=[item.text for item in evidence])
    texts = {
        item.number: "\n".join((item.title, item.published, *item.strips)) for item in evidence
    }
    weak: list[str] = []
    count = 0
    for sentence, cited in _cited_sentences(checked.text):
        count += 1
        source = {t for n in cited for t in content_terms(texts.get(n, ""))}
        if not _holds(set(content_terms(sentence)), source):
            weak.append(" ".join(sentence.split()))
    return QuoteCheck(checked=count, weak=tuple(weak))


def _cited_sentences(text: str) -> list[tuple[str, list[int]]]:
    """Return the sentences that cite something, without their markers, with the numbers cited."""
    found: list[tuple[str, list[int]]] = []
    pieces: list[str] = []
    for start, end in sentence_spans(text):
        piece = text[start:end]
        leading = _LEADING.match(piece)
        if leading and pieces:
            pieces[-1] += leading[0]
            piece = piece[leading.end() :]
        if piece.strip():
            pieces.append(piece)
    for piece in pieces:
        cited = [int(number) for number in _MARKER.findall(piece)]
        bare = _MARKER.sub("", piece).strip()
        if cited and bare:
            found.append((bare, cited))
    return found


def _holds(claim: set[str], source: set[str]) -> bool:
    if not claim:
        return True
    numbers = {term for term in claim if term[0].isdigit()}
    return numbers <= source and len(claim & source) >= _OVERLAP * len(claim)
