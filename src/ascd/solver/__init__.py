"""The production solver: ``solve`` for one problem, ``path`` for a sequence of penalties."""

from ascd.results import Path
from ascd.solver.path import path
from ascd.solver.solve import solve

__all__ = ["Path", "path", "solve"]
