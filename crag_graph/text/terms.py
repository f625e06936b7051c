"""The terms of a text: words, numbers and codes in a form in which two texts can be compared."""

import dataclasses
import itertools
import unicodedata

import regex

from crag_graph.text.language import STOP_WORDS, detect_language, fold

_ACRONYM = r"(?:\p{L}\.){2,}(?!\p{L})"
_RUN = r"[\p{L}\p{M}\p{N}]+(?:(?<=\p{N})[.,](?=\p{N})[\p{L}\p{M}\p{N}]+)*"
_TOKEN = regex.compile(rf"{_ACRONYM}|{_RUN}")
# Scripts that write no spaces, and Hangul, which glues particles to words: pairs of characters
# stand in for words there, as is usual in retrieval for these languages.
_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
)
_PIECE = regex.compile(rf"([{_UNSPACED}]+)|[^{_UNSPACED}]+")
_MEASURE = regex.compile(r"(\d[\d.,]*)((?:\p{L}\p{M}*)+)")
_NUMBER = regex.compile(r"\d[\d.,]*")
_GROUPED = regex.compile(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
_DECIMAL_COMMA = regex.compile(r"\d+,\d{1,2}")
_GRAPHEME = regex.compile(r"\X")
_SENTENCE_END = regex.compile(r"[.!?…:。！？।\n]")
_APOSTROPHES = "'’ʼ"
_CLITICS = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """A content word where it stands.

    Attributes:
        surface: As written.
        start: Its offset in the text in compatibility form (NFKC).
        terms: Its normal form; several for a measure (`400mg`) or a script without spaces.
        named: Whether it is a number, a code or a name.
        opening: Whether the capital at the start of a sentence is its only claim to that.
    """

    surface: str
    start: int
    terms: tuple[str, ...]
    named: bool
    opening: bool


def content_terms(text: str) -> list[str]:
    """Return the terms of `text` that carry meaning, in their order, repeated as often as there.

    Terms are in lower case, in compatibility form (NFKC), without accents on Latin and Greek
    letters and without the English plural; a number keeps its decimals and loses its thousands
    separators; `400mg` is `400` and `mg`. Function words of the text's language are left out,
    unless in capitals (`US`, `WHO`). Scripts without spaces give pairs of characters.
    """
    return [term for word in content_words(text) for term in word.terms]


def names_and_numbers(text: str, *, opening: bool = True) -> frozenset[str]:
    """Return the terms of `text` that are numbers, codes or names, each also a content term.

    A name is a word with a capital letter: every noun in German, and none in scripts without
    capitals.

    Args:
        text: A question, strip or passage.
        opening: Whether a word counts whose only claim is the capital at the start of a sentence.
            True suits passages ("Paris is …"), False questions ("Torque for K7?").
    """
    return frozenset(
        term
        for word in content_words(text)
        if word.named and (opening or not word.opening)
        for term in word.terms
    )


def content_words(text: str) -> list[Word]:
    """Return the words of `text` that are not function words of its language, in their order."""
    text = unicodedata.normalize("NFKC", text)
    stops = STOP_WORDS.get(detect_language(text), STOP_WORDS["en"])
    # In a text all in capitals, capitals say nothing.
    cased = any(character.islower() for character in text)
    tokens = [(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)]
    words: list[Word] = []
    for index, (token, start, end) in enumerate(tokens):
        if _is_clitic(token, text[start - 1 : start], text[end : end + 2]):
            continue
        code = any(c.isdigit() for c in token) or (cased and any(c.isupper() for c in token[1:]))
        capital = cased and token[0].isupper()
        opening = capital and not code and _opens(text, tokens, index)
        for piece in _PIECE.finditer(token):
            if fold(piece[0]) in stops and not code:
                continue
            unspaced = piece[1] is not None
            words.append(
                Word(
                    surface=piece[0],
                    start=start + piece.start(),
                    terms=_terms(piece[0], unspaced=unspaced),
                    named=(code or capital) and not unspaced,
                    opening=opening,
                )
            )
    return words


def _opens(text: str, tokens: list[tuple[str, int, int]], index: int) -> bool:
    """Return whether the token starts a sentence and no other capital follows to make it a name."""
    _, start, end = tokens[index]
    if index > 0:
        before, _, before_end = tokens[index - 1]
        gap = text[before_end:start]
        if _SENTENCE_END.search(gap) is None:
            return False
        if gap == ". " and before[0].isupper() and len(before) <= 3:  # Dr., St., J.
            return False
    if index + 1 < len(tokens):
        after, after_start, _ = tokens[index + 1]
        return not (text[end:after_start] == " " and after[0].isupper())
    return True


def _is_clitic(token: str, before: str, after: str) -> bool:
    """Return whether an apostrophe makes `token` a mere ending or beginning: 's, 't, l', don't."""
    if before and before in _APOSTROPHES and token.lower() in _CLITICS:
        return True
    if after and after[0] in _APOSTROPHES:
        negated = token[-1] in "nN" and after[1:] in ("t", "T")
        return negated or len(token) == 1 or token.lower() == "qu"
    return False


def _terms(piece: str, *, unspaced: bool) -> tuple[str, ...]:
    if unspaced:
        characters = _GRAPHEME.findall(piece)
        return tuple(a + b for a, b in itertools.pairwise(characters)) or (piece,)
    if measure := _MEASURE.fullmatch(piece):
        unit = fold(measure[2])
        return (_number(measure[1]), *(() if unit == "s" else (unit,)))  # 1980s is 1980
    if _NUMBER.fullmatch(piece):
        return (_number(piece),)
    if "." in piece and not any(c.isdigit() for c in piece):
        piece = piece.replace(".", "")
    return (_singular(fold(piece)),)


def _number(digits: str) -> str:
    if not digits.isascii():
        digits = "".join(str(unicodedata.digit(character, character)) for character in digits)
    if _GROUPED.fullmatch(digits):
        return digits.replace(",", "")
    return digits.replace(",", ".") if _DECIMAL_COMMA.fullmatch(digits) else digits


def _singular(word: str) -> str:
    """Return `word` without the English plural (the S stemmer of Harman 1991; `is` stays, too)."""
    if len(word) <= 3 or not word.isascii() or word.endswith(("us", "ss", "is")):
        return word
    if word.endswith("ies") and len(word) > 4 and word[-4] not in "ae":
        return word[:-3] + "y"
    return word.removesuffix("s")
