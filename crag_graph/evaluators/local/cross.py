"""The trained cross-encoder of the local evaluator: question and passage read together.

It reads the token vectors that the packaged encoder makes anyway and attends over both texts at
once; only these last layers are its own (as in MacAvaney et al. 2020, arXiv:2004.14255). The
weights come in the package `crag-graph-evaluator`, whose folder is `evaluator-model` in the
repository; its README is the model card. Without the package the evidence alone decides.
"""

import dataclasses
import hashlib
import importlib.util
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crag_graph.errors import ConfigurationError
from crag_graph.evaluators.local.features import Gathered
from crag_graph.evaluators.local.fit import FIT, Judgement, Linear, logistic
from crag_graph.evaluators.local.pairs import Pair, pairs_of, stack
from crag_graph.models.local.running import batches_of_like_length, open_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE = "crag-graph-evaluator"
_MODULE = "crag_graph_evaluator"
_CHECKOUT = Path(__file__).parents[3] / "evaluator-model" / _MODULE
# Padded tokens a batch, so that activations stay in the processor's cache.
_BATCH_TOKENS = 2048


@dataclasses.dataclass(frozen=True, kw_only=True)
class CrossScores:
    """How the cross-encoder's logits and the first judgement become scores.

    Attributes:
        passage: Over (cross-encoder's logit, first judgement's logit): the calibrated logit.
        strip: Over (cross-encoder's logit of the strip, its evidence, the passage's calibrated
            logit).
    """

    passage: Linear
    strip: Linear


class CrossEncoder:
    """The model. Threads may share one.

    Args:
        folder: Where `model.onnx` and `scores.json` are.
        threads: Threads of one inference.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._session: Any = None
        self._scores: CrossScores | None = None

    def judge(self, gathered: Gathered, first: Sequence[Judgement]) -> list[Judgement]:
        """Return the judgement of each passage, made of the cross-encoder's and the first one.

        Raises:
            ConfigurationError: The model's files are damaged, or made for another evidence.
        """
        import numpy as np

        session, scores = self._load()
        pairs: list[Pair] = []
        owners: list[int] = []
        for at, (evidence, judgement) in enumerate(zip(gathered.passages, first, strict=True)):
            if judgement.best < 0:
                continue
            own = np.asarray(judgement.evidence, dtype=np.float64)
            made = list(pairs_of(gathered, evidence, logit=judgement.raw, strips=own))
            pairs.extend(made)
            owners.extend([at] * len(made))
        logits = _run(session, pairs)
        found = list(first)
        for at, judgement in enumerate(first):
            mine = [logits[place] for place, owner in enumerate(owners) if owner == at]
            if mine:
                found[at] = _combine(scores, gathered.passages[at].reading.pieces, judgement, mine)
        return found

    def digest(self) -> str:
        """Return a digest of the model and of how its logits become scores."""
        try:
            return hashlib.sha256((self._folder / "scores.json").read_bytes()).hexdigest()[:12]
        except OSError:
            return "missing"

    def _load(self) -> tuple[Any, CrossScores]:
        if self._session is None or self._scores is None:
            with self._lock:
                if self._session is None or self._scores is None:
                    self._scores, weights = _read(self._folder)
                    self._session = open_session(weights, threads=self._threads)
        return self._session, self._scores


def find_model() -> Path | None:
    """Return the folder of the trained model: the installed package's, else the checkout's."""
    found = importlib.util.find_spec(_MODULE)
    if found is not None and found.origin is not None:
        return Path(found.origin).parent
    return _CHECKOUT if (_CHECKOUT / "model.onnx").is_file() else None


def evidence_hash(path: Path = FIT) -> str:
    """Return the hash of the weights that a cross-encoder's inputs are made with."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(folder: Path) -> tuple[CrossScores, bytes]:
    """Return the scores' weights and the model's bytes, checked against each other.

    Raises:
        ConfigurationError: A file is missing, damaged, or made for another evidence.
    """
    try:
        fields = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
        weights = (folder / "model.onnx").read_bytes()
        scores = CrossScores(
            passage=Linear.of(fields["passage"], ("cross", "first")),
            strip=Linear.of(fields["strip"], ("cross", "evidence", "passage")),
        )
        model, evidence = fields["model_sha256"], fields["evidence_sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"the model of {PACKAGE} in {folder} cannot be read ({type(error).__name__}); "
            "install it again"
        ) from error
    if hashlib.sha256(weights).hexdigest() != model:
        raise ConfigurationError(f"the model of {PACKAGE} in {folder} is damaged; install it again")
    if evidence != evidence_hash():
        raise ConfigurationError(
            f"the model of {PACKAGE} in {folder} was trained for another version of crag-graph; "
            "install the one of the same version"
        )
    return scores, weights


def _run(session: Any, pairs: Sequence[Pair]) -> "list[tuple[float, NDArray[np.float32]]]":
    """Return the logit of each pair and those of its strips; pairs of like length go together."""
    found: dict[int, tuple[float, NDArray[np.float32]]] = {}
    lengths = [len(pair.passage) for pair in pairs]
    for batch in batches_of_like_length(lengths, most_tokens=_BATCH_TOKENS):
        inputs = stack([pairs[place] for place in batch])
        passage, strips = session.run(["passage_logit", "strip_logits"], inputs)
        for row, place in enumerate(batch):
            found[place] = (float(passage[row]), strips[row, : len(pairs[place].owned)])
    return [found[place] for place in range(len(pairs))]


def _combine(
    scores: CrossScores,
    pieces: Sequence[Any],
    first: Judgement,
    windows: "Sequence[tuple[float, NDArray[np.float32]]]",
) -> Judgement:
    import numpy as np

    best_window = max(logit for logit, _ in windows)
    raw = float(scores.passage(np.array([best_window, first.raw])))
    own = np.concatenate([strips for _, strips in windows]).astype(np.float64)
    logits = scores.strip(
        np.stack([own, np.asarray(first.evidence), np.full(len(own), raw)], axis=1)
    )
    found = [
        0.0 if piece.empty else logistic(float(logit))
        for piece, logit in zip(pieces, logits, strict=True)
    ]
    return Judgement(
        score=logistic(raw),
        raw=raw,
        strips=tuple(found),
        evidence=first.evidence,
        best=max(range(len(found)), key=lambda at: (found[at], -at)),
    )
