"""Building each collaborator from what the environment names, on first use."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from crag_graph.environment import Environment
from crag_graph.errors import ConfigurationError
from crag_graph.evaluators.base import RetrievalEvaluator
from crag_graph.generation.base import Generator
from crag_graph.generation.extractive import ExtractiveGenerator
from crag_graph.lazy import Lazy
from crag_graph.models.embeddings import NamedEmbeddings
from crag_graph.retrieval.index import VectorIndex
from crag_graph.retrieval.retriever import Retriever
from crag_graph.search.base import WebSearch
from crag_graph.settings import Settings, Thresholds

if TYPE_CHECKING:
    from crag_graph.evaluators.cached.store import GradeStore

SCORERS = ("cross-encoder", "t5", "rerank")
EVALUATORS = (
    "auto",
    "llm",
    "local",
    "cascade",
    "cascade:FIRST",
    "cross-encoder:NAME_OR_FOLDER",
    "t5:NAME_OR_FOLDER",
    "rerank:MODEL",
)
"""What `CRAG_EVALUATOR` may say."""


def load_embeddings(environment: Environment) -> NamedEmbeddings:
    """Return the embeddings that `environment` names."""
    from crag_graph.models.embeddings import load_embeddings as load

    return load(environment.embeddings)


def load_index(environment: Environment) -> VectorIndex:
    """Return the collection that `environment` names, opened for asking.

    Raises:
        StoreError: It does not exist, is locked, damaged, or cannot be reached.
    """
    from crag_graph.retrieval.store import open_index

    return open_index(
        home=environment.home,
        collection=environment.collection,
        url=environment.qdrant_url or None,
        api_key=environment.qdrant_api_key or None,
    )


def load_retriever(environment: Environment) -> Retriever:
    """Return hybrid retrieval over the collection that `environment` names."""
    from crag_graph.retrieval.retriever import HybridRetriever

    embeddings = load_embeddings(environment)
    return HybridRetriever(embeddings=embeddings, index=load_index(environment))


def load_local_evaluator() -> RetrievalEvaluator:
    """Return the evaluator that needs no language model."""
    from crag_graph.evaluators.local import LocalEvaluator

    return LocalEvaluator()


def load_evaluator(
    environment: Environment,
    local: Lazy[RetrievalEvaluator],
    *,
    thresholds: Callable[[Settings], Thresholds] = Settings.thresholds,
) -> RetrievalEvaluator:
    """Return the evaluator that `environment` names; `auto` is `llm` where a model is configured.

    What is asked of a model or a reranker is cached where `CRAG_CACHE` says so; the local evaluator
    is about as fast as a cache.

    Args:
        environment: Names it.
        local: The local evaluator.
        thresholds: Returns the thresholds of a run, between which a cascade asks a model.

    Raises:
        ConfigurationError: There is no such evaluator, or no model for it.
    """
    name = environment.evaluator
    if name == "auto":
        name = "llm" if environment.evaluator_model else "local"
    store = load_grade_store(environment)

    def one(each: str) -> RetrievalEvaluator:
        if each == "local":
            return local.get()
        made = _llm_evaluator(environment) if each == "llm" else load_scoring(each, environment)
        if store is None:
            return made
        from crag_graph.evaluators.cached import cached

        return cached(made, store)

    kind, _, first = name.partition(":")
    if kind != "cascade":
        return one(name)
    if first == "llm":
        raise ConfigurationError("CRAG_EVALUATOR: a cascade's first evaluator must not be llm")
    from crag_graph.evaluators.cascade import CascadeEvaluator

    return CascadeEvaluator(one(first or "local"), one("llm"), thresholds=thresholds)


def load_grade_store(environment: Environment) -> "GradeStore | None":
    """Return the store of cached grades that `environment` names; None where there is none.

    Raises:
        ConfigurationError: There is no such cache, or what it needs is not installed.
    """
    if environment.cache == "off":
        return None
    from crag_graph.evaluators.cached.store import grade_store

    return grade_store(environment.cache, home=environment.home)


def load_scoring(name: str, environment: Environment) -> RetrievalEvaluator:
    """Return the evaluator over the pair scorer that `name` means.

    Args:
        name: `cross-encoder:NAME_OR_FOLDER`, `t5:NAME_OR_FOLDER` or `rerank:MODEL`.
        environment: Names address and key of a hosted one.

    Raises:
        ConfigurationError: There is no such scorer, or what it needs is missing.
    """
    from crag_graph.evaluators.cross_encoder import ScoringEvaluator
    from crag_graph.models.scorers.loading import load_scorer

    kind, _, model = name.partition(":")
    if kind not in SCORERS:
        known = ", ".join(EVALUATORS)
        raise ConfigurationError(f"CRAG_EVALUATOR: there is no {name!r}; there are {known}")
    scorer = load_scorer(kind, model.strip(), environment.variables)
    return ScoringEvaluator(scorer, titles=kind != "t5")


def load_generator(environment: Environment) -> Generator:
    """Return the generator: the chat model that `environment` names, else the extractive one."""
    if not environment.chat_model:
        return ExtractiveGenerator()
    from crag_graph.generation.llm import LLMGenerator
    from crag_graph.models.chat import FALLBACK_VARIABLES, load_chat_model
    from crag_graph.prompting import Prompts

    variables = environment.variables
    fallback = variables.get(FALLBACK_VARIABLES["chat"])
    return LLMGenerator(
        load_chat_model(environment.chat_model, role="chat", environ=variables),
        fallback=load_chat_model(fallback, role="chat", environ=variables) if fallback else None,
        prompts=Prompts.from_env(variables),
    )


def load_web(environment: Environment) -> WebSearch | None:
    """Return the web search that `environment` names; None when it names none."""
    from crag_graph.search.providers import build_web_search

    return build_web_search(environment)


def _llm_evaluator(environment: Environment) -> RetrievalEvaluator:
    from crag_graph.evaluators.llm import LLMEvaluator
    from crag_graph.models.chat import FALLBACK_VARIABLES, load_chat_model
    from crag_graph.prompting import Prompts

    if not environment.evaluator_model:
        raise ConfigurationError(
            f"CRAG_EVALUATOR is {environment.evaluator.partition(':')[0]}, but no model is "
            "configured: set CRAG_EVALUATOR_MODEL, CRAG_CHAT_MODEL or OPENAI_API_KEY"
        )
    variables = environment.variables
    fallback = variables.get(FALLBACK_VARIABLES["evaluator"])
    return LLMEvaluator(
        load_chat_model(environment.evaluator_model, role="evaluator", environ=variables),
        fallback=load_chat_model(fallback, role="evaluator", environ=variables)
        if fallback
        else None,
        prompts=Prompts.from_env(variables),
    )
