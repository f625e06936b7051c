"""The collaborators of the graph, given as objects or built from the environment on first use."""

import asyncio
import datetime
import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from langchain_core.retrievers import BaseRetriever

from crag_graph.assembly import (
    load_evaluator,
    load_generator,
    load_local_evaluator,
    load_retriever,
    load_web,
)
from crag_graph.environment import Environment
from crag_graph.evaluators.base import RetrievalEvaluator
from crag_graph.generation.base import Generator
from crag_graph.generation.extractive import ExtractiveGenerator
from crag_graph.lazy import Lazy
from crag_graph.redaction import redact_query
from crag_graph.retrieval.foreign import LangChainRetriever
from crag_graph.retrieval.retriever import Retriever
from crag_graph.search.base import WebSearch
from crag_graph.settings import PROFILES, Profile, Settings, Thresholds
from crag_graph.settings.user_profiles import FOLDER, UserProfiles


def _today() -> datetime.date:
    return datetime.date(*time.localtime()[:3])


class Services:
    """The collaborators that the nodes share. Each may be an object or a `Lazy` that builds it.

    Args:
        retriever: Finds passages: a `Retriever`, or any LangChain retriever.
        evaluator: Grades them; by default the local evaluator.
        generator: Answers; by default the extractive one.
        web: Searches the web; None leaves web search off.
        local_evaluator: Judges web results, and steps in under the outage policy `local`.
        profiles: Threshold profiles by name; by default the built-in ones.
        default_profile: The profile of a run whose settings name none.
        today: The date that "now" means.
        redact_query: Takes out of a web query what may not leave the machine.
        environment: Where they come from; None for collaborators that were all given.
    """

    def __init__(
        self,
        *,
        retriever: Retriever | BaseRetriever | Lazy[Retriever],
        evaluator: RetrievalEvaluator | Lazy[RetrievalEvaluator] | None = None,
        generator: Generator | Lazy[Generator] | None = None,
        web: WebSearch | Lazy[WebSearch | None] | None = None,
        local_evaluator: RetrievalEvaluator | Lazy[RetrievalEvaluator] | None = None,
        profiles: Mapping[str, Profile] = PROFILES,
        default_profile: str | Lazy[str] = "general",
        today: Callable[[], datetime.date] = _today,
        redact_query: Callable[[str], str] = redact_query,
        environment: Lazy[Environment] | None = None,
    ) -> None:
        self.retriever: Lazy[Retriever] = _lazy(_as_retriever(retriever))
        self.local_evaluator: Lazy[RetrievalEvaluator] = _lazy(
            local_evaluator or Lazy(load_local_evaluator)
        )
        self.evaluator: Lazy[RetrievalEvaluator] = _lazy(evaluator or self.local_evaluator)
        self.generator: Lazy[Generator] = _lazy(generator or ExtractiveGenerator())
        self.web: Lazy[WebSearch | None] = _lazy(web)
        self.profiles = profiles
        self.default_profile: Lazy[str] = _lazy(default_profile)
        self.today = today
        self.redact_query = redact_query
        self.environment = environment
        self._thresholds: tuple[Settings | None, Thresholds | None] = (None, None)

    def thresholds(self, settings: Settings) -> Thresholds:
        """Return the thresholds of a run with `settings`.

        Raises:
            ConfigurationError: Its profile does not exist, or its thresholds are impossible.
        """
        known, thresholds = self._thresholds
        if thresholds is None or known is not settings:  # asked by three nodes of every run
            thresholds = settings.thresholds(self.profiles, default=self.default_profile.get())
            self._thresholds = (settings, thresholds)
        return thresholds

    def prepare(self, settings: Settings, *, anew: bool = False) -> None:
        """Have the profile of a run at hand, so that `thresholds` reads no file.

        Args:
            settings: Those of the run.
            anew: Look whether the profile's file has changed, as at the beginning of a run.

        Raises:
            ConfigurationError: Its profile does not exist or is damaged.
        """
        profiles = self.profiles
        if not isinstance(profiles, UserProfiles):
            return
        name = settings.profile or self.default_profile.get()
        if profiles.is_loaded(name) and not anew:
            return
        if profiles.refresh(name):
            self._thresholds = (None, None)
        self.thresholds(settings)  # an unknown name is told here, where files may be listed

    async def aprepare(self, settings: Settings, *, anew: bool = False) -> None:
        """Do what `prepare` does; what reads files does so in a thread."""
        if isinstance(self.profiles, UserProfiles):
            name = settings.profile or await self.default_profile.aget()
            if name not in PROFILES and (anew or not self.profiles.is_loaded(name)):
                await asyncio.to_thread(self.prepare, settings, anew=anew)

    @classmethod
    def from_env(
        cls,
        variables: Mapping[str, str] | Environment | None = None,
        *,
        collection: str | None = None,
        **given: Any,
    ) -> Self:
        """Return the services that the environment names; nothing is read before it is needed.

        Args:
            variables: The environment; by default that of the process, at first use.
            collection: The collection to ask, in place of `CRAG_COLLECTION`.
            given: Collaborators of your own, by their names in `Services`.
        """
        environment = Lazy(lambda: _read(variables, collection))
        built: dict[str, Any] = {
            "retriever": Lazy(lambda: load_retriever(environment.get())),
            "local_evaluator": Lazy(load_local_evaluator),
            "generator": Lazy(lambda: load_generator(environment.get())),
            "web": Lazy(lambda: load_web(environment.get())),
            "profiles": UserProfiles(Lazy(lambda: environment.get().home / FOLDER)),
            "default_profile": Lazy(lambda: environment.get().profile),
            "environment": environment,
        }
        services = cls(**(built | given))
        if "evaluator" not in given:
            local = services.local_evaluator
            services.evaluator = Lazy(
                lambda: load_evaluator(environment.get(), local, thresholds=services.thresholds)
            )
        return services

    def close(self) -> None:
        """Let go of the store, where one was opened. Closing twice does nothing."""
        if self.retriever.ready:
            close = getattr(self.retriever.get(), "close", None)
            if close is not None:
                close()


@functools.cache
def shared_services() -> Services:
    """Return the services of this process's environment, the same for every graph in it.

    Graphs that are served side by side thus share one open store and one loaded model.
    """
    return Services.from_env()


def _lazy(value: Any) -> Any:
    return value if isinstance(value, Lazy) else Lazy.of(value)


def _as_retriever(retriever: Any) -> Any:
    if isinstance(retriever, Lazy | Retriever):
        return retriever
    return LangChainRetriever(retriever)


def _read(variables: Mapping[str, str] | Environment | None, collection: str | None) -> Environment:
    environment = variables if isinstance(variables, Environment) else Environment.read(variables)
    return environment.with_collection(collection) if collection else environment
