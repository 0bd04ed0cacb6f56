"""A table of small problems that every rule, oracle, steepness, step and storage is run on.

``CASES`` maps a name to a ``Case``; each is stated twice, for the library and for ``reference``.  Every problem has
one minimiser along every coordinate, so that an exact line search has one right answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import reference as ref
import scipy.sparse as sp
from penalty_table import PENALTIES

import ascd


@dataclass(frozen=True, eq=False)
class Case:
    """One problem: data, loss, and its penalty in the library's and in the reference's words."""

    name: str
    A: np.ndarray
    b: np.ndarray
    loss: str
    penalty: Any
    twin: ref.Penalty
    sample_weight: np.ndarray | None = None
    x0: np.ndarray | None = None

    @property
    def n(self):
        return self.A.shape[1]

    @property
    def is_smooth(self):
        return self.penalty.check(self.n).is_smooth()

    @property
    def start(self):
        """Where the descent begins: x0, or the allowed point nearest to 0."""
        return np.clip(np.zeros(self.n), self.twin.lower, self.twin.upper) if self.x0 is None else self.x0

    @cache  # noqa: B019 - the cases live as long as the process
    def library(self, storage="dense"):
        A = sp.csc_array(self.A) if storage == "sparse" else self.A
        return ascd.Problem(A, self.b, self.loss, self.penalty, self.sample_weight)

    @cache  # noqa: B019
    def reference(self):
        return ref.Problem(self.A, self.b, self.loss, self.twin, self.sample_weight)


# --------------------------------------------------------------------------------------- matrices


def tall(rng):
    return rng.standard_normal((9, 4))


def wide(rng):
    return rng.standard_normal((4, 9))


def zero_column(rng):
    A = rng.standard_normal((6, 5))
    A[:, 2] = 0.0
    return A


def equal_columns(rng):
    A = rng.standard_normal((6, 5))
    A[:, 3], A[:, 4] = A[:, 0], -A[:, 1]
    return A


def scaled(rng):
    """Column norms from 1e-6 to 1e6."""
    A = rng.standard_normal((7, 5))
    return A / np.linalg.norm(A, axis=0) * np.logspace(-6, 6, 5)


def one_sample(rng):
    return rng.standard_normal((1, 5))


def one_feature(rng):
    return rng.standard_normal((6, 1))


def sparse(rng):
    """About a third of the entries, with no column empty; twelve columns."""
    A = rng.standard_normal((10, 12)) * (rng.random((10, 12)) < 0.3)
    A[np.arange(12) % 10, np.arange(12)] = 1.0
    return A


def conflicting(rng):
    """Rows k and k + 5 are alike and will get opposite labels: no direction separates them."""
    half = rng.standard_normal((5, 4))
    return np.vstack([half, half + 0.3 * rng.standard_normal((5, 4))])


# ------------------------------------------------------------------------------------------ the table

#: loss, matrix, penalty, further words: "weights" (one sample weighs 0), "start" (not at 0)
TABLE = [
    ("squared", tall, "none", ""),
    ("squared", tall, "none, linear", "start"),
    ("squared", wide, "l1", ""),
    ("squared", sparse, "l1", "weights"),
    ("squared", sparse, "l1 weighted", "start"),
    ("squared", zero_column, "l1 linear", ""),
    ("squared", tall, "l1 of strength 0", ""),
    ("squared", wide, "l1 above the maximum", ""),
    ("squared", zero_column, "l2", "weights start"),
    ("squared", equal_columns, "elastic net", ""),
    ("squared", wide, "half-infinite box", ""),
    ("squared", tall, "box away from 0", "weights"),
    ("squared", scaled, "none", ""),
    ("squared", scaled, "l1", ""),
    ("squared", one_sample, "elastic net", ""),
    ("squared", one_sample, "l2", ""),
    ("squared", one_feature, "l1", ""),
    ("logistic", conflicting, "none", ""),
    ("logistic", sparse, "l1", "weights"),
    ("logistic", equal_columns, "l2 weighted, linear", "start"),
    ("logistic", wide, "elastic net weighted, linear", ""),
    ("logistic", zero_column, "box", ""),
    ("logistic", scaled, "l1", ""),
    ("huber", tall, "none", "weights"),
    ("huber", wide, "l1", "start"),
    ("huber", sparse, "l2", ""),
    ("huber", equal_columns, "mixed box, l2, linear", ""),
    ("huber", one_feature, "l1 above the maximum", ""),
    ("squared_hinge", conflicting, "none", "weights"),
    ("squared_hinge", sparse, "l1 weighted", ""),
    ("squared_hinge", wide, "l2", "start"),
    ("squared_hinge", zero_column, "elastic net", ""),
    ("squared_hinge", conflicting, "box", ""),
]


def target_of(A, loss, rng):
    d = A.shape[0]
    if loss in ("logistic", "squared_hinge"):
        return np.where(np.arange(d) < (d + 1) // 2, 1.0, -1.0)
    unit = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    return 2.0 * unit @ rng.standard_normal(A.shape[1]) + rng.standard_normal(d)


def build(seed, loss, matrix, penalty, words):
    rng = np.random.default_rng(seed)
    A = matrix(rng)
    b = target_of(A, loss, rng)
    weight = np.where(np.arange(len(b)) == 1, 0.0, 0.5 + rng.random(len(b))) if "weights" in words else None
    top = np.abs(ref.Problem(A, b, loss, None, weight).gradient(np.zeros(A.shape[1]))).max()
    library, twin = PENALTIES[penalty](A.shape[1], top, 1.0)
    x0 = np.clip(0.3 * rng.standard_normal(A.shape[1]), twin.lower, twin.upper) if "start" in words else None
    name = ", ".join(filter(None, (loss, matrix.__name__, penalty, words)))
    return Case(name, A, b, loss, library, twin, weight, x0)


CASES = {case.name: case for case in (build(seed, *row) for seed, row in enumerate(TABLE))}


@cache
def sketchable():
    """Many samples, few features: the only kind of problem that a sketch makes smaller."""
    rng = np.random.default_rng(600)
    A = rng.standard_normal((600, 5))
    return Case("sketchable", A, target_of(A, "squared", rng), "squared", ascd.L1(20.0), ref.L1(np.full(5, 20.0)))
