"""Every step of ``minimize`` on blocks: the balls contain the gradients, and the bounds enclose the scores.

As ``steps`` for single coordinates, interpreted: a rule that writes down what it sees is wrapped around the rule of the
case.  Gradients and scores are computed here, in long double, from their formulas (g = A_bᵀV, N_b = ‖√S·A_b‖ spectral,
L_b = M·N_b², L the largest, Y the minimiser of ⟨g, Y⟩ + L/2·‖Y‖² + Ψ_b(X_b + Y) − Ψ_b(X_b)):

    gs-s  dist(−g, ∂Ψ_b(X_b))      gs-r  L·‖Y‖      gs-q  √(−2L·min V)      gsl-…  divided by √L_b, with L = L_b
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import ascd
from ascd.engine.rules import as_rule

from .block_calls import block_problem, block_truth
from .block_truth import BlockTruth
from .calls import interpreted
from .cases import Array, Case
from .steps import CURVATURE, ROUNDING
from .truth import UNIT, Long

BENDS = {**CURVATURE, "softmax": 0.5}


class SeenBlocks(NamedTuple):
    """The state before a pick, in the library's order of the blocks."""

    x: Array
    gradient: Array
    radius: Array
    bounds: Array


class BlockWatcher(NamedTuple):
    """A rule that writes down what another one sees."""

    inner: Any
    log: Any

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> BlockWatcher:
        return BlockWatcher(as_rule(self.inner, parts, oracle, steepness), self.log)

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, count = point.intervals, point.x.size
        radius = np.array([intervals.width_at(b) for b in range(count)])
        bounds = np.array([intervals.bounds_at(b) for b in range(count)])
        self.log.append(SeenBlocks(point.coefficients.copy(), point.gradient.copy(), radius, bounds))
        return self.inner.select(point, t, rng)

    def active_count(self, point: Any) -> int:
        return self.inner.active_count(point)


def watched_blocks(case: Case) -> list[SeenBlocks]:
    log: list[SeenBlocks] = []
    options = {**case.options, "rule": BlockWatcher(case.options["rule"], log)}
    with interpreted():
        ascd.minimize(block_problem(case), record=None, **options)
    return log


def block_faults(case: Case) -> Iterator[tuple[str, str]]:
    """Kinds and descriptions of what does not hold in some step."""
    truth, steepness = block_truth(case), case.options.get("steepness", "gs-s")
    sizes = [len(columns) * truth.outputs for columns in truth.blocks]
    ends, order = np.cumsum([0, *sizes]), [j for columns in truth.blocks for j in columns]
    length = block_norms(truth)
    for t, seen in enumerate(watched_blocks(case)):
        X = np.empty((truth.A.shape[1], truth.outputs))
        X[order] = seen.x.reshape(X.shape)
        gradient, size = block_gradient(truth, X)
        for b, columns in enumerate(truth.blocks):
            g, where = gradient[list(columns)].ravel(), slice(ends[b], ends[b + 1])
            noise = float(np.sqrt((size[list(columns)] ** 2).sum()))
            off = float(np.sqrt(((g - seen.gradient[where]) ** 2).sum()))
            if off > seen.radius[b] + truth.A.size * float(UNIT) * noise:
                yield "interval", f"step {t}, block {b}: the gradient is {off} away, the radius is {seen.radius[b]}"
                return
            score, slack = block_score(truth, steepness, b, seen.x[where], g.astype(float), noise, length)
            low, high = seen.bounds[b]
            if low > score + slack or high < score - slack:
                yield "sandwich", f"step {t}, block {b}: score {score} outside [{low}, {high}]"
                return


def block_norms(truth: BlockTruth) -> Array:
    """M·N_b², positive also for blocks of zeros."""
    root = np.sqrt(np.asarray(truth.s, dtype=float))[:, None] * truth.A
    own = np.array([np.linalg.norm(root[:, list(columns)], 2) ** 2 for columns in truth.blocks]) * BENDS[truth.loss]
    own[own == 0.0] = own[own > 0.0].min(initial=np.inf if own.any() else 1.0)
    return own


def block_gradient(truth: BlockTruth, X: Array) -> tuple[Array, Array]:
    """AᵀV at X, and the sizes of the terms of its entries."""
    A, s = truth.A.astype(Long), truth.s.astype(Long)[:, None]
    z, size = A @ X.astype(Long), np.abs(A) @ np.abs(X) + 1
    if truth.loss == "softmax":
        shares = np.exp(z - z.max(axis=1, keepdims=True))
        slope = shares / shares.sum(axis=1, keepdims=True)
        slope[np.arange(len(truth.b)), truth.b] -= 1
    else:
        y = truth.b.astype(Long)
        size = size + np.abs(y)
        slope = {
            "squared": lambda: z - y,
            "huber": lambda: np.clip(z - y, -truth.threshold, truth.threshold),
            "logistic": lambda: -y / (1 + np.exp(np.minimum(y * z, 11000))),
        }[truth.loss]()
    return A.T @ (s * slope), np.abs(A).T @ (s * BENDS[truth.loss] * size)


def block_score(
    truth: BlockTruth, steepness: str, b: int, x: Array, g: Array, size: float, length: Array
) -> tuple[float, float]:
    """The score of a block, and how far rounding may move it."""
    scaled = steepness.startswith("gsl")
    L, root = (length[b] if scaled else length.max()), float(np.sqrt(length[b])) if scaled else 1.0
    group, l1, ridge = (float(part[b]) for part in (truth.group, truth.l1, truth.ridge))
    away = float(np.linalg.norm(x))
    pull = size + group + l1 * np.sqrt(x.size) + ridge * away
    if steepness in ("gs", "gs-s", "gsl", "gsl-s"):
        return _distance(x, g, group, l1, ridge, truth.positive) / root, ROUNDING * pull / root
    soft = np.sign(v := x - g / L) * np.maximum(np.abs(v) - l1 / L, 0.0)
    soft = np.maximum(soft, 0.0) if truth.positive else soft
    reach = float(np.linalg.norm(soft))
    target = soft * (max(1.0 - group / (L * reach), 0.0) / (1.0 + ridge / L)) if reach > 0.0 else 0.0 * soft
    y = target - x
    slack = ROUNDING * (pull + L * away)
    if not steepness.endswith("q"):
        return L * float(np.linalg.norm(y)) / root, slack / root
    before, after = (l1 * np.abs(p).sum() + group * np.linalg.norm(p) + 0.5 * ridge * (p**2).sum() for p in (x, target))
    gain = -(float(g @ y) + 0.5 * L * float(y @ y) + after - before)
    slack += 1e-6 * np.sqrt(2.0 * L * away * (pull + L * away)) + 1e-6 * pull
    return float(np.sqrt(2.0 * L * max(gain, 0.0))) / root, slack / root


def _distance(x: Array, g: Array, group: float, l1: float, ridge: float, positive: bool) -> float:
    """dist(−g, ∂Ψ_b(x))."""
    over = np.maximum(-g - l1, 0.0) - (0.0 if positive else np.maximum(g - l1, 0.0))
    if not x.any():
        return max(float(np.linalg.norm(over)) - group, 0.0)
    smooth = g + (group / np.linalg.norm(x) + ridge) * x + l1 * np.sign(x)
    return float(np.linalg.norm(np.where(x != 0.0, smooth, over)))
