"""Blocks: groups of columns, several outputs, or both; ``solve_blocks`` and ``path_blocks``."""

from ascd.blocks.path import BlockPath, path_blocks
from ascd.blocks.penalties import L21, GroupL2, SparseGroup
from ascd.blocks.problem import BlockProblem
from ascd.blocks.solve import BlockSolution, solve_blocks

__all__ = ["L21", "BlockPath", "BlockProblem", "BlockSolution", "GroupL2", "SparseGroup", "path_blocks", "solve_blocks"]
