"""No penalty, L1, L2 and the elastic net."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import as_parameter
from ascd._core.jit import at
from ascd.problem.penalties.formulas import (
    absolute_subgradient,
    check_weighted,
    even_conjugate,
    extended,
    half_square_times,
    piece_beside_zero,
    scale_between,
    soft_threshold,
    untilted,
)


class Zero(NamedTuple):
    """No penalty: Ψ_j(x) = linear_j·x.

    Examples
    --------
    >>> import ascd
    >>> ascd.Zero().prox(2.0, 0.5, 0)
    2.0
    """

    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        return at(self.linear, j) * x

    def prox(self, v: float, step: float, j: int) -> float:
        return v - step * at(self.linear, j)

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        return at(self.linear, j), at(self.linear, j)

    def cost_conjugate(self, u: float, j: int) -> float:
        return even_conjugate(u - at(self.linear, j), 0.0, 0.0)

    def dual_scale(self, u: float, j: int) -> float:
        return scale_between(u, at(self.linear, j), at(self.linear, j), 0.0)

    def piece(self, x: float, j: int) -> tuple[float, float, float]:
        return 0.0, -math.inf, math.inf

    def scaled(self, factor: float) -> Zero:
        return self

    def check(self, n: int) -> Zero:
        return Zero(as_parameter(self.linear, "Zero linear", n))

    def is_smooth(self) -> bool:
        return True

    def with_free(self, n: int) -> Zero:
        return extended(self, n)


class L1(NamedTuple):
    """``Ψ_j(x) = strength·weights_j·|x| + linear_j·x``.

    Examples
    --------
    >>> import ascd
    >>> ascd.L1(1.0).prox(3.0, 0.5, 0)
    2.5
    """

    strength: Any
    weights: Any = 1.0
    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        return at(self.strength, j) * at(self.weights, j) * abs(x) + at(self.linear, j) * x

    def cost_size(self, x: float, j: int) -> float:
        return untilted(self.cost(x, j), at(self.linear, j) * x)

    def prox(self, v: float, step: float, j: int) -> float:
        threshold = step * at(self.strength, j) * at(self.weights, j)
        return soft_threshold(v - step * at(self.linear, j), threshold)

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        return absolute_subgradient(x, at(self.strength, j) * at(self.weights, j), at(self.linear, j))

    def cost_conjugate(self, u: float, j: int) -> float:
        limit = at(self.strength, j) * at(self.weights, j)
        return even_conjugate(u - at(self.linear, j), limit, 0.0)

    def dual_scale(self, u: float, j: int) -> float:
        limit = at(self.strength, j) * at(self.weights, j)
        linear = at(self.linear, j)
        return scale_between(u, linear - limit, linear + limit, abs(linear) + limit)

    def piece(self, x: float, j: int) -> tuple[float, float, float]:
        return piece_beside_zero(x, at(self.strength, j) * at(self.weights, j), 0.0)

    def scaled(self, factor: float) -> L1:
        return self._replace(strength=factor * self.strength)

    def check(self, n: int) -> L1:
        checked = L1(
            as_parameter(self.strength, "L1 strength", n, low=0.0),
            as_parameter(self.weights, "L1 weights", n, low=0.0),
            as_parameter(self.linear, "L1 linear", n),
        )
        check_weighted(checked, "strength")
        return checked

    def is_smooth(self) -> bool:
        return not np.any(np.asarray(self.strength) * self.weights)

    def with_free(self, n: int) -> L1:
        return extended(self, n)


class L2(NamedTuple):
    """Ψ_j(x) = ½·strength·weights_j·x² + linear_j·x.

    Examples
    --------
    >>> import ascd
    >>> ascd.L2(1.0).prox(3.0, 0.5, 0)
    2.0
    """

    strength: Any
    weights: Any = 1.0
    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        return (0.5 * at(self.strength, j) * at(self.weights, j) * x + at(self.linear, j)) * x

    def cost_size(self, x: float, j: int) -> float:
        return untilted(self.cost(x, j), at(self.linear, j) * x)

    def prox(self, v: float, step: float, j: int) -> float:
        shrink = 1.0 + step * at(self.strength, j) * at(self.weights, j)
        return (v - step * at(self.linear, j)) / shrink

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        slope = at(self.strength, j) * at(self.weights, j) * x + at(self.linear, j)
        return slope, slope

    def cost_conjugate(self, u: float, j: int) -> float:
        strength = at(self.strength, j) * at(self.weights, j)
        return even_conjugate(u - at(self.linear, j), 0.0, strength)

    def dual_scale(self, u: float, j: int) -> float:
        if at(self.strength, j) * at(self.weights, j) > 0.0:
            return 1.0
        return scale_between(u, at(self.linear, j), at(self.linear, j), 0.0)

    def piece(self, x: float, j: int) -> tuple[float, float, float]:
        return at(self.strength, j) * at(self.weights, j), -math.inf, math.inf

    def scaled(self, factor: float) -> L2:
        return self._replace(strength=factor * self.strength)

    def check(self, n: int) -> L2:
        checked = L2(
            as_parameter(self.strength, "L2 strength", n, low=0.0),
            as_parameter(self.weights, "L2 weights", n, low=0.0),
            as_parameter(self.linear, "L2 linear", n),
        )
        check_weighted(checked, "strength")
        return checked

    def is_smooth(self) -> bool:
        return True

    def with_free(self, n: int) -> L2:
        return extended(self, n)


class L1L2(NamedTuple):
    """``Ψ_j(x) = weights_j·(l1·|x| + ½·l2·x²) + linear_j·x``.

    Examples
    --------
    >>> import ascd
    >>> ascd.L1L2(l1=1.0, l2=1.0).prox(3.0, 1.0, 0)
    1.0
    """

    l1: Any
    l2: Any
    weights: Any = 1.0
    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        size = at(self.l1, j) * abs(x) + half_square_times(x, at(self.l2, j))
        return at(self.weights, j) * size + at(self.linear, j) * x

    def cost_size(self, x: float, j: int) -> float:
        return untilted(self.cost(x, j), at(self.linear, j) * x)

    def prox(self, v: float, step: float, j: int) -> float:
        weighted = step * at(self.weights, j)
        moved = soft_threshold(v - step * at(self.linear, j), weighted * at(self.l1, j))
        return moved / (1.0 + weighted * at(self.l2, j))

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        weight = at(self.weights, j)
        return absolute_subgradient(x, weight * at(self.l1, j), weight * at(self.l2, j) * x + at(self.linear, j))

    def cost_conjugate(self, u: float, j: int) -> float:
        weight = at(self.weights, j)
        return even_conjugate(u - at(self.linear, j), weight * at(self.l1, j), weight * at(self.l2, j))

    def dual_scale(self, u: float, j: int) -> float:
        weight = at(self.weights, j)
        if weight * at(self.l2, j) > 0.0:
            return 1.0
        limit = weight * at(self.l1, j)
        linear = at(self.linear, j)
        return scale_between(u, linear - limit, linear + limit, abs(linear) + limit)

    def piece(self, x: float, j: int) -> tuple[float, float, float]:
        weight = at(self.weights, j)
        return piece_beside_zero(x, weight * at(self.l1, j), weight * at(self.l2, j))

    def scaled(self, factor: float) -> L1L2:
        return self._replace(l1=factor * self.l1, l2=factor * self.l2)

    def check(self, n: int) -> L1L2:
        checked = L1L2(
            as_parameter(self.l1, "L1L2 l1", n, low=0.0),
            as_parameter(self.l2, "L1L2 l2", n, low=0.0),
            as_parameter(self.weights, "L1L2 weights", n, low=0.0),
            as_parameter(self.linear, "L1L2 linear", n),
        )
        check_weighted(checked, "l1", "l2")
        return checked

    def is_smooth(self) -> bool:
        return not np.any(np.asarray(self.l1) * self.weights)

    def with_free(self, n: int) -> L1L2:
        return extended(self, n)
