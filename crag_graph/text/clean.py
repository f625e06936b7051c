"""Making text from outside fit for models, stores and terminals, and cutting it safely."""

from collections.abc import Mapping, Sequence

import regex

from crag_graph.errors import InputError

MAX_QUESTION_CHARACTERS = 200_000
"""The longest question that is accepted, after cleaning: about 50,000 tokens."""

_EXAMPLE = "ask something such as 'Which valve closes first?'"
_LINE_ENDS = regex.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
# Tag characters render as nothing, so a page can hide orders to a model in them. Their one honest
# use is in the flags of regions: a black flag, up to six tags, and the cancel tag (UTS #51).
_TAGS = regex.compile("(\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f)|[\U000e0000-\U000e007f]+")
# What a program wrote for a terminal, as in logs and the output of notebooks: colours, titles and
# links (ECMA-48, 5.4 and 5.6). Taken out whole: without its ESC a colour reads `[31m`. U+009B may
# stand for `ESC [`, and is what a wrong encoding makes of ›: with it colours alone are taken out.
_ESCAPES = regex.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c\n]{0,4096}+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[()*+./-][0-9A-Z@]"
    r"|\x1b[78=>cDEHMNOZ\\]"
    r"|\x9b[0-9;]++m"
)
# Bold and underlined letters as manual pages print them: the letter or a line, back, the letter.
_OVERSTRUCK = regex.compile(r"(\S)\x08(?=\1)|_\x08(?=\S)")
_REMOVED = regex.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff]+")
_VISIBLE = regex.compile(r"[^\p{Z}\p{C}\p{M}\u115f\u1160\u3164\uffa0\u2800]")
_EDGE = " \t\n\u00a0\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u2060\u3000\ufeff"
_GRAPHEME = regex.compile(r"\X")
_SPACE = regex.compile(r"\s")
# What may not end a cut: joiners and variation selectors that wait for more.
_DANGLING = "\u200d\ufe0e\ufe0f"


def clean_text(text: str) -> str:
    r"""Return `text` without what models, stores and terminals stumble over.

    Surrogate pairs become the character that they stand for, lone surrogates U+FFFD; every line
    end becomes `\n`; escape sequences of terminals, NUL and the other control characters but tab
    and newline, byte-order marks and invisible tag characters outside of a flag are removed.
    Everything else stays as it is. Cleaning twice changes nothing more.
    """
    if text.isascii():
        if text.isprintable():  # as a question on one line is
            return text
    else:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = _TAGS.sub(r"\1", text)
    text = _LINE_ENDS.sub("\n", text)
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text)
    return _REMOVED.sub("", text)


def is_blank(text: str) -> bool:
    """Return whether nothing of `text` would be seen: spaces, zero-width, control characters."""
    if text.isascii() and text.isprintable():
        return not text.strip()
    return _VISIBLE.search(text) is None


def clean_question(question: object) -> str:
    """Return the question as clean, trimmed text, at most `MAX_QUESTION_CHARACTERS` long.

    Args:
        question: A string, or what chat interfaces send: a list of content blocks, of which the
            texts are joined by newlines and the others (images, reasoning) are left out.

    Raises:
        InputError: It is missing, blank, too long or of another type.
    """
    if question is None:
        raise InputError(f"there is no question: {_EXAMPLE}")
    if isinstance(question, str):
        raw = question
    elif isinstance(question, Sequence) and not isinstance(question, bytes | bytearray):
        raw = "\n".join(text for block in question if (text := _block_text(block)))
    else:
        raise InputError(f"the question must be text, not {type(question).__name__}: {_EXAMPLE}")
    text = clean_text(raw).strip(_EDGE).strip()
    if is_blank(text):
        raise InputError(f"the question is blank: {_EXAMPLE}")
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise InputError(
            f"the question has {len(text):,} characters, more than {MAX_QUESTION_CHARACTERS:,}: "
            "ingest long material as a document and ask about it"
        )
    return text


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and block.get("type", "text") in ("text", "input_text"):
        text = block.get("text")
        return text if isinstance(text, str) else ""
    return ""


def grapheme_cut(text: str, at: int) -> int:
    """Return the last place up to `at` where `text` can be cut without breaking a character.

    A user-perceived character is an extended grapheme cluster (UAX #29): an emoji with its joiners,
    a letter with its accents. The result is 0 when the first one reaches beyond `at`.
    """
    if at >= len(text):
        return len(text)
    if at <= 0:
        return 0
    # Clusters are found from an anchor before which one surely ends: a letter or space of ASCII.
    anchor = at
    while anchor > 0 and not _starts_cluster(text[anchor]):
        anchor -= 1
    end = anchor
    for match in _GRAPHEME.finditer(text, anchor):
        if match.end() > at:
            break
        end = match.end()
    return end


def _starts_cluster(character: str) -> bool:
    return character == " " or (character.isascii() and character.isalnum())


def shorten(text: str, limit: int) -> str:
    """Return the beginning of `text`, trimmed, in at most `limit` characters (code points).

    The cut is at white space where there is some in the second half, else between two
    user-perceived characters. Where the first of these alone is longer than `limit`, its leading
    code points are kept, so that the result is empty only for blank input.

    Raises:
        ValueError: `limit` is not at least 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    text = text.strip()
    if len(text) <= limit:
        return text
    if text[limit].isspace():
        return text[:limit].rstrip()
    spaces = [match.start() for match in _SPACE.finditer(text, limit // 2, limit)]
    if spaces and text[: spaces[-1]].strip():
        return text[: spaces[-1]].rstrip()
    cut = grapheme_cut(text, limit)
    return text[:cut].rstrip() if cut else text[:limit].rstrip(_DANGLING) or text[:limit]


def tail_text(text: str, limit: int) -> str:
    """Return the end of `text`, trimmed, in at most `limit` characters; all of it when it fits.

    Meant for what is embedded: of a long question the end is what is asked. The cut is at white
    space where there is some in the first half of the end, else between two user-perceived
    characters.

    Raises:
        ValueError: `limit` is not at least 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    text = text.strip()
    if len(text) <= limit:
        return text
    start = len(text) - limit
    if text[start - 1].isspace():
        return text[start:].lstrip()
    space = _SPACE.search(text, start, start + limit // 2)
    if space is not None:
        return text[space.end() :].lstrip()
    boundary = grapheme_cut(text, start)
    if boundary < start:
        after = _GRAPHEME.match(text, boundary)
        boundary = after.end() if after is not None else start
    return text[boundary:].lstrip() or text[start:]
