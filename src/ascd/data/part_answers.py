"""What a part of a matrix is asked, and answers from its own rows and columns; see ``parted``.

Arguments and answers are arrays, so that they can travel.  A part is a design (``Local``, ``Distant``) or anything
else with these methods; what only designs of numbers can answer is put together here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array


class Facts(NamedTuple):
    """Bytes, stored entries of each column, and whether the part is sparse."""

    nbytes: int
    counts: Array
    is_sparse: bool


def answer(part: Any, question: str, arguments: tuple[Any, ...]) -> Any:
    """What the part answers to one of ``QUESTIONS``."""
    return QUESTIONS[question](part, *arguments)


def facts(part: Any) -> Facts:
    """Known without a pass."""
    is_sparse = hasattr(part.take(np.arange(0)).matrix, "indptr")
    return Facts(int(part.nbytes), part.counts, is_sparse)


def survey(part: Any, weight: Any, vectors: Array) -> tuple[Array, ...]:
    return tuple(part.survey(weight, np.ascontiguousarray(vectors)))


def squares(part: Any, columns: Array, weight: Any) -> Array:
    found: Array = part.squares(weight, columns)
    return found


def dots(part: Any, columns: Array, vector: Array) -> Array:
    found: Array = part.dots(columns, vector)
    return found


def careful_dots(part: Any, columns: Array, vector: Array) -> tuple[Array, Array]:
    found: tuple[Array, Array] = part.careful_dots(columns, vector)
    return found


def image(part: Any, columns: Array, factors: Array) -> Array:
    """A_columns·factors on the rows of this part."""
    out = np.zeros(part.shape[0])
    part.add(columns, factors, out)
    return out


def columns(part: Any, chosen: Array) -> Any:
    """These columns as float64: an array in Fortran order, or a SciPy matrix by columns."""
    matrix, places = part.take(chosen)
    if hasattr(matrix, "indptr"):
        return matrix.to_scipy(part.shape[0], matrix.indptr.size - 1)[:, places]
    return np.asfortranarray(matrix.values[:, places], dtype=np.float64)


def products(part: Any, chosen: Array, count: int, weight: Array, means: Array | None) -> Array:
    """Products of the first ``count`` columns with the others (0: of all with all), each less its mean."""
    places = np.arange(chosen.size)
    left, right = (places, places) if count == 0 else (places[:count], places[count:])
    store = np.zeros((chosen.size, chosen.size), order="F")
    less = None
    if means is not None:
        less = np.zeros(part.shape[1])
        less[chosen] = means
    part.multiplier(False).fill(store, chosen, left, right, weight, less)
    return store[np.ix_(left, right)] if count else store


def check_finite(part: Any) -> str:
    """What is wrong with the numbers of this part; nothing if all are finite."""
    try:
        part.check_finite()
    except ValueError as error:
        return str(error)
    return ""


QUESTIONS = {
    made.__name__: made for made in (facts, survey, squares, dots, careful_dots, image, columns, products, check_finite)
}
