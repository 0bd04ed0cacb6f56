"""What is to be minimised: F(x) = Σ loss + l1·|x|₁ + l2/2·‖x‖² on a case, without intercept.

No intercept, because celer's logistic regression and its paths have none and libraries differ in how they penalise or
centre it: so everybody minimises exactly the same function.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

import ascd
from race import block_tasks, class_tasks, gaps
from race.cases import Case, by_rows

KINDS = ("lasso", "enet", "logistic", "path", "cv", "svm", *block_tasks.KINDS, *class_tasks.KINDS)


@dataclass
class Task:
    """A case with a loss and a penalty; for paths ``strengths`` holds the l1 of every step, falling."""

    kind: str
    case: str
    X: object
    y: np.ndarray
    part: float  # λ = λ_max / part; the last of a path
    l1: float
    l2: float = 0.0
    strengths: np.ndarray = field(default_factory=lambda: np.empty(0))
    rows: object = None  # X stored by rows, for logistic regression: liblinear prefers it

    @property
    def loss(self):
        return "logistic" if self.kind == "logistic" else "squared"

    @property
    def label(self):
        return f"{self.case} λmax/{self.part:g}"

    def gap(self, answer):
        """The recomputed relative gap; for a path the largest of its steps."""
        if self.kind == "path":
            return float(gaps.path_gaps(self.X, self.y, self.strengths, answer.coef).max())
        return gaps.relative_gap(self.X, self.y, self.loss, self.l1, self.l2, answer.coef)


@dataclass
class CrossValidation:
    """A Lasso with intercept, its strength chosen from a grid by five folds; the gap is that of the final fit."""

    case: str
    X: object
    y: np.ndarray
    alphas: np.ndarray  # scikit-learn's: l1/n
    part: float = 100.0
    kind: str = "cv"

    @property
    def label(self):
        return self.case

    def gap(self, answer):
        return gaps.centred_gap(self.X, self.y, answer.alpha * len(self.y), answer.coef)


@dataclass
class SupportVectors:
    """½‖w‖² + C·Σ hinge; gap(w) = (primal value − best dual value known) / primal value at 0.

    liblinear gives w only, no dual point, so a lower bound on the minimum is found once and serves everybody.  X is
    stored by rows, which all prefer here.
    """

    case: str
    X: object
    y: np.ndarray
    lower: float
    C: float = 1.0
    part: float = 1.0
    kind: str = "svm"

    @property
    def label(self):
        return f"{self.case} C={self.C:g}"

    def gap(self, answer):
        primal = gaps.svm_primal(self.X, self.y, self.C, answer.coef)
        return max(0.0, primal - self.lower) / (self.C * len(self.y))


def strongest(X, y, loss):
    """The smallest l1 for which x = 0 is optimal."""
    largest = float(np.abs(X.T @ y).max())
    return largest if loss == "squared" else 0.5 * largest


def make(case, kind, part, steps=100):
    """The task of that kind on a case with l1 = λ_max/part (elastic net: l1_ratio ½, so l2 = l1)."""
    if kind == "cv":
        return cross_validation(case, steps)
    if kind == "svm":
        return support_vectors(case, part)
    if kind in block_tasks.KINDS:
        return block_tasks.make(case, kind, part)
    if kind in class_tasks.KINDS:
        return class_tasks.make(case, kind, part)
    y = case.labels if kind == "logistic" else case.y
    top = strongest(case.X, y, "logistic" if kind == "logistic" else "squared")
    l1 = top / part
    task = Task(kind, case.name, case.X, y, part, l1)
    if kind == "enet":
        task.l2 = l1
    if kind == "logistic":
        task.rows = by_rows(case.X)
    if kind == "path":
        task.strengths = np.geomspace(top, l1, steps)
    return task


def cross_validation(case, steps=100):
    """Strengths from that of the all-zero fit, with intercept, down to a hundredth."""
    top = float(np.abs(case.X.T @ (case.y - case.y.mean())).max()) / len(case.y)
    return CrossValidation(case.name, case.X, case.y, np.geomspace(top, top / 100.0, steps))


def support_vectors(case, C=1.0):
    """The task with a lower bound: the value of our dual point, computed by NumPy.

    A dual point that is not the best one makes everybody's gaps look larger, ours included.
    """
    X, y = by_rows(case.X), case.labels
    alpha = ascd.solve(ascd.DualSVM(X, y, C=C), tol=1e-12).x
    return SupportVectors(case.name, X, y, gaps.svm_dual(X, y, C, alpha), C, C)


def small(kind, storage):
    """A task to warm up on: same kind, same storage, nothing to it."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((60, 40)))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(60)
    X = sp.csc_matrix(np.where(np.abs(X) > 0.5, X, 0.0)) if storage == "sparse" else X
    return make(Case("warm-up", X, y, np.where(y > 0.0, 1.0, -1.0)), kind, 10, steps=5)
