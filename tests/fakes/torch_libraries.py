"""Stand-ins for torch, sentence-transformers and transformers, with their real signatures.

The signatures were compared with sentence-transformers 6.2 and transformers 5.24. Outputs follow
from the texts, so that a test knows them: `outputs` maps a text to the logits of its pair.
"""

import contextlib
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

Outputs = Callable[[str], Sequence[float]]


class _Config:
    def __init__(self, labels: dict[int, str]) -> None:
        self.id2label = labels
        self._commit_hash = "abc123"


class _Tokenizer:
    """Words are tokens."""

    def __call__(self, text: Any, **options: Any) -> dict[str, Any]:
        assert options.keys() <= {
            "add_special_tokens",
            "verbose",
            "return_tensors",
            "padding",
            "truncation",
            "max_length",
        }
        if isinstance(text, str):
            return {"input_ids": text.split()}
        return {"input_ids": list(text), "attention_mask": [1 for _ in text]}


class _Tensor:
    def __init__(self, rows: list[list[float]]) -> None:
        self._rows = rows

    def float(self) -> "_Tensor":
        return self

    def tolist(self) -> list[list[float]]:
        return self._rows


class Libraries:
    """What was asked of the stand-ins.

    Attributes:
        loaded: The names that models were loaded by, with the keyword arguments.
        calls: The texts of each call.
        threads: The threads that calls came from.
    """

    def __init__(self, outputs: Outputs, labels: dict[int, str]) -> None:
        self.outputs = outputs
        self.labels = labels
        self.loaded: list[tuple[str, dict[str, Any]]] = []
        self.calls: list[list[str]] = []
        self.threads: set[int] = set()
        self.failure: Exception | None = None

    def cross_encoder(self) -> type:
        """The class `CrossEncoder`."""
        log = self

        class CrossEncoder:
            def __init__(
                self, model_name_or_path: str, *, device: str | None = None, max_length: Any = None
            ) -> None:
                if log.failure is not None:
                    raise log.failure
                log.loaded.append((model_name_or_path, {}))
                self.tokenizer = _Tokenizer()
                self.max_length = max_length or 64
                self.config = _Config(log.labels)

            def predict(
                self,
                inputs: Sequence[tuple[str, str]],
                prompt_name: str | None = None,
                prompt: str | None = None,
                batch_size: int = 32,
                show_progress_bar: bool | None = None,
                activation_fn: Callable[..., Any] | None = None,
                apply_softmax: bool | None = False,
                convert_to_numpy: bool = True,
            ) -> Any:
                assert show_progress_bar is False
                assert convert_to_numpy
                assert activation_fn is not None
                log.threads.add(threading.get_ident())
                log.calls.append([text for _, text in inputs])
                rows = np.array([log.outputs(text) for _, text in inputs], dtype=np.float32)
                return activation_fn(rows.squeeze(-1) if rows.shape[-1] == 1 else rows)

        return CrossEncoder

    def t5(self) -> type:
        """The class `T5ForSequenceClassification`."""
        log = self

        class T5ForSequenceClassification:
            def __init__(self) -> None:
                self.config = _Config(log.labels)
                self.training = True

            @classmethod
            def from_pretrained(cls, name: str, **options: Any) -> Any:
                if log.failure is not None:
                    raise log.failure
                log.loaded.append((name, options))
                return cls()

            def eval(self) -> None:
                self.training = False

            def __call__(self, *, input_ids: list[str], attention_mask: Any) -> Any:
                assert not self.training
                log.threads.add(threading.get_ident())
                log.calls.append(input_ids)
                logits = _Tensor([list(log.outputs(text)) for text in input_ids])
                return types.SimpleNamespace(logits=logits)

        return T5ForSequenceClassification


def install(
    monkeypatch: pytest.MonkeyPatch, outputs: Outputs, labels: dict[int, str] | None = None
) -> Libraries:
    """Put the stand-ins where the real libraries would be imported from."""
    made = Libraries(outputs, labels or {})
    torch, nn = types.ModuleType("torch"), types.ModuleType("torch.nn")
    sentence = types.ModuleType("sentence_transformers")
    transformers = types.ModuleType("transformers")

    @contextlib.contextmanager
    def inference_mode() -> Iterator[None]:
        yield

    vars(nn)["Identity"] = lambda: lambda value: value
    vars(torch).update(nn=nn, inference_mode=inference_mode)
    vars(sentence).update(CrossEncoder=made.cross_encoder(), __version__="6.2.0")
    tokenizer = types.SimpleNamespace(from_pretrained=lambda name: _Tokenizer())
    vars(transformers).update(
        AutoTokenizer=tokenizer, T5ForSequenceClassification=made.t5(), __version__="5.24.0"
    )
    for module in (torch, nn, sentence, transformers):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return made


def uninstall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the libraries missing, whether they are installed or not."""
    for name in ("torch", "torch.nn", "sentence_transformers", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
