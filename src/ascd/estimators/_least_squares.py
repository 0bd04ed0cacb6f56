"""What the regressions with the squared loss share: one problem a target, ½‖y − Xw − c‖² with a penalty.

Several targets are fitted one after the other; they share the matrix.  Where the objective is smooth everywhere (no
L1 penalty, no bounds) it is a quadratic, and linear algebra finds its minimum exactly: see ``_normal_equations``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import MultiOutputMixin

from ascd._core.checks import Array
from ascd.estimators._base import LinearRegressor
from ascd.estimators._elsewhere import is_elsewhere
from ascd.estimators._fitting import certificate_of, check_finite, warn_unless_converged
from ascd.estimators._given import fit_method, to_numpy
from ascd.estimators._smooth import solve_smooth
from ascd.estimators._solving import in_turn, solve_problem
from ascd.problem.penalties import L1L2

if TYPE_CHECKING:
    from typing_extensions import Self


class LeastSquares(MultiOutputMixin, LinearRegressor, ABC):
    """The squared loss with a penalty; several targets are fitted one after the other."""

    @abstractmethod
    def _strength(self, alpha: float, total: float) -> tuple[float, float, float]:
        """The penalty beside ½‖r‖² and its share of L1; the objective in units of that sum.  ``total`` is Σ s_k."""

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Not copied where it is column-major float64 or CSC float64.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,) or a number, optional
            Non-negative weights.

        Returns
        -------
        self
        """
        several = getattr(y, "ndim", 2) != 1  # one target is read faster
        X, y, weight = self._read(X, y, sample_weight, multi_output=several, y_numeric=True)
        total = float(X.shape[0] if weight is None else weight.sum())
        targets = np.asarray(y, dtype=np.float64).reshape(X.shape[0], -1)
        self._fit_targets(X, targets, weight, total, single=y.ndim == 1)
        return self

    def _fit_targets(self, X: Any, targets: Array, weight: Array | None, total: float, single: bool) -> None:
        n_targets = targets.shape[1]
        strengths = [self._strength(alpha, total) for alpha in self._alphas(n_targets)]
        scale = self._scale(X, weight)
        penalties = [self._regulariser(strength, ratio, X.shape[1], scale) for strength, ratio, _ in strengths]
        problem = self._problem(X, targets[:, 0], "squared", penalties[0], weight)
        others = [problem.replace(b=targets[:, k], penalty=penalties[k]) for k in range(1, n_targets)]
        settings, problems = self._settings(), [problem, *others]
        if settings.solver == "ascd" and all(map(_is_smooth, penalties)) and not is_elsewhere(X):
            solutions = solve_smooth(problems, X, settings, intercept=self.fit_intercept)
        else:
            coefs, constants = self._starts((n_targets, X.shape[1]))
            starts = [{"x0": x, "intercept0": c} for x, c in zip(coefs, constants, strict=True)]
            each = partial(solve_problem, intercept=self.fit_intercept)
            solvers = (partial(each, one, **start) for one, start in zip(problems, starts, strict=True))
            solutions = in_turn(solvers, settings)
        self._keep(solutions, strengths[0][2], single)

    def _keep(self, solutions: list[Any], unit: float, single: bool) -> None:
        coef = np.stack([solution.x for solution in solutions])
        constants = np.array([solution.intercept for solution in solutions])
        check_finite(type(self).__name__, coef, constants)
        self.coef_ = coef[0] if single or (self._flat_single_target and len(coef) == 1) else coef
        self.intercept_ = (constants[0] if single else constants) if self.fit_intercept else 0.0
        counts = [self._count(solution) for solution in solutions]
        gaps = [unit * solution.gap for solution in solutions]
        self.n_iter_: Any = counts[0] if len(counts) == 1 else counts
        self.dual_gap_ = gaps[0] if len(gaps) == 1 else np.array(gaps)
        self.certificate_ = certificate_of(solutions, self.tol, unit)
        warn_unless_converged(self, self.certificate_)

    #: scikit-learn's Lasso and Ridge have a flat coef_ for a target of shape (n, 1), its LinearRegression has not.
    _flat_single_target = True

    def _alphas(self, n_targets: int) -> list[float]:
        return [self.alpha] * n_targets

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix of shape (n_targets, n_features)."""
        return sparse.csr_matrix(np.atleast_2d(to_numpy(self.coef_)))


def _is_smooth(penalty: Any) -> bool:
    return isinstance(penalty, L1L2) and penalty.l1 == 0.0
