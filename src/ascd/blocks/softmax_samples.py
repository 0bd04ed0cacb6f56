"""What single samples add to a multinomial logistic loss (``softmax``): losses, slopes, curvatures, terms of the gap.

The term of a gap is KL(q ‖ p) at most, where q = (1 − s)e_y + s·p up to the reach: with o = 1 − p_y

    KL(q̂ ‖ p) = s·o·log s + (p_y + (1 − s)o)·log((p_y + (1 − s)o)/p_y).
"""

from __future__ import annotations

import math

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.matrix.arithmetic import UNIT
from ascd.problem.tuning import LEAST_ORDINARY, UNDERFLOW


@helper
def fill_shares(image: Array, y: int, shares: Array) -> tuple[float, float]:
    """Probabilities of one sample; its loss, and 1 − p_y as the sum of the others: exact where p_y is near 1."""
    most, others = -math.inf, 0.0
    for t in range(image.size):
        most = max(most, image[t])
    for t in range(image.size):
        shares[t] = math.exp(image[t] - most)
    own = shares[y]
    shares[y] = 0.0
    for t in range(image.size):
        others += shares[t]
    shares[y] = own
    for t in range(image.size):
        shares[t] /= others + own
    loss = math.log1p(others / own) if own > others else math.log(others + own) + (most - image[y])
    return loss, others / (others + own)


@kernel
def fill_softmax(
    image: Array, labels: Array, weight: Array, slope: Array, losses: Array, start: int, stop: int
) -> None:
    """Losses and slopes of some samples."""
    for number in range(start, stop):
        k = wide(number)
        y = wide(labels[k])
        loss, others = fill_shares(image[k], y, slope[k])
        losses[k], slope[k, y] = weight[k] * loss, -others
        for t in range(image.shape[1]):
            slope[k, t] *= weight[k]


@kernel
def fill_look(
    image: Array, labels: Array, weight: Array, slope: Array, losses: Array, own: Array, shared: Array, most: Array
) -> None:
    """Losses, slopes and curvatures: s·p, √s·p, and s times a bound of the largest eigenvalue of diag(p) − ppᵀ."""
    for k in range(labels.size):
        y, root, largest = wide(labels[k]), math.sqrt(weight[k]), 0.0
        loss, others = fill_shares(image[k], y, own[k])
        losses[k] = weight[k] * loss
        for t in range(image.shape[1]):
            share = own[k, t]
            largest = max(largest, share)
            slope[k, t], own[k, t], shared[k, t] = weight[k] * share, weight[k] * share, root * share
        slope[k, y] = -weight[k] * others
        most[k] = weight[k] * min(largest, 2.0 * largest * (1.0 - largest))  # Gershgorin


@kernel
def fill_gaps(
    image: Array, labels: Array, weight: Array, reach: Array, scale: float, shares: Array, terms: Array, start: int,
    stop: int,
) -> None:  # fmt: skip
    """Divergences KL(q ‖ p) at most, with what rounding and the reach add to them."""
    below = math.log(scale) if scale > 0.0 else 0.0
    for number in range(start, stop):
        k = wide(number)
        terms[k] = 0.0
        if weight[k] > 0.0:
            y = wide(labels[k])
            loss, others = fill_shares(image[k], y, shares[k])
            near, error = reach[k] if reach.size > 0 else 0.0, error_of(image[k])
            terms[k] = weight[k] * largest_divergence(shares[k, y], others, loss, scale, below, error, near)


@helper
def error_of(image: Array) -> float:
    """Relative errors of the probabilities: of z − max z in the exponent, of exp, their sum and the quotient."""
    least, most = math.inf, -math.inf
    for t in range(image.size):
        least, most = min(least, image[t]), max(most, image[t])
    return (image.size + 8.0 + 2.0 * (most - least)) * UNIT


@helper
def largest_divergence(
    own: float, others: float, loss: float, scale: float, below: float, error: float, reach: float
) -> float:
    """Of one sample; ``below`` is log(scale), 0 for a scale of 0."""
    joined = own + (1.0 - scale) * others
    if own > 0.5:
        ratio, lost = math.log1p((1.0 - scale) * others / own), 0.0
    elif joined == 0.0:  # both are p_y, which has underflowed
        ratio, lost = 0.0, 0.0
    else:
        ratio, lost = math.log(joined) + loss, 8.0 * UNIT * joined * loss  # a difference of logarithms
    first, second = scale * others * below, joined * ratio
    term = max(first + second, 0.0) + (8.0 * UNIT + error) * (abs(first) + abs(second)) + lost
    term += reach * scale * (others * abs(below) + min(own, others) * abs(ratio))
    term += UNDERFLOW if min(own, others) < LEAST_ORDINARY else 0.0
    return term + 2.0 * reach * reach * others
