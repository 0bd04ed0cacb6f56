"""What all estimators share: fit, fitted attributes with their certificate, predictions, scores; labels of classifiers.

An estimator states a loss (``_loss``), options of scikit-learn's check of X and y (``_checks``), the factor from F, the
solver's sum over the samples, to its own objective (``_unit``), and where it is another one than the elastic net's, the
penalty for a strength, an l1_ratio and deviations of the features (``_penalty``); ``LinearModel`` does the rest.  Gap,
tolerance and objective of the certificate are those of the estimator's objective.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ascd._core.checks import Array, as_finite_vector, as_parameter, check_places
from ascd._core.devices import is_on_device, to_host
from ascd._core.threads import as_n_jobs
from ascd.estimators import _data, _solving
from ascd.estimators._data import Training, fit_method, to_numpy
from ascd.estimators._parameters import Parameter, Self, estimator
from ascd.problem.penalties import Net
from ascd.problem.problem import Problem
from ascd.results import Status

if TYPE_CHECKING:
    # scikit-learn has no type hints.  A class with a base of unknown type accepts any parameter in the eyes of a type
    # checker, and Lasso(alfa=1) would pass: what estimators take from scikit-learn's classes is declared here.
    class BaseEstimator:
        n_features_in_: int
        feature_names_in_: Array
        get_params: Any
        set_params: Any
        get_metadata_routing: Any
        set_fit_request: Any
        set_predict_request: Any
        set_score_request: Any

        def __sklearn_tags__(self) -> Any: ...

    class RegressorMixin: ...

    class ClassifierMixin: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


@dataclass(frozen=True)
class Certificate:
    """What is proved about a fit, in the units of the estimator's objective.

    - ``gap``: the duality gap; the objective is at most this far above its minimum (inf where no dual point is known)
    - ``tolerance``: what the gap had to reach: ``tol`` times the objective at zero coefficients, intercept fitted
    - ``objective``: the value of the estimator's objective
    - ``status``: why the solver stopped; "converged" means that the gap is within the tolerance, "stationary" that
      first-order conditions are while no dual point was found that proves it
    - ``columns_read``: how many columns of the data were read (rows, for the dual of a support vector machine)
    - ``n_iter``: iterations of the solver
    - ``seconds``: time inside the solver
    - ``compile_seconds``: time that compiling took, or loading compiled code, which a first fit needs once

    Where several problems are solved in one fit (classes, targets), numbers are sums over them, ``n_iter`` is the
    largest, and ``status`` is that of all together.

    Examples
    --------
    >>> from ascd import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0]], [0.0, 1.0, 2.0])
    >>> model.certificate_.gap <= model.certificate_.tolerance
    True
    """

    gap: float
    tolerance: float
    objective: float
    status: Status
    columns_read: int
    n_iter: int
    seconds: float
    compile_seconds: float = 0.0

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED


def certificate_of(solutions: Sequence[Any], tol: float, unit: float) -> Certificate:
    """Return one certificate for the solutions of a fit; it refers to the user's tolerance, not to a smaller one."""
    gap, zero, objective, seconds, compiling, reads, n_iter, statuses = 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, []
    for one in solutions:
        gap, zero, objective = gap + unit * one.gap, zero + unit * one.zero_objective, objective + unit * one.objective
        seconds, compiling, reads = seconds + one.seconds, compiling + one.compile_seconds, reads + one.reads
        n_iter = max(n_iter, one.n_iter)
        statuses.append(one.status)
    if not math.isfinite(zero):
        raise ValueError(
            "the objective at zero coefficients is not finite in float64. The input data, y most likely, contain large "
            "values and need to be preprocessed: rescale them"
        )
    status = Status.CONVERGED if gap <= tol * zero else Status.of_all(statuses)
    return Certificate(float(gap), tol * zero, objective, status, reads, n_iter, seconds, compiling)


@estimator
class LinearModel(BaseEstimator):
    """A model X·coef + intercept whose coefficients minimise a loss and a penalty."""

    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int | None = 1000
    n_jobs: int | None = None

    _own: ClassVar[dict[str, Parameter]] = {}
    _parameter_constraints: ClassVar[dict[str, Any]]
    _loss: ClassVar[Any] = "squared"
    #: The objective is F times this; None is 1/Σ s_k, and the strength of the penalty in F is alpha·Σ s_k then.
    _unit: ClassVar[float | None] = None
    _checks: ClassVar[dict[str, Any]] = {"y_numeric": True}
    #: Fitted attributes and what they are, for the docstrings.
    _fitted: ClassVar[dict[str, str]] = {
        "coef_, intercept_": "the fitted model",
        "certificate_": "Certificate, with gap, tolerance, objective and status in the units of the objective",
        "n_iter_, dual_gap_": "iterations and gap",
        "n_features_in_, feature_names_in_": "as in scikit-learn",
    }
    #: Coefficients are float32 for float32 data, where scikit-learn's are.
    _keeps_float32: ClassVar[bool] = True
    #: Names and levels of the ``ascd.Table`` that the model was fitted with.
    _table: ClassVar[Any] = None
    # values of parameters that not every estimator has
    solver = "auto"
    random_state = None
    warm_start = False
    standardize = False
    positive = False
    penalty_weights = None
    bounds = None

    def _units(self, data: Training) -> tuple[float, float]:
        """Return factors: from alpha to the penalty's strength in F, and from F to the objective."""
        if self._unit is not None:
            return 1.0, self._unit
        total = float(data.X.shape[0] if data.weight is None else data.weight.sum())
        return total, 1.0 / total

    def _penalty(self, strength: float, ratio: float, n_features: int, scale: Array | None) -> Any:
        """Return strength·Σ_j weight_j·(ratio·scale_j·|w_j| + (1 − ratio)/2·scale_j²·w_j²), within bounds."""
        if not math.isfinite(strength):
            raise ValueError(TOO_STRONG)
        weights: Any = 1.0 if self.penalty_weights is None else self.penalty_weights
        weights, units = as_parameter(weights, "penalty_weights", n_features, low=0.0), 1.0 if scale is None else scale
        l1, l2 = float(ratio * strength), float((1.0 - ratio) * strength)
        lower: Any = -math.inf
        upper: Any = math.inf
        if self.bounds is not None:
            if len(self.bounds) != 2:
                raise ValueError(f"bounds must be a pair (lower, upper) of numbers or arrays; got {self.bounds!r}")
            pairs = enumerate(self.bounds)
            lower, upper = (as_parameter(side, f"bounds[{k}]", n_features, finite=False) for k, side in pairs)
            if np.any(lower > 0.0) or np.any(upper < 0.0):
                raise ValueError(f"bounds must allow the coefficient 0: lower ≤ 0 ≤ upper; got {self.bounds!r}")
        if self.positive:
            lower = np.maximum(lower, 0.0) if np.ndim(lower) else max(lower, 0.0)
        return Net(l1 and l1 * weights * units, l2 and l2 * weights * units**2, 0.0, lower, upper)

    def _problem(self, data: Training, penalty: Any, loss: Any = None) -> Any:
        """Return the problem of the data with this penalty, which is part of F."""
        X, loss = data.X, self._loss if loss is None else loss
        weight = data.weight if data.factors is None else data.balanced_weight
        try:
            problem = Problem(X.matrix, data.y, loss, penalty, weight, data.offset, self._settings().n_jobs)
        except ValueError:
            if X.is_local:  # scikit-learn's words for nan and inf
                assert_all_finite(X.matrix, input_name="X")
            raise
        if data.y.ndim == 1 and len(data.y) >= 10:  # equal by chance, or an example, where there are fewer samples
            _solving.warn_of_copies(problem, data.y, X.names)
        return problem

    _read = _data.read

    def _settings(self) -> _solving.Settings:
        """Return how problems are solved; ``n_jobs`` is scikit-learn's, which joblib may restrict."""
        rounds, to_float32 = 1000 if self.max_iter is None else self.max_iter, getattr(self, "_to_float32", False)
        threads = as_n_jobs(self.n_jobs)
        if self.n_jobs is not None:
            threads = int(effective_n_jobs(self.n_jobs))
        return _solving.Settings(self.tol, rounds, threads, self.solver, self.random_state, to_float32)

    def _problems(self, data: Training, ratios: Sequence[float], strength: float = 1.0) -> list[Any]:
        """Return a problem for each l1_ratio, on one matrix, with a penalty of this strength in F."""
        scale = _data.deviations(data.X, data.weight) if self.standardize else None
        penalties = [self._penalty(strength, ratio, data.X.shape[1], scale) for ratio in ratios]
        first = self._problem(data, penalties[0])
        return [first, *(first.replace(penalty=penalty) for penalty in penalties[1:])]

    def _fit_one(self, data: Training, strength: float, ratio: float) -> None:
        """Fit with a penalty of this strength, in the user's units."""
        factor, unit = self._units(data)
        self._keep(self._solve(data, self._problems(data, [ratio], strength * factor)), unit)

    def _fit_strength(self, data: Training, problem: Any, strength: float) -> None:
        """Fit a problem with a penalty of strength 1 for this strength, in the user's units."""
        factor, unit = self._units(data)
        stronger = problem.replace(penalty=problem.penalty.scaled(strength * factor))
        self._keep(self._solve(data, [stronger]), unit)

    def _reweighed(self, data: Training, problem: Any, ratio: float) -> Any:
        """Return the problem with the sample weights of these data: a fold is weights of 0."""
        parts: dict[str, Any] = {"sample_weight": data.balanced_weight}
        if self.standardize:  # each fold uses the deviations of the samples that it fits
            parts["penalty"] = self._penalty(1.0, ratio, data.X.shape[1], _data.deviations(data.X, data.weight))
        return problem.replace(**parts)

    def _follow(
        self, data: Training, problem: Any, strengths: Array, settings: _solving.Settings, x0: Array | None = None
    ) -> _solving.Followed:
        """Fit a problem with a penalty of strength 1 for falling strengths, in the user's units."""
        factor, unit = self._units(data)
        found = _solving.follow(problem, factor * strengths, settings, intercept=self.fit_intercept, x0=x0)
        return found._replace(gaps=unit * found.gaps, tolerance=unit * found.tolerance)

    def _solve(self, data: Training, problems: list[Any]) -> list[Any]:
        """Solve the problem of each target, from the last fit for a warm start."""
        settings, first, starts = self._settings(), problems[0], [dict[str, Any]()] * len(problems)
        if self.warm_start and hasattr(self, "coef_"):
            coefs, constants = self._start(len(problems) * first.n_outputs, first.n_features)
            starts = [{"x0": coefs[k], "intercept0": constants[k]} for k in range(len(problems))]
            if not first.loss.is_flat:
                starts = [{"x0": coefs.T, "intercept0": constants}]
        solve = partial(_solving.solve_problem, intercept=self.fit_intercept)
        if len(problems) == 1:
            return [solve(first, settings, **starts[0])]
        solvers = (partial(solve, one, **start) for one, start in zip(problems, starts, strict=True))
        return _solving.solve_in_turn(solvers, settings)

    def _start(self, n_outputs: int, n_features: int) -> tuple[Array, Array]:
        """Return coefficients and intercepts of the last fit, one row an output.

        Coefficients may have been set by hand, without an intercept.
        """
        coef: Any = self.coef_
        coef = to_numpy(coef.toarray() if sparse.issparse(coef) else coef)
        if np.size(coef) != n_outputs * n_features:
            raise ValueError(
                f"coef_ has the shape {np.shape(coef)}, and with warm_start=True a fit starts from it: "
                f"{n_outputs * n_features} coefficients are needed here; delete it, or set warm_start=False"
            )
        constants = to_numpy(getattr(self, "intercept_", 0.0)) if self.fit_intercept else 0.0
        start = np.asarray(coef, dtype=np.float64).reshape(n_outputs, n_features)
        return start, np.array(np.broadcast_to(np.ravel(constants), n_outputs), dtype=np.float64)

    def _keep(self, solutions: list[Any], unit: float = 1.0, model: tuple[Array, Any] | None = None) -> None:
        """Set the fitted attributes, and warn of a fit that ended early with gap and tolerance in the user's units.

        ``model`` are the coefficients and intercepts of several solutions.  First-order conditions are what other
        libraries stop at: a fit that meets them is not warned about.  After an interrupted solution ``fit_method``
        raises ``KeyboardInterrupt``.
        """
        one = solutions[0]
        intercept = np.asarray(one.intercept)[()] if self.fit_intercept else 0.0
        coef, intercept = model or (np.asfortranarray(one.x.T), intercept)
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"{type(self).__name__} ended with coefficients that are not finite. The input data may contain large "
                "values and need to be preprocessed."
            )
        self.certificate_ = found = certificate_of(solutions, self.tol, unit)
        self.coef_, self.intercept_, self.dual_gap_ = coef, intercept, unit * one.gap
        self.n_iter_: Any = max(int(self.max_iter != 0), found.n_iter)
        self._is_interrupted = False
        for one in solutions:
            self._is_interrupted = self._is_interrupted or one.status is Status.INTERRUPTED
        if found.status.is_answer or found.status is Status.INTERRUPTED:
            return
        gap = f"the duality gap is {found.gap:.3g}" if found.gap < math.inf else "no duality gap is known"
        _solving.warn_of_convergence(
            f"{type(self).__name__} stopped early ({found.status}): {gap}, the tolerance is {found.tolerance:.3g} (tol "
            f"times the objective at zero coefficients), for an objective of {found.objective:.6g}, all in the units "
            f"of the objective. {_solving.ADVICE[found.status]}"
        )

    def _linear_predictor(self, X: Any, offset: Any = None) -> Any:
        """Return X·coef + intercept + offset, where X is and in its form.

        New rows of a frame are encoded as the table was that the model was fitted with.
        """
        check_is_fitted(self)
        columns: Any = self.coef_ if self.coef_.ndim == 1 else self.coef_.T
        if self._table is not None and hasattr(X, "iloc"):
            X = self._table.encoded(X)
        if _data.is_opened(X):
            with _data.errors_about_x(X):
                columns = columns.toarray() if sparse.issparse(columns) else to_host(columns)
                found = _data.opened_product(self, X, columns) + to_host(self.intercept_)
            kind = np.float32 if str(columns.dtype).endswith("float32") else np.float64
            return _data.beside(X, with_offset(found.astype(kind, copy=False), offset))
        with _data.errors_about_x():
            X = to_numpy(X)
            check_places(X)
            X = validate_data(self, X, accept_sparse=["csr", "csc", "coo"], reset=False)
        intercept = self.intercept_
        if is_on_device(columns):  # fitted there, used here
            columns, intercept = to_host(columns), to_host(intercept)
        return with_offset(safe_sparse_dot(X, columns, dense_output=True) + intercept, offset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = "multi_output" in self._checks
        return tags


@estimator
class ByFeature(LinearModel):
    """A model with options for the coefficients of single features."""

    penalty_weights: Any = None
    bounds: Any = None
    standardize: bool = False
    solver: Any = "auto"


class LinearRegressor(RegressorMixin, LinearModel):
    """A linear estimator of numbers."""

    alpha: Any
    l1_ratio: Any

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model."""
        self._fit_one(self._read(X, y, sample_weight), self.alpha, self.l1_ratio)
        return self

    def predict(self, X: Any) -> Array:
        """Return predictions for the rows of X: an array of shape (n_samples,) or (n_samples, n_targets)."""
        return self._linear_predictor(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the share of the (weighted) variance of y that is explained; 1 is best."""
        found = to_numpy(self.predict(X))
        return float(r2_score(to_numpy(y), found, sample_weight=to_numpy(sample_weight)))

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix of shape (n_targets, n_features)."""
        return sparse.csr_matrix(np.atleast_2d(to_numpy(self.coef_)))


class LinearClassifier(ClassifierMixin, LinearModel):
    """A linear estimator of classes."""

    _fitted: ClassVar[dict[str, str]] = {
        "classes_": "the labels",
        "coef_, intercept_": "the fitted model: one row, or one a class where there are more than two",
    }

    _checks: ClassVar[dict[str, Any]] = {}
    class_weight = None

    def decision_function(self, X: Any) -> Array:
        """Return X·coef + intercept: positive for the second of two classes; of more, one column a class."""
        return self._scores(X)

    def predict(self, X: Any) -> Any:
        """Return the class of each row of X."""
        return self._labels(self._scores(X))

    def _scores(self, X: Any, offset: Any = None) -> Array:
        """Return linear predictors with offset."""
        z = self._linear_predictor(X)
        return with_offset(z[:, 0] if z.ndim == 2 and z.shape[1] == 1 else z, offset)  # type: ignore[no-any-return]

    def _labels(self, scores: Any) -> Any:
        return _data.applied(partial(_data.classes_at, classes=self.classes_), scores, self.classes_.dtype)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the (weighted) share of samples whose class is predicted."""
        return self._accuracy(self.predict(X), y, sample_weight)

    def sparsify(self) -> Self:
        """Make ``coef_`` a sparse matrix."""
        check_is_fitted(self)
        self.coef_: Any = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an array again."""
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_
        return self

    def _accuracy(self, found: Any, y: Any, sample_weight: Any) -> float:
        return float(accuracy_score(to_numpy(y), to_numpy(found), sample_weight=to_numpy(sample_weight)))

    def _read(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Training:
        """Return the data with class numbers as target; the sample weights must leave samples of each class."""
        data = super()._read(X, y, sample_weight, offset)
        labels, weight = data.y, data.weight
        self.classes_, codes = classes_of(labels)
        present = self.classes_ if weight is None else np.unique(labels[weight > 0.0])
        if len(present) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains only "
                f"one class with a positive weight: {present.tolist()[0]!r}"
            )
        if len(present) < len(self.classes_):
            missing = sorted(set(self.classes_.tolist()) - set(present.tolist()))
            raise ValueError(f"sample_weight is zero for all samples of the classes {missing}: remove these samples")
        factors = None
        if self.class_weight is not None:
            factors = class_factors(self.class_weight, self.classes_, codes, weight)
        return data._replace(y=codes, factors=factors)


TOO_STRONG = (
    "alpha times the sum of sample_weight (1/C of classifiers) must be finite in float64: decrease alpha, or increase C"
)


def row_factors(penalty_weights: Any, n_features: int) -> Array:
    """Return the penalty weights of the features, 1 each for None."""
    given = 1.0 if penalty_weights is None else penalty_weights
    return np.broadcast_to(as_parameter(given, "penalty_weights", n_features, low=0.0), n_features)


def with_offset(z: Any, offset: Any) -> Any:
    """Return linear predictors, one a sample, with their known part added."""
    if offset is None:
        return z
    known = as_finite_vector(to_numpy(offset), "offset", z.shape[0])
    if z.ndim != 1:
        raise ValueError(f"offset must be None where there are more than two classes; got {z.shape[1]} classes")
    return z + _data.beside(z, known)


def classes_of(y: Array) -> tuple[Array, Array]:
    """Return the labels, and the number of each sample's.

    scikit-learn's check of labels takes longer than a small fit.  It is called where it may object or warn: labels
    that are neither numbers nor strings, fractions, and more classes than half of the samples.
    """
    if y.dtype.kind == "O" and (missing := sum(one is None for one in y.flat)):
        raise ValueError(f"y has missing values: {missing} of {y.size} labels are None")
    if y.dtype.kind not in "biufU":
        check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if 2 * classes.size >= y.size or (y.dtype.kind == "f" and not np.all(classes % 1.0 == 0.0)):
        check_classification_targets(y)
    return classes, codes


def class_factors(class_weight: Any, classes: Array, codes: Array, weight: Array | None) -> Array:
    """Return the factor of each sample's class; "balanced" gives all classes the same weight."""
    if isinstance(class_weight, str):  # scikit-learn 1.6 leaves the weights out
        sums = np.bincount(codes, weights=weight, minlength=len(classes))
        return np.asarray((sums.sum() / (len(classes) * sums))[codes])
    for label, factor in class_weight.items():
        if not isinstance(factor, Real) or not 0.0 <= float(factor) < math.inf:
            raise ValueError(
                f"class_weight must hold finite numbers, 0 or more; the one of class {label!r} is {factor!r}"
            )
    factors: Array = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    if not factors.any():
        raise ValueError(f"class_weight must be positive for one class at least; got {class_weight!r}")
    return factors[codes]
