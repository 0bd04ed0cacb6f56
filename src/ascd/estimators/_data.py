"""Where X lives, decided once: arrays and sparse matrices in memory, or data that are read through a linear operator.

``read`` checks the user's data and returns ``Training``: X as ``InMemory`` or ``Opened`` (tables, files, Dask,
devices, operators of the user's own), the target, and the sample weights.  Both kinds answer the same questions, so
that no estimator has to know which one it has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import _check_sample_weight, _check_y, column_or_1d, validate_data

from ascd._core.checks import Array, as_finite_vector, check_places, refuse_masks
from ascd._core.devices import to_host
from ascd.estimators._forms import errors_about_x, to_numpy
from ascd.estimators._tuning import CANCELLED, EPS, SQUARES_AT_A_TIME
from ascd.matrix.base import Matrix, as_block
from ascd.matrix.cached import Remote
from ascd.matrix.chunked import InTurn, chunked
from ascd.matrix.columns import support
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.open import brought_if_small, is_collection, is_design, is_read_in_place, is_there, open_design
from ascd.problem.norms import check_finite


class InMemory:
    """An array or a sparse matrix; ``matrix`` is what problems take."""

    is_local = True
    names: Array | None = None

    def __init__(self, X: Any) -> None:
        self.matrix, self.shape = X, X.shape

    def moments(self, weight: Array | None) -> tuple[Array, Array]:
        """Return weighted means and variances of the columns."""
        X = self.matrix
        if sparse.issparse(X):
            if not X.has_canonical_format:  # summands of one entry have no squares of their own
                X = X.copy()
                X.sum_duplicates()
            found = mean_variance_axis(X, axis=0, weights=weight)
            return np.asarray(found[0]), np.asarray(found[1])
        share = shares(weight, X.shape[0])
        means, variances = share @ X, np.empty(X.shape[1])
        block = max(1, SQUARES_AT_A_TIME // X.shape[0])
        for start in range(0, X.shape[1], block):
            columns = slice(start, start + block)
            variances[columns] = share @ (X[:, columns] - means[columns]) ** 2
        return means, variances

    def predictor(self, rows: Array, used: Array) -> Callable[[Array], Array]:
        """Return a function coefs ↦ X[rows]·coefs for coefficients that are zero outside ``used``."""
        X = self.matrix
        chosen = X[:, used][rows] if sparse.issparse(X) else X[np.ix_(rows, used)]
        return lambda coefs: np.asarray(chosen @ coefs[used])

    def rows(self, chosen: Array) -> Any:
        """Return some rows, in a layout for predictions."""
        X = self.matrix
        return X.tocsr()[chosen] if sparse.issparse(X) else np.ascontiguousarray(X[chosen])

    def with_constant(self, value: float) -> InMemory:
        """Return X with a constant last column, in X's own layout."""
        X, column = self.matrix, np.full((self.shape[0], 1), float(value))
        if sparse.issparse(X):
            return InMemory(sparse.hstack([X, column], format=X.format))
        extended = np.empty((X.shape[0], X.shape[1] + 1), order="C" if X.flags.c_contiguous else "F")
        extended[:, :-1], extended[:, -1:] = X, column
        return InMemory(extended)

    def by_samples(self) -> InMemory:
        """Return X in a layout whose rows are contiguous."""
        return InMemory(self.matrix.tocsr() if sparse.issparse(self.matrix) else np.ascontiguousarray(self.matrix))

    def by_features(self) -> InMemory:
        """Return X in a layout whose columns are contiguous."""
        return InMemory(self.matrix.tocsc() if sparse.issparse(self.matrix) else np.asfortranarray(self.matrix))


class Opened:
    """Data behind a linear operator; products, means and rows are made of what that answers."""

    is_local = False

    def __init__(self, X: Any) -> None:
        self.matrix: Matrix = open_design(X)
        self.shape = self.matrix.shape
        self.names = names_of(X)

    def times(self, coefs: Array) -> Array:
        """Return X·coefs, for one vector or for one a column."""
        several = coefs.reshape(self.shape[1], -1)
        if hasattr(self.matrix, "add_several") and several.shape[1] > 1:  # one round trip for all
            used, out = np.flatnonzero(several.any(axis=1)), np.zeros((self.shape[0], several.shape[1]), order="F")
            self.matrix.add_several(used, np.asarray(several[used], dtype=np.float64), out)
            return out
        out = np.zeros((several.shape[1], self.shape[0]))
        for predictor, coef in zip(out, several.T, strict=True):
            used = np.flatnonzero(coef)
            self.matrix.add(used, np.ascontiguousarray(coef[used], dtype=np.float64), predictor)
        return out[0] if coefs.ndim == 1 else out.T

    def moments(self, weight: Array | None) -> tuple[Array, Array]:
        """Return weighted means and variances of the columns."""
        share = shares(weight, self.shape[0])
        found = self.matrix.column_stats(share, share[None])
        means = found.products[0].copy()
        variances = np.maximum(found.square - means * means, 0.0)
        lost = np.flatnonzero((found.square > 0.0) & (variances <= CANCELLED * found.square))
        step = max(1, SQUARES_AT_A_TIME // self.shape[0])
        for start in range(0, lost.size, step):  # far from zero the difference has lost its digits
            columns = lost[start : start + step]
            block = as_block(self.matrix.take(columns), self.shape[0])
            means[columns] = share @ block
            variances[columns] = share @ (block - means[columns]) ** 2
        return means, variances

    def predictor(self, rows: Array, used: Array) -> Callable[[Array], Array]:
        """Return a function coefs ↦ X[rows]·coefs."""
        return lambda coefs: np.asarray(self.times(coefs)[rows])

    def with_constant(self, value: float) -> Opened:
        """Return X with one more column, which is constant."""
        wider = self.matrix.with_constant(float(value)) if isinstance(self.matrix, Remote) else None
        if wider is not None:
            return Opened(wider)
        (d, n), column = self.shape, np.full((self.shape[0], 1), float(value))
        parts = [self.matrix, LocalDense(Dense(column), (d, 1))]
        return Opened(chunked(InTurn(parts), np.array([0, d]), np.array([0, n, n + 1])))

    def by_samples(self) -> Opened:
        raise ValueError(
            "the dual of a support vector machine reads samples one by one, which must be in memory: use "
            "loss='squared_hinge' and dual=False, or pass an array"
        )

    def by_features(self) -> Opened:
        return self

    def check_finite(self) -> None:
        """Raise a ValueError that names entries that are not finite."""
        with errors_about_x():
            check_finite(self.matrix, partial(self.matrix.column_stats, 1.0, np.empty((0, self.shape[0]))))


def as_data(X: Any) -> Any:
    """Return X as ``InMemory`` or ``Opened``, without checks."""
    if isinstance(X, InMemory | Opened):
        return X
    return Opened(X) if is_opened(X) else InMemory(X)


def moments(X: Any, weight: Array | None) -> tuple[Array, Array]:
    """Return weighted means and variances of the columns of any X."""
    found: tuple[Array, Array] = as_data(X).moments(weight)
    return found


class Training(NamedTuple):
    """The data of a fit: X, the target as the loss takes it, sample weights (None for equal ones) and an offset."""

    X: Any
    y: Array
    weight: Array | None = None
    offset: Array | None = None

    @property
    def total(self) -> float:
        """The sum of the sample weights."""
        return float(self.X.shape[0] if self.weight is None else self.weight.sum())


def is_opened(X: Any) -> bool:
    """Return True for data that are read through a linear operator rather than as an array."""
    return bool(is_design(X) or is_there(X))


def read(estimator: Any, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Training:
    """Check the data of a fit as scikit-learn does; large arrays stay as they are, small ones become float64.

    Whether X is finite is seen when the problem is built, without another pass over the data.
    """
    refuse_masks(X, "X")
    refuse_masks(y, "y")
    if sparse.issparse(y):
        raise TypeError(f"y must be a dense array; got a sparse {type(y).__name__}: use y.toarray()")
    if is_opened(X):
        data, y = _read_opened(estimator, X, y, **checks)
        return Training(data, y, as_sample_weight(sample_weight, data.shape[0]))
    X, y = validate_data(estimator, X, y, **{**layout_of(X), "ensure_all_finite": False, **checks})
    return Training(InMemory(X), y, as_sample_weight(sample_weight, X.shape[0]))


def _read_opened(
    estimator: Any, X: Any, y: Any, multi_output: bool = False, y_numeric: bool = False, **_: Any
) -> tuple[Opened, Array]:
    """Open the data; features are counted and named, and the target is checked as scikit-learn does."""
    with errors_about_x(X):
        data = Opened(X)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    target = _check_y(y, multi_output=multi_output, y_numeric=y_numeric, estimator=estimator)
    check_consistent_length(rows_only(data.shape[0]), target)
    estimator.n_features_in_ = data.shape[1]
    if data.names is not None:
        estimator.feature_names_in_ = data.names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return data, target if multi_output else column_or_1d(target)


def read_features(X: Any) -> Any:
    """Return X as functions without an estimator take it."""
    with errors_about_x(X):
        X = brought_if_small(X)
        return Opened(X) if is_opened(X) else InMemory(check_array(X, **layout_of(X)))


def opened_product(estimator: Any, X: Any, columns: Array) -> Array:
    """Return X·columns for opened data that must have the features of the fit."""
    data = Opened(X)
    check_features(estimator, data.shape[1], data.names)
    if not data.matrix.is_dear:  # a pass for this alone costs too much where data are remote
        data.check_finite()
    found = data.times(np.asarray(columns, dtype=np.float64))
    if data.matrix.is_dear and not np.isfinite(found).all():
        data.check_finite()
    return found


def names_of(X: Any) -> Array | None:
    """Return the names of the features, where they have any."""
    names: Any = getattr(X, "feature_names", None)
    if names is None and is_collection(X) and all(isinstance(name, str) for name in getattr(X, "columns", [0])):
        names = list(X.columns)
    return None if names is None else np.asarray(names, dtype=object)


def check_features(estimator: Any, found: int, names: Array | None) -> None:
    """Raise a ValueError unless there are as many features as in the fit, of the same names."""
    name, count = type(estimator).__name__, estimator.n_features_in_
    if found != count:
        raise ValueError(f"X has {found} features, but {name} is expecting {count} features as input.")
    known = getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(known) != list(names):
        first = next(j for j in range(count) if known[j] != names[j])
        raise ValueError(
            f"The feature names of X should match those that {name} was fitted with: feature {first} was "
            f"{known[first]!r}, here it is {names[first]!r}"
        )


def layout_of(X: Any) -> dict[str, Any]:
    """Return scikit-learn's options for X: nothing is converted where it is large and read in place.

    SciPy converts sparse matrices without a check of their indices, so these are checked before.
    """
    with errors_about_x():
        check_places(X)
    if is_read_in_place(X):
        return {"accept_sparse": ["csc", "csr"], "dtype": None, "order": None}
    return {"accept_sparse": "csc", "dtype": np.float64, "order": "F"}


def as_sample_weight(sample_weight: Any, n_samples: int) -> Array | None:
    """Return non-negative weights with a positive sum, or None for equal ones."""
    if sample_weight is None:
        return None
    refuse_masks(sample_weight, "sample_weight")
    rows, given = rows_only(n_samples), to_host(sample_weight)
    weight: Array = _check_sample_weight(given, rows, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight


def as_offset(offset: Any, n_samples: int) -> Array | None:
    """Return known parts of the linear predictor, one a sample, or None for zeros."""
    return None if offset is None else as_finite_vector(to_numpy(offset), "offset", n_samples)


def rows_only(count: int) -> Array:
    """Return an array with so many rows, for functions that only count them."""
    return np.broadcast_to(0.0, (count, 1))


def shares(weight: Array | None, n_samples: int) -> Array:
    """Return weights that add up to 1."""
    return np.full(n_samples, 1.0 / n_samples) if weight is None else weight / weight.sum()


def sparse_columns(coefs: Array) -> Any:
    """Return coefficients, a column for each fit, as a sparse matrix; SciPy would search them row by row."""
    there = [support(column) for column in coefs.T]
    ends = np.cumsum([0, *map(len, there)])
    values = [column[rows] for column, rows in zip(coefs.T, there, strict=True)]
    return sparse.csc_array((np.concatenate(values), np.concatenate(there), ends), shape=coefs.shape)


def deviations(X: Any, weight: Array | None) -> Array:
    """Return the standard deviations of the columns; 1 for those that are constant up to rounding.

    With these d_j and v_j = d_j·w_j, the features x_j/d_j with coefficients v predict the same, and a penalty on v is
    one on w with other weights: l1·|v_j| + ½·l2·v_j² = (d_j·l1)·|w_j| + ½·(d_j²·l2)·w_j².  The means only change the
    intercept, which has no penalty.  R's glmnet does the same for standardize=TRUE.

    Examples
    --------
    >>> import numpy as np
    >>> deviations(np.array([[0.0, 5.0], [2.0, 5.0]]), None)
    array([1., 1.])
    >>> deviations(np.array([[0.0], [2.0], [9.0]]), np.array([1.0, 3.0, 0.0])).round(4)
    array([0.866])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # entries that are not finite are reported by the problem
        means, variances = moments(X, weight)
        n = X.shape[0]
        is_constant = variances <= n * EPS * variances + (n * means * EPS) ** 2
        found = np.sqrt(variances)
    return np.where(is_constant | ~np.isfinite(found), 1.0, found)
