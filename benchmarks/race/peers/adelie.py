"""adelie: paths of (group) elastic nets; ten steps down to λ for a single problem, since its authors advise a path."""

from __future__ import annotations

from typing import Any

import numpy as np

from race.block_tasks import GROUPED
from race.peers.base import UNLIMITED, Peer


class Adelie(Peer):
    name = package = "adelie"
    kinds = ("lasso", "enet", "logistic", "path", *GROUPED)
    factor, floor = 10.0, 1e-26
    steps = 10

    def start(self, task, target):
        """Its tolerance bounds squares of changes."""
        return 10.0 * target if task.kind == "enet" else target**2

    def lasso(self, task, tol, ratio=1.0):
        total = task.l1 / ratio
        top = total * task.part
        return self._path(task, np.geomspace(top, total, self.steps), tol, ratio)[:, -1]

    def enet(self, task, tol):
        return self.lasso(task, tol, task.l1 / (task.l1 + task.l2))

    def logistic(self, task, tol):
        return self.lasso(task, tol)

    def grouped(self, task, tol):
        strengths = np.geomspace(task.l1 * task.part, task.l1, self.steps)
        return self._path(task, strengths, tol, 1.0, groups=task.starts, penalty=np.ones(len(task.starts)))[:, -1]

    def path(self, task, tol):
        return self._path(task, task.strengths, tol, 1.0)

    def _path(self, task, strengths, tol, ratio, **groups):
        import adelie as ad
        import scipy.sparse as sp

        X: Any = ad.matrix.sparse(task.X, n_threads=1) if sp.issparse(task.X) else ad.matrix.dense(task.X, n_threads=1)
        glm = ad.glm.binomial((task.y + 1.0) / 2.0) if task.kind == "logistic" else ad.glm.gaussian(task.y)
        state = ad.grpnet(
            X,
            glm,
            lmda_path=np.asarray(strengths) / len(task.y),
            alpha=ratio,
            tol=tol,
            irls_tol=tol,
            max_iters=UNLIMITED,
            intercept=False,
            early_exit=False,
            progress_bar=False,
            **groups,
        )
        return np.asfortranarray(state.betas.toarray().T)
