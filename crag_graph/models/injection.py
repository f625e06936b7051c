"""Finding sentences of a passage that give orders to the model which is to judge or use it.

A fence tells a model that a text is data; a weak model may obey it all the same. So sentences that
speak to the model (about its instructions, its grades, its answer) are found here and kept from
it. The rules look for who is spoken to and what is demanded, in a form of the text from which
disguises are taken off: compatibility forms, look-alike letters, spaced or reversed letters,
digits for letters, tags inside of words, entities, rot13, base64 and hexadecimal digits. They are a
filter, not a proof: what passes is still fenced.
"""

import base64
import binascii
import codecs
import functools
import html
import re
import unicodedata
import urllib.parse
from collections.abc import Iterator

import regex

from crag_graph.models.injection_rules import ADDRESSED, STEMS

# Lower-case letters of Cyrillic, Greek and IPA that pass for Latin ones (Unicode confusables).
_LOOKALIKES = str.maketrans("аеорсухіјѕԁɡһвкмнтαορυνικτεχ", "aeopcyxijsdghbkmhtaopuviktex")
_LEET = str.maketrans("013457@$!", "oieastasi")
_CODED = re.compile(r"[^\W\d_][013457@$!][^\W\d_]")
_FORMAT = regex.compile(r"[\p{Cf}\u034f\u115f\u1160\u3164]+")
_MARKS = regex.compile(r"\p{Mn}+")
_SPACED = re.compile(r"\b(?:[^\W\d_][ .\-_*|]{1,2}){4,}[^\W\d_]\b")
_GAPS = re.compile(r"[ .\-_*|]+")
_SHORTEST_BLOB = 24
_BLOB = re.compile(rf"[A-Za-z0-9+/_-]{{{_SHORTEST_BLOB},}}={{0,2}}")
_URLSAFE = str.maketrans("-_", "+/")
# What is not seen inside of a word: an empty element, a comment, marks of emphasis.
_INSIDE = re.compile(r"<(\w+)\b[^<>]{0,80}></\1>|<wbr/?>|<!--[^<>]{0,80}-->|(?<=\w)\*\*?(?=\w)")
_ESCAPED = re.compile(r"&#?\w{1,8};|%[0-9a-f]{2}")
_LONGEST = 20_000
# Documentation of attacks quotes orders and says that they are attacks. To hide behind that, an
# order would have to be quoted and called an attack, which is as good as a fence.
_QUOTATION = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}[”“]|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|`[^`\n]{1,300}`"
    r"|(?<!\w)'[^'\n]{1,300}'(?!\w)|‘[^’\n]{1,300}’(?!\w)"
)
_ATTACKS = re.compile(
    r"\b(?:injections?|jailbreaks?|attack\w*|malicious|adversar\w+|untrusted|hostile|angreif\w+|"
    r"attaqu\w+|atac\w+|ataque\w*)\b|攻击"
)

# An order that is written backwards or in rot13 holds one of these somewhere.
_CORE = (
    "instruction",
    "ignor",
    "scor",
    "grade",
    "rate",
    "passage",
    "document",
    "relevan",
    "answer",
)
_CORE_REVERSED = tuple(stem[::-1] for stem in _CORE)
_CORE_ROTATED = tuple(codecs.encode(stem, "rot13") for stem in _CORE)


@functools.lru_cache(maxsize=8192)  # the evaluator's strips come back as the generator's evidence
def addresses_reader(text: str) -> bool:
    """Return whether `text`, a sentence or strip, gives orders to the model that reads it."""
    return any(_gives_orders(view) for view in _views(text[:_LONGEST]))


def _gives_orders(view: str) -> bool:
    if ADDRESSED.search(view) is None:
        return False
    told = _QUOTATION.sub('""', view)
    if told == view or _ATTACKS.search(told) is None:
        return True
    return ADDRESSED.search(told) is not None


def _views(text: str) -> Iterator[str]:
    """Yield `text` in lower case without disguises, in each way that may hold an order."""
    plain = _undisguised(text)
    if _any(STEMS, plain):
        yield plain
    if not plain.isascii():
        yield plain.translate(_LOOKALIKES)
    if _SPACED.search(plain):
        yield _SPACED.sub(lambda match: _GAPS.sub("", match[0]), plain)
    if _CODED.search(plain):
        yield plain.translate(_LEET)
    if _INSIDE.search(plain):
        yield _INSIDE.sub("", plain)
    if _ESCAPED.search(plain):
        yield _undisguised(html.unescape(urllib.parse.unquote(plain)))
    if _any(_CORE_REVERSED, plain):
        yield plain[::-1]
    if _any(_CORE_ROTATED, plain):
        yield codecs.encode(plain, "rot13")
    if any(len(word) >= _SHORTEST_BLOB for word in text.split()):
        for blob in _BLOB.findall(text):
            yield _undisguised(_decoded(blob))


def _any(stems: tuple[str, ...], text: str) -> bool:
    return any(stem in text for stem in stems)


def _undisguised(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKD", _FORMAT.sub("", text))
        text = unicodedata.normalize("NFC", _MARKS.sub("", text))
    return text.casefold().replace("’", "'")


def _decoded(blob: str) -> str:
    for decode in (bytes.fromhex, _from_base64):
        try:
            text = decode(blob).decode("utf-8")
        except (binascii.Error, ValueError):
            continue
        if text.isprintable() or "\n" in text:
            return text
    return ""


def _from_base64(blob: str) -> bytes:
    padded = blob.translate(_URLSAFE) + "=" * (-len(blob) % 4)
    return base64.b64decode(padded, validate=True)
