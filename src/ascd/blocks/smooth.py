"""Where F is smooth (a ridge on every block and nothing else), no block rests: limited-memory BFGS on all at once.

Working sets are made for few blocks, and here all take part.  L-BFGS (``bfgs``) needs two products with the data a
step, for all outputs together, or with smaller matrices in better variables (``variables``).  It ends where

    Σ_b ‖∇_b F‖² / (2·ridge_b)  ≤  a share of the tolerance,

which is about the gap of the slope as a dual point.  What it reaches is looked at and proved as every other point; the
usual steps go on where it ends without that, or makes no more progress.

Few coefficients on many sparse samples are left to the usual steps from the start, with all blocks in the working set:
their models are Newton's, and the matrix of one costs less than ten steps of L-BFGS.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.blocks import tuning
from ascd.blocks.bfgs import Line, Pairs, Vector, search
from ascd.blocks.fit import Fit
from ascd.blocks.variables import variables_of
from ascd.problem.penalties.blocks import BlockNorm
from ascd.problem.problem import Problem


class Smooth:
    """Steps on all blocks at once; ``is_over`` where they do not help any more."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.penalty, self.is_over = fit, None, False
        self.is_for_newton = is_for_newton(fit.problem)
        is_few = fit.x.size < tuning.FEW_COEFFICIENTS
        self.share = self.first_share = tuning.FINE_SHARE if is_few else tuning.SMOOTH_SHARE

    def applies(self) -> bool:
        """Is F smooth, curved in every coordinate and not minimised by one model, or few?"""
        penalty, loss = self.fit.penalty, self.fit.problem.loss
        if penalty is not self.penalty:  # another one on the path: a fresh start
            self.penalty, self.share, self.is_over = penalty, self.first_share, False
        is_left = self.is_over or self.is_for_newton or loss.is_quadratic
        return not is_left and self._is_smooth() and math.isfinite(loss.bound)

    def takes_all(self) -> bool:
        """Do all blocks move, and have a matrix together?"""
        return self.is_for_newton and self._is_smooth()

    def _is_smooth(self) -> bool:
        penalty = self.fit.penalty
        return isinstance(penalty, BlockNorm) and penalty.is_smooth() and bool((penalty.ridge > 0.0).all())

    def improve(self, tolerance: float, until: float) -> None:
        """Go down until a gap of a share of the tolerance is likely, or until the time ``until``."""
        fit, descent = self.fit, _Descent(self.fit, self.share * tolerance, until)
        self.share *= tuning.SMOOTH_AGAIN
        start = descent.point
        try:
            self.is_over = not descent.run()
        finally:  # also where the user ends it
            if descent.point is start:
                self.is_over = True
            else:
                fit.x[:], fit.constant = descent.coefficients(), descent.constants()
                fit.moved[:] = np.logical_or.reduceat(fit.x.any(axis=1), fit.problem.groups.starts[:-1])
                fit.recompute()


def is_for_newton(problem: Problem) -> bool:
    """Is the matrix of all coefficients (``coupled_gram``) quickly made and factorised?"""
    d, n = problem.n_samples, problem.n_features
    size, share = n * problem.n_outputs, problem.design.entries() / (d * n)
    is_small = tuning.FEW_COEFFICIENTS <= size <= tuning.LARGEST_COUPLED and size * size <= tuning.TALL_FOR_NEWTON * d
    return bool(problem.loss.is_coupled and is_small and share * share * size <= tuning.PAIRS_FOR_NEWTON)


class _Point(NamedTuple):
    """A vector with its image, and the gradient of Ψ there; both are linear."""

    at: Vector
    image: Array
    bent: Array

    def cost(self, other: _Point) -> float:
        """⟨x, Ψ′(other)⟩: twice Ψ where both are the same."""
        return float(self.at.dual[: self.bent.size] @ other.bent.ravel())


class _Descent:
    """One run of L-BFGS, always at the lowest point that it has met."""

    def __init__(self, fit: Fit, enough: float, until: float) -> None:
        self.fit, self.enough, self.until = fit, enough, until
        self.variables = variables_of(fit)
        self.shape, self.size = self.variables.start.shape, self.variables.start.size
        self.look = fit.problem.loss.value_and_slope
        constants = fit.constant / self.variables.unit if fit.intercept else np.empty(0)
        plain = np.concatenate([self.variables.start.ravel(), constants])
        self.point = self._known(Vector(plain, plain.copy() if self.variables.has_duals else plain))  # a start of 0

    def run(self) -> bool:
        """Has it come as far as was asked?"""
        pairs = Pairs(self.point.at.plain.size, self.variables.has_duals)
        value, slopes = self.look(self.point.image)
        value, gradient = value + 0.5 * self.point.cost(self.point), self._gradient(slopes, self.point)
        for _ in range(tuning.SMOOTH_STEPS):
            left = self.variables.gap_of(self._part(gradient.plain), self._part(gradient.dual))
            if left <= self.enough:
                return True
            if not math.isfinite(left) or time.perf_counter() > self.until:
                return False
            way = self._known(pairs.direction(gradient))
            start = Line(value, float(gradient.dual @ way.at.plain), slopes)
            found = search(self._along(way), start, 1.0 if pairs.order else self._first_length(way, start))
            if found is None and not pairs.order:
                return False
            if found is None:  # rounding has spoiled the pairs
                pairs = Pairs(self.point.at.plain.size, self.variables.has_duals)
                continue
            length, (value, _, slopes) = found
            self.point = self._moved(length, way)
            before, gradient = gradient, self._gradient(slopes, self.point)
            pairs.add(length, way.at, before, start.slope, gradient)
        return False

    def _known(self, at: Vector) -> _Point:
        """The image, and the gradient of Ψ."""
        part = self._part(at.plain)
        image = self._part(at.dual).copy() if self.variables.has_duals else self.variables.image(part)
        if self.fit.intercept:
            image += self.variables.unit * at.plain[self.size :]
        return _Point(at, image, self.variables.bend(part))

    def _moved(self, length: float, way: _Point) -> _Point:
        here = self.point
        at = here.at.plus(length, way.at)
        bent = self._part(at.plain) if self.variables.has_duals else here.bent + length * way.bent
        return _Point(at, here.image + length * way.image, bent)

    def _gradient(self, slopes: Array, point: _Point) -> Vector:
        part = self.variables.pull(slopes, point.bent)
        constants = self.variables.unit * slopes.sum(axis=0) if self.fit.intercept else np.empty(0)
        plain = np.concatenate([part.ravel(), constants])
        if not self.variables.has_duals:
            return Vector(plain, plain)
        return Vector(plain, np.concatenate([self.variables.dual(part).ravel(), constants]))

    def _along(self, way: _Point) -> Callable[[float], Line]:
        here, (own, cross) = self.point, (way.cost(way), way.cost(self.point))
        cost = 0.5 * here.cost(here)

        def at(length: float) -> Line:
            value, slopes = self.look(here.image + length * way.image)
            bent = cost + length * (cross + 0.5 * length * own)
            return Line(value + bent, float(np.vdot(slopes, way.image)) + cross + length * own, slopes)

        return at

    def _first_length(self, way: _Point, start: Line) -> float:
        """Newton's along the line."""
        curvature = self.fit.problem.loss.look(self.point.image).curvature
        bent = float(np.vdot(way.image, curvature.times(way.image))) + way.cost(way)
        length = -start.slope / bent if bent > 0.0 else 1.0
        return length if math.isfinite(length) and length > 0.0 else 1.0

    def _part(self, vector: Array) -> Array:
        return vector[: self.size].reshape(self.shape)

    def coefficients(self) -> Array:
        return self.variables.coefficients(self._part(self.point.at.plain))

    def constants(self) -> Array:
        """Those of the intercept; where there is none, 0."""
        return self.variables.unit * self.point.at.plain[self.size :] if self.fit.intercept else self.fit.constant
