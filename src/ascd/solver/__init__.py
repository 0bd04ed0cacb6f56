"""The production solver: ``solve`` for one problem, ``path`` for a sequence of penalties."""

from ascd.results import Path
from ascd.solver.loop import solve
from ascd.solver.path import path

__all__ = ["Path", "path", "solve"]
