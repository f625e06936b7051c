"""Quoting untrusted text in a prompt so that it cannot end its quotation or pose as the frame.

Tags carry a nonce that is made for each call. Inside, whatever chat templates or our own frame give
a meaning to is written with look-alikes, and every line but the first of a strip is indented, so
that no line of a document starts where a role or a strip number would stand.
"""

import secrets
from collections.abc import Iterable, Sequence

import regex

from crag_graph.text.clean import clean_text, shorten

_NONCE_BYTES = 4
_LONGEST_TITLE = 160
# Tokens of chat templates: ChatML, harmony and Llama 3 <|…|>, DeepSeek's with full-width bars,
# Llama 2 and Mistral [INST] and <<SYS>>, <s>, Gemma's turns, reasoning and tools, fillers.
_TOKEN = regex.compile(
    "<[|\uff5c][^\\s|\uff5c<>]{1,60}[|\uff5c]>"
    r"|</?s>|<</?SYS>>|</?(?:start|end)_of_(?:turn|image|audio)>|<(?:[be]os|pad|unk|sop|eop)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|gMASK)\]"
    r"|<(?:unused|extra_id_)\d{1,4}>|<fim_\w{3,10}>|</?(?:think|tool_call|tool_response)>",
    regex.I,
)
# What prompts are framed with, ours among them. Names of elements that only begin so are not meant.
_TAG = regex.compile(
    r"</?(?:passages?|evidence)\b[^<>\n]{0,80}>"
    r"|</?(?:system|assistant|user|human|tool|instructions?)(?:\s[^<>\n]{0,80})?/?>",
    regex.I,
)
_LOOKALIKES = str.maketrans("<>[]|\uff5c", "‹›⟦⟧¦¦")
# Invisible: zero-width space and joiners outside of words, bidirectional overrides and isolates.
_INVISIBLE = regex.compile(
    r"[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u00ad]"
    r"|(?<![\p{L}\p{M}\p{So}])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}\p{So}])"
)
_INDENT = "\n    "


class Fence:
    """A pair of tags for one call.

    Attributes:
        name: The name of the tags, for example `passage-9f3c01d2`.
    """

    def __init__(self, kind: str, texts: Iterable[str] = ()) -> None:
        quoted = list(texts)
        nonce = secrets.token_hex(_NONCE_BYTES)
        while any(nonce in text for text in quoted):
            nonce = secrets.token_hex(_NONCE_BYTES)
        self.name = f"{kind}-{nonce}"

    def wrap(self, body: str, **attributes: str) -> str:
        """Return `body` between the tags, the attributes made harmless; empty ones are left out.

        `body` must be made of what `inert` returned.
        """
        shown = "".join(
            f' {key}="{inert_line(value)}"' for key, value in attributes.items() if value
        )
        return f"<{self.name}{shown}>\n{body}\n</{self.name}>"


def inert(text: str) -> str:
    """Return `text` so that it can only be read as quoted: cleaned, defanged, indented."""
    text = without_tokens(_INVISIBLE.sub("", clean_text(text)).strip())
    return _TAG.sub(_defang, text).replace("\n", _INDENT)


def without_tokens(text: str) -> str:
    """Return `text` cleaned, the tokens of chat templates written with look-alikes.

    For what is shown to a model outside of a fence: a question, the turns before it.
    """
    return _TOKEN.sub(_defang, clean_text(text))


def inert_line(text: str) -> str:
    """Return `text` for the value of an attribute: one short line without quotation marks."""
    line = " ".join(inert(text).split()).translate(str.maketrans('"<>', "'‹›"))
    return shorten(line, _LONGEST_TITLE)


def numbered(lines: Sequence[tuple[int, str]]) -> str:
    """Return inert texts, each after its number in brackets, one below the other."""
    return "\n".join(f"[{number}] {text}" for number, text in lines)


def _defang(match: "regex.Match[str]") -> str:
    return match[0].translate(_LOOKALIKES)
