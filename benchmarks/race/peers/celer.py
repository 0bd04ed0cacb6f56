"""celer: working sets with extrapolated dual points; through celer_path, which checks and converts least."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from race.block_tasks import GROUPED, TASKS
from race.peers.base import Answer, Peer


class Celer(Peer):
    name = package = "celer"
    kinds = ("lasso", "enet", "logistic", "path", "cv", *TASKS, *GROUPED)
    limits: ClassVar = {"max_iter": 1000, "max_epochs": 50_000, "prune": True}

    def unit(self, task):
        return 3.0

    def lasso(self, task, tol):
        return self._path(task, [task.l1], tol)[:, 0]

    def tasks(self, task, tol):
        from celer import MultiTaskLasso

        model = MultiTaskLasso(alpha=task.l1 / len(task.y), tol=tol, fit_intercept=False, **self.limits)
        return model.fit(task.X, task.y).coef_.T

    def grouped(self, task, tol):
        from celer import GroupLasso

        alpha = task.l1 / len(task.y)
        model = GroupLasso(groups=task.groups, alpha=alpha, tol=tol, fit_intercept=False, **self.limits)
        return model.fit(task.X, task.y).coef_

    def path(self, task, tol):
        return self._path(task, task.strengths, tol)

    def enet(self, task, tol):
        total = task.l1 + task.l2
        return self._path(task, [total], tol, l1_ratio=task.l1 / total)[:, 0]

    def _path(self, task, strengths, tol, **options):
        from celer import celer_path

        alphas = np.asarray(strengths) / len(task.y)
        return celer_path(task.X, task.y, "lasso", alphas=alphas, tol=tol, **self.limits, **options)[1]

    def cv(self, task, tol):
        model = _celer_cv()(alphas=task.alphas, tol=tol).fit(task.X, task.y)
        return Answer(model.coef_, alpha=model.alpha_)

    def logistic(self, task, tol):
        """celer_path itself: the estimator would convert CSC to CSR and back."""
        from celer import celer_path

        return celer_path(task.X, task.y, "logreg", alphas=[task.l1], tol=tol, use_PN=True, **self.limits)[1][:, 0]


def _celer_cv():
    """celer's LassoCV with a constructor of ours: its own passes scikit-learn ≥ 1.9 an argument that is gone."""
    from celer import LassoCV
    from sklearn.linear_model import LassoCV as Base

    class Grid(LassoCV):
        def __init__(self, alphas=None, tol=1e-4, cv=5, precompute="auto", positive=False, copy_X=True):
            self.__dict__.update(Base(alphas=alphas, tol=tol, cv=cv, positive=positive, copy_X=copy_X).get_params())
            self.precompute, self.verbose, self.p0, self.prune = precompute, 0, 10, True
            self.max_iter, self.max_epochs = 1000, 50_000

    return Grid
