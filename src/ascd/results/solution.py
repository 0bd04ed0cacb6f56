"""What comes back from a run: the point, why it stopped, how good it is, and how it got there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.results.trace import Trace


class Status(str, Enum):
    """Why a run ended; ``str(status)`` is the short name, ``status.sentence`` says it in words."""

    CONVERGED = "converged"
    STATIONARY = "stationary"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"
    STALLED = "stalled"
    UNREACHABLE = "unreachable"

    def __str__(self) -> str:
        return self.value

    @property
    def sentence(self) -> str:
        """One sentence for people."""
        return _SENTENCES[self]

    @property
    def is_answer(self) -> bool:
        """Has the run reached what was asked for, proved (converged) or by first-order conditions (stationary)?"""
        return self in (Status.CONVERGED, Status.STATIONARY)

    @staticmethod
    def of_all(statuses: Iterable[Status]) -> Status:
        """The status of several runs together: the first that is no answer, else stationary if one is.

        Examples
        --------
        >>> from ascd import Status
        >>> str(Status.of_all([Status.CONVERGED, Status.STATIONARY, Status.TIME_LIMIT]))
        'time limit'
        """
        found = list(statuses)
        missed = [status for status in found if not status.is_answer]
        if missed:
            return missed[0]
        return Status.STATIONARY if Status.STATIONARY in found else Status.CONVERGED


_SENTENCES = {
    Status.CONVERGED: "Converged: the certificate is within the tolerance.",
    Status.STATIONARY: (
        "Stationary: the first-order conditions hold within the tolerance, but no dual point was found that proves it."
    ),
    Status.ITERATION_LIMIT: "Stopped at max_iter before the tolerance was reached.",
    Status.TIME_LIMIT: "Stopped at max_time before the tolerance was reached.",
    Status.INTERRUPTED: "Interrupted by Ctrl-C or by the callback; x is the current point.",
    Status.DIVERGED: "Diverged: the objective left the finite numbers or fell without end.",
    Status.STALLED: "Stopped before the tolerance was reached: rounding errors leave nothing to gain.",
    Status.UNREACHABLE: "The data went out of reach during the run; x is the best point so far.",
}


class Snapshot(NamedTuple):
    """What a callback sees: the iteration, the point (a view: copy it to keep it), F(x) and the trace so far.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> run = ascd.minimize(problem, rule="cyclic", callback=lambda now: now.objective <= 4.5)
    >>> run.n_iter, str(run.status)
    (3, 'interrupted')
    """

    iteration: int
    x: Array
    objective: float
    trace: Trace


def check_callback(callback: Any) -> None:
    """Raise a TypeError unless it can be called."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a Snapshot; got {callback!r}")


@dataclass(frozen=True)
class Solution:
    """The result of ``minimize`` and ``solve``.

    Attributes
    ----------
    x : the last point, of shape (n_features,), or (n_features, n_outputs) for a target with two dimensions or classes
    objective : F(x)
    status, message : why the run ended, as a ``Status`` and as a sentence
    n_iter : number of coordinate steps (``minimize``) or of rounds (``solve``)
    gap : duality gap at x, an upper bound on F(x) − min F with all rounding errors counted (inf where no dual point is
        known)
    steepness : the largest score at x, from exact gradient entries; 0 means optimal (nan where it is not asked for)
    reads : columns read during the run, the pass for init="gradient" and checks included
    seconds : time spent descending; recording and compiling are not counted
    trace : the recorded history
    intercept : the constant c of ``solve(..., intercept=True)``; an array of length n_outputs where x has outputs
    compile_seconds : time that kernels took to compile or to load, which a first call needs once
    chosen : the rule, oracle, steepness and step of ``minimize``, by name
    confidence : the probability with which all intervals of the run of ``minimize`` held together: 1 where they are
        proved, 0 where nothing is known.  Below 1 neither status nor gap rests on them: both come from exact entries
    zero_objective : F at zero coefficients (or the nearest that are allowed), intercept fitted, which the tolerance
        is relative to

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> solution = ascd.solve(problem)
    >>> solution.x, solution.objective, solution.gap <= 1e-6 * solution.zero_objective, str(solution.status)
    (array([ 2.,  0., -1.]), 4.5, True, 'converged')
    """

    x: Array = field(repr=False)
    objective: float
    status: Status
    n_iter: int
    gap: float
    steepness: float = math.nan
    reads: int = 0
    seconds: float = 0.0
    trace: Trace = field(default_factory=Trace, repr=False)
    intercept: Any = 0.0
    zero_objective: float = math.nan
    compile_seconds: float = 0.0
    chosen: dict[str, str] = field(default_factory=dict, repr=False)
    confidence: float = field(default=1.0, repr=False)

    @property
    def message(self) -> str:
        return self.status.sentence

    @property
    def intervals(self) -> str:
        """How far the intervals that the steps were chosen by can be trusted, in a sentence."""
        if self.confidence == 1.0:
            return "The intervals of the run are proved."
        # near 1 the six digits of a short number would be those of 1 itself
        said = f"{self.confidence:g}" if self.confidence < 0.999 else f"1 - {1.0 - self.confidence:.2g}"
        held = f"held with probability {said}" if self.confidence > 0.0 else "may not have held"
        return f"The intervals of the run {held}; status and gap do not rest on them."

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED

    def _repr_html_(self) -> str:
        rows = [
            ("status", self.message),
            ("objective", f"{self.objective:.10g}"),
            ("above the minimum by", f"at most {number(self.gap)} (duality gap)"),
            ("coefficients", f"{number(np.count_nonzero(self.x))} of {number(self.x.size)} are not zero"),
            ("intercept", ", ".join(map(number, np.ravel(self.intercept)))),
            ("iterations", number(self.n_iter)),
            ("columns read", number(self.reads)),
            ("seconds", f"{number(self.seconds)}, and {number(self.compile_seconds)} for compiling"),
            *((name, value) for name, value in self.chosen.items()),
            *([("intervals", self.intervals)] if self.confidence < 1.0 else []),
        ]
        return facts("Solution", rows)


# ---- what notebooks show


def number(value: Any) -> str:
    """Return a number with few digits, counts below 1e15 in full, and ∞ for what is not known to be bounded.

    Examples
    --------
    >>> number(12345), number(1725.0), number(1.23456e-9), number(float("inf"))
    ('12,345', '1,725', '1.23e-09', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0.0 else "−∞"
    if math.isnan(value):
        return "–"
    is_count = float(value).is_integer() and abs(value) < 1e15
    return f"{int(value):,}" if is_count else f"{float(value):.3g}"


def facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a title and a table with a name and a value in each row, in HTML."""
    cell = 'style="text-align: left; padding: 1px 12px 1px 0; background: none"'
    lines = "".join(f"<tr><td {cell}>{escape(name)}</td><td {cell}>{escape(value)}</td></tr>" for name, value in rows)
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>"
