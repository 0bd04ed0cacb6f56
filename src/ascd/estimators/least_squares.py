"""Least squares with L1 and L2 penalties and bounds: Lasso, ElasticNet, Ridge, NNLS.

==============  =======================================================================
Lasso           1/(2n)·‖y − Xw − c‖² + alpha·‖w‖₁
ElasticNet      1/(2n)·‖y − Xw − c‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²)
Ridge           ‖y − Xw − c‖² + alpha·‖w‖²
NNLS            ‖y − Xw − c‖² over w ≥ 0
==============  =======================================================================

With sample weights s, ‖r‖² is Σ s_k r_k² and n is Σ s_k, as in scikit-learn.  The intercept c has no penalty.  Several
targets are fitted one after the other; they share the matrix.

Without L1 penalty and bounds the objective is ½·Σ_k s_k (y_k − x_k·w − c)² + ½·Σ_j μ_j w_j² with μ_j ≥ 0, and linear
algebra finds its minimum where coordinate descent only comes near.  The best intercept is c = ȳ − x̄·w with means
weighted by s.  What remains, with B = S^½(X − 1x̄ᵀ) and r = S^½(y − ȳ), is

    (BᵀB + diag μ) w = Bᵀr           one equation a feature, or
    (B'B'ᵀ + α·I) u = r,  w = (α/μ)^½ B'ᵀu,  B' = B·(α/μ)^½      one equation a sample, where every μ_j > 0,

with α = max μ_j.  The smaller system is scaled to a unit diagonal and solved by Cholesky's method, then corrected with
residuals computed from B itself: forming BᵀB squares the condition number, and the corrections take that back.
(scikit-learn's ``ridge_regression`` does without, and has one penalty for all features.)

- Coefficients without penalty, if there are others: a basis of their columns is projected out of the rest first.
- What Cholesky's method cannot solve that well (no penalty, or hardly any, on collinear columns) is left to singular
  values; those that are rounding errors count as zero, so that without penalty the answer is the shortest one.
- Where B is too large for memory or to be squared: LSMR, conjugate gradients on the same equations, never formed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, lsmr

from ascd._core.checks import Array, as_design, as_finite_vector
from ascd._core.threads import blas_threads
from ascd._core.timing import Stopwatch
from ascd.estimators import _tuning as tuning
from ascd.estimators._base import LinearRegressor, MultiOutputMixin
from ascd.estimators._data import fit_method
from ascd.estimators._parameters import COUNT, NON_NEGATIVE, Parameter, estimator
from ascd.estimators._solving import Settings, frames_to_the_user, in_float32, solve_in_turn, solve_problem
from ascd.estimators._tuning import EPS, SMALL_CORRECTION
from ascd.estimators.paths import enet_path
from ascd.problem.penalties import L1L2
from ascd.problem.problem import Problem
from ascd.results.solution import Solution, Status
from ascd.solver import solve

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_ITER = Parameter([COUNT, None], "int", "Most iterations of the solver, 1000 for None.")


class LeastSquares(MultiOutputMixin, LinearRegressor):
    """The squared loss with a penalty; several targets are fitted one after the other."""

    alpha: Any = 0.0
    l1_ratio: Any = 0.0
    #: scikit-learn's Lasso and Ridge have a flat coef_ for a target of shape (n, 1), its LinearRegression has not.
    _flat_single_target: ClassVar[bool] = True

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Not copied where it is column-major float64 or CSC float64.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,) or a number, optional
            Non-negative weights.
        check_input : bool, default=True
            Accepted as in scikit-learn, without effect: checking the input costs no pass of its own.

        Returns
        -------
        self
        """
        data = self._read(X, y, sample_weight)
        targets = data.y.reshape(data.X.shape[0], -1)
        n_features, n_targets = data.X.shape[1], targets.shape[1]
        factor, unit = self._units(data.total)
        scale = self._scale(data.X, data.weight) if self.standardize else None
        problems: list[Any] = []
        for k, alpha in enumerate(self._alphas(n_targets)):
            penalty = self._penalty(alpha * factor, self.l1_ratio, n_features, scale)
            if k == 0:
                problems.append(self._state(data._replace(y=targets[:, 0]), penalty))
            else:
                problems.append(problems[0].replace(b=targets[:, k], penalty=penalty))
        settings = self._settings()
        if settings.is_auto and isinstance(penalty, L1L2) and penalty.l1 == 0.0 and data.X.is_local:
            solutions = solve_smooth(problems, data.X.matrix, settings, intercept=self.fit_intercept)
        else:
            coefs: Any = None
            if self.warm_start:
                coefs, constants = self._start(n_targets, n_features)
            solvers: list[Any] = []
            for k, problem in enumerate(problems):
                start: Any = {} if coefs is None else {"x0": coefs[k], "intercept0": constants[k]}
                solvers.append(partial(solve_problem, problem, intercept=self.fit_intercept, **start))
            solutions = solve_in_turn(solvers, settings)
        self._keep_targets(solutions, unit, single=data.y.ndim == 1)
        return self

    def _checks(self, y: Any) -> dict[str, Any]:
        return {"y_numeric": True, "multi_output": getattr(y, "ndim", 2) != 1}  # one target is read faster

    def _alphas(self, n_targets: int) -> list[float]:
        return [self.alpha] * n_targets

    def _keep_targets(self, solutions: list[Any], unit: float, single: bool) -> None:
        counts, gaps = [], []
        for one in solutions:
            counts.append(self._count(one))
            gaps.append(unit * one.gap)
        self.n_iter_: Any = counts[0] if len(counts) == 1 else counts
        self.dual_gap_: Any = gaps[0] if len(gaps) == 1 else np.array(gaps)
        coef: Array = solutions[0].x
        constants: Any = np.float64(solutions[0].intercept)
        if not single:
            coef = np.stack([one.x for one in solutions])
            coef = coef[0] if self._flat_single_target and len(coef) == 1 else coef
            constants = np.array([one.intercept for one in solutions])
        self._keep_model(coef, constants if self.fit_intercept else 0.0, solutions, unit)


@estimator
class ElasticNet(LeastSquares):
    r"""Linear regression with L1 and L2 penalties: 1/(2n)·‖y − Xw‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²).

    Attributes
    ----------
    coef_, intercept_ : the fitted model
    certificate_ : Certificate
        Gap, tolerance, objective, columns read and status, in the units of the objective above.
    dual_gap_, n_iter_, sparse_coef_, n_features_in_, feature_names_in_ : as in scikit-learn

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
    penalty_weights: Any = None
    bounds: Any = None
    solver: Any = "auto"
    standardize: bool = False

    path = staticmethod(enet_path)
    _own: ClassVar[dict[str, Parameter]] = {"max_iter": MAX_ITER}

    def _alphas(self, n_targets: int) -> list[float]:
        if self.alpha == 0.0:
            message = f"{type(self).__name__} with alpha=0 has no penalty: this is ordinary least squares"
            warnings.warn(message, stacklevel=frames_to_the_user())
        return [self.alpha] * n_targets


@estimator
class Lasso(ElasticNet):
    r"""Linear regression with an L1 penalty: 1/(2n)·‖y − Xw‖² + alpha·‖w‖₁.

    Attributes are those of ``ElasticNet``.

    Examples
    --------
    >>> from ascd import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> float(round(model.coef_.sum(), 4)), float(round(model.intercept_, 4))
    (0.85, 0.15)
    """

    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]


@estimator
class Ridge(LeastSquares):
    r"""Linear regression with an L2 penalty: ‖y − Xw‖² + alpha·‖w‖².

    Notes
    -----
    Without bounds the coefficients are exact up to rounding: the normal equations are solved, for the smaller number of
    samples and features.  Without a penalty (alpha=0) they are the shortest ones.

    Attributes
    ----------
    coef_, intercept_ : the fitted model
    certificate_ : Certificate
        Its gap is computed at the coefficients.
    dual_gap_, n_iter_, solver_, sparse_coef_, n_features_in_, feature_names_in_

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
    solver: Any = "auto"
    positive: bool = False
    random_state: Any = None
    penalty_weights: Any = None
    bounds: Any = None
    standardize: bool = False

    _own: ClassVar[dict[str, Parameter]] = {
        "max_iter": MAX_ITER,
        "alpha": Parameter(
            [NON_NEGATIVE, "array-like"], "float or array of shape (n_targets,)", "Strength of the penalty."
        ),
    }

    @property
    def solver_(self) -> Any:
        """The solver that was used."""
        return self.solver

    def _units(self, total: float) -> tuple[float, float]:
        return 1.0, 2.0

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


@estimator
class NNLS(LeastSquares):
    r"""Non-negative least squares: ‖y − Xw‖² over w ≥ 0, in scikit-learn's terms LinearRegression(positive=True).

    There is no intercept by default, as in SciPy's ``nnls``; ``bounds`` may add upper bounds.

    Attributes
    ----------
    coef_, intercept_ : the fitted model
    certificate_ : Certificate
    dual_gap_, n_iter_, sparse_coef_, n_features_in_, feature_names_in_

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
    _flat_single_target: ClassVar[bool] = False

    def _units(self, total: float) -> tuple[float, float]:
        return 0.0, 2.0


# ---- linear algebra


def solve_smooth(problems: Sequence[Problem], X: Any, settings: Settings, *, intercept: bool) -> list[Solution]:
    """Solve least squares with L2 penalties by linear algebra, with the gap that ``solve`` computes there.

    The problems differ in their targets and, perhaps, in the strength of their penalties.
    """
    n_features, matrix = problems[0].n_features, as_design(X)
    given = problems[0].parts.sample.weight
    weight = None if np.ndim(given) == 0 else given
    same: dict[bytes, list[int]] = {}
    for k, one in enumerate(problems):
        penalty: Any = one.parts.penalty
        mu = np.broadcast_to(penalty.l2 * penalty.weights, n_features).astype(float)
        same.setdefault(mu.tobytes(), []).append(k)
    solutions: dict[int, Solution] = {}
    for each, members in same.items():
        stopwatch = Stopwatch()
        Y = np.stack([problems[k].parts.sample.target for k in members], axis=1)
        with blas_threads(settings.n_jobs, X.shape[0] * X.shape[1]):
            coefs, constants, passes = ridge_coefficients(matrix, Y, weight, np.frombuffer(each), intercept)
        share = stopwatch.seconds / len(members)
        for k, x, constant in zip(members, coefs, constants, strict=True):
            start = {"x0": x, "intercept0": float(constant) if intercept else None}
            found = _certified(problems[k], settings, start, intercept, is_small(matrix))
            solutions[k] = replace(found, seconds=found.seconds + share, reads=found.reads + passes * n_features)
    return [solutions[k] for k in range(len(problems))]


def _certified(problem: Problem, settings: Settings, start: dict[str, Any], intercept: bool, is_exact: bool) -> Any:
    """Compute the gap at a point that linear algebra has found; the solver continues where it is too large.

    Exact coefficients stay as they are unless the solver proves better ones.
    """
    if not (np.isfinite(start["x0"]).all() and math.isfinite(problem.objective(start["x0"]))):  # overflow
        return solve_problem(problem, settings, intercept=intercept)
    if not is_exact:
        return solve_problem(problem, settings, intercept=intercept, **start)
    exact = solve(problem, settings.tol, max_iter=0, intercept=intercept, n_jobs=settings.n_jobs, **start)
    if not exact.converged:
        later = solve_problem(problem, settings, intercept=intercept, **start)
        if later.converged:
            return later
        is_kept = later.status.is_answer or later.status is Status.INTERRUPTED
        exact = replace(exact, status=later.status if is_kept else Status.STALLED)
    return in_float32(problem, exact, settings) if settings.to_float32 else exact


@np.errstate(all="ignore")
def ridge_coefficients(X: Any, Y: Array, weight: Array | None, mu: Array, intercept: bool) -> tuple[Array, Array, int]:
    """Return the minimum for each column of Y: coefficients (one row a target), intercepts, passes over the data.

    ``weight`` are the s_k (None for 1), ``mu`` the penalties, one a feature.
    """
    n, d = X.shape
    root = np.ones(n) if weight is None else np.sqrt(weight)
    x_mean, y_mean = np.zeros(d), np.zeros(Y.shape[1])
    if intercept:
        share = root**2 / np.sum(root**2)
        x_mean, y_mean = np.asarray(X.T @ share), share @ Y
    R = root[:, None] * (Y - y_mean)
    if is_small(X):
        outside = root[:, None] / linalg.norm(root) if intercept else np.empty((n, 0))
        coefs, passes = _with_free_columns(_centred(X, root, x_mean, outside), R, mu, outside), 4
    else:
        coefs, passes = _by_steps(X, R, mu, root, x_mean)
    return coefs.T, y_mean - x_mean @ coefs, passes


def is_small(X: Any) -> bool:
    """Return True where Cholesky's method is affordable."""
    n, d = X.shape
    if sparse.issparse(X) and float(n) * d * min(n, d) > tuning.MOST_PRODUCTS:
        return False
    return min(n, d) <= tuning.MOST_EQUATIONS and n * d <= tuning.MOST_ENTRIES


def _centred(X: Any, root: Array, x_mean: Array, outside: Array) -> Array:
    """Return B, with zeros for the columns that are constant up to rounding: their noise is no column."""
    dense = X.toarray() if sparse.issparse(X) else X
    if not outside.size:
        return np.asarray(root[:, None] * dense)
    B = root[:, None] * (dense - x_mean)
    B -= outside @ (outside.T @ B)  # the mean of the differences: x̄ itself is rounded
    noise = EPS * len(root) * np.abs(x_mean) * linalg.norm(root)
    B[:, linalg.norm(B, axis=0) <= noise] = 0.0
    return B


def _with_free_columns(B: Array, R: Array, mu: Array, outside: Array) -> Array:
    """Solve for the penalised coefficients outside the span of the others' columns, then for the others."""
    free = mu == 0.0
    if free.all():
        found = _by_features(B, R, mu) if B.shape[1] <= B.shape[0] else None
        return _shortest(B, R) if found is None else found
    if not free.any():
        return _penalised(B, R, mu, outside)
    left, sizes, _ = linalg.svd(B[:, free], full_matrices=False)
    basis = left[:, sizes > EPS * max(B.shape) * sizes.max(initial=0.0)]
    rest, target = B[:, ~free], R
    for _ in range(2):  # once more for what rounding has left
        rest, target = rest - basis @ (basis.T @ rest), target - basis @ (basis.T @ target)
    coefs = np.empty((B.shape[1], R.shape[1]))
    coefs[~free] = _penalised(rest, target, mu[~free], np.hstack([outside, basis]))
    coefs[free] = _shortest(B[:, free], R - B[:, ~free] @ coefs[~free])
    return coefs


def _shortest(B: Array, R: Array) -> Array:
    """Return least squares without penalty; the shortest of the answers where there are several."""
    return np.asarray(linalg.lstsq(B, R, cond=EPS * max(B.shape))[0])


def _penalised(B: Array, R: Array, mu: Array, outside: Array) -> Array:
    """Solve where every μ_j > 0; ``outside`` are orthonormal directions to which B and R are orthogonal."""
    found = _by_features(B, R, mu) if B.shape[1] <= B.shape[0] else _by_samples(B, R, mu, outside)
    if found is not None:
        return found
    alpha = mu.max()
    spread = np.sqrt(alpha / mu)
    left, sizes, right = linalg.svd(B * spread, full_matrices=False)
    used = sizes > EPS * max(B.shape) * sizes.max(initial=0.0)
    inverse = 1.0 / (sizes[used] + alpha / sizes[used])
    return np.asarray(spread[:, None] * (right[used].T @ (inverse[:, None] * (left[:, used].T @ R))))


def _by_features(B: Array, R: Array, mu: Array) -> Array | None:
    gram = B.T @ B
    gram[np.diag_indices_from(gram)] += mu
    w, scale, pivot = _refined(gram, B.T @ R, lambda w: B.T @ (R - B @ w) - mu[:, None] * w)
    noise = EPS * math.sqrt(len(gram)) * linalg.norm(R - B @ w) / pivot if pivot else math.inf
    return w if noise <= SMALL_CORRECTION * linalg.norm(w * scale[:, None]) else None


def _by_samples(B: Array, R: Array, mu: Array, outside: Array) -> Array | None:
    alpha = mu.max()
    spread = np.sqrt(alpha / mu)
    scaled = B * spread
    gram = scaled @ scaled.T
    gram[np.diag_indices_from(gram)] += alpha
    # nothing points outside: these directions may be penalised at will, and are, or α alone would hold them
    gram += np.trace(gram) / len(gram) * (outside @ outside.T)
    u, _, pivot = _refined(gram, R, lambda u: R - scaled @ (scaled.T @ u) - alpha * u)
    v = scaled.T @ u
    noise = EPS * linalg.norm(scaled) * linalg.norm(u) if pivot else math.inf
    return spread[:, None] * v if noise <= SMALL_CORRECTION * linalg.norm(v) else None


def _refined(gram: Array, right: Array, residual: Any) -> tuple[Array, Array, float]:
    """Return gram⁻¹·right with corrections from exact residuals, the roots of the diagonal, and the smallest pivot.

    The pivot is squared and relative to the diagonal; it is 0 where the corrections do not become small.
    """
    scale = np.sqrt(np.diagonal(gram))
    scale = np.where(scale > 0.0, scale, 1.0)
    x, failed = np.zeros_like(right), 0.0
    try:
        factor = linalg.cho_factor(gram / scale / scale[:, None], lower=True, overwrite_a=True)
    except (linalg.LinAlgError, ValueError):  # not positive, or not finite
        return x, scale, failed
    pivot = float(np.diagonal(factor[0]).min() ** 2)
    if pivot < 100.0 * EPS * len(gram):  # the rank is a matter of rounding
        return x, scale, failed
    before, correction = np.inf, right
    for number in range(6):
        step = linalg.cho_solve(factor, correction / scale[:, None])
        x = x + step / scale[:, None]
        size, length = linalg.norm(step), linalg.norm(x * scale[:, None])
        if size <= 4.0 * EPS * length or (number > 0 and size > 0.25 * before):  # rounding decides from here on
            break
        before, correction = size, residual(x)
    return x, scale, pivot if size <= SMALL_CORRECTION * length else failed


def _by_steps(X: Any, R: Array, mu: Array, root: Array, x_mean: Array) -> tuple[Array, int]:
    """Solve ‖r − Bw‖² + Σ μ_j w_j² by LSMR; return coefficients and passes over the data.

    Columns are scaled to one size, unless a coefficient is free (the shortest answer would become another) or B is
    wide: there B'v with a damping of α keeps to the span of the rows, where the answer lies.
    """
    n, d = X.shape
    scale, side, damp = np.ones(d), np.sqrt(mu), 0.0
    if mu.all() and d > n:
        scale, side, damp = np.sqrt(mu.max() / mu), np.zeros(d), float(np.sqrt(mu.max()))
    elif mu.all():
        squares = X.multiply(X).T @ root**2 if sparse.issparse(X) else np.einsum("kj,kj,k->j", X, X, root**2)
        scale = 1.0 / np.sqrt(np.maximum(np.asarray(squares) - x_mean**2 * np.sum(root**2), 0.0) + mu)
        side = side * scale

    def times(v: Array) -> Array:
        w = scale * np.ravel(v)
        return np.concatenate([root * (X @ w - x_mean @ w), side * np.ravel(v)])

    def transposed(u: Array) -> Array:
        rows = root * np.ravel(u)[:n]
        return scale * (X.T @ rows - x_mean * rows.sum()) + side * np.ravel(u)[n:]

    operator = LinearOperator((n + d, d), matvec=times, rmatvec=transposed, dtype=np.float64)
    limits = {"damp": damp, "atol": 1e-14, "btol": 1e-14, "conlim": 0.0, "maxiter": 20_000}
    coefs, passes = np.empty((d, R.shape[1])), 0
    for k, r in enumerate(R.T):
        found = lsmr(operator, np.append(r, np.zeros(d)), **limits)
        coefs[:, k], passes = scale * found[0], passes + 2 * int(found[2])
    return coefs, passes
