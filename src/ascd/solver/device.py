"""The quadratic model on a working set whose Gram matrix stays on a device: accelerated steps and Newton steps.

The same Q as in ``models``.  Sweeps go from one coordinate to the next, which a device cannot share out.  Instead
all coordinates move at once, by proximal steps in the metric of G's diagonal D,

    x⁺ = prox(y − (L·D)⁻¹·∇(y)),       y = x⁺ + β·(x⁺ − x),

with momentum β that starts again where it leads uphill; L is raised where a step shows that it is too small.  In
between, Newton steps on the free coordinates as in ``models``.  The device multiplies and factorises; what is done for
each coordinate (prox, pieces of the penalty) is done on the host, so that every penalty can be used.

G may be approximate (``products.is_exact``): then Q is minimised to a share of its violation, the gradients at the
point found are computed from the data, and Q is minimised again from there, as in iterative refinement.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel
from ascd.problem.terms import ByCoordinate, cost_of, largest_violation
from ascd.solver.models import CoordinateModel
from ascd.solver.tuning import OBJECTIVE_ROUNDING, SHIFTS

#: A bound on curvatures that is exceeded by less is exceeded by rounding.
SAME_CURVATURE = 1e-9


class DeviceIterate(NamedTuple):
    """A point of the working set, the gradients of Q's smooth part, Q less its first value, and the penalty's cost."""

    x: Array
    gradient: Array
    value: float
    cost: float


class DeviceModel(CoordinateModel):
    """Q on the columns of ``products``; ``state`` has the coefficients of the working set."""

    #: Of 5 to 50 steps, 20 took least on an H200, for 3,000 and for 16,000 columns (``benchmarks/gpu.py``).
    between = 20

    def __init__(self, penalty: Any, products: Any, gradient: Array, x: Array) -> None:
        super().__init__(penalty, products.columns, x)
        self.products, self.parts = products, ByCoordinate(penalty)
        self.scale = np.where(products.diagonal > 1e-300, products.diagonal, 1.0)
        self._go_to(DeviceIterate(x, gradient, 0.0, float(cost_of(self.parts, self.columns, x))))
        products.largest = products.largest or 1.0

    def sweep(self, target: float, most: int) -> tuple[float, int]:
        """Take proximal steps with momentum."""
        violation = self.violation()
        if violation <= target:
            return violation, 0
        done = self._advance(most, target)
        return self.violation(), done

    def minimise_refined(self, target: float, most_steps: int) -> bool:
        """Minimise and correct until the true violation is at most ``target``; False where G is too far from it."""
        left = self.violation()
        while left > target:
            start, before, goal = self.state, left, max(target, 1e-2 * left)
            is_there = self.minimise(goal, most_steps) <= goal
            is_lower = self._correct(start)
            left = self.violation()
            if left > target and not (is_there and is_lower and left <= 0.5 * before):
                return False
        return True

    def _correct(self, start: DeviceIterate) -> bool:
        """Compute the gradients as they truly are, after moves from ``start``; go back there if it is lower."""
        moved = self.x - start.x
        curved = self.products.times_exactly(moved)
        fall = float(moved @ (start.gradient + 0.5 * curved)) + self.state.cost - start.cost
        is_lower = fall <= OBJECTIVE_ROUNDING * start.cost
        self._go_to(DeviceIterate(self.x, start.gradient + curved, 0.0, self.state.cost) if is_lower else start)
        return is_lower

    def violation(self) -> float:
        """The largest one at the present point."""
        return float(largest_violation(self.parts, self.columns, self.x, self.state.gradient))

    def _go_to(self, state: DeviceIterate) -> None:
        self.state, self.x = state, state.x

    def _moved(self, x: Array, change: Array, curved: Array | None = None) -> DeviceIterate:
        """The state at another point, ``change`` from here: one product, if ``curved`` = G·change is not known."""
        now = self.state
        curved = self.products.times(change) if curved is None else curved
        cost = float(cost_of(self.parts, self.columns, x))
        fall = float(change @ (now.gradient + 0.5 * curved)) + cost - now.cost
        return DeviceIterate(x, now.gradient + curved, now.value + fall, cost)

    def _advance(self, count: int, target: float) -> int:
        """The best point of the steps is kept."""
        best = self.state
        ahead, derivative, t = best.x.copy(), best.gradient.copy(), 1.0
        for number in range(1, count + 1):
            now = self.state
            found, is_short, is_uphill = self._proximal_step(ahead, derivative)
            if not is_short:  # L was too small: from the point before, with a larger one
                ahead, derivative, t = now.x.copy(), now.gradient.copy(), 1.0
                continue
            self._go_to(found)
            best = found if found.value <= best.value else best
            if number == count or (number % 5 == 0 and self.violation() <= target):
                break
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
            share, t = (0.0, 1.0) if is_uphill else ((t - 1.0) / following, following)
            ahead = found.x + share * (found.x - now.x)
            derivative = found.gradient + share * (found.gradient - now.gradient)
        # what falls less than rounding errors of the cost is not seen in Q: the last point is the best then
        is_best = self.state.value <= best.value + OBJECTIVE_ROUNDING * best.cost
        self._go_to(self.state if is_best else best)
        return number

    def _proximal_step(self, ahead: Array, derivative: Array) -> tuple[DeviceIterate, bool, bool]:
        """The state after a step from ``ahead``, whether it is as short as the bound L promises, and whether uphill."""
        now, bound = self.state, self.products.largest
        x = np.empty(ahead.size)
        proximal_steps(self.penalty, self.columns, ahead, derivative, bound, self.scale, x)
        change = x - now.x
        found = self._moved(x, change)
        away = x - ahead  # momentum leads uphill where it goes against the change
        length, bend = float(away @ (self.scale * away)), float(away @ (found.gradient - derivative))
        if bend <= bound * length * (1.0 + SAME_CURVATURE):
            return found, True, float(away @ (self.scale * change)) < 0.0
        self.products.largest = max(1.5 * bound, 1.1 * bend / max(length, 1e-300))
        return found, False, False

    def gradient_now(self) -> Array:
        return self.state.gradient

    def direction(self, free: Array, curvature: Array, right: Array) -> Array | None:
        for shift in SHIFTS:
            direction: Array | None = self.products.solve(free, curvature, right, shift)
            if direction is not None:
                return direction
        return None

    def times(self, change: Array) -> Array:
        curved: Array = self.products.times(change)
        return curved

    def move(self, free: Array, values: Array, image: Array) -> None:
        x = self.x.copy()
        x[free] = values
        self._go_to(self._moved(x, x - self.x, image))


@kernel
def proximal_steps(
    penalty: Any, columns: Array, ahead: Array, derivative: Array, bound: float, scale: Array, x: Array
) -> None:
    """A proximal step of each coordinate from ``ahead``, with a length of its own."""
    for i in range(columns.size):
        step = 1.0 / (bound * scale[i])
        x[i] = penalty.prox(ahead[i] - step * derivative[i], step, columns[i])
