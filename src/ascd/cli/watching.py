"""A long fit on data that are elsewhere, as it goes: passes or rounds, the duality gap, and a guess of the time left.

Where the gap falls by the same factor in the same time, its logarithm falls along a line, so

    time left ≈ (log gap − log enough) · (time so far) / (log first gap − log gap).

Real runs are not that regular: the guess is called one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ascd.cli.console import Telling, announcing_on
from ascd.matrix.on_dask import is_collection
from ascd.results.progress import Round, looking_on


class Outlook:
    """The last round of a run, and when it may end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.began = clock, clock()
        self.now: Round | None = None
        self.first = (self.began, math.inf)
        self.smallest = math.inf

    def __call__(self, now: Round) -> None:
        """To be told of every round; a lower iteration is another run, say of another class."""
        if self.now is not None and now.iteration < self.now.iteration:
            self.first, self.smallest = (self.clock(), math.inf), math.inf
        self.now, self.smallest = now, min(self.smallest, now.gap)
        if not math.isfinite(self.first[1]):
            self.first = (self.clock(), now.gap)

    def left(self) -> float:
        """Seconds, or nan where nothing can be said yet."""
        if self.now is None or not (0.0 < self.now.enough < self.smallest < self.first[1] < math.inf):
            return 0.0 if self.now is not None and 0.0 <= self.smallest <= self.now.enough else math.nan
        spent = self.clock() - self.first[0]
        return spent * math.log(self.smallest / self.now.enough) / math.log(self.first[1] / self.smallest)

    def words(self) -> str:
        """Gap, time so far and the guess."""
        seconds = f"{self.clock() - self.began:.0f} s"
        if self.now is None or not math.isfinite(self.smallest):
            return f"no gap known yet, {seconds}"
        wanted = f" ({self.now.enough:.1e} is wanted)" if self.now.enough > 0.0 else ""
        left = self.left()
        guess = f", perhaps {left:.0f} s left, as the gap has fallen so far" if left == left else ""
        return f"gap {self.smallest:.1e}{wanted}, {seconds}{guess}"


@contextmanager
def rounds_shown(text: str, X: Any) -> Iterator[None]:
    """On a terminal: how often the data have been read, or asked, and what is known of the end."""
    from rich.console import Console

    console, outlook = Console(stderr=True), Outlook()
    status: Any = Telling(lambda: f"{text}: {asked(X, outlook.now)}, {outlook.words()}")
    with console.status(status), announcing_on(console), looking_on(outlook):
        yield


def asked(X: Any, now: Round | None) -> str:
    """How often the data have been read, or asked for something."""
    if is_collection(X):
        return f"{0 if now is None else now.rounds} rounds on the cluster"
    return f"{X.bytes_read / X.size:.1f} times the data read"
