"""Rewriting the question for the web; a failed or bad rewrite leaves the question's own words."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from crag_graph.errors import BudgetExceededError, ModelError
from crag_graph.evaluators.query import own_query, usable_queries
from crag_graph.models.asking import Asker
from crag_graph.models.fallback import first_that_answers
from crag_graph.models.meter import Meter
from crag_graph.models.plan import Plan
from crag_graph.models.reply import visible_text

_NUMBERS = ("", "one query", "two", "three", "four", "five")


def in_words(most: int) -> str:
    """Return how many queries are wanted, as a prompt says it."""
    if most == 1:
        return _NUMBERS[1]
    return f"up to {_NUMBERS[most]} queries, one for each part of the question, one a line,"


def rewrite(
    askers: Sequence[Asker],
    messages: Sequence[BaseMessage],
    *,
    question: str,
    year: int,
    most: int,
    meter: Meter,
) -> Plan[list[str]]:
    """Return queries for `question`: the model's where they are usable, else the question's own."""
    try:
        reply = yield from first_that_answers(
            askers, lambda asker: asker.ask(messages, meter=meter), meter=meter
        )
    except (ModelError, BudgetExceededError) as error:
        meter.note(f"the question could not be rewritten, so its own keywords are it: {error}")
        return [own_query(question)]
    found = usable_queries([visible_text(reply)], question=question, year=year, most=most)
    if not found:
        meter.note("the model wrote no usable web query, so the question's own keywords are it")
    return found or [own_query(question)]
