"""The optimality check: which blocks may still move, the objective, the gap and the largest violation.

The gap is first estimated from the balls of ``bounds``, by the formulas of the certificate without their rounding
errors: this is what the solver steers by.  Where the estimate is small enough, ``certify`` proves it.

Most blocks are at rest at this point, whatever their ball leaves open: zero, where the penalty has a kink, fulfils
their optimality condition.  Only the others, the candidates, are read and summed up.  Other than in gap-safe screening
(Fercoq, Gramfort, Salmon 2015) none is discarded for good: a block may move later.  Where the dual allows only a
product of 0 (an unpenalised column), no scale helps: while the solver runs, such coordinates count by their violation
alone, and the gap is not complete.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.contracts import users_classes
from ascd.matrix.base import DataGone, as_block
from ascd.matrix.columns import UNIT
from ascd.problem.certificate import certify
from ascd.problem.terms import subgradients
from ascd.results import Status
from ascd.solver import tuning
from ascd.solver.bounds import GradientBounds
from ascd.solver.state import State


class Report(NamedTuple):
    """How good the point is.

    ``gap`` is the duality gap; it ``is_complete`` where a dual point accounts for every coordinate.  Those that none
    fits count by their violation, also in ``first_order`` (inf where there are none).  ``violation`` is the largest
    possible.
    """

    objective: float
    gap: float
    violation: float
    is_complete: bool
    first_order: float


class OptimalityCheck:
    """The check of a state with its bounds; ``candidates`` are not surely at rest, and have a ``score`` each."""

    def __init__(self, state: State, bounds: GradientBounds) -> None:
        self.state, self.bounds = state, bounds
        self.candidates: Array = np.empty(0, dtype=np.int64)
        self.report, self.failures = Report(math.inf, math.inf, math.inf, False, math.inf), 0

    def evaluate(self, may_read: bool = True) -> None:
        """Read the blocks whose balls leave open whether they are optimal; then estimate the gap from the candidates.

        Without ``may_read`` from the balls as they are.
        """
        state, bounds, terms = self.state, self.bounds, self.state.terms
        self.candidates = listed = terms.screen(state.x, bounds.estimate, bounds.radius)
        if may_read and not bounds.is_exact(state.raw_gradient):
            undecided = listed[(terms.score[listed] > 0.0) & (bounds.radius[listed] > 0.0)]
            if undecided.size and state.n <= state.matrix.at_once:  # one round trip for all of them
                bounds.read_all(state.raw_gradient)
            elif undecided.size:
                is_fetched = state.matrix.brings_columns and terms.is_by_coordinate
                bounds.read(undecided, state.raw_gradient, self._products_and_worst if is_fetched else None)
            if undecided.size > tuning.LARGEST_SET:  # most of them turn out to be at rest
                self.candidates = listed = terms.screen(state.x, bounds.estimate, bounds.radius)
        interval, seen = (state.x, bounds.estimate, bounds.radius, listed), state.seen
        scale, violation, cost, gap, is_complete = terms.measure(*interval)
        gap += state.loss.gap(seen.predictor, seen.raw_gradient, np.empty(0), scale)
        self.report = Report(float(seen.value + cost), gap, violation, is_complete, math.inf if is_complete else gap)

    def _products_and_worst(self, columns: Array) -> Array:
        """Return the products of these columns of a remote matrix; the worst of them come too and are cached."""
        state = self.state
        low, high = np.empty((2, state.n))
        subgradients(state.penalty, state.x.ravel(), low, high)
        most = max(tuning.LARGEST_SET, 2 * state.support.size)
        gradient = state.raw_gradient.ravel()
        return state.matrix.dots_and_worst(columns, gradient, low[columns], high[columns], most)[:, None]

    def settle(self, enough: float = 0.0) -> None:
        """Compute everything known of the point anew, and its certificate, no tighter than ``enough``."""
        self._renew(reads_all=True)
        if math.isfinite(self.report.objective):
            self._certify(enough)
        else:
            self.report = self.report._replace(gap=math.inf)

    def settle_without_data(self, enough: float) -> None:
        """Certify from what is known where no column can be read any more; a gap of inf where that is nothing."""
        if self.state.is_postponed:  # row chunks have reported on this point
            return
        self.bounds.update(self.state.raw_gradient)
        self.evaluate(may_read=False)
        try:
            self._certify(enough)
        except DataGone:
            self.report = self.report._replace(gap=math.inf)

    def confirm(self, tolerance: float, reads_all: bool) -> Status | None:
        """Return the status if one is proved: from exact entries of all columns if ``reads_all``, else from balls."""
        self._renew(reads_all)
        can_fit = self._certify(tolerance)
        if self.report.gap <= tolerance:
            return Status.CONVERGED
        self.failures += not can_fit or self.is_nonconvex
        if self.failures >= tuning.MOST_ATTEMPTS and self.is_stationary(tolerance):
            return Status.STATIONARY
        self.evaluate()
        return None

    def _renew(self, reads_all: bool) -> None:
        """Compute the predictor and the gradient anew where they are not exact, and the report."""
        state, bounds = self.state, self.bounds
        if not (state.is_fresh and bounds.is_exact(state.raw_gradient)):
            if not (state.is_fresh and reads_all):
                state.recompute()
            (bounds.read_all if reads_all else bounds.update)(state.raw_gradient)
        self.evaluate(may_read=False)

    def _certify(self, enough: float) -> bool:
        """Put what is proved into the report; return whether unpenalised columns have a dual point."""
        state, bounds = self.state, self.bounds
        reads = bounds.reads
        given = bounds.estimate, bounds.radius, lambda dual: bounds.read_all(dual).copy()
        gap, can_fit = certify(state.problem, state.terms, state.point, *given, enough)
        # a penalty whose own violation is no number proves nothing
        gap = math.inf if math.isnan(self.report.violation) else gap
        self.report = self.report._replace(gap=gap, is_complete=True)
        if bounds.reads > reads:  # at another dual point
            bounds.update(state.raw_gradient)
        return can_fit

    @property
    def is_nonconvex(self) -> bool:
        """Return whether the penalty says that it is not convex: then few certificates are tried."""
        return bool(getattr(self.state.penalty, "is_nonconvex", bool)())

    def is_stationary(self, tolerance: float) -> bool:
        """Return whether first-order conditions hold, where there are coordinates that no dual point fits.

        The Newton step of each by itself must gain less than the tolerance: where the loss has no curvature it gains
        much.  With a penalty that may not be convex those of all candidates count in place of the gap.
        """
        state, gain, listed = self.state, self.report.first_order, self.candidates
        if np.isnan(state.terms.score[listed]).any():  # of a penalty whose subgradient is no number nothing is known
            return False
        # scores of blocks are infinite where they are not zero, with a penalty or without
        free = listed[np.isinf(state.terms.score[listed])] if state.terms.is_by_coordinate else state.terms.unpenalised
        if state.terms.is_by_coordinate and (self.is_nonconvex or users_classes(state.penalty)):
            gain, free = 0.0, listed
        for start in range(0, free.size, tuning.LARGEST_SET):
            if not gain <= tolerance:
                break
            gain += self._own_gains(self.bounds.rows(free[start : start + tuning.LARGEST_SET]))
        return bool(gain <= tolerance)

    def _own_gains(self, rows: Array) -> float:
        """Return what the Newton steps of free coefficients would gain, each by itself, from their own entries.

        Beside an intercept a column counts less its mean.
        """
        state, seen, total = self.state, self.state.seen, 0.0
        low, high = np.zeros((2, state.n))
        if state.terms.is_by_coordinate:
            subgradients(state.penalty, state.x.ravel(), low, high)
        block = as_block(state.matrix.take(state.order[rows]), state.d)
        for t in range(state.outputs):
            own = state.loss.own_curvature(seen, t)
            with np.errstate(all="ignore"):
                centred = block - (own @ block / own.sum() if state.intercept and own.any() else 0.0)
                curvature = own @ centred**2
                # of a constant column beside the intercept rounding is left, here and there
                size = own @ block**2
                is_constant = (size > 0.0) & (curvature <= ((state.d + 8.0) * UNIT) ** 2 * size)
                g = seen.raw_gradient[:, t] @ centred
                violation = np.maximum(0.0, np.maximum(g + low[rows], -g - high[rows]))
                step = np.divide(violation, curvature, out=np.zeros(rows.size), where=(violation != 0.0) & ~is_constant)
                total += float(violation @ (np.abs(state.x[rows, t]) + step))
        return total
