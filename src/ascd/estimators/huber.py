"""Huber regression: robust to outliers in the target."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ascd.estimators._base import LinearRegressor, as_threads
from ascd.estimators._certificate import check_finite_model
from ascd.estimators._data import Training
from ascd.estimators._forms import fit_method
from ascd.estimators._parameters import NON_NEGATIVE_COUNT, Parameter, estimator
from ascd.estimators._scale import ScaledFit, fit_with_scale
from ascd.estimators._solving import Settings, polished, solve_problem, state_problem
from ascd.problem.losses import Huber
from ascd.problem.problem import Problem

if TYPE_CHECKING:
    from typing_extensions import Self


@estimator
class HuberRegressor(LinearRegressor):
    r"""Linear regression that is robust to outliers, with scikit-learn's objective.

    Minimise Σ s_k·(σ + σ·H((y_k − x_k·w − c)/σ)) + alpha·‖w‖² over w, c and the scale σ, with
    ``H(t) = t²`` for ``|t| ≤ epsilon`` and ``2·epsilon·|t| − epsilon²`` beyond.

    Attributes
    ----------
    coef_, intercept_, scale_ : the fitted model
    outliers_ : bool array, True for samples beyond ``epsilon·scale_``; missing where a cluster was lost before
    certificate_ : Certificate
        Its gap is that of coefficients and scale together; the tolerance refers to the best scale and intercept at
        zero coefficients.
    n_iter_, n_features_in_, feature_names_in_

    Notes
    -----
    A target that is fitted perfectly has no scale: ``scale_`` is then 1e-8 of the target's own.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd import HuberRegressor
    >>> x = np.arange(10.0)
    >>> y = 2.0 * x + np.tile([0.3, -0.2, 0.1, -0.1, -0.3], 2)
    >>> y[9] = 100.0
    >>> model = HuberRegressor().fit(x[:, None], y)
    >>> float(model.coef_[0].round(1)), bool(model.outliers_[9])
    (2.0, True)
    """

    epsilon: float = 1.35
    alpha: float = 0.0001
    warm_start: bool = False
    penalty_weights: Any = None
    bounds: Any = None
    solver: Any = "auto"
    random_state: Any = None
    standardize: bool = False

    _keeps_float32: ClassVar[bool] = False
    _own: ClassVar[dict[str, Parameter]] = {
        "epsilon": Parameter(
            [Interval(Real, 1.0, None, closed="left")],
            "float, at least 1",
            "Residuals beyond epsilon·σ count linearly.",
        ),
        "max_iter": Parameter([NON_NEGATIVE_COUNT], "int", "Most iterations of the solver for each scale tried."),
    }

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit coefficients, intercept and scale.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or a number, optional

        Returns
        -------
        self
        """
        data = self._read(X, y, sample_weight)
        coefs, constants = self._start(1, data.X.shape[1])
        start = (None, None, None) if coefs is None else (coefs[0], constants[0], getattr(self, "scale_", None))
        base = self._state(data, None)
        self._keep(self._fit_scale(data, base, self.alpha, self._settings(), start), 1.0)
        return self

    def _state(self, data: Training, penalty: Any) -> Any:
        """Return the problem for the scale 1."""
        loss = Huber(float(self.epsilon))  # True is 1, as in scikit-learn
        return state_problem(data.X, data.y, loss, penalty, data.weight, n_jobs=as_threads(self.n_jobs))

    def _fit_scale(self, data: Training, base: Problem, alpha: float, settings: Settings, start: Any) -> ScaledFit:
        """Fit with the penalty alpha·‖w‖² from coefficients, intercept and scale; ``base`` is for the scale 1."""
        epsilon, scale = float(self.epsilon), self._scale(data.X, data.weight)

        def problem_at(sigma: float) -> Problem:
            penalty = self._penalty(alpha * sigma, 0.0, data.X.shape[1], scale)
            return base.replace(loss=Huber(epsilon * sigma), penalty=penalty)

        def solve_at(problem: Problem, x0: Any, intercept0: Any, tol: float, rounds: int | None) -> Any:
            how = replace(settings, tol=tol, max_iter=min(rounds or settings.max_iter, settings.max_iter))
            solver = solve_problem if rounds is None else polished
            return solver(problem, how, intercept=self.fit_intercept, x0=x0, intercept0=intercept0)

        return fit_with_scale(problem_at, solve_at, epsilon, self.fit_intercept, settings.tol, start)

    def _keep(self, solution: Any, unit: float) -> None:
        check_finite_model("HuberRegressor", solution.scale)
        self.scale_, self.outliers_ = solution.scale, np.abs(solution.residuals) > self.epsilon * solution.scale
        if not solution.residuals.size:  # the data are gone
            del self.outliers_
        super()._keep(solution, unit)
