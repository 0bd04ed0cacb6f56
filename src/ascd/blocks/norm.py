"""An old place of ``BlockNorm``, for estimators."""

from ascd.problem.penalties.blocks import BlockNorm as BlockNorm
