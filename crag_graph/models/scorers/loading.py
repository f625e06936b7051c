"""From what `CRAG_EVALUATOR` says to a pair scorer."""

from collections.abc import Mapping

from crag_graph.errors import ConfigurationError
from crag_graph.models.scorers.base import PairScorer


def load_scorer(kind: str, model: str, variables: Mapping[str, str]) -> PairScorer:
    """Return the scorer; nothing of a model is read before it is asked, and nothing is sent.

    Args:
        kind: `cross-encoder`, `t5` or `rerank`.
        model: A folder, or a model's name.
        variables: The environment: `CRAG_SCORER_THREADS` for a folder with an ONNX file;
            `CRAG_RERANK_URL`, `CRAG_RERANK_API_KEY`, `CRAG_RERANK_SHAPE` and `CRAG_MODEL_TIMEOUT`
            for a hosted one.

    Raises:
        ConfigurationError: No model is named, or what it needs is missing.
    """
    if not model:
        raise ConfigurationError(f"CRAG_EVALUATOR: {kind} needs a model's name after the colon")
    if kind == "rerank":
        return _hosted(model, variables)
    if kind == "t5":
        from crag_graph.models.scorers.t5 import T5Scorer

        return T5Scorer(model)
    from crag_graph.models.scorers.folder import as_folder
    from crag_graph.models.scorers.onnx import OnnxScorer, onnx_file

    folder = as_folder(model)
    if folder is not None and onnx_file(folder) is not None:
        threads = _number(variables, "CRAG_SCORER_THREADS", low=1, high=256)
        return OnnxScorer(folder, threads=None if threads is None else int(threads))
    from crag_graph.models.scorers.transformer import SentenceTransformerScorer

    return SentenceTransformerScorer(model)


def _hosted(model: str, variables: Mapping[str, str]) -> PairScorer:
    from crag_graph.models.scorers.hosted import DEFAULT_SECONDS, HostedScorer

    seconds = _number(variables, "CRAG_MODEL_TIMEOUT", low=0.1, high=3600)
    return HostedScorer(
        model,
        shape=variables.get("CRAG_RERANK_SHAPE", "cohere").lower(),
        base_url=variables.get("CRAG_RERANK_URL", ""),
        api_key=variables.get("CRAG_RERANK_API_KEY", ""),
        seconds=DEFAULT_SECONDS if seconds is None else seconds,
    )


def _number(
    variables: Mapping[str, str], variable: str, *, low: float, high: float
) -> float | None:
    text = variables.get(variable, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise ConfigurationError(f"{variable}: a number from {low:g} to {high:g} is needed")
    return value
