"""What the environment says: addresses, keys, choices of collaborators. Blank means unset."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

DEFAULT_CHAT_MODEL = "openai:gpt-4o-mini"
DEFAULT_COLLECTION = "default"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Environment:
    """The variables that the package reads, by the names that the README gives them.

    Attributes:
        home: `CRAG_HOME`, the data folder; by default the platform's user data folder.
        collection: `CRAG_COLLECTION`, the collection that is asked and filled by default.
        chat_model: `CRAG_CHAT_MODEL` as `provider:model`; with `OPENAI_API_KEY` alone
            `openai:gpt-4o-mini`; else empty: no language model.
        evaluator_model: `CRAG_EVALUATOR_MODEL`, by the same rule.
        evaluator: `CRAG_EVALUATOR`, by default `auto`.
        cache: `CRAG_CACHE`, where grades are kept, by default `off`; may hold a password.
        embeddings: `CRAG_EMBEDDINGS`, by default `local`.
        qdrant_url: `QDRANT_URL`; empty: the embedded store.
        qdrant_api_key: `QDRANT_API_KEY`.
        web_search: `CRAG_WEB_SEARCH` as names in order of preference; by default `tavily` when
            `TAVILY_API_KEY` is set, else none.
        profile: `CRAG_PROFILE`, by default `general`.
        variables: All of the environment, for the variables that providers define.
    """

    home: Path
    collection: str = DEFAULT_COLLECTION
    chat_model: str = ""
    evaluator_model: str = ""
    evaluator: str = "auto"
    cache: str = dataclasses.field(default="off", repr=False)
    embeddings: str = "local"
    qdrant_url: str = dataclasses.field(default="", repr=False)
    qdrant_api_key: str = dataclasses.field(default="", repr=False)
    web_search: tuple[str, ...] = ()
    profile: str = "general"
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, variables: Mapping[str, str] | None = None) -> Self:
        """Return what `variables` say, by default those of the process."""
        given = {
            name: value.strip()
            for name, value in (os.environ if variables is None else variables).items()
            if value.strip()
        }
        default_model = DEFAULT_CHAT_MODEL if "OPENAI_API_KEY" in given else ""
        chat_model = given.get("CRAG_CHAT_MODEL", default_model)
        default_web = "tavily" if "TAVILY_API_KEY" in given else ""
        web = given.get("CRAG_WEB_SEARCH", default_web).lower().split(",")
        return cls(
            home=_home(given),
            collection=given.get("CRAG_COLLECTION", DEFAULT_COLLECTION),
            chat_model=chat_model,
            evaluator_model=given.get("CRAG_EVALUATOR_MODEL", chat_model),
            evaluator=given.get("CRAG_EVALUATOR", "auto"),
            cache=given.get("CRAG_CACHE", "off"),
            embeddings=given.get("CRAG_EMBEDDINGS", "local"),
            qdrant_url=given.get("QDRANT_URL", ""),
            qdrant_api_key=given.get("QDRANT_API_KEY", ""),
            web_search=tuple(name.strip() for name in web if name.strip() not in ("", "off")),
            profile=given.get("CRAG_PROFILE", "general"),
            variables=given,
        )

    def with_collection(self, collection: str) -> Self:
        """Return the same with another collection."""
        return dataclasses.replace(self, collection=collection)


def _home(given: Mapping[str, str]) -> Path:
    if "CRAG_HOME" in given:
        return Path(given["CRAG_HOME"]).expanduser()
    import platformdirs  # only needed where no folder is given

    return Path(platformdirs.user_data_dir("crag-graph", appauthor=False))
