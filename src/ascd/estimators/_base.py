"""What all estimators share: reading the user's data, building the problem, predicting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils._param_validation import Interval
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ascd._core.checks import Array, as_finite_vector, check_places, refuse_masks
from ascd._core.devices import is_on_device, to_host
from ascd._core.threads import as_n_jobs
from ascd.estimators._deviations import deviations
from ascd.estimators._elsewhere import Elsewhere, is_elsewhere, predicted, read_elsewhere
from ascd.estimators._fitting import Settings, certificate_of, check_finite, warn_unless_converged
from ascd.estimators._given import HAS_DISPATCH, check_namespace, namespace_of, to_numpy
from ascd.estimators._on_device import back
from ascd.estimators._penalty import finite_strength, regulariser
from ascd.estimators._speaking import speaking_of_x
from ascd.matrix.device.dense import brought_if_small
from ascd.matrix.device.sparse import is_there
from ascd.matrix.on_dask import is_collection
from ascd.matrix.open import is_read_in_place
from ascd.problem.problem import Problem

Stated = TypeVar("Stated")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")
#: Where scikit-learn takes max_iter=0: the fit ends where it starts, with a warning.
NON_NEGATIVE_COUNT = Interval(Integral, 0, None, closed="left")
#: Constraints of the parameters that are this library's own.
OWN: dict[str, list[Any]] = {
    "penalty_weights": ["array-like", None],
    "bounds": [tuple, list, None],
    "n_jobs": [Integral, None],
    "solver": [str, Mapping],
    "standardize": ["boolean"],
}
#: Constraints of parameters that mean the same everywhere.
COMMON: dict[str, list[Any]] = {
    **OWN,
    "fit_intercept": ["boolean"],
    "max_iter": [COUNT],
    "tol": [NON_NEGATIVE],
    "random_state": ["random_state"],
}


class LinearEstimator(BaseEstimator):
    """A model X·coef + intercept whose coefficients minimise a loss and a penalty."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    #: Coefficients are float32 for float32 data, where scikit-learn's are.
    _keeps_float32 = True

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """scikit-learn's, remembered: it inspects the signature in every call, several times a fit."""
        return super()._get_param_names()

    def _read(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> tuple[Any, Array, Array | None]:
        """Data as the solver takes them (see ``ascd.matrix.open``): large ones as they are, small ones in float64.

        Whether X is finite is seen when the problem is built, without another pass over the data.
        """
        refuse_masks(X, "X")
        refuse_masks(y, "y")
        if sparse.issparse(y):
            raise TypeError(f"y must be a dense array; got a sparse {type(y).__name__}: use y.toarray()")
        if is_elsewhere(X):
            data, y = read_elsewhere(self, X, y, **checks)
            return data, y, as_sample_weight(sample_weight, data)
        X, y = validate_data(self, X, y, **{**layout_of(X), "ensure_all_finite": False, **checks})
        return X, y, as_sample_weight(sample_weight, X)

    def _problem(
        self, X: Any, y: Array, loss: Any, penalty: Any, sample_weight: Array | None, offset: Array | None = None
    ) -> Problem:
        threads = as_threads(self.n_jobs)
        return self._built(X, partial(Problem, X, y, loss, penalty, sample_weight, offset, threads))

    def _built(self, X: Any, build: Callable[[], Stated]) -> Stated:
        """A problem, with errors that speak of X and y."""
        with speaking_of_x():
            try:
                return build()
            except ValueError:
                if not is_elsewhere(X):
                    assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
                raise

    def _settings(self) -> Settings:
        return Settings(
            tol=self.tol,
            max_iter=1000 if self.max_iter is None else self.max_iter,
            n_jobs=as_threads(self.n_jobs),
            solver=getattr(self, "solver", "ascd"),
            random_state=getattr(self, "random_state", None),
            to_float32=getattr(self, "_to_float32", False),
        )

    def _scale(self, X: Any, weight: Array | None) -> Array | None:
        """The deviations of the features where they are to be standardised."""
        return deviations(X, weight) if getattr(self, "standardize", False) else None

    def _regulariser(self, strength: float, ratio: float, n_features: int, scale: Array | None) -> Any:
        """strength·(ratio·‖w‖₁ + (1 − ratio)/2·‖w‖²) with the estimator's penalty weights, within its bounds.

        Each w_j is multiplied by its ``scale`` first, where there is one.
        """
        strength = finite_strength(strength)
        how = {"weights": self.penalty_weights, "bounds": self.bounds, "positive": getattr(self, "positive", False)}
        return regulariser(ratio * strength, (1.0 - ratio) * strength, n_features, scale=scale, **how)

    def _starts(self, shape: tuple[int, int]) -> tuple[Any, Any]:
        """Coefficients and intercepts to start from, one row a problem: those of the last fit for a warm start.

        Coefficients may have been set by hand, without an intercept.
        """
        coef: Any = getattr(self, "coef_", None) if getattr(self, "warm_start", False) else None
        coef = to_numpy(coef.toarray() if hasattr(coef, "toarray") else coef)
        if coef is not None and np.size(coef) != shape[0] * shape[1]:
            raise ValueError(
                f"coef_ has the shape {np.shape(coef)}, and with warm_start=True a fit starts from it: "
                f"{shape[0] * shape[1]} coefficients are needed here; delete it, or set warm_start=False"
            )
        if coef is None:
            return [None] * shape[0], [None] * shape[0]
        constants = to_numpy(getattr(self, "intercept_", 0.0)) if self.fit_intercept else 0.0
        start = as_finite_vector(np.ravel(coef), "coef_ (where a warm start begins)").reshape(shape)
        named = as_finite_vector(np.ravel(constants), "intercept_ (where a warm start begins)")
        return start, np.broadcast_to(named, shape[0]).copy()

    def _count(self, solution: Any) -> int:
        """Iterations as scikit-learn counts them: at least one, unless none was allowed."""
        return max(0 if self.max_iter == 0 else 1, solution.n_iter)

    def _linear_predictor(self, X: Any, offset: Any = None) -> Array:
        check_is_fitted(self)
        columns = self.coef_ if self.coef_.ndim == 1 else self.coef_.T
        if is_elsewhere(X):
            with speaking_of_x(X):
                found = predicted(self, X, to_host(columns)) + to_host(self.intercept_)
            return back(with_offset(found.astype(float_of(columns), copy=False), offset), X)
        check_namespace(X, self, "predict")
        with speaking_of_x():
            check_places(X)
        X = validate_data(self, X, accept_sparse=["csr", "csc", "coo"], reset=False)
        intercept = self.intercept_
        if is_on_device(columns) and not is_on_device(X):  # fitted there, used here
            columns, intercept = to_host(columns), to_host(intercept)
        return with_offset(safe_sparse_dot(X, columns, dense_output=True) + intercept, offset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = HAS_DISPATCH
        return tags


class LinearRegressor(RegressorMixin, LinearEstimator):
    """A linear estimator of numbers."""

    def _keep_one(self, solution: Any, unit: float) -> None:
        """The fitted attributes for one target; ``unit`` is the estimator's objective in units of F."""
        check_finite(type(self).__name__, solution.x, solution.intercept)
        self.coef_, self.n_iter_ = solution.x, self._count(solution)
        self.intercept_ = solution.intercept if self.fit_intercept else 0.0
        self.certificate_ = certificate_of([solution], self.tol, unit)
        warn_unless_converged(self, self.certificate_)

    def predict(self, X: Any) -> Array:
        """Predict with the linear model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._linear_predictor(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the share of the variance that is explained; 1 is best.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if is_collection(X) or is_there(X) or is_on_device(y) or is_on_device(sample_weight):
            found = to_numpy(self.predict(X))
            return float(r2_score(to_numpy(y), found, sample_weight=to_numpy(sample_weight)))
        return float(super().score(X, y, sample_weight))


def with_offset(z: Any, offset: Any) -> Any:
    """Linear predictors, one a sample, with what is known of them added."""
    known = as_offset(offset, z)
    if known is None:
        return z
    if z.ndim != 1:
        raise ValueError(f"offset must be None where there are more than two classes; got {z.shape[1]} classes")
    return z + namespace_of(z).asarray(known)


def as_sample_weight(sample_weight: Any, X: Any) -> Array | None:
    """Non-negative weights with a positive sum, or None for equal ones."""
    if sample_weight is None:
        return None
    refuse_masks(sample_weight, "sample_weight")
    seen = X.stand_in() if is_elsewhere(X) else X
    weight = _check_sample_weight(to_host(sample_weight), seen, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight


def as_features(X: Any) -> Any:
    """X as functions take it: checked as an array, or left where it is."""
    with speaking_of_x(X):
        X = brought_if_small(X)
        return Elsewhere(X) if is_elsewhere(X) else check_array(X, **layout_of(X))


def float_of(coef: Any) -> Any:
    """The type of predictions with these coefficients."""
    return np.float32 if str(coef.dtype).endswith("float32") else np.float64


def layout_of(X: Any) -> dict[str, Any]:
    """What scikit-learn is to make of X: nothing where it is large and read in place, float64 columns else.

    SciPy converts without a look where indices lead to, so they are looked at before.
    """
    with speaking_of_x():
        check_places(X)
    if is_read_in_place(X):
        return {"accept_sparse": ["csc", "csr"], "dtype": None, "order": None}
    return {"accept_sparse": "csc", "dtype": np.float64, "order": "F"}


def as_offset(offset: Any, X: Any) -> Array | None:
    """Known parts of the linear predictor, one a sample, or None for zeros."""
    return None if offset is None else as_finite_vector(to_numpy(offset), "offset", X.shape[0])


def as_threads(n_jobs: int | None) -> int:
    """How many threads scikit-learn's ``n_jobs`` means, which joblib may restrict; 1 for None."""
    as_n_jobs(n_jobs)  # refuses what is none, in our words
    return 1 if n_jobs is None else int(effective_n_jobs(n_jobs))
