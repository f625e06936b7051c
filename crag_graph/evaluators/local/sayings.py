"""Finding sentences that speak of a question without answering it, in English."""

import regex

from crag_graph.text.terms import content_terms

# What a text does with the matter when it says nothing of it,
_SAYING = frozenset(
    content_terms(
        """answered ask asked asking asks clear covered covers decided described describes
        disclosed discussed discusses documented elsewhere established explained
        explains idea information know knowing known knows learn learned look looks
        mention mentioned mentions mystery named noted question questions recorded
        reported revealed said saying say says specified specify state stated states
        tell tells told unanswered uncertain unclear undecided undocumented unknown
        unrecorded unspecified wonder wondered wonders"""
    )
)
# and the words around that.
_AROUND = frozenset(
    content_terms(
        """answer article cannot chapter detail details document documents everyone everything
        evidence figure following found frequently given guide historian historians later
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
# What a code, a state or a rule means and does is told in the same words: "E18: source unknown". So
# is what someone said, and how a matter stands.
_OF_MEANING = regex.compile(
    r"\b(?:mean(?:s|ing)?|stands? for|happens?|handled?|returns?|shown?|treat(?:ed|s)?"
    r"|(?:did|do|does) [^?]{1,60} say|(?:state|status) of)\b",
    regex.I,
)
_NOBODY_KNOWS = regex.compile(
    r"\b(?:no(?:body| one) knows?|not (?:known|clear|recorded|said|stated)|uncertain|unclear"
    r"|unknown) (?:how|what|whether|which|who|whose|why)\b",
    regex.I,
)
_UNDER_A_CONDITION = regex.compile(r"\b(?:if|unless|when) (?:no|nobody|none|nothing)\b", regex.I)
# That there is none of what is asked for is an answer; that no name or day is told, is none.
_NONE_OF = regex.compile(
    r"\bno (?:(?:documented|established|known|named|other|recorded|reported|specified|stated) )?"
    r"([\w-]+)",
    regex.I,
)
_ONE_AT_LEAST = frozenset(("date", "name", "place", "reason"))


def tells_nothing(
    strip: str, found: frozenset[str], asked: frozenset[str], *, question: str, kind: str
) -> bool:
    """Return whether `strip` has terms of the question, and else only speaks of what is known.

    "Nobody knows who the captain is", "This page is about the captain": the words of the question,
    in a statement that would pass for an answer. One word beside them that is of the matter, and it
    may be an answer: "Nobody knows the captain but Ada".

    Args:
        strip: The sentence.
        found: Its content terms.
        asked: The question's.
        question: Its text.
        kind: The kind of answer that it asks for, as of `Question`.
    """
    beside = found - asked
    if not found & asked or not beside <= _SAYING | _AROUND:
        return False
    if _ABOUT.search(strip):
        return not question.rstrip(" ?").endswith(" about")
    if _NOBODY_KNOWS.search(strip):
        return True
    if _OF_MEANING.search(question) or _UNDER_A_CONDITION.search(strip):
        return False
    if says_there_is_none(strip, asked, question=question, kind=kind):
        return False
    return bool(beside & _SAYING and (_DENIED.search(strip) or _ANNOUNCED.search(strip)))


def says_there_is_none(strip: str, asked: frozenset[str], *, question: str, kind: str) -> bool:
    """Return whether `strip` answers by saying that nothing of what is asked for is there.

    "No issues are known", "There are no known issues": of a question in the same words this is the
    answer, unless it has the denial itself or wants a name, a day, a place or a reason.
    """
    if kind in _ONE_AT_LEAST or _denies_one_of(question, asked):
        return False
    return _denies_one_of(strip, asked)


def _denies_one_of(text: str, terms: frozenset[str]) -> bool:
    """Return whether one of `terms` follows upon "no", or upon "no known" and the like."""
    return any(set(content_terms(match[1])) & terms for match in _NONE_OF.finditer(text))
