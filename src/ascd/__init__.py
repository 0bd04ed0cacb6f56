"""Approximate Steepest Coordinate Descent (Stich, Raj, Jaggi, ICML 2017) for F(x) = f(Ax) + Σ Ψ_j(x_j).

State a problem, choose the parts, descend:

>>> import numpy as np, ascd
>>> A = np.random.default_rng(0).standard_normal((30, 60))
>>> problem = ascd.Problem(A, A[:, 0] - A[:, 1], penalty=ascd.L1(3.0))
>>> solution = ascd.minimize(problem, rule="ascd", oracle="norm", rng=0)
>>> solution.converged
True
"""

from __future__ import annotations

from importlib import import_module
from sys import modules
from threading import RLock

TYPE_CHECKING = False  #: as in ``typing``, which takes longer to import than all the rest here
if TYPE_CHECKING:
    from ascd._core.jit import at, helper
    from ascd.engine.minimize import minimize
    from ascd.engine.oracles.products import Cached, Exact, Norm, Random, Simulated, Sketch
    from ascd.engine.oracles.reference import Reference
    from ascd.engine.oracles.stochastic import Stochastic
    from ascd.engine.rules import Cyclic, Importance, Uniform
    from ascd.engine.rules.ascd import ASCD
    from ascd.engine.rules.largest import Block, HeuristicASCD, LowerASCD, Steepest, UpperASCD
    from ascd.engine.rules.working_set import WorkingSetSweeps
    from ascd.estimators import *  # noqa: F403
    from ascd.io.models import load
    from ascd.io.opening import OnDisk, open_data
    from ascd.matrix.table import Table
    from ascd.problem.block_penalties import L21, GroupL2, SparseGroup
    from ascd.problem.losses import Huber, Logistic, Poisson, Squared, SquaredHinge
    from ascd.problem.penalties import L1, L1L2, L2, BoundedL1L2, Box, Zero
    from ascd.problem.problem import Problem
    from ascd.reproduction import datasets as datasets
    from ascd.reproduction import theory as theory
    from ascd.results import Path, Snapshot, Solution, Status, Trace
    from ascd.solver import path, solve
    from ascd.solver.svm import DualSVM

__version__ = "0.2.0"

# ruff: noqa: F405  names of estimators
__all__ = [
    "ASCD", "L1", "L1L2", "L2", "L21", "NNLS", "Block", "BoundedL1L2", "Box", "Cached",
    "Certificate", "Cyclic", "DualSVM", "ElasticNet", "ElasticNetCV", "Exact", "GroupL2", "GroupLasso",
    "GroupLassoCV", "HeuristicASCD", "Huber", "HuberRegressor", "HuberRegressorCV", "Importance", "Lasso",
    "LassoCV", "LinearSVC", "LinearSVCCV", "Logistic", "LogisticRegression", "LogisticRegressionCV",
    "LowerASCD", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV", "Norm",
    "OnDisk", "Path", "Poisson", "PoissonRegressor", "PoissonRegressorCV", "Problem", "Random", "Reference",
    "Ridge", "RidgeCV", "Simulated", "Sketch", "Snapshot", "Solution", "SparseGroup", "SparseGroupLasso",
    "SparseGroupLassoCV", "Squared", "SquaredHinge", "Status", "Steepest", "Stochastic", "Table", "Trace",
    "Uniform", "UpperASCD", "WorkingSetSweeps", "Zero", "at", "enet_path", "estimators", "helper", "lasso_path",
    "load", "minimize", "model_path", "open_data", "path", "solve",
]  # fmt: skip

#: Where names come from; a file is imported when one of its names is first asked for.
_FILES = {
    "ascd._core.jit": "at helper",
    "ascd.matrix.table": "Table",
    "ascd.engine.minimize": "minimize",
    "ascd.engine.oracles.products": "Cached Exact Norm Random Simulated Sketch",
    "ascd.engine.oracles.reference": "Reference",
    "ascd.engine.oracles.stochastic": "Stochastic",
    "ascd.engine.rules": "Cyclic Importance Uniform",
    "ascd.engine.rules.ascd": "ASCD",
    "ascd.engine.rules.largest": "Block HeuristicASCD LowerASCD Steepest UpperASCD",
    "ascd.engine.rules.working_set": "WorkingSetSweeps",
    "ascd.estimators": "Certificate ElasticNet ElasticNetCV GroupLasso GroupLassoCV HuberRegressor HuberRegressorCV "
    "Lasso LassoCV LinearSVC LinearSVCCV LogisticRegression LogisticRegressionCV MultiTaskElasticNet "
    "MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV NNLS PoissonRegressor PoissonRegressorCV Ridge RidgeCV "
    "SparseGroupLasso SparseGroupLassoCV enet_path lasso_path model_path",
    "ascd.io.models": "load",
    "ascd.io.opening": "OnDisk open_data",
    "ascd.problem.losses": "Huber Logistic Poisson Squared SquaredHinge",
    "ascd.problem.penalties": "L1 L1L2 L2 BoundedL1L2 Box Zero",
    "ascd.problem.block_penalties": "L21 GroupL2 SparseGroup",
    "ascd.problem.problem": "Problem",
    "ascd.results": "Path Snapshot Solution Status Trace",
    "ascd.solver": "path solve",
    "ascd.solver.svm": "DualSVM",
}
_HOMES = {name: module for module, names in _FILES.items() for name in names.split()}
#: Packages and modules that are attributes without an import of their own.
_MODULES = {name: f"ascd.{name}" for name in (
    "cli", "engine", "estimators", "io", "matrix", "plotting", "problem", "protocols", "reproduction", "results",
    "solver",
)} | {
    "datasets": "ascd.reproduction.datasets", "svm": "ascd.solver.svm", "theory": "ascd.reproduction.theory",
}  # fmt: skip
_importing = RLock()


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name):
        """A name is imported when it is first asked for: the command line starts, and can be interrupted, at once.

        scikit-learn's modules import each other in circles, so two threads that import it at once by different ways
        meet half-made modules: one thread imports at a time.
        """
        if name not in _HOMES and name not in _MODULES:
            message = f"module 'ascd' has no attribute {name!r}"
            if name[:1].isupper():
                kinds = [one for one in _FILES["ascd.estimators"].split()[1:] if one[0].isupper() and one[-2:] != "CV"]
                message += f"; its estimators are {', '.join(kinds)}, and all but NNLS with CV at the end of the name"
            raise AttributeError(message, name=name, obj=modules[__name__])  # Python adds the nearest name there is
        with _importing:
            found = import_module(_MODULES[name]) if name in _MODULES else getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
