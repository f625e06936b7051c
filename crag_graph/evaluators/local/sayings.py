"""Finding sentences that speak of a question without answering it, in English."""

import regex

from crag_graph.text.terms import content_terms

# What a text does with the matter when it says nothing of it,
_SAYING = frozenset(
    content_terms(
        """answered ask asked asking asks clear covered covers decided described describes disclosed
        discussed discusses documented established explained explains found idea information know
        knowing known knows learn learned look looks mention mentioned mentions mystery named noted
        question questions recorded reported revealed said saying say says specified specify state
        stated states tell tells told unanswered uncertain unclear undecided undocumented unknown
        unrecorded unspecified wonder wondered wonders"""
    )
)
# and the words around that.
_AROUND = frozenset(
    content_terms(
        """answer article cannot chapter detail details document documents elsewhere everyone
        everything evidence figure following frequently given guide historian historians later
        literature many never nobody nothing page paragraph part people read record records remain
        remained remains section see source sources still subject text today topic"""
    )
)
# That it is not known or not said,
_DENIED = regex.compile(
    r"\b(?:no|nobody|none|not|never|nothing|cannot|un(?:answered|certain|clear|decided|documented"
    r"|known|recorded|specified)|mystery)\b|n['’]t\b",
    regex.I,
)
# or that it is asked, or said elsewhere.
_ANNOUNCED = regex.compile(
    r"\b(?:ask(?:s|ed)?|wonder(?:s|ed)?|elsewhere"
    r"|(?:this|following|our) (?:article|chapter|document|guide|page|paragraph|part|section|text)"
    r"|(?:see|read|learn|find out|look|more)"
    r" (?:about|at|on|more|how|what|when|where|which|who|whose|why))\b",
    regex.I,
)

_ABOUT = regex.compile(
    r"\b(?:this|these|following|our) \w+ (?:is|are|was|were) (?:about|on|concerned with)\b", regex.I
)


def tells_nothing(strip: str, found: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether `strip` has terms of the question, and else only speaks of what is known.

    "Nobody knows who the captain is", "This page is about the captain": the words of the question,
    in a statement that would pass for an answer. One word beside them that is of the matter, and it
    may be an answer: "Nobody knows the captain but Ada".

    Args:
        strip: The sentence.
        found: Its content terms.
        asked: The question's.
    """
    beside = found - asked
    if not found & asked or not beside <= _SAYING | _AROUND:
        return False
    if _ABOUT.search(strip):
        return True
    return bool(beside & _SAYING and (_DENIED.search(strip) or _ANNOUNCED.search(strip)))
