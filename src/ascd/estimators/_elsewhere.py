"""Data that estimators do not hold as NumPy's arrays: designs, tables, files, arrays on a device.

They are read as matrices (``ascd.matrix.base``).

Fits ask the design alone.  What estimators do besides (predictions, deviations, held-out samples) is put together from
the same questions here.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_y, column_or_1d

from ascd._core.checks import Array
from ascd.estimators._lazily import times_lazily
from ascd.estimators._speaking import speaking_of_x
from ascd.estimators._tuning import CANCELLED, SQUARES_AT_A_TIME
from ascd.matrix.base import Design, as_block
from ascd.matrix.chunked import chunked
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.device.sparse import is_there
from ascd.matrix.on_dask import is_collection
from ascd.matrix.open import is_design, open_design
from ascd.matrix.requests import InTurn
from ascd.problem.norms import check_finite


class Elsewhere:
    """A design with what estimators ask of their data: a shape, products with coefficients, moments, rows."""

    def __init__(self, X: Any) -> None:
        self.design: Design = open_design(X)
        self.shape = self.design.shape
        self.names = names_of(X)

    def as_design(self) -> Design:
        return self.design

    def times(self, coefs: Array) -> Array:
        """X·coefs, for one vector or for one a column."""
        several = coefs.reshape(self.shape[1], -1)
        if several.shape[1] > 1:
            return self._times_several(several)
        out = np.zeros((several.shape[1], self.shape[0]))
        for image, coef in zip(out, several.T, strict=True):
            used = np.flatnonzero(coef)
            self.design.add(used, np.ascontiguousarray(coef[used], dtype=np.float64), image)
        return out[0] if coefs.ndim == 1 else out.T

    def _times_several(self, coefs: Array) -> Array:
        """All in one round where the data are elsewhere."""
        used, out = np.flatnonzero(coefs.any(axis=1)), np.zeros((self.shape[0], coefs.shape[1]), order="F")
        self.design.add_several(used, np.asarray(coefs[used], dtype=np.float64), out)
        return out

    def moments(self, weight: Array | None) -> tuple[Array, Array]:
        """Means and variances of the columns."""
        share = np.full(self.shape[0], 1.0 / self.shape[0]) if weight is None else weight / weight.sum()
        found = self.design.survey(share, share[None])
        means = found.products[0].copy()
        variances = np.maximum(found.square - means * means, 0.0)
        lost = np.flatnonzero((found.square > 0.0) & (variances <= CANCELLED * found.square))
        step = max(1, SQUARES_AT_A_TIME // self.shape[0])
        for start in range(0, lost.size, step):  # far from zero the difference has lost its digits
            columns = lost[start : start + step]
            block = as_block(self.design.take(columns), self.shape[0])
            means[columns] = share @ block
            variances[columns] = share @ (block - means[columns]) ** 2
        return means, variances

    def with_constant(self, value: float) -> Elsewhere:
        """One more column, which is constant."""
        wider = self.design.with_constant(value)
        if wider is not None:
            return Elsewhere(wider)
        (d, n), column = self.shape, np.full((self.shape[0], 1), value)
        parts = [self.design, LocalDense(Dense(column), (d, 1))]
        return Elsewhere(chunked(InTurn(parts), np.array([0, d]), np.array([0, n, n + 1])))

    def check_finite(self) -> None:
        """Raise a ValueError that names what is not finite."""
        with speaking_of_x():
            check_finite(self.design, partial(self.design.survey, 1.0, np.empty((0, self.shape[0]))))

    def stand_in(self) -> Array:
        """An array with as many rows, for what asks only for their number."""
        return row_count_only(self.shape[0])


def row_count_only(rows: int) -> Array:
    """An array with so many rows and nothing in them."""
    return np.broadcast_to(0.0, (rows, 1))


def is_elsewhere(X: Any) -> bool:
    """Is this read through a design rather than as an array?"""
    return isinstance(X, Elsewhere) or is_design(X) or is_there(X)


def read_elsewhere(
    estimator: Any, X: Any, y: Any, multi_output: bool = False, y_numeric: bool = False, **_: Any
) -> tuple[Elsewhere, Array]:
    """The data as they are, and the target checked as scikit-learn does; features are counted and named."""
    with speaking_of_x(X):
        data = Elsewhere(X)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    target = _check_y(y, multi_output=multi_output, y_numeric=y_numeric, estimator=estimator)
    check_consistent_length(data.stand_in(), target)
    estimator.n_features_in_ = data.shape[1]
    if data.names is not None:
        estimator.feature_names_in_ = data.names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return data, target if multi_output else column_or_1d(target)


def predicted(estimator: Any, X: Any, columns: Array) -> Any:
    """X·columns for data that must have the features of the fit; computed later where X is (``_lazily``)."""
    if is_collection(X):
        with speaking_of_x(X):
            check_features(estimator, X.shape[1], names_of(X))
            return times_lazily(X, np.asarray(columns))
    data = X if isinstance(X, Elsewhere) else Elsewhere(X)
    check_features(estimator, data.shape[1], data.names)
    if not data.design.is_dear:  # a pass for this alone would be too much elsewhere
        data.check_finite()
    found = data.times(np.asarray(columns, dtype=np.float64))
    if data.design.is_dear and not np.isfinite(found).all():
        data.check_finite()
    return found


def names_of(X: Any) -> Array | None:
    """The names of the features, where they have any."""
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
