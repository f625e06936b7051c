"""What `crag doctor` looks at: each component, whether it works, and what to do about it."""

import dataclasses
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from crag_graph.environment import Environment
from crag_graph.errors import (
    CollectionNotFoundError,
    CRAGError,
    StoreLockedError,
)
from crag_graph.redaction import redact
from crag_graph.wording import counted

State = Literal["ok", "off", "problem"]

_PACKAGES = ("crag-graph", "langgraph", "langchain-core", "qdrant-client", "qdrant-edge-py")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """One component.

    Attributes:
        name: What it is.
        state: `ok`, `off` (not configured, and not needed) or `problem`.
        detail: What was found.
        todo: The one thing to do about it; empty when it is ok.
    """

    name: str
    state: State
    detail: str
    todo: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scope:
    """What is checked, and whether hosted models may be asked."""

    environment: Environment
    online: bool


Found = tuple[State, str] | tuple[State, str, str]
"""State, detail, and what to do."""


def run_checks(environment: Environment, *, online: bool = False) -> Iterator[Check]:
    """Yield a check for each component that `environment` names, one after the other.

    Args:
        environment: What is configured.
        online: Also send one small request to each hosted model.
    """
    checks: list[tuple[str, Callable[[Scope], Found], str]] = [
        ("versions", _versions, "install crag-graph anew"),
        ("home folder", _home, "set CRAG_HOME to a folder that you may write to"),
        ("profile", _profile, "set CRAG_PROFILE to a profile that exists, or unset it"),
        ("embeddings", _embeddings, "set CRAG_EMBEDDINGS to local, or mend what it names"),
        ("collection", _collection, "run `crag ingest PATH`, or set CRAG_COLLECTION"),
        ("chat model", _chat_model, "mend CRAG_CHAT_MODEL or its key, or unset both"),
        ("evaluator", _evaluator, "set CRAG_EVALUATOR to local, or mend what it names"),
        ("cache", _cache, "set CRAG_CACHE to memory or off, or mend what it names"),
        ("web search", _web_search, "mend CRAG_WEB_SEARCH or the provider's key"),
    ]
    scope = Scope(environment=environment, online=online)
    for name, check, todo in checks:
        yield _checked(name, check, scope, todo=todo)


def _checked(
    name: str,
    check: Callable[[Scope], Found],
    scope: Scope,
    *,
    todo: str,
) -> Check:
    try:
        state, detail, *own = check(scope)
    except CRAGError as error:
        state, detail, own = "problem", error.message, []
    except Exception as error:  # noqa: BLE001 - whatever a component raises is its diagnosis
        what = " ".join(str(error).split()) or "no message"
        state, detail, own = "problem", f"{type(error).__name__}: {what}", []
    advice = own[0] if own else ("" if state == "ok" else todo)
    return Check(name=name, state=state, detail=redact(detail), todo=redact(advice))


def _versions(scope: Scope) -> Found:
    del scope
    found = [f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            return "problem", f"{package} is not installed"
    return "ok", ", ".join(found)


def _home(scope: Scope) -> Found:
    from crag_graph.retrieval.edge.disk import WRITE_BYTES

    home = scope.environment.home
    place = next((path for path in (home, *home.parents) if path.exists()), Path.cwd())
    if not place.is_dir():
        return "problem", f"{place} is a file, not a folder"
    if not os.access(place, os.W_OK | os.X_OK):
        return "problem", f"{place} must not be written by this user"
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        return "problem", f"{place} cannot be written ({error.strerror})"
    free = shutil.disk_usage(place).free
    detail = f"{home}, {free / 2**30:,.1f} GiB free"
    if free < WRITE_BYTES:
        return "problem", detail, "free some space: ingestion needs 256 MiB, and room for its data"
    return "ok", detail if place == home else f"{detail}, made at the first ingestion"


def _profile(scope: Scope) -> Found:
    from crag_graph.services import Services
    from crag_graph.settings import Settings

    thresholds = Services.from_env(scope.environment).thresholds(Settings())
    bars = f"lower {thresholds.lower:.2f}, upper {thresholds.upper:.2f}"
    return "ok", f"{thresholds.profile}: {bars} ({thresholds.provenance})"


def _embeddings(scope: Scope) -> Found:
    from crag_graph.assembly import load_embeddings

    embeddings = load_embeddings(scope.environment)
    if scope.environment.embeddings != "local" and not scope.online:
        return "ok", f"{embeddings.name}, not asked (crag doctor --online asks)"
    vector = embeddings.embed_query("Which valve closes first?")
    return "ok", f"{embeddings.name}, {len(vector)} components"


def _collection(scope: Scope) -> Found:
    from crag_graph.assembly import load_embeddings, load_index

    where = "Qdrant server" if scope.environment.qdrant_url else "embedded store"
    name = repr(scope.environment.collection)
    try:
        index = load_index(scope.environment)
    except CollectionNotFoundError:
        return "off", f"{where}: there is no collection {name} yet", "run `crag ingest PATH`"
    except StoreLockedError:
        return "ok", f"{where}: collection {name} is in use by another process"
    try:
        count = index.count()
    finally:
        index.close()
    known = load_embeddings(scope.environment).name
    if index.schema.embedding_model not in ("", known):
        made = index.schema.embedding_model
        detail = f"{where}: {name} was made with {made}, but CRAG_EMBEDDINGS names {known}"
        return "problem", detail, "set CRAG_EMBEDDINGS to its model, or ingest into another one"
    if not count:
        return "off", f"{where}: collection {name} is empty", "run `crag ingest PATH`"
    return "ok", f"{where}: collection {name}, {counted(count, 'chunk')}"


def _chat_model(scope: Scope) -> Found:
    if not scope.environment.chat_model:
        hint = "set OPENAI_API_KEY or CRAG_CHAT_MODEL to have answers written"
        return "off", "none: answers quote the documents", hint
    from crag_graph.models.chat import load_chat_model

    model = load_chat_model(
        scope.environment.chat_model, role="chat", environ=scope.environment.variables
    )
    if not scope.online:
        return "ok", f"{scope.environment.chat_model}, not asked (crag doctor --online asks)"
    from crag_graph.cli.evaluator_checks import ask

    ask(model)
    return "ok", f"{scope.environment.chat_model} answers"


def _evaluator(scope: Scope) -> Found:
    from crag_graph.cli.evaluator_checks import tell_evaluator

    return "ok", tell_evaluator(scope.environment, online=scope.online)


def _cache(scope: Scope) -> Found:
    from crag_graph.cli.evaluator_checks import tell_cache

    told = tell_cache(scope.environment)
    if not told:
        return "off", "grades are not kept", "set CRAG_CACHE=sqlite to ask no model twice"
    return "ok", told


def _web_search(scope: Scope) -> Found:
    from crag_graph.services import Services

    web = Services.from_env(scope.environment).web.get()
    if web is None:
        return "off", "no provider", "set CRAG_WEB_SEARCH or TAVILY_API_KEY to search the web"
    return "ok", f"{web.name}, not asked"
