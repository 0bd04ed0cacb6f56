"""Input and output arrays in the user's form: fits run on NumPy's float64, fitted arrays go back into the form of X.

- float32 data: ``coef_`` and ``intercept_`` are float32 where scikit-learn's are, and so is what the certificate is
  about (``_solving.rounded``).
- Targets, weights and offsets in Dask's collections are computed; X stays there, and predictions are Dask arrays.
- Data on a device stay there, and the fitted arrays go there; ``classes_`` stay NumPy's, as they may be text.
- With scikit-learn's array API dispatch, data of another namespace are converted to NumPy, the fitted arrays back.
- Errors name X and y: below the estimators the matrix is A and the target b.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn import get_config
from sklearn.base import _fit_context
from sklearn.utils import _array_api
from sklearn.utils.extmath import softmax

from ascd._core.checks import Array
from ascd._core.devices import is_on_device, to_host
from ascd.matrix.device.arrays import space_of
from ascd.matrix.on_dask import check_chunk, check_collection, computed, is_frame, known_widths
from ascd.matrix.open import brought_if_small, is_collection, is_sparse_on_device, is_there

Fit = TypeVar("Fit", bound=Callable[..., Any])
#: Versions of scikit-learn before this function cannot move arrays between namespaces.
HAS_DISPATCH = hasattr(_array_api, "check_same_namespace")
#: What follows where A and b are names, and no words.
_NAMED = r"\b(?= (?:must|has|and|are|is)\b|[,:;.]|$)"


class Form(NamedTuple):
    """The form of fitted arrays: float32 or not, and a function that puts them where X is (None for NumPy)."""

    is_float32: bool
    put: Callable[[Any], Any] | None = None

    @classmethod
    def of(cls, X: Any) -> Form:
        if is_there(X):
            return cls(str(X.dtype).endswith("float32"), partial(put_beside, X))
        dtypes = set(X.dtypes) if hasattr(X, "dtypes") and getattr(X, "ndim", 2) == 2 else {getattr(X, "dtype", None)}
        if not is_foreign(X):
            return cls(dtypes == {np.dtype(np.float32)})
        namespace, _, device = _array_api.get_namespace_and_device(X)
        return cls(dtypes == {namespace.float32}, partial(namespace.asarray, device=device))

    def convert(self, estimator: Any) -> None:
        """Put the fitted attributes into this form."""
        fitted = (estimator.coef_, estimator.intercept_)
        is_in_range = all(np.all(np.abs(values) <= np.finfo(np.float32).max) for values in fitted)
        if self.is_float32 and estimator._keeps_float32 and is_in_range:
            estimator.coef_ = estimator.coef_.astype(np.float32)
            if estimator.fit_intercept or np.ndim(estimator.intercept_):
                estimator.intercept_ = np.asarray(estimator.intercept_, dtype=np.float32)[()]
        if self.put is None:
            return
        for name, value in list(vars(estimator).items()):
            is_array = isinstance(value, np.ndarray) or (name == "intercept_" and estimator.fit_intercept)
            if name.endswith("_") and name != "classes_" and is_array:
                setattr(estimator, name, self.put(np.asarray(value)))


def put_beside(X: Any, values: Any) -> Any:
    """Host values on the device of X; as they are where X is on the host, or where they are text."""
    if not is_there(X) or np.asarray(values).dtype.kind not in "fiub":
        return values
    space = space_of(X.data if is_sparse_on_device(X) else X)
    with space.here():
        return space.put(np.ascontiguousarray(values))


def is_foreign(array: Any) -> bool:
    """Return True for arrays of a namespace other than NumPy's, where scikit-learn's dispatch is on."""
    if not HAS_DISPATCH or not get_config()["array_api_dispatch"] or isinstance(array, np.ndarray | np.generic):
        return False
    is_array = hasattr(array, "__array_namespace__") or type(array).__module__.partition(".")[0] == "torch"
    return is_array and not sparse.issparse(array)


def to_numpy(array: Any, is_data: bool = False) -> Any:
    """Return arrays of another namespace or of Dask as NumPy's, and anything else as it is.

    Data (X) on a device or in a collection stay there.
    """
    if is_collection(array):
        return array if is_data else computed(array)
    if is_on_device(array):
        return array if is_data else to_host(array)
    if is_sparse_on_device(array):
        return array
    return _array_api.move_to(array, xp=np, device="cpu") if is_foreign(array) else array


def is_outside(X: Any) -> bool:
    """Return True for data of Dask or on a device, for which scikit-learn's own methods do not work."""
    return bool(is_collection(X) or is_there(X))


def fit_method(fit: Fit) -> Fit:
    """Decorate a ``fit``: parameters are checked as scikit-learn does, arrays of any namespace are taken.

    An interrupted fit keeps its best point in the attributes, and then ``KeyboardInterrupt`` is raised again.
    """

    @wraps(fit)
    def fit_in_numpy(self: Any, X: Any, y: Any, sample_weight: Any = None, *others: Any, **params: Any) -> Any:
        with errors_about_x(X):
            form = Form.of(X)
            self._to_float32, self._is_interrupted = form.is_float32 and self._keeps_float32, False
            try:
                data = to_numpy(brought_if_small(X), is_data=True)
                known = {name: to_numpy(value) for name, value in params.items()}
                fitted = fit(self, data, to_numpy(y), to_numpy(sample_weight), *others, **known)
            finally:
                is_interrupted = self._is_interrupted
                del self._to_float32, self._is_interrupted
        form.convert(self)
        if is_interrupted:
            raise KeyboardInterrupt
        return fitted

    checked: Any = _fit_context(prefer_skip_nested_validation=True)(fit_in_numpy)
    return checked  # type: ignore[no-any-return]


def check_namespace(X: Any, estimator: Any, method: str) -> None:
    """Raise an error unless X is of the namespace that the estimator was fitted with."""
    if HAS_DISPATCH:
        _array_api.check_same_namespace(X, estimator, attribute="coef_", method=method)


def is_fitted_on_device(estimator: Any) -> bool:
    """Return True for coefficients on a device.  With the dispatch on, scikit-learn's rule holds: X must be there."""
    return is_on_device(getattr(estimator, "coef_", None)) and not get_config()["array_api_dispatch"]


def namespace_of(array: Any) -> Any:
    """Return the functions for this array: NumPy's unless the dispatch is on or the array is on a device."""
    if is_on_device(array) and not get_config()["array_api_dispatch"]:
        return space_of(array).xp
    return _array_api.get_namespace(array)[0]


# ---- error messages


def renamed(message: str) -> str:
    """Turn a message about A, or b, into one about X, or y.

    Examples
    --------
    >>> renamed("A must be finite; b has the length 3. A number is not.")
    'X must be finite; y has the length 3. A number is not.'
    >>> renamed("its norm overflows: rescale A")
    'its norm overflows: rescale X'
    """
    return re.sub(rf"\bb{_NAMED}", "y", re.sub(rf"\bA{_NAMED}", "X", message))


@contextmanager
def errors_about_x(X: Any = None) -> Iterator[None]:
    """Translate errors to X and y; collections of Dask that are no matrix are rejected first."""
    try:
        if is_collection(X):
            check_collection(X)
        yield
    except (TypeError, ValueError) as error:
        message = renamed(str(error))
        if "could not convert string to float" in message and "ascd.Table" not in message:
            message += ". X holds text: ascd.Table(X) makes categories of such columns, and estimators take it as X"
        if message == str(error) or type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(message) from None


# ---- predictions for collections of Dask, computed later, chunk by chunk where the data are


def dask_product(X: Any, coefs: Array) -> Any:
    """Return X·coefs as an array of Dask, with one column a column of ``coefs``, or none where that is a vector."""
    kinds = set(X.dtypes) if is_frame(X) else {X.dtype}
    dtype = coefs.dtype if kinds == {np.dtype(np.float32)} else np.dtype(np.float64)
    return _frame_product(X, coefs, dtype) if is_frame(X) else _array_product(X, coefs, dtype)


def _frame_product(X: Any, coefs: Array, dtype: Any) -> Any:
    import dask
    import dask.array as da

    multiply, shared = dask.delayed(_chunk_product, pure=True), dask.delayed(coefs)
    products = [multiply(chunk, shared, dtype) for chunk in X.to_delayed()]
    pieces = [da.from_delayed(one, (math.nan, *coefs.shape[1:]), dtype=dtype) for one in products]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


def _array_product(X: Any, coefs: Array, dtype: Any) -> Any:
    """Multiply by Dask's own blocks, which it fuses with those that make X."""
    import dask.array as da

    widths, last = known_widths(X), coefs.shape[1:]
    pieces = da.from_array(coefs, chunks=(widths, *last))
    kind = {"dtype": dtype, "meta": np.empty((0,) * (2 + len(last)), dtype)}
    places = (X, "ij", pieces, "jk"[: coefs.ndim], dtype, None)
    products = da.blockwise(_row_product, "ijk"[: 1 + coefs.ndim], *places, adjust_chunks={"j": 1}, **kind)
    return products[:, 0] if len(widths) == 1 else products.sum(axis=1)


def _row_product(chunk: Any, coefs: Array, dtype: Any) -> Array:
    """One term of the sum over the column chunks."""
    return _chunk_product(chunk, coefs, dtype)[:, None]


def _chunk_product(chunk: Any, coefs: Array, dtype: Any) -> Array:
    """On a worker: a dense product, whatever the chunk is."""
    values = chunk.to_numpy(dtype=dtype, na_value=np.nan) if hasattr(chunk, "iloc") else chunk
    values = values if hasattr(values, "shape") else np.asarray(values)
    check_chunk(values, (None, coefs.shape[0]), name="X")
    return np.asarray(values @ coefs, dtype=dtype)


def classes_at(scores: Any, classes: Array) -> Any:
    """Return the class with the highest score: of two, the second where its score is positive."""
    if is_collection(scores):
        dropped = {} if scores.ndim == 1 else {"drop_axis": 1}
        return scores.map_blocks(classes_at, classes, dtype=classes.dtype, **dropped)
    return np.asarray(classes[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])


def probabilities_at(odds: Any) -> Any:
    """Return the probability of each class from log-odds."""
    if not is_collection(odds):
        return softmax(odds) if odds.ndim == 2 else np.stack([expit(-odds), expit(odds)], axis=1)
    if odds.ndim == 2:
        return odds.map_blocks(probabilities_at, dtype=odds.dtype)
    return odds.map_blocks(probabilities_at, dtype=odds.dtype, new_axis=1, chunks=(odds.chunks[0], (2,)))
