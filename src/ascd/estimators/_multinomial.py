"""Logistic regression of three and more classes, all at once.

    Σ_k s_k·(log Σ_t exp(x_k·w_t + c_t) − x_k·w_y − c_y) + (l1_ratio·‖W‖₁ + (1 − l1_ratio)/2·‖W‖²)/C

is a problem of blocks, a feature with its coefficients of all classes each; ``grouped`` puts Σ_j ‖w_j‖ in the place of
‖W‖₁.  With an L2 penalty alone the fit goes on until the gap bounds the error of the coefficients too (``_solving``).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_parameter
from ascd.blocks import BlockProblem, BlockSolution, solve_blocks
from ascd.blocks.norm import BlockNorm
from ascd.estimators._blocks import rounded
from ascd.estimators._penalty import finite_strength
from ascd.estimators._solving import in_float32, refined


def multinomial_problem(estimator: Any, X: Any, codes: Array, penalty: BlockNorm, weight: Array | None) -> BlockProblem:
    """The problem, with errors that speak of X and y."""
    return estimator._built(X, partial(BlockProblem, X, codes, "softmax", penalty, None, weight))  # type: ignore[no-any-return]


def multinomial_penalty(
    estimator: Any, strength: float, ratio: float, n_features: int, scale: Array | None
) -> BlockNorm:
    """strength·(ratio·‖W‖₁ + (1 − ratio)/2·‖W‖²), or with Σ_j ‖w_j‖, and the estimator's penalty weights.

    Each w_j is multiplied by its ``scale`` first, where there is one.
    """
    for name, plain in (("bounds", None), ("solver", "ascd")):
        if getattr(estimator, name) != plain:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} is for two classes: wrap {type(estimator).__name__} in "
                "scikit-learn's OneVsRestClassifier, which fits each class against the rest"
            )
    given = 1.0 if estimator.penalty_weights is None else estimator.penalty_weights
    weights = np.broadcast_to(as_parameter(given, "penalty_weights", n_features, low=0.0), n_features)
    factors = weights * finite_strength(strength)
    length = np.ones(n_features) if scale is None else scale
    kinks, zero = ratio * factors * length, np.zeros(n_features)
    group, l1 = (kinks, zero) if estimator.grouped else (zero, kinks)
    return BlockNorm(group, l1, (1.0 - ratio) * factors * length**2, False)


def fit_multinomial(
    estimator: Any, X: Any, codes: Array, weight: Array | None, strength: float, ratio: float, scale: Array | None
) -> BlockSolution:
    """The solution, from the estimator's last fit where it asks for that."""
    penalty = multinomial_penalty(estimator, strength, ratio, X.shape[1], scale)
    problem = multinomial_problem(estimator, X, codes, penalty, weight)
    settings, intercept = estimator._settings(), estimator.fit_intercept
    coefs, constants = estimator._starts((problem.n_outputs, X.shape[1]))
    start = {} if coefs[0] is None else {"x0": coefs.T, "intercept0": constants if intercept else None}
    how: dict[str, Any] = {"max_iter": settings.max_iter, "n_jobs": settings.n_jobs}
    found = solve_blocks(problem, settings.tol, intercept=intercept, **how, **start)
    if ratio == 0.0 and penalty.ridge.any():
        ridge = penalty.ridge[:, None]
        found = refined(solve_blocks, problem, settings, intercept, found, lambda x: 0.5 * float(np.sum(ridge * x**2)))
    return in_float32(rounded, problem, found, settings)
