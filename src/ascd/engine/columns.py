"""Columns for steps, which read single ones: they are in local memory, or copied there from data that lie by rows."""

from __future__ import annotations

from copy import copy

from ascd.matrix.base import Design
from ascd.problem.problem import Problem


def local_columns(design: Design, instead: str) -> Design:
    """A design in local memory; data that are elsewhere are not fetched as a whole, for which there is ``instead``."""
    if design.matrix is not None:
        return design
    local = None if design.is_dear else design.in_memory()
    if local is None:
        raise TypeError(
            f"minimize reads single columns, which must be in local memory; {type(design).__name__} keeps them: use "
            f"{instead}"
        )
    return local


def with_local_columns(problem: Problem) -> Problem:
    """The same problem with its columns in local memory."""
    if problem.parts.matrix is not None:
        return problem
    local, other = local_columns(problem.design, "ascd.solve"), copy(problem)
    other.design, other.parts = local, problem.parts._replace(matrix=local.matrix)
    return other
