"""Any cross-encoder in ONNX form, from a local folder, on the processor."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crag_graph.errors import ConfigurationError, EvaluationError
from crag_graph.models.local.running import batches_of_like_length, open_session, processors
from crag_graph.models.scorers.base import InProcess
from crag_graph.models.scorers.folder import Facts, content_hash
from crag_graph.models.scorers.heads import log_odds, positive_label

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

# In the order of preference; exporters put them into the folder itself or below `onnx`.
_MODELS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
# Padded tokens a batch: as for the encoder, activations that fit the processor's cache are fastest.
_BATCH_TOKENS = 2048
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxScorer(InProcess):
    """A cross-encoder of one, two or more labels; a score is the log-odds of an answer.

    The folder holds `model.onnx` and `tokenizer.json`; `config.json` and `tokenizer_config.json`
    name labels and length where they are there, and `scorer.toml` overrides both. The logistic of
    a score is the sigmoid of a head with one label, the softmax of one with several.

    Args:
        folder: The folder.
        threads: Threads of one inference; None takes the processors that this process may use, at
            most 8.
    """

    most_texts = 512

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ConfigurationError(f"threads must be at least 1, not {threads}")
        self.folder = folder
        self._file = onnx_file(folder)
        if self._file is None:
            raise ConfigurationError(f"{folder} holds no model.onnx")
        if not (folder / "tokenizer.json").is_file():
            raise ConfigurationError(f"{folder} holds no tokenizer.json beside its model.onnx")
        self._facts = Facts.read(folder)
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: tuple[int, Any, Tokenizer] | None = None
        self._inherited: list[Any] = []
        self._padding = 0
        self._hash = ""
        self.name = f"cross-encoder:{folder.resolve().name}"
        self.scale = self._facts.scale
        self.max_tokens = self._facts.max_tokens

    def fingerprint(self) -> str:
        """Return a hash of the folder's files, and the scale."""
        self._hash = self._hash or content_hash(self.folder)
        return f"onnx:{self._hash}:{self.scale}"

    def count_tokens(self, text: str) -> int:
        """Return how many tokens `text` takes, without marks around it."""
        return len(self._load()[1].encode(_plain(text), add_special_tokens=False).ids)

    def score(
        self,
        question: str,
        texts: Sequence[str],
        *,
        seconds: float | None = None,  # noqa: ARG002  # of the Protocol; nothing is waited for here
    ) -> list[float | None]:
        """Return the raw score of each text, computed in batches of like length."""
        session, tokenizer = self._load()
        pairs = [self._pair(tokenizer, question, text) for text in texts]
        scores: list[float | None] = [None] * len(pairs)
        lengths = [len(pair.ids) for pair in pairs]
        for rows in batches_of_like_length(lengths, most_tokens=_BATCH_TOKENS):
            outputs = self._run(session, [pairs[row] for row in rows])
            for row, output in zip(rows, outputs, strict=True):
                scores[row] = self._raw(output)
        return scores

    def _raw(self, output: Sequence[float]) -> float | None:
        positive = positive_label(self._facts.labels, len(output), wanted=self._facts.label)
        # A graph that ends in its own activation says so in scorer.toml: there is no logit then.
        return log_odds(output if self.scale.name == "logit" else [output[positive]], positive)

    def _pair(self, tokenizer: "Tokenizer", question: str, text: str) -> "Encoding":
        """Return the pair as tokens, the text cut at its end where both are too long."""
        question, text = _plain(question), _plain(text)
        pair = tokenizer.encode(question, text)
        while len(pair.ids) > self.max_tokens and (question or text):
            places = [at for at, part in enumerate(pair.sequence_ids) if part == 1]
            kept = len(places) - (len(pair.ids) - self.max_tokens)
            if kept > 0:
                end = pair.offsets[places[kept - 1]][1]
                text = text[: min(end, len(text) - 1)]
            else:
                question, text = question[: len(question) // 2], text[:1]
            pair = tokenizer.encode(question, text)
        return pair

    def _run(self, session: Any, pairs: Sequence["Encoding"]) -> list[list[float]]:
        import numpy as np

        width = max(len(pair.ids) for pair in pairs)
        fed = {}
        for wanted in session.get_inputs():
            kind = np.int32 if "int32" in wanted.type else np.int64
            filler = self._padding if wanted.name == "input_ids" else 0
            fed[wanted.name] = np.full((len(pairs), width), filler, dtype=kind)
            for row, pair in enumerate(pairs):
                fed[wanted.name][row, : len(pair.ids)] = _values(pair, wanted.name)
        try:
            output = session.run(None, fed)[_logits(session)]
        except Exception as error:
            raise EvaluationError(
                f"the model in {self.folder} cannot be run ({_first_line(error)})", reason="request"
            ) from error
        if output.shape[:1] != (len(pairs),):
            raise EvaluationError(
                f"the model in {self.folder} gives {output.shape} for {len(pairs)} pairs: it is no "
                "cross-encoder",
                reason="parse",
            )
        rows: list[list[float]] = output.reshape(len(pairs), -1).astype(float).tolist()
        return rows

    def _load(self) -> tuple[Any, "Tokenizer"]:
        loaded = self._loaded
        # A forked child has none of onnxruntime's threads: it loads the model anew.
        if loaded is None or loaded[0] != os.getpid():
            with self._lock:
                loaded = self._loaded
                if loaded is None or loaded[0] != os.getpid():
                    self._inherited.append(loaded)
                    loaded = (os.getpid(), self._session(), self._tokenizer())
                    self._loaded = loaded
        return loaded[1], loaded[2]

    def _session(self) -> Any:
        threads = self._threads or processors()
        try:
            session = open_session(str(self._file), threads=threads)
        except Exception as error:
            raise ConfigurationError(
                f"{self._file} cannot be loaded ({_first_line(error)})"
            ) from error
        unknown = [each.name for each in session.get_inputs() if each.name not in _INPUTS]
        if unknown:
            raise ConfigurationError(
                f"{self._file} wants the input {unknown[0]}: it reads no text pairs"
            )
        return session

    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        path = self.folder / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:
            raise ConfigurationError(f"{path} cannot be read ({_first_line(error)})") from error
        padding = tokenizer.padding or {}
        self._padding = int(padding.get("pad_id") or tokenizer.token_to_id("<pad>") or 0)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


def onnx_file(folder: Path) -> Path | None:
    """Return the ONNX file of a model's folder; None where it holds none."""
    return next((folder / name for name in _MODELS if (folder / name).is_file()), None)


def _plain(text: str) -> str:
    """Return `text` with lone surrogates, which the tokenizer refuses, as question marks."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _values(pair: "Encoding", name: str) -> list[int]:
    if name == "input_ids":
        return pair.ids
    return pair.attention_mask if name == "attention_mask" else pair.type_ids


def _logits(session: Any) -> int:
    names = [output.name for output in session.get_outputs()]
    return names.index("logits") if "logits" in names else 0


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
