"""What is known of the point: bounds on all gradient entries, candidates, the gap that follows, and its proof."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import DataGone
from ascd.problem.problem import Parts
from ascd.problem.proof import Certificate, Place, Products, prove
from ascd.results.solution import Status
from ascd.solver import tuning
from ascd.solver.fit import Fit
from ascd.solver.gradient_bounds import GradientBounds, Rest
from ascd.solver.screening import add_gap_terms, scale_and_cost, screen, subgradients, worst_violation


class Standing(NamedTuple):
    """How good the point is.

    ``gap`` is the duality gap, certain or not; ``violation`` the largest possible; ``first_order`` the gap that counts
    coordinates which no dual point fits by their violation (inf where there are none).
    """

    objective: float
    gap: float
    violation: float
    is_certain: bool
    first_order: float


NOTHING = Standing(math.inf, math.inf, math.inf, False, math.inf)


class Assessment:
    """The fit with its bounds; ``candidates`` are not surely at rest, and have a ``score`` each."""

    def __init__(self, fit: Fit, parts: Parts, bounds: GradientBounds) -> None:
        self.fit, self.parts, self.bounds = fit, parts, bounds
        self.score, self.candidates = np.empty(fit.n), np.empty(0, dtype=np.int64)
        self.places = np.empty(fit.n, dtype=np.int64)
        self.standing = NOTHING
        self.attempts = 0

    def look(self) -> None:
        """Intervals, and exact entries where they leave open whether a coordinate is at rest; then the gap."""
        self.screen()
        if self.bounds.is_moved:
            listed = self.candidates
            undecided = listed[(self.score[listed] > 0.0) & (self.bounds.radius[listed] > 0.0)]
            if undecided.size and self.fit.design.in_rounds:  # one round for all of them
                self.bounds.read_all(self.fit.slope)
            elif undecided.size:
                self.bounds.read(undecided, self.fit.slope, self._rest())
        self.measure()

    def _rest(self) -> Rest | None:
        """Where columns can come near with their products: what they must leave for that."""
        fit = self.fit
        if not fit.design.brings_columns:
            return None
        low, high = np.empty(fit.n), np.empty(fit.n)
        subgradients(fit.penalty, fit.x, low, high)
        return Rest(low, high, max(tuning.LARGEST_SET, tuning.MOST_BROUGHT * int(np.count_nonzero(fit.x))))

    def screen(self) -> None:
        """Which coordinates are not surely at rest?"""
        fit, bounds = self.fit, self.bounds
        count = screen(fit.penalty, fit.x, bounds.estimate, bounds.radius, fit.norm, self.score, self.places)
        self.candidates = self.places[:count]

    def measure(self, is_proved_next: bool = False) -> None:
        """The duality gap from the intervals of the candidates; not where a proof of a finite one follows."""
        fit, interval = self.fit, (self.bounds.estimate, self.bounds.radius)
        scale, violation, cost, loose = scale_and_cost(
            fit.penalty, fit.x, *interval, fit.norm, self.candidates, self.score
        )
        gap, is_finite = add_gap_terms(fit.penalty, fit.x, *interval, self.candidates, scale, loose)
        is_certain = is_finite and loose == 0.0
        gap += math.inf if is_proved_next and is_certain else fit.samples.gap(fit.image, fit.slope, scale)
        first_order = math.inf if is_certain else gap
        self.standing = Standing(float(fit.loss_sum + cost), gap, violation, is_certain, first_order)

    def settle(self, enough: float = 0.0) -> None:
        """Everything known of the point computed afresh, and its certificate; no tighter than ``enough``."""
        self._read_afresh()
        if math.isfinite(self.standing.objective):
            self._prove(enough)
        else:
            self.standing = self.standing._replace(gap=math.inf)

    def settle_from_intervals(self, enough: float) -> None:
        """What can be proved where no column can be read any more; inf where that is nothing."""
        if self.fit.is_behind:  # what is known of the point is known already
            return
        self.bounds.locate(self.fit.slope)
        self.screen()
        self.measure()
        try:
            self._prove(enough)
        except DataGone:
            self.standing = self.standing._replace(gap=math.inf)

    def confirm(self, tolerance: float, is_last: bool) -> Status | None:
        """Does a proof hold what the gap says?  Computed afresh, from exact entries where the point ``is_last``."""
        if is_last:
            self._read_afresh()
        elif not self._is_afresh():
            self.fit.recompute()
            self.bounds.locate(self.fit.slope)
            self.screen()
            self.measure(is_proved_next=True)
        can_fit = self._prove(tolerance).can_fit
        if self.standing.gap <= tolerance:
            return Status.CONVERGED
        self.attempts += not can_fit
        if self.attempts >= tuning.MOST_ATTEMPTS and self.is_stationary(tolerance):
            return Status.STATIONARY
        self.look()
        return None

    def _is_afresh(self) -> bool:
        """Where a pass is dear, what one has just shown is not asked again."""
        return self.fit.design.is_dear and self.fit.is_fresh and not self.bounds.is_moved

    def _read_afresh(self) -> None:
        if not self._is_afresh():
            self.fit.recompute()
            self.bounds.read_all(self.fit.slope)
        self.screen()
        self.measure(is_proved_next=True)

    def _prove(self, enough: float) -> Certificate:
        fit, bounds = self.fit, self.bounds
        place = Place(fit.x, fit.constant, fit.image, fit.slope, fit.curvature, fit.intercept)
        products = Products(bounds.estimate, bounds.radius, self._read_dual)
        reads = bounds.reads
        proved = prove(fit.design, self.parts, fit.penalty, place, products, enough)
        self.standing = self.standing._replace(gap=proved.gap, is_certain=True)
        if bounds.reads > reads:  # at another dual point
            bounds.locate(fit.slope)
        return proved

    def _read_dual(self, dual: Array) -> Array:
        self.bounds.read_all(dual)
        return self.bounds.estimate.copy()

    def is_stationary(self, tolerance: float) -> bool:
        """Do first-order conditions hold, where there are coordinates that no dual point fits?

        The Newton step of each by itself must gain less than the tolerance: where the loss has no curvature it gains
        much.
        """
        fit, gain = self.fit, self.standing.first_order
        if np.isnan(self.score[self.candidates]).any():  # of a penalty whose subgradient is no number nothing is known
            return False
        for j in self.candidates[self.score[self.candidates] == math.inf]:
            one = np.array([j])
            violation = float(worst_violation(fit.penalty, fit.x, self.bounds.estimate, one))
            if violation > 0.0:
                curvature = self._curvature_along(one)
                gain += violation * (abs(fit.x[j]) + violation / curvature) if curvature > 0.0 else math.inf
        return bool(gain <= tolerance)

    def _curvature_along(self, one: Array) -> float:
        """Σ_k H_k·(a_kj − m_j)²."""
        fit = self.fit
        mean, total = float(fit.means[one[0]]), float(fit.curvature.sum())
        square, product = fit.design.squares(fit.curvature, one), fit.design.dots(one, fit.curvature)
        return float(square[0] - mean * (2.0 * product[0] - mean * total))
