"""OpenAI's chat completions on the wire: what arrives, and what is sent back."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server answers.

    Attributes:
        content: The message's content: text, a list of blocks, or None.
        tool_arguments: Arguments of a call to the first tool offered, verbatim; None = no call.
        refusal: The refusal field of the message.
        reasoning: The `reasoning_content` field that some servers add.
        finish_reason: As the protocol names it.
        usage: Tokens in and out; None leaves the field out.
        status: HTTP status; from 400 up `body` is sent as it is.
        body: The whole body in place of a completion: bytes, text, or JSON.
        headers: Further headers.
        delay: Seconds before the first byte.
        piece_delay: Seconds between two events of a stream.
        pieces: How many events the content is streamed in.
        cut: Close the connection after so many bytes of the body.
        drop: Close the connection without any answer.
    """

    content: Any = ""
    tool_arguments: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: tuple[int, int] | None = (11, 7)
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    delay: float = 0.0
    piece_delay: float = 0.0
    pieces: int = 3
    cut: int | None = None
    drop: bool = False


def error(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return an error reply in OpenAI's form."""
    detail = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Reply(status=status, body={"error": detail}, headers=headers or {})


def as_json(value: Any, **fields: Any) -> Reply:
    """Return a reply whose content is `value` as JSON."""
    return Reply(content=json.dumps(value), **fields)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """One recorded request: when it came (monotonic seconds), its headers and its JSON body."""

    path: str
    at: float
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """All messages' texts, joined by newlines."""
        return "\n".join(_text(message.get("content")) for message in self.body["messages"])

    @property
    def last(self) -> str:
        """The text of the last message."""
        return _text(self.body["messages"][-1].get("content"))

    @property
    def system(self) -> str:
        """The texts of the system messages, joined by newlines."""
        return "\n".join(
            _text(message.get("content"))
            for message in self.body["messages"]
            if message["role"] in ("system", "developer")
        )

    @property
    def streamed(self) -> bool:
        """Whether a stream was asked for."""
        return bool(self.body.get("stream"))

    @property
    def method(self) -> str:
        """Which way of structured output was asked for; `text` when none was."""
        if "response_format" in self.body:
            return str(self.body["response_format"]["type"])
        return "tool" if self.body.get("tools") else "text"


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(block.get("text", "")) for block in content)
    return content or ""


def _tool_calls(reply: Reply, request: Request) -> list[dict[str, Any]]:
    if reply.tool_arguments is None:
        return []
    tools = request.body.get("tools") or [{"function": {"name": "unknown"}}]
    function = {"name": tools[0]["function"]["name"], "arguments": reply.tool_arguments}
    return [{"id": "call_1", "type": "function", "function": function}]


def _finish(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.tool_arguments is not None else "stop")


def _head(request: Request, kind: str) -> dict[str, Any]:
    model = request.body.get("model", "fake")
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": model}


def _usage(reply: Reply) -> dict[str, int] | None:
    if reply.usage is None:
        return None
    tokens_in, tokens_out = reply.usage
    return {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }


def completion(reply: Reply, request: Request) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    message["refusal"] = reply.refusal
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if calls := _tool_calls(reply, request):
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    body = _head(request, "chat.completion") | {"choices": [choice]}
    return body if reply.usage is None else body | {"usage": _usage(reply)}


def events(reply: Reply, request: Request) -> Iterable[dict[str, Any]]:
    head = _head(request, "chat.completion.chunk")

    def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield event({"role": "assistant", "content": ""})
    if reply.reasoning is not None:
        yield event({"reasoning_content": reply.reasoning})
    if isinstance(reply.content, str):
        size = -(-len(reply.content) // max(1, reply.pieces)) or 1
        for start in range(0, len(reply.content), size):
            yield event({"content": reply.content[start : start + size]})
    elif reply.content is not None:
        yield event({"content": reply.content})
    if reply.refusal is not None:
        yield event({"refusal": reply.refusal})
    for index, call in enumerate(_tool_calls(reply, request)):
        yield event({"tool_calls": [{"index": index, **call}]})
    yield event({}, _finish(reply))
    asked = (request.body.get("stream_options") or {}).get("include_usage")
    if asked and reply.usage is not None:
        yield head | {"choices": [], "usage": _usage(reply)}
