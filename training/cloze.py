"""Questions made from passages by rule: a name, a year or a number of a sentence is asked for.

People's questions are few, and a passage has many sentences: a question made of one teaches that an
answer is of the right kind, beside what was asked about (after Lewis, Denoyer and Riedel 2019,
"Unsupervised Question Answering by Cloze Translation", without their translation).
"""

import dataclasses
import random
import re

from crag_graph.evaluators.base import Passage
from crag_graph.text.keywords import content_terms
from training.words import holds, words_of

_YEAR = re.compile(r"\b(?:1[4-9]|20)\d\d\b")
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,.]*(?:\s(?:million|billion|thousand))?(?![\w%-])")
_NAME = re.compile(r"\b[A-Z][\w'’-]+(?:\s(?:(?:of|the|de|von|van)\s)?[A-Z][\w'’-]+){0,5}")
_CLAUSE = re.compile(r"[,;:()–—]\s*")
_PRONOUN = re.compile(r"^(?:he|she|it|they|this|his|her|its|their)\b", re.I)
_LINK = re.compile(r"(?:\b(?:in|on|at|by|of|from|to|since|during|with|around|the)\s+)+$", re.I)
_PLACED = re.compile(r"\b(?:in|at|near|from|to|around)\s+(?:the\s+)?$", re.I)
_DONE_BY = re.compile(r"\bby\s+(?:the\s+)?$", re.I)
_WORD = re.compile(r"[\w'’-]+")
_DROPPED = 0.25
_FEWEST_TERMS, _MOST_WORDS = 3, 14


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cloze:
    """A made question.

    Attributes:
        question: The question.
        answer: What was taken out of the sentence.
        strip_id: The sentence that answers.
        labels: Strip id → whether it answers; not for others that hold the answer too.
    """

    question: str
    answer: str
    strip_id: str
    labels: dict[str, int]


def make_cloze(passage: Passage, draw: random.Random) -> Cloze | None:
    """Return a question that one sentence of `passage` answers; None when none can be made."""
    strips = [strip for strip in passage.strips if 40 <= len(strip["text"]) <= 400]
    draw.shuffle(strips)
    for strip in strips:
        spans = [span for span in spans_of(strip["text"]) if not _known(span, passage.title)]
        draw.shuffle(spans)
        for match, kind in spans:
            question = _question(strip["text"], match, kind, passage.title, draw)
            if question is None or holds(question, [match[0]]):
                continue
            return Cloze(
                question=question,
                answer=match[0],
                strip_id=strip["id"],
                labels={
                    other["id"]: int(other is strip)
                    for other in passage.strips
                    if other is strip or not holds(other["text"], [match[0]])
                },
            )
    return None


def _known(span: tuple[re.Match[str], str], title: str) -> bool:
    return holds(title, [span[0][0]]) or holds(span[0][0], [title])


def spans_of(text: str) -> list[tuple[re.Match[str], str]]:
    """Return what can be asked for in `text`, each with `when`, `how many` or `name`."""
    years = [(match, "when") for match in _YEAR.finditer(text)]
    taken = {match.start() for match, _ in years}
    numbers = [(m, "how many") for m in _NUMBER.finditer(text) if m.start() not in taken]
    names = [(match, "name") for match in _NAME.finditer(text) if match.start() > 0]
    return [*years, *numbers, *names]


def _question(
    text: str, match: re.Match[str], kind: str, title: str, draw: random.Random
) -> str | None:
    before, after = _clause(text, match)
    placed, done_by = _PLACED.search(before), _DONE_BY.search(before)
    left, right = _LINK.sub("", before).strip(), after.strip(" .")
    if kind == "when":
        asked = draw.choice(["when", "when", "what year", "in which year"])
    elif kind == "how many":
        asked = draw.choice(["how many", "how many", "what number of", "how much"])
        noun = " ".join(right.split()[:2])
        right, asked = right[len(noun) :].strip(), f"{asked} {noun}"
    elif done_by:
        asked = "who"
    elif placed:
        asked = draw.choice(["where", "where", "in which place", "what place"])
    else:
        asked = draw.choice(["who", "who", "what", "which", "what is the name of"])
    about = _PRONOUN.sub(title, left) if title else left
    words = _WORD.findall(f"{about} {right}")
    words = [word for word in words if draw.random() > _DROPPED][:_MOST_WORDS]
    rest = " ".join(words)
    if title and draw.random() < 0.6 and not holds(rest, [title]):
        rest = f"{title} {rest}" if draw.random() < 0.5 else f"{rest} {title}"
    if len(set(content_terms(rest))) < _FEWEST_TERMS:
        return None
    whole = f"{asked} {rest}"
    if draw.random() < 0.6:
        return words_of(whole)
    return whole[0].upper() + whole[1:] + "?"


def _clause(text: str, match: re.Match[str]) -> tuple[str, str]:
    """Return what is before and after the answer in its clause; more where that is little."""
    starts = [m.end() for m in _CLAUSE.finditer(text) if m.end() <= match.start()]
    ends = [m.start() for m in _CLAUSE.finditer(text) if m.start() >= match.end()]
    for start in [*reversed(starts), 0]:
        for end in (ends[0] if ends else len(text), len(text)):
            if len(content_terms(text[start : match.start()] + " " + text[match.end() : end])) >= 4:
                return text[start : match.start()], text[match.end() : end]
    return text[: match.start()], text[match.end() :]
