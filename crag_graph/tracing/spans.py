"""Retriever runs for calls of ours, so that a trace shows them as it shows LangChain's own."""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackManager, CallbackManager
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Call:
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
    def config(self) -> RunnableConfig:
        """The same as a configuration, for `invoke` of what LangChain traces itself."""
        return {
            "run_name": self.run_name,
            "tags": ["crag", self.component],
            "metadata": {"crag_component": self.component, **self.metadata},
        }


def traced(call: Call | None, act: Callable[[], T]) -> T:
    """Return what `act` returns, as a retriever run below the running node.

    Its documents are the result itself, or the result's `documents`. Where nothing listens, or
    `call` is None, nothing is recorded.
    """
    config = _listening()
    if call is None or config is None:
        return act()
    manager = CallbackManager.configure(**_arguments(config, call))
    run = manager.on_retriever_start({}, call.query, name=call.run_name)
    try:
        result = act()
    except BaseException as error:
        run.on_retriever_error(error)
        raise
    run.on_retriever_end(_documents(result))
    return result


async def atraced(call: Call | None, act: Callable[[], Awaitable[T]]) -> T:
    """Return what `traced` does, for an asynchronous `act`."""
    config = _listening()
    if call is None or config is None:
        return await act()
    manager = AsyncCallbackManager.configure(**_arguments(config, call))
    run = await manager.on_retriever_start({}, call.query, name=call.run_name)
    try:
        result = await act()
    except BaseException as error:
        await run.on_retriever_error(error)
        raise
    await run.on_retriever_end(_documents(result))
    return result


def _listening() -> RunnableConfig | None:
    config = ensure_config()
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        return config if callbacks.handlers else None
    return config if callbacks else None


def _arguments(config: RunnableConfig, call: Call) -> dict[str, Any]:
    return {
        "inheritable_callbacks": config.get("callbacks"),
        "inheritable_tags": config.get("tags"),
        "inheritable_metadata": config.get("metadata"),
        "local_tags": call.config["tags"],
        "local_metadata": call.config["metadata"],
    }


def _documents(result: Any) -> Sequence[Document]:
    found: Sequence[Document] = getattr(result, "documents", result)
    return found
