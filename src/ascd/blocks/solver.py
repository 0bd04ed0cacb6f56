"""The block solver: read all blocks once, then only those whose ball leaves a decision open.

repeat
    a ball for the gradient of every block           no column read
    read the blocks that may violate optimality      exact from here on
    certificate: the duality gap, rounding counted; from an image computed afresh before stopping
    working set: the blocks that have moved, and the worst violations
    model: minimise Q there by sweeps and Newton steps, and go to its minimum as far as F falls
    (where F is smooth: L-BFGS on all blocks instead of working set and model)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.blocks import tuning
from ascd.blocks.bounds import GradientBounds
from ascd.blocks.certificate import prove
from ascd.blocks.fit import Fit
from ascd.blocks.lengths import lengths_of_blocks, norm
from ascd.blocks.norm import BlockNorm
from ascd.blocks.pieces import Working
from ascd.blocks.problem import BlockProblem
from ascd.blocks.smooth import Smooth
from ascd.blocks.steps import Steps
from ascd.blocks.terms import fill_distances, fill_open
from ascd.matrix.arithmetic import UNIT
from ascd.matrix.base import as_block
from ascd.results.limits import Limits, has_no_minimum
from ascd.results.solution import Status
from ascd.solver import tuning as shared
from ascd.solver.assessment import NOTHING, Standing
from ascd.solver.loop import Progress
from ascd.solver.tuning import MOST_IDLE


class Solver:
    """One problem, minimised for one penalty after another; what was learned is kept between them."""

    def __init__(self, problem: BlockProblem, x: Array, intercept: bool, constant: Array) -> None:
        self.problem, self.fit = problem, Fit(problem, x, intercept, constant)
        self.bounds = GradientBounds(problem, intercept)
        self.steps, self.smooth = Steps(self.fit), Smooth(self.fit)
        self.n_iter = self.working = 0
        self.has_all, self.is_whole, self.first = False, False, 0
        self.standing, self.can_fit = NOTHING, True
        self.looked_at: tuple[Any, Any, bool] = None, None, False
        self.last: tuple[Array, Array] | None = None  # the point looked at, where the data can be lost
        self.distance, self.room = np.empty(problem.groups.count), np.empty(self.bounds.longest)

    @property
    def reads(self) -> int:
        """Columns read so far."""
        return self.bounds.reads + self.fit.reads

    def minimise(
        self, penalty: Any, tolerance: float, limits: Limits, watch: Callable[[Any], Any], confirm: bool = True
    ) -> Status:
        """Until the gap is at most ``tolerance``; ``watch`` is called in every round and may end the run."""
        began, start, progress, attempts = time.perf_counter(), math.inf, Progress(), 0
        self.fit.use(penalty)
        self.standing, self.first = NOTHING, self._first_size()
        for rounds in range(limits.max_iter + 1):
            self.look(tolerance, progress.idle > 0)
            if has_no_minimum(self.standing.objective, start):
                return Status.DIVERGED
            start = min(start, self.standing.objective)
            if self.standing.gap <= tolerance:
                if confirm:
                    self.settle(tolerance)
                if self.standing.gap <= tolerance:
                    return Status.CONVERGED
            if not self.can_fit:
                attempts += 1
                if attempts > 2 and self._is_stationary(tolerance):
                    self.settle(tolerance)
                    return Status.STATIONARY
            if rounds == limits.max_iter:
                break
            if time.perf_counter() - began > limits.max_time:
                return Status.TIME_LIMIT
            progress.note(self.standing)
            is_stuck = progress.idle > MOST_IDLE
            if (is_stuck or rounds == 1) and self._begins_anew():
                progress = Progress()
                continue
            if is_stuck:
                return self._last_look(tolerance)
            if watch(self):
                return Status.INTERRUPTED
            if self.smooth.applies():
                self.smooth.improve(tolerance, began + limits.max_time)
                self.working, self.n_iter = self.fit.x.shape[0], self.n_iter + 1
                continue
            working = self._working_set()
            if working.blocks.size == 0:
                return self._last_look(tolerance)
            self.working = working.places.size
            gradient = self.bounds.product[working.places]  # these blocks were read at the present slope
            self.steps.improve(working, gradient, self._target(tolerance, progress.idle > 0), self.standing.violation)
            self.n_iter += 1
        return Status.ITERATION_LIMIT

    def settle(self, enough: float) -> None:
        """Everything known of the point computed afresh, and its certificate."""
        seen, penalty, is_thorough = self.looked_at
        is_done = is_thorough or self.standing.gap <= enough
        if not (is_done and self.fit.is_fresh and seen is self.fit.seen and penalty is self.fit.penalty):
            self.fit.recompute()
            self.look(enough)

    def look(self, enough: float, is_thorough: bool = True) -> None:
        """Balls, and exact gradients where these leave open whether a block is at rest; then the gap.

        A thorough look spares nothing for a gap that is as small as it can be, even if it is far from enough.  Another
        one has no certificate where the gap cannot be small enough: that of the last point holds here, too.
        """
        fit, bounds = self.fit, self.bounds
        listed = self._open_blocks()
        self.distance[:] = 0.0
        if listed.size:
            bounds.read(listed, fit.slope)
            fill_distances(fit.penalty, fit.x.ravel(), bounds.product.ravel(), bounds.ends, listed, self.distance)
        objective, gap = float(fit.seen.value + fit.cost()), self.standing.gap
        if is_thorough or self.standing.gap <= enough or not self._is_far(listed, enough):
            gap, self.can_fit = prove(fit, bounds, enough, is_thorough)
        self.standing = Standing(objective, gap, float(self.distance.max(initial=0.0)), True, math.inf)
        self.looked_at = fit.seen, fit.penalty, is_thorough
        if self.problem.design.is_dear:
            self.last = fit.x.copy(), fit.constant.copy()

    def give_up(self) -> Status:
        """The data are gone: back to the point that was looked at last, or to the first one, of which F is known."""
        fit = self.fit
        if self.last is not None:
            fit.x[:], fit.constant = self.last
        if self.standing is NOTHING:
            self.standing = NOTHING._replace(objective=float(fit.seen.value + fit.cost()))
        return Status.UNREACHABLE

    def _open_blocks(self) -> Array:
        """Those that are not surely at rest, as far as is known without reading."""
        fit, bounds = self.fit, self.bounds
        if not bounds.count.any():  # nothing has been read
            return np.arange(fit.moved.size)
        bounds.locate(fit.slope)
        blocks = fit.resting.candidates(fit.moved, bounds.length, bounds.radius)
        bounds.show(blocks)
        listed, gradient = np.empty(blocks.size + 1, dtype=np.int64), bounds.estimate.ravel()
        count = fill_open(fit.penalty, fit.x.ravel(), gradient, bounds.radius, bounds.ends, blocks, self.room, listed)
        return listed[:count]

    def _is_far(self, blocks: Array, enough: float) -> bool:
        """Is F surely, but for rounding, more than ``enough`` above its minimum?

        A prox step of length 1/L_b from 0, L_b ≤ M‖A_b‖², lowers it by at least distance²/2L_b.
        """
        fit, norm = self.fit, self.bounds.norm
        blocks = blocks[~fit.moved[blocks]]
        if blocks.size == 0 or not fit.resting.is_known:
            return False
        with np.errstate(all="ignore"):
            step = np.max(self.distance[blocks] / norm[blocks])
            return bool(0.5 * step * step > tuning.SURELY_FAR * enough * self.problem.loss.bound)

    def _working_set(self) -> Working:
        """The blocks that have moved, and the worst of the others."""
        groups, moved, count = self.problem.groups, self.fit.moved, int(self.fit.moved.sum())
        size = max(self.first, shared.GROWTH * count)
        waiting = np.flatnonzero((self.distance > 0.0) & ~moved)
        room = max(size - count, 1)
        self.has_all = waiting.size <= room
        if not self.has_all:
            waiting = waiting[np.argpartition(-self.distance[waiting], room - 1)[:room]]
        blocks = np.sort(np.concatenate([np.flatnonzero(moved), waiting]))
        self.is_whole, starts = blocks.size == groups.count, groups.starts
        if not self.is_whole:
            starts = np.concatenate([[0], np.cumsum(groups.sizes[blocks])]).astype(np.int64)
        return Working(blocks, starts, groups.columns(blocks), self.problem.n_outputs)

    def _first_size(self) -> int:
        """Blocks of the first working set."""
        groups, problem = self.problem.groups, self.problem
        if self.smooth.takes_all():
            return groups.count
        is_large = problem.loss.is_quadratic and problem.design.entries() >= tuning.MANY_ENTRIES
        narrow = tuning.FIRST_COLUMNS * groups.count // groups.order.size  # so many blocks have that many columns
        return min(max(narrow, tuning.FEWEST_FIRST), tuning.LARGE_FIRST if is_large else tuning.FIRST_SET)

    def _target(self, tolerance: float, is_idle: bool) -> float:
        """The violation that the working set may keep: what the tolerance needs, or a share of the largest."""
        violation, fit = self.standing.violation, self.fit
        least = 4.0 * UNIT * norm(fit.slope) * float(self.bounds.whole.max())  # what rounding leaves
        if is_idle:
            return least
        spread = fit.spread or self.standing.objective / max(violation, 1e-300)
        goal = shared.ENOUGH * tolerance / max(spread, 1e-300)
        share = shared.NEWTON_SHARE if not self.problem.loss.is_quadratic else tuning.BLOCK_SHARE
        if self.problem.loss.is_quadratic and fit.x.size < tuning.FEW_COEFFICIENTS:
            goal, share = tuning.FINE_SHARE * goal, 0.0
        elif self.problem.loss.is_quadratic and self.has_all:
            share = 0.0 if self.is_whole else shared.LAST_SHARE
        return max(min(goal, shared.ENOUGH * violation), share * violation, least)

    def _is_stationary(self, tolerance: float) -> bool:
        """Would first-order steps of the blocks gain less than the tolerance?  Where nothing is penalised, Newton's."""
        fit, groups, problem = self.fit, self.problem.groups, self.problem
        length = lengths_of_blocks(problem.norm[groups.order][:, None], groups.starts)
        bound = problem.loss.bound if math.isfinite(problem.loss.bound) else 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(length > 0.0, self.distance / (bound * length) / length, 0.0)
        gains = self.distance * (lengths_of_blocks(fit.x, groups.starts) + steps)
        is_free = fit.resting.is_free & (self.distance > 0.0)
        gain, places = float(gains[~is_free].sum()), groups.columns(np.flatnonzero(is_free))
        for start in range(0, places.size, tuning.COLUMNS_TAKEN):
            if not gain <= tolerance:
                break
            gain += own_gains(fit, places[start : start + tuning.COLUMNS_TAKEN])
        return gain <= tolerance

    def _begins_anew(self) -> bool:
        """From zero, where F is lower: far away losses may have slopes and no curvature, and steps lead nowhere.

        Or nowhere near: those of damped models have a length, however far it is.  A round tells.
        """
        fit = self.fit
        if not fit.moved.any() or not isinstance(fit.penalty, BlockNorm):
            return False
        if not self.standing.objective > fit.zero_objective:
            return False
        fit.go_to_zero()
        self.standing = NOTHING
        return True

    def _last_look(self, tolerance: float) -> Status:
        self.settle(tolerance)
        if self.standing.gap <= tolerance:
            return Status.CONVERGED
        is_stationary = not self.can_fit and self._is_stationary(tolerance)
        return Status.STATIONARY if is_stationary else Status.STALLED


def own_gains(fit: Fit, places: Array) -> float:
    """What the Newton steps of coordinates without a penalty would gain, each by itself, from their own entries.

    Beside an intercept a column counts less its mean: next to that, what is left may be lost in sums.
    """
    problem, seen = fit.problem, fit.seen
    block, total = as_block(problem.design.take(problem.groups.order[places]), problem.n_samples), 0.0
    for t in range(problem.n_outputs):
        own = seen.curvature.own[:, t]
        if problem.loss.is_coupled:  # s·p(1 − p), from slopes of s·p or s·(1 − p): p − p² would cancel
            size = np.abs(seen.slope[:, t])
            own = size - np.divide(size**2, problem.weight, out=np.zeros(size.size), where=problem.weight > 0.0)
        with np.errstate(all="ignore"):
            mean = own @ block / own.sum() if fit.intercept and own.any() else np.zeros(places.size)
            centred = block - mean
            slope, curvature = np.abs(seen.slope[:, t] @ centred), own @ centred**2
            step = np.divide(slope, curvature, out=np.zeros(places.size), where=slope != 0.0)
            total += float(slope @ (np.abs(fit.x[places, t]) + step))
    return total
