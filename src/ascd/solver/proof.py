"""What is proved of the point: intervals for all gradient entries, and the duality gap that follows from them."""

from __future__ import annotations

import math

import numpy as np

from ascd._base.checks import Array
from ascd.problem.problem import Problem
from ascd.problem.proof import Place, Products, prove
from ascd.results.solution import Status
from ascd.solver.certificate import curvature_along, look_over, survey, worst_violation
from ascd.solver.knowledge import Knowledge
from ascd.solver.search import Search

#: Rounds in which a dual point is looked for that cannot be fitted, before first-order conditions decide.
MOST_ATTEMPTS = 3


class Proof(Search):
    """A state with its certificate: ``gap``, ``steepest`` (the largest violation), and a ``score`` a coordinate.

    ``unsettled`` lists the coordinates that are not surely at rest at zero.
    """

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: float, n_jobs: int) -> None:
        super().__init__(problem, x, intercept, constant)
        self.knowledge = Knowledge(self.parts, intercept, n_jobs)
        self.score, self.unsettled = np.empty(self.n), np.empty(0, dtype=np.int64)
        self.places = np.empty(self.n, dtype=np.int64)
        self.gap = self.steepest = self.objective = math.inf
        self.attempts = 0

    @property
    def reads(self) -> int:
        """Columns read so far."""
        return self.knowledge.reads + self.other_reads

    def settle(self, enough: float = 0.0) -> None:
        """Everything known of the point at x, computed afresh, and its certificate; no tighter than ``enough``."""
        self._read_afresh()
        self.gap = math.inf
        if math.isfinite(self.objective):
            self._prove(enough)

    def _read_afresh(self) -> None:
        self.recompute_image()
        self.knowledge.read(np.arange(self.n), self.slope)
        self.look_over()
        self.survey()

    def survey_open(self) -> None:
        """Intervals, and exact entries where they leave open whether a coordinate is at rest."""
        self.look_over()
        if self.knowledge.is_moved:
            listed = self.unsettled
            undecided = listed[(self.score[listed] > 0.0) & (self.knowledge.radius[listed] > 0.0)]
            if undecided.size:
                self.knowledge.read(undecided, self.slope)
        self.survey()

    def look_over(self) -> None:
        """Which coordinates are not surely at rest?"""
        know = self.knowledge
        count = look_over(self.penalty, self.x, know.estimate, know.radius, self.parts.norm, self.score, self.places)
        self.unsettled = self.places[:count]

    def survey(self) -> None:
        know, parts = self.knowledge, self.parts
        self.gap, self.steepest, self.cost, self.is_certain = survey(
            parts.sample, parts.loss, self.penalty, self.x, self.image, self.slope, know.estimate, know.radius,
            parts.norm, self.unsettled, self.score,
        )  # fmt: skip
        self.first_order_gap = math.inf if self.is_certain else self.gap
        self.objective = float(self.loss_sum + self.cost)

    def confirm(self, tolerance: float, is_last: bool) -> Status | None:
        """Does a proof hold what the survey says?  Computed afresh, from exact entries where the point ``is_last``."""
        if is_last:
            self._read_afresh()
        else:
            self.recompute_image()
            self.knowledge.locate(self.slope)
            self.look_over()
            self.survey()
        can_fit = self._prove(tolerance)
        if self.gap <= tolerance:
            return Status.CONVERGED
        self.attempts += not can_fit
        if self.attempts >= MOST_ATTEMPTS and self.is_stationary(tolerance):
            return Status.STATIONARY
        self.survey_open()
        return None

    def _prove(self, enough: float) -> bool:
        know = self.knowledge
        place = Place(self.x, self.constant, self.image, self.slope, self.curvature, self.intercept)
        products = Products(know.estimate, know.radius, self._read_dual)
        self.gap, can_fit = prove(self.parts, self.penalty, place, products, enough)
        self.is_certain = True
        know.locate(self.slope)
        return can_fit

    def _read_dual(self, dual: Array) -> Array:
        self.knowledge.read(np.arange(self.n), dual)
        return self.knowledge.estimate.copy()

    def is_stationary(self, tolerance: float) -> bool:
        """Do first-order conditions hold, where the survey had coordinates that no dual point fits?

        Their own Newton steps must gain less than the tolerance: where the loss has no curvature they gain much.
        """
        listed, know, gain = self.unsettled, self.knowledge, self.first_order_gap
        for j in listed[self.score[listed] == math.inf]:
            violation = float(worst_violation(self.penalty, self.x, know.estimate, np.array([j])))
            if violation > 0.0:
                curvature = float(curvature_along(self.parts.matrix, j, self.curvature, self.means[j]))
                gain += violation * (abs(self.x[j]) + violation / curvature) if curvature > 0.0 else math.inf
        return gain <= tolerance
