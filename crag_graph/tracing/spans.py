"""Retriever runs for calls of ours, so that a trace shows them as it shows LangChain's own."""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackManager, CallbackManager
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Span:
    """What one run in a trace is called.

    Its name is `component:name`, its tags `crag` and the component; its metadata names the
    component as `crag_component` beside what `metadata` holds.

    Attributes:
        component: What is called: `retriever`, `web_search`, `evaluator`, `generator`, `rewriter`.
        name: Which one.
        query: What it is asked.
        metadata: Plain values, none of them text of a question or document.
    """

    component: str
    name: str
    query: str = ""
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def run_name(self) -> str:
        """The name of the run."""
        return f"{self.component}:{self.name}"

    @property
    def tags(self) -> list[str]:
        """The tags of the run."""
        return ["crag", self.component]

    @property
    def labels(self) -> dict[str, Any]:
        """The metadata of the run."""
        return {"crag_component": self.component, **self.metadata}

    @property
    def config(self) -> RunnableConfig:
        """The same as a configuration, for `invoke` of what LangChain traces itself."""
        return {"run_name": self.run_name, "tags": self.tags, "metadata": self.labels}


def traced(span: Span | None, act: Callable[[], T]) -> T:
    """Return what `act` returns, as a retriever run below the running node.

    Its documents are the result itself, or the result's `documents`. Where nothing listens, or
    `span` is None, nothing is recorded.
    """
    config = _listening()
    if span is None or config is None:
        return act()
    manager = CallbackManager.configure(**_arguments(config, span))
    run = manager.on_retriever_start({}, span.query, name=span.run_name)
    try:
        result = act()
    except BaseException as error:
        run.on_retriever_error(error)
        raise
    run.on_retriever_end(_documents(result))
    return result


async def atraced(span: Span | None, act: Callable[[], Awaitable[T]]) -> T:
    """Return what `traced` does, for an asynchronous `act`."""
    config = _listening()
    if span is None or config is None:
        return await act()
    manager = AsyncCallbackManager.configure(**_arguments(config, span))
    run = await manager.on_retriever_start({}, span.query, name=span.run_name)
    try:
        result = await act()
    except BaseException as error:
        await run.on_retriever_error(error)
        raise
    await run.on_retriever_end(_documents(result))
    return result


def _listening() -> RunnableConfig | None:
    """Return the configuration of the running node where anybody listens to it."""
    config = var_child_runnable_config.get()
    callbacks = config.get("callbacks") if config else None
    if isinstance(callbacks, BaseCallbackManager):
        return config if callbacks.handlers else None
    return config if callbacks else None


def _arguments(config: RunnableConfig, span: Span) -> dict[str, Any]:
    return {
        "inheritable_callbacks": config.get("callbacks"),
        "inheritable_tags": config.get("tags"),
        "inheritable_metadata": config.get("metadata"),
        "local_tags": span.tags,
        "local_metadata": span.labels,
    }


def _documents(result: Any) -> Sequence[Document]:
    found: Sequence[Document] = getattr(result, "documents", result)
    return found
