"""Columns for steps, which read single ones: they are in local memory, or copied there from data that lie by rows."""

from __future__ import annotations

from copy import copy
from typing import Any

from ascd.matrix.local import Local
from ascd.problem.problem import Problem


def local_columns(design: Any, instead: str) -> Local:
    """A design in local memory; data that are elsewhere are not fetched as a whole, for which there is ``instead``."""
    if getattr(design, "matrix", None) is not None:
        return design  # type: ignore[no-any-return]
    if design.is_dear or not hasattr(design, "in_memory"):
        raise TypeError(
            f"minimize reads single columns, which must be in local memory; {type(design).__name__} keeps them: use "
            f"{instead}"
        )
    return design.in_memory()  # type: ignore[no-any-return]


def with_local_columns(problem: Problem) -> Problem:
    """The same problem with its columns in local memory."""
    if problem.parts.matrix is not None:
        return problem
    local, other = local_columns(problem.design, "ascd.solve"), copy(problem)
    other.design, other.parts = local, problem.parts._replace(matrix=local.matrix)
    return other
