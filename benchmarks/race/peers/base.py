"""What a peer is: a name, the kinds of task it can do, tolerances to try, and a fit.

Tolerances mean different things to different libraries, so only the recomputed gap decides; ``start``, ``factor`` and
``floor`` say which are tried.  Iteration limits are set so high that the tolerance or the budget ends a run.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from dataclasses import dataclass

import numpy as np

UNLIMITED = 10**7


class Failed(Exception):
    """A fit that was stopped or broke down; the peer is left out of the race, not the race out of the benchmark."""


@dataclass
class Answer:
    """Coefficients; seconds where the library must be timed from inside; columns read; the strength CV chose."""

    coef: np.ndarray
    seconds: float | None = None
    reads: int | None = None
    alpha: float | None = None


def method_of(kind):
    """The method of a peer for a kind of task: those with blocks share two."""
    words = {"tasks": "tasks", "groups": "grouped", "sparse": "sparse_grouped", "multinomial": "multinomial"}
    return words.get(kind.partition(" ")[0], kind)


class Peer:
    """What all peers share."""

    name = ""
    package = ""
    kinds: tuple[str, ...] = ()
    factor = 10.0**0.5
    floor = 1e-16
    forked = True  # its search runs in a process of its own, which can be stopped
    limit = 60.0  # seconds a fit may take, for those that stop themselves
    clock = "wall"  # what its fits are timed by

    def version(self):
        """The installed version; raises ImportError where there is none."""
        importlib.import_module(self.package)
        return importlib.metadata.version(self.package)

    def start(self, task, target):
        """Where to begin for a target.  With l2 > 0 gaps are quadratic in what tolerances bound, else linear."""
        return (10.0 * target**0.5 if task.kind == "enet" else target) * self.unit(task)

    def unit(self, task):
        """What a tolerance of 1 is in this library's terms."""
        return 1.0

    def fit(self, task, tol, threads=1) -> Answer:
        """Threads: 1, or None for the library's own choice."""
        answer = getattr(self, method_of(task.kind))(task, tol)
        return answer if isinstance(answer, Answer) else Answer(answer)

    def close(self):
        """Let go of what outlives a fit."""
