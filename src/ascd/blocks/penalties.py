"""Penalties of blocks, Σ_b Ψ_b(x_b): groups of columns, rows of outputs, or both.

A compiled block penalty is a NamedTuple whose methods speak of one block b, as a flat vector x:

======================  ============================================================================================
``block_cost``          Ψ_b(x)
``block_prox``          v becomes argmin_z ½‖z − v‖² + step·Ψ_b(z), in place
``block_distance``      the distance of −g from ∂Ψ_b(x): 0 where the block is optimal
``block_conjugate``     the largest Ψ_b*(u') for ‖u' − u‖ ≤ radius
``block_scale``         the largest s in [0, 1] with Ψ_b*(s·u') finite for ‖u' − u‖ ≤ radius
``block_piece``         (optional) where Ψ_b is smooth around x: fill in its slope, nan for entries that are held at a
                        kink, and return (k, m): its Hessian on the others is k/‖x‖·(I − x̂x̂ᵀ) + m·I.  Newton steps
``block_slack``         (optional) as the distance; where −g is inside ∂Ψ_b(x), minus a distance from the boundary
``resting_radii``       (optional, uncompiled) for every block a ρ_b, so that Ψ_b(0) = 0 and Ψ_b*(u) = 0 for ‖u‖ ≤ ρ_b
``scaled``              (optional, uncompiled) the penalty times a factor; for paths
======================  ============================================================================================

All of the library's are one, ``ascd.blocks.norm.BlockNorm``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascd._core.checks import as_number, as_parameter
from ascd.blocks.groups import Groups, as_groups
from ascd.blocks.norm import BlockNorm


@dataclass(frozen=True, eq=False)
class GroupL2:
    """strength·Σ_b weight_b·‖x_b‖ + ½·ridge·‖x‖², over groups of columns (and all outputs together).

    Parameters
    ----------
    strength : float
    groups : number, sizes, labels or lists of columns
        A number means that many neighbours each; integers that add up to the number of columns are sizes; one label a
        column, or one list of columns a group.
    weights : array with one number a group, "sqrt" (√size) or None (1 each)
        0 leaves a group without this penalty.
    ridge : float
    positive : bool
        Only non-negative coefficients; then every group needs a penalty.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> A = np.random.default_rng(0).standard_normal((30, 6))
    >>> penalty = ascd.GroupL2(12.0, groups=[[0, 3], [1, 4], [2, 5]])
    >>> solution = ascd.solve_blocks(ascd.BlockProblem(A, A[:, 0] - A[:, 3], penalty=penalty))
    >>> np.flatnonzero(solution.x).tolist()
    [0, 3]
    """

    strength: float
    groups: Any = None
    weights: Any = None
    ridge: float = 0.0
    positive: bool = False

    def compiled(self, groups: Groups) -> BlockNorm:
        """The penalty for these blocks, after a look at its parameters."""
        strength = as_strength(self.strength, "strength")
        return block_norm(groups, self.weights, strength, 0.0, self.ridge, self.positive)


@dataclass(frozen=True, eq=False)
class SparseGroup:
    """l1·‖x‖₁ + l2·Σ_b weight_b·‖x_b‖ + ½·ridge·‖x‖²: few groups, and few coefficients in them.

    Parameters
    ----------
    l1, l2 : float
    groups, weights, ridge, positive : as in ``GroupL2``; weights multiply l2

    Examples
    --------
    >>> import numpy as np, ascd
    >>> A = np.random.default_rng(0).standard_normal((30, 6))
    >>> problem = ascd.BlockProblem(A, A[:, 0], penalty=ascd.SparseGroup(4.0, 2.0, groups=3))
    >>> np.flatnonzero(ascd.solve_blocks(problem).x).tolist()
    [0]
    """

    l1: float
    l2: float
    groups: Any = None
    weights: Any = None
    ridge: float = 0.0
    positive: bool = False

    def compiled(self, groups: Groups) -> BlockNorm:
        """The penalty for these blocks, after a look at its parameters."""
        l1, l2 = as_strength(self.l1, "l1"), as_strength(self.l2, "l2")
        return block_norm(groups, self.weights, l2, l1, self.ridge, self.positive)


@dataclass(frozen=True, eq=False)
class L21:
    """strength·Σ_j weight_j·‖row j of X‖ + ½·ridge·‖X‖²: a column is used by all outputs or by none.

    Parameters
    ----------
    strength : float
    weights : array with one number a column, or None (1 each)
    ridge : float

    Examples
    --------
    >>> import numpy as np, ascd
    >>> A = np.random.default_rng(0).standard_normal((30, 6))
    >>> solution = ascd.solve_blocks(ascd.BlockProblem(A, A[:, [0, 1]], penalty=ascd.L21(4.0)))
    >>> np.flatnonzero(solution.x.any(axis=1)).tolist()
    [0, 1]
    """

    strength: float
    weights: Any = None
    ridge: float = 0.0
    groups: None = None

    def compiled(self, groups: Groups) -> BlockNorm:
        """The penalty for these blocks, after a look at its parameters."""
        return block_norm(groups, self.weights, as_strength(self.strength, "strength"), 0.0, self.ridge, False)


def block_norm(groups: Groups, weights: Any, group: float, l1: float, ridge: Any, positive: bool) -> BlockNorm:
    """One number a block of each strength."""
    count = groups.count
    if isinstance(weights, str):
        if weights != "sqrt":
            raise ValueError(f"weights must be one number for each group, 'sqrt' or None; got {weights!r}")
        factor = np.sqrt(groups.sizes)
    elif weights is None:
        factor = np.ones(count)
    else:
        factor = np.broadcast_to(as_parameter(weights, "weights", count, low=0.0), count)
    square = as_strength(ridge, "ridge")
    with np.errstate(over="ignore"):
        strength = group * factor
    if not np.isfinite(strength).all():
        raise ValueError(f"weights times the strength must be finite; {factor.max():g} times {group:g} is not")
    if positive and l1 == 0.0 and square == 0.0 and (strength == 0.0).any():
        raise ValueError(f"positive=True needs a penalty on every group; group {int(np.argmin(strength))} has none")
    return BlockNorm(strength, np.full(count, l1), np.full(count, square), bool(positive))


def as_strength(value: Any, name: str) -> float:
    """Finite, so that zero coefficients cost nothing: 0·inf is nan."""
    return as_number(value, name, low=0.0, high=sys.float_info.max)


def open_penalty(penalty: Any, groups: Any, n: int) -> tuple[Groups, Any]:
    """The blocks and the compiled penalty; a penalty with groups of its own brings them."""
    if isinstance(penalty, type):
        raise TypeError(f"penalty must be made with its parameters, as {penalty.__name__}(...); got the class itself")
    own = getattr(penalty, "groups", None) if hasattr(penalty, "compiled") else None
    if own is not None and groups is not None:
        raise ValueError(f"groups: {type(penalty).__name__} brings its groups; leave groups=None")
    found = as_groups(groups if own is None else own, n)
    if penalty is None:
        zero = np.zeros(found.count)
        return found, BlockNorm(zero, zero, zero, False)
    return found, penalty.compiled(found) if hasattr(penalty, "compiled") else penalty
