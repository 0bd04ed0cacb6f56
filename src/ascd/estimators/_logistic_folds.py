"""Cross-validation of logistic regression: fits and scores of the folds, and the choice of C and l1_ratio from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.threads import threads_here
from ascd.estimators._blocks import follow_blocks
from ascd.estimators._fitting import Settings
from ascd.estimators._folds import Fold, simplest_within_one_error
from ascd.estimators._following import Shortfall, follow, shortfall, warn_of_shortfalls, whole
from ascd.estimators._scoring import Scoring
from ascd.estimators._unfinished import UNPROVED, Folds, last_fit, warn_of_mean
from ascd.estimators.logistic_paths import strengths


class Labelled(NamedTuple):
    """The data that all folds share; ``factors`` are those of the samples' classes."""

    X: Any
    y: Array
    problem: Any
    codes: Array
    factors: Array
    settings: Settings
    score_params: dict[str, Array]
    offset: Array | None


class FoldScores(NamedTuple):
    """One fold and one l1_ratio, for all Cs: scores, coefficients with intercepts last, iterations, what fell short."""

    scores: Array
    coefs: Array
    n_iters: Array
    short: Shortfall


class LogisticFolds(Scoring):
    """The fits of each fold, and what is chosen from their scores."""

    Cs_: Array
    classes_: Array
    l1_ratios_: Array
    refit: bool
    _built: Callable[[Any, Callable[[], Any]], Any]  # of the linear models
    _keep_classes: Callable[[Any], None]
    n_iter_: Array
    choose: str

    def _fold_scores(self, data: Labelled, penalty: Any, fold: Fold) -> FoldScores:
        weight, count = fold.train * data.factors, len(self.classes_)
        present = np.unique(data.codes[fold.train > 0.0])
        if present.size < count:
            missing = np.setdiff1d(np.arange(count), present)
            raise ValueError(
                "cv must leave samples of every class to fit in each fold; one has none of the class "
                f"{self.classes_[missing].tolist()[0]!r}: use stratified folds or fewer of them"
            )
        one = self._built(data.X, partial(data.problem.replace, sample_weight=weight, penalty=penalty))
        steps: Any = follow if count == 2 else follow_blocks
        settings = replace(data.settings, n_jobs=threads_here())
        found = whole(steps(one, strengths(self.Cs_), settings, intercept=self.fit_intercept))
        coefs = np.moveaxis(found.coefs.reshape(data.X.shape[1], -1, len(self.Cs_)), (0, 1, 2), (2, 1, 0))
        if self.fit_intercept:
            constants = found.intercepts.reshape(-1, len(self.Cs_)).T
            coefs = np.concatenate([coefs, constants[:, :, None]], axis=2)
        scores = self._scores(data.X, data.y, coefs, fold, data.score_params, data.offset)
        return FoldScores(scores, coefs, np.maximum(1, found.n_iters).astype(np.int32), shortfall(found))

    def _keep_folds(self, found: list[FoldScores], done: Folds, refit: Callable[[], Any]) -> None:
        """Choose by the scores of the folds that are done; then the fit to all samples, where it can be done."""
        warn_of_shortfalls(type(self).__name__, [one.short for one in found], f" of the {done.done} folds")
        self._choose(found, done.done)
        solution = None
        if self.refit:
            solution, done = last_fit(done, refit)
        if solution is not None:
            self._keep_classes(solution)
        elif done.lost is not None:
            self._keep_mean()
            warn_of_mean(type(self).__name__, done)
        self.n_iter_ = np.array([one.n_iters for one in found]).reshape(self.scores_.shape)

    def _choose(self, found: list[FoldScores], n_folds: int) -> None:
        shape = (n_folds, len(self.l1_ratios_), len(self.Cs_))
        self.scores_ = np.array([one.scores for one in found]).reshape(shape)
        coefs = np.array([one.coefs for one in found])
        self.coefs_paths_ = coefs.reshape(*shape, *coefs.shape[2:])
        means = self.scores_.mean(axis=0)
        row, ratio = np.unravel_index(
            int(np.argmax(means.T)), means.T.shape
        )  # of equal ones the smallest C, then ratio
        if not math.isfinite(means[ratio, row]):
            raise ValueError(
                f"scoring must give finite numbers in every fold; the best mean score is {means[ratio, row]:g}, and "
                "nothing can be chosen by it: use other folds or another score"
            )
        self._best_ratio = int(ratio)
        simplest = simplest_within_one_error(-self.scores_[:, ratio, :].T, int(row))
        self.C_best_, self.C_1se_ = float(self.Cs_[row]), float(self.Cs_[simplest])
        self.C_ = self.C_1se_ if self.choose == "1se" else self.C_best_
        self.l1_ratio_ = float(self.l1_ratios_[ratio])
        if not self.refit:
            self._average_folds()

    def _average_folds(self) -> None:
        """Coefficients, C and l1_ratio as the mean of each fold's best."""
        n_folds, n_ratios, n_cs = self.scores_.shape
        best = self.scores_.swapaxes(1, 2).reshape(n_folds, -1).argmax(axis=1)
        rows, ratios = np.unravel_index(best, (n_cs, n_ratios))
        self._keep_coefs(self.coefs_paths_[np.arange(n_folds), ratios, rows].mean(axis=0))
        self.C_, self.l1_ratio_ = float(self.Cs_[rows].mean()), float(np.mean(self.l1_ratios_[ratios]))

    def _keep_mean(self) -> None:
        """No fit to all samples can be done: the mean of the folds', of which nothing is proved."""
        if self.refit:
            row = int(np.flatnonzero(self.Cs_ == self.C_)[0])
            self._keep_coefs(self.coefs_paths_[:, self._best_ratio, row].mean(axis=0))
        self.certificate_ = UNPROVED

    def _keep_coefs(self, coefs: Array) -> None:
        """Coefficients with intercepts last."""
        self.coef_ = coefs[:, :-1] if self.fit_intercept else coefs
        self.intercept_ = coefs[:, -1] if self.fit_intercept else np.zeros(len(coefs))
