"""Arrays as the user gave them: fits run on NumPy's float64, and what is fitted goes back into the form of X.

- float32 data: ``coef_`` and ``intercept_`` are float32 where scikit-learn's are, and so is what the certificate is
  about (``_rounding``).
- Targets, weights and offsets in Dask's collections are computed: vectors have room here, X has not.
- Data on a device stay there, and the fitted arrays go there; ``classes_`` stay NumPy's, as they may be text.
- With scikit-learn's array API dispatch, other data of another namespace are brought to NumPy, and the fitted arrays
  back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import _fit_context
from sklearn.utils import _array_api

from ascd._core.devices import is_on_device, to_host
from ascd.estimators._speaking import speaking_of_x
from ascd.matrix.dask_cluster import computed
from ascd.matrix.device.arrays import space_of
from ascd.matrix.device.dense import brought_if_small
from ascd.matrix.device.sparse import is_sparse_on_device, is_there
from ascd.matrix.on_dask import is_collection

Fit = TypeVar("Fit", bound=Callable[..., Any])
#: Versions of scikit-learn before this function cannot move arrays between namespaces.
HAS_DISPATCH = hasattr(_array_api, "check_same_namespace")


class Form(NamedTuple):
    """What the fitted arrays shall be: float32 or not, and what puts them where X is (None for NumPy)."""

    is_float32: bool
    put: Callable[[Any], Any] | None = None

    @classmethod
    def of(cls, X: Any) -> Form:
        if is_there(X):
            values = X.data if is_sparse_on_device(X) else X
            return cls(str(X.dtype).endswith("float32"), partial(put_on_device, space_of(values)))
        is_frame = hasattr(X, "dtypes") and getattr(X, "ndim", 2) == 2
        dtypes = set(X.dtypes) if is_frame else {getattr(X, "dtype", None)}
        if not is_foreign(X):
            return cls(dtypes == {np.dtype(np.float32)})
        namespace, _, device = _array_api.get_namespace_and_device(X)
        return cls(dtypes == {namespace.float32}, partial(namespace.asarray, device=device))

    @staticmethod
    def _holds(estimator: Any) -> bool:
        """Are the coefficients inside float32's range?"""
        largest = np.finfo(np.float32).max
        return bool(np.all(np.abs(estimator.coef_) <= largest) and np.all(np.abs(estimator.intercept_) <= largest))

    def give_back(self, estimator: Any) -> None:
        """Put the fitted attributes into this form."""
        if self.is_float32 and estimator._keeps_float32 and self._holds(estimator):
            estimator.coef_ = estimator.coef_.astype(np.float32)
            if estimator.fit_intercept or np.ndim(estimator.intercept_):
                estimator.intercept_ = np.asarray(estimator.intercept_, dtype=np.float32)[()]
        if self.put is None:
            return
        for name, value in list(vars(estimator).items()):
            is_array = isinstance(value, np.ndarray) or (name == "intercept_" and estimator.fit_intercept)
            if name.endswith("_") and name != "classes_" and is_array:
                setattr(estimator, name, self.put(np.asarray(value)))


def put_on_device(space: Any, values: Any) -> Any:
    """Host values where the device's own are."""
    with space.here():
        return space.put(values)


def is_foreign(array: Any) -> bool:
    """Is this, with the dispatch on, an array of a namespace that is not NumPy's?"""
    if not HAS_DISPATCH or not get_config()["array_api_dispatch"] or isinstance(array, np.ndarray | np.generic):
        return False
    is_array = hasattr(array, "__array_namespace__") or type(array).__module__.partition(".")[0] == "torch"
    return is_array and not sparse.issparse(array)


def to_numpy(array: Any, is_data: bool = False) -> Any:
    """The same values as NumPy's array, where they are another namespace's or Dask's; anything else as it is.

    Data (X) on a device or in a collection stay there.
    """
    if is_collection(array):
        return array if is_data else computed(array)
    if is_on_device(array):
        return array if is_data else to_host(array)
    if is_sparse_on_device(array):
        return array
    return _array_api.move_to(array, xp=np, device="cpu") if is_foreign(array) else array


def as_given(fit: Fit) -> Fit:
    """Let ``fit`` take arrays of any namespace, and give the fitted ones back in the form of X."""

    @wraps(fit)
    def fit_in_numpy(self: Any, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        with speaking_of_x(X):
            form = Form.of(X)
            self._to_float32 = form.is_float32 and self._keeps_float32
            try:
                data = to_numpy(brought_if_small(X), is_data=True)
                known = {name: to_numpy(value) for name, value in params.items()}
                fitted = fit(self, data, to_numpy(y), to_numpy(sample_weight), **known)
            finally:
                del self._to_float32
        form.give_back(self)
        return fitted

    return fit_in_numpy  # type: ignore[return-value]


def fit_method(fit: Fit) -> Fit:
    """A ``fit`` whose parameters are checked as scikit-learn does, and that takes arrays of any namespace."""
    checked: Any = _fit_context(prefer_skip_nested_validation=True)(as_given(fit))
    return checked  # type: ignore[no-any-return]


def check_namespace(X: Any, estimator: Any, method: str) -> None:
    """X must be of the namespace that the estimator was fitted with."""
    if HAS_DISPATCH:
        _array_api.check_same_namespace(X, estimator, attribute="coef_", method=method)


def is_fitted_elsewhere(estimator: Any) -> bool:
    """Are its coefficients on a device?  With the dispatch on, scikit-learn's rule holds: X must be there, too."""
    return is_on_device(getattr(estimator, "coef_", None)) and not get_config()["array_api_dispatch"]


def namespace_of(array: Any) -> Any:
    """The functions for this array: NumPy's unless the dispatch is on or the array is on a device."""
    if is_on_device(array) and not get_config()["array_api_dispatch"]:
        return space_of(array).xp
    return _array_api.get_namespace(array)[0]
