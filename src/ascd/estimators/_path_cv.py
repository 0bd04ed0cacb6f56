"""Cross-validation over alpha: a path on every fold, side by side and without copies, and one fit with the best."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from ascd._core.checks import Array
from ascd._core.threads import threads_here
from ascd.estimators._base import COMMON, LinearRegressor
from ascd.estimators._folds import Fold, SplitterRouting, mean_squares, side_by_side, simplest_within_one_error
from ascd.estimators._following import Shortfall, follow, shortfall, warn_of_shortfalls, whole
from ascd.estimators._given import fit_method
from ascd.estimators._layouts import held_out, sparse_columns
from ascd.estimators._solving import solve_problem
from ascd.estimators._unfinished import UNPROVED, last_fit, mean_of, warn_of_mean, whole_folds
from ascd.estimators.paths import as_alphas

if TYPE_CHECKING:
    from typing_extensions import Self


class FoldPath(NamedTuple):
    """What remains of one fold's path: an error and coefficients for each alpha, and what fell short of ``tol``.

    ``fits`` and ``constants`` are those of the model; ``coefs`` what of it is shown: norms where there are several
    targets.
    """

    errors: Array
    coefs: Any
    short: Shortfall
    fits: Any
    constants: Array


class PathCV(SplitterRouting, LinearRegressor):
    """A path of alphas on every fold, one fit with the best."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **COMMON,
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "copy_X": ["boolean"],
        "cv": ["cv_object"],
        "verbose": ["verbose"],
        "positive": ["boolean"],
        "selection": [StrOptions({"cyclic", "random"})],
        "progress": ["boolean"],
        "choose": [StrOptions({"best", "1se"})],
    }

    def __init__(
        self,
        *,
        eps: float,
        alphas: Any,
        fit_intercept: bool,
        precompute: Any,
        max_iter: int,
        tol: float,
        copy_X: bool,
        cv: Any,
        verbose: Any,
        n_jobs: int | None,
        positive: bool,
        random_state: Any,
        selection: str,
        penalty_weights: Any,
        bounds: Any,
        solver: Any,
        progress: bool,
        standardize: bool,
        choose: str,
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.solver = solver
        self.progress = progress
        self.standardize = standardize
        self.choose = choose

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose alpha by cross-validation and fit all samples with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Not copied where it is column-major float64 or CSC float64; folds share it.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or a number, optional
            For fitting and for the errors of each fold; all folds count the same.
        **params
            For the splitter, with scikit-learn's metadata routing.

        Returns
        -------
        self
        """
        X, y, weight = self._read_target(X, y, sample_weight)
        total = float(X.shape[0] if weight is None else weight.sum())
        folds, ratios = self._folds(X, y, weight, params), self._ratios()
        problems = self._problems(X, y, weight, ratios)
        grids = [self._grid(one, total, ratio) for one, ratio in zip(problems, ratios, strict=True)]
        tasks = [
            partial(self._fold_path, X, y, one, fold, grid, ratio)
            for fold in folds
            for one, grid, ratio in zip(problems, grids, ratios, strict=True)
        ]
        results = side_by_side(tasks, self._settings().n_jobs, self.progress, X)
        found, done = whole_folds(*results, len(folds), len(ratios))
        warn_of_shortfalls(type(self).__name__, [one.short for one in found], f" of the {done.done} folds")
        best = self._choose(found, ratios, grids)
        solution, done = last_fit(done, partial(self._refit, problems[best], total))
        if solution is None:
            self._keep_mean(found[best :: len(ratios)], y.shape)
            warn_of_mean(type(self).__name__, done)
        else:
            self._keep_fit(solution, 1.0 / total)
        return self

    def _read_target(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
        X, y, weight = self._read(X, y, sample_weight, y_numeric=True)
        return X, np.asarray(y, dtype=np.float64), weight

    def _problems(self, X: Any, y: Array, weight: Array | None, ratios: list[float]) -> list[Any]:
        """The problem with a penalty of strength 1, one a ratio; they share X."""
        scale = self._scale(X, weight)
        penalties = [self._regulariser(1.0, ratio, X.shape[1], scale) for ratio in ratios]
        problem = self._problem(X, y, "squared", penalties[0], weight)
        return [problem.replace(penalty=penalty) for penalty in penalties]

    def _grid(self, problem: Any, total: float, ratio: float) -> Array:
        n_jobs = self._settings().n_jobs
        return as_alphas(problem, self.alphas, self.eps, total, ratio, self.fit_intercept, n_jobs)

    def _fold_path(self, X: Any, y: Array, problem: Any, fold: Fold, alphas: Array, ratio: float) -> FoldPath:
        penalty = self._regulariser(1.0, ratio, X.shape[1], self._scale(X, fold.train)) if self.standardize else None
        train = self._built(X, partial(problem.replace, sample_weight=fold.train, penalty=penalty))
        total = float(fold.train.sum())
        settings = replace(self._settings(), n_jobs=threads_here())
        found = whole(follow(train, total * alphas, settings, intercept=self.fit_intercept))
        coefs = sparse_columns(found.coefs)
        predict = held_out(X, fold.test, np.unique(coefs.indices))
        residuals = predict(found.coefs) + found.intercepts - y[fold.test, None]
        errors = mean_squares(residuals, fold.test_weight)
        return FoldPath(errors, coefs, shortfall(found, 1.0 / total), coefs, found.intercepts[None])

    def _choose(self, found: list[FoldPath], ratios: list[float], grids: list[Array]) -> int:
        errors = np.array([one.errors for one in found]).reshape(-1, len(ratios), grids[0].size).transpose(1, 2, 0)
        means = errors.mean(axis=2)
        best = int(np.argmin(means.min(axis=1)))
        row = int(np.argmin(means[best]))
        self.mse_path_ = np.squeeze(errors)
        self.alphas_ = grids[0] if len(ratios) == 1 or not isinstance(self.alphas, Integral) else np.array(grids)
        self.alpha_best_ = float(grids[best][row])
        self.alpha_1se_ = float(grids[best][simplest_within_one_error(errors[best], row)])
        self.alpha_ = self.alpha_1se_ if self.choose == "1se" else self.alpha_best_
        self.coef_path_ = sparse.csc_matrix(mean_of([one.coefs for one in found[best :: len(ratios)]]))
        self._chosen = (grids[best], errors[best])
        if "l1_ratio" in self._get_param_names():
            self.l1_ratio_ = ratios[best]
        return best

    def _refit(self, problem: Any, total: float) -> Any:
        penalty = problem.parts.penalty.scaled(self.alpha_ * total)
        return solve_problem(problem.replace(penalty=penalty), self._settings(), intercept=self.fit_intercept)

    def _keep_fit(self, solution: Any, unit: float) -> None:
        self.dual_gap_ = unit * solution.gap
        self._keep_one(solution, unit)

    def _keep_mean(self, folds: list[FoldPath], shape: tuple[int, ...]) -> None:
        """The model that is the mean of the folds' for ``alpha_``; ``shape`` is that of the target."""
        row = int(np.flatnonzero(self._chosen[0] == self.alpha_)[0])
        coefs = mean_of([one.fits for one in folds])[:, [row]].toarray().reshape(-1, *shape[1:])
        constants = mean_of([one.constants for one in folds])[:, row]
        self.coef_, self.intercept_ = np.asfortranarray(coefs.T), constants if len(shape) > 1 else float(constants[0])
        self.intercept_ = self.intercept_ if self.fit_intercept else 0.0
        self.n_iter_, self.dual_gap_, self.certificate_ = UNPROVED.n_iter, UNPROVED.gap, UNPROVED

    def _ratios(self) -> list[float]:
        return [1.0]

    def plot(self, axes: Any = None) -> Any:
        """Draw the cross-validation curve and, below it, the path of the coefficients (their mean over the folds).

        Parameters
        ----------
        axes : pair of matplotlib axes, optional

        Returns
        -------
        the pair of axes
        """
        from ascd.estimators._plots import plot_cross_validation

        alphas, errors = self._chosen
        marks = {"best": self.alpha_best_, "one standard error": self.alpha_1se_}
        return plot_cross_validation(alphas, errors, self.coef_path_, marks, "alpha", "mean squared error", axes)
