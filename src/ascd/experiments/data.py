"""The designs, targets and problems that the parameters of a job speak of.

Text data come from a *source*, a word or a path:

==================  ==============================================================================================
``rcv1``            scikit-learn's ``fetch_rcv1``, training documents, labelled by LIBSVM's rule: CCAT or ECAT against
                    GCAT or MCAT, documents of both or of neither left out (20,242 × 47,236, the paper's data)
``libsvmdata:NAME`` a data set of the package ``libsvmdata``, e.g. ``libsvmdata:rcv1.binary``
a path              a LIBSVM, CSV, parquet or npz file (``ascd.io``)
``generated``       ``ascd.datasets.make_text_like``: no real text, and every figure says so
==================  ==============================================================================================

As in the paper all values are set to 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd.datasets import make_synthetic, make_text_like
from ascd.io import read_table
from ascd.problem.penalties import L1, L2
from ascd.problem.problem import Problem
from ascd.svm import DualSVM

DATA_SEED = 0
#: Shape of the generated stand-in for RCV1's training documents.
GENERATED = {"quick": (3000, 6000), "full": (20_242, 47_236)}


class Source(NamedTuple):
    """Text data in words that a results file can keep: where they are from, and their shape."""

    origin: str
    label: str
    samples: int
    features: int
    nonzeros: int


def text_source(origin: str | None, scale: str) -> Source:
    """Look at the text data that the user asked for, or at the generated ones."""
    if origin is None or origin == "generated":
        shape = GENERATED[scale]
        origin, label = f"generated:{shape[0]}x{shape[1]}", "generated text-like data (no real text)"
    else:
        label = {"rcv1": "RCV1 (training documents, LIBSVM's labels)"}.get(origin, _file_label(origin))
    A, _ = load_text(origin)
    return Source(origin, label, A.shape[0], A.shape[1], int(A.nnz))


def _file_label(origin: str) -> str:
    if origin.startswith("libsvmdata:"):
        return f"{origin.partition(':')[2]} (libsvmdata)"
    name = Path(origin).name
    return "an RCV1-v2 sample (other documents than the paper's)" if name == "rcv1_sample.npz" else name


@lru_cache(maxsize=1)
def load_text(origin: str) -> tuple[Any, Any]:
    """The design (CSC, every value 1) and the labels ±1."""
    kind, _, rest = origin.partition(":")
    if kind == "generated":
        samples, features = map(int, rest.split("x"))
        data = make_text_like(samples, features, rng=DATA_SEED)
        return data.A, data.b
    if origin == "rcv1":
        A, y = _fetch_rcv1()
    elif kind == "libsvmdata":
        A, y = _fetch_libsvmdata(rest)
    else:
        table = read_table(origin)
        A, y = table.X, table.y
    return _ones(A), _signs(y)


def libsvm_labels(target: Any, names: Any) -> tuple[Any, Any]:
    """LIBSVM's binary RCV1: which documents are kept, and their labels ±1.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd.experiments.data import libsvm_labels
    >>> topics = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0]])
    >>> libsvm_labels(topics, ["CCAT", "ECAT", "GCAT", "MCAT"])
    (array([0, 1]), array([ 1., -1.]))
    """
    names = list(names)
    columns = target.tocsc() if hasattr(target, "tocsc") else np.asarray(target)
    has = {topic: _dense_column(columns, names.index(topic)) for topic in ("CCAT", "ECAT", "GCAT", "MCAT")}
    plus, minus = has["CCAT"] | has["ECAT"], has["GCAT"] | has["MCAT"]
    kept = np.flatnonzero(plus != minus)
    return kept, np.where(plus[kept], 1.0, -1.0)


def _dense_column(columns: Any, j: int) -> Any:
    column = columns[:, [j]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel() > 0


def _fetch_rcv1() -> tuple[Any, Any]:
    from sklearn.datasets import fetch_rcv1

    with _fetching("rcv1"):
        bunch = fetch_rcv1(subset="train")
    kept, labels = libsvm_labels(bunch.target, bunch.target_names)
    return bunch.data[kept], labels


def _fetch_libsvmdata(name: str) -> tuple[Any, Any]:
    try:
        import libsvmdata
    except ImportError as error:
        raise ImportError(f"--data libsvmdata:{name} needs the package libsvmdata: pip install libsvmdata") from error
    fetch = getattr(libsvmdata, "fetch_dataset", None) or libsvmdata.fetch_libsvm  # the old name
    with _fetching(f"libsvmdata:{name}"):
        A, y = fetch(name)
    return A, y


@contextmanager
def _fetching(origin: str) -> Iterator[None]:
    """Tell in words that data could not be fetched, and what else there is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it tries again
            yield
    except (OSError, RuntimeError) as error:  # no network, or what libsvmdata makes of that
        other = "give a file that is here, or leave --data out for generated text"
        raise OSError(f"--data {origin} could not be fetched ({error}): {other}") from error


def _ones(A: Any) -> Any:
    from scipy.sparse import csc_array

    A = csc_array(A, dtype=np.float64, copy=True)
    A.eliminate_zeros()
    A.data[:] = 1.0
    return A


def _signs(y: Any) -> Any:
    """Labels ±1: the larger half of the values is +1."""
    values = np.unique(y)
    if values.size < 2:
        raise ValueError("the data for Fig. 3 must have at least two labels; got one")
    return np.where(np.asarray(y) >= values[values.size // 2], 1.0, -1.0)


@lru_cache(maxsize=2)
def _design(data: str, origin: str, samples: int, features: int) -> tuple[Any, Any]:
    if data == "synthetic":
        made = make_synthetic(samples, features, n_nonzero=min(50, features), noise=1.0, rng=DATA_SEED)
        return made.A, made.b
    if data.startswith("tall"):
        return _tall(data, samples, features)
    rng = np.random.default_rng(DATA_SEED)
    if data == "dense":
        A = rng.standard_normal((samples, features))
        return A, A @ rng.standard_normal(features) + rng.standard_normal(samples)
    A, y = load_text(origin)
    if 0 < samples < A.shape[0]:
        rows = np.sort(rng.choice(A.shape[0], samples, replace=False))
        A, y = A.tocsr()[rows].tocsc(), y[rows]
    if 0 < features < A.shape[1]:
        A = A[:, np.sort(rng.choice(A.shape[1], features, replace=False))]
    return A, y


def _tall(kind: str, samples: int, features: int) -> tuple[Any, Any]:
    """Many samples of few features: independent, correlated or sparse columns, ten or all of them in use."""
    rng = np.random.default_rng(DATA_SEED)
    if kind == "tall-sparse":
        A = sparse_normal(samples, features, 0.01, rng)
    else:
        A = rng.standard_normal((features, samples)).T
    if kind == "tall-correlated":
        for j in range(1, features):
            A[:, j] = 0.9 * A[:, j - 1] + np.sqrt(1.0 - 0.9**2) * A[:, j]
    x = np.zeros(features)
    used = features if kind == "tall-full" else min(10, features)
    x[rng.choice(features, used, replace=False)] = rng.standard_normal(used)
    return A, A @ x + rng.standard_normal(samples)


def sparse_normal(samples: int, features: int, density: float, rng: Any) -> Any:
    """Normal entries at random places, as CSC."""
    from scipy.sparse import coo_array

    count = max(1, round(density * samples * features))
    places = (rng.integers(0, samples, count), rng.integers(0, features, count))
    return coo_array((rng.standard_normal(count), places), shape=(samples, features)).tocsc()


@lru_cache(maxsize=2)
def _problem(data: str, origin: str, samples: int, features: int, kind: str, strength: str) -> Problem:
    A, b = _design(data, origin, samples, features)
    if kind == "svm":
        return DualSVM(A, b, C=float(strength))
    if kind == "ridge":
        return Problem(A, b, penalty=L2(float(strength)))
    largest = np.abs(A.T @ b).max() * (0.5 if kind == "logistic" else 1.0)
    penalty = L1(float(largest) / float(strength.removeprefix("max/")))
    return Problem(A, b, loss="logistic" if kind == "logistic" else "squared", penalty=penalty)


def problem_of(parameters: Mapping[str, Any]) -> Problem:
    """The problem of a job."""
    where = (str(parameters[key]) for key in ("data", "origin"))
    shape = (int(parameters[key]) for key in ("samples", "features"))
    return _problem(*where, *shape, str(parameters["problem"]), str(parameters["strength"]))
