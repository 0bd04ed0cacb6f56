"""Losses of all predictions, f(Z) with Z = AX + 1cᵀ of shape (n_samples, n_outputs): what the solver sees.

``Outputs`` adds up a loss by sample over samples and outputs; ``ascd.problem.softmax.Softmax`` couples the outputs of a
sample.  Of both, ``bound`` is M, an upper bound on the eigenvalues of the Hessian for weights of 1; ``is_flat`` says
that coefficients have the shape (n_features,), ``is_coupled`` that the Hessian has entries beside the diagonal.

**The intercept** c is free of penalty.  It stays where it minimises f(Ax + c·1), that is, where the gradients sum to
zero; so it needs no column of ones and no centred copy of A, and it drops out of every gradient entry.  The search is
Newton's method on Σ_k s_k·loss'(b_k, z_k + t) = 0, whose left side never falls as t grows; steps that leave the bracket
or do not halve give way to bisection.

Many samples are evaluated in parts of fixed size, which threads share: sums do not depend on the number of threads.

**Dual points.**  Their lengths are in the norm ‖θ‖² = Σ_k θ_k²/s_k, which is dual to that of the columns; samples
without weight do not count.  Where Ψ_j* is finite at one point alone (a column without penalty, the intercept), or x_j
is at an end of its domain, the dual point must satisfy ⟨a_j, θ⟩ = r_j.  With J these columns, H the loss's curvatures,
ρ_j = ⟨a_j, θ⟩ − r_j and B = H^½ (A_J, 1), the point

    θ' = θ − H^½·B(BᵀB)⁻¹ρ,         |θ'_k − θ_k|  ≤  √H_k · min(‖ρ‖/σ, ‖B_k‖·‖ρ‖/σ²),

fits exactly, σ the smallest singular value of B.  In floating point θ' is a better dual point (``moved``); in exact
arithmetic it exists within that distance (``near``), and what holds for all dual points there is proved.  Columns are
first scaled to length 1.  Where they depend on each other there is no fit, and no proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd._core.threads import by_parts
from ascd.matrix import costs
from ascd.matrix.base import Matrix, as_block
from ascd.matrix.columns import farthest
from ascd.problem import tuning
from ascd.problem.arithmetic import norm
from ascd.problem.losses import Sample, divergence
from ascd.problem.tuning import BALANCED, DOMAIN_ROUNDING, MOST_NEWTON_STEPS, SAMPLES_A_PART, SMALL

#: What a search for the constant remembers: the constant, its bracket, the next long step and the last step's length.
T, LOW, HIGH, STRIDE, LAST_STEP = range(5)


class Curvature(NamedTuple):
    """Hessians of the samples, diag(own) − r rᵀ with the rows r of ``shared``; ``most`` bounds their eigenvalues."""

    own: Array
    shared: Array | None
    most: Array


class Outputs:
    """The sum of one loss by sample over samples and outputs; ``weight`` is the number 1.0 where all weights are 1."""

    is_coupled = False

    def __init__(self, loss: Any, given: Array, weight: Any) -> None:
        self.loss, self.given, self.weight = loss, given, weight
        self.target, self.is_flat = given.reshape(len(given), -1), given.ndim == 1
        self.n_outputs = self.target.shape[1]
        is_each = np.ndim(weight) == 0 or self.n_outputs == 1
        self.sample = Sample(self.target.ravel(), weight if is_each else np.repeat(weight, self.n_outputs))
        self.is_quadratic, self.bound = bool(self.loss.is_quadratic()), float(self.loss.curvature_bound())
        #: what the curvatures of all samples sum to at most
        self.most = (float(weight.sum()) if np.ndim(weight) else len(given)) * self.bound

    def evaluate(self, Z: Array, intercept: bool) -> tuple[float, Array, Curvature, Array]:
        """Return the value, the raw gradient (d, T), the curvature, and the best intercepts, which move Z in place."""
        shift, most = np.zeros(self.n_outputs), self.most if intercept and self.n_outputs == 1 else None
        gradient, curvature = np.empty(Z.shape), np.empty(Z.shape)
        for t in range(self.n_outputs if intercept and self.n_outputs > 1 else 0):
            sample, moved, room = Sample(self.target[:, t].copy(), self.weight), Z[:, t].copy(), np.empty((2, len(Z)))
            shift[t] = evaluate_samples(sample, self.loss, moved, room[0], room[1], self.most)[1]
            Z[:, t] = moved
        flat = Z.ravel(), gradient.ravel(), curvature.ravel()
        value, constant = evaluate_samples(self.sample, self.loss, *flat, most)
        largest = curvature[:, 0] if self.n_outputs == 1 else curvature.max(axis=1)
        return float(value), gradient, Curvature(curvature, None, largest), shift + constant

    def chord_curvature(self, Z: Array, gradient: Array) -> Array:
        """Return v²/(f(z) − min f): see ``ascd.solver.subproblem``."""
        out = np.zeros(Z.shape)
        chord_curvatures(self.sample, self.loss, Z.ravel(), gradient.ravel(), out.ravel())
        return out

    def gap(self, Z: Array, dual: Array, reach: Array, scale: float) -> float:
        """Return Σ f_k(z_k) + f_k*(θ_k) − ⟨θ_k, z_k⟩, the largest for θ within ``reach`` of scale·dual."""
        return gap_of_samples(self.sample, self.loss, Z.ravel(), dual.ravel(), reach.ravel(), scale)

    def own_curvature(self, seen: Any, t: int) -> Array:
        """Return the curvatures of one output, of shape (n_samples,)."""
        return np.ascontiguousarray(seen.curvature.own[:, t])

    def dual_fit(self, matrix: Matrix, columns: Array, required: Array, point: Any) -> DualFit | None:
        """Return ``fit_to`` these columns; for a quadratic loss all outputs are moved with the same factors."""
        if columns.size == 0 and not point.intercept:
            return DualFit()
        able = point.curvature.own[:, :1] if self.is_quadratic else point.curvature.own.copy()
        if not self.is_quadratic:
            gradient = point.raw_gradient.ravel()
            typical = norm(unweighted(gradient, self.sample.weight)) / math.sqrt(gradient.size)
            keep_movable(self.sample, self.loss, gradient, typical, able.ravel())
        return fit_to(matrix, columns, point.intercept, able, self.weight, required)


# ---- values, gradients and curvatures


def over_samples(function: Any, sample: Any, loss: Any, predictor: Array, *given: Any) -> Any:
    """Return the sum of what a kernel returns for parts of the samples, which threads share."""
    price = costs.SAMPLE if loss.is_quadratic() else costs.CURVED_SAMPLE  # nanoseconds
    return by_parts(price, predictor.size, SAMPLES_A_PART, function, sample, loss, predictor, *given).sum(axis=0)


def evaluate_samples(
    sample: Any, loss: Any, predictor: Array, gradient: Array, curvature: Array, most: float | None
) -> tuple[float, float]:
    """Return the sum of losses (gradients and curvatures are filled in) and the constant that moved the predictor.

    ``most`` is what the curvatures sum to at most: it tells, in the target's own units, where there is hardly any, and
    how long a first step is then.  Without it there is no constant.
    """
    given, search = (sample, loss, predictor), np.zeros(5)
    if most is None:
        over_samples(evaluate_part, *given, 0.0, gradient, curvature)
        return float(over_samples(add_losses, *given, 0.0)), 0.0
    if predictor.size <= SAMPLES_A_PART:
        return float(balance(*given, gradient, curvature, most, search)), float(search[T])
    reach = farthest(predictor)
    for number in range(MOST_NEWTON_STEPS):  # ``best_constant`` by parts
        first, second, size = over_samples(evaluate_part, *given, search[T], gradient, curvature).tolist()
        if step_intercept(search, number, first, second, size, most, reach, predictor.size):
            break
    total = float(over_samples(add_losses, *given, search[T]))
    predictor += search[T]
    return total, float(search[T])


@helper
def fill_gradients(
    sample: Any, loss: Any, predictor: Array, t: float, gradient: Array, curvature: Array, start: int, stop: int
) -> tuple[float, float, float]:
    """Fill in s·loss' and s·loss'' of some samples; return the sums of both, and of the gradients' sizes."""
    first, second, size = 0.0, 0.0, 0.0
    for number in range(start, stop):
        k = wide(number)
        weight, target, z = at(sample.weight, k), sample.target[k], predictor[k] + t
        is_counted = weight > 0.0  # exp may overflow in a sample without weight: 0·inf is nan
        gradient[k] = weight * loss.derivative(target, z) if is_counted else 0.0
        curvature[k] = weight * loss.curvature(target, z) if is_counted else 0.0
    for number in range(start, stop):  # apart: the loop above goes through several samples at a time
        k = wide(number)
        first += gradient[k]
        second += curvature[k]
        size += abs(gradient[k])
    return first, second, size


evaluate_part = kernel(fill_gradients)


@helper
def sum_of_losses(sample: Any, loss: Any, predictor: Array, t: float, start: int, stop: int) -> float:
    """Return Σ s·loss of some samples: half of the time of both where the loss has logarithms."""
    total = 0.0
    for number in range(start, stop):
        k = wide(number)
        weight = at(sample.weight, k)
        total += weight * loss.value(sample.target[k], predictor[k] + t) if weight > 0.0 else 0.0
    return total


add_losses = kernel(sum_of_losses)


# ---- the intercept


@helper
def best_constant(
    sample: Any, loss: Any, predictor: Array, gradient: Array, curvature: Array, most: float, search: Array
) -> float:
    """Move z by the best constant, filled in in ``search``; return the sum of losses there, gradients filled in."""
    d, reach = predictor.size, 0.0
    search[T] = 0.0
    for k in range(d):
        reach = max(reach, abs(predictor[k]))
    for number in range(MOST_NEWTON_STEPS):
        first, second, size = fill_gradients(sample, loss, predictor, search[T], gradient, curvature, 0, d)
        if step_intercept(search, number, first, second, size, most, reach, d):
            break
    total = sum_of_losses(sample, loss, predictor, search[T], 0, d)
    for k in range(d):
        predictor[k] += search[T]
    return total


balance = kernel(best_constant)


@helper
def step_intercept(
    search: Array, number: int, first: float, second: float, size: float, most: float, reach: float, count: int
) -> bool:
    """Return whether the constant balances the gradients; where not, take the next step."""
    t, finite = search[T], size < math.inf  # a Poisson loss may overflow on the way
    if number == 0:
        search[LOW], search[HIGH], search[LAST_STEP] = -math.inf, math.inf, math.inf
        search[STRIDE] = size / most if 0.0 < most < math.inf else 1.0
    search[HIGH if first > 0.0 else LOW] = t
    low, high, stride = search[LOW], search[HIGH], search[STRIDE]
    is_newton = second > SMALL * min(size, most)
    step = -first / second if is_newton else math.copysign(stride, -first)
    is_even = abs(first) <= BALANCED * math.sqrt(count) * size  # but for rounding
    is_short = is_newton and abs(step) <= BALANCED * max(reach, abs(t))
    if (finite and (is_even or is_short)) or number + 1 == MOST_NEWTON_STEPS:
        return True
    if not (finite and low < t + step < high and 2.0 * abs(step) <= search[LAST_STEP]):
        step = 0.5 * (low + high) - t
        if not abs(step) < math.inf:  # math.isfinite subtracts, which the compiler may reorder
            step = math.copysign(stride, -first)
    search[LAST_STEP] = abs(step)
    search[T] = t + step
    search[STRIDE] = 4.0 * stride
    return False


# ---- gaps: divergences, in which nothing cancels


def gap_of_samples(sample: Any, loss: Any, predictor: Array, dual: Array, reach: Array, scale: float) -> float:
    """Return ``sample_gap`` of all samples."""
    return float(over_samples(gap_of_part, sample, loss, predictor, dual, reach, scale))


@helper
def sample_gap(
    sample: Any, loss: Any, predictor: Array, dual: Array, reach: Array, scale: float, start: int, stop: int
) -> float:
    """Return the largest Σ_k f_k(z_k) + f_k*(θ_k) − θ_k·z_k for |θ − scale·dual| ≤ reach (none where that is empty)."""
    total = 0.0
    for number in range(start, stop):
        k = wide(number)
        weight, target, z = at(sample.weight, k), sample.target[k], predictor[k]
        if weight > 0.0:
            u = scale * dual[k] / weight
            if reach.size > 0 and reach[k] > 0.0:  # whether the end is inside the domain must not be left to rounding
                away = reach[k] / weight + 4.0 * DOMAIN_ROUNDING * abs(u)
                term = max(divergence(loss, target, z, u - away), divergence(loss, target, z, u + away))
            else:
                term = divergence(loss, target, z, u)
            total += weight * term
    return total


gap_of_part = kernel(sample_gap)


@kernel
def chord_curvatures(sample: Any, loss: Any, predictor: Array, gradient: Array, out: Array) -> None:
    """Fill in v²/D, with D = f(z) + f*(0) = f(z) − min f; 0 where D is."""
    for k in range(out.size):
        weight = at(sample.weight, k)
        if weight > 0.0:
            above = weight * divergence(loss, sample.target[k], predictor[k], 0.0)
            out[k] = gradient[k] * gradient[k] / above if 0.0 < above < math.inf else 0.0


# ---- dual points that have some products exactly


def unweighted(vector: Array, weight: Any) -> Array:
    """Return vector_k/s_k, 0 where a sample has no weight."""
    if np.ndim(weight) == 0:
        return vector
    return np.divide(vector, weight, out=np.zeros(vector.size), where=weight > 0.0)


def dual_length(vector: Array, weight: Any) -> float:
    """Return √Σ θ_k²/s_k."""
    return norm(unweighted(vector, np.sqrt(weight)))


@kernel
def keep_movable(sample: Any, loss: Any, dual: Array, typical: float, curvature: Array) -> None:
    """Set the curvatures to 0 of samples whose θ_k is near the end of its domain."""
    for k in range(curvature.size):
        weight, target = at(sample.weight, k), sample.target[k]
        if weight > 0.0:
            u = dual[k] / weight
            away = 1e-9 * (abs(u) + typical)
            if not (loss.conjugate(target, u - away) < math.inf and loss.conjugate(target, u + away) < math.inf):
                curvature[k] = 0.0


class DualFit(NamedTuple):
    """What fits a dual point (d, T): by default nothing, where nothing is required of it or none can differ from it.

    ``moved`` returns the dual point whose products and sums are smaller by an excess of shape (k, T), ``near`` how far
    one that fits exactly can be, entry by entry and in all, where products and sums are off by so much.
    """

    moved: Callable[[Array, Array], Array] = lambda dual, excess: dual
    near: Callable[[Array, Array], tuple[Array, float]] = lambda dual, misses: (np.empty(0), 0.0)


def fit_to(
    matrix: Matrix, columns: Array, intercept: bool, curvature: Array, weight: Any, required: Array
) -> DualFit | None:
    """Return what moves a dual point to the products (k, T) that columns require, and to sums of 0.

    Curvatures are those of each output, of shape (d, T), or (d, 1) of all.  None where the columns are too many or
    depend on each other.
    """
    count, d = columns.size + intercept, len(curvature)
    if count > 200 and d * count**2 > 4e9:  # operations: about a second
        return None
    block = as_block(matrix.take(columns), d) if columns.size else np.empty((d, 0))
    if intercept:
        block = np.c_[block, np.ones(d)]
    some = block[np.broadcast_to(np.asarray(weight) > 0.0, d)]
    is_there = np.asarray(some.any(axis=0))
    if intercept:  # sums of 0 make the products of constant columns 0
        is_there[:-1] &= (some[:, :-1] != some[:1, :-1]).any(axis=0)
    if required[~is_there[: columns.size]].any():
        return None
    used, root = np.flatnonzero(is_there), np.sqrt(curvature.T)[:, :, None]
    if used.size == 0:
        return DualFit()
    block = block[:, used] * root
    size = np.linalg.norm(block, axis=1)
    size = np.where(size > tuning.SMALLEST_COLUMN, size, math.inf)  # of a column without digits 0 is left: no fit
    left, singular, right = np.linalg.svd(block / size[:, None], full_matrices=False)
    if used.size > d or not np.all(singular[:, -1] > tuning.SMALLEST_SINGULAR * singular[:, 0]):
        return None

    def moved(dual: Array, excess: Array) -> Array:
        shares = right @ (excess[used].T / size)[:, :, None] / singular[:, :, None]
        return np.ascontiguousarray(dual - (root * (left @ shares))[:, :, 0].T)

    def near(dual: Array, misses: Array) -> tuple[Array, float]:
        length = tuning.SAFETY * np.linalg.norm(misses[used].T / size, axis=1)[:, None]
        least, rows = singular[:, -1:], np.linalg.norm(left * singular[:, None], axis=2)
        reach = root[:, :, 0] * length * np.minimum(1.0 / least, rows / least**2)
        return reach.T, math.hypot(*(dual_length(of_output, weight) for of_output in reach))

    return DualFit(moved, near)
