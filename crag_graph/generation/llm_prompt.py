"""What the generating model is shown: evidence that fits, fenced; and the turns before."""

import dataclasses
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

import regex
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from crag_graph.generation.base import Evidence
from crag_graph.models.fencing import Fence, inert, without_tokens
from crag_graph.models.injection import addresses_reader
from crag_graph.models.reply import text_blocks
from crag_graph.text.clean import shorten, tail_text
from crag_graph.text.tokens import estimate_tokens

_CHARS_PER_TOKEN = 4
_MOST_TURNS = 6
_TURN_CHARS = 2000
_LONGEST_QUESTION = 24_000  # characters; of a longer one the beginning and the end are shown
_SEPARATORS = regex.compile(r"[-_/.+%]+")  # between the words of a path
_MARKERS = regex.compile(r"\s?\[\d{1,3}\]")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShownEvidence:
    """The evidence as the model sees it.

    Attributes:
        text: All sources, each in its fence; empty when nothing is left.
        fence: The name of the tags.
        warnings: Sentences for the user on what was left out.
    """

    text: str
    fence: str
    warnings: tuple[str, ...]


def show_evidence(evidence: Sequence[Evidence], *, tokens: int, withhold: bool) -> ShownEvidence:
    """Return `evidence` fenced, in about `tokens`, the strips with the lowest scores left out.

    Args:
        evidence: The numbered sources.
        tokens: The most that their texts may take.
        withhold: Whether strips that give the reader orders are left out.
    """
    fence = Fence("evidence", (item.text for item in evidence))
    warnings: list[str] = []
    parts: dict[tuple[int, int], str] = {}
    for index, item in enumerate(evidence):
        kept, withheld = _strips(item, withhold=withhold)
        parts.update({(index, position): text for position, text in kept.items()})
        if withheld:
            count = "a sentence" if withheld == 1 else f"{withheld} sentences"
            name = item.source if addresses_reader(item.title) else item.title or item.source
            warnings.append(f"{count} of {name} give orders to the reader and were withheld")
    if _trim(parts, evidence, tokens):
        warnings.append("some evidence was left out to fit the evidence budget")
    sources: list[str] = []
    for index, item in enumerate(evidence):
        texts = [text for (owner, _), text in parts.items() if owner == index]
        if texts:
            whole = len(texts) == len(item.strips) and not (
                withhold and addresses_reader(item.text)
            )
            text = item.text if whole else "\n".join(texts)
            sources.append(_source(fence, item, text, withhold=withhold))
    return ShownEvidence(text="\n\n".join(sources), fence=fence.name, warnings=tuple(warnings))


def show_question(question: str) -> str:
    """Return the question as it is shown: whole, or both ends of a very long one."""
    text = without_tokens(question)
    if len(text) <= _LONGEST_QUESTION:
        return text
    half = _LONGEST_QUESTION // 2
    return f"{shorten(text, half)}\n[…]\n{tail_text(text, half)}"


def show_history(history: Sequence[Mapping[str, Any]]) -> list[BaseMessage]:
    """Return the last turns as messages that begin with the user's and alternate.

    An answer may quote a document, so tokens of chat templates are made harmless here too.
    Citation markers of earlier answers are taken out: their numbers meant other sources.
    """
    messages: list[BaseMessage] = []
    for turn in history[-_MOST_TURNS:]:
        said = without_tokens(text_blocks(turn.get("content")))
        text = shorten(said or " ", _TURN_CHARS).strip()
        if not text:
            continue
        if turn.get("role") in ("assistant", "ai"):
            _append(messages, AIMessage(_MARKERS.sub("", text)))
        elif turn.get("role") in ("user", "human"):
            _append(messages, HumanMessage(text))
    while messages and isinstance(messages[0], AIMessage):
        del messages[0]
    return messages


def _append(messages: list[BaseMessage], message: BaseMessage) -> None:
    if messages and messages[-1].type == message.type:
        before = messages.pop()
        message = type(message)(f"{before.content}\n\n{message.content}")
    messages.append(message)


def _strips(item: Evidence, *, withhold: bool) -> tuple[dict[int, str], int]:
    """Return the strips that may be shown by their position, and how many may not."""
    kept: dict[int, str] = {}
    for position, text in enumerate(item.strips or (item.text,)):
        if text.strip() and not (withhold and addresses_reader(text)):
            kept[position] = text
    return kept, sum(bool(text.strip()) for text in item.strips or (item.text,)) - len(kept)


def _trim(parts: dict[tuple[int, int], str], evidence: Sequence[Evidence], tokens: int) -> bool:
    """Take strips out of `parts` until the rest fits; the last one is cut instead."""
    sizes = {key: estimate_tokens(text) for key, text in parts.items()}
    total = sum(sizes.values())
    if total <= tokens:
        return False

    def worth(key: tuple[int, int]) -> tuple[float, int, int]:
        index, position = key
        scores = evidence[index].scores
        score = scores[position] if position < len(scores) else None
        return (-1.0 if score is None else score, -index, -position)

    for key in sorted(parts, key=worth)[: len(parts) - 1]:
        if total <= tokens:
            break
        total -= sizes[key]
        del parts[key]
    if total > tokens:
        for key, text in parts.items():
            parts[key] = shorten(text, tokens * _CHARS_PER_TOKEN)
    return True


def _source(fence: Fence, item: Evidence, text: str, *, withhold: bool) -> str:
    host = urllib.parse.urlsplit(item.source).hostname if item.origin == "web" else ""
    attributes = {
        "number": str(item.number),
        "origin": item.origin,
        "title": item.title or (item.source if item.origin == "internal" else ""),
        "host": host or "",
        "locator": item.locator,
        "date": item.published,
    }
    if withhold:
        attributes = {
            key: value
            for key, value in attributes.items()
            if not addresses_reader(_SEPARATORS.sub(" ", value))
        }
    return fence.wrap(inert(text), **attributes)
