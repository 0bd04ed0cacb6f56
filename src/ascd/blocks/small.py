"""Small least squares: all blocks are one model, minimised from 0, and one kernel proves what comes out.

On some thousand numbers the parts of ``solver`` (bounds for blocks that are not read, working sets, line searches) cost
more than the work itself.  Here dense columns are multiplied with each other at once, without an intercept or less
their means m,

    G = (A − 1mᵀ)ᵀ(A − 1mᵀ),     Γ = −(A − 1mᵀ)ᵀY,     c = ȳ − m·X,

the model of all blocks, which is F, is minimised, and the gap at its minimum is that of ``certificate`` with every
block read: the dual point is Θ = AX + 1cᵀ − Y, less its means where there is an intercept; what these miss by rounding,
|Σ_k θ_kt| ≤ e_t, moves it by e_t/d in every entry at most, and by ‖e‖/√d in all.

Where that does not prove the tolerance (hard problems, tolerances near rounding) the solver begins anew, from 0: from
here it would end as soon as the tolerance is met, and with fewer digits than its own Newton steps have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel
from ascd.blocks import tuning
from ascd.blocks.certificate import finished
from ascd.blocks.gram_model import GramModel
from ascd.blocks.lengths import distance_between, length_of, norm
from ascd.blocks.losses import Outputs
from ascd.blocks.norm import BlockNorm
from ascd.blocks.pieces import Working
from ascd.blocks.problem import BlockProblem
from ascd.blocks.row_sweeps import sweep_rows_from_zero
from ascd.blocks.sweeps import rooms_for_past, sweep_from_zero
from ascd.blocks.terms import list_open, scale_of_blocks, sum_of_costs, terms_of_blocks, weight_of_rows
from ascd.matrix.arithmetic import UNIT
from ascd.matrix.dense import LocalDense
from ascd.problem.losses import Squared
from ascd.problem.precise_gaps import precise_sample_gap
from ascd.problem.proof import residual_rounding
from ascd.problem.tuning import LEAST_SUM_OF_SQUARES, MOST_SUM_OF_SQUARES
from ascd.results.limits import Limits
from ascd.solver import tuning as shared
from ascd.solver.assessment import NOTHING, Standing


class Point(NamedTuple):
    """Coefficients in the order of the blocks, and constants."""

    x: Array
    constant: Array


class Small:
    """A run on a small problem, as the parts of a solver that a solution is made of."""

    def __init__(self, problem: BlockProblem, intercept: bool) -> None:
        self.problem, self.intercept = problem, intercept
        groups, design = problem.groups, problem.design
        assert isinstance(design, LocalDense)
        values = design.matrix.values
        self.columns = values if groups.is_plain else values[:, groups.order]
        self.norm = problem.norm if groups.is_plain else problem.norm[groups.order]
        self.target = problem.loss.target
        self.fit = Point(np.zeros((problem.n_features, problem.n_outputs)), np.zeros(problem.n_outputs))
        self.n_iter = self.reads = self.working = 0
        self.mean, self.target_mean, self.centred, self.right = 0.0, 0.0, self.columns, self.target
        if intercept:
            self.mean, self.target_mean = self.columns.mean(axis=0), self.target.mean(axis=0)
            self.centred, self.right = self.columns - self.mean, self.target - self.target_mean
        self.reference = 0.5 * float(np.vdot(self.right, self.right))
        self.standing = NOTHING._replace(objective=self.reference)

    def minimise(self, tol: float, watch: Callable[[Any], Any]) -> bool:
        """Is the gap proved to be at most ``tol`` times F at 0?  ``watch`` sees the start, unless it is the end."""
        x = self.fit.x
        gram, gradient = self.centred.T @ self.centred, -(self.centred.T @ self.right)
        is_usual = LEAST_SUM_OF_SQUARES < self.reference < MOST_SUM_OF_SQUARES
        if not is_usual or (gram.diagonal() <= tuning.NEARLY_CONSTANT * self.norm**2).any():
            return False
        self._sweep(gram, gradient, tol)
        if x.any():
            watch(self)
        self.n_iter, self.working = int(x.any()), x.shape[0]
        self.reads = 3 * x.shape[0]  # for products, for the image, and for the proof
        if self.intercept:
            self.fit = Point(x, self.target_mean - self.mean @ x)
        self.standing = self._prove()
        return self.standing.gap <= tol * self.reference

    def start(self) -> tuple[Array, bool, Array]:
        """What an interrupted run has come to, unless this is no better than 0."""
        x, constant = self.fit
        is_lower = self.standing.objective <= self.reference and np.isfinite(x).all()
        return (x, self.intercept, constant) if is_lower else (np.zeros(x.shape), self.intercept, np.zeros(x.shape[1]))

    def _sweep(self, gram: Array, gradient: Array, tol: float) -> None:
        """Until the violation is as small as ``solver.Solver`` would have it for all blocks, from 0."""
        x, penalty, groups, outputs = self.fit.x, self.problem.penalty, self.problem.groups, self.problem.n_outputs
        least = 4.0 * UNIT * math.sqrt(2.0 * self.reference) * float(self.norm.max())
        goal = (shared.ENOUGH * min(tol, 1.0), least, tuning.MOST_BETWEEN_STEPS)
        rooms, past = np.empty((3, self.problem.longest)), rooms_for_past(x.size)
        blocks, lipschitz = np.arange(groups.count), gram.diagonal().copy()  # as arrays of the other branch lie
        if outputs > 1 and groups.count == x.shape[0]:
            across = np.empty((outputs, x.shape[0]))
            left, target = sweep_rows_from_zero(penalty, gram, gradient, x.ravel(), across, rooms, *past, *goal)
        else:
            lipschitz = np.empty(groups.count)
            given = (penalty, gram, gradient.ravel(), x.ravel(), groups.starts, blocks, lipschitz)
            left, target = sweep_from_zero(*given, rooms, *past, outputs, *goal)
        if left > target:
            working = Working(blocks, groups.starts, np.arange(x.shape[0]), outputs)
            model = GramModel(penalty, working, gram, lipschitz, gradient, x)
            model.minimise(max(tuning.FINE_SHARE * target, least))

    def _prove(self) -> Standing:
        problem, (x, constant) = self.problem, self.fit
        image = self.columns @ x
        if self.intercept:
            image += constant
        slope = image - self.target
        dual = slope - slope.mean(axis=0) if self.intercept else slope
        product, count = self.columns.T @ dual, problem.groups.count
        reach, far = (np.empty(dual.size), norm(constant)) if self.intercept else (np.empty(0), 0.0)
        found = Proof(
            *prove_all(
                problem.penalty, problem.loss.sample, problem.loss.loss, x, x.ravel(), image.ravel(), slope.ravel(),
                dual.ravel(), product.ravel(), self.norm, problem.ends, far, reach, np.empty(problem.longest),
                np.empty(count), np.arange(count), np.empty(count + 1, dtype=np.int64),
            )
        )  # fmt: skip
        rounding = residual_rounding(found.length)
        gap = finished(found.gap, found.size, rounding, found.away, found.zeta, problem.loss.bound)
        return Standing(found.objective, gap, found.violation, True, math.inf)


class Proof(NamedTuple):
    """F and the largest violation; the gap, the size of what cancelled in it, ‖V‖, ‖V − Θ‖ and the image's error ζ."""

    objective: float
    violation: float
    gap: float
    size: float
    length: float
    away: float
    zeta: float


def is_small(problem: BlockProblem, limits: Limits) -> bool:
    """Least squares on few dense columns in memory, without weights of samples, and with a penalty on every block?"""
    if limits.max_iter == 0 or limits.max_time < tuning.SMALL_SECONDS:
        return False
    design, loss, penalty = problem.design, problem.loss, problem.penalty
    if not (isinstance(design, LocalDense) and isinstance(loss, Outputs) and isinstance(penalty, BlockNorm)):
        return False
    d, n = design.shape
    return bool(
        n <= tuning.SMALL_COLUMNS and d * n <= tuning.SMALL_ENTRIES and d * loss.n_outputs <= tuning.SMALL_ENTRIES
        and type(loss.loss) is Squared and problem.root is None and design.matrix.values.dtype == np.float64
        and (penalty.group + penalty.l1 > 0.0).all()
    )  # fmt: skip


@kernel
def prove_all(
    penalty: Any, sample: Any, loss: Any, x: Array, flat: Array, image: Array, slope: Array, dual: Array,
    product: Array, norm: Array, ends: Array, constant: float, reach: Array, room: Array, radius: Array, blocks: Array,
    listed: Array,
) -> tuple[float, float, float, float, float, float, float]:  # fmt: skip
    """A ``Proof`` for the dual point, whose products with the columns are all known."""
    outputs, longest, has_constant = x.shape[1], room.size, reach.size > 0
    d, length, value, violation, gap = image.size // outputs, length_of(dual), 0.0, 0.0, math.inf
    spread = fill_reach(dual, outputs, reach) if has_constant else 0.0
    fill_radii(product, ends, norm, 2.0 * (d + 8.0) * UNIT * length + spread, outputs, longest, radius)
    for b in range(radius.size):
        first, last = ends[b], ends[b + 1]
        violation = max(violation, penalty.block_distance(flat[first:last], product[first:last], b))
    for k in range(slope.size):
        value += 0.5 * slope[k] * slope[k]
    some = listed[: list_open(penalty, flat, product, radius, ends, blocks, room, listed)]
    scale = scale_of_blocks(penalty, product, radius, ends, some, room)
    if scale < 1.0:
        scale *= 1.0 - (2.0 * longest + 16.0) * UNIT
    size = 0.0
    if scale > 0.0:
        gap, size = terms_of_blocks(penalty, flat, product, radius, ends, some, scale, room)
        gap += precise_sample_gap(sample, loss, image, dual, reach, scale, 0, image.size)
    away = distance_between(slope, dual) + (1.0 - scale) * length + spread
    weighed, count = weight_of_rows(x, norm)
    zeta = (count + 3.0) * UNIT * (weighed + constant * math.sqrt(d)) if count > 0 else 0.0
    return value + sum_of_costs(penalty, flat, ends), violation, gap, size, length_of(slope), away, zeta


@helper
def fill_reach(dual: Array, outputs: int, reach: Array) -> float:
    """How far the dual point is from one whose sums are 0: entry by entry, and all in all."""
    d, square = dual.size // outputs, 0.0
    for t in range(outputs):
        total, sizes = 0.0, 0.0
        for k in range(d):
            total += dual[k * outputs + t]
            sizes += abs(dual[k * outputs + t])
        excess = 1.01 * (abs(total) + (d + 2.0) * UNIT * sizes)
        for k in range(d):
            reach[k * outputs + t] = excess / d
        square = math.hypot(square, excess)  # a call: squares may underflow
    return 1.01 * square / math.sqrt(d)


@helper
def fill_radii(
    product: Array, ends: Array, norm: Array, share: float, outputs: int, longest: int, radius: Array
) -> None:
    """share·‖A_b‖, and the rounding of the lengths of blocks."""
    for b in range(radius.size):
        first, last = ends[b], ends[b + 1]
        own = share * length_of(norm[first // outputs : last // outputs])
        radius[b] = own + (longest + 8.0) * UNIT * (length_of(product[first:last]) + own)
