"""A model and the one that steps in for it."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from crag_graph.errors import ModelError
from crag_graph.models.asking import Asker
from crag_graph.models.meter import Meter
from crag_graph.models.plan import Plan

T = TypeVar("T")

# A refusal or a filter is an answer about the content; another model is not asked to say otherwise.
_FINAL = ("refusal", "filter")


def first_that_answers(
    askers: Sequence[Asker], attempt: Callable[[Asker], Plan[T]], *, meter: Meter
) -> Plan[T]:
    """Return what the first of `askers` gives that does not fail; at least one is needed.

    Once a part of an answer has been streamed to somebody, no other model begins anew.

    Raises:
        ModelError: The last one failed, or one refused.
        BudgetExceededError: The budget forbids a call.
    """
    *earlier, last = askers
    for position, asker in enumerate(earlier):
        try:
            return (yield from attempt(asker))
        except ModelError as error:
            if error.reason in _FINAL or getattr(error, "shown", False):
                raise
            reason, label = error.reason, askers[position + 1].endpoint.label
        meter.note(f"{asker.endpoint.label} failed ({reason}), so {label} was asked")
    return (yield from attempt(last))
