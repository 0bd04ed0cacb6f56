"""ascd, asked as its users would: everything from raw data to coefficients is timed."""

from __future__ import annotations

import ascd
from race.block_tasks import KINDS as BLOCKS
from race.class_tasks import KINDS as CLASSES
from race.peers.base import Answer, Peer, method_of


class Ours(Peer):
    name = package = "ascd"
    kinds = ("lasso", "enet", "logistic", "path", "cv", "svm", *BLOCKS, *CLASSES)
    forked = False  # threads it may have started would not survive a fork; max_time stops it

    def version(self):
        if not hasattr(ascd, "solve"):
            raise ImportError("this version of ascd has no ascd.solve")
        return ascd.__version__

    def start(self, task, target):
        """Its tolerance is the relative gap itself."""
        return target

    def fit(self, task, tol, threads=1):
        return getattr(self, method_of(task.kind), self.single)(task, tol, -1 if threads is None else threads)

    def single(self, task, tol, n_jobs):
        penalty = ascd.L1L2(l1=task.l1, l2=task.l2) if task.l2 else ascd.L1(task.l1)
        problem = ascd.Problem(task.X, task.y, loss=task.loss, penalty=penalty)
        solution = ascd.solve(problem, tol=tol, n_jobs=n_jobs, max_time=self.limit)
        return Answer(solution.x, reads=int(solution.reads))

    def tasks(self, task, tol, n_jobs):
        return self._blocks(task, ascd.L21(task.l1), tol, n_jobs)

    def grouped(self, task, tol, n_jobs):
        return self._blocks(task, ascd.GroupL2(task.l1, task.groups), tol, n_jobs)

    def sparse_grouped(self, task, tol, n_jobs):
        return self._blocks(task, ascd.SparseGroup(task.single, task.l1, task.groups), tol, n_jobs)

    def multinomial(self, task, tol, n_jobs):
        penalty = ascd.SparseGroup(task.l1, 0.0) if task.l1 else ascd.L21(0.0, ridge=task.l2)
        return self._blocks(task, penalty, tol, n_jobs, "softmax")

    def _blocks(self, task, penalty, tol, n_jobs, loss="squared"):
        problem = ascd.Problem(task.X, task.y, loss, penalty)
        solution = ascd.solve(problem, tol=tol, n_jobs=n_jobs, max_time=self.limit)
        return Answer(solution.x, reads=int(solution.reads))

    def path(self, task, tol, n_jobs):
        problem = ascd.Problem(task.X, task.y, penalty=ascd.L1(1.0))
        path = ascd.path(problem, alphas=task.strengths, tol=tol, n_jobs=n_jobs, max_time=self.limit)
        return Answer(path.coefs, reads=int(path.reads))

    def cv(self, task, tol, n_jobs):
        model = ascd.LassoCV(alphas=task.alphas, cv=5, tol=tol, n_jobs=n_jobs).fit(task.X, task.y)
        return Answer(model.coef_, alpha=model.alpha_)

    def svm(self, task, tol, n_jobs):
        model = ascd.LinearSVC(C=task.C, loss="hinge", dual=True, fit_intercept=False, tol=tol, max_iter=10**9)
        return Answer(model.fit(task.X, task.y).coef_.ravel())
