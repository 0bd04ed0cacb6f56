"""asgl: the sparse group Lasso as a cone program, through CVXPY."""

from __future__ import annotations

import numpy as np

from race.block_tasks import SPARSE
from race.peers.base import Peer


class Asgl(Peer):
    """It does not hand a tolerance on to the solver of the cone program; its own sets coefficients below it to 0."""

    name = package = "asgl"
    kinds = tuple(SPARSE)

    def unit(self, task):
        return 1e-6

    def sparse_grouped(self, task, tol):
        from asgl import Regressor

        total = task.l1 + task.single
        model = Regressor(
            penalization="asgl",
            lambda1=2.0 * total / len(task.y),  # its losses are not halved
            alpha=task.single / total,
            individual_weights=np.ones(task.X.shape[1]),
            group_weights=1.0 / np.sqrt(task.sizes),
            fit_intercept=False,
            tol=tol,
        )
        labels = np.repeat(np.arange(len(task.sizes)), task.sizes)
        return np.ravel(model.fit(task.X, task.y, labels).coef_)
