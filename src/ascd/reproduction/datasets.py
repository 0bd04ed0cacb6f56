"""Data sets: the paper's synthetic generator, text-like documents, and the problems of the reproduction.

Text of ``ascd reproduce --data`` is ``rcv1`` (the paper's: scikit-learn's ``fetch_rcv1``, training documents, with
LIBSVM's labels), a path (of ``ascd.io``, or of ``scipy.sparse.save_npz`` with y added), or ``generated``, which is no
real text, as every figure says.  As in the paper all values are set to 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count, as_generator, as_number
from ascd.io import read_table
from ascd.problem.penalties import L1, L2
from ascd.problem.problem import Problem
from ascd.solver.svm import DualSVM

DATA_SEED = 0
#: Shape of the generated replacement for RCV1's training documents.
GENERATED = {"quick": (3000, 6000), "full": (20_242, 47_236)}


class Synthetic(NamedTuple):
    """A sparse matrix, a target and the coefficients that generated it."""

    A: Any
    b: Array
    x: Array


def make_synthetic(
    n_samples: int = 1000, n_features: int = 5000, n_nonzero: int = 50, noise: float = 1.0, rng: Any = None
) -> Synthetic:
    """Return data of the paper's generator (its appendix, after Nutini et al. 2015): sparse, dependent, badly scaled.

    Entries are normal; 1 is added to each (columns become dependent); each column is multiplied by ten times a
    normal number (its Lipschitz constant becomes its own); each entry is kept with probability 10·log(n)/n.
    The paper does not say how b is made: here b = A x + noise with ``n_nonzero`` normal coefficients.

    Examples
    --------
    >>> from ascd.reproduction.datasets import make_synthetic
    >>> data = make_synthetic(n_samples=100, n_features=200, rng=0)
    >>> data.A.shape, data.b.shape
    ((100, 200), (100,))
    """
    d, n = as_count(n_samples, "n_samples"), as_count(n_features, "n_features", low=2)
    support = as_count(n_nonzero, "n_nonzero", low=0)
    if support > n:
        raise ValueError(f"n_nonzero must not exceed n_features = {n}; got {support}")
    noise = as_number(noise, "noise", low=0.0, high=1e300)
    generator = as_generator(rng)
    counts = generator.binomial(d, min(1.0, 10.0 * np.log(n) / n), size=n)
    A = _ones_at_random_rows(d, counts, generator)
    scale = np.repeat(10.0 * generator.standard_normal(n), counts)
    A.data *= (generator.standard_normal(A.nnz) + 1.0) * scale
    x = np.zeros(n)
    x[generator.choice(n, size=support, replace=False)] = generator.standard_normal(support)
    return Synthetic(A, A @ x + noise * generator.standard_normal(d), x)


def make_text_like(n_samples: int = 20_000, n_features: int = 40_000, n_words: int = 75, rng: Any = None) -> Synthetic:
    """Return documents that resemble text: few words each, word frequencies that fall off like Zipf's law.

    Column j has a frequency proportional to 1/(j + 10), on average ``n_words`` words a document, all values 1.  The
    labels ±1 are the signs of a sparse linear function of the words plus noise.  The features are in random order.

    Examples
    --------
    >>> from ascd.reproduction.datasets import make_text_like
    >>> data = make_text_like(n_samples=50, n_features=200, n_words=10, rng=0)
    >>> data.A.shape, sorted(set(data.b.tolist())), sorted(set(data.A.data.tolist()))
    ((50, 200), [-1.0, 1.0], [1.0])
    """
    d, n = as_count(n_samples, "n_samples"), as_count(n_features, "n_features", low=2)
    words = as_count(n_words, "n_words")
    generator = as_generator(rng)
    frequency = 1.0 / (10.0 + generator.permutation(n))
    chance = np.minimum(0.5, frequency * (words / frequency.sum()))
    A, x = _ones_at_random_rows(d, generator.binomial(d, chance), generator), np.zeros(n)
    chosen = generator.choice(n, size=max(1, n // 200), replace=False, p=chance / chance.sum())
    x[chosen] = generator.standard_normal(chosen.size)
    noisy = A @ x + 0.3 * generator.standard_normal(d)
    return Synthetic(A, np.where(noisy > np.median(noisy), 1.0, -1.0), x)


def _ones_at_random_rows(d: int, counts: Any, generator: np.random.Generator) -> Any:
    """Return a sparse matrix of d rows whose column j has ``counts_j`` ones, at random rows."""
    from scipy.sparse import csc_array

    rows = np.concatenate([np.sort(generator.choice(d, size=count, replace=False)) for count in counts])
    return csc_array((np.ones(rows.size), rows, np.concatenate([[0], np.cumsum(counts)])), shape=(d, counts.size))


class TextSource(NamedTuple):
    """Text data as a results file describes them: origin, label and shape."""

    origin: str
    label: str
    samples: int
    features: int


def text_source(origin: str | None, scale: str) -> TextSource:
    """Load the text data of ``--data``, or generated ones, and describe them."""
    if origin is None or origin == "generated":
        shape = GENERATED[scale]
        origin, label = f"generated:{shape[0]}x{shape[1]}", "generated text-like data (no real text)"
    else:
        label = "RCV1 (training documents, LIBSVM's labels)" if origin == "rcv1" else Path(origin).name
    return TextSource(origin, label, *load_text(origin)[0].shape)


@lru_cache(maxsize=1)
def load_text(origin: str) -> tuple[Any, Any]:
    """Return the matrix (CSC, every value 1) and the labels ±1."""
    from scipy.sparse import csc_array, load_npz

    kind, _, rest = origin.partition(":")
    if kind == "generated":
        samples, features = map(int, rest.split("x"))
        data = make_text_like(samples, features, rng=DATA_SEED)
        return data.A, data.b
    if kind == "rcv1":
        X, y = _fetch_rcv1()
    elif origin.endswith(".npz"):
        X, y = load_npz(origin), np.load(origin)["y"]
    else:
        table = read_table(origin)
        X, y = table.X, table.y
    A = csc_array(X, dtype=np.float64, copy=True)
    A.eliminate_zeros()
    A.data[:] = 1.0
    values = np.unique(y)
    if values.size < 2:
        raise ValueError("the data for Fig. 3 must have at least two labels; got one")
    return A, np.where(np.asarray(y) >= values[values.size // 2], 1.0, -1.0)  # the larger half of the values is +1


def _fetch_rcv1() -> tuple[Any, Any]:
    """Return LIBSVM's binary RCV1: CCAT or ECAT against GCAT or MCAT, documents of both or of neither left out."""
    from scipy.sparse import csc_array
    from sklearn.datasets import fetch_rcv1

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it tries again
            bunch = fetch_rcv1(subset="train")
    except OSError as error:
        other = "give a file that is here, or leave --data out for generated text"
        raise OSError(f"--data rcv1 could not be fetched ({error}): {other}") from error
    names, topics = list(bunch.target_names), csc_array(bunch.target)
    has = {name: topics[:, [names.index(name)]].toarray().ravel() > 0 for name in ("CCAT", "ECAT", "GCAT", "MCAT")}
    plus, minus = has["CCAT"] | has["ECAT"], has["GCAT"] | has["MCAT"]
    kept = np.flatnonzero(plus != minus)
    return bunch.data[kept], np.where(plus[kept], 1.0, -1.0)


def problem_of(parameters: Mapping[str, Any]) -> Problem:
    """Return the problem of a job."""
    X, y = _load(*(parameters[key] for key in ("data", "origin", "samples", "features")))
    return make_problem(X, y, parameters["problem"], parameters["strength"])


def make_problem(X: Any, y: Any, kind: str, strength: str) -> Problem:
    """Return a problem by its kind; "max/20" is a part of λ_max, the smallest λ with x* = 0 (logistic: labels ±1)."""
    if kind == "svm":
        return DualSVM(X, y, C=float(strength))
    if kind == "ridge":
        return Problem(X, y, penalty=L2(float(strength)))
    largest = np.abs(X.T @ y).max() * (0.5 if kind == "logistic" else 1.0)
    penalty = L1(float(largest) / float(strength.removeprefix("max/")))
    return Problem(X, y, loss="logistic" if kind == "logistic" else "squared", penalty=penalty)


@lru_cache(maxsize=2)
def _load(data: str, origin: str, samples: int, features: int) -> tuple[Any, Any]:
    """Return the matrix and the target of a data set of the table of panels."""
    rng = np.random.default_rng(DATA_SEED)
    if data == "synthetic":
        made = make_synthetic(samples, features, n_nonzero=min(50, features), noise=1.0, rng=DATA_SEED)
        return made.A, made.b
    if data == "dense":
        A = rng.standard_normal((samples, features))
        return A, A @ rng.standard_normal(features) + rng.standard_normal(samples)
    if data.startswith("tall"):
        return _tall(data, samples, features, rng)
    A, y = load_text(origin)
    if 0 < samples < A.shape[0]:
        rows = np.sort(rng.choice(A.shape[0], samples, replace=False))
        A, y = A.tocsr()[rows].tocsc(), y[rows]
    if 0 < features < A.shape[1]:
        A = A[:, np.sort(rng.choice(A.shape[1], features, replace=False))]
    return A, y


def _tall(kind: str, samples: int, features: int, rng: Any) -> tuple[Any, Any]:
    """Return many samples of few features: independent, correlated or sparse columns, ten or all of them in use."""
    if kind == "tall-sparse":
        from scipy.sparse import coo_array

        count = max(1, round(0.01 * samples * features))
        places = (rng.integers(0, samples, count), rng.integers(0, features, count))
        A = coo_array((rng.standard_normal(count), places), shape=(samples, features)).tocsc()
    else:
        A = rng.standard_normal((features, samples)).T
    if kind == "tall-correlated":
        for j in range(1, features):
            A[:, j] = 0.9 * A[:, j - 1] + np.sqrt(1.0 - 0.9**2) * A[:, j]
    x = np.zeros(features)
    used = features if kind == "tall-full" else min(10, features)
    x[rng.choice(features, used, replace=False)] = rng.standard_normal(used)
    return A, A @ x + rng.standard_normal(samples)
