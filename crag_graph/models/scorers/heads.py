"""From what a classification head puts out to one raw score a pair."""

import math
from collections.abc import Mapping, Sequence

from crag_graph.errors import ConfigurationError
from crag_graph.models.scorers.base import finite

# What heads call the label that says "this text answers"; negations of it never match.
_POSITIVE = frozenset(
    {"entailment", "relevant", "answerable", "supported", "positive", "yes", "true"}
)


def positive_label(names: Mapping[int, str], count: int, *, wanted: str = "") -> int:
    """Return which of `count` outputs says that the text answers.

    Args:
        names: Output → its label, as `id2label` of a `config.json` has them; may be empty.
        count: How many outputs the head has.
        wanted: The label as the user names it; empty: the one with a well-known name, and of two
            without one the second, as is the custom.

    Raises:
        ConfigurationError: The label cannot be told.
    """
    if count == 1:
        return 0
    known = {label.strip().lower(): place for place, label in names.items() if place < count}
    for label in [wanted.strip().lower()] if wanted else sorted(_POSITIVE & known.keys()):
        if label in known:
            return known[label]
    if count == 2 and not wanted:
        return 1
    said = ", ".join(map(repr, names.values())) or "no names"
    raise ConfigurationError(
        f"a head of {count} labels ({said}) does not say which of them means that a text answers: "
        "name it as `label` in scorer.toml"
    )


def log_odds(outputs: Sequence[float], positive: int) -> float | None:
    """Return the log-odds of the output `positive`: its logistic is the softmax of the outputs.

    A single output is taken as log-odds already. None where an output is not a finite number.
    """
    values = [finite(float(value)) for value in outputs]
    numbers = [value for value in values if value is not None]
    if len(numbers) < len(values):
        return None
    if len(numbers) == 1:
        return numbers[0]
    others = [value for place, value in enumerate(numbers) if place != positive]
    highest = max(others)
    spread = sum(math.exp(value - highest) for value in others)
    return numbers[positive] - highest - math.log(spread)
