"""What must hold whatever a real model says. What it gets wrong is printed, never asserted."""

import pytest

from benchmarks.real_model_promises import PROMISES, Promise
from benchmarks.real_model_runs import Run

pytestmark = pytest.mark.model


def test_no_run_raises(run: Run):
    assert not run.error


@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES.keys())
def test_a_promise_holds_whatever_the_model_says(run: Run, promise: Promise):
    assert promise(run), run.state


def test_where_nothing_is_found_no_model_is_asked(run: Run):
    if run.case.nothing:
        assert run.calls == 0
        assert run.state["status"] == "refused"
    else:
        assert run.calls >= 1
