"""A chat model of which only what it means to be read is seen, also while it streams.

LangGraph's `messages` mode shows the tokens of whatever model runs in a node. This one passes on
the text of another model without its reasoning blocks and without white space around the answer, so
that the pieces of a stream, put together, are exactly the answer.
"""

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from crag_graph.models.answer_text import AnswerText
from crag_graph.models.endpoint import Endpoint
from crag_graph.models.failures import as_model_error
from crag_graph.models.reply import text_blocks, without_reasoning


class VisibleModel(BaseChatModel):
    """Answers as `inner` does, its streamed text filtered."""

    inner: BaseChatModel

    @classmethod
    def of(cls, model: BaseChatModel) -> "VisibleModel":
        """Return the visible side of `model`, with its name, limits and cache."""
        return cls(
            inner=model,
            name=model.get_name(),
            rate_limiter=model.rate_limiter,
            cache=model.cache,
            disable_streaming=model.disable_streaming,
            tags=model.tags,
            metadata=model.metadata,
        )

    @property
    def _llm_type(self) -> str:
        return self.inner._llm_type

    @property
    def _identifying_params(self) -> Any:
        return self.inner._identifying_params

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return self.inner._get_ls_params(stop, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del run_manager  # the caller of this method reports to it
        kwargs.pop("stream", None)
        return self.inner._generate(messages, stop, None, **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del run_manager  # the caller of this method reports to it
        kwargs.pop("stream", None)
        return await self.inner._agenerate(messages, stop, None, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        del run_manager  # the caller of this method reports to it
        kwargs.pop("stream", None)
        if type(self.inner)._stream is BaseChatModel._stream:
            yield _whole(self.inner._generate(messages, stop, None, **kwargs))
            return
        with _View(self.inner) as view:
            for chunk in self.inner._stream(messages, stop, None, **kwargs):
                yield view.of(chunk)
            yield view.rest()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        del run_manager  # the caller of this method reports to it
        kwargs.pop("stream", None)
        kind = type(self.inner)
        if kind._stream is BaseChatModel._stream and kind._astream is BaseChatModel._astream:
            yield _whole(await self.inner._agenerate(messages, stop, None, **kwargs))
            return
        with _View(self.inner) as view:
            async for chunk in self.inner._astream(messages, stop, None, **kwargs):
                yield view.of(chunk)
            yield view.rest()


class _View:
    """Turns the chunks of one stream into what is shown of them, and names its failure.

    Once a part has been shown the stream must not begin anew: the failure is not transient then.
    """

    def __init__(self, model: BaseChatModel) -> None:
        self._model = model
        self._answer = AnswerText()

    def __enter__(self) -> "_View":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            failure = as_model_error(error, Endpoint.of(self._model))
            failure.shown = self._answer.shown
            failure.transient = failure.transient and not failure.shown
            raise failure from None

    def of(self, chunk: ChatGenerationChunk) -> ChatGenerationChunk:
        """Return the chunk with the text that is to be shown in the place of its content."""
        return self._chunk(self._answer.feed(text_blocks(chunk.message.content)), chunk)

    def rest(self) -> ChatGenerationChunk:
        """Return what was held back to the end."""
        return self._chunk(self._answer.end(), None)

    def _chunk(self, text: str, chunk: ChatGenerationChunk | None) -> ChatGenerationChunk:
        if chunk is None or not isinstance(chunk.message, AIMessageChunk):
            return ChatGenerationChunk(message=AIMessageChunk(content=text))
        message = chunk.message.model_copy(update={"content": text})
        return ChatGenerationChunk(message=message, generation_info=chunk.generation_info)


def _whole(result: ChatResult) -> ChatGenerationChunk:
    """Return a reply that came at once as the one chunk of a stream."""
    generation = result.generations[0]
    message = generation.message
    fields = message.model_dump(exclude={"type", "content"})
    answer = without_reasoning(text_blocks(message.content)).strip()
    return ChatGenerationChunk(
        message=AIMessageChunk(content=answer, **fields), generation_info=generation.generation_info
    )
