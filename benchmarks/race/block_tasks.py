"""Tasks with blocks: ½‖XW − Y‖² + l1·Σ_b ‖W_b‖ + single·‖W‖₁ without intercept, for groups or several targets.

Targets of a case are its own and, for several, sums of it with noise and with random combinations of a few columns;
sizes of groups are 5, or drawn from 3 .. 50.  The sparse group Lasso has single = l1, the others single = 0.  The gap
is recomputed in plain NumPy, relative to F(0): with R = XW − Y, soft(u) what of u is beyond ±single, and the largest
s ≤ 1 for which all ‖soft(s·X_bᵀR)‖ ≤ l1,

    gap = ½(1 − s)²‖R‖² + Σ_b [l1·‖W_b‖ + single·‖W_b‖₁ + s·⟨W_b, X_bᵀR⟩].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Kind → number of targets, or sizes of groups.
TASKS = {"tasks 10": 10, "tasks 100": 100}
GROUPED = {"groups of 5": (5, 5), "groups of 3 to 50": (3, 50)}
SPARSE = {f"sparse {kind}": sizes for kind, sizes in GROUPED.items()}
KINDS = {**TASKS, **GROUPED, **SPARSE}
#: Halvings that find a number between 0 and 1 to all its digits.
HALVINGS = 60


@dataclass
class BlockTask:
    """``starts`` of the groups; W is one column for groups, and each of its rows a block for several targets."""

    kind: str
    case: str
    X: object
    y: np.ndarray
    part: float
    l1: float
    starts: np.ndarray
    single: float = 0.0

    @property
    def label(self):
        return f"{self.case} λmax/{self.part:g}"

    @property
    def sizes(self):
        return np.diff(np.append(self.starts, self.X.shape[1]))

    @property
    def groups(self):
        return [list(range(start, start + size)) for start, size in zip(self.starts, self.sizes, strict=True)]

    def gap(self, answer):
        W = np.asarray(answer.coef).reshape(self.X.shape[1], -1)
        if not np.isfinite(W).all():
            return float("inf")
        Y = self.y.reshape(len(self.y), -1)
        residuals = self.X @ W - Y
        products = self.X.T @ residuals
        scale = self.scale(products)
        linear = (scale * W * products + self.single * np.abs(W)).sum(axis=1)
        terms = self.l1 * norms(W, self.starts) + np.add.reduceat(linear, self.starts)
        gap = 0.5 * (1.0 - scale) ** 2 * (residuals**2).sum() + np.maximum(terms, 0.0).sum()
        return float(gap / (0.5 * (Y**2).sum()))

    def scale(self, products):
        """The largest s ≤ 1 that makes s·R a dual point."""
        if self.single == 0.0:
            return min(1.0, self.l1 / norms(products, self.starts).max())
        return largest(lambda s: norms(soft(s * products, self.single), self.starts).max() <= self.l1)

    def objective(self, answer):
        W = np.asarray(answer.coef).reshape(self.X.shape[1], -1)
        residuals = self.X @ W - self.y.reshape(len(self.y), -1)
        return 0.5 * (residuals**2).sum() + self.l1 * norms(W, self.starts).sum() + self.single * np.abs(W).sum()


def soft(u, threshold):
    return np.sign(u) * np.maximum(np.abs(u) - threshold, 0.0)


def largest(is_allowed):
    """The largest number in [0, 1] that is allowed, where smaller ones are."""
    if is_allowed(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_allowed(middle) else (low, middle)
    return low


def norms(rows, starts):
    """‖·‖ of every block of rows."""
    return np.sqrt(np.add.reduceat((np.asarray(rows) ** 2).sum(axis=1), starts))


def make(case, kind, part):
    """The task of that kind on a case with strengths of λ_max/part."""
    n, what, rng = case.X.shape[1], KINDS[kind], np.random.default_rng(0)
    starts, y = np.arange(n), case.y
    if kind in TASKS:
        y = _targets(case, what, rng)
    else:
        starts = np.concatenate([[0], np.cumsum(rng.integers(what[0], what[1] + 1, n))])
        starts = starts[starts < n]
    products = np.asarray(case.X.T @ y.reshape(len(y), -1))
    if kind not in SPARSE:
        return BlockTask(kind, case.name, case.X, y, part, norms(products, starts).max() / part, starts)
    peak = float(np.abs(products).max())
    top = peak * (1.0 - largest(lambda s: norms(soft(products, (1 - s) * peak), starts).max() <= (1 - s) * peak))
    return BlockTask(kind, case.name, case.X, y, part, top / part, starts, top / part)


def _targets(case, count, rng):
    """Several targets that share their features: the case's own, mixed with combinations of thirty columns."""
    used = rng.choice(case.X.shape[1], min(30, case.X.shape[1]), replace=False)
    signal = np.asarray(case.X[:, used] @ rng.standard_normal((used.size, count)))
    signal *= np.std(case.y) / np.maximum(signal.std(axis=0), 1e-300)
    noise = 0.3 * np.std(case.y) * rng.standard_normal(signal.shape)
    return np.ascontiguousarray(case.y[:, None] * rng.standard_normal(count) + signal + noise)
