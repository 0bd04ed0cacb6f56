"""Weights of the samples, and the norms of the columns with them: what every problem begins with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_parameter
from ascd._core.jit import at, kernel, wide
from ascd.matrix.base import Design, Part, Survey
from ascd.problem.tuning import SMALLEST_SQUARE


def read_norms(design: Design, sample_weight: Any) -> tuple[Any, Survey]:
    """One pass over all columns, for losses whose curvatures are at most 1: the weights, and what it brought."""
    weight = as_weights(sample_weight, design.shape[0])
    survey = design.survey(weight, np.empty((0, design.shape[0])))
    check_norms(design, survey, weight, 1.0)
    return weight, survey


def as_weights(sample_weight: Any, n_samples: int) -> Any:
    if sample_weight is None:
        return 1.0
    if np.ndim(sample_weight) == 0:
        raise ValueError(f"sample_weight must be one-dimensional; got {sample_weight!r}")
    return as_parameter(sample_weight, "sample_weight", n_samples, low=0.0)


def check_norms(design: Any, survey: Survey, weight: Any, bound: float) -> None:
    """The norms have seen every entry: no other pass is needed to find what is not finite, or lost."""
    square = survey.square
    largest = float(np.maximum(square, survey.plain).max())
    if not math.isfinite(largest):
        check_finite(design, lambda: survey)
    if not math.isfinite(largest * (max(bound, 1.0) if bound < math.inf else 1.0)):
        raise ValueError("A has columns whose squared norm overflows float64: rescale A")
    if square.min() < SMALLEST_SQUARE:
        _check_small_columns(design, weight, np.flatnonzero(square < SMALLEST_SQUARE))


def check_finite(design: Any, survey: Callable[[], Survey]) -> None:
    """Raise a ValueError that names what is not finite, and the first column that has it: its sum is not."""
    try:
        design.check_finite()
    except ValueError as error:
        columns, names = np.flatnonzero(~np.isfinite(survey().total)), design.feature_names
        if columns.size == 0:
            raise
        first = f"{columns[0]}" if names is None else repr(names[columns[0]])
        raise ValueError(f"{error}; the first column with such is {first}") from None


def _check_small_columns(design: Design, weight: Any, columns: Array) -> None:
    """Columns whose squared norm is lost below float64's range: nothing can be proved of them."""
    columns = columns[design.counts[columns] > 0]  # a column may just be empty
    part: Part = design.take(columns)
    found = int(first_with_entries(part.matrix, weight, part.places))
    if found >= 0:
        j = columns[found]
        raise ValueError(
            f"A has columns whose squared norm (weighted by the samples) underflows float64, the first is column {j}: "
            "rescale A, or set them to zero"
        )


@kernel
def first_with_entries(matrix: Any, weight: Any, columns: Array) -> int:
    """Where the first column stands that has an entry other than 0 in a sample that counts; −1 if none has."""
    for i in range(columns.size):
        j = wide(columns[i])
        for p in range(matrix.start(j), matrix.stop(j)):
            if matrix.entry(p, j) != 0.0 and at(weight, matrix.row(p)) > 0.0:
                return i
    return -1
