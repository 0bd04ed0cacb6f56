"""The one way in for data: where X lives is decided here, once, and the fitted arrays go back into its form.

- Arrays, frames and sparse matrices in memory are checked by scikit-learn.
- Tables, files, Dask's collections, arrays on a device and matrices of the user's own are read through a matrix of the
  library.  ``Data`` answers the same for both, so that no estimator has to know which it has.
- float32 data: ``coef_`` and ``intercept_`` are float32 where scikit-learn's are, and so is what the certificate is
  about (``_solving.in_float32``).
- Targets, weights and offsets of Dask or on a device come to the host.  The fitted arrays go to the device of X;
  predictions for Dask's collections are Dask's, computed later, chunk by chunk where the data are.  ``classes_`` stay
  NumPy's, as they may be text; arrays of other namespaces on the host become NumPy's.
- Errors name X and y: below the estimators the matrix is A and the target b.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit, log_softmax
from sklearn import config_context
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import validate_data

from ascd._core import devices
from ascd._core.checks import Array, as_finite_vector, as_parameter, check_places, refuse_masks
from ascd._core.devices import is_on_device, library_of, to_host
from ascd.estimators._parameters import check_parameters, documented
from ascd.matrix.base import as_block
from ascd.matrix.chunked import with_constant
from ascd.matrix.on_dask import as_array, check_chunk, check_collection, computed
from ascd.matrix.open import brought_if_small, is_collection, is_design, is_read_in_place, open_design
from ascd.problem.problem import check_finite

Fit = TypeVar("Fit", bound=Callable[..., Any])
EPS = float(np.finfo(np.float64).eps)
#: What follows where A and b are names, and no words.
_NAMED = r"\b(?= (?:must|has|and|are|is)\b|[,:;.]|$)"


def is_opened(X: Any) -> bool:
    """Return True for data that are read through a matrix of the library rather than as an array."""
    return type(X) is not np.ndarray and bool(is_design(X) or is_on_device(X))


def is_outside(X: Any) -> bool:
    """Return True for data of Dask or on a device, for which scikit-learn's own methods do not work."""
    return type(X) is not np.ndarray and bool(is_collection(X) or is_on_device(X))


def to_numpy(array: Any, is_data: bool = False) -> Any:
    """Return arrays of another library or of Dask as NumPy's, and anything else as it is.

    Data (X) on a device or in a collection stay there.
    """
    if array is None or isinstance(array, np.ndarray | np.generic):
        return array
    if is_outside(array):
        return array if is_data else computed(array) if is_collection(array) else to_host(array)
    is_tensor = hasattr(array, "__array_namespace__") or library_of(array) == "torch"
    return np.asarray(array) if is_tensor else array


def is_float32(X: Any) -> bool:
    """Return True for data whose entries are all float32."""
    dtypes = X.dtypes if getattr(X, "ndim", 0) == 2 and hasattr(X, "dtypes") else [getattr(X, "dtype", None)]
    return all(str(dtype).endswith("float32") for dtype in dtypes)


def beside(X: Any, values: Any) -> Any:
    """Return host values on the device of X; as they are where X is on the host or Dask's, or where they are text."""
    if type(X) is np.ndarray or not is_on_device(X) or np.asarray(values).dtype.kind not in "fiub":
        return values
    return devices.put_beside(X, values)


def fit_method(fit: Fit) -> Fit:
    """Decorate a ``fit``: parameters are checked as scikit-learn does, attributes take the form of X.

    An interrupted fit keeps its best point in the attributes, and then ``KeyboardInterrupt`` is raised again.
    """

    @documented
    @wraps(fit)
    def fit_in_form(self: Any, X: Any, y: Any = None, sample_weight: Any = None, *others: Any, **params: Any) -> Any:
        check_parameters(self)
        with config_context(skip_parameter_validation=True), errors_about_x(X):
            is_array = type(X) is np.ndarray
            to_float32 = (X.dtype == np.float32 if is_array else is_float32(X)) and self._keeps_float32
            self._to_float32, self._is_interrupted = to_float32, False
            try:
                fitted = fit(self, X, y, sample_weight, *others, **params)
            finally:
                is_interrupted = self._is_interrupted
                del self._to_float32, self._is_interrupted
        if to_float32 or not is_array:
            give_form(self, X, to_float32)
        if is_interrupted:
            raise KeyboardInterrupt
        return fitted

    return fit_in_form  # type: ignore[return-value]


def give_form(estimator: Any, X: Any, to_float32: bool) -> None:
    """Put the fitted attributes into the form of X: float32 where their range allows it, on its device."""
    largest = max(float(np.abs(values).max()) for values in (estimator.coef_, estimator.intercept_))
    if to_float32 and largest <= float(np.finfo(np.float32).max):
        estimator.coef_ = estimator.coef_.astype(np.float32)
        if estimator.fit_intercept or np.ndim(estimator.intercept_):
            estimator.intercept_ = np.asarray(estimator.intercept_, dtype=np.float32)[()]
    for name, value in list(vars(estimator).items()) if is_on_device(X) else []:
        is_array = isinstance(value, np.ndarray) or (name == "intercept_" and estimator.fit_intercept)
        if name.endswith("_") and name != "classes_" and is_array:
            setattr(estimator, name, beside(X, np.asarray(value)))


class Training(NamedTuple):
    """The data of a fit: X, the target as the loss takes it, sample weights (None for equal ones) and an offset.

    ``factors`` are those of the samples' classes, ``score_params`` what the scorer of a cross-validation gets.
    """

    X: Any
    y: Array
    weight: Array | None = None
    offset: Array | None = None
    factors: Array | None = None
    score_params: dict[str, Any] | None = None

    @property
    def balanced_weight(self) -> Array | None:
        """The sample weights times the factors of the classes; None where all are 1."""
        factors, weight = self.factors, self.weight
        return weight if factors is None else factors if weight is None else factors * weight


def read(estimator: Any, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Training:
    """Check the data of a fit as scikit-learn does; large arrays stay as they are, small ones become float64.

    Whether X is finite is seen when the problem is built, without another pass over the data.  SciPy converts sparse
    matrices without a check of their indices, so these are checked before.
    """
    checks = estimator._checks
    if type(y) is np.ndarray and y.ndim == 1 and "multi_output" in checks:  # one target is read faster
        checks = {"y_numeric": True}
    if type(X) is not np.ndarray:
        refuse_masks(X, "X")
        X = to_numpy(brought_if_small(X), is_data=True)
    if type(y) is not np.ndarray:
        refuse_masks(y, "y")
        y = to_numpy(y)
    if sparse.issparse(y):
        raise TypeError(f"y must be a dense array; got a sparse {type(y).__name__}: use y.toarray()")
    if "y_numeric" in checks and (type(y) is not np.ndarray or y.dtype.kind not in "fiub"):
        _refuse_words(y)
    if type(X) is not np.ndarray and is_opened(X):
        data = Data(X)  # in its place scikit-learn gets an array without memory, to count features and check the target
        _, y = validate_data(estimator, np.broadcast_to(0.0, data.shape), y, **{"ensure_all_finite": False, **checks})
        if data.names is not None:
            estimator.feature_names_in_ = data.names
    else:
        if sparse.issparse(X):
            check_places(X)
        is_large = is_read_in_place(X)  # then nothing is converted
        if _is_plain(X, y, "multi_output" in checks):
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
            matrix = X if is_large or checks.get("order", "F") is None else np.asfortranarray(X)
        else:
            layout: dict[str, Any] = {"accept_sparse": "csc", "dtype": np.float64, "order": "F"}
            if is_large:
                layout = {"accept_sparse": ["csc", "csr"], "dtype": None, "order": None}
            matrix, y = validate_data(estimator, X, y, **{**layout, "ensure_all_finite": False, **checks})
        data = Data(matrix)
    vars(estimator).pop("_table", None)
    if hasattr(X, "without_rows"):
        estimator._table = X.without_rows()
    n, weight = data.shape[0], None
    if sample_weight is not None:
        weight = as_sample_weight(sample_weight, n)
    if offset is not None:
        offset = as_finite_vector(to_numpy(offset), "offset", n)
    return Training(data, np.asarray(y, dtype=np.float64) if "y_numeric" in checks else y, weight, offset)


def _refuse_words(y: Any) -> None:
    """Raise an error for a target that holds words, where numbers are needed."""
    try:
        if (given := np.asarray(y)).dtype.kind in "OU":
            given.astype(object).astype(np.float64)
    except (TypeError, ValueError) as error:
        reason, _, word = str(error).partition(": ")
        if reason == "could not convert string to float":
            raise ValueError(f"y must hold numbers; got the text {word}: classifiers take text") from None


def _is_plain(X: Any, y: Any, is_table: bool) -> bool:
    """Return whether X is an array of float64, and y a vector (or, with ``is_table``, a table) of finite numbers.

    What scikit-learn checks holds for these; its checks take as long as the rest of a small fit.
    """
    if not (type(X) is type(y) is np.ndarray and X.dtype == np.float64 and y.dtype.kind in "fiu" and X.ndim == 2):
        return False
    is_target = len(X) == len(y) and y.ndim in ((1, 2) if is_table else (1,))
    return is_target and X.size > 0 and y.size > 0 and bool(np.isfinite(y).all())


def as_sample_weight(sample_weight: Any, n_samples: int) -> Array | None:
    """Return non-negative weights with a positive sum, or None for equal ones."""
    if sample_weight is None:
        return None
    refuse_masks(sample_weight, "sample_weight")
    given = as_parameter(np.asarray(to_numpy(sample_weight)), "sample_weight", n_samples, low=0.0)
    if not np.any(given):
        raise ValueError("sample_weight must contain at least one non-zero number")
    return np.full(n_samples, given)


class Data:
    """X as it is read; ``matrix`` is what problems take: an array or a sparse matrix, or a matrix of the library."""

    def __init__(self, X: Any) -> None:
        self.is_local = isinstance(X, np.ndarray) or sparse.issparse(X)
        self.matrix: Any = X if self.is_local else open_design(X)
        self.shape, self.names = self.matrix.shape, None if self.is_local else names_of(X)

    def times(self, coefs: Array) -> Array:
        """Return X·coefs of data that are not local, for one vector or for one a column."""
        used = np.flatnonzero(coefs if coefs.ndim == 1 else coefs.any(axis=1))
        out = np.zeros((self.shape[0], *coefs.shape[1:]), order="F")
        self.matrix.add(used, np.ascontiguousarray(coefs[used], dtype=np.float64), out)
        return out

    def predictor(self, rows: Array, used: Array) -> Callable[[Array], Array]:
        """Return a function coefs ↦ X[rows]·coefs for coefficients that are zero outside ``used``."""
        X = self.matrix
        if not self.is_local:
            return lambda coefs: self.times(coefs)[rows]
        chosen = X[:, used][rows] if sparse.issparse(X) else X[np.ix_(rows, used)]
        return lambda coefs: np.asarray(chosen @ coefs[used])

    def with_constant(self, value: float) -> Data:
        """Return X with a constant last column, in X's own layout."""
        X, (d, n) = self.matrix, self.shape
        if sparse.issparse(X):
            return Data(sparse.hstack([X, np.full((d, 1), float(value))], format=X.format))
        if self.is_local:
            extended = np.empty((d, n + 1), order="C" if X.flags.c_contiguous else "F")
            extended[:, :-1], extended[:, -1] = X, value
            return Data(extended)
        return Data(with_constant(X, float(value)))

    def laid_out(self, by_samples: bool) -> Data:
        """Return X in a layout whose rows (or columns) are contiguous."""
        if not self.is_local and by_samples:
            raise ValueError(
                "the dual of a support vector machine reads samples one by one, which must be in memory: use "
                "loss='squared_hinge' and dual=False, or pass an array"
            )
        if sparse.issparse(self.matrix):
            return Data(self.matrix.tocsr() if by_samples else self.matrix.tocsc())
        return Data(np.asarray(self.matrix, order="C" if by_samples else "F")) if self.is_local else self


def names_of(X: Any) -> Array | None:
    """Return the names of the features, where they have any."""
    names: Any = getattr(X, "feature_names", None)
    if names is None and is_collection(X) and all(isinstance(name, str) for name in getattr(X, "columns", [0])):
        names = list(X.columns)
    return None if names is None else np.asarray(names, dtype=object)


def moments(X: Any, weight: Array | None) -> tuple[Array, Array]:
    """Return weighted means and variances of the columns of any X, from one pass over it."""
    matrix = open_design(X.matrix if isinstance(X, Data) else X)
    n = matrix.shape[0]
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    found = matrix.column_stats(share, share[None])
    means = found.products[0].copy()
    variances = np.maximum(found.square - means * means, 0.0)
    lost = np.flatnonzero((found.square > 0.0) & (variances <= 1e-6 * found.square))
    step = max(1, 2**20 // n)  # entries that are looked at together: their squares are the only copy there is
    for start in range(0, lost.size, step):  # far from zero the difference has lost half its digits
        columns = lost[start : start + step]
        block = as_block(matrix.take(columns), n)
        means[columns] = share @ block
        variances[columns] = share @ (block - means[columns]) ** 2
    return means, variances


def deviations(X: Any, weight: Array | None) -> Array:
    """Return the standard deviations of the columns; 1 for those that are constant up to rounding.

    With these d_j and v_j = d_j·w_j, the features x_j/d_j with coefficients v predict the same, and a penalty on v is
    one on w with other weights: l1·|v_j| + ½·l2·v_j² = (d_j·l1)·|w_j| + ½·(d_j²·l2)·w_j².  The means only change the
    intercept, which has no penalty.  R's glmnet does the same for standardize=TRUE.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # entries that are not finite are reported by the problem
        means, variances = moments(X, weight)
        n = X.shape[0]
        is_constant = variances <= n * EPS * variances + (n * means * EPS) ** 2
        found = np.sqrt(variances)
    return np.where(is_constant | ~np.isfinite(found), 1.0, found)


def opened_product(estimator: Any, X: Any, columns: Array) -> Any:
    """Return X·columns for opened data that must have the features of the fit."""
    is_dask = is_collection(X)
    data = X if is_dask else Data(X)
    name, found, expected, names = type(estimator).__name__, data.shape[1], estimator.n_features_in_, names_of(X)
    if found != expected:
        raise ValueError(f"X has {found} features, but {name} is expecting {expected} features as input.")
    known = getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(known) != list(names):
        first = next(j for j in range(expected) if known[j] != names[j])
        raise ValueError(
            f"The feature names of X should match those that {name} was fitted with: feature {first} was "
            f"{known[first]!r}, here it is {names[first]!r}"
        )
    if is_dask:
        return dask_product(X, columns)
    found = data.times(np.asarray(columns, dtype=np.float64))
    if not np.isfinite(found).all():
        check_finite(data.matrix, data.matrix.column_stats(1.0, np.empty((0, data.shape[0]))).total)
    return found


def dask_product(X: Any, coefs: Array) -> Any:
    """Return X·coefs as an array of Dask, with one column a column of ``coefs``, or none where that is a vector.

    For arrays Dask's own blocks are multiplied, which it fuses with those that make X.
    """
    import dask.array as da

    (X, widths), last = as_array(X), coefs.shape[1:]
    dtype = coefs.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    kind = {"dtype": dtype, "meta": np.empty((0,) * (2 + len(last)), dtype)}
    blocks = (X, "ij", da.from_array(coefs, chunks=(widths, *last)), "jk"[: coefs.ndim], dtype, None)
    products = da.blockwise(_row_product, "ijk"[: 1 + coefs.ndim], *blocks, adjust_chunks={"j": 1}, **kind)
    return products[:, 0] if len(widths) == 1 else products.sum(axis=1)


def _row_product(chunk: Any, coefs: Array, dtype: Any) -> Array:
    """On a worker: a dense product, whatever the chunk is; one term of the sum over the column chunks."""
    values = chunk if hasattr(chunk, "shape") else np.asarray(chunk)
    check_chunk(values, (math.nan, coefs.shape[0]), name="X")
    return np.asarray(values @ coefs, dtype=dtype)[:, None]


def applied(function: Callable[[Array], Array], z: Any, dtype: Any, columns: int = 0) -> Any:
    """Return a function of linear predictors, with so many columns (0: a vector), where these are and in their form."""
    if is_collection(z):
        how: dict[str, Any] = {"drop_axis": 1} if z.ndim == 2 and not columns else {}
        if z.ndim == 1 and columns:
            how = {"new_axis": 1, "chunks": (z.chunks[0], (columns,))}
        return z.map_blocks(function, dtype=dtype, **how)
    return beside(z, function(to_numpy(z)))


def classes_at(scores: Array, classes: Array) -> Array:
    """Return the class with the highest score: of two, the second where its score is positive."""
    return np.asarray(classes[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])


def probabilities_at(odds: Array) -> Array:
    """Return the probability of each class from log-odds."""
    return np.asarray(softmax(odds) if odds.ndim == 2 else np.stack([expit(-odds), expit(odds)], axis=1))


def log_probabilities_at(odds: Array) -> Array:
    """Return the logarithm of the probability of each class from log-odds."""
    return np.asarray(log_softmax(odds, axis=1) if odds.ndim == 2 else log_expit(np.stack([-odds, odds], axis=1)))


@contextmanager
def errors_about_x(X: Any = None) -> Iterator[None]:
    """Name X and y in errors about A and b; collections of Dask that are no matrix are rejected first."""
    try:
        if type(X) is not np.ndarray and is_collection(X):
            check_collection(X)
        yield
    except (TypeError, ValueError) as error:
        message = re.sub(rf"\bb{_NAMED}", "y", re.sub(rf"\bA{_NAMED}", "X", str(error)))
        if "could not convert string to float" in message and "ascd.Table" not in message:
            message += ". X holds text: ascd.Table(X) makes categories of a frame's text, and estimators take it as X"
        if message == str(error) or type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(message) from None
