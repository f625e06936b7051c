"""How long a piece of work will take, said where no bar can be drawn."""

import time
from collections.abc import Callable

from crag_graph.cli.streams import say
from crag_graph.wording import counted

_FIRST_LOOK = 5.0  # seconds of work after which the pace is known well enough
_WORTH_SAYING = 60.0  # seconds that are left: less is over before it is read


class Pace:
    """Says on stderr how much is done and about how long the rest takes.

    The first time after five seconds, then whenever the time has doubled, and only while at least a
    minute is left: a short run is silent, and a day's run takes a dozen lines.

    Args:
        what: What is counted, in the plural: `questions graded`.
        advice: How to have less of it, or what is kept; a clause.
        kept: How many of them take no time, since they were done before; these come first.
        clock: Seconds; monotonic.
    """

    def __init__(
        self,
        what: str,
        *,
        advice: str = "",
        kept: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.kept = kept
        self._what = what
        self._advice = advice
        self._clock = clock
        self._started = clock()
        self._next = _FIRST_LOOK

    def tell(self, done: int, total: int) -> None:
        """Take note that `done` of `total` are done, and say so where it is time to."""
        fresh = done - self.kept
        if fresh <= 0:
            self._started = self._clock()  # the pace of what takes time alone
            return
        spent = self._clock() - self._started
        if spent < self._next:
            return
        self._next = 2 * spent
        left = spent / fresh * (total - done)
        if left < _WORTH_SAYING:
            return
        advice = f"; {self._advice}" if self._advice else ""
        say(f"{done:,} of {total:,} {self._what}, {duration(left)} left at this pace{advice}")


def duration(seconds: float) -> str:
    """Return about how long that is: `about 3 minutes`, `about 2 hours`."""
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 1.5 * size or (size == 60 and seconds >= size):
            return f"about {counted(round(seconds / size), name)}"
    return "less than a minute"
