"""Least squares with an L2 penalty by linear algebra: exact where coordinate descent is only near.

Minimise ½·Σ_k s_k (y_k − x_k·w − c)² + ½·Σ_j μ_j w_j² with μ_j ≥ 0.  The best intercept is c = ȳ − x̄·w with means
weighted by s.  What remains, with B = S^½(X − 1x̄ᵀ) and r = S^½(y − ȳ), is

    (BᵀB + diag μ) w = Bᵀr           one equation a feature, or
    (B'B'ᵀ + α·I) u = r,  w = (α/μ)^½ B'ᵀu,  B' = B·(α/μ)^½      one equation a sample, where every μ_j > 0,

with α = max μ_j.  The smaller system is scaled to a unit diagonal and solved by Cholesky's method, then corrected
with residuals computed from B itself: forming BᵀB squares the condition number, and the corrections take that back.
(With residuals e and the smallest pivot p, rounding errors of Bᵀe leave an error of about ε·‖e‖/p in w.)

- Coefficients without penalty, if there are others: a basis Q of their columns is projected out of the rest first.
- What Cholesky's method cannot solve that well (no penalty, or hardly any, on collinear columns) is left to singular
  values; those that are rounding errors count as zero, so that without penalty the answer is the shortest one.
- Where B is too large for memory or to be squared: LSMR, conjugate gradients on the same equations, never formed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, lsmr

from ascd._core.checks import Array, as_design
from ascd._core.threads import blas_threads
from ascd._core.timing import Stopwatch
from ascd.estimators import _tuning as tuning
from ascd.estimators._solving import Settings, certify, curvatures, in_float32, solve_problem
from ascd.estimators._tuning import EPS, NO_CORRECTION, NO_PIVOT, PRECISE, SMALL_CORRECTION
from ascd.problem.problem import Problem
from ascd.results.solution import Solution, Status


def solve_smooth(problems: Sequence[Problem], X: Any, settings: Settings, *, intercept: bool) -> list[Solution]:
    """Solve least squares with L2 penalties by linear algebra, with the gap that ``solve`` computes there.

    The problems differ in their targets and, perhaps, in the strength of their penalties.
    """
    n_features, matrix = problems[0].n_features, as_design(X)
    given = problems[0].parts.sample.weight
    weight = None if np.ndim(given) == 0 else given
    mus = [np.broadcast_to(curvatures(one.parts.penalty), n_features).astype(float) for one in problems]
    same: dict[bytes, list[int]] = {}
    for k, mu in enumerate(mus):
        same.setdefault(mu.tobytes(), []).append(k)
    solutions: dict[int, Solution] = {}
    for members in same.values():
        stopwatch = Stopwatch()
        Y = np.stack([problems[k].parts.sample.target for k in members], axis=1)
        with blas_threads(settings.n_jobs, X.shape[0] * X.shape[1]):
            answer = ridge_coefficients(matrix, Y, weight, mus[members[0]], intercept)
        share, reads = stopwatch.seconds / len(members), answer.passes * n_features
        for k, x, constant in zip(members, answer.coefs, answer.intercepts, strict=True):
            start = {"x0": x, "intercept0": float(constant) if intercept else None}
            found = _certified(problems[k], settings, start, intercept, answer.is_exact)
            solutions[k] = replace(found, seconds=found.seconds + share, reads=found.reads + reads)
    return [solutions[k] for k in range(len(problems))]


def _certified(problem: Problem, settings: Settings, start: dict[str, Any], intercept: bool, is_exact: bool) -> Any:
    """Compute the gap at a point that linear algebra has found; the solver continues where it is too large.

    Exact coefficients stay as they are unless the solver proves better ones.
    """
    if not (np.isfinite(start["x0"]).all() and math.isfinite(problem.objective(start["x0"]))):  # overflow
        return solve_problem(problem, settings, intercept=intercept)
    if not is_exact:
        return solve_problem(problem, settings, intercept=intercept, **start)
    exact = certify(problem, settings, intercept=intercept, **start)
    if not exact.converged:
        later = solve_problem(problem, settings, intercept=intercept, **start)
        if later.converged:
            return later
        is_kept = later.status.is_answer or later.status is Status.INTERRUPTED
        exact = replace(exact, status=later.status if is_kept else Status.STALLED)
    return in_float32(problem, exact, settings)


class Answer(NamedTuple):
    """Coefficients (one row a target) and intercepts; whether they are exact up to rounding; passes over the data."""

    coefs: Array
    intercepts: Array
    is_exact: bool
    passes: int


@np.errstate(all="ignore")
def ridge_coefficients(X: Any, Y: Array, weight: Array | None, mu: Array, intercept: bool) -> Answer:
    """The minimum for each column of Y; ``weight`` are the s_k (None for 1), ``mu`` the penalties, one a feature."""
    n, d = X.shape
    root = np.ones(n) if weight is None else np.sqrt(weight)
    x_mean, y_mean = np.zeros(d), np.zeros(Y.shape[1])
    if intercept:
        share = root**2 / np.sum(root**2)
        x_mean, y_mean = np.asarray(X.T @ share), share @ Y
    R = root[:, None] * (Y - y_mean)
    if is_small(X):
        outside = root[:, None] / linalg.norm(root) if intercept else np.empty((n, 0))
        coefs, passes = _with_free_columns(_centred(X, root, x_mean, outside), R, mu, outside)
    else:
        coefs, passes = _by_steps(X, R, mu, root, x_mean)
    return Answer(coefs.T, y_mean - x_mean @ coefs, is_small(X), passes)


def is_small(X: Any) -> bool:
    """Return True where Cholesky's method is affordable."""
    n, d = X.shape
    if sparse.issparse(X) and float(n) * d * min(n, d) > tuning.MOST_PRODUCTS:
        return False
    return min(n, d) <= tuning.MOST_EQUATIONS and n * d <= tuning.MOST_ENTRIES


def _centred(X: Any, root: Array, x_mean: Array, outside: Array) -> Array:
    """B, with zeros for the columns that are constant up to rounding: their noise is no column."""
    dense = X.toarray() if sparse.issparse(X) else X
    if not outside.size:
        return np.asarray(root[:, None] * dense)
    B = root[:, None] * (dense - x_mean)
    B -= outside @ (outside.T @ B)  # the mean of the differences: x̄ itself is rounded
    noise = EPS * len(root) * np.abs(x_mean) * linalg.norm(root)
    B[:, linalg.norm(B, axis=0) <= noise] = 0.0
    return B


def _with_free_columns(B: Array, R: Array, mu: Array, outside: Array) -> tuple[Array, int]:
    """Solve for the penalised coefficients outside the span of the others' columns, then for the others."""
    free = mu == 0.0
    if free.all():
        return _without_penalty(B, R)
    if not free.any():
        return _penalised(B, R, mu, outside)
    basis = _basis(B[:, free])
    left, target = B[:, ~free], R
    for _ in range(2):  # once more for what rounding has left
        left, target = left - basis @ (basis.T @ left), target - basis @ (basis.T @ target)
    coefs = np.empty((B.shape[1], R.shape[1]))
    coefs[~free], passes = _penalised(left, target, mu[~free], np.hstack([outside, basis]))
    coefs[free] = _shortest(B[:, free], R - B[:, ~free] @ coefs[~free])
    return coefs, passes + 2


def _basis(columns: Array) -> Array:
    """Orthonormal columns with the same span."""
    left, sizes, _ = linalg.svd(columns, full_matrices=False)
    return left[:, sizes > EPS * max(columns.shape) * sizes.max(initial=0.0)]


def _without_penalty(B: Array, R: Array) -> tuple[Array, int]:
    """Least squares; the shortest of the answers where there are several."""
    if B.shape[1] <= B.shape[0]:
        found = _by_features(B, R, np.zeros(B.shape[1]))
        if found is not None:
            return found
    return _shortest(B, R), 2


def _shortest(B: Array, R: Array) -> Array:
    return np.asarray(linalg.lstsq(B, R, cond=EPS * max(B.shape))[0])


def _penalised(B: Array, R: Array, mu: Array, outside: Array) -> tuple[Array, int]:
    """Every μ_j > 0; ``outside`` are orthonormal directions to which B and R are orthogonal."""
    n, d = B.shape
    found = _by_features(B, R, mu) if d <= n else _by_samples(B, R, mu, outside)
    return (_by_singular_values(B, R, mu), 3) if found is None else found


def _by_features(B: Array, R: Array, mu: Array) -> tuple[Array, int] | None:
    gram = B.T @ B
    gram[np.diag_indices_from(gram)] += mu
    found = _refined(gram, B.T @ R, lambda w: B.T @ (R - B @ w) - mu[:, None] * w)
    if found is None:
        return None
    size = found.x * found.scale[:, None]
    noise = EPS * np.sqrt(len(gram)) * linalg.norm(R - B @ found.x) / found.pivot
    return (found.x, found.passes) if noise <= SMALL_CORRECTION * linalg.norm(size) else None


def _by_samples(B: Array, R: Array, mu: Array, outside: Array) -> tuple[Array, int] | None:
    alpha = mu.max()
    spread = np.sqrt(alpha / mu)
    scaled = B * spread
    gram = scaled @ scaled.T
    gram[np.diag_indices_from(gram)] += alpha
    # nothing points outside: these directions may be penalised at will, and are, or α alone would hold them
    gram += np.trace(gram) / len(gram) * (outside @ outside.T)
    found = _refined(gram, R, lambda u: R - scaled @ (scaled.T @ u) - alpha * u)
    if found is None:
        return None
    v = scaled.T @ found.x
    noise = EPS * linalg.norm(scaled) * linalg.norm(found.x)
    return (spread[:, None] * v, found.passes) if noise <= SMALL_CORRECTION * linalg.norm(v) else None


class Refined(NamedTuple):
    """The answer of a system, the roots of its diagonal, its smallest squared pivot relative to it, passes."""

    x: Array
    scale: Array
    pivot: float
    passes: int


def _refined(gram: Array, right: Array, residual: Any) -> Refined | None:
    """gram⁻¹·right with corrections from exact residuals; None where these do not become small."""
    scale = np.sqrt(np.diagonal(gram))
    scale = np.where(scale > 0.0, scale, 1.0)
    try:
        factor = linalg.cho_factor(gram / scale / scale[:, None], lower=True, overwrite_a=True)
    except (linalg.LinAlgError, ValueError):  # not positive, or not finite
        return None
    pivot = float(np.diagonal(factor[0]).min() ** 2)
    if pivot < NO_PIVOT * EPS * len(gram):  # the rank is a matter of rounding
        return None
    x = np.zeros_like(right)
    before, correction = np.inf, right
    for number in range(1, tuning.CORRECTIONS + 1):
        step = linalg.cho_solve(factor, correction / scale[:, None])
        x = x + step / scale[:, None]
        size, length = linalg.norm(step), linalg.norm(x * scale[:, None])
        if size <= NO_CORRECTION * length or (number > 1 and size > 0.25 * before):  # rounding decides from here on
            break
        before, correction = size, residual(x)
    return Refined(x, scale, pivot, number + 1) if size <= SMALL_CORRECTION * length else None


def _by_singular_values(B: Array, R: Array, mu: Array) -> Array:
    alpha = mu.max()
    spread = np.sqrt(alpha / mu)
    left, sizes, right = linalg.svd(B * spread, full_matrices=False)
    used = sizes > EPS * max(B.shape) * sizes.max(initial=0.0)
    inverse = 1.0 / (sizes[used] + alpha / sizes[used])
    return np.asarray(spread[:, None] * (right[used].T @ (inverse[:, None] * (left[:, used].T @ R))))


def _by_steps(X: Any, R: Array, mu: Array, root: Array, x_mean: Array) -> tuple[Array, int]:
    """LSMR for ‖r − Bw‖² + Σ μ_j w_j².

    Columns are scaled to one size, unless a coefficient is free (the shortest answer would become another) or B is
    wide: there B'v with a damping of α keeps to the span of the rows, where the answer lies.
    """
    n, d = X.shape
    scale, side, damp = np.ones(d), np.sqrt(mu), 0.0
    if mu.all() and d > n:
        scale, side, damp = np.sqrt(mu.max() / mu), np.zeros(d), float(np.sqrt(mu.max()))
    elif mu.all():
        scale = 1.0 / np.sqrt(_squared_norms(X, root, x_mean) + mu)
        side = side * scale

    def times(v: Array) -> Array:
        w = scale * np.ravel(v)
        return np.concatenate([root * (X @ w - x_mean @ w), side * np.ravel(v)])

    def transposed(u: Array) -> Array:
        rows = root * np.ravel(u)[:n]
        return scale * (X.T @ rows - x_mean * rows.sum()) + side * np.ravel(u)[n:]

    operator = LinearOperator((n + d, d), matvec=times, rmatvec=transposed, dtype=np.float64)
    limits = {"damp": damp, "atol": PRECISE, "btol": PRECISE, "conlim": 0.0, "maxiter": tuning.MOST_STEPS}
    coefs, passes = np.empty((d, R.shape[1])), 0
    for k, r in enumerate(R.T):
        found = lsmr(operator, np.append(r, np.zeros(d)), **limits)
        coefs[:, k], passes = scale * found[0], passes + 2 * int(found[2])
    return coefs, passes


def _squared_norms(X: Any, root: Array, x_mean: Array) -> Array:
    """‖b_j‖² of the columns of B; how far they are rounded does not matter where they are used."""
    squares = X.multiply(X).T @ root**2 if sparse.issparse(X) else np.einsum("kj,kj,k->j", X, X, root**2)
    return np.maximum(np.asarray(squares) - x_mean**2 * np.sum(root**2), 0.0)
