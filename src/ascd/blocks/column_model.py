"""The quadratic model on a working set, read from its columns: for losses whose outputs meet, and for large sets.

    Q(Δ, δ) = ⟨V, D⟩ + ½Σ_k ⟨D_k, H_kD_k⟩ + Σ_b Ψ_b(X_b + Δ_b),        D = A_WΔ + 1δᵀ,   H_k = diag(h_k) − r_k r_kᵀ.

The slope of the smooth part, U = V + HD, follows every step; the gradient of a block is A_bᵀU.  A sweep takes one
prox step a block, with the curvature L_b = λ_max(A_bᵀ diag(most) A_b), and then the intercept's own Newton step.  On
the free coefficients, and the intercept, Newton's system is solved: as one matrix where these are few, or samples are
(``newton``), by conjugate gradients, preconditioned by the diagonal, where both are many.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.blocks import tuning
from ascd.blocks.column_sweep import sweep_columns
from ascd.blocks.losses import Curvature
from ascd.blocks.newton import direct_newton, wide_newton
from ascd.blocks.pieces import Pieces, Working, free_rows, pieces_of, try_lengths
from ascd.blocks.products import add, products
from ascd.blocks.softmax import constant_step
from ascd.matrix.base import Design, as_block
from ascd.solver import tuning as shared


class ColumnModel:
    """Q on a working set; ``x`` (m, T) are its coefficients and move, and so does ``shift``, the intercept's change."""

    def __init__(
        self, penalty: Any, design: Design, columns: Array, working: Working, lipschitz: Array, curvature: Curvature,
        slope: Array, x: Array, intercept: bool,
    ) -> None:  # fmt: skip
        self.penalty, self.design, self.columns, self.working = penalty, design, columns, working
        self.curvature, self.slope, self.x, self.intercept = curvature, slope.copy(), x, intercept
        self.shift = np.zeros(x.shape[1])
        self.part = design.take(columns)
        self.lipschitz = lipschitz
        self.rooms, self.reads = np.empty((3, working.longest)), 0
        self.block: Array | None = None
        # least squares, or one output
        self.has_one_curvature = curvature.shared is None and bool((curvature.own == curvature.most[:, None]).all())
        empty = np.empty((0, x.shape[1]))
        self.shared = empty if curvature.shared is None else curvature.shared

    def minimise(self, target: float) -> float:
        """Until no block violates its optimality condition by more than ``target``; what is left."""
        sweeps, violation, best, stale = 0, math.inf, math.inf, 0
        can_newton = hasattr(self.penalty, "block_piece")
        while sweeps < tuning.MOST_BLOCK_SWEEPS:
            for _ in range(self._between()):
                violation = self._sweep(target)
                sweeps += 1
                if violation <= target:
                    return violation
            is_fast = self.has_one_curvature and violation < tuning.FAST_FALL * best
            stale = 0 if violation < 0.9 * best else stale + 1
            best = min(best, violation)
            if stale > tuning.MOST_STALE_COLUMNS:
                break
            if is_fast:
                continue
            cuts, most = 0, 1 if self.has_one_curvature else tuning.MOST_CUTS
            while can_newton and cuts < most and self._newton_step():
                cuts += 1
        return violation

    def _between(self) -> int:
        """Where outputs share their curvatures, as many sweeps as cost what a Newton step costs."""
        if not self.has_one_curvature:
            return shared.FEWEST_SWEEPS
        (d, outputs), moved = self.slope.shape, max(int(np.count_nonzero(self.x.any(axis=1))), 1)
        products = 2.0 * d * d * moved + (moved**2 * (d + moved / 3.0) if outputs > 1 else 0.0)
        sweeps = (products / shared.BLOCKED_GAIN + tuning.BLOCK_OVERHEAD) / (4.0 * d * moved * outputs)
        return int(min(max(sweeps, shared.FEWEST_SWEEPS), shared.MOST_SWEEPS_BETWEEN))

    def _sweep(self, target: float) -> float:
        violation = sweep_columns(
            self.penalty, self.part.matrix, self.part.places, self.working.starts, self.working.blocks, self.lipschitz,
            self.curvature.own.ravel(), self.shared.ravel(), self.slope.ravel(), self.x.ravel(), self.rooms,
            self.x.shape[1], target,
        )  # fmt: skip
        self.reads += self.columns.size
        if self.intercept:
            first = self.slope.sum(axis=0)
            violation = max(violation, float(np.linalg.norm(first)) / math.sqrt(self.slope.shape[0]))
            self._move_intercept(self._intercept_step(first))
        return float(violation)

    def _intercept_step(self, first: Array) -> Array:
        """The change of the constants that brings this sum of slopes to 0."""
        total = self.curvature.own.sum(axis=0)
        if self.curvature.shared is None:
            return -np.divide(first, total, out=np.zeros(first.shape), where=total > 0.0)
        return constant_step(np.diag(total) - self.shared.T @ self.shared, first)

    def _move_intercept(self, change: Array) -> None:
        self.shift += change
        self.slope += self.curvature.times(np.broadcast_to(change, self.slope.shape))

    def _newton_step(self) -> bool:
        """True where the step was cut because coefficients became 0: without those the next one goes further.

        So it is where a sum of free coefficients does not change the losses (all classes of a feature, say).
        """
        found = pieces_of(self.penalty, self.working, self.x)
        if not found.is_free.any():
            return False
        self.reads += self.columns.size
        gradient = products(self.design, self.columns, self.slope)
        right = np.where(found.is_free, -(gradient + found.slope), 0.0)
        change = self._direction(found, right)

        whole = self._image(change)

        def model(moved: Array, length: float) -> float:
            image = length * whole
            corrected = moved - length * change  # of coefficients that are tried at 0
            if corrected.any():
                image += self._image(corrected)
            if self.intercept:
                image += self._best_constant(image)
            value = np.vdot(self.slope, image) + 0.5 * np.vdot(image, self.curvature.times(image))
            return float(value)

        promised = 0.5 * float(np.vdot(right, change))
        taken = try_lengths(self.penalty, self.working, self.x, change, model, promised)
        if taken is not None:
            image = self._image(taken)
            constant = self._best_constant(image)
            self.slope += self.curvature.times(image + constant)
            self.shift += constant
            moving = self.x != 0.0
            self.x += taken
            return bool(np.any(moving & (self.x == 0.0)))
        return False

    def _direction(self, found: Pieces, right: Array) -> Array:
        """Newton's direction, from one dense matrix where that is small."""
        wide = self._wide_direction(right)
        if wide is not None:
            return wide
        constant = -self.slope.sum(axis=0)
        count = int(found.is_free.sum())
        work = count**2 * (self.slope.shape[0] + count)
        if count <= tuning.LARGEST_DENSE and work <= tuning.MOST_DENSE_WORK:
            rows = np.flatnonzero(found.is_free.any(axis=1))
            if self.block is None:
                self.block = as_block(self.part, self.slope.shape[0])
            starts = np.searchsorted(rows, self.working.starts)
            some = Pieces(*(part[rows] for part in found))
            solved = direct_newton(
                self.block[:, rows], self.curvature, some, starts, right[rows], constant if self.intercept else None
            )
            if solved is not None:
                change = np.zeros(right.shape)
                change[rows] = solved[0]
                return change
        return self._conjugate_gradients(found, right, constant * self.intercept)[0]

    def _wide_direction(self, right: Array) -> Array | None:
        """Newton's direction where outputs share their curvatures and free columns outnumber the samples."""
        d = self.slope.shape[0]
        if not self.has_one_curvature or self.columns.size < d or d * self.columns.size > tuning.LARGEST_WIDE:
            return None
        found = free_rows(self.penalty, self.working, self.x)
        if found is None or found.rows.size < d:
            return None
        if self.block is None:
            self.block = as_block(self.part, d)
        block, weight = self.block[:, found.rows], self.curvature.most
        if self.intercept:
            block = block - (weight @ block) / weight.sum()
        self.reads += found.rows.size
        step = wide_newton(block, weight, found, right[found.rows])
        if step is None or not np.isfinite(step).all():
            return None
        change = np.zeros(right.shape)
        change[found.rows] = step
        return change

    def _best_constant(self, image: Array) -> Array:
        """The intercept's change that lowers Q most after a step with this image."""
        if not self.intercept:
            return np.zeros(image.shape[1])
        first = self.slope.sum(axis=0) + self.curvature.times(image).sum(axis=0)
        return self._intercept_step(first)

    def _image(self, change: Array) -> Array:
        if self.block is not None:
            product: Array = self.block @ change
            return product
        image = np.zeros(self.slope.shape)
        moved = np.flatnonzero(change.any(axis=1))
        add(self.design, self.columns[moved], change[moved], image)
        self.reads += moved.size
        return image

    def _times(self, found: Pieces, change: Array, constant: Array) -> tuple[Array, Array]:
        """The Hessian of Q times a direction, on the free coefficients."""
        bent = self.curvature.times(self._image(change) + constant)
        self.reads += self.columns.size
        out = products(self.design, self.columns, bent) + (found.kappa + found.ridge)[:, None] * change
        sums = np.add.reduceat((found.unit * change).sum(axis=1), self.working.starts[:-1])
        along = np.repeat(sums, np.diff(self.working.starts)) * found.kappa
        out -= along[:, None] * found.unit
        return np.where(found.is_free, out, 0.0), bent.sum(axis=0) * self.intercept

    def _conjugate_gradients(self, found: Pieces, right: Array, right_constant: Array) -> tuple[Array, Array]:
        own = np.stack([self.design.squares(h, self.columns) for h in np.ascontiguousarray(self.curvature.own.T)], 1)
        own = own + (found.kappa + found.ridge)[:, None]
        own = np.where(own > 0.0, own, 1.0)
        total = self.curvature.own.sum(axis=0)
        total = np.where(total > 0.0, total, 1.0)
        x, c = np.zeros(right.shape), np.zeros(right_constant.shape)
        r, q = right.copy(), right_constant.copy()
        z, w = r / own, q / total
        p, o = z.copy(), w.copy()
        size = first = float(np.vdot(r, z) + q @ w)
        for _ in range(tuning.MOST_BLOCK_CG_STEPS):
            if size <= tuning.BLOCK_CG_ACCURACY**2 * first or not size > 0.0:
                break
            bent, pull = self._times(found, p, o)
            curvature = float(np.vdot(p, bent) + o @ pull)
            if not curvature > 0.0:
                break
            step = size / curvature
            x, c, r, q = x + step * p, c + step * o, r - step * bent, q - step * pull
            z, w = r / own, q / total
            before, size = size, float(np.vdot(r, z) + q @ w)
            p, o = z + size / before * p, w + size / before * o
        return x, c
