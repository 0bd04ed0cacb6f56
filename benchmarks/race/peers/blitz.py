"""blitzl1: working sets by the authors of Blitz."""

from __future__ import annotations

import importlib
import importlib.metadata

import numpy as np

from race.peers.base import Peer


class Blitz(Peer):
    name = package = "blitzl1"
    kinds = ("lasso", "logistic", "path")

    def version(self):
        module = importlib.import_module("blitzl1")
        # NumPy ≥ 2.4 refuses the comparison blitzl1 makes there; our arrays have the right types already.
        module._blitzl1.data_as = lambda array, pointer: (array, array.ctypes.data_as(pointer))
        module.set_use_intercept(False)
        module.set_verbose(False)
        return importlib.metadata.version("blitzl1")

    def unit(self, task):
        return 3.0

    def lasso(self, task, tol):
        import blitzl1

        blitzl1.set_tolerance(tol)
        return np.array(blitzl1.LassoProblem(task.X, task.y).solve(task.l1).x)

    def logistic(self, task, tol):
        import blitzl1

        blitzl1.set_tolerance(tol)
        return np.array(blitzl1.LogRegProblem(task.X, task.y).solve(task.l1).x)

    def path(self, task, tol):
        import blitzl1

        blitzl1.set_tolerance(tol)
        problem, x = blitzl1.LassoProblem(task.X, task.y), np.zeros(task.X.shape[1])
        coefs = np.empty((x.size, task.strengths.size), order="F")
        for t, l1 in enumerate(task.strengths):
            x = np.array(problem.solve(l1, initial_x=x).x)
            coefs[:, t] = x
        return coefs
