"""What is proved of the point: intervals for all gradient entries, and the duality gap that follows from them."""

from __future__ import annotations

import math

import numpy as np

from ascd._checks import Array
from ascd.duality import fitted_slope, required_products
from ascd.problem import Problem
from ascd.solver.certificate import look_over, survey
from ascd.solver.knowledge import Knowledge
from ascd.solver.search import Search

#: Rounds of fitting the dual point: what fits some coordinates may push others over their end.
MOST_FITS = 3
#: Rounds in which a dual point is looked for after the violations alone are small enough.
MOST_ATTEMPTS = 4


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

    def settle(self) -> None:
        """After an end anywhere: everything known of the point at x, computed afresh, and its exact certificate."""
        self.recompute_image()
        everything = np.arange(self.n)
        self.knowledge.read(everything, self.slope)
        self.look_over()
        self.survey(strict=True)
        if math.isfinite(self.objective):
            self._fit_dual(everything)

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

    def survey(self, strict: bool = False, slope: Array | None = None) -> None:
        know, parts = self.knowledge, self.parts
        self.gap, self.steepest, self.cost, self.is_certain = survey(
            parts.sample, parts.loss, self.penalty, self.x, self.image, self.slope if slope is None else slope,
            know.estimate, know.radius, parts.norm, self.unsettled, self.score, strict,
        )  # fmt: skip
        self.objective = float(self.loss_sum + self.cost)

    def confirm(self, tolerance: float) -> bool:
        """Does the certificate hold at an image computed afresh and from exact entries alone?"""
        self.recompute_image()
        everything = np.arange(self.n)
        self.knowledge.read(everything, self.slope)
        self.look_over()
        self.survey()
        estimated = self.gap
        if not self.is_certain:
            self.survey(strict=True)
            if self.gap > tolerance >= estimated:
                self._fit_dual(everything)
        if self.gap <= tolerance:
            return True
        self.attempts += estimated <= tolerance
        if self.attempts >= MOST_ATTEMPTS:
            return True
        self.survey_open()
        return False

    def _fit_dual(self, everything: Array) -> None:
        """The certificate for a dual point that fits the coordinates which no scale fits, if they are few."""
        gap, steepest, know = self.gap, self.steepest, self.knowledge
        slope, columns = self.slope, everything[:0]
        for _ in range(MOST_FITS):
            required = know.estimate.copy()
            required_products(self.penalty, self.x, required)
            required[columns[np.isnan(required[columns])]] = know.estimate[columns[np.isnan(required[columns])]]
            columns = np.flatnonzero(~np.isnan(required))
            excess = know.estimate[columns] - required[columns]
            fitted = fitted_slope(self.parts.matrix, self.intercept, self.curvature, slope, columns, excess)
            if fitted is None:
                break
            slope = fitted
            know.read(everything, slope)
            know.estimate[columns] = required[columns]
            self.look_over()
            self.survey(strict=True, slope=slope)
            gap = min(gap, self.gap)
        self.gap, self.steepest = gap, steepest
        know.locate(self.slope)
