"""The paper's retrieval evaluator: a T5 fine-tuned to say −1…1 for a question and a passage."""

import importlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from crag_graph.errors import ConfigurationError, EvaluationError
from crag_graph.models.scorers.base import InProcess, ScoreScale, finite
from crag_graph.models.scorers.folder import content_hash, read_facts

_MAX_TOKENS = 512  # what the released evaluator was trained and is run with
_BATCH = 16
_SEPARATOR = " [SEP] "


class T5Scorer(InProcess):
    """A `T5ForSequenceClassification` with one output; a score is on −1…1.

    The input is `question [SEP] passage` as plain text, as in the code that the authors of the
    paper released (github.com/HuskyInSalt/CRAG, scripts/CRAG_Inference.py; Yan et al. 2024,
    arXiv:2401.15884, section 4.2). Nothing but the name is told to the library, which finds and
    loads the model.

    Args:
        model: A folder with a fine-tuned model, or its name on the hub.

    Raises:
        ConfigurationError: There is no such folder, or the libraries are not installed.
    """

    most_texts = 512
    max_tokens = _MAX_TOKENS

    def __init__(self, model: str) -> None:
        # The folder first: nobody should install a gigabyte to read of a typing error.
        self._folder, facts = read_facts(model, scale="signed")
        try:
            self._torch = importlib.import_module("torch")
            self._library = importlib.import_module("transformers")
        except ImportError as error:
            raise ConfigurationError(
                f"the T5 evaluator {model} needs transformers and torch: "
                "pip install 'crag-graph[t5]'"
            ) from error
        self._model_name = model
        self._loaded: tuple[Any, Any] | None = None
        self._lock = threading.Lock()
        self._hash = ""
        self.name = f"t5:{Path(model).name}"
        self.scale = ScoreScale(name="signed")
        if facts:
            self.scale, self.max_tokens = facts.scale, min(facts.max_tokens, _MAX_TOKENS)

    def fingerprint(self) -> str:
        """Return the model's name with its revision, or a hash of its folder, and the scale."""
        if not self._hash:
            revision = getattr(self._load()[1].config, "_commit_hash", None)
            known = content_hash(self._folder) if self._folder else f"{self._model_name}@{revision}"
            self._hash = known
        return f"t5 {self._library.__version__}:{self._hash}:{self.scale}"

    def count_tokens(self, text: str) -> int:
        """Return how many tokens `text` takes, without the mark at its end."""
        tokenizer = self._load()[0]
        with self._lock:
            return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def score(
        self,
        question: str,
        texts: Sequence[str],
        *,
        seconds: float | None = None,  # noqa: ARG002  # of the Protocol; nothing is waited for here
    ) -> list[float | None]:
        """Return the raw score of each text, computed in batches of like length."""
        tokenizer, model = self._load()
        scores: list[float | None] = [None] * len(texts)
        for rows in _batches(texts):
            inputs = [_one_line(f"{question}{_SEPARATOR}{texts[row]}") for row in rows]
            try:
                with self._lock, self._torch.inference_mode():
                    tokens = tokenizer(
                        inputs,
                        return_tensors="pt",
                        padding=True,
                        truncation=True,
                        max_length=self.max_tokens,
                    )
                    logits = model(
                        input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]
                    ).logits
            except Exception as error:
                raise EvaluationError(
                    f"the T5 evaluator {self._model_name} cannot be run ({_line(error)})",
                    reason="request",
                ) from error
            for row, output in zip(rows, logits.float().tolist(), strict=True):
                scores[row] = finite(output[0])
        return scores

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._read()
        return self._loaded

    def _read(self) -> tuple[Any, Any]:
        where = str(self._folder or self._model_name)
        try:
            tokenizer = self._library.AutoTokenizer.from_pretrained(where)
            kind = self._library.T5ForSequenceClassification
            model = kind.from_pretrained(where, num_labels=1)
        except Exception as error:
            raise ConfigurationError(
                f"the T5 evaluator {self._model_name} cannot be loaded ({_line(error)})"
            ) from error
        model.eval()
        return tokenizer, model


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield indices, texts of like length together."""
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    for start in range(0, len(order), _BATCH):
        yield order[start : start + _BATCH]


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
