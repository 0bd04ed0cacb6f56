"""Approximate Steepest Coordinate Descent (Stich, Raj, Jaggi, ICML 2017) for F(x) = f(Ax) + Σ Ψ_j(x_j).

State a problem, choose the parts, descend:

>>> import numpy as np, ascd
>>> A = np.random.default_rng(0).standard_normal((100, 500))
>>> problem = ascd.Problem(A, A[:, 0] - A[:, 1], penalty=ascd.L1(10.0))
>>> solution = ascd.minimize(problem, rule="ascd", oracle="norm", rng=0)
>>> solution.converged
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascd import estimators
from ascd._base.jit import at, helper
from ascd.blocks import L21, BlockPath, BlockProblem, BlockSolution, GroupL2, SparseGroup, path_blocks, solve_blocks
from ascd.data.table import Table
from ascd.engine.minimize import minimize
from ascd.engine.oracles import Blind, Cached, Exact, Measured, Norm, Random, Reference, Simulated, Sketch, Stochastic
from ascd.engine.rules import (
    ASCD,
    Adaptive,
    Awake,
    Block,
    Cyclic,
    HeuristicASCD,
    Importance,
    LookAhead,
    LowerASCD,
    Steepest,
    Uniform,
    UpperASCD,
)
from ascd.files.opening import OnDisk, open_data
from ascd.problem.losses import Huber, Logistic, Poisson, Squared, SquaredHinge
from ascd.problem.penalties import L1, L1L2, L2, BoundedL1L2, Box, Zero
from ascd.problem.problem import Problem
from ascd.results.solution import Snapshot, Solution, Status
from ascd.results.trace import Trace
from ascd.solver import Path, path, solve
from ascd.svm import DualSVM

if TYPE_CHECKING:
    from ascd.estimators import (
        NNLS,
        Certificate,
        ElasticNet,
        ElasticNetCV,
        GroupLasso,
        GroupLassoCV,
        HuberRegressor,
        Lasso,
        LassoCV,
        LinearSVC,
        LogisticRegression,
        LogisticRegressionCV,
        MultiTaskElasticNet,
        MultiTaskElasticNetCV,
        MultiTaskLasso,
        MultiTaskLassoCV,
        PoissonRegressor,
        Ridge,
        SparseGroupLasso,
        SparseGroupLassoCV,
        enet_path,
        lasso_path,
        logistic_path,
    )

__version__ = "0.2.0"

__all__ = [
    "ASCD",
    "L1",
    "L1L2",
    "L2",
    "L21",
    "NNLS",
    "Adaptive",
    "Awake",
    "Blind",
    "Block",
    "BlockPath",
    "BlockProblem",
    "BlockSolution",
    "BoundedL1L2",
    "Box",
    "Cached",
    "Certificate",
    "Cyclic",
    "DualSVM",
    "ElasticNet",
    "ElasticNetCV",
    "Exact",
    "GroupL2",
    "GroupLasso",
    "GroupLassoCV",
    "HeuristicASCD",
    "Huber",
    "HuberRegressor",
    "Importance",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "Logistic",
    "LogisticRegression",
    "LogisticRegressionCV",
    "LookAhead",
    "LowerASCD",
    "Measured",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "Norm",
    "OnDisk",
    "Path",
    "Poisson",
    "PoissonRegressor",
    "Problem",
    "Random",
    "Reference",
    "Ridge",
    "Simulated",
    "Sketch",
    "Snapshot",
    "Solution",
    "SparseGroup",
    "SparseGroupLasso",
    "SparseGroupLassoCV",
    "Squared",
    "SquaredHinge",
    "Status",
    "Steepest",
    "Stochastic",
    "Table",
    "Trace",
    "Uniform",
    "UpperASCD",
    "Zero",
    "at",
    "enet_path",
    "estimators",
    "helper",
    "lasso_path",
    "logistic_path",
    "minimize",
    "open_data",
    "path",
    "path_blocks",
    "solve",
    "solve_blocks",
]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name):
        """Estimators are imported at first use: until then scikit-learn is not."""
        if name not in estimators.__all__:
            raise AttributeError(f"module 'ascd' has no attribute {name!r}")
        found = globals()[name] = getattr(estimators, name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *estimators.__all__})
