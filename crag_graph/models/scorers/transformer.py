"""Any sentence-transformers cross-encoder, by its name on the hub or from a folder."""

import importlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crag_graph.errors import ConfigurationError, EvaluationError
from crag_graph.models.scorers.base import InProcess, ScoreScale
from crag_graph.models.scorers.folder import content_hash, read_facts
from crag_graph.models.scorers.heads import log_odds, positive_label

_BATCH = 32
_DEFAULT_TOKENS = 512


class SentenceTransformerScorer(InProcess):
    """A `CrossEncoder` of sentence-transformers; a score is the log-odds of an answer.

    That library finds and loads the model. Its activation is left out: the logistic of a score is
    the sigmoid of a head with one label, the softmax of one with several. From a folder,
    `scorer.toml` is read as for `OnnxScorer`.

    Args:
        model: A name such as `cross-encoder/ms-marco-MiniLM-L6-v2`, or a folder.

    Raises:
        ConfigurationError: There is no such folder, or the library is not installed.
    """

    most_texts = 512

    def __init__(self, model: str) -> None:
        # The folder first: nobody should install a gigabyte to read of a typing error.
        self._folder, self._facts = read_facts(model)
        try:
            library = importlib.import_module("sentence_transformers")
        except ImportError as error:
            raise ConfigurationError(
                f"the cross-encoder {model} needs sentence-transformers: "
                "pip install 'crag-graph[cross-encoder]'"
            ) from error
        self._class = library.CrossEncoder
        self._version = str(getattr(library, "__version__", ""))
        self._model_name = model
        self._model: Any = None
        self._lock = threading.Lock()
        self._hash = ""
        self.name = f"cross-encoder:{Path(model).name}"
        self.scale = self._facts.scale if self._facts else ScoreScale()

    @property
    def max_tokens(self) -> int:
        """How long question and text may be together."""
        named = getattr(self._load(), "max_length", None)
        limits = [named, self._facts.max_tokens if self._facts else None]
        known = [limit for limit in limits if isinstance(limit, int) and 8 <= limit < 100_000]
        return min(known, default=_DEFAULT_TOKENS)

    def fingerprint(self) -> str:
        """Return the model's name with its revision, or a hash of its folder, and the scale."""
        if not self._hash:
            revision = getattr(getattr(self._load(), "config", None), "_commit_hash", None)
            known = content_hash(self._folder) if self._folder else f"{self._model_name}@{revision}"
            self._hash = known
        return f"sentence-transformers {self._version}:{self._hash}:{self.scale}"

    def count_tokens(self, text: str) -> int:
        """Return how many tokens `text` takes, without marks around it."""
        tokenizer = self._load().tokenizer
        with self._lock:
            return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def score(
        self,
        question: str,
        texts: Sequence[str],
        *,
        seconds: float | None = None,  # noqa: ARG002  # of the Protocol; nothing is waited for here
    ) -> list[float | None]:
        """Return the raw score of each text; the library sorts them by length."""
        model = self._load()
        if not texts:
            return []
        try:
            with self._lock:  # tokenizers of transformers may not be shared by threads
                outputs = model.predict(
                    [(question, text) for text in texts],
                    batch_size=_BATCH,
                    show_progress_bar=False,
                    activation_fn=importlib.import_module("torch.nn").Identity(),
                    convert_to_numpy=True,
                )
        except Exception as error:
            raise EvaluationError(
                f"the cross-encoder {self._model_name} cannot be run ({_line(error)})",
                reason="request",
            ) from error
        return [self._raw(row) for row in outputs.reshape(len(texts), -1).tolist()]

    def _raw(self, output: Sequence[float]) -> float | None:
        labels = self._facts.labels if self._facts else self._labels()
        wanted = self._facts.label if self._facts else ""
        return log_odds(output, positive_label(labels, len(output), wanted=wanted))

    def _labels(self) -> dict[int, str]:
        config = getattr(self._load(), "config", None)
        return dict(getattr(config, "id2label", None) or {})

    def _load(self) -> Any:
        if self._model is None:
            with self._lock:
                if self._model is None:
                    try:
                        self._model = self._class(str(self._folder or self._model_name))
                    except Exception as error:
                        raise ConfigurationError(
                            f"the cross-encoder {self._model_name} cannot be loaded "
                            f"({_line(error)})"
                        ) from error
        return self._model


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
