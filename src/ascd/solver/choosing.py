"""Two ways to choose what to work on: working sets, or everything that moves where the support is dense."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ascd._core.checks import Array
from ascd.problem.penalties import is_held
from ascd.solver import tuning
from ascd.solver.assessment import Assessment
from ascd.solver.fit import Fit
from ascd.solver.subproblem import Task


class Chooser(Protocol):
    """The next working set, and how much to ask of it."""

    def task(self, assessment: Assessment, tolerance: float, is_idle: bool) -> Task:
        """The columns to work on, the violation they may keep and the sweeps they may take."""

    def slow_down(self, is_slow: bool) -> None:
        """The last round lowered the gap little, or not."""


def chooser_of(fit: Fit, largest_gram: int, are_products_cheap: bool) -> Chooser:
    """For the present penalty: where it holds every coordinate, and these are many, most of them move."""
    is_dense = is_held(fit.penalty) and fit.n > max(tuning.FEWEST_DENSE, min(fit.d, largest_gram))
    return AllThatMove(fit) if is_dense else WorkingSets(fit, are_products_cheap)


def violation_allowed(fit: Fit, assessment: Assessment, tolerance: float, share: float) -> float:
    """What the tolerance needs, or a share of the largest violation."""
    standing = assessment.standing
    # where ‖x‖₁ is not known yet: as large as the fall of F that the steepest coordinate could pay for
    spread = float(np.abs(fit.x[assessment.candidates]).sum()) or standing.objective / max(standing.violation, 1e-300)
    goal = tuning.ENOUGH * tolerance / max(spread, 1e-300)
    return max(min(goal, tuning.ENOUGH * standing.violation), share * standing.violation)


class WorkingSets:
    """What is free to move, and the worst violations; at least twice as many as have moved so far.

    Four times as many where nearly all of the last have moved, or where products of columns cost less than a round.
    """

    def __init__(self, fit: Fit, are_products_cheap: bool) -> None:
        self.fit, self.grows_fast = fit, are_products_cheap
        self.size = min(max(fit.n // 10, tuning.SMALLEST_SET), max(tuning.LARGEST_SET, fit.design.at_once))

    def task(self, assessment: Assessment, tolerance: float, is_idle: bool) -> Task:
        columns = self._columns(assessment)
        # a share of the steepest entry is nothing to a column whose entries are all small
        target = 0.0 if is_idle else violation_allowed(self.fit, assessment, tolerance, self._share(columns.size))
        return Task(columns, target, tuning.MOST_SWEEPS)

    def slow_down(self, is_slow: bool) -> None:
        """Sets grow by themselves."""

    def _columns(self, assessment: Assessment) -> Array:
        fit, score = self.fit, assessment.score
        if fit.n <= max(tuning.LARGEST_SET, fit.design.at_once):
            self.size = fit.n
            return np.arange(fit.n)
        columns = assessment.candidates[score[assessment.candidates] > 0.0]
        moved = int(np.count_nonzero((fit.x[columns] != 0.0) | np.isinf(score[columns])))
        is_fast = self.grows_fast or moved > tuning.NEARLY_ALL * self.size
        growth = tuning.FAST_GROWTH if is_fast else tuning.GROWTH
        self.size = min(fit.n, max(self.size, growth * moved))
        # where columns must come near, no more than there is memory for, beside those that have moved
        self.size = min(self.size, max(fit.design.most_near, moved + tuning.LARGEST_SET))
        if columns.size > self.size:
            columns = columns[np.argpartition(-score[columns], self.size - 1)[: self.size]]
            columns.sort()
        return self._at_hand(columns)

    def _at_hand(self, columns: Array) -> Array:
        """Where most of those that join are near, the others may wait: they come with the next look."""
        fit = self.fit
        if not fit.design.brings_columns:
            return columns
        is_near = fit.design.are_near(columns)
        joining = fit.x[columns] == 0.0
        are_there = 2 * np.count_nonzero(is_near & joining) >= np.count_nonzero(joining)
        return columns[is_near | ~joining] if are_there else columns

    def _share(self, held: int) -> float:
        if not self.fit.samples.is_quadratic:
            return tuning.NEWTON_SHARE
        if held == self.fit.n:
            return 0.0
        if self.fit.design.brings_columns:  # a round is dearer than sweeps
            return tuning.LAST_SHARE
        steps = tuning.FEW_STEPS * held**3 / (3.0 * tuning.BLOCKED_GAIN) + tuning.OVERHEAD
        is_cheap = steps <= self.fit.design.entries()
        return tuning.LAST_SHARE if is_cheap and held < self.size else tuning.SHARE


class AllThatMove:
    """Sweeps over all that are not at rest, in random order: small sets would solve a part well and spoil the rest."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.passes = fit, tuning.PASSES

    def task(self, assessment: Assessment, tolerance: float, is_idle: bool) -> Task:
        fit, listed = self.fit, assessment.candidates
        columns = listed[assessment.score[listed] > 0.0]
        target = 0.0 if is_idle else violation_allowed(fit, assessment, tolerance, tuning.DENSE_SHARE)
        sweeps = max(tuning.FEWEST_PASS_SWEEPS, int(self.passes * fit.n / max(columns.size, 1)))
        return Task(columns, target, sweeps, by_columns=True)

    def slow_down(self, is_slow: bool) -> None:
        self.passes *= tuning.LONGER_ROUND if is_slow else 1.0
