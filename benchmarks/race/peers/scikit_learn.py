"""scikit-learn: coordinate descent for squared losses, liblinear for the others."""

from __future__ import annotations

import importlib.metadata
from typing import ClassVar

from race.block_tasks import TASKS
from race.class_tasks import KINDS as CLASSES
from race.peers.base import UNLIMITED, Answer, Failed, Peer

LIBLINEAR_LIMIT = 10**6
#: Newton's matrix has the square of so many entries at most.
LARGEST_NEWTON = 2_000


class ScikitLearn(Peer):
    name, package = "scikit-learn", "sklearn"
    kinds = ("lasso", "enet", "logistic", "path", "cv", "svm", *TASKS, *CLASSES)
    options: ClassVar = {"fit_intercept": False, "copy_X": False, "max_iter": UNLIMITED}

    def version(self):
        return importlib.metadata.version("scikit-learn")

    def unit(self, task):
        return 10.0 if task.kind == "logistic" else 1e3 if task.kind == "svm" else 1.0

    def lasso(self, task, tol):
        from sklearn.linear_model import Lasso

        alpha = task.l1 / len(task.y)
        return Lasso(alpha=alpha, tol=tol, **self.options).fit(task.X, task.y).coef_

    def enet(self, task, tol):
        from sklearn.linear_model import ElasticNet

        total = task.l1 + task.l2
        model = ElasticNet(alpha=total / len(task.y), l1_ratio=task.l1 / total, tol=tol, **self.options)
        return model.fit(task.X, task.y).coef_

    def tasks(self, task, tol):
        from sklearn.linear_model import MultiTaskLasso

        return MultiTaskLasso(alpha=task.l1 / len(task.y), tol=tol, **self.options).fit(task.X, task.y).coef_.T

    def logistic(self, task, tol):
        """liblinear's coordinate descent."""
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(
            C=1.0 / task.l1,
            l1_ratio=1.0,
            solver="liblinear",
            fit_intercept=False,
            tol=tol,
            max_iter=LIBLINEAR_LIMIT,
            random_state=0,
        )
        return model.fit(task.rows, task.y).coef_[0]

    def multinomial(self, task, tol):
        """saga for L1, lbfgs for L2."""
        from sklearn.linear_model import LogisticRegression

        how = {"l1_ratio": 1.0, "solver": "saga", "C": 1.0 / task.l1} if task.l1 else {"C": 1.0 / task.l2}
        options = {"fit_intercept": False, "tol": tol, "max_iter": LIBLINEAR_LIMIT, "random_state": 0}
        return LogisticRegression(**how, **options).fit(task.rows, task.y).coef_.T

    def path(self, task, tol):
        from sklearn.linear_model import lasso_path

        alphas = task.strengths / len(task.y)
        return lasso_path(task.X, task.y, alphas=alphas, tol=tol, max_iter=UNLIMITED, copy_X=False)[1]

    def cv(self, task, tol):
        from sklearn.linear_model import LassoCV

        model = LassoCV(alphas=task.alphas, cv=5, tol=tol, max_iter=UNLIMITED).fit(task.X, task.y)
        return Answer(model.coef_, alpha=model.alpha_)

    def svm(self, task, tol):
        """liblinear's dual coordinate descent."""
        from sklearn.svm import LinearSVC

        model = LinearSVC(
            C=task.C, loss="hinge", dual=True, fit_intercept=False, tol=tol, max_iter=LIBLINEAR_LIMIT, random_state=0
        )
        return model.fit(task.X, task.y).coef_[0]


class ScikitNewton(ScikitLearn):
    """Its Newton steps on all coefficients, for few of them; it stops by the gradient, whose square the gap is."""

    name = "scikit-learn newton-cholesky"
    kinds = ("multinomial l2",)

    def start(self, task, target):
        return 10.0 * target**0.5

    def multinomial(self, task, tol):
        from sklearn.linear_model import LogisticRegression

        count = task.X.shape[1] * (int(task.y.max()) + 1)
        if count > LARGEST_NEWTON:
            raise Failed(f"{count} coefficients are too many for a matrix of them all")
        options = {"fit_intercept": False, "tol": tol, "max_iter": LIBLINEAR_LIMIT}
        return LogisticRegression(C=1.0 / task.l2, solver="newton-cholesky", **options).fit(task.rows, task.y).coef_.T
