"""Tiny cross-encoders as ONNX folders, made without a library that writes ONNX.

A model adds up a weight for each token of the text (not of the question), so that a test knows the
score of every pair: `{"closes": 3.0}` gives 3 for each "closes". The bytes follow onnx.proto3.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_FLOAT, _INT64 = 1, 7


def onnx_folder(
    folder: Path,
    weights: Mapping[str, float | Sequence[float]],
    *,
    labels: Mapping[int, str] | int = 1,
    max_tokens: int | None = None,
    model: str = "model.onnx",
    toml: str = "",
) -> Path:
    """Write a model into `folder` and return it.

    `weights` are by word, one number a label; `labels` their names, or how many there are.
    """
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: at for at, word in enumerate([*WORDS, *weights])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    count = labels if isinstance(labels, int) else len(labels)
    config: dict[str, Any] = {"num_labels": count}
    if not isinstance(labels, int):
        config["id2label"] = {str(at): name for at, name in labels.items()}
    if max_tokens is not None:
        config["max_position_embeddings"] = max_tokens
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if toml:
        (folder / "scorer.toml").write_text(toml, encoding="utf-8")
    rows = [[0.0] * count for _ in WORDS]
    for weight in weights.values():
        rows.append([float(weight)] if isinstance(weight, int | float) else [*map(float, weight)])
    path = folder / model
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_model(rows))
    return folder


def _model(table: Sequence[Sequence[float]]) -> bytes:
    """Return: sum over tokens of table[input_ids] · token_type_ids · attention_mask."""
    flat = struct.pack(
        f"<{len(table) * len(table[0])}f", *(value for row in table for value in row)
    )
    tensor = (
        _number(1, len(table))
        + _number(1, len(table[0]))
        + _number(2, _FLOAT)
        + _text(8, "table")
        + _bytes(9, flat)
    )
    axes = _number(1, 1) + _number(2, _INT64) + _text(8, "last") + _bytes(9, struct.pack("<q", 2))
    tokens = _number(1, 1) + _number(2, _INT64) + _text(8, "each") + _bytes(9, struct.pack("<q", 1))
    nodes = [
        _node("Gather", ["table", "input_ids"], "rows"),
        _node("Mul", ["token_type_ids", "attention_mask"], "kept"),
        _node("Cast", ["kept"], "kept_float", _attribute("to", _FLOAT)),
        _node("Unsqueeze", ["kept_float", "last"], "wide"),
        _node("Mul", ["rows", "wide"], "product"),
        _node("ReduceSum", ["product", "each"], "logits", _attribute("keepdims", 0)),
    ]
    graph = b"".join(_bytes(1, node) for node in nodes) + _text(2, "scorer")
    graph += _bytes(5, tensor) + _bytes(5, axes) + _bytes(5, tokens)
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        graph += _bytes(11, _value(name, _INT64, ["batch", "tokens"]))
    graph += _bytes(12, _value("logits", _FLOAT, ["batch", len(table[0])]))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 13))


def _node(kind: str, inputs: Sequence[str], output: str, attribute: bytes = b"") -> bytes:
    made = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, kind)
    return made + (_bytes(5, attribute) if attribute else b"")


def _attribute(name: str, value: int) -> bytes:
    return _text(1, name) + _number(3, value) + _number(20, 2)


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    dimensions = b"".join(
        _bytes(1, _number(1, size) if isinstance(size, int) else _text(2, size)) for size in shape
    )
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dimensions)))


def _varint(value: int) -> bytes:
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())
