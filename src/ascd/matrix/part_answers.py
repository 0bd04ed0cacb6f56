"""What a part of a matrix is asked, and answers from its own rows and columns; see ``parted``.

Arguments and answers are arrays, so that they can travel.  A part is a design (``Local``, ``Distant``) or anything
else with these methods; what only designs of numbers can answer is put together here.

Answers of row parts to the questions in ``SUMS`` add up.  Whoever holds several of them may add them up where they are
(``together``), so that one answer travels.  Products of centred columns add up too, each part with its own means m_p
and total weight s_p: with m the means of all,

    Σ_k s_k (a_k − m)(a_k − m)ᵀ = Σ_p [Σ_{k in p} s_k (a_k − m_p)(a_k − m_p)ᵀ + s_p (m_p − m)(m_p − m)ᵀ],

a sum without cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Protocol

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.careful import UNIT
from ascd.matrix.packing import shortest


class Facts(NamedTuple):
    """Bytes, stored entries of each column, and whether the part is sparse."""

    nbytes: int
    counts: Array
    is_sparse: bool


class Moments(NamedTuple):
    """Of some columns: Σs, their means weighted by s, and the products of the columns less these."""

    columns: Array
    total: float
    means: Array
    products: Array


class Additive(Protocol):
    """An answer that knows how those of several row parts become one."""

    @staticmethod
    def together(answers: Sequence[Any]) -> Any: ...


def answer(part: Any, question: str, arguments: tuple[Any, ...]) -> Any:
    """What the part answers to one of ``QUESTIONS``."""
    with np.errstate(all="ignore"):  # what is not finite is told by name, once norms have shown it
        return QUESTIONS[question](part, *arguments)


def shape(part: Any) -> tuple[int, int]:
    found: tuple[int, int] = part.shape
    return found


def facts(part: Any) -> Facts:
    """Known without a pass."""
    is_sparse = hasattr(part.take(np.arange(0)).matrix, "indptr")
    return Facts(int(part.nbytes), shortest(part.counts), is_sparse)


def survey(part: Any, weight: Any, vectors: Array) -> tuple[Array, ...]:
    return tuple(part.survey(weight, np.ascontiguousarray(vectors)))


def first(part: Any, weight: Any, vectors: Array, with_products: bool) -> tuple[Any, ...]:
    """Facts, survey and, where they are wanted, moments: all that a first pass can bring.

    Where all weigh 1, weighted squares are the plain ones, and are left out.
    """
    square, plain, total, known = survey(part, weight, vectors)
    is_plain = np.ndim(weight) == 0 and weight == 1.0
    found = moments(part, np.arange(part.shape[1]), weight, total if is_plain else None) if with_products else None
    return facts(part), (square[:0] if is_plain else square, plain, total, known), found


def moments(part: Any, columns: Array, weight: Any, sums: Array | None = None) -> Moments:
    """``sums`` are the weighted sums of the columns, where they are known."""
    weights = np.full(part.shape[0], float(weight)) if np.ndim(weight) == 0 else weight
    total = float(weights.sum())
    means = _means(part, columns, weights, total, sums)
    return Moments(columns, total, means, _multiply(part, columns, 0, weights, means))


def _means(part: Any, columns: Array, weights: Array, total: float, sums: Array | None = None) -> Array:
    if not total > 0.0:
        return np.zeros(columns.size)
    found: Array = (part.dots(columns, weights) if sums is None else sums) / total
    return found


def squares(part: Any, columns: Array, weight: Any) -> Array:
    found: Array = part.squares(weight, columns)
    return found


def dots(part: Any, columns: Array, vector: Array) -> Array:
    found: Array = part.dots(columns, vector)
    return found


def dots_and_moments(part: Any, columns: Array, vector: Array, others: Array, weight: Array) -> tuple[Any, ...]:
    """Products with a vector, and the moments of these or other columns that will be asked for next."""
    return dots(part, columns, vector), moments(part, others, weight)


def dots_and_worst(
    part: Any, chosen: Array, vector: Array, low: Array, high: Array, most: int
) -> tuple[Array, Array, Any]:
    """Products g, and the columns for which −g is farthest outside low .. high, in lengths of theirs; so many at most.

    The answer tells their places among those chosen.
    """
    found = dots(part, chosen, vector)
    outside = np.maximum(low + found, -found - high)
    there = np.flatnonzero(outside > 0.0)
    away = outside[there] / np.sqrt(np.maximum(squares(part, chosen[there], 1.0), 1e-300))
    worst = np.sort(there[np.argsort(-away, kind="stable")[:most]])
    return found, worst, columns(part, chosen[worst])


def careful_dots(part: Any, columns: Array, vector: Array) -> tuple[Array, Array]:
    found: tuple[Array, Array] = part.careful_dots(columns, vector)
    return found


def image(part: Any, columns: Array, factors: Array) -> Array:
    """A_columns·factors on the rows of this part; one column an output, where there are several."""
    out = np.zeros((*factors.shape[1:], part.shape[0]))
    for line, factor in zip(out.reshape(-1, part.shape[0]), factors.reshape(columns.size, -1).T, strict=True):
        part.add(columns, np.ascontiguousarray(factor), line)
    return out.T


def columns(part: Any, chosen: Array) -> Any:
    """These columns as float64: an array in Fortran order, or a SciPy matrix by columns."""
    matrix, places = part.take(chosen)
    if hasattr(matrix, "indptr"):
        return matrix.to_scipy(part.shape[0], matrix.indptr.size - 1)[:, places]
    return np.asfortranarray(matrix.values[:, places], dtype=np.float64)


def products(part: Any, chosen: Array, count: int, weight: Array, means: Array | None) -> Array:
    """Products of the first ``count`` columns with the others (0: of all with all), each less its mean of all rows."""
    if means is None:
        return _multiply(part, chosen, count, weight, None)
    total = float(weight.sum())
    own = _means(part, chosen, weight, total)
    away = own - means
    left, right = (away[:count], away[count:]) if count else (away, away)
    return _multiply(part, chosen, count, weight, own) + np.outer(total * left, right)


def _multiply(part: Any, chosen: Array, count: int, weight: Array, means: Array | None) -> Array:
    """Products of columns less their means of these rows."""
    places = np.arange(chosen.size)
    left, right = (places, places) if count == 0 else (places[:count], places[count:])
    store = np.zeros((chosen.size, chosen.size), order="F")
    less = None
    if means is not None:
        less = np.zeros(part.shape[1])
        less[chosen] = means
    part.multiplier(False).fill(store, chosen, left, right, weight, less)
    return store[np.ix_(left, right)] if count else store


def apply(part: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function finds in the part, whose answers say how they add up (``Additive``)."""
    return function(part, *arguments)


def check_finite(part: Any) -> str:
    """What is wrong with the numbers of this part; nothing if all are finite."""
    try:
        part.check_finite()
    except ValueError as error:
        return str(error)
    return ""


QUESTIONS = {
    made.__name__: made
    for made in (
        shape, facts, first, moments, survey, squares, dots, dots_and_moments, dots_and_worst, careful_dots, image,
        columns, products, apply, check_finite,
    )
}  # fmt: skip


def together(question: str, answers: Sequence[Any]) -> Any:
    """The answer of several row parts with the same columns, to a question in ``SUMS``."""
    with np.errstate(all="ignore"):
        return answers[0] if len(answers) == 1 else SUMS[question](answers)


def _add_fields(answers: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    return tuple(reduce(add, field) for field in zip(*answers, strict=True))


def _add_facts(answers: Sequence[Facts]) -> Facts:
    nbytes, counts, is_sparse = zip(*answers, strict=True)
    return Facts(sum(nbytes), shortest(np.asarray(np.sum(counts, axis=0, dtype=np.int64))), any(is_sparse))


def add_moments(answers: Sequence[Moments]) -> Moments:
    """Those of all rows, from those of parts; see the top."""
    total = sum(one.total for one in answers)
    means = answers[0].means
    if total > 0.0:
        means = _add_all([one.total * one.means for one in answers]) / total
    found = answers[0].products.copy()
    for one in answers[1:]:
        found += one.products
    for one in answers:
        away = one.means - means
        found += np.outer(one.total * away, away)
    return Moments(answers[0].columns, total, means, found)


def _add_first(answers: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    known, surveys, found = zip(*answers, strict=True)
    return _add_facts(known), _add_fields(surveys), None if found[0] is None else add_moments(found)


def add_carefully(answers: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The sum of products with error bounds, and its own: two-sums keep what every addition loses."""
    total, error = answers[0]
    if len(answers) == 1:
        return total, error
    rest, lost = np.zeros((2, total.size))
    for product, bound in answers[1:]:
        grown = total + product
        back = grown - total
        left = (total - (grown - back)) + (product - back)
        total, rest, lost, error = grown, rest + left, lost + np.abs(left), error + bound
    result = total + rest
    return result, 1.01 * (error + np.where(rest != 0.0, UNIT * np.abs(result), 0.0) + len(answers) * UNIT * lost)


def _add_all(answers: Sequence[Array]) -> Array:
    return np.asarray(reduce(add, answers))


def _add_as_they_say(answers: Sequence[Additive]) -> Any:
    return answers[0].together(answers)


def _add_dots_and_moments(answers: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    found, others = zip(*answers, strict=True)
    return _add_all(found), add_moments(others)


SUMS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "facts": _add_facts,
    "first": _add_first,
    "moments": add_moments,
    "survey": _add_fields,
    "squares": _add_all,
    "dots": _add_all,
    "dots_and_moments": _add_dots_and_moments,
    "careful_dots": add_carefully,
    "products": _add_all,
    "apply": _add_as_they_say,
}
