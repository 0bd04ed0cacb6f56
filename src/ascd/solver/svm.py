"""Support vector machines: the dual problem, its certificate and its solver.

With rows x_k, labels y_k = ±1 and A = (y_1 x_1, …, y_m x_m), one column a sample,

    hinge           min_α ½‖Aα‖² − Σα_k                     over 0 ≤ α_k ≤ C
    squared hinge   min_α ½‖Aα‖² − Σα_k + Σα_k²/(4C)        over 0 ≤ α_k

are the duals of min_w ½‖w‖² + C·Σ loss(y_k, ⟨w, x_k⟩).  The primal weights are w = Aα.  In the signed variables
β_k = y_k·α_k the matrix is Xᵀ whatever the labels are (``signed_box``), so that one matrix serves every class of
one-against-the-rest.  With ½·Σ ω_j w_j² over l ≤ w ≤ u in place of ½‖w‖², the dual has in place of ½‖z‖², z = Xᵀβ,

    Σ_j max over l_j ≤ w ≤ u_j of (z_j·w − ½ω_j·w²)  =  Σ_j 1/ω_j · max over ω_j·l_j ≤ v ≤ ω_j·u_j of (z_j·v − ½v²),

the squared loss with sample weights 1/ω where there are no bounds, and ``Clipped`` where there are.  Its gradient is w.

``BoxDescent`` minimises ½‖Aβ − b‖² + Σ_j (½μ_j β_j² + λ_j β_j) over l ≤ β ≤ u, for A in memory, by sweeps of coordinate
descent with shrinking (Hsieh et al. 2008) and two methods for what sweeps are slow at:

- **an interior point method** (Mehrotra 1992) where columns are short: some twenty d × d systems whatever C is;
- **free-set models** where they are long: coordinates inside their box that moved most are minimised over with their
  Gram matrix.  Without them hundreds of sweeps go into a few groups of nearly parallel columns (documents that occur
  twice): rcv1_sample with C = 100 takes 15 times as long with the hinge, and 4 times with its square.

Its gap is a sum of non-negative terms.  With g = ⟨a_j, v⟩, v = H(Aβ − b) the raw gradient, and the minimiser β̂ of
(g + λ)β + ½μβ² over the box,

    term_j = (g + λ + μβ̂)·(β − β̂) + ½μ(β − β̂)².

A sweep adds the terms up while v moves, which is an estimate; where that is small enough a pass over all columns gives
the gap up to rounding, and ``problem.certificate`` proves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from ascd._core.checks import Array, as_design, as_finite_vector, as_matrix, as_number, unknown_name
from ascd._core.jit import at, helper, kernel, wide
from ascd.matrix.columns import dot
from ascd.matrix.dense import Local, LocalDense
from ascd.problem.arithmetic import violation_of
from ascd.problem.certificate import Point, certify
from ascd.problem.losses import check_signs
from ascd.problem.penalties import Box, Net, penalty_conjugates
from ascd.problem.problem import Problem
from ascd.problem.tuning import DOMAIN_ROUNDING
from ascd.results import Limits
from ascd.solver import tuning
from ascd.solver.models import GramModel
from ascd.solver.sweeps import move_gradient
from ascd.solver.tuning import RUN, SHRINKS

# ---- the dual problem


class DualSVM(Problem):
    """The dual of the linear SVM without intercept; its coordinates are the samples.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : labels −1 and +1
    C : weight of the losses
    loss : {"hinge", "squared_hinge"}

    Examples
    --------
    >>> import numpy as np, ascd
    >>> X, y = np.array([[2.0, 0.0], [-2.0, 0.0]]), np.array([1.0, -1.0])
    >>> svm = ascd.DualSVM(X, y, C=1.0)
    >>> alpha = ascd.minimize(svm, tol=1e-10, rng=0).x
    >>> np.round(svm.weights(alpha), 6)
    array([0.5, 0. ])
    """

    def __init__(self, X: Any, y: Any, C: float = 1.0, loss: str = "hinge") -> None:
        if loss not in ("hinge", "squared_hinge"):
            raise unknown_name(loss, "loss", ("hinge", "squared_hinge"))
        C = as_number(C, "C", low=0.0, high=1e300, strict=True)
        X = as_design(as_matrix(X))
        y = as_finite_vector(y, "y", X.shape[0])
        check_signs(y, loss, "y")
        box = Box(0.0, C, linear=-1.0) if loss == "hinge" else Box(0.0, math.inf, l2=0.5 / C, linear=-1.0)
        signed = X.multiply(y[:, None]) if hasattr(X, "multiply") else X * y[:, None]
        super().__init__(signed.T, np.zeros(X.shape[1]), penalty=box)
        self.C, self.hinge = C, loss

    def weights(self, alpha: Any) -> Array:
        """The primal weights w = Aα, to be used as sign(⟨w, x⟩)."""
        return self.linear_predictor(alpha)

    def primal_objective(self, weights: Any) -> float:
        """½‖w‖² + C·Σ loss(y_k, ⟨w, x_k⟩)."""
        weights = as_finite_vector(weights, "weights", self.n_samples)
        margins = self.design.dots(np.arange(self.n_features), weights)
        shortfall = np.maximum(0.0, 1.0 - margins)
        losses = shortfall if self.hinge == "hinge" else shortfall**2
        return float(0.5 * weights @ weights + self.C * losses.sum())


def signed_box(y: Array, C: float, loss: str, sample_weight: Array | None = None) -> Net:
    """The penalty of β_k = y_k·α_k, with C·s_k as the weight of sample k's loss.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> from ascd.solver.svm import signed_box
    >>> X, y = np.array([[2.0, 0.0], [-2.0, 0.0]]), np.array([1.0, -1.0])
    >>> svm = ascd.Problem(X.T, np.zeros(2), penalty=signed_box(y, C=1.0, loss="hinge"))
    >>> np.round(svm.linear_predictor(ascd.minimize(svm, tol=1e-10, rng=0).x), 6)
    array([0.5, 0. ])
    """
    strength = C * (np.ones_like(y) if sample_weight is None else sample_weight)
    most = strength if loss == "hinge" else np.where(strength > 0.0, math.inf, 0.0)
    lower, upper = np.where(y > 0.0, 0.0, -most), np.where(y > 0.0, most, 0.0)
    curvature = np.zeros_like(y)
    if loss == "squared_hinge":
        np.divide(0.5, strength, out=curvature, where=strength > 0.0)
    return Box(lower, upper, curvature, -y)


def primal_value(problem: Problem, beta: Array) -> tuple[Array, float, float]:
    """Return the primal weights w = ∇f(Aβ), their objective f*(w) + Σ_j Ψ_j*(−⟨a_j, w⟩) and a bound on its gap."""
    objective, predictor, weights = problem.evaluate(beta)
    products = problem.design.dots(np.arange(problem.n_features), weights)
    conjugates = np.empty(products.size)
    penalty_conjugates(problem.parts.penalty, -products, conjugates)
    loss = objective - problem.cost(beta[:, None])
    value = predictor @ weights - loss + conjugates.sum()  # f(z) + f*(w) = ⟨z, w⟩ where w = ∇f(z)
    # a bound on F(β) + F*(w) is one on the gap of w
    point = Point(beta[:, None], np.zeros(1), predictor[:, None], weights[:, None], None, False)
    gap, _ = certify(problem, problem.terms(), point, products[:, None], np.zeros(beta.size), None, math.inf)
    return weights, float(value), gap


class Clipped(NamedTuple):
    """max over lower_j ≤ v ≤ upper_j of z·v − ½v², a loss whose target is the number j of a feature.

    Its derivative is z, clipped to the bounds.
    """

    lower: Array
    upper: Array

    def value(self, y: float, z: float) -> float:
        v = self.derivative(y, z)
        return v * (z - 0.5 * v)

    def derivative(self, y: float, z: float) -> float:
        j = int(y)
        return max(self.lower[j], min(self.upper[j], z))

    def curvature(self, y: float, z: float) -> float:
        j = int(y)
        return 1.0 if self.lower[j] <= z <= self.upper[j] else 0.0

    def conjugate(self, y: float, u: float) -> float:
        j = int(y)
        far = DOMAIN_ROUNDING * (1.0 + abs(u))
        return 0.5 * u * u if self.lower[j] - far <= u <= self.upper[j] + far else math.inf

    def curvature_bound(self) -> float:
        return 1.0

    def is_quadratic(self) -> bool:
        return False


# ---- which problems, and their place in ``solve``


def is_box_problem(problem: Problem) -> bool:
    """Return True if the loss is quadratic, the penalty a box that bounds every coordinate, and A in memory."""
    penalty, parts = problem.parts.penalty, problem.parts
    if not (isinstance(penalty, Net) and isinstance(problem.design, Local) and parts.loss.is_quadratic()):
        return False
    ends = np.isfinite(penalty.lower) + 1 * np.isfinite(penalty.upper)
    is_bounded = (ends == 2) | ((ends == 1) & (np.asarray(penalty.l2) > 0.0))
    return bool(np.all(is_bounded) and not np.any(penalty.l1) and np.all(np.asarray(parts.sample.weight) > 0.0))


def is_for_descent(problem: Problem, tol: float, limits: Limits) -> bool:
    """Return True if ``solve`` should begin with ``BoxDescent``: an SVM dual, not small, without a time limit."""
    is_coarse = tol >= 1e-12 and problem.n_features > tuning.FEW_IN_BOX
    is_free = limits.max_iter > 1 and math.isinf(limits.max_time)
    if not (is_coarse and is_free and problem.is_by_coordinate):
        return False
    is_centred = problem.parts.offset.size == 0 and not problem.parts.sample.target.any()
    return is_centred and is_box_problem(problem)


# ---- the method


class BoxDescent:
    """Minimisation from ``x``; x and ``raw_gradient`` = H(Ax − b) move together.

    ``order`` lists the ``n_active`` coordinates that sweeps visit; ``gap`` is infinite where it was not computed at x.
    Costs are in nanoseconds: sweeps have cost ``since_model`` and ``since_interior`` since either method was used.
    """

    def __init__(self, problem: Problem, x: Array) -> None:
        if not isinstance(problem.design, Local):
            raise TypeError(f"the columns must be in memory; got {type(problem.design).__name__}")
        self.problem, self.design, self.parts, n = problem, problem.design, problem.parts, x.size
        self.penalty: Any = problem.parts.penalty
        self.x, self.raw_gradient = x, problem.evaluate(x)[2]
        self.weight = np.broadcast_to(np.asarray(self.parts.sample.weight, dtype=np.float64), self.raw_gradient.shape)
        self.order, self.n_active, self.before = np.arange(n), n, x.copy()
        self.turn, self.seed = np.empty(n // RUN + 1, dtype=np.int64), np.ones(1, dtype=np.int64)
        self.violation, self.gap, self.n_iter, self.reads = math.inf, math.inf, 0, 0
        self.visit_cost, self.is_interrupted = self.design.sweep_cost(self.order) / n + 40.0, False
        self.since_model = self.since_interior = 0.0
        self.is_short = 8 * self.raw_gradient.size**2 <= max(tuning.GRAM_FLOOR, self.design.nbytes)

    def minimise(self, goal: Callable[[Array], float], most: int) -> None:
        """Go to where the gap is at most ``goal(raw_gradient)``, or as far as rounds, rounding or Ctrl-C allow."""
        lowest, idle = math.inf, 0
        try:
            while self.n_iter < most and idle < tuning.MOST_IDLE_ROUNDS:
                wanted = goal(self.raw_gradient)
                estimate = self._sweep(wanted)
                idle = 0 if estimate < lowest else idle + 1
                lowest = min(lowest, estimate)
                if estimate > wanted and self.n_active and not self._interior(wanted):
                    self._improve_free()
                    continue
                self._activate()
                if self.gap <= goal(self.raw_gradient) or self.n_active == 0:
                    return
                lowest = math.inf
        except KeyboardInterrupt:
            self.is_interrupted = True

    def _sweep(self, wanted: float) -> float:
        """Sweep once at first (weights of 0 have no goal), then more often where sweeps are cheap beside calls."""
        parts, self.gap = self.parts, math.inf
        often = max(tuning.SWEEPS_A_ROUND, int(tuning.ROUND_LENGTH / (self.visit_cost * max(self.n_active, 1))))
        estimate, self.violation, self.n_active, reads = sweep_box(
            parts.penalty, parts.matrix, parts.norm, parts.lipschitz, parts.sample.weight, self.raw_gradient, self.x,
            self.order, self.n_active, self.turn, self.seed, self.violation, wanted, often if self.n_iter else 1,
        )  # fmt: skip
        self.n_iter += 1
        self.reads += int(reads)
        self.since_model += reads * self.visit_cost
        self.since_interior += reads * self.visit_cost
        return float(estimate)

    def _activate(self) -> None:
        """Compute the gap; all coordinates that may move are active again."""
        products = self.design.dots(np.arange(self.x.size), self.raw_gradient)
        self.gap, self.n_active = activate(self.penalty, self.parts.norm, products, self.x, self.violation, self.order)
        self.violation = math.inf if self.n_active else 0.0
        self.reads += self.x.size

    def _improve_free(self) -> None:
        """Minimise over the free coordinates that moved most since the last time, where sweeps have cost as much.

        Their Gram matrix is used, and a share of the largest violation is left.
        """
        if self.is_short and self.n_active > self.raw_gradient.size:
            return
        is_free = (self.penalty.lower < self.x) & (self.x < self.penalty.upper)
        moved = np.where(is_free, np.abs(self.x - self.before), 0.0) * self.parts.norm
        columns = np.sort(np.argsort(-moved, kind="stable")[: tuning.MOST_FREE])
        columns = columns[moved[columns] > 0.0]
        products = self.design.products_cost(columns.size, self.design.entries(columns))
        if self.since_model < products + tuning.MODEL_STEPS * columns.size**2:
            return
        self.before, self.since_model = self.x.copy(), 0.0
        if columns.size == 0:
            return
        gram = np.asfortranarray(self.design.products(columns, columns, self.weight, None))
        values, predictor = self.x[columns], np.zeros(self.raw_gradient.size)
        model = GramModel(self.penalty, columns, gram, self.design.dots(columns, self.raw_gradient), values)
        model.minimise(0.01 * self.violation * float(self.parts.norm[columns].min()), 200)
        self.design.add(columns, values - self.x[columns], predictor)
        self.x[columns] = values
        self.raw_gradient += self.weight * predictor
        self.reads += 3 * columns.size
        self.violation *= 2.0

    def _interior(self, wanted: float) -> bool:
        """Run the interior point method on the active coordinates; return False where sweeps have cost less so far."""
        if not self.is_short:
            return False
        columns, size, n = self.order[: self.n_active], float(self.raw_gradient.size), self.x.size
        counts = self.design.counts[columns].astype(np.float64)
        systems = tuning.BOX_PRODUCT * float(counts @ counts) + tuning.BOX_CUBE * size**3
        steps = 18.0  # about so many are taken
        cost = steps * (systems + 6.0 * self.design.pass_cost(columns) + 60.0 * columns.size + tuning.BOX_CALLS)
        if self.since_interior <= tuning.INTERIOR_WAIT * cost:
            return False
        columns = np.sort(columns)
        low, high = finite_box(self.penalty, n, self.problem.objective(self.x))
        linear, curvature = (np.broadcast_to(part, n) for part in (self.penalty.linear, self.penalty.l2))
        given = (part[columns] for part in (linear, curvature, low, high))
        method = InteriorPoint(self.design, self.weight, columns, *given)
        goal = 0.5 * wanted  # rounding follows
        self.x[columns], self.raw_gradient = method.minimise(self.x[columns], self.raw_gradient, goal)
        self.reads += method.reads
        self.since_interior = 0.0
        return True


# ---- sweeps


@helper
def shuffle(order: Array, first: int, last: int, seed: Array) -> None:
    """order[first:last] in another order, by a linear congruential generator."""
    for a in range(last - 1, first, -1):
        seed[0] = (seed[0] * 25214903917 + 11) & 0xFFFFFFFFFFFF
        b = first + ((seed[0] >> 16) * (a + 1 - first) >> 32)
        order[a], order[b] = order[b], order[a]


@helper
def box_gap_term(penalty: Any, x: float, g: float, j: int) -> float:
    """Return Ψ_j(x) + Ψ_j*(−g) + x·g of a quadratic function in a box, without cancellation."""
    tilt, curvature = g + at(penalty.linear, j), at(penalty.l2, j)
    best = at(penalty.lower, j) if tilt > 0.0 else at(penalty.upper, j)
    if curvature > 0.0:
        best = max(at(penalty.lower, j), min(at(penalty.upper, j), -tilt / curvature))
    ahead = x - best
    return (tilt + curvature * (best + 0.5 * ahead)) * ahead


@kernel
def sweep_box(
    penalty: Any, matrix: Any, norm: Array, lipschitz: Array, weight: Any, raw_gradient: Array, x: Array, order: Array,
    n_active: int, turn: Array, seed: Array, worst: float, goal: float, most: int,
) -> tuple[float, float, int, int]:  # fmt: skip
    """Sweep over order[:n_active] until the estimated gap is at most ``goal``, at most ``most`` times.

    A coordinate is dropped that is further inside its optimality condition than the violations of the sweep before,
    ``worst``, let expect: g moves by ‖a_j‖ times what v moves, so violations are divided by ‖a_j‖.  Columns come in
    runs of neighbours, whose memory lies together.

    Returns the estimate, the largest violation over ‖a_j‖ of the last sweep, how many are active, and columns read.
    """
    reads, sweeps, estimate = 0, 0, math.inf
    while sweeps < most and n_active > 0:
        before, worst, estimate = worst, 0.0, 0.0
        runs = (n_active + RUN - 1) // RUN
        for b in range(runs):
            turn[b] = b
        shuffle(turn, 0, runs, seed)
        for b in range(runs):
            first = RUN * wide(turn[b])
            last = min(first + RUN, n_active)
            shuffle(order, first, last, seed)
            for a in range(first, last):
                j = wide(order[a])
                g = dot(matrix, j, raw_gradient)
                low, high = penalty.subgradient(x[j], j)
                violation = violation_of(low, high, g)
                if violation < -SHRINKS * before * norm[j]:
                    order[a] = -1
                    continue
                estimate += box_gap_term(penalty, x[j], g, j)
                if violation > 0.0:
                    worst = max(worst, violation / norm[j]) if norm[j] > 0.0 else worst
                    new = penalty.prox(x[j] - g / lipschitz[j], 1.0 / lipschitz[j], j)
                    change = new - x[j]
                    if change != 0.0:
                        x[j] = new
                        move_gradient(matrix, j, change, weight, raw_gradient)
        sweeps += 1
        reads += n_active
        kept = 0  # their order stays
        for a in range(n_active):
            order[kept] = order[a]
            kept += order[a] >= 0
        n_active = kept
        if estimate <= goal:
            break
    return estimate, worst, n_active, reads


@kernel
def activate(penalty: Any, norm: Array, products: Array, x: Array, worst: float, order: Array) -> tuple[float, int]:
    """Return the gap and the number of coordinates that may move, which are listed in ``order``."""
    gap, count = 0.0, 0
    for j in range(x.size):
        gap += box_gap_term(penalty, x[j], products[j], j)
        low, high = penalty.subgradient(x[j], j)
        order[count] = j
        count += violation_of(low, high, products[j]) >= -worst * norm[j]
    return gap, count


# ---- interior point

#: Rows of the state and of a step: distances to both ends, and their multipliers.
BELOW, ABOVE, LOWER, UPPER = range(4)


def finite_box(box: Any, n: int, value: float) -> tuple[Array, Array]:
    """Return a finite box with the minimum in it: F there is at most ``value``, and no other term below its lowest."""
    lower, upper, linear, curvature = (np.broadcast_to(part, n) for part in (box.lower, box.upper, box.linear, box.l2))
    is_open = ~(np.isfinite(lower) & np.isfinite(upper))
    with np.errstate(all="ignore"):
        lowest = np.where(is_open, 0.5 * linear**2 / curvature, np.maximum(abs(linear * lower), abs(linear * upper)))
        far = abs(linear) / curvature + np.sqrt(2.0 * (value + lowest.sum()) / curvature)
    return np.where(np.isinf(lower), -far, lower), np.where(np.isinf(upper), far, upper)


class InteriorPoint:
    """Mehrotra's predictor-corrector method on some columns with finite boxes.

    With p = β − l, q = u − β and multipliers s, t ≥ 0 of the two ends, optimality reads ∇ = Aᵀv + λ + μβ = s − t,
    p·s = 0, q·t = 0.  Newton's step for p·s = q·t = τ has the matrix AᵀHA + D, D = μ + s/p + t/q diagonal, and with
    h = 1/D

        (AᵀHA + D)⁻¹  =  h − h·Aᵀ (H⁻¹ + A h Aᵀ)⁻¹ A·h.

    It starts at the given point moved inside: at an end with gradient entry ∇ the distance becomes τ/|∇|, inside the
    box the multipliers become τ/p and τ/q, with τ the gap there, a share for each end.
    """

    def __init__(
        self, design: Local, weight: Array, columns: Array, linear: Array, curvature: Array, low: Array, high: Array
    ) -> None:
        self.design, self.weight, self.columns, self.reads = design, weight, columns, 0
        self.linear, self.curvature, self.low, self.high = linear, curvature, low, high
        self.squares = design.squares(1.0, columns)

    def minimise(self, x: Array, raw_gradient: Array, goal: float) -> tuple[Array, Array]:
        """Return the best point found and its raw gradient: steps end at a gap of ``goal``."""
        gradient = self._gradient(x, raw_gradient)
        gap = self._gap(x, gradient)
        best, share = (gap, x, raw_gradient), max(gap, 1e-300) / (2.0 * x.size)
        width = np.maximum(self.high - self.low, 1e-300)
        pull = np.minimum(share / np.maximum(np.abs(gradient), 1e-6), 0.5 * width)
        below = np.clip(x - self.low, pull, width - pull)
        above = width - below
        state = np.stack([below, above, np.maximum(gradient, share / below), np.maximum(-gradient, share / above)])
        move: Array | None = np.clip(self.low + state[BELOW], self.low, self.high) - x
        for _ in range(80):
            if move is None:
                break
            x = np.clip(x + move, self.low, self.high)  # distances to the ends are kept by themselves: it is rounded
            raw_gradient = raw_gradient + self.weight * self._predictor(move)
            gradient = self._gradient(x, raw_gradient)
            gap = self._gap(x, gradient)
            best = (gap, x, raw_gradient) if gap < best[0] else best
            move = self._step(state, gradient) if goal < gap < math.inf else None
        return best[1], best[2]

    def _gradient(self, x: Array, raw_gradient: Array) -> Array:
        self.reads += self.columns.size
        return self.design.dots(self.columns, raw_gradient) + self.linear + self.curvature * x

    def _predictor(self, factors: Array) -> Array:
        out = np.zeros(self.weight.size)
        self.design.add(self.columns, factors, out)
        self.reads += self.columns.size
        return out

    def _gap(self, x: Array, gradient: Array) -> float:
        """Return Σ ``box_gap_term``."""
        ahead = np.where(gradient > 0.0, x - self.low, x - self.high)
        with np.errstate(all="ignore"):
            ahead = np.sign(gradient) * np.fmin(abs(ahead), abs(gradient) / self.curvature)
        return float(np.sum((gradient - 0.5 * self.curvature * ahead) * ahead))

    def _step(self, state: Array, gradient: Array) -> Array | None:
        """Advance the state by a predictor and corrector step; return the move of x, or None where there is none."""
        h = 1.0 / (self.curvature + state[LOWER] / state[BELOW] + state[UPPER] / state[ABOVE])
        self.reads += 2 * self.columns.size
        factor = self._factor(h)
        if factor is None:
            return None
        step, share = np.zeros_like(state), complementarity(state)
        aim, length = 0.0, 0.0
        for _ in range(2):
            first, second = aim - step[BELOW] * step[LOWER], aim - step[ABOVE] * step[UPPER]
            right = h * (first / state[BELOW] - second / state[ABOVE] - gradient)
            move = right - h * self.design.dots(self.columns, dpotrs(factor, self._predictor(right), lower=1)[0])
            step[BELOW], step[ABOVE] = move, -move
            step[LOWER] = (first - state[LOWER] * move) / state[BELOW] - state[LOWER]
            step[UPPER] = (second + state[UPPER] * move) / state[ABOVE] - state[UPPER]
            falls = step < 0.0
            length = float(np.min(state[falls] / -step[falls], initial=1.0))
            rest = max(complementarity(state + length * step), 0.0) / share if share > 0.0 else 0.0
            aim = share * rest * rest * rest  # no power: one that overflows is an error in Python
        length = min(1.0, 0.995 * length)  # not quite to the first end met
        if not (0.0 < length <= 1.0 and np.isfinite(step[BELOW]).all()):
            return None
        state += length * step
        return length * step[BELOW]

    def _factor(self, h: Array) -> Array | None:
        """Return the Cholesky factor of H⁻¹ + A h Aᵀ, or None.

        Columns at an end have a tiny h: those that change the matrix by at most 1e-3 of H⁻¹ together are left out.
        """
        counts = h * self.squares * self.weight.max() > 1e-3 / h.size
        columns, h = self.columns[counts], h[counts]
        self.reads += columns.size
        if isinstance(self.design, LocalDense):
            block = self.design.matrix.values[:, columns] * np.sqrt(h)
            matrix = np.asfortranarray(block @ block.T)
        else:
            part, matrix = self.design.take(columns), np.zeros((self.weight.size, self.weight.size), order="F")
            add_outer_products(part.matrix, part.places, h, matrix)
        matrix[np.diag_indices(self.weight.size)] += 1.0 / self.weight
        factor, trouble = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
        return factor if trouble == 0 else None


def complementarity(state: Array) -> float:
    """Return the mean of p·s and q·t."""
    return float((state[BELOW] * state[LOWER] + state[ABOVE] * state[UPPER]).mean()) / 2.0


@kernel
def add_outer_products(matrix: Any, columns: Array, factors: Array, out: Array) -> None:
    """Add Σ_i factors_i·a_i a_iᵀ to the lower triangle of ``out``; rows ascend within a column."""
    for i in range(columns.size):
        j, factor = wide(columns[i]), factors[i]
        for p in range(matrix.start(j), matrix.stop(j)):
            k, entry = matrix.row(p), factor * matrix.entry(p, j)
            for q in range(p, matrix.stop(j)):
                out[matrix.row(q), k] += entry * matrix.entry(q, j)
