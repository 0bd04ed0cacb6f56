"""The driver of a run: the compiled loop in pieces, and a look at it between them.

A piece takes about a tenth of a second.  Between pieces the driver looks at the time and lets Ctrl-C through; whatever
happens, the current point is returned.  Recording and the test for convergence happen at iterations that depend on
the problem alone, never on time, so that a run depends on its seed alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.clock import Stopwatch
from ascd._core.contracts import confidence_of
from ascd.engine.descent import count_violations, descend, objective_at, steepest_score
from ascd.engine.guards import check_intervals, raise_complaint, users_oracle, users_part
from ascd.engine.intervals import EPSILON
from ascd.engine.tuning import CHECKS_AN_EPOCH, EPOCHS_A_LOOK, FEWEST_STEPS, LONGEST_PIECE, PIECE_GROWTH, SHORTEST_PIECE
from ascd.problem.penalties import nearest_allowed
from ascd.results.limits import Limits, has_no_minimum
from ascd.results.progress import Show
from ascd.results.solution import Snapshot, Solution, Status
from ascd.results.trace import Schedule, Trace


class Assembly(NamedTuple):
    """The parts of a run, ready to descend."""

    point: Any  # a Point, or one of blocks
    rule: Any
    oracle: Any
    step: Any
    rng: Any
    unread: bool  # is the gradient still to be read?
    chosen: dict[str, str]  # names of rule, oracle, steepness and step


class Run:
    """One descent from its first step to its solution."""

    def __init__(self, problem: Any, assembly: Assembly, record_gap: bool) -> None:
        self.problem, self.unread = problem, assembly.unread
        self.point, self.rule, self.oracle = assembly.point, assembly.rule, assembly.oracle
        self.step, self.rng, self.chosen = assembly.step, assembly.rng, assembly.chosen
        self.record_gap = record_gap
        self.count = self.point.x.size
        self.survey = (math.inf, 0.0, self.count)
        self.trace = Trace()
        self.t, self.looks, self.seconds = 0, 0, 0.0
        self.confidence = confidence_of(self.oracle)
        self.safe = self.confidence == 1.0
        self.is_watched = users_oracle(self.oracle) is not None
        # bounds may be wrong where a part is the user's: a loss whose curvature bound is too small, a steepness, …
        steepness, problem = self.point.intervals.steepness, self.point.problem
        parts = (self.oracle, self.rule, self.step, steepness, problem.loss, problem.penalty)
        self.is_trusted = all(users_part(part) is None for part in parts)
        self.is_given = not self.unread and bool(np.isfinite(self.point.intervals.offset).any())  # by ``init``
        self.piece, self.next_check = 100, 0
        self.next_look, self.next_guess, self.guesses = EPOCHS_A_LOOK * self.count, 0, 0
        self.rate = float(steepness.rates(self.point.problem.norm).max()) if hasattr(steepness, "rates") else 0.0

    def until(
        self, limits: Limits, tol: float, schedule: Schedule, callback: Callable[[Snapshot], Any] | None, show: Show
    ) -> Solution:
        """Descend until a limit, the tolerance, the callback or Ctrl-C ends the run."""
        status = Status.INTERRUPTED
        try:
            self._descend(False, 0)  # nothing to do yet: what goes with compiling is not counted as descending
            self.seconds = 0.0
            self._descend(self.unread, 0)
            status = self._loop(limits, tol, schedule, callback, show)
        except KeyboardInterrupt:
            pass
        return self._solution(status, tol)

    def _loop(
        self, limits: Limits, tol: float, schedule: Schedule, callback: Callable[[Snapshot], Any] | None, show: Show
    ) -> Status:
        start = self._record()
        while True:
            if self._has_converged(tol):
                return Status.CONVERGED
            if self.t >= limits.max_iter:
                return Status.ITERATION_LIMIT
            if self.seconds >= limits.max_time:
                return Status.TIME_LIMIT
            self._advance(int(min(schedule.next, self.next_check, limits.max_iter)))
            objective = self._objective()
            if has_no_minimum(objective, start):
                return Status.DIVERGED
            show(self.t, objective)
            if self.t >= schedule.next:
                schedule.advance(self.t)
                self._record()
                if callback and callback(Snapshot(self.t, self._x(), objective, self.trace)):
                    return Status.INTERRUPTED

    def _advance(self, limit: int) -> None:
        # counted beforehand: Ctrl-C inside the compiled loop is heard when all its steps have been taken
        first, self.t = self.t, min(self.t + self.piece, limit)
        before = self.seconds
        self._descend(False, first)
        if self.seconds - before > LONGEST_PIECE:
            self.piece = max(1, self.piece // 2)
        elif self.t - first == self.piece and self.seconds - before < SHORTEST_PIECE:
            self.piece *= 2 if self.seconds - before > SHORTEST_PIECE / PIECE_GROWTH else PIECE_GROWTH

    def _descend(self, unread: bool, first: int) -> None:
        watch = Stopwatch()
        try:
            self.survey = self._take(unread, first)
        except (IndexError, ValueError) as error:
            raise_complaint(error, self.rule, self.step)
            raise
        if self.is_watched:
            check_intervals(self.oracle, self.point.intervals, self.t)
        self.seconds += watch.seconds

    def _take(self, unread: bool, first: int) -> tuple[float, float, int]:
        """The compiled loop up to step t; what the bounds say there."""
        found: tuple[float, float, int] = descend(
            self.point, self.rule, self.oracle, self.step, unread, first, self.t, self.rng
        )
        return found

    def _has_converged(self, tol: float) -> bool:
        """Do the bounds certify it?  If they are not safe, or cannot tell for long, read all columns and see."""
        if self.t < self.next_check:
            return False
        self.next_check = self.t + max(FEWEST_STEPS, self.count // CHECKS_AN_EPOCH)
        if tol <= 0.0:
            return False
        if self.survey[0] <= tol:
            if self.safe and self.is_trusted:
                self._check_given(tol)
                return True
        elif self._is_rounding(tol):
            self.guesses += 1
            self.next_guess = self.t + self.count * 2**self.guesses  # those in vain become rare
        elif self.t < self.next_look:
            return False
        self.next_look = self.t + EPOCHS_A_LOOK * self.count
        if self.looks == 0:
            self._steepest()  # compiling is not counted
        self.looks += 1
        watch = Stopwatch()
        steepest = self._steepest()
        self.point.reads[0] += self.problem.n_features
        is_flat = steepest <= tol and self._stays_flat(tol)
        self.seconds += watch.seconds
        return is_flat

    def _check_given(self, tol: float) -> None:
        """Intervals that the user gave are believed until a run would end by them, then held to all entries."""
        if self.is_given and self._steepest() > tol:
            count = self._violations()
            if count:
                raise ValueError(
                    f"init must hold the gradient at x0; after {self.t} steps {count} of {self.count} entries are "
                    "outside of the intervals that it led to: its estimate is wrong, or its radius too small"
                )

    def _stays_flat(self, tol: float) -> bool:
        """Is it so at x itself?  If not, the run goes on with the slope there.

        The slope has followed x through all steps, and keeps the rounding errors of a start far away.  Intervals count
        these, so they hold for either.  What is read for the end of a run is not counted, as its certificate is not.
        """
        self._compute_afresh()
        is_flat = self._steepest() <= tol
        self.point.reads[0] += 0 if is_flat else np.count_nonzero(self._x()) + self.problem.n_features
        return is_flat

    def _compute_afresh(self) -> None:
        """Image and slope from x itself, unless that has left the finite numbers."""
        point = self.point
        if np.isfinite(point.x).all():
            _, point.image[:], point.slope[:] = self.problem.evaluate(point.x)

    def _is_rounding(self, tol: float) -> bool:
        """Is it perhaps nothing but the rounding of bounds that keeps them from certifying it?"""
        return self.t >= self.next_guess and self.survey[0] - self.rate * self.point.intervals.clock[EPSILON] <= tol

    def _steepest(self) -> float:
        """The largest score, from exact entries; infinite where a loss has a slope that is no number."""
        return self._largest_score() if np.isfinite(self.point.slope).all() else math.inf

    def _largest_score(self) -> float:
        point = self.point
        return float(steepest_score(point.problem, point.intervals.steepness, point.x, point.slope))

    def _record(self) -> float:
        bound, zeros, active = self.survey
        objective = self._objective()
        self.trace.add(
            iteration=self.t,
            objective=objective,
            gap=self._gap() if self.record_gap else math.nan,
            active=active,
            zero_lower=zeros,
            bound=bound,
            violations=math.nan if self.safe else self._violations(),
            reads=self.point.reads[0],
            seconds=self.seconds,
        )
        return objective

    def _objective(self) -> float:
        found = self._value()
        return math.inf if math.isnan(found) else found  # 0·x² of an x whose square is too large

    def _value(self) -> float:
        return float(objective_at(self.point.problem, self.point.x, self.point.image))

    def _violations(self) -> int:
        """How many exact gradient entries lie outside their interval."""
        return int(count_violations(self.point))

    def _x(self) -> Array:
        """The coefficients, as the user knows them."""
        return self.point.x

    def _gap(self) -> float:
        return self.problem.gap(self.point.x)

    def _reference(self) -> float:
        """F at the allowed point nearest to zero, or the gap there where F is not positive: the tolerance's unit."""
        nearest = nearest_allowed(self.problem.parts.penalty, self.problem.n_features)
        value = self.problem.objective(nearest)
        return value if value > 0.0 else self.problem.gap(nearest)

    def _solution(self, status: Status, tol: float) -> Solution:
        """Scores decide when a run ends; that it has converged is said where its gap proves it."""
        self._compute_afresh()
        if len(self.trace) == 0 or self.trace.iteration[-1] < self.t:
            self._record()
        del self.rule, self.oracle  # their work arrays are not needed any more, the certificate's are
        is_finite = bool(np.isfinite(self._x()).all())
        gap, zero = self._gap() if is_finite else math.inf, self._reference()
        if status is Status.CONVERGED and not gap <= tol * zero:
            status = Status.STATIONARY
        return self._made(
            x=self._x().copy(),
            objective=self._objective(),
            status=status,
            n_iter=self.t,
            gap=gap,
            zero_objective=zero,
            steepness=self._steepest() if is_finite else math.inf,
            reads=int(self.point.reads[0]),
            seconds=self.seconds,
            trace=self.trace,
            chosen=self.chosen,
            confidence=self.confidence,
        )

    def _made(self, **fields: Any) -> Solution:
        return Solution(**fields)
