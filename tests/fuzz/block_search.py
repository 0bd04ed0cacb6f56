"""The judge's own search for a better point of a block problem; ``search`` has the idea.

The columns of a block share their unit: its norm is one of coefficients that are measured alike.
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np

from . import block_kernels as kernels
from .block_truth import BlockTruth
from .search import CODES, power_of_two
from .truth import Array, Long

#: Multiplications that one descent may take.
WORK = 2e5
#: Entries of A above which SciPy is not asked.
LARGEST = 1000


class ScaledBlocks(NamedTuple):
    """The problem in units in which its numbers are near 1; constants are one more column, a block by itself."""

    A: Array
    b: Array
    s: Array
    code: int
    threshold: float
    starts: Array
    group: Array
    l1: Array
    ridge: Array
    least: Array
    order: Array
    unit: Array  # one a column, in the order of the blocks


def scaled_blocks(truth: BlockTruth) -> ScaledBlocks:
    """``truth`` in the search's units."""
    extra, blocks = int(truth.has_constants), [list(columns) for columns in truth.blocks]
    A = np.hstack([truth.A, np.ones((len(truth.A), 1))]) if extra else truth.A
    blocks += [[truth.A.shape[1]]] * extra
    order, starts = np.array([j for block in blocks for j in block]), np.cumsum([0, *map(len, blocks)])
    largest = np.array([np.abs(A[:, block]).max() for block in blocks])
    alpha = power_of_two(largest)
    is_softmax, beta = truth.loss == "softmax", Long(1)
    if truth.loss in ("squared", "huber"):
        beta = power_of_two(np.abs(truth.b).max())
    sigma = power_of_two(np.asarray(truth.s, dtype=float).max())
    unit, level = beta / alpha, sigma * beta * beta
    sizes = np.diff(starts)
    target = truth.b[:, None].astype(float) if is_softmax else (truth.b / beta).astype(float)

    def pad(values: Array) -> Array:
        return np.append(np.asarray(values, dtype=Long), [Long(0)] * extra)

    with np.errstate(all="ignore"):
        numbers = [
            (pad(values) * power / level).astype(float)
            for values, power in ((truth.group, unit), (truth.l1, unit), (truth.ridge, unit * unit))
        ]
        least = np.full(len(blocks), 0.0 if truth.positive else -np.inf)
        least[len(truth.blocks) :] = -np.inf
        columns = np.ascontiguousarray((A[:, order] / np.repeat(alpha, sizes)).astype(float).T)
        weights = (truth.s / sigma).astype(float)
    code = kernels.SOFTMAX if is_softmax else CODES[truth.loss]
    return ScaledBlocks(
        columns, np.ascontiguousarray(target), weights, code, float(truth.threshold / beta), starts, *numbers, least,
        order, np.repeat(unit, sizes),
    )  # fmt: skip


def inward(truth: BlockTruth, p: ScaledBlocks, flat: Array) -> Array:
    """A point in these units, a row a column of A."""
    rows = np.asarray(flat, dtype=float).reshape(-1, truth.outputs)[p.order]
    return np.asarray((rows.astype(Long) / p.unit[:, None]).astype(float))


def outward(truth: BlockTruth, p: ScaledBlocks, x: Array) -> Array:
    rows = np.empty(x.shape)
    rows[p.order] = (x * p.unit[:, None]).astype(float)
    return rows.ravel()


def block_candidates(truth: BlockTruth, starts: list[tuple[Array, float]]) -> tuple[Array, Array]:
    """Points that may be better than the starts, as columns; and zeros, since constants are part of them."""
    found = []
    with np.errstate(all="ignore"):
        p = scaled_blocks(truth)
        sweeps = int(min(max(WORK / (p.A.size * truth.outputs), 5), 150))
        for flat, _ in starts:
            x, z = inward(truth, p, flat), np.empty((len(p.s), truth.outputs))
            if not np.isfinite(x).all():
                continue
            for most, rounds in ((sweeps, 10), (min(sweeps, 20), 5)):
                kernels.descend_blocks(*p[:10], x, z, most)
                found.append(outward(truth, p, x))
                kernels.newton_blocks(*p[:10], x, z, rounds)
            found.append(outward(truth, p, x))
    kept = [point for point in found if truth.is_allowed(point)]
    points = np.array(kept).reshape(-1, truth.n).T
    return points, np.zeros(points.shape[1])


def blocks_from_scipy(truth: BlockTruth, flat: Array) -> list[tuple[Array, float]]:
    """Where L-BFGS-B gets from a point, with every kink made round; and the same with what is next to zero at zero."""
    from scipy.optimize import minimize

    if truth.A.size > LARGEST:
        return []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = scaled_blocks(truth)
        start = inward(truth, p, flat)
        if not np.isfinite(start).all():
            return []
        bounds = [(low, None) for low in np.repeat(p.least, np.diff(p.starts) * truth.outputs)]
        x, round_off = start, 0.0
        for share in (1e-3, 1e-6, 1e-9):
            round_off = share * max(float(np.abs(x).max()), 1e-6)
            result = minimize(
                _rounded(p, start.shape, round_off), x.ravel(), jac=True, method="L-BFGS-B", bounds=bounds,
                options={"maxiter": 100, "ftol": 0.0, "gtol": 0.0},
            )  # fmt: skip
            x = result.x.reshape(start.shape)
        sparse = np.where(np.abs(x) <= 100.0 * round_off, 0.0, x)
        points = [outward(truth, p, point) for point in (x, sparse)]
    return [(point, 0.0) for point in points if truth.is_allowed(point)]


def _rounded(p: ScaledBlocks, shape: tuple[int, ...], round_off: float):  # type: ignore[no-untyped-def]
    """F and its gradient with √(u² + ε²) in the place of |u| and of norms."""
    slope, bend = np.empty(shape[1]), np.empty(shape[1])
    image = np.empty((len(p.s), shape[1]))

    def objective(w: Array) -> tuple[float, Array]:
        x = w.reshape(shape)
        kernels.image_at(p.A, x, image)
        value, gradient = kernels.losses_at(p.b, p.s, p.code, p.threshold, image), np.zeros(shape)
        for k in np.flatnonzero(p.s > 0.0):
            kernels.row_slope(p.code, p.threshold, p.b[k], image[k], slope, bend)
            gradient += p.s[k] * np.outer(p.A[:, k], slope)
        for i in range(p.group.size):
            rows = slice(p.starts[i], p.starts[i + 1])
            part = x[rows]
            length, sizes = math.hypot(float(np.linalg.norm(part)), round_off), np.hypot(part, round_off)
            value += p.group[i] * length + p.l1[i] * sizes.sum() + 0.5 * p.ridge[i] * (part**2).sum()
            gradient[rows] += p.group[i] * part / length + p.l1[i] * part / sizes + p.ridge[i] * part
        return float(value), gradient.ravel()

    return objective
