"""Least squares with penalties of single coefficients and bounds, of groups, or of several targets.

With sample weights s, ‖r‖² is Σ s_k r_k² and n is Σ s_k, as in scikit-learn.  The intercept c has no penalty.  Several
targets are fitted one after the other where no penalty couples them; they share the matrix.

``standardize`` makes the deviations d_j of the features weights of the penalty, and nothing is copied.  Groups have no
such weights: put ``StandardScaler(with_mean=False)`` before them in a pipeline.

Without L1 penalty and bounds linear algebra finds the minimum, where coordinate descent only comes near.  With means
weighted by s the intercept is c = ȳ − x̄·w.  With penalties ½·μ_j w_j², α = max μ_j, B = S^½(X − 1x̄ᵀ)(α/μ)^½,
r = S^½(y − ȳ) and w = (α/μ)^½ v there remains

    (BᵀB + α·I) v = Bᵀr                     one equation a feature, or
    (BBᵀ + α·I) u = r,  v = Bᵀu             one equation a sample.

The smaller system is solved by Cholesky's method and corrected with residuals computed from B: forming BᵀB squares the
condition number, and the corrections take that back.  (scikit-learn's ``ridge_regression`` does without, and has one
penalty for all features.)  Singular values replace it for collinear columns.  Without penalty the answer is the
shortest one.  The solver fits large and sparse data, and those with some coefficients unpenalised.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils import column_or_1d

from ascd._core.checks import Array, as_finite_vector
from ascd._core.threads import thread_limits
from ascd._core.timing import Stopwatch
from ascd.estimators import _solving
from ascd.estimators._base import TOO_STRONG, ByFeature, LinearRegressor, row_factors
from ascd.estimators._data import EPS, Training, deviations, fit_method, to_numpy
from ascd.estimators._parameters import NON_NEGATIVE, UNIT_INTERVAL, Parameter, Self, documented, estimator
from ascd.estimators._solving import Settings, model_path, solve_problem
from ascd.problem.block_penalties import BlockNorm, SparseGroup
from ascd.problem.penalties import Net
from ascd.problem.problem import Problem
from ascd.results import Status
from ascd.solver import solve


class LeastSquares(LinearRegressor):
    """The squared loss with a penalty; several targets are fitted one after the other."""

    alpha: Any = 0.0
    l1_ratio: Any = 0.0
    _checks: ClassVar[dict[str, Any]] = {"y_numeric": True, "multi_output": True}
    #: An alpha of 0 is worth a warning.
    _warns_of_zero: ClassVar[bool] = False
    #: scikit-learn's Lasso and Ridge have a flat coef_ for a target of shape (n, 1), its LinearRegression has not.
    _flat_single_target: ClassVar[bool] = True

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Fit the model."""
        data = self._read(X, y, sample_weight)
        (n_samples, n_features), (factor, unit) = data.X.shape, self._units(data)
        targets, scale = data.y.reshape(n_samples, -1), deviations(data.X, data.weight) if self.standardize else None
        if self._warns_of_zero and self.alpha == 0.0:
            message = f"{type(self).__name__} with alpha=0 has no penalty: this is ordinary least squares"
            warnings.warn(message, stacklevel=_solving.frames_to_the_user())
        problems: list[Any] = []
        alphas: Any = [self.alpha] * len(targets.T) if isinstance(self.alpha, Real) else self._alphas(len(targets.T))
        for target, alpha in zip(targets.T, alphas, strict=True):
            penalty = self._penalty(float(alpha) * factor, self.l1_ratio, n_features, scale)
            if problems:
                problems.append(problems[0].replace(b=target, penalty=penalty))
            else:
                problems.append(self._problem(data._replace(y=target), penalty))
        solutions = self._solve(data, problems)
        if data.y.ndim == 1:
            self._keep(solutions, unit)
            return self
        coefs, intercepts = np.stack([one.x for one in solutions]), np.array([one.intercept for one in solutions])
        is_flat = self._flat_single_target and len(solutions) == 1
        self._keep(solutions, unit, (coefs[0] if is_flat else coefs, intercepts if self.fit_intercept else 0.0))
        if len(solutions) > 1:
            self.n_iter_ = [max(int(self.max_iter != 0), one.n_iter) for one in solutions]
            self.dual_gap_ = unit * np.array([one.gap for one in solutions])
        return self

    def _alphas(self, n_targets: int) -> list[float]:
        alphas = as_finite_vector(np.atleast_1d(self.alpha), "alpha")
        if alphas.size not in (1, n_targets):
            raise ValueError(
                "alpha must be one number, or one for each target. Number of targets and number of penalties do not "
                f"correspond: {alphas.size} != {n_targets}"
            )
        if alphas.min() < 0.0:
            raise ValueError(f"alpha must be at least 0; the smallest entry is {alphas.min():g}")
        return [float(alpha) for alpha in np.broadcast_to(alphas, n_targets)]

    def _solve(self, data: Training, problems: list[Any]) -> list[Any]:
        settings, penalty = self._settings(), problems[0].penalty
        if settings.solver == "auto" and isinstance(penalty, Net) and penalty.is_smooth() and data.X.is_local:
            return solve_smooth(problems, data.X.matrix, settings, intercept=self.fit_intercept)
        return super()._solve(data, problems)


@documented
def lasso_path(
    X: Any, y: Any, *, eps: float = 1e-3, n_alphas: int | None = None, alphas: Any = 100, precompute: Any = "auto",
    Xy: Any = None, copy_X: bool = True, coef_init: Any = None, verbose: Any = False, return_n_iter: bool = False,
    positive: bool = False, **params: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Fit the Lasso for falling alphas: 1/(2n)·‖y − Xw‖² + alpha·‖w‖₁, without an intercept.

    Returns
    -------
    alphas, coefs, dual_gaps, and n_iters where ``return_n_iter`` is set : as ``enet_path``, which takes ``params``

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import lasso_path
    >>> X = np.array([[1.0, 2.0, 3.1], [2.3, 5.4, 4.3]]).T
    >>> alphas, coefs, _ = lasso_path(X, [1.0, 2.0, 3.1], alphas=[5.0, 1.0, 0.5])
    >>> coefs.round(3)
    array([[0.   , 0.   , 0.469],
           [0.216, 0.443, 0.237]])
    """
    grid = {"eps": eps, "n_alphas": n_alphas, "alphas": alphas, "coef_init": coef_init}
    return enet_path(X, y, l1_ratio=1.0, return_n_iter=return_n_iter, positive=positive, **grid, **params)


@documented
def enet_path(
    X: Any, y: Any, *, l1_ratio: float = 0.5, eps: float = 1e-3, n_alphas: int | None = None, alphas: Any = 100,
    precompute: Any = "auto", Xy: Any = None, copy_X: bool = True, coef_init: Any = None, verbose: Any = False,
    return_n_iter: bool = False, positive: bool = False, check_input: bool = True, sample_weight: Any = None,
    tol: float = 1e-6, max_iter: int = 1000, penalty_weights: Any = None, bounds: Any = None,
    n_jobs: int | None = None, solver: Any = "auto", random_state: Any = None, standardize: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Fit the elastic net for falling alphas, without an intercept.

    Returns
    -------
    alphas : falling array of shape (n_alphas,)
    coefs : array of shape (n_features, n_alphas)
    dual_gaps : array of shape (n_alphas,)
    n_iters : list, where ``return_n_iter`` is set

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import enet_path
    >>> alphas, coefs, gaps = enet_path(np.eye(3), [3.0, 1.0, -2.0], alphas=2, eps=0.1)
    >>> alphas.round(2), int((coefs != 0).sum())
    (array([2. , 0.2]), 3)
    """
    how = {"positive": positive, "penalty_weights": penalty_weights, "bounds": bounds, "standardize": standardize}
    how |= {"tol": tol, "max_iter": max_iter, "n_jobs": n_jobs, "solver": solver, "random_state": random_state}
    model = (Lasso if l1_ratio == 1.0 else partial(ElasticNet, l1_ratio=l1_ratio))(fit_intercept=False, **how)
    given = 100 if alphas is None and n_alphas is None else alphas if n_alphas is None else n_alphas
    grid: Any = {"alphas": given, "eps": eps, "coef_init": coef_init, "sample_weight": sample_weight}
    found = model_path(model, X, column_or_1d(to_numpy(y)), **grid)
    result = (found.strengths, found.coefs, found.gaps)
    return (*result, found.n_iters.tolist()) if return_n_iter else result


@estimator
class ElasticNet(ByFeature, LeastSquares):
    r"""Linear regression with L1 and L2 penalties: 1/(2n)·‖y − Xw‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²).

    Examples
    --------
    >>> from ascd.estimators import ElasticNet
    >>> model = ElasticNet(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> model.coef_.round(4)
    array([0.4458, 0.4458])
    """

    alpha: float = field(default=1.0, kw_only=False)
    l1_ratio: float = 0.5
    precompute: Any = False
    copy_X: bool = True
    warm_start: bool = False
    positive: bool = False
    random_state: Any = None
    selection: str = "cyclic"

    path = staticmethod(enet_path)
    _warns_of_zero: ClassVar[bool] = True


@estimator
class Lasso(ElasticNet):
    r"""Linear regression with an L1 penalty: 1/(2n)·‖y − Xw‖² + alpha·‖w‖₁.

    Examples
    --------
    >>> from ascd import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> float(round(model.coef_.sum(), 4)), float(round(model.intercept_, 4))
    (0.85, 0.15)
    """

    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]


@estimator
class Ridge(ByFeature, LeastSquares):
    r"""Linear regression with an L2 penalty: ‖y − Xw‖² + alpha·‖w‖².

    Notes
    -----
    Without bounds the coefficients are exact up to rounding: the normal equations are solved, for the smaller number of
    samples and features.  Without a penalty (alpha=0) they are the shortest ones for dense data of moderate size.

    Examples
    --------
    >>> from ascd import Ridge
    >>> model = Ridge(alpha=1.0, fit_intercept=False).fit([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
    >>> model.coef_.round(4)
    array([0.5, 1. ])
    """

    alpha: Any = field(default=1.0, kw_only=False)
    copy_X: bool = True
    max_iter: int | None = None
    positive: bool = False
    random_state: Any = None

    _unit = 2.0
    _fitted: ClassVar[dict[str, str]] = {"solver_": "the solver that was used"}
    _own: ClassVar[dict[str, Parameter]] = {
        "alpha": Parameter(
            [NON_NEGATIVE, "array-like"], "float or array of shape (n_targets,)", "Strength of the penalty."
        )
    }

    @property
    def solver_(self) -> Any:
        """The solver that was used."""
        return self.solver


@estimator
class NNLS(LeastSquares):
    r"""Non-negative least squares: ‖y − Xw‖² over w ≥ 0, in scikit-learn's terms LinearRegression(positive=True).

    There is no intercept by default, as in SciPy's ``nnls``; ``bounds`` may add upper bounds.

    Examples
    --------
    >>> from ascd import NNLS
    >>> NNLS().fit([[1.0, 0.0], [0.0, 1.0]], [1.0, -2.0]).coef_
    array([1., 0.])
    """

    fit_intercept: bool = False
    warm_start: bool = False
    random_state: Any = None
    bounds: Any = None
    solver: Any = "auto"

    positive = True
    _unit = 2.0
    _flat_single_target: ClassVar[bool] = False


@estimator
class SparseGroupLasso(LinearRegressor):
    r"""Few groups, and few features in them: an L1 penalty and norms of groups.

    It minimises 1/(2n)·‖y − Xw‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)·Σ_g weight_g·‖w_g‖).

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import SparseGroupLasso
    >>> X = np.random.default_rng(0).standard_normal((40, 6))
    >>> model = SparseGroupLasso(alpha=0.2, groups=3).fit(X, X[:, 0] + X[:, 1])
    >>> np.flatnonzero(model.coef_).tolist()
    [0, 1]
    """

    alpha: float = field(default=1.0, kw_only=False)
    l1_ratio: float = 0.5
    groups: Any = 1
    weights: Any = None
    positive: bool = False
    warm_start: bool = False

    _own: ClassVar[dict[str, Parameter]] = {
        "l1_ratio": Parameter([UNIT_INTERVAL], "float in [0, 1]", "1 is the Lasso, 0 the group Lasso.")
    }

    def _penalty(self, strength: float, ratio: float, n_features: int, scale: Array | None) -> Any:
        if not math.isfinite(strength):
            raise ValueError(TOO_STRONG)
        parts = (ratio * strength, (1.0 - ratio) * strength)
        return SparseGroup(*parts, self.groups, weights=self.weights, positive=bool(self.positive))


@estimator
class GroupLasso(SparseGroupLasso):
    r"""Groups of features are used together or not at all: 1/(2n)·‖y − Xw‖² + alpha·Σ_g weight_g·‖w_g‖.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import GroupLasso
    >>> X = np.random.default_rng(0).standard_normal((40, 6))
    >>> model = GroupLasso(alpha=0.2, groups=[[0, 3], [1, 4], [2, 5]]).fit(X, 2.0 * X[:, 0])
    >>> np.flatnonzero(model.coef_).tolist()
    [0, 3]
    """

    l1_ratio: ClassVar[float] = 0.0  # type: ignore[misc]


@estimator
class MultiTaskElasticNet(LinearRegressor):
    r"""Several targets with a penalty alpha·(l1_ratio·Σ_j ‖w_j‖ + (1 − l1_ratio)/2·‖W‖²), as scikit-learn's.

    Examples
    --------
    >>> from ascd import MultiTaskElasticNet
    >>> model = MultiTaskElasticNet(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [[0, 0], [1, 1], [2, 2]])
    >>> model.coef_.round(3)
    array([[0.456, 0.456],
           [0.456, 0.456]])
    """

    alpha: float = field(default=1.0, kw_only=False)
    l1_ratio: float = 0.5
    copy_X: bool = True
    warm_start: bool = False
    random_state: Any = None
    selection: str = "cyclic"
    penalty_weights: Any = None
    standardize: bool = False

    _fitted: ClassVar[dict[str, str]] = {
        "coef_, intercept_": "arrays of shape (n_targets, n_features) and (n_targets,)",
        "eps_": "the tolerance, as in scikit-learn",
    }
    _checks: ClassVar[dict[str, Any]] = {"y_numeric": True, "multi_output": True}
    _own: ClassVar[dict[str, Parameter]] = {
        "penalty_weights": Parameter(
            ["array-like", None], "array of shape (n_features,)",
            "Multiplies the norm of each feature's coefficients; 0 leaves them without it.",
        ),
    }  # fmt: skip

    def _read(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Training:
        data = super()._read(X, y, sample_weight, offset)
        if data.y.ndim == 1:
            raise ValueError(
                "For mono-task outputs, use ElasticNet or Lasso; y must have the shape (n_samples, n_targets)"
            )
        return data

    def _penalty(self, strength: float, ratio: float, n_features: int, scale: Array | None) -> Any:
        factors = row_factors(self.penalty_weights, n_features)
        length = np.ones(n_features) if scale is None else scale
        kinks, curvatures = ratio * strength * factors * length, (1.0 - ratio) * strength * length**2
        return BlockNorm(kinks, np.zeros(n_features), curvatures, False)

    @property
    def eps_(self) -> float:
        """The tolerance."""
        return self.certificate_.tolerance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags


@estimator
class MultiTaskLasso(MultiTaskElasticNet):
    r"""Several targets that use the same few features: 1/(2n)·‖Y − XW‖² + alpha·Σ_j ‖w_j‖, as scikit-learn's.

    Examples
    --------
    >>> from ascd import MultiTaskLasso
    >>> model = MultiTaskLasso(alpha=0.1).fit([[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]])
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[0.   , 0.608],
           [0.   , 0.946]]), array([-0.419, -0.874]))
    """

    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]


#: The most equations, and the most entries of X, for linear algebra: a second of a core, 256 MB.
MOST_EQUATIONS, MOST_ENTRIES = 2000, 2**25


def solve_smooth(problems: Sequence[Problem], X: Any, settings: Settings, *, intercept: bool) -> list[Any]:
    """Solve least squares with L2 penalties as precisely as float64 allows; the problems differ in targets and alpha.

    Small dense data, where all coefficients are penalised alike or none is, are solved by linear algebra.
    """
    starts: dict[int, tuple[Array, float]] = {}
    stopwatch, given = Stopwatch(), problems[0].parts.sample.weight
    if isinstance(X, np.ndarray) and min(X.shape) <= MOST_EQUATIONS and X.size <= MOST_ENTRIES:
        groups: dict[bytes, list[int]] = {}
        for k, one in enumerate(problems):
            groups.setdefault(np.broadcast_to(_solving.curvatures_of(one.penalty), X.shape[1]).tobytes(), []).append(k)
        for each, members in groups.items():
            mu = np.frombuffer(each)
            if mu.all() or not mu.any():
                Y = np.stack([problems[k].parts.sample.target for k in members], axis=1)
                with thread_limits(settings.n_jobs, X.size, library=settings.n_jobs):
                    found = ridge_coefficients(X, Y, None if np.ndim(given) == 0 else given, mu, intercept)
                starts.update(zip(members, zip(*found, strict=True), strict=True))
    seconds = stopwatch.seconds / len(problems)
    solvers = (partial(_certified, one, intercept, starts.get(k)) for k, one in enumerate(problems))
    return [replace(one, seconds=one.seconds + seconds) for one in _solving.solve_in_turn(solvers, settings)]


def _certified(problem: Problem, intercept: bool, start: tuple[Array, float] | None, settings: Settings) -> Any:
    """Compute the gap of coefficients that linear algebra has found; where it is too large, the solver continues.

    The solver's coefficients are taken where it proves them, or where there are no others.
    """
    if start is None or not (np.isfinite(start[0]).all() and math.isfinite(problem.objective(*start))):  # overflow
        return solve_problem(problem, settings, intercept=intercept, energy=lambda x: 0.0)  # all digits there are
    how: dict[str, Any] = {"intercept": intercept, "x0": start[0], "intercept0": start[1] if intercept else None}
    exact = solve(problem, settings.tol, max_iter=0, n_jobs=settings.n_jobs, **how)
    if not exact.converged:
        later = solve_problem(problem, settings, **how)
        if later.converged:
            return later
        is_kept = later.status.is_answer or later.status is Status.INTERRUPTED
        exact = replace(exact, status=later.status if is_kept else Status.STALLED)
    return _solving.in_float32(problem, exact, settings) if settings.to_float32 else exact


def ridge_coefficients(X: Array, Y: Array, weight: Array | None, mu: Array, intercept: bool) -> tuple[Array, Array]:
    """Return the minimum for each column of Y: coefficients, one row a target, and intercepts.

    ``weight`` are the s_k (None for 1), ``mu`` the penalties, one a feature: all positive, or all 0.
    """
    n, d = X.shape
    root = np.ones(n) if weight is None else np.sqrt(weight)
    x_mean, y_mean = np.zeros(d), np.zeros(Y.shape[1])
    if intercept:
        x_mean, y_mean = np.average(X, axis=0, weights=weight), np.average(Y, axis=0, weights=weight)
    B, R = root[:, None] * (X - x_mean), root[:, None] * (Y - y_mean)
    if intercept:
        outside = root / linalg.norm(root)
        B -= np.outer(outside, outside @ B)  # the mean of the differences: x̄ itself is rounded
        noise = EPS * n * np.abs(x_mean) * linalg.norm(root)
        B[:, linalg.norm(B, axis=0) <= noise] = 0.0  # columns that are constant up to rounding
    if mu.any():
        spread = np.sqrt(mu.max() / mu)[:, None]
        coefs = spread * penalised_coefficients(B * spread.T, R, mu.max())
    else:
        coefs = linalg.lstsq(B, R, cond=EPS * max(B.shape))[0]
    return np.asarray(coefs.T), np.asarray(y_mean - x_mean @ coefs)


def penalised_coefficients(B: Array, R: Array, alpha: float) -> Array:
    """Return the minimum of ‖Bv − r‖² + α‖v‖² for each column r of R.

    Where Cholesky's method loses half of the digits, singular values are taken; rounding errors among them count as 0.
    """
    is_tall = len(B) >= B.shape[1]
    gram = B.T @ B if is_tall else B @ B.T
    gram[np.diag_indices(len(gram))] += alpha
    scale, found = np.sqrt(np.diagonal(gram))[:, None], np.zeros((len(gram), R.shape[1]))
    try:
        factor = linalg.cho_factor(gram / scale / scale.T, lower=True, overwrite_a=True)
        is_precise = np.diagonal(factor[0]).min() >= 1e-4  # the root of a pivot
    except (linalg.LinAlgError, ValueError):  # not positive, or not finite
        is_precise = False
    if not is_precise:
        left, sizes, right = linalg.svd(B, full_matrices=False)
        used = sizes > EPS * max(B.shape) * sizes.max(initial=0.0)
        inverse = 1.0 / (sizes[used] + alpha / sizes[used])
        return np.asarray(right[used].T @ (inverse[:, None] * (left[:, used].T @ R)))
    for _ in range(3):
        rest = B.T @ (R - B @ found) if is_tall else R - B @ (B.T @ found)
        found = found + linalg.cho_solve(factor, (rest - alpha * found) / scale) / scale
    return found if is_tall else np.asarray(B.T @ found)
