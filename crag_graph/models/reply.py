"""Reading a model's reply: its visible text, the JSON in it, how it ended, what it cost."""

import json
from collections.abc import Iterator
from typing import Any, Literal

import regex
from langchain_core.messages import AIMessage, BaseMessage

Ending = Literal["stop", "length", "filter", "refusal"]

REASONING_TAGS = (
    *("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad"),
)
_TAGS = "|".join(REASONING_TAGS)
_BLOCK = regex.compile(rf"\s*<({_TAGS})>.*?(?:</\1>|\Z)", regex.I | regex.S)
_OPENING = regex.compile(rf"<(?:{_TAGS})>", regex.I)
_CLOSING = regex.compile(rf"</(?:{_TAGS})>", regex.I)
# The channels of the harmony format: what follows the last `final` is meant for the reader.
_FINAL = regex.compile(r"<\|channel\|>\s*final\s*(?:<\|[^|>]*\|>[^<]*)*?<\|message\|>")
_HARMONY = regex.compile(r"<\|(?:start|end|return|channel|message|call)\|>")
_FENCED = regex.compile(r"```[A-Za-z0-9_-]*[ \t]*\n?(.*?)```", regex.S)
_TRAILING_COMMA = regex.compile(r",(?=\s*[}\]])")

_START = regex.compile(r"[{\[]")
_MOST_STARTS = 200  # each costs up to the length of the text; a real answer starts long before

_LENGTH = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
_FILTER = frozenset(
    {"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"}
)
_ENDING_KEYS = ("finish_reason", "stop_reason", "done_reason", "finishReason")


def visible_text(message: BaseMessage) -> str:
    """Return what the model means to be read, without its reasoning, trimmed."""
    return without_reasoning(text_blocks(message.content)).strip()


def text_blocks(content: object) -> str:
    """Return the text of a message's content: a string, or the text blocks of a list, joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_block_text(block) for block in content)
    return ""


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("type") in ("text", "output_text"):
        text = block.get("text")
        return text if isinstance(text, str) else ""
    return ""


def without_reasoning(text: str) -> str:
    """Return `text` without leading blocks such as `<think>…</think>`.

    A block that never ends leaves nothing. Where the opening tag was part of the prompt, so that
    only the closing one is there, everything up to it goes. Tags further on are part of the text.
    """
    if finals := list(_FINAL.finditer(text)):
        return _HARMONY.split(text[finals[-1].end() :])[0]
    while match := _BLOCK.match(text):
        text = text[match.end() :]
    closing = _CLOSING.search(text)
    if closing and not _OPENING.search(text, 0, closing.start()) and not _quoted(text, closing):
        return text[closing.end() :]
    return text


def _quoted(text: str, match: "regex.Match[str]") -> bool:
    return text[match.start() - 1 : match.start()] == "`"


def json_values(text: str) -> Iterator[Any]:
    """Yield the JSON objects and lists in `text`, the most likely answer first.

    The whole text, then fenced blocks from the last to the first, then whatever stands in the prose
    from the last to the first. Trailing commas are forgiven.
    """
    yield from _parsed(text.strip())
    for block in reversed(_FENCED.findall(text)):
        yield from _parsed(block.strip())
    yield from reversed(list(_embedded(text)))


def _parsed(text: str) -> Iterator[Any]:
    for candidate in (text, _TRAILING_COMMA.sub("", text)):
        try:
            value = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            yield value
        return


def _embedded(text: str) -> Iterator[Any]:
    """Yield the outermost JSON values that stand in `text`; each start is tried once."""
    decoder = json.JSONDecoder(strict=False)
    position, attempts = 0, 0
    while (match := _START.search(text, position)) and attempts < _MOST_STARTS:
        attempts += 1
        try:
            value, position = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            position = match.end()
            continue
        # A list of bare values in prose is a citation or an enumeration: "see [1]".
        if isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(item, dict) for item in value)
        ):
            yield value


def tool_arguments(message: BaseMessage) -> Iterator[Any]:
    """Yield the arguments of the message's tool calls, the readable ones first."""
    for call in getattr(message, "tool_calls", ()):
        yield call["args"]
    for call in getattr(message, "invalid_tool_calls", ()):
        yield from json_values(call.get("args") or "")


def ending(message: BaseMessage) -> Ending:
    """Return how the reply ended, whatever the provider calls it."""
    metadata = message.response_metadata
    raw = next((str(metadata[key]) for key in _ENDING_KEYS if metadata.get(key)), "").lower()
    if raw in _LENGTH:
        return "length"
    if raw in _FILTER:
        return "filter"
    return "refusal" if raw == "refusal" or refusal_text(message) else "stop"


def refusal_text(message: BaseMessage) -> str:
    """Return the words of a refusal that came in a field or block of its own, else nothing."""
    refusal = message.additional_kwargs.get("refusal")
    if isinstance(refusal, str) and refusal:
        return refusal
    if isinstance(message.content, list):
        for block in message.content:
            if isinstance(block, dict) and block.get("type") == "refusal":
                return str(block.get("refusal") or "the model gave no reason")
    return ""


def reported_tokens(message: BaseMessage) -> tuple[int, int] | None:
    """Return the tokens in and out that the provider reports, None where it reports none."""
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    if not usage or not (usage["input_tokens"] or usage["output_tokens"]):
        return None
    return usage["input_tokens"], usage["output_tokens"]
