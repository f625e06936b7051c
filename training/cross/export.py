"""From the trained network to the files of the package: an int8 ONNX model and its scores."""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from crag_graph.evaluators.local.cross import evidence_hash
from crag_graph.evaluators.local.pairs import INPUTS, Pair
from training.cross.batches import tensors
from training.cross.network import Together

_OPSET = 17
_MATRIX, _SMALL = 2, 1024
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
    import onnx
    import onnxruntime

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
        model = onnx.load(exact)
    _store_as_int8(model)
    path.write_bytes(model.SerializeToString())
    session = onnxruntime.InferenceSession(path.read_bytes())
    found = session.run(
        None, {name: tensor.numpy() for name, tensor in zip(INPUTS, inputs, strict=True)}
    )
    with torch.no_grad():
        wanted = network(*inputs)
    return max(
        float(np.abs(one - other.numpy()).max()) for one, other in zip(found, wanted, strict=True)
    )


def _store_as_int8(model: Any) -> None:
    """Keep each matrix as int8 with a scale for each column; the arithmetic stays in floats.

    So a pair's logits do not depend on which others are in its batch, as they would where
    activations were quantised by batch.
    """
    from onnx import helper, numpy_helper

    graph = model.graph
    nodes = []
    for tensor in list(graph.initializer):
        values = numpy_helper.to_array(tensor)
        if values.ndim != _MATRIX or values.size < _SMALL or values.dtype != np.float32:
            continue
        scale = np.maximum(np.abs(values).max(axis=0), 1e-12).astype(np.float32) / 127.0
        whole = np.clip(np.round(values / scale), -127, 127).astype(np.int8)
        name = tensor.name
        graph.initializer.remove(tensor)
        graph.initializer.extend(
            [
                numpy_helper.from_array(whole, f"{name}_int8"),
                numpy_helper.from_array(scale, f"{name}_scale"),
                numpy_helper.from_array(np.zeros(len(scale), dtype=np.int8), f"{name}_zero"),
            ]
        )
        inputs = [f"{name}_int8", f"{name}_scale", f"{name}_zero"]
        nodes.append(helper.make_node("DequantizeLinear", inputs, [name], axis=1))
    for node in reversed(nodes):
        graph.node.insert(0, node)


def write_scores(path: Path, model: Path, fields: dict[str, Any]) -> None:
    """Write how logits become scores, with the hashes that hold model and evidence together."""
    hashes = {
        "model_sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
        "evidence_sha256": evidence_hash(),
    }
    path.write_text(json.dumps({**hashes, **fields}, indent=2) + "\n", encoding="utf-8")
