"""The driver of a run: the compiled loop in pieces, with checks between them.

A piece takes about a tenth of a second.  Between pieces the driver checks the time and lets Ctrl-C through; whatever
happens, the current point is returned.  Recording and the test for convergence happen at iterations that depend on
the problem alone, never on time, so that a run depends on its seed alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.contracts import confidence_of, users_part
from ascd._core.timing import Stopwatch
from ascd.engine.descent import Point, count_violations, descend, objective_at, steepest_score
from ascd.engine.guards import check_intervals, raise_complaint
from ascd.engine.intervals import EPSILON
from ascd.engine.tuning import CHECKS_AN_EPOCH, EPOCHS_A_LOOK, FEWEST_STEPS, LONGEST_PIECE, PIECE_GROWTH, SHORTEST_PIECE
from ascd.problem.penalties import nearest_allowed
from ascd.results.limits import Limits, has_no_minimum
from ascd.results.progress import Show
from ascd.results.solution import Snapshot, Solution, Status
from ascd.results.trace import Schedule, Trace


class Assembly(NamedTuple):
    """The parts of a run, ready to descend."""

    point: Point
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
        self.bounds = (math.inf, 0.0, self.count)  # see ``summarise_bounds``
        self.trace = Trace()
        self.t, self.checks, self.seconds = 0, 0, 0.0
        self.confidence = confidence_of(self.oracle)
        self.safe = self.confidence == 1.0
        self.has_users_oracle = users_part(self.oracle) is not None
        # bounds may be wrong where a part is the user's: a loss whose curvature bound is too small, a steepness, …
        steepness, problem = self.point.intervals.steepness, self.point.problem
        parts = (self.oracle, self.rule, self.step, steepness, problem.loss, problem.penalty)
        self.is_trusted = all(users_part(part) is None for part in parts)
        self.has_users_init = not self.unread and bool(np.isfinite(self.point.intervals.offset).any())
        self.piece, self.next_check = 100, 0
        self.next_exact, self.next_guess, self.guesses = EPOCHS_A_LOOK * self.count, 0, 0
        self.rate = float(steepness.rates(self.point.problem.norm).max()) if hasattr(steepness, "rates") else 0.0

    def until(
        self, limits: Limits, tol: float, schedule: Schedule, callback: Callable[[Snapshot], Any] | None, show: Show
    ) -> Solution:
        """Descend until a limit, the tolerance, the callback or Ctrl-C ends the run."""
        status = Status.INTERRUPTED
        try:
            self._descend(False, 0)  # no step yet: the time of compiling is not counted
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
                if callback and callback(Snapshot(self.t, self.point.x, objective, self.trace)):
                    return Status.INTERRUPTED

    def _advance(self, limit: int) -> None:
        # counted beforehand: Ctrl-C inside the compiled loop is raised when all its steps have been taken
        first, self.t = self.t, min(self.t + self.piece, limit)
        before = self.seconds
        self._descend(False, first)
        if self.seconds - before > LONGEST_PIECE:
            self.piece = max(1, self.piece // 2)
        elif self.t - first == self.piece and self.seconds - before < SHORTEST_PIECE:
            self.piece *= 2 if self.seconds - before > SHORTEST_PIECE / PIECE_GROWTH else PIECE_GROWTH

    def _descend(self, unread: bool, first: int) -> None:
        """Run the compiled loop from step ``first`` to step t."""
        watch = Stopwatch()
        try:
            self.bounds = descend(self.point, self.rule, self.oracle, self.step, unread, first, self.t, self.rng)
        except (IndexError, ValueError) as error:
            raise_complaint(error, self.rule, self.step)
            raise
        if self.has_users_oracle:
            check_intervals(self.oracle, self.point.intervals, self.t)
        self.seconds += watch.seconds

    def _has_converged(self, tol: float) -> bool:
        """Return whether no score can exceed ``tol``, by the bounds where they are safe, else by exact entries.

        All columns are read where the bounds are not safe, where rounding alone may keep them above ``tol``, and
        once in EPOCHS_A_LOOK epochs.
        """
        if self.t < self.next_check:
            return False
        self.next_check = self.t + max(FEWEST_STEPS, self.count // CHECKS_AN_EPOCH)
        if tol <= 0.0:
            return False
        if self.bounds[0] <= tol:
            if self.safe and self.is_trusted:
                self._check_init(tol)
                return True
        elif self._may_be_rounding(tol):
            self.guesses += 1
            self.next_guess = self.t + self.count * 2**self.guesses  # failures become rare
        elif self.t < self.next_exact:
            return False
        self.next_exact = self.t + EPOCHS_A_LOOK * self.count
        if self.checks == 0:
            self._steepest()  # the time of compiling is not counted
        self.checks += 1
        watch = Stopwatch()
        steepest = self._steepest()
        self.point.reads[0] += self.problem.n_features
        is_flat = steepest <= tol and self._stays_flat(tol)
        self.seconds += watch.seconds
        return is_flat

    def _check_init(self, tol: float) -> None:
        """Raise a ValueError where the user's initial intervals led to a false proof of convergence."""
        if self.has_users_init and self._steepest() > tol:
            count = int(count_violations(self.point))
            if count:
                raise ValueError(
                    f"init must hold the gradient at x0; after {self.t} steps {count} of {self.count} entries are "
                    "outside of the intervals that it led to: its estimate is wrong, or its radius too small"
                )

    def _stays_flat(self, tol: float) -> bool:
        """Return whether scores stay below ``tol`` with the raw gradient recomputed from x.

        The raw gradient was updated in all steps, and keeps the rounding errors of a start far away.  Intervals count
        these, so they hold for either.  Reads for the end of a run are not counted, as those of the gap are not.
        """
        self._recompute()
        is_flat = self._steepest() <= tol
        self.point.reads[0] += 0 if is_flat else np.count_nonzero(self.point.x) + self.problem.n_features
        return is_flat

    def _recompute(self) -> None:
        """Compute predictor and raw gradient from x, where x is finite."""
        point = self.point
        if np.isfinite(point.x).all():
            _, point.predictor[:], point.raw_gradient[:] = self.problem.evaluate(point.x)

    def _may_be_rounding(self, tol: float) -> bool:
        """Return whether the bounds without their rounding would be below ``tol``."""
        rounding = self.rate * self.point.intervals.lengths[EPSILON]
        return self.t >= self.next_guess and self.bounds[0] - rounding <= tol

    def _steepest(self) -> float:
        """Return the largest score, from exact entries; infinite where the raw gradient is not finite."""
        point = self.point
        if not np.isfinite(point.raw_gradient).all():
            return math.inf
        return float(steepest_score(point.problem, point.intervals.steepness, point.x, point.raw_gradient))

    def _record(self) -> float:
        bound, zeros, active = self.bounds
        objective = self._objective()
        self.trace.add(
            iteration=self.t,
            objective=objective,
            gap=self.problem.gap(self.point.x) if self.record_gap else math.nan,
            active=active,
            zero_lower=zeros,
            bound=bound,
            violations=math.nan if self.safe else int(count_violations(self.point)),
            reads=self.point.reads[0],
            seconds=self.seconds,
        )
        return objective

    def _objective(self) -> float:
        found = float(objective_at(self.point.problem, self.point.x, self.point.predictor))
        return math.inf if math.isnan(found) else found  # 0·x² of an x whose square is too large

    def _zero_objective(self) -> float:
        """Return F at the allowed point nearest to zero, or the gap there where F is not positive: the unit of tol."""
        nearest = nearest_allowed(self.problem.parts.penalty, self.problem.n_features)
        value = self.problem.objective(nearest)
        return value if value > 0.0 else self.problem.gap(nearest)

    def _solution(self, status: Status, tol: float) -> Solution:
        """Return the result; scores decide when a run ends, its status is "converged" where its gap proves it."""
        self._recompute()
        if len(self.trace) == 0 or self.trace.iteration[-1] < self.t:
            self._record()
        del self.rule, self.oracle  # frees their work arrays before the certificate needs its own
        x = self.point.x
        is_finite = bool(np.isfinite(x).all())
        gap, zero = self.problem.gap(x) if is_finite else math.inf, self._zero_objective()
        if status is Status.CONVERGED and not gap <= tol * zero:
            status = Status.STATIONARY
        return Solution(
            x=x.copy(),
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
