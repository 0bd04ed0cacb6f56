"""groupyr: proximal gradient steps with a line search, for the sparse group Lasso on dense data."""

from __future__ import annotations

import numpy as np

from race.block_tasks import SPARSE
from race.peers.base import UNLIMITED, Failed, Peer


class Groupyr(Peer):
    """Its tolerance bounds the length of a step."""

    name = package = "groupyr"
    kinds = tuple(SPARSE)

    def sparse_grouped(self, task, tol):
        from groupyr import SGL

        if not isinstance(task.X, np.ndarray):
            raise Failed("groupyr takes no sparse data")
        total = task.l1 + task.single
        model = SGL(
            groups=[np.array(group) for group in task.groups],
            alpha=total / len(task.y),
            l1_ratio=task.single / total,
            scale_l2_by=None,
            fit_intercept=False,
            tol=tol,
            max_iter=UNLIMITED,
        )
        return model.fit(task.X, task.y).coef_
