"""From the trained network to the files of the package: an int8 ONNX model and its scores."""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from crag_graph.evaluators.local_cross import evidence_hash
from crag_graph.evaluators.local_pairs import INPUTS, Pair
from training.cross.batches import tensors
from training.cross.network import Together

_OPSET = 17
_AXES = {
    "question": {0: "pairs", 1: "question_tokens"},
    "question_alive": {0: "pairs", 1: "question_tokens"},
    "question_weights": {0: "pairs", 1: "question_tokens"},
    "passage": {0: "pairs", 1: "tokens"},
    "passage_alive": {0: "pairs", 1: "tokens"},
    "strips": {0: "pairs", 1: "strips", 2: "tokens"},
    "passage_features": {0: "pairs"},
    "strip_features": {0: "pairs", 1: "strips"},
}


def export_model(network: Together, sample: Sequence[Pair], path: Path) -> float:
    """Write the network as int8 ONNX, and return by how much its logits differ at most.

    Args:
        network: The trained network.
        sample: Pairs to trace and to compare with.
        path: The file.
    """
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    network.eval()
    inputs = tensors(sample)
    with tempfile.TemporaryDirectory() as folder:
        exact = Path(folder) / "exact.onnx"
        torch.onnx.export(
            network,
            tuple(inputs),
            str(exact),
            input_names=list(INPUTS),
            output_names=["passage_logit", "strip_logits"],
            dynamic_axes=_AXES,
            opset_version=_OPSET,
            dynamo=False,
        )
        quantize_dynamic(exact, path, weight_type=QuantType.QInt8, per_channel=True)
    session = onnxruntime.InferenceSession(path.read_bytes())
    found = session.run(
        None, {name: tensor.numpy() for name, tensor in zip(INPUTS, inputs, strict=True)}
    )
    with torch.no_grad():
        wanted = network(*inputs)
    return max(
        float(np.abs(one - other.numpy()).max()) for one, other in zip(found, wanted, strict=True)
    )


def write_scores(path: Path, model: Path, fields: dict[str, Any]) -> None:
    """Write how logits become scores, with the hashes that hold model and evidence together."""
    hashes = {
        "model_sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
        "evidence_sha256": evidence_hash(),
    }
    path.write_text(json.dumps({**hashes, **fields}, indent=2) + "\n", encoding="utf-8")
