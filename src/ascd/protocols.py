"""The contracts between the parts, stated once.

A part is a ``typing.NamedTuple`` with at least one field whose methods are plain Python.  Compiled code may call the
methods below on it, with these argument names; ``ascd._core.jit`` makes its shims from this file.  A class of one's own
that follows a contract runs compiled like the library's.  Two rules come from the compiler: methods must not make
new arrays (work arrays are fields), and functions that methods share are marked with ``ascd.helper``.

Methods in a class of options may be missing.  They run uncompiled before the descent, unless it says otherwise;
``prepare`` returns the part that will be compiled.
"""

from __future__ import annotations

from typing import Any, Protocol


class ColumnStorage(Protocol):
    """Where the stored entries of column j are: at positions p from ``start(j)`` to ``stop(j)``, row by row.

    Uncompiled, for ``minimize`` alone: ``stored()``, an array whose size stands for the cost of a pass, and
    ``to_scipy(n_samples, n_features)``, an array or sparse matrix of float64 of all entries.
    """

    def start(self, j: int) -> int: ...
    def stop(self, j: int) -> int: ...
    def row(self, p: int) -> int: ...
    def entry(self, p: int, j: int) -> float: ...


class Loss(Protocol):
    """One sample, target y, prediction z: loss(y, z), ∂loss/∂z, ∂²loss/∂z² and sup_z {u·z − loss(y, z)}.

    Also, uncompiled: ``curvature_bound()``, M with 0 ≤ curvature ≤ M everywhere (inf: for ``solve`` alone).  The
    conjugate is +inf outside its domain; ``is_quadratic`` says that the curvature is M everywhere.
    """

    def value(self, y: float, z: float) -> float: ...
    def derivative(self, y: float, z: float) -> float: ...
    def curvature(self, y: float, z: float) -> float: ...
    def conjugate(self, y: float, u: float) -> float: ...
    def is_quadratic(self) -> bool: ...
    def curvature_bound(self) -> float: ...


class LossOptions(Protocol):
    """Compiled: value + conjugate(u) − u·z without cancellation; ℓ″ from u = ℓ′, for losses with |ℓ‴| ≤ ℓ″.

    Wrong targets: a ValueError.
    """

    def divergence(self, y: float, z: float, u: float) -> float: ...
    def curvature_from(self, u: float) -> float: ...
    def check_target(self, target: Any) -> None: ...


class Penalty(Protocol):
    """One coordinate: Ψ_j(x), +inf where x is not allowed; argmin_z ½(z − v)² + step·Ψ_j(z); the ends of ∂Ψ_j(x).

    ``cost_conjugate`` is sup_x {u·x − Ψ_j(x)}, +inf outside its domain; ``dual_scale`` the largest s in [0, 1] with a
    finite conjugate at s·u, −1 if there is none; 1 only where rounding cannot have put u inside.
    """

    def cost(self, x: float, j: int) -> float: ...
    def prox(self, v: float, step: float, j: int) -> float: ...
    def subgradient(self, x: float, j: int) -> tuple[float, float]: ...
    def cost_conjugate(self, u: float, j: int) -> float: ...
    def dual_scale(self, u: float, j: int) -> float: ...


class PiecewisePenalty(Penalty, Protocol):
    """Curvature and ends of the quadratic piece around x, [x, x] at a kink; compiled, for Newton steps."""

    def piece(self, x: float, j: int) -> tuple[float, float, float]: ...


class PenaltyOptions(Protocol):
    """See "A penalty" in ``docs/extending.md``; ``cost_size`` is compiled, ``scaled`` leaves the linear term alone."""

    def cost_size(self, x: float, j: int) -> float: ...
    def check(self, n: int) -> Any: ...
    def scaled(self, factor: float) -> Any: ...
    def is_smooth(self) -> bool: ...
    def is_nonconvex(self) -> bool: ...
    def with_free(self, n: int) -> Any: ...


class BlockPenalty(Protocol):
    """One block b, its coefficients as a flat vector x.  ``block_prox`` works in place.

    ``block_distance`` is that of −g from ∂Ψ_b(x), ``block_conjugate`` the largest Ψ_b*(u') for ‖u' − u‖ ≤ radius, and
    ``block_scale`` the largest s in [0, 1] for which Ψ_b*(s·u') is finite for all of these.
    """

    def block_cost(self, x: Any, b: int) -> float: ...
    def block_prox(self, v: Any, step: float, b: int) -> None: ...
    def block_distance(self, x: Any, g: Any, b: int) -> float: ...
    def block_conjugate(self, u: Any, radius: float, b: int) -> float: ...
    def block_scale(self, u: Any, radius: float, b: int) -> float: ...


class PiecewiseBlockPenalty(BlockPenalty, Protocol):
    """Compiled: fill in the gradient, nan for entries at a kink; return k, m of the Hessian k/‖x‖·(I − x̂x̂ᵀ) + m·I."""

    def block_piece(self, x: Any, b: int, slope: Any) -> tuple[float, float]: ...


class BlockPenaltyOptions(Protocol):
    def scaled(self, factor: float) -> Any: ...
    def is_smooth(self) -> bool: ...


class Steepness(Protocol):
    """The score of a coordinate at a known gradient entry g, and its bounds over g ± r (r may be infinite)."""

    def score(self, penalty: Any, j: int, x: float, g: float) -> float: ...
    def bounds(self, penalty: Any, j: int, x: float, g: float, r: float) -> tuple[float, float]: ...


class LazySteepness(Steepness, Protocol):
    """A steepness for selection without scanning: the upper bound with its sign."""

    def signed_upper(self, penalty: Any, j: int, x: float, g: float, r: float) -> float: ...


class SteepnessOptions(Protocol):
    """How fast upper bounds can grow with the accumulated step length, one number a coordinate, and whether lower
    bounds above 0 fall at least that fast, too (false by default); for selection without scanning."""

    def rates(self, norm: Any) -> Any: ...
    def falls_evenly(self) -> bool: ...


class Oracle(Protocol):
    """Update ``point.intervals`` of the other entries after a step of coordinate i."""

    def update(self, point: Any, i: int, change: float, rng: Any) -> None: ...


class OracleOptions(Protocol):
    """``is_safe`` says whether its intervals always hold (true by default); ``confidence`` is the probability that all
    intervals of a run hold together, where they are likely rather than certain (1 by default, 0 for an oracle that is
    not safe); ``keeps_estimates`` that it leaves the estimates of other coordinates alone and inflates all radii by one
    number, which allows selection without scanning (false by default); ``tightening`` returns a second interval for
    every entry, a ``Tightening``.  ``begin`` is compiled: it replaces the read of the whole gradient before the first
    step of a run with ``init="gradient"``.
    """

    def prepare(self, parts: Any, rng: Any) -> Any: ...
    def is_safe(self) -> bool: ...
    def confidence(self) -> float: ...
    def keeps_estimates(self) -> bool: ...
    def tightening(self) -> Any: ...
    def begin(self, point: Any, rng: Any) -> None: ...


class Tightening(Protocol):
    """A second interval for every entry: the intersection with g ± r, as its middle and its radius."""

    def tighten(self, j: int, g: float, r: float) -> tuple[float, float]: ...


class Rule(Protocol):
    """Choose the coordinate of step t."""

    def select(self, point: Any, t: int, rng: Any) -> int: ...


class CountingRule(Rule, Protocol):
    """A rule that can tell from how many coordinates it chooses."""

    def active_count(self, point: Any) -> int: ...


class RuleOptions(Protocol):
    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Any: ...


class Step(Protocol):
    """The new x_i, its own gradient entry there and that entry's error."""

    def take(self, point: Any, i: int, g: float) -> tuple[float, float, float]: ...


class StepOptions(Protocol):
    def prepare(self, parts: Any) -> Any: ...


class PointMethods(Protocol):
    """The iterate, ``ascd.engine.descent.DescentPoint``: problem, x, predictor, raw_gradient, intervals, reads."""

    def partial(self, j: int) -> float: ...


class IntervalMethods(Protocol):
    """Bounds on every gradient entry (``ascd.engine.intervals.Intervals``)."""

    def radius_at(self, j: int) -> float: ...
    def width_at(self, j: int) -> float: ...
    def set_entry(self, j: int, gradient: float, error: float) -> None: ...
    def inflate(self, amount: float) -> None: ...
    def count_step(self, i: int, change: float) -> None: ...
    def count_products(self, length: float) -> None: ...
    def score_at(self, j: int, g: float) -> float: ...
    def bounds_at(self, j: int) -> tuple[float, float]: ...
    def signed_upper_at(self, j: int) -> float: ...


CONTRACTS: tuple[type, ...] = (
    ColumnStorage, Loss, Penalty, PiecewisePenalty, Steepness, LazySteepness, Oracle, Tightening, Rule, CountingRule,
    Step, PointMethods, IntervalMethods, BlockPenalty, PiecewiseBlockPenalty,
)  # fmt: skip

#: What a part may have beyond its contract.
OPTIONS: dict[type, tuple[type, ...]] = {
    Loss: (LossOptions,),
    Penalty: (PiecewisePenalty, PenaltyOptions),
    BlockPenalty: (PiecewiseBlockPenalty, BlockPenaltyOptions),
    Steepness: (LazySteepness, SteepnessOptions),
    Oracle: (OracleOptions,),
    Rule: (CountingRule, RuleOptions),
    Step: (StepOptions,),
}
