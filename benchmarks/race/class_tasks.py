"""Multinomial tasks: Σ_k [log Σ_t exp(z_kt) − z_ky] + l1·‖W‖₁ + l2/2·‖W‖² without intercept, Z = XW.

Classes are the values of a case's target where there are few of them (news20 has twenty), else five equal parts; of
labels that have two values only, five equal parts of a noisy combination of thirty columns.  The
gap is recomputed in plain NumPy, relative to F(0) = n·log T: with P = softmax(Z), V = P − E_y, U = XᵀV and the largest
s ≤ 1 for which s·|U| ≤ l1 (s = 1 where l2 > 0), Q = sV + E_y lies in the simplex and

    gap = Σ_kt q·log(q/p) + Σ_jt [l1·|w| + s·w·u]      or, with l2,      Σ_jt (l2·w + u)²/(2·l2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from race.cases import by_rows

KINDS = ("multinomial l1", "multinomial l2")
MOST_CLASSES, PARTS = 50, 5


@dataclass
class ClassTask:
    """``y`` holds classes 0 .. T − 1; X is by columns, ``rows`` the same by rows."""

    kind: str
    case: str
    X: object
    y: np.ndarray
    part: float
    l1: float
    l2: float
    rows: object

    @property
    def label(self):
        return f"{self.case} λmax/{self.part:g}" if self.l1 else f"{self.case} C={self.part:g}"

    def gap(self, answer):
        W = np.asarray(answer.coef).reshape(self.X.shape[1], -1)
        if not np.isfinite(W).all():
            return float("inf")
        every, (logs, shares) = np.arange(len(self.y)), log_shares(self.X @ W)
        slope = shares.copy()
        slope[every, self.y] -= 1.0
        products = self.X.T @ slope
        scale = 1.0 if self.l2 else min(1.0, self.l1 / max(np.abs(products).max(), 1e-300))
        dual = scale * slope
        dual[every, self.y] += 1.0
        gap = float((dual * (np.log(np.maximum(dual, 1e-300)) - logs))[dual > 0.0].sum()) if scale < 1.0 else 0.0
        if self.l2:
            gap += float(((self.l2 * W + products) ** 2).sum()) / (2.0 * self.l2)
        else:
            gap += float(np.maximum(self.l1 * np.abs(W) + scale * W * products, 0.0).sum())
        return gap / (len(self.y) * np.log(W.shape[1]))

    def objective(self, answer):
        W = np.asarray(answer.coef).reshape(self.X.shape[1], -1)
        losses = -log_shares(self.X @ W)[0][np.arange(len(self.y)), self.y]
        return float(losses.sum() + self.l1 * np.abs(W).sum() + 0.5 * self.l2 * (W**2).sum())


def log_shares(image):
    """Logarithms of softmax, and itself."""
    logs = image - image.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return logs, np.exp(logs)


def classes_of(y):
    """Classes from a target."""
    values, number = np.unique(y, return_inverse=True)
    if 2 < values.size <= MOST_CLASSES:
        return number.ravel()
    return np.digitize(y, np.quantile(y, np.arange(1, PARTS) / PARTS))


def target_of(case):
    """The case's own; of labels with two values, a noisy combination of thirty columns instead."""
    if np.unique(case.y).size > 2:
        return case.y
    rng = np.random.default_rng(0)
    used = rng.choice(case.X.shape[1], min(30, case.X.shape[1]), replace=False)
    signal = np.asarray(case.X[:, used] @ rng.standard_normal(used.size)).ravel()
    return signal + 0.3 * signal.std() * rng.standard_normal(len(signal))


def make(case, kind, part):
    """The task of that kind on a case: l1 = λ_max/part, or l2 = 1/part."""
    y = classes_of(target_of(case))
    if kind == "multinomial l2":
        return ClassTask(kind, case.name, case.X, y, part, 0.0, 1.0 / part, by_rows(case.X))
    slope = np.full((len(y), int(y.max()) + 1), 1.0 / (int(y.max()) + 1))
    slope[np.arange(len(y)), y] -= 1.0
    top = float(np.abs(case.X.T @ slope).max())
    return ClassTask(kind, case.name, case.X, y, part, top / part, 0.0, by_rows(case.X))
