"""skglm: working sets with Anderson acceleration, prox-Newton for logistic regression."""

from __future__ import annotations

from typing import ClassVar

from race.block_tasks import KINDS as BLOCKS
from race.peers.base import Peer


class Skglm(Peer):
    """Its tolerance bounds the violation of optimality, in units of ∇f/n."""

    name = package = "skglm"
    kinds = ("lasso", "enet", "logistic", "path", *BLOCKS)
    floor = 1e-19
    limits: ClassVar = {"max_iter": 1000, "max_epochs": 50_000, "fit_intercept": False}

    def unit(self, task):
        return 100.0 * task.l1 / len(task.y)

    def lasso(self, task, tol):
        from skglm import Lasso

        return Lasso(alpha=task.l1 / len(task.y), tol=tol, **self.limits).fit(task.X, task.y).coef_

    def enet(self, task, tol):
        from skglm import ElasticNet

        total = task.l1 + task.l2
        model = ElasticNet(alpha=total / len(task.y), l1_ratio=task.l1 / total, tol=tol, **self.limits)
        return model.fit(task.X, task.y).coef_

    def tasks(self, task, tol):
        from skglm import MultiTaskLasso

        model = MultiTaskLasso(alpha=task.l1 / len(task.y), tol=tol, copy_X=False, **self.limits)
        return model.fit(task.X, task.y).coef_.T

    def grouped(self, task, tol):
        from skglm import GroupLasso

        model = GroupLasso(groups=task.groups, alpha=task.l1 / len(task.y), tol=tol, **self.limits)
        return model.fit(task.X, task.y).coef_

    def sparse_grouped(self, task, tol):
        """By its parts: it has no estimator for two norms at once."""
        import numpy as np
        from skglm import GeneralizedLinearEstimator
        from skglm.datafits import QuadraticGroup
        from skglm.penalties import WeightedL1GroupL2
        from skglm.solvers import GroupBCD

        n, features = len(task.y), task.X.shape[1]
        bounds = np.append(task.starts, features).astype(np.int32)
        order = np.arange(features, dtype=np.int32)
        one, each = np.ones(features), np.ones(len(task.starts))
        penalty = WeightedL1GroupL2(task.l1 / n, each, task.single / task.l1 * one, bounds, order)
        solver = GroupBCD(tol=tol, **self.limits)
        return GeneralizedLinearEstimator(QuadraticGroup(bounds, order), penalty, solver).fit(task.X, task.y).coef_

    def logistic(self, task, tol):
        from skglm import SparseLogisticRegression

        return (
            SparseLogisticRegression(alpha=task.l1 / len(task.y), tol=tol, **self.limits).fit(task.X, task.y).coef_[0]
        )

    def path(self, task, tol):
        from skglm import Lasso

        model = Lasso(tol=tol, **self.limits)
        return model.path(task.X, task.y, alphas=task.strengths / len(task.y))[1]
