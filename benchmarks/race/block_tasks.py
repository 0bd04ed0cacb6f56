"""Tasks with blocks: ½‖XW − Y‖² + l1·Σ_b ‖W_b‖ without intercept, for groups of columns or several targets.

Targets of a case are its own and, for several, sums of it with noise and with random combinations of a few columns;
sizes of groups are 5, or drawn from 3 .. 50.
The gap is recomputed in plain NumPy, relative to F(0): with R = XW − Y and the
largest s ≤ 1 for which all ‖s·X_bᵀR‖ ≤ l1,

    gap = ½(1 − s)²‖R‖² + Σ_b [l1·‖W_b‖ + s·⟨W_b, X_bᵀR⟩].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Kind → number of targets, or sizes of groups.
KINDS = {"tasks 10": 10, "tasks 100": 100, "groups of 5": 5, "groups of 3 to 50": (3, 50)}


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
        scale = min(1.0, self.l1 / norms(products, self.starts).max())
        terms = self.l1 * norms(W, self.starts) + scale * np.add.reduceat((W * products).sum(axis=1), self.starts)
        gap = 0.5 * (1.0 - scale) ** 2 * (residuals**2).sum() + np.maximum(terms, 0.0).sum()
        return float(gap / (0.5 * (Y**2).sum()))


def norms(rows, starts):
    """‖·‖ of every block of rows."""
    return np.sqrt(np.add.reduceat((np.asarray(rows) ** 2).sum(axis=1), starts))


def make(case, kind, part):
    """The task of that kind on a case with l1 = λ_max/part."""
    n, what, rng = case.X.shape[1], KINDS[kind], np.random.default_rng(0)
    starts, y = np.arange(n), case.y
    if kind.startswith("tasks"):
        y = _targets(case, what, rng)
    else:
        sizes = np.full(n, what) if kind == "groups of 5" else rng.integers(what[0], what[1] + 1, n)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        starts = starts[starts < n]
    top = norms(case.X.T @ y.reshape(len(y), -1), starts).max()
    return BlockTask(kind, case.name, case.X, y, part, top / part, starts)


def _targets(case, count, rng):
    """Several targets that share their features: the case's own, mixed with combinations of thirty columns."""
    used = rng.choice(case.X.shape[1], min(30, case.X.shape[1]), replace=False)
    signal = np.asarray(case.X[:, used] @ rng.standard_normal((used.size, count)))
    signal *= np.std(case.y) / np.maximum(signal.std(axis=0), 1e-300)
    noise = 0.3 * np.std(case.y) * rng.standard_normal(signal.shape)
    return np.ascontiguousarray(case.y[:, None] * rng.standard_normal(count) + signal + noise)
