"""The tree of errors: drawn as it is, one sentence each, nothing secret, fit to cross processes."""

import copy
import inspect
import pickle
import re

import pytest

from crag_graph import errors
from crag_graph.errors import (
    BudgetExceededError,
    CRAGError,
    EmptyDocumentError,
    EvaluationError,
    GenerationError,
    LoadError,
    ModelError,
    SearchUnavailableError,
    StoreUnavailableError,
)

CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, CRAGError)
}


def drawn_tree() -> dict[str, str]:
    """Return child → parent as the module's docstring draws them."""
    drawing = (errors.__doc__ or "").split("```")[1]
    parents: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in drawing.strip().splitlines():
        match = re.match(r"[│├└─ ]*(\w+)", line)
        assert match is not None
        while path and path[-1][0] >= match.start(1):
            path.pop()
        if path:
            parents[match[1]] = path[-1][1]
        path.append((match.start(1), match[1]))
    return parents


def test_the_drawing_is_the_tree() -> None:
    real = {
        name: base.__name__
        for name, kind in CLASSES.items()
        for base in kind.__bases__
        if issubclass(base, CRAGError)
    }
    assert drawn_tree() == real


def test_what_the_user_gave_is_exit_code_2_and_what_failed_1() -> None:
    user = {name for name, kind in CLASSES.items() if kind.exit_code == 2}
    assert user == {"InputError", "ConfigurationError"}
    assert {CLASSES[name].exit_code for name in set(CLASSES) - user} == {1}
    assert all(issubclass(CLASSES[name], ValueError) for name in user)


def test_what_the_drawing_calls_transient_is() -> None:
    drawn = set(re.findall(r"(\w+)[^\n]*\(transient\)", errors.__doc__ or ""))
    assert drawn == {"StoreUnavailableError", "SearchUnavailableError"}
    assert {name for name, kind in CLASSES.items() if kind.transient} == drawn


@pytest.mark.parametrize(
    ("reason", "retry_after", "transient"),
    [
        ("transport", None, True),
        ("quota", 3.0, True),
        ("quota", None, False),
        ("auth", None, False),
        ("refusal", None, False),
        ("length", 3.0, False),
    ],
)
def test_a_model_error_is_transient_where_waiting_helps(
    reason: errors.ModelFailure, retry_after: float | None, transient: bool
) -> None:
    error = ModelError("m", reason=reason, retry_after=retry_after)
    assert (error.transient, error.retry_after) == (transient, retry_after)


EXAMPLES: list[CRAGError] = [
    CRAGError("m", retry_after=2.0),
    errors.InputError("m"),
    BudgetExceededError("m", limit="max_llm_calls"),
    ModelError("m", reason="quota", retry_after=1.0),
    EvaluationError("m", reason="parse"),
    GenerationError("m", reason="length", evidence=["a", "b"]),
    LoadError("a.pdf", "no text layer (a scan?)"),
    EmptyDocumentError("a.md", "empty: it has no bytes"),
    StoreUnavailableError("m", retry_after=1.0),
    SearchUnavailableError("m"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_crosses_processes_whole(error: CRAGError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error) == error.message
        assert vars(twin) == vars(error)
        assert twin.transient == error.transient


@pytest.mark.case(122)
def test_no_message_reason_or_repr_holds_a_credential() -> None:
    error = LoadError("http://user:TESTLEAK@host/a.pdf", "api_key=sk-TESTLEAK00 was refused")
    shown = f"{error} {error!r} {error.message} {error.reason} {error.args} {vars(error)}"
    assert "TESTLEAK" not in shown


def test_a_load_error_names_its_file() -> None:
    assert str(LoadError("a.pdf", "is encrypted")) == "a.pdf: is encrypted"
