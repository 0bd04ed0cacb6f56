"""The quadratic model on a working set whose products stay on a device: accelerated steps and Newton steps.

The same Q as in ``gram_model``.  Sweeps go from one coordinate to the next, which a device cannot share out.  Instead
all coordinates move at once, by proximal steps in the metric of G's diagonal D,

    x⁺ = prox(y − (L·D)⁻¹·∇(y)),       y = x⁺ + β·(x⁺ − x),

with momentum β that starts again where it leads uphill; L ≥ ‖D^(−½) G D^(−½)‖ is estimated by a few products and raised
where a step shows that it is too small.  In between, Newton steps on the free coordinates as in ``gram_model``.  The
device multiplies and factorises; what is done for each coordinate (prox, pieces of the penalty) is done on the host, so
that every penalty can be used.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import kernel
from ascd.data.design import Multiplied
from ascd.problem.optimality import violation_of
from ascd.solver import tuning
from ascd.solver.gram_model import Outcome, cut_step, find_free
from ascd.solver.samples import cost_of


class State(NamedTuple):
    """A point of the working set, the slopes of Q's smooth part, Q less its first value, and the penalty's cost."""

    x: Array
    gradient: Array
    value: float
    cost: float


class LargeModel:
    """Q on the columns of ``products``; ``x`` is the solver's own vector and moves."""

    def __init__(self, penalty: Any, products: Multiplied, gradient: Array, x: Array) -> None:
        self.penalty, self.products, self.x = penalty, products, x
        self.columns = products.columns
        self.scale = np.where(products.diagonal > 1e-300, products.diagonal, 1.0)
        here = x[self.columns]
        self.state = State(here, gradient, 0.0, float(cost_of(penalty, self.columns, here)))
        self.known = np.ones(here.size, dtype=np.bool_)
        self.free, self.work = np.empty(here.size, dtype=np.int64), np.empty((6, here.size))
        self.bound = self._largest_eigenvalue()

    def minimise(self, target: float, most_steps: int) -> Outcome:
        """Until no coordinate violates its optimality condition by more than ``target``."""
        steps = newtons = stale = 0
        lowest = math.inf
        while True:
            violation = self._violation()
            stale = 0 if violation < lowest else stale + 1
            lowest = min(lowest, violation)
            if violation <= target or steps >= most_steps or stale > tuning.MOST_STALE:
                return Outcome(violation, steps, newtons)
            steps += self._accelerate(tuning.STEPS_BETWEEN, target)
            if hasattr(self.penalty, "piece"):
                newtons += self._descend_faces()

    def _violation(self) -> float:
        return float(violation_at(self.penalty, self.columns, self.state.x, self.state.gradient))

    def _accept(self, state: State) -> None:
        self.state = state
        self.x[self.columns] = state.x

    def _moved(self, x: Array) -> State:
        """The state at another point: one product."""
        now, change = self.state, x - self.state.x
        curved = self.products.times(change)
        cost = float(cost_of(self.penalty, self.columns, x))
        fall = float(change @ (now.gradient + 0.5 * curved)) + cost - now.cost
        return State(x, now.gradient + curved, now.value + fall, cost)

    def _accelerate(self, count: int, target: float) -> int:
        """Proximal steps with momentum, so many at most; the best point of them is kept."""
        best = self.state
        ahead, slope, t = best.x, best.gradient, 1.0
        for number in range(1, count + 1):
            now = self.state
            found, is_short = self._proximal_step(ahead, slope)
            if not is_short:  # L was too small: from the point before, with a larger one
                ahead, slope, t = now.x, now.gradient, 1.0
                continue
            self.state = found
            best = found if found.value <= best.value else best
            if number == count or (number % tuning.STEPS_A_LOOK == 0 and self._violation() <= target):
                break
            moved = found.x - now.x
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
            is_uphill = float((found.x - ahead) @ (self.scale * moved)) < 0.0
            share, t = (0.0, 1.0) if is_uphill else ((t - 1.0) / following, following)
            ahead, slope = found.x + share * moved, found.gradient + share * (found.gradient - now.gradient)
        # what falls less than rounding errors of the cost is not seen in Q: the last point is the best then
        self._accept(self.state if self.state.value <= best.value + tuning.OBJECTIVE_ROUNDING * best.cost else best)
        return number

    def _proximal_step(self, ahead: Array, slope: Array) -> tuple[State, bool]:
        """The state after a step from ``ahead``, and whether it is as short as the bound L promises."""
        steps, x = 1.0 / (self.bound * self.scale), np.empty(ahead.size)
        prox_at(self.penalty, self.columns, ahead - steps * slope, steps, x)
        found, away = self._moved(x), x - ahead
        length, bend = float(away @ (self.scale * away)), float(away @ (found.gradient - slope))
        if bend <= self.bound * length * (1.0 + tuning.SAME_BEND):
            return found, True
        self.bound = max(tuning.LARGER_BOUND * self.bound, 1.1 * bend / max(length, 1e-300))
        return found, False

    def _descend_faces(self) -> int:
        """Newton steps on smaller and smaller faces, while they are cut off."""
        for number in range(1, tuning.MOST_FACES + 1):
            if not self._newton_step():
                return number
        return tuning.MOST_FACES

    def _newton_step(self) -> bool:
        """Towards the minimum over the free coordinates; was the step cut off?"""
        now = self.state
        count = find_free(self.penalty, self.columns, self.known, now.gradient, self.x, self.free, self.work)
        if count == 0:
            return False
        free = self.free[:count].copy()
        slope, curvature, low, high = self.work[:4, :count]
        direction = self._direction(free, curvature, -slope)
        if direction is None:
            return False
        whole, straight = np.empty(count), np.empty(count)
        cut = bool(cut_step(now.x[free], direction, low, high, whole, straight))
        best, gain = now, 0.0
        for change in (whole, straight)[: 1 + cut]:
            x = now.x.copy()
            x[free] = np.clip(x[free] + change, low, high)
            found = self._moved(x)
            curved = (found.gradient - now.gradient)[free]
            fall = float(change @ (slope + 0.5 * (curved + curvature * change)))  # on the pieces: no costs cancel
            best, gain = (found, fall) if fall < gain else (best, gain)
        if best is now:
            return False
        self._accept(best)
        return cut

    def _direction(self, free: Array, curvature: Array, right: Array) -> Array | None:
        for shift in tuning.SHIFTS:
            direction = self.products.solve(free, curvature, right, shift)
            if direction is not None:
                return direction
        return None

    def _largest_eigenvalue(self) -> float:
        """Of D^(−½) G D^(−½), from below: a few products with a vector that is the same in every run."""
        root = np.sqrt(self.scale)
        vector = np.random.default_rng(0).standard_normal(root.size)
        found = 1.0
        for _ in range(tuning.POWER_STEPS):
            vector = self.products.times(vector / root) / root
            length = float(np.linalg.norm(vector))
            if not 0.0 < length < math.inf:
                break
            found, vector = length, vector / length
        return tuning.RAISED * max(found, 1.0)


@kernel
def violation_at(penalty: Any, columns: Array, values: Array, gradient: Array) -> float:
    """The largest violation of optimality at these values."""
    worst = 0.0
    for i in range(columns.size):
        low, high = penalty.subgradient(values[i], columns[i])
        worst = max(worst, violation_of(low, high, gradient[i]))
    return worst


@kernel
def prox_at(penalty: Any, columns: Array, points: Array, steps: Array, out: Array) -> None:
    """A proximal step of each coordinate with a length of its own."""
    for i in range(columns.size):
        out[i] = penalty.prox(points[i], steps[i], columns[i])
