"""What a message of a conversation is: small talk, a question about the conversation, a follow-up.

Pure rules over words, read before any model or search is asked, so that they cost nothing. Small
talk is known in English, German, French, Spanish, Italian, Portuguese and Dutch, in whole messages
only; the words that make a follow-up are known in English and German. In other languages a message
of fewer than two content words counts as a follow-up.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import regex

from crag_graph.text.clean import shorten
from crag_graph.text.keywords import content_terms, names_and_numbers

Turn = dict[str, str]
"""`{"role": "user" | "assistant", "content": str}`, as `CRAGInput.history` holds them."""

Kind = Literal["greeting", "thanks", "farewell", "acknowledgement"]

_WORDS: dict[Kind, str] = {
    "greeting": """hi hello hey hiya howdy greetings yo good morning afternoon evening day there
        again everyone all hallo servus moin guten tag morgen abend grüß gott bonjour salut bonsoir
        hola buenos días buenas tardes noches ciao salve buongiorno buonasera olá oi bom dia boa
        tarde goedemorgen goedemiddag goedenavond""",
    "thanks": """thanks thank you thx ty cheers very much so a lot many million great awesome
        perfect nice wonderful excellent appreciated danke schön vielen dank sehr merci beaucoup
        bien gracias muchas mil grazie mille obrigado obrigada muito dank je u wel bedankt for your
        the that help""",
    "farewell": """bye goodbye see you later soon tomorrow have a nice good day night take care
        tschüss tschüs auf wiedersehen bis bald später au revoir à bientôt adiós hasta luego
        arrivederci adeus tchau tot ziens""",
    "acknowledgement": """ok okay k alright fine good great cool nice perfect super sure yes yeah
        yep no nope right got it i see understood makes sense sounds interesting exactly indeed hmm
        hm ah oh aha lol haha ja nein gut klar verstanden oui non d'accord sí si vale claro va bene
        sim não goed prima""",
}
# A message is of a kind when one of these is in it and every other word belongs to the kind too.
_CORE: dict[Kind, str] = {
    "greeting": """hi hello hey hiya howdy greetings yo morning afternoon evening hallo servus moin
        tag morgen abend grüß bonjour salut bonsoir hola buenos buenas ciao salve buongiorno
        buonasera olá oi bom boa goedemorgen goedemiddag goedenavond""",
    "thanks": "thanks thank thx ty cheers appreciated danke dank merci gracias grazie obrigado "
    "obrigada bedankt",
    "farewell": "bye goodbye see night care tschüss tschüs wiedersehen revoir bientôt adiós luego "
    "arrivederci adeus tchau ziens",
    "acknowledgement": _WORDS["acknowledgement"],
}
_KINDS: tuple[Kind, ...] = ("greeting", "thanks", "farewell", "acknowledgement")
_VOCABULARY = {kind: frozenset(words.split()) for kind, words in _WORDS.items()}
_CORES = {kind: frozenset(words.split()) for kind, words in _CORE.items()}
_REPLIES: dict[Kind, str] = {
    "greeting": "Hello! Ask me a question, and I will look it up in the documents.",
    "thanks": "You are welcome.",
    "farewell": "Goodbye!",
    "acknowledgement": "All right. Ask on whenever you like.",
}
_MOST_SMALL_TALK = 8
_WORD = regex.compile(r"[\p{L}\p{M}']+")

# Whole messages only: "What did I say about valves?" is a question to be looked up.
_WHEN = r"(?:first|last|before|earlier|just now|so far|at first|in the beginning|at the start)"
_ABOUT_THEIRS = regex.compile(
    rf"(?i)\W*(?:what did i (?:just |first )?(?:ask|say)(?: you)?(?: {_WHEN})?|what have i asked"
    rf"(?: you)?(?: {_WHEN})?|what was my (?:very )?(?:first|last|previous) question)\W*"
)
_ABOUT_OURS = regex.compile(
    rf"(?i)\W*(?:what did you (?:just |first )?(?:say|answer|tell me)(?: {_WHEN})?|what was your "
    r"(?:first|last|previous) answer|(?:please )?(?:repeat|say) (?:that|it)(?: again)?(?: please)?"
    r")\W*"
)
_FIRST = regex.compile(r"(?i)\bfirst\b|\bbegin|\bstart")
_LONGEST_QUOTED = 500

_OPENS_A_FOLLOW_UP = regex.compile(
    r"(?i)^\W*(?:and|or|but|so|then|also|plus|yes|yeah|yep|no|nope|ok|okay|what about|how about"
    r"|what else|why not|why so|how so|since when|und|oder|aber|auch|also|ja|nein|was ist mit|wie "
    r"ist es mit)\b"
)
# "Is it true that …", "is there a …", "it costs to …" point at nothing.
_EXPLETIVE = regex.compile(
    r"(?i)\b(?:is|was|be)\s+it\s+(?:true|possible|necessary|allowed|correct|ok|okay|legal|safe)\b(?:\s+that)?"
    r"|\bit\s+(?:costs?|takes?)\b(?=.*\bto\b)|\b(?:is|are|was|were)\s+there\b"
    r"|\bthere\s+(?:is|are|was|were|will|an?|any)\b"
)
_POINTS_BACK = regex.compile(
    r"(?i)\b(?:it|its|they|them|their|theirs|this|these|those|there|former|latter|instead"
    r"|the (?:same|others?)|ihm|ihn|dort|davon|damit|dafür|dazu|dieser?|dieses|diesem|diesen)\b"
    r"|\b(?:of|for|about|with|from|at|in|on|to|by|is|was|does|did|do|can|will|after|before|than)"
    r"\s+that\b|^\W*that\b|\bthat\W*$|\b(?:the|that|this|which|other|another)\s+ones?\b|\bones?\W*$"
)
_POINTS_AT_SOMEBODY = regex.compile(r"(?i)\b(?:he|him|his|she|her|hers)\b")
_FEWEST_TERMS = 2
# Longer messages say themselves what they are about, whatever else they point at.
_MOST_TERMS = 6


@dataclasses.dataclass(frozen=True)
class Reply:
    """What is answered without looking anything up."""

    text: str


def small_talk(message: str) -> Reply | None:
    """Return the reply to a message that asks nothing: a greeting, thanks, "ok", an emoji.

    None for everything else; "hi, when does the ferry leave?" asks something.
    """
    words = [word.lower().replace("’", "'") for word in _WORD.findall(message)]
    if not words:
        asks = regex.search(r"[\p{N}?？؟]", message)
        return None if asks else Reply(_REPLIES["acknowledgement"])
    if len(words) > _MOST_SMALL_TALK or regex.search(r"\p{N}", message):
        return None
    for kind in _KINDS:
        if not _VOCABULARY[kind].issuperset(words):
            continue
        if not _CORES[kind].isdisjoint(words):
            return Reply(_REPLIES[kind])
    together = frozenset().union(*_VOCABULARY.values())
    mixed = together.issuperset(words) and not _CORES["thanks"].isdisjoint(words)
    return Reply(_REPLIES["thanks"]) if mixed else None


def about_the_conversation(message: str, history: Sequence[Turn]) -> Reply | None:
    """Return what was asked or answered before, where that is what the message asks for.

    English only: "What did I ask first?", "What was your last answer?".
    """
    if _ABOUT_THEIRS.fullmatch(message):
        role, what = "user", "question"
    elif _ABOUT_OURS.fullmatch(message):
        role, what = "assistant", "answer"
    else:
        return None
    turns = [turn["content"] for turn in history if turn["role"] == role]
    if not turns:
        return Reply(f"There is no earlier {what} in this conversation.")
    first = _FIRST.search(message) is not None
    said = shorten(turns[0] if first else turns[-1], _LONGEST_QUOTED)
    whose = "Your" if role == "user" else "My"
    return Reply(f"{whose} {'first' if first else 'last'} {what} was: “{said}”")


def is_follow_up(message: str) -> bool:
    """Return whether a message cannot be understood without what was said before.

    It has fewer than two content words, or at most six of them and opens like a follow-up ("and
    …", "what about …", "yes, …") or points back ("it", "there", "the other one"; "she" where it
    names nobody).
    """
    terms = len(set(content_terms(message)))
    if terms < _FEWEST_TERMS:
        return True
    return terms <= _MOST_TERMS and _refers(message)


def needs_the_whole(message: str) -> bool:
    """Return whether a message is too bare to be looked up where nothing was asked before."""
    return _refers(message) and len(set(content_terms(message))) < _FEWEST_TERMS


def _refers(message: str) -> bool:
    if _OPENS_A_FOLLOW_UP.search(message):
        return True
    if _POINTS_BACK.search(_EXPLETIVE.sub(" ", message)):
        return True
    named = names_and_numbers(message, opening=False)
    return not named and _POINTS_AT_SOMEBODY.search(message) is not None


def standalone_by_rule(message: str, history: Sequence[Turn]) -> str:
    """Return the question that retrieval can be asked, made without a model.

    A message that stands by itself is its own question. A follow-up is put behind the questions
    that it follows, back to the last one that stands by itself: "Ferry price to Lund? and with a
    bike?". Small talk between them is left out.
    """
    if not is_follow_up(message):
        return message
    before: list[str] = []
    for turn in reversed(history):
        said = turn["content"].strip()
        if turn["role"] != "user" or not said or small_talk(said):
            continue
        before.insert(0, said)
        if not is_follow_up(said):
            break
    return " ".join([*before, message])
