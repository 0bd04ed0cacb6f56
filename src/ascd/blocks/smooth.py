"""Where F is smooth (a ridge on every block and nothing else), no block rests: limited-memory BFGS on all at once.

Working sets are made for few blocks, and here all take part.  SciPy's L-BFGS needs two products with the data a step,
for all outputs together, or with smaller matrices in better variables (``variables``).  It ends where

    Σ_b ‖∇_b F‖² / (2·ridge_b)  ≤  a share of the tolerance,

which is about the gap of the slope as a dual point.  What it reaches is looked at and proved as every other point; the
usual steps go on where it ends without that, or makes no more progress.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd.blocks import tuning
from ascd.blocks.fit import Fit
from ascd.blocks.norm import BlockNorm
from ascd.blocks.variables import variables_of


class _Enough(Exception):
    """The gradient is small enough, or the time is over."""


class Smooth:
    """Steps on all blocks at once; ``is_over`` where they do not help any more."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.share, self.penalty, self.is_over = fit, tuning.SMOOTH_SHARE, None, False

    def applies(self) -> bool:
        """Is F smooth, curved in every coordinate, not minimised by one model, and of many coefficients?"""
        penalty, loss = self.fit.penalty, self.fit.problem.loss
        if self.fit.x.size < tuning.SMALLEST_SMOOTH:
            return False
        if penalty is not self.penalty:  # another one on the path: a fresh start
            self.penalty, self.share, self.is_over = penalty, tuning.SMOOTH_SHARE, False
        is_smooth = isinstance(penalty, BlockNorm) and penalty.is_smooth() and bool((penalty.ridge > 0.0).all())
        return is_smooth and not self.is_over and not loss.is_quadratic and math.isfinite(loss.bound)

    def improve(self, tolerance: float, until: float) -> None:
        """Go down until a gap of a share of the tolerance is likely, or until the time ``until``."""
        fit, descent = self.fit, _Descent(self.fit, self.share * tolerance, until)
        start = fit.seen.value + fit.cost()
        self.share *= tuning.SMOOTH_AGAIN
        try:
            self.is_over = not descent.run()
        finally:  # also where the user ends it
            if descent.lowest < start:
                fit.x[:], fit.constant = descent.coefficients(), descent.constants()
                fit.moved[:] = np.logical_or.reduceat(fit.x.any(axis=1), fit.problem.groups.starts[:-1])
                fit.recompute()
            else:
                self.is_over = True


class _Descent:
    """One run of L-BFGS, and the lowest point that it has met."""

    def __init__(self, fit: Fit, enough: float, until: float) -> None:
        self.fit, self.enough, self.until = fit, enough, until
        self.variables = variables_of(fit)
        self.shape = self.variables.start.shape
        constants = fit.constant / self.variables.unit if fit.intercept else np.empty(0)
        self.point = np.concatenate([self.variables.start.ravel(), constants])
        self.lowest, self.left, self.unit = math.inf, math.inf, 1.0

    def run(self) -> bool:
        """Has it come as far as was asked?"""
        from scipy.optimize import minimize

        self.unit = abs(self.fit.seen.value + self.fit.cost()) or 1.0
        limits = {"maxiter": tuning.SMOOTH_STEPS, "maxfun": 2 * tuning.SMOOTH_STEPS, "ftol": 0.0, "gtol": 0.0}
        with suppress(_Enough):
            minimize(
                self._value, self.point.copy(), jac=True, method="L-BFGS-B", callback=self._watch,
                options=limits | {"maxcor": tuning.SMOOTH_MEMORY},
            )  # fmt: skip
        return self.left <= self.enough

    def _value(self, point: Array) -> tuple[float, Array]:
        """F and its gradient, in units of F at the start."""
        fit, at = self.fit, self._part(point)
        image = self.variables.image(at)
        if fit.intercept:
            image += self.variables.unit * point[at.size :]
        seen, (cost, bent) = fit.problem.loss.look(image), self.variables.cost(at)
        gradient = self.variables.pull(seen.slope) + bent
        if seen.value + cost < self.lowest:
            self.lowest, self.point, self.left = seen.value + cost, point.copy(), self.variables.gap_of(gradient)
        constants = self.variables.unit * seen.slope.sum(axis=0) if fit.intercept else np.empty(0)
        whole = np.concatenate([gradient.ravel(), constants])
        return (seen.value + cost) / self.unit, whole / self.unit

    def _watch(self, *_: Any) -> None:
        if self.left <= self.enough or time.perf_counter() > self.until:
            raise _Enough

    def _part(self, point: Array) -> Array:
        return point[: math.prod(self.shape)].reshape(self.shape)

    def coefficients(self) -> Array:
        return self.variables.coefficients(self._part(self.point))

    def constants(self) -> Array:
        """Those of the intercept; where there is none, 0."""
        return self.variables.unit * self.point[math.prod(self.shape) :] if self.fit.intercept else self.fit.constant
