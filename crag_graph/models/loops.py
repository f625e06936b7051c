"""Keeping pooled connections apart that belong to different event loops.

The OpenAI client pools connections per address for the whole process. After a second `asyncio.run`
it would send a request through a connection of the first, closed loop: the request is paid for and
its answer can never be read. So each further loop gets a client of its own.
"""

import asyncio
import weakref
from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel

_Loop = asyncio.AbstractEventLoop
# The loop that used a connection pool first; only that one may use it.
_OWNERS: "weakref.WeakKeyDictionary[Any, weakref.ref[_Loop]]" = weakref.WeakKeyDictionary()


class PerLoop:
    """A chat model, and its copies for the event loops that may not share its connections.

    Attributes:
        model: What is called outside of an event loop, and on the first one.
    """

    def __init__(
        self, model: BaseChatModel, *, wrap: Callable[[BaseChatModel], BaseChatModel] | None = None
    ) -> None:
        self._inner = model
        self._wrap = wrap or (lambda inner: inner)
        self.model = self._wrap(model)
        self._copies: weakref.WeakKeyDictionary[_Loop, BaseChatModel] = weakref.WeakKeyDictionary()

    async def get(self) -> BaseChatModel:
        """Return the model to use on the running loop; the same one whenever it is asked."""
        loop = asyncio.get_running_loop()
        if copy := self._copies.get(loop):
            return copy
        if _own(_pool(self._inner), loop):
            return self.model
        # A new client reads certificates from disk.
        copy = await asyncio.to_thread(_with_own_connections, self._inner)
        return self._copies.setdefault(loop, self._wrap(copy))


def _pool(model: BaseChatModel) -> Any:
    """Return the object that pools the connections of an OpenAI-compatible client, else None."""
    if getattr(model, "http_async_client", None) is not None:
        return None  # given by the user, whose business its loop is
    return getattr(getattr(model, "root_async_client", None), "_client", None)


def _own(pool: Any, loop: _Loop) -> bool:
    if pool is None:
        return True
    owner = _OWNERS.get(pool)
    if owner is None:
        _OWNERS[pool] = weakref.ref(loop)
        return True
    return owner() is loop


def _with_own_connections(model: BaseChatModel) -> BaseChatModel:
    from openai import DefaultAsyncHttpxClient

    client: Any = getattr(model, "root_async_client", None)
    fresh = client.copy(http_client=DefaultAsyncHttpxClient())
    return model.model_copy(
        update={"root_async_client": fresh, "async_client": fresh.chat.completions}
    )
