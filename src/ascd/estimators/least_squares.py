"""Least squares with L1 and L2 penalties and bounds: Lasso, ElasticNet, Ridge, NNLS.

==============  =======================================================================
Lasso           1/(2n)·‖y − Xw − c‖² + alpha·‖w‖₁
ElasticNet      1/(2n)·‖y − Xw − c‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²)
Ridge           ‖y − Xw − c‖² + alpha·‖w‖²
NNLS            ‖y − Xw − c‖² over w ≥ 0
==============  =======================================================================

With sample weights s, ‖r‖² is Σ s_k r_k² and n is Σ s_k, as in scikit-learn.  The intercept c has no penalty.  Several
targets are fitted one after the other; they share the matrix.  Where the objective is smooth everywhere (no L1 penalty,
no bounds) it is a quadratic, and linear algebra finds its minimum exactly: see ``_normal_equations``.
"""

from __future__ import annotations

import warnings
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ascd._core.checks import as_finite_vector
from ascd.estimators._base import LinearRegressor
from ascd.estimators._certificate import frames_to_the_user
from ascd.estimators._data import Training
from ascd.estimators._forms import fit_method
from ascd.estimators._mixins import MultiOutputMixin
from ascd.estimators._normal_equations import solve_smooth
from ascd.estimators._parameters import COUNT, NON_NEGATIVE, Parameter, estimator
from ascd.estimators._solving import solve_in_turn, solve_problem
from ascd.estimators.paths import enet_path
from ascd.problem.penalties import L1L2

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
        self._fit_targets(self._read(X, y, sample_weight))
        return self

    def _checks(self, y: Any) -> dict[str, Any]:
        return {"y_numeric": True, "multi_output": getattr(y, "ndim", 2) != 1}  # one target is read faster

    def _fit_targets(self, data: Training) -> None:
        targets = data.y.reshape(data.X.shape[0], -1)
        n_features, n_targets = data.X.shape[1], targets.shape[1]
        factor, unit = self._units(data.total)
        scale = self._scale(data.X, data.weight)
        penalties = [
            self._penalty(alpha * factor, self.l1_ratio, n_features, scale) for alpha in self._alphas(n_targets)
        ]
        first = self._state(data._replace(y=targets[:, 0]), penalties[0])
        others = [first.replace(b=targets[:, k], penalty=penalties[k]) for k in range(1, n_targets)]
        settings, problems = self._settings(), [first, *others]
        is_smooth = all(isinstance(penalty, L1L2) and penalty.l1 == 0.0 for penalty in penalties)
        if settings.is_auto and is_smooth and data.X.is_local:
            solutions = solve_smooth(problems, data.X.matrix, settings, intercept=self.fit_intercept)
        else:
            coefs, constants = self._start(n_targets, n_features)
            starts: Any = [{}] * n_targets
            if coefs is not None:
                starts = [{"x0": x, "intercept0": c} for x, c in zip(coefs, constants, strict=True)]
            each = partial(solve_problem, intercept=self.fit_intercept)
            solvers = (partial(each, one, **start) for one, start in zip(problems, starts, strict=True))
            solutions = solve_in_turn(solvers, settings)
        self._keep_targets(solutions, unit, single=data.y.ndim == 1)

    def _keep_targets(self, solutions: list[Any], unit: float, single: bool) -> None:
        coef = np.stack([solution.x for solution in solutions])
        constants = np.array([solution.intercept for solution in solutions])
        counts = [self._count(solution) for solution in solutions]
        gaps = [unit * solution.gap for solution in solutions]
        self.n_iter_: Any = counts[0] if len(counts) == 1 else counts
        self.dual_gap_: Any = gaps[0] if len(gaps) == 1 else np.array(gaps)
        intercept: Any = (constants[0] if single else constants) if self.fit_intercept else 0.0
        is_flat = single or (self._flat_single_target and len(coef) == 1)
        self._keep_model(coef[0] if is_flat else coef, intercept, solutions, unit)

    def _alphas(self, n_targets: int) -> list[float]:
        return [self.alpha] * n_targets


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
        return super()._alphas(n_targets)


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
