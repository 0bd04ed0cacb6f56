"""The certificate of ``proof`` from sums over the samples, for slopes that stay elsewhere (``at_rows``).

The dual point is θ = s·v.  With an intercept θ must sum to zero: then the positive slopes and the others have scales of
their own, s·r₊ and s·r₋, of which one is s, so that both sides weigh the same.  All losses here allow every scale
up to 1, and in exact arithmetic there is such an r; it differs from the computed one by a relative error ε of sums.

The samples' part of the gap is convex in the scale.  Known at some scales, it lies below the chords between them.

Penalties that ask for exact products (coordinates without a penalty, or at an end of their domain) get no proof here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.matrix.arithmetic import UNIT
from ascd.problem import tuning
from ascd.problem.at_rows import Look
from ascd.problem.duality import open_coordinates, required_products, scale_within, terms_within
from ascd.problem.proof import residual_rounding


class Balance(NamedTuple):
    """Scales of the parts of a slope, their relative error, and the products that follow with theirs."""

    scales: Array
    error: float
    estimate: Array
    radius: Array


def gap_from_sums(
    parts: Any, penalty: Any, x: Array, constant: float, look: Look, scales: Array, intercept: bool
) -> float:
    """An upper bound on F(x) − min F; inf where there is none from sums.  ``scales`` are those of the look."""
    with np.errstate(all="ignore"):
        balance = _balance(parts, look, intercept)
        if balance is None or not (math.isfinite(look.square) and np.isfinite(balance.estimate).all()):
            return math.inf
        required, n = np.empty(x.size), x.size
        given = (penalty, x, balance.estimate, balance.radius, False, required)
        share(prices.COORDINATE * n, n, required_products, *given)
        if not np.isnan(required).all():
            return math.inf
        return _gap(parts, penalty, x, constant, look, scales, balance)


def _balance(parts: Any, look: Look, intercept: bool) -> Balance | None:
    d = parts.sample.target.size
    rounding = (d + 8.0) * UNIT
    if not parts.loss.is_quadratic() and np.ndim(parts.sample.weight):  # a domain, and weights: see ``proof``
        rounding += 8.0 * UNIT
    size = math.sqrt(look.square) * parts.norm
    if not intercept:
        return Balance(np.ones(1), 0.0, look.split[0].copy(), rounding * size)
    above, below = look.sizes.tolist()
    if not (above > 0.0 and below > 0.0):
        return None
    scales, error = np.array([min(1.0, below / above), min(1.0, above / below)]), (2.0 * d + 8.0) * UNIT
    return Balance(scales, error, scales @ look.split, (2.0 * rounding + error) * size)


def _gap(parts: Any, penalty: Any, x: Array, constant: float, look: Look, known: Array, balance: Balance) -> float:
    listed, none = np.empty(x.size, dtype=np.int64), np.empty(0, dtype=np.int64)
    products = balance.estimate, balance.radius
    listed = listed[: open_coordinates(penalty, x, *products, listed)]
    for margin in tuning.MARGINS:
        scale = float(scale_within(penalty, *products, listed, margin)) * (1.0 - 2.0 * balance.error)
        if not scale > 0.0:
            return math.inf
        gap, size = terms_within(penalty, x, *products, listed, none, scale)
        gap += _of_samples(look.gaps, known, scale, balance)
        if gap < math.inf:
            break
    length = math.sqrt(look.square)
    distance = (1.0 - scale * float(balance.scales.min()) + balance.error) * length
    bound = (1.0 + tuning.RELATIVE) * gap + 8.0 * UNIT * size + residual_rounding(length)
    bound += _of_the_image(parts, x, constant, look, distance)
    return math.inf if math.isnan(bound) else float(bound)


def _of_samples(gaps: Array, known: Array, scale: float, balance: Balance) -> float:
    """The samples' part, at the worse end of what the scales may be."""
    order, total = np.argsort(1.0 - known), 0.0
    for found, part in zip(gaps, (scale * balance.scales).tolist(), strict=True):
        away = part * (balance.error + 4.0 * UNIT) if part < 1.0 else 0.0
        ends = 1.0 - np.array([max(part - away, 0.0), min(part + away, 1.0)])
        total += float(np.interp(ends, (1.0 - known)[order], found[order]).max())
    return math.inf if math.isnan(total) else total


def _of_the_image(parts: Any, x: Array, constant: float, look: Look, distance: float) -> float:
    """What the rounding errors of the image can add: see ``proof``."""
    weight, moved = parts.sample.weight, np.count_nonzero(x)
    total = float(np.sum(weight)) if np.ndim(weight) else float(parts.sample.target.size)
    size = float(np.abs(x) @ parts.norm) + abs(constant) * math.sqrt(total)
    zeta = ((moved + 3.0) * UNIT * size if moved else 0.0) + parts.target_error
    most = float(parts.loss.curvature_bound())
    if zeta == 0.0:
        return 0.0
    if not math.isfinite(most):
        counted = weight[weight > 0.0] if np.ndim(weight) else np.ones(1)
        most = look.most_curved if zeta / math.sqrt(float(counted.min(initial=1.0))) <= 0.1 else math.inf
    return (distance + 2.0 * most * zeta) * zeta
