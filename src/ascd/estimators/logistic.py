"""Logistic regression with L1, L2, both or no penalty.

With labels y_k = ±1 it minimises  Σ s_k·log(1 + exp(−y_k·(x_k·w + c))) + r(w)/C,  where
r(w) = l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖².  The intercept c has no penalty.  Three and more classes are fitted all at
once, by the multinomial loss (``_multinomial``).
"""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ascd._core.checks import Array
from ascd.estimators._base import COMMON, NON_NEGATIVE_COUNT
from ascd.estimators._classes import class_factors, times
from ascd.estimators._fitting import certificate_of, check_finite, warn_unless_converged
from ascd.estimators._given import fit_method
from ascd.estimators._multinomial import fit_multinomial
from ascd.estimators._odds import LogOdds
from ascd.estimators._penalty import as_ratio
from ascd.estimators._solving import solve_problem

if TYPE_CHECKING:
    from typing_extensions import Self


class LogisticRegression(LogOdds):
    r"""Logistic regression: Σ s_k·log(1 + exp(−y_k·(x_k·w + c))) + (l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²)/C.

    Three and more classes have a row of coefficients each, and share the multinomial loss
    Σ s_k·(log Σ_t exp(x_k·w_t + c_t) − x_k·w_y − c_y), as in scikit-learn.  ``OneVsRestClassifier`` fits each against
    the rest.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, optional
        The older way to choose: "l1" is l1_ratio=1, "l2" is l1_ratio=0, None is C=inf.  By default l1_ratio decides.
    C : float, default=1.0
        Inverse of the penalty's strength; inf for none.
    l1_ratio : float in [0, 1], default=0.0
    dual, intercept_scaling, verbose
        Taken as in scikit-learn and without effect; the intercept has no penalty.
    tol : float, default=1e-6
        The fit ends when the duality gap is at most ``tol`` times the objective at zero coefficients; with an L2
        penalty also, as far as float64 allows, when the relative error of the coefficients is at most √tol.
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
        Multiplies the weights of the samples by a factor of their class; "balanced" makes all classes weigh the same.
    random_state, solver, penalty_weights, bounds, n_jobs, standardize : as in ``ElasticNet``
        Bounds, and rules of the engine as solver, are for two classes.
    max_iter : int, default=1000
    warm_start : bool, default=False
    grouped : bool, default=False
        With three and more classes the L1 part is l1_ratio·Σ_j ‖w_j‖ over the features' coefficients of all classes: a
        feature is used by all classes or by none.

    Attributes
    ----------
    classes_ : the labels
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : iterations, an array of length 1
    certificate_ : Certificate
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from ascd import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(l1_ratio=1.0, C=0.1).fit(scale(X), y)
    >>> model.coef_.shape, int((model.coef_ != 0).sum())
    ((1, 30), 8)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **COMMON,
        "max_iter": [NON_NEGATIVE_COUNT],
        "penalty": [StrOptions({"l1", "l2", "elasticnet", "deprecated"}), None],
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "dual": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "grouped": ["boolean"],
    }

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: Any = "ascd",
        max_iter: int = 1000,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        penalty_weights: Any = None,
        bounds: Any = None,
        grouped: bool = False,
        standardize: bool = False,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.grouped = grouped
        self.standardize = standardize

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : labels of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or a number, optional
        offset : array of shape (n_samples,), optional
            Known parts of the log-odds, added to X·coef + intercept; for two classes only.

        Returns
        -------
        self
        """
        X, y, weight = self._read(X, y, sample_weight)
        codes = self._encode(y, weight)
        strength = 0.0 if self.penalty is None or math.isinf(self.C) else 1.0 / self.C
        ratio = as_ratio(self.penalty, self.l1_ratio)
        how = strength, ratio, self._scale(X, weight)
        self._keep_classes(self._fit_classes(X, codes, weight, how, self._as_offset(offset, X)))
        return self

    def _fit_classes(
        self, X: Any, codes: Array, weight: Array | None, how: tuple[float, float, Array | None], offset: Array | None
    ) -> Any:
        """The solution; ``how`` is the penalty's strength, its l1_ratio and the features' deviations."""
        if self.class_weight is not None:
            weight = times(class_factors(self.class_weight, self.classes_, codes, weight), weight)
        if len(self.classes_) > 2:
            return fit_multinomial(self, X, codes, weight, *how)
        strength, ratio, scale = how
        return self._fit_two(X, codes, weight, self._regulariser(strength, ratio, X.shape[1], scale), offset)

    def _keep_classes(self, solution: Any) -> None:
        """The fitted attributes."""
        coef = solution.x.T.copy() if len(self.classes_) > 2 else solution.x[None, :]
        self.coef_, self.intercept_ = coef, np.atleast_1d(np.asarray(solution.intercept))
        check_finite(type(self).__name__, self.coef_, self.intercept_)
        self.n_iter_ = np.array([self._count(solution)], dtype=np.int32)
        self.certificate_ = certificate_of([solution], self.tol, 1.0)
        warn_unless_converged(self, self.certificate_)

    def _fit_two(self, X: Any, codes: Array, weight: Array | None, penalty: Any, offset: Array | None) -> Any:
        problem = self._problem(X, np.where(codes == 1, 1.0, -1.0), "logistic", penalty, weight, offset)
        coefs, constants = self._starts((1, X.shape[1]))
        start = {"x0": coefs[0], "intercept0": constants[0]}
        return solve_problem(problem, self._settings(), intercept=self.fit_intercept, **start)
