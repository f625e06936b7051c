"""A real small model behind a llama.cpp server on loopback, asked each question once.

These tests need 1.1 GB of weights and minutes of a processor, so that they run only when they are
asked for: `CRAG_REAL_MODEL_DIR=FOLDER python -m pytest -m model`. See docs/real-model.md.
"""

from collections.abc import Iterator

import pytest

from benchmarks.model_files import ModelFileError, model_file, model_folder
from benchmarks.model_server import ModelServerError, running
from benchmarks.real_model_cases import CASES, SUITE
from benchmarks.real_model_runs import Run, Stage, stage
from crag_graph.models.structured import LADDER
from crag_graph.settings import EvaluationMode


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave these tests out, unless the marker's name is in the expression after `-m`."""
    if "model" in config.getoption("markexpr"):
        return
    asked = [item for item in items if item.get_closest_marker("model") is not None]
    if asked:
        config.hook.pytest_deselected(items=asked)
        items[:] = [item for item in items if item not in asked]


@pytest.fixture(scope="session")
def on_stage() -> Iterator[Stage]:
    """The graph with the model, over the corpus."""
    LADDER.forget()
    try:
        file = model_file(model_folder())
        with running(file) as server, stage(server) as made:
            yield made
    except (ModelFileError, ModelServerError) as problem:
        pytest.fail(str(problem), pytrace=False)


@pytest.fixture(scope="session")
def finished() -> dict[tuple[str, EvaluationMode], Run]:
    """The runs so far; each is made once, whatever is asked of it."""
    return {}


@pytest.fixture(params=SUITE, ids=lambda pair: f"{pair[0]}-{pair[1]}", scope="session")
def run(
    request: pytest.FixtureRequest,
    on_stage: Stage,
    finished: dict[tuple[str, EvaluationMode], Run],
) -> Run:
    """What became of one question of the suite."""
    name, mode = request.param
    if (name, mode) not in finished:
        case = next(case for case in CASES if case.name == name)
        finished[name, mode] = on_stage.ask(case, mode)
    return finished[name, mode]
