"""Losses by sample at the linear predictor z = Ax + c: values, gradients and curvatures, and the best intercept c.

The intercept c is free of penalty.  It is kept where it minimises f(Ax + c·1), that is, where the gradients sum to
zero; then it needs no column of ones, no centred copy of A, and it drops out of every gradient entry.

``balance`` is Newton's method on Σ_k s_k·loss'(b_k, z_k + t) = 0, whose left side never falls as t grows; steps
that leave the bracket or do not halve give way to bisection.  Many samples are evaluated in parts, which threads share;
sums are over parts of fixed size, so that they do not depend on the number of threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.columns import elementwise, farthest
from ascd.problem.losses.formulas import weighted_value
from ascd.problem.tuning import BALANCED, LONGER_STRIDE, MOST_NEWTON_STEPS, SAMPLES_A_PART, SMALL

#: What a search for the constant remembers: the constant, its bracket, the next long step and the last step's length.
T, LOW, HIGH, STRIDE, LAST_STEP = range(5)


def most_curvature(sample: Any, loss: Any) -> float:
    """Return what the curvatures of all samples sum to at most; inf if they have no bound."""
    bound = float(loss.curvature_bound())
    return float(np.mean(sample.weight)) * bound * sample.target.size if math.isfinite(bound) else math.inf


def price_of(loss: Any) -> float:
    """Return the nanoseconds for the loss of a sample with its gradient and curvature."""
    return costs.SAMPLE if loss.is_quadratic() else costs.CURVED_SAMPLE


def evaluate_samples(
    sample: Any, loss: Any, predictor: Array, gradient: Array, curvature: Array, most: float | None, guess: float = 0.0
) -> tuple[float, float]:
    """Return the sum of losses (gradients and curvatures are filled in) and the constant that moved the predictor.

    ``most`` is what the curvatures sum to at most (inf if unbounded): it tells, in the target's own units, where there
    is hardly any, and how long a first step is then.  Without it there is no constant.  The search begins at ``guess``.
    """
    arrays = (sample, loss, predictor)
    filled = (gradient, curvature)
    if most is None:
        return _evaluate(*arrays, 0.0, *filled)[0], 0.0
    search = np.empty(5)
    begin_search(search, guess if math.isfinite(guess) else 0.0)
    method = balance if predictor.size <= SAMPLES_A_PART else _balance
    return float(method(*arrays, *filled, most, search)), float(search[T])


def _evaluate(
    sample: Any, loss: Any, predictor: Array, t: float, gradient: Array, curvature: Array
) -> tuple[float, float, float, float]:
    """Return Σ s·loss, Σ s·loss', Σ s·loss'' and Σ |s·loss'| at the predictor plus t."""
    sums = np.empty((-(-predictor.size // SAMPLES_A_PART), 4))
    share(
        price_of(loss) * predictor.size,
        len(sums),
        evaluate_parts,
        sample,
        loss,
        predictor,
        t,
        gradient,
        curvature,
        sums,
    )
    loss_sum, first, second, size = (sums[0] if len(sums) == 1 else sums.sum(axis=0)).tolist()
    return loss_sum, first, second, size


def _balance(
    sample: Any, loss: Any, predictor: Array, gradient: Array, curvature: Array, most: float, search: Array
) -> float:
    """``balance`` by parts."""
    reach, start, total, guess = farthest(predictor), math.inf, math.inf, search[T]
    for number in range(MOST_NEWTON_STEPS):
        total, first, second, size = _evaluate(sample, loss, predictor, search[T], gradient, curvature)
        start = total if number == 0 else start
        if is_balanced(search, number, first, second, size, most, reach, predictor.size):
            break
    if is_lost(total, start):
        search[T] = guess
        total = _evaluate(sample, loss, predictor, guess, gradient, curvature)[0]
    elementwise(np.add, predictor, search[T], predictor)
    return total


@kernel
def balance(
    sample: Any, loss: Any, predictor: Array, gradient: Array, curvature: Array, most: float, search: Array
) -> float:
    """``best_constant`` for callers that are not compiled."""
    return best_constant(sample, loss, predictor, gradient, curvature, most, search)


@helper
def begin_search(search: Array, guess: float) -> None:
    """Prepare a search for the best constant, of which nothing is known but a guess."""
    search[T], search[LOW], search[HIGH], search[STRIDE], search[LAST_STEP] = guess, -math.inf, math.inf, 0.0, math.inf


@helper
def best_constant(
    sample: Any, loss: Any, predictor: Array, gradient: Array, curvature: Array, most: float, search: Array
) -> float:
    """Move all of z by the best constant; return the sum of losses there.

    Gradients and curvatures are filled in, and the constant in ``search``.
    """
    reach, start, total, guess = 0.0, math.inf, math.inf, search[T]
    for k in range(predictor.size):
        reach = max(reach, abs(predictor[k]))
    for number in range(MOST_NEWTON_STEPS):
        total, first, second, size = fill_gradients(
            sample, loss, predictor, search[T], gradient, curvature, 0, predictor.size
        )
        if number == 0:
            start = total
        if is_balanced(search, number, first, second, size, most, reach, predictor.size):
            break
    if is_lost(total, start):
        search[T] = guess
        total, first, second, size = fill_gradients(
            sample, loss, predictor, guess, gradient, curvature, 0, predictor.size
        )
    for k in range(predictor.size):
        predictor[k] += search[T]
    return total


@kernel
def evaluate_parts(
    sample: Any,
    loss: Any,
    predictor: Array,
    t: float,
    gradient: Array,
    curvature: Array,
    sums: Array,
    start: int,
    stop: int,
) -> None:
    for part in range(start, stop):
        first, last = part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, predictor.size)
        found = fill_gradients(sample, loss, predictor, t, gradient, curvature, first, last)
        sums[part, 0], sums[part, 1], sums[part, 2], sums[part, 3] = found


@helper
def fill_gradients(
    sample: Any, loss: Any, predictor: Array, t: float, gradient: Array, curvature: Array, start: int, stop: int
) -> tuple[float, float, float, float]:
    """Fill in s·loss' and s·loss'' of some samples; return the sums of losses, of both, and of the gradients' sizes."""
    total, first, second, size = 0.0, 0.0, 0.0, 0.0
    for number in range(start, stop):
        k = wide(number)
        weight, target, z = at(sample.weight, k), sample.target[k], predictor[k] + t
        is_counted = weight > 0.0  # exp may overflow in a sample without weight: 0·inf is nan
        gradient[k] = weight * loss.derivative(target, z) if is_counted else 0.0
        curvature[k] = weight * loss.curvature(target, z) if is_counted else 0.0
    for number in range(start, stop):  # apart: the loop above goes through several samples at a time
        k = wide(number)
        weight = at(sample.weight, k)
        total += weighted_value(loss, weight, sample.target[k], predictor[k] + t) if weight > 0.0 else 0.0
        first += gradient[k]
        second += curvature[k]
        size += abs(gradient[k])
    return total, first, second, size


@helper
def is_balanced(
    search: Array, number: int, first: float, second: float, size: float, most: float, reach: float, count: int
) -> bool:
    """Return whether the constant balances the gradients; where not, take the next step."""
    t = search[T]
    if first > 0.0:
        search[HIGH] = t
    else:
        search[LOW] = t
    low, high = search[LOW], search[HIGH]
    if search[STRIDE] == 0.0:
        search[STRIDE] = size / most if most < math.inf else 1.0
    stride = search[STRIDE]
    is_newton = second > SMALL * min(size, most)
    step = -first / second if is_newton else math.copysign(stride, -first)
    finite = size < math.inf  # a Poisson loss may overflow on the way
    is_short = is_newton and abs(step) <= BALANCED * max(reach, abs(t))
    is_even = abs(first) <= BALANCED * math.sqrt(count) * size
    if (finite and (is_even or is_short)) or number + 1 == MOST_NEWTON_STEPS:
        return True
    if not (finite and low < t + step < high and 2.0 * abs(step) <= search[LAST_STEP]):
        step = 0.5 * (low + high) - t
        if not abs(step) < math.inf:  # math.isfinite subtracts, which the compiler may reorder
            step = math.copysign(stride, -first)
    search[LAST_STEP] = abs(step)
    search[T] = t + step
    search[STRIDE] = stride * LONGER_STRIDE
    return False


@helper
def is_lost(total: float, start: float) -> bool:
    """Return whether the search has led to larger losses than it began with."""
    return not total <= start + SMALL * abs(start) and start < math.inf


def quick_gap(sample: Any, loss: Any, predictor: Array, gradient: Array, scale: float) -> float:
    """Return Σ_k f_k(z_k) + f_k*(θ_k) − θ_k·z_k for θ = scale·gradient, good to rounding errors of F."""
    out = np.empty(-(-predictor.size // SAMPLES_A_PART))
    share(price_of(loss) * predictor.size, out.size, quick_gaps, sample, loss, predictor, gradient, scale, out)
    return float(out.sum())


@kernel
def quick_gaps(
    sample: Any, loss: Any, predictor: Array, gradient: Array, scale: float, out: Array, start: int, stop: int
) -> None:
    """Fill in ``quick_gap`` of each part of the samples."""
    for part in range(start, stop):
        first, last = part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, predictor.size)
        out[part] = quick_sample_gap(sample, loss, predictor, gradient, scale, first, last)


@helper
def quick_sample_gap(
    sample: Any, loss: Any, predictor: Array, gradient: Array, scale: float, start: int, stop: int
) -> float:
    """Return ``quick_gap`` of some samples."""
    total = 0.0
    for number in range(start, stop):
        k = wide(number)
        weight, target = at(sample.weight, k), sample.target[k]
        if weight > 0.0:
            dual = scale * gradient[k] / weight
            term = loss.value(target, predictor[k]) + loss.conjugate(target, dual) - dual * predictor[k]
            total += weight * (0.0 if term < 0.0 else term)
    return total
