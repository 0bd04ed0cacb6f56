"""Old names of what ``ascd.Problem``, ``ascd.solve`` and ``ascd.path`` do now, for estimators."""

from typing import Any

from ascd.problem.penalties.blocks import L21 as L21
from ascd.problem.penalties.blocks import GroupL2 as GroupL2
from ascd.problem.penalties.blocks import SparseGroup as SparseGroup
from ascd.problem.problem import Problem
from ascd.results.path import Path as BlockPath
from ascd.results.solution import Solution as BlockSolution
from ascd.solver.path import path as path_blocks
from ascd.solver.solve import solve as solve_blocks

__all__ = ["L21", "BlockPath", "BlockProblem", "BlockSolution", "GroupL2", "SparseGroup", "path_blocks", "solve_blocks"]


class BlockProblem(Problem):
    """``Problem`` with the groups before the weights."""

    def __init__(
        self, A: Any, b: Any, loss: Any = "squared", penalty: Any = None, groups: Any = None, sample_weight: Any = None
    ) -> None:
        super().__init__(A, b, loss, penalty, sample_weight, groups=groups)
