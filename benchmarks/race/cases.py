"""The data: every set in the data folder, and generated ones.

Each set is an npz file (``scipy.sparse.load_npz`` gives the design, "y" the target).  Those that are dense by nature
are handed over as dense Fortran-ordered arrays, the others as CSC: the storage all the solvers prefer.  Columns and
target of the dense ones are centred, which is what fitting an intercept does; "(raw)" are the same sets with columns as
they come, so correlated that few solvers get far.  Sparse columns stay as they are.  News20 has twenty classes: class
numbers, centred, for regression; the first class against the rest for classification.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

SEED = 0
DENSE = ("mice_snp", "riboflavin", "golub", "arcene")
RAW = " (raw)"
REAL = ("rcv1_sample", "news20", "dorothea", *DENSE, "w8a", "a9a", *(name + RAW for name in DENSE))


@dataclass
class Case:
    """A named data set: ``y`` for regression, ``labels`` (±1) for classification."""

    name: str
    X: object
    y: np.ndarray
    labels: np.ndarray
    generated: bool = False

    @property
    def storage(self):
        return "sparse" if sp.issparse(self.X) else "dense"

    @property
    def bytes(self):
        X = self.X
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def by_rows(X):
    """CSR or C-ordered."""
    return X.tocsr() if sp.issparse(X) else np.ascontiguousarray(X)


def data_folder():
    """$ASCD_DATA, else the folder ``shared/data`` beside the repository."""
    chosen = os.environ.get("ASCD_DATA")
    return Path(chosen) if chosen else Path(__file__).resolve().parents[3] / "shared" / "data"


def load(folder, name):
    """The set of that name; None where its file is absent."""
    file = name.removesuffix(RAW)
    path = Path(folder) / f"{file}.npz"
    if not path.exists():
        return None
    X, y = sp.load_npz(path).tocsc(), np.load(path)["y"].astype(float)
    X.sort_indices()
    labels = _labels(name, y)
    if file in DENSE:
        X = np.asfortranarray(X.toarray())
        X = X if name.endswith(RAW) else X - X.mean(axis=0)
    return Case(name, X, y - y.mean() if file in DENSE or name == "news20" else y, labels)


def _labels(name, y):
    if name == "news20":
        return np.where(y == y.min(), 1.0, -1.0)
    return np.where(y > (0.0 if set(np.unique(y)) == {-1.0, 1.0} else np.median(y)), 1.0, -1.0)


def easy_sparse(samples=20_000, features=50_000, density=1e-3, true=100):
    """Independent sparse columns and few true coefficients: set-up is most of the work."""
    rng = np.random.default_rng(SEED)
    X = sp.random(samples, features, density=density, format="csc", random_state=rng, data_rvs=rng.standard_normal)
    X = sp.csc_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    X.sort_indices()
    return _with_target("easy sparse", X, true, rng)


def correlated(rho, samples=1_000, features=20_000, true=100):
    """Columns of an AR(1) process: neighbours correlate by ρ."""
    rng = np.random.default_rng(SEED)
    X = np.asfortranarray(rng.standard_normal((samples, features)))
    for j in range(1, features):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    return _with_target(f"correlated {rho}", X, true, rng)


def tall(samples=200_000, features=500, true=50):
    """Many samples, few features."""
    rng = np.random.default_rng(SEED)
    return _with_target("tall", np.asfortranarray(rng.standard_normal((samples, features))), true, rng)


def tiny(samples=100, features=50, true=10):
    """So small that overhead is all there is."""
    rng = np.random.default_rng(SEED)
    return _with_target("tiny", np.asfortranarray(rng.standard_normal((samples, features))), true, rng)


def flipped(samples=20_000, features=50, share=0.1):
    """Labels of a plane, some of them wrong: support vectors at their bound, more of them than features."""
    rng = np.random.default_rng(SEED)
    X = np.asfortranarray(rng.standard_normal((samples, features)))
    y = X @ rng.standard_normal(features) / np.sqrt(features)
    return Case("flipped", X, y, np.where(rng.random(samples) < share, -1.0, 1.0) * np.where(y > 0.0, 1.0, -1.0), True)


def _with_target(name, X, true, rng):
    """y = Xx + noise, ten parts of signal to one of noise; the labels are its signs."""
    x = np.zeros(X.shape[1])
    x[rng.choice(X.shape[1], true, replace=False)] = rng.choice((-1.0, 1.0), true)
    signal = X @ x
    y = signal + signal.std() / np.sqrt(10.0) * rng.standard_normal(X.shape[0])
    return Case(name, X, y, np.where(y > 0.0, 1.0, -1.0), generated=True)


GENERATED = {
    "easy sparse": easy_sparse,
    "correlated 0.5": partial(correlated, 0.5),
    "correlated 0.9": partial(correlated, 0.9),
    "tall": tall,
    "tiny": tiny,
    "flipped": flipped,
}
#: Cases that only classifiers are raced on.
FOR_LABELS = ("flipped",)
QUICK = ("riboflavin", "golub", "a9a", "tiny")


def names(wanted="", quick=False):
    """Names of all cases that contain ``wanted`` (several with commas); few and small ones where ``quick``."""
    parts = [part.strip() for part in wanted.split(",")]
    return [
        name
        for name in (*REAL, *GENERATED)
        if any(part in name for part in parts) and (not quick or bool(wanted) or name in QUICK)
    ]


def get(name, folder):
    """The case of that name; None where its file is absent."""
    return GENERATED[name]() if name in GENERATED else load(folder, name)
