"""Requests to the chunks of a matrix (``chunked``), and how the answers of row chunks add up.

Arguments and answers are arrays, so that they can travel.  A chunk is a ``Matrix``; a request is the name of one of its
methods or of a function in ``REQUESTS``.  Answers of row chunks to requests in ``SUMS`` add up, and an executor may add
up those it has in one place (``together``), so that one answer travels.  Products of centred columns add up too, each
chunk with its own means m_p and total weight s_p: with m the means of all,

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
from ascd.matrix.arithmetic import UNIT
from ascd.matrix.base import Matrix, as_block
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.sparse import LocalSparse


class Call(NamedTuple):
    """A request to a chunk; chunks are numbered row by row, ``column`` says which columns it holds."""

    chunk: int
    column: int
    request: str
    arguments: tuple[Any, ...]


class Executor(Protocol):
    """Where chunks are: this process, the tasks of a cluster, devices."""

    #: A request costs a round trip.
    is_remote: bool

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """Return the answers in the order of the calls; one round trip.

        Answers that add up (``SUMS``, of chunks with the same columns) may come as one: the others are None then.
        """

    def keep(self, chunks: Sequence[int], values: Sequence[Any]) -> list[Any]:
        """Store values beside these chunks for many rounds; what is returned may be an argument of calls to them."""

    def changed(self, function: Callable[..., Any], *arguments: Any) -> Executor:
        """Return other chunks in the same places: ``function(chunk, *arguments)`` of each."""


class InTurn:
    """Chunks in this process, one after the other; each shares its work among threads."""

    is_remote = False

    def __init__(self, chunks: Sequence[Any]) -> None:
        self.chunks = chunks

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        return [answer(self.chunks[call.chunk], call.request, call.arguments) for call in calls]

    def keep(self, chunks: Sequence[int], values: Sequence[Any]) -> list[Any]:
        return list(values)

    def changed(self, function: Callable[..., Any], *arguments: Any) -> InTurn:
        return InTurn([function(chunk, *arguments) for chunk in self.chunks])


class Facts(NamedTuple):
    """Bytes, stored entries of each column, and whether the chunk is sparse: known without a pass."""

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
    """An answer that knows how those of several row chunks become one."""

    @staticmethod
    def together(answers: Sequence[Any]) -> Any: ...


def answer(chunk: Any, request: str, arguments: tuple[Any, ...]) -> Any:
    """Return what the chunk answers."""
    with np.errstate(all="ignore"):  # what is not finite is named once norms have shown it
        function = REQUESTS.get(request)
        return getattr(chunk, request)(*arguments) if function is None else function(chunk, *arguments)


def shape(chunk: Matrix) -> tuple[int, int]:
    """Return the chunk's shape."""
    return chunk.shape


def facts(chunk: Matrix) -> Facts:
    """Return what is known without a pass."""
    return Facts(int(chunk.nbytes), shortest(chunk.counts), chunk.is_sparse)


def first(chunk: Matrix, weight: Any, vectors: Array, with_products: bool) -> tuple[Any, ...]:
    """Return facts, column_stats and, where they are wanted, moments: all that a first pass can give.

    Where all weights are 1, weighted squares are the plain ones, and are left out.
    """
    square, plain, total, known = chunk.column_stats(weight, np.ascontiguousarray(vectors))
    is_plain = np.ndim(weight) == 0 and weight == 1.0
    found = moments(chunk, np.arange(chunk.shape[1]), weight, total if is_plain else None) if with_products else None
    return facts(chunk), (square[:0] if is_plain else square, plain, total, known), found


def moments(chunk: Matrix, columns: Array, weight: Any, sums: Array | None = None) -> Moments:
    """Return the moments of these columns; ``sums`` are their weighted sums, where those are known."""
    weights = np.full(chunk.shape[0], float(weight)) if np.ndim(weight) == 0 else weight
    total = float(weights.sum())
    means = sums / total if sums is not None and total > 0.0 else chunk.means(columns, weights)
    return Moments(columns, total, means, _multiply(chunk, columns, 0, weights, means))


def squares(chunk: Matrix, columns: Array, weight: Any) -> Array:
    """Return ``squares`` of the chunk."""
    return chunk.squares(weight, columns)


def dots_and_worst(
    chunk: Matrix, columns: Array, vector: Array, low: Array, high: Array, most: int
) -> tuple[Array, Array, Any]:
    """Return products g, the places of columns with −g farthest outside low .. high (in column norms), and these."""
    found = chunk.dots(columns, vector)
    outside = np.maximum(low + found, -found - high)
    there = np.flatnonzero(outside > 0.0)
    away = outside[there] / np.sqrt(np.maximum(chunk.squares(1.0, columns[there]), 1e-300))
    worst = np.sort(there[np.argsort(-away, kind="stable")[:most]])
    return found, worst, block(chunk, columns[worst])


def linear(chunk: Matrix, columns: Array, factors: Array) -> Array:
    """Return A_columns·factors on the rows of the chunk, with a column an output where there are several."""
    out = np.zeros((*factors.shape[1:], chunk.shape[0]))
    for line, factor in zip(out.reshape(-1, chunk.shape[0]), factors.reshape(columns.size, -1).T, strict=True):
        chunk.add(columns, np.ascontiguousarray(factor), line)
    return out.T


def block(chunk: Matrix, columns: Array) -> Any:
    """Return these columns as float64: an array in Fortran order, or a SciPy matrix by columns."""
    part = chunk.take(columns)
    if chunk.is_sparse:
        return part.matrix.to_scipy(chunk.shape[0], part.matrix.indptr.size - 1)[:, part.places]
    return as_block(part, chunk.shape[0])


def products(chunk: Matrix, columns: Array, count: int, weight: Array, means: Array | None) -> Array:
    """Return products of the first ``count`` columns with the others (0: of all with all), less the means given."""
    if means is None:
        return _multiply(chunk, columns, count, weight, None)
    own = chunk.means(columns, weight)
    away = own - means
    left, right = (away[:count], away[count:]) if count else (away, away)
    return _multiply(chunk, columns, count, weight, own) + np.outer(float(weight.sum()) * left, right)


def _multiply(chunk: Matrix, columns: Array, count: int, weight: Array, means: Array | None) -> Array:
    """Products of columns less their means on these rows."""
    places = np.arange(columns.size)
    left, right = (places, places) if count == 0 else (places[:count], places[count:])
    store = np.zeros((columns.size, columns.size), order="F")
    less = None
    if means is not None:
        less = np.zeros(chunk.shape[1])
        less[columns] = means
    chunk.multiplier(False).fill(store, columns, left, right, weight, less)
    return store[np.ix_(left, right)] if count else store


def apply(chunk: Matrix, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function finds in the chunk; its answers say how they add up (``Additive``)."""
    return function(chunk, *arguments)


def check_finite(chunk: Matrix) -> str:
    """Return what is wrong with the numbers of the chunk, or "" if all are finite."""
    try:
        chunk.check_finite()
    except ValueError as error:
        return str(error)
    return ""


def with_constant(chunk: Any, value: float) -> Any:
    """Return a copy of the chunk with one more column, which is constant; a chunk without rows as it is."""
    if 0 in chunk.shape:
        return chunk
    local, column = chunk.in_memory(), np.full((chunk.shape[0], 1), value, order="F")
    if not chunk.is_sparse:
        return local.beside(LocalDense(Dense(column), column.shape))
    from scipy import sparse

    return local.beside(LocalSparse.of(sparse.csc_array(column)))


REQUESTS: dict[str, Callable[..., Any]] = {
    made.__name__: made
    for made in (
        shape, facts, first, moments, squares, dots_and_worst, linear, block, products, apply,
        check_finite,
    )
}  # fmt: skip


def together(request: str, answers: Sequence[Any]) -> Any:
    """Return the answer of several row chunks with the same columns to a request in ``SUMS``."""
    with np.errstate(all="ignore"):
        return answers[0] if len(answers) == 1 else SUMS[request](answers)


def add_moments(answers: Sequence[Moments]) -> Moments:
    """Return the moments of all rows, from those of row chunks; see the top."""
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


def add_carefully(answers: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the sum of products with error bounds, and its own bound: two-sums keep what every addition loses."""
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


def shortest(counts: Array) -> Array:
    """Return numbers that are not negative in the shortest integers that hold them."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _add_all(answers: Sequence[Array]) -> Array:
    return np.asarray(reduce(add, answers))


def _add_facts(answers: Sequence[Facts]) -> Facts:
    nbytes, counts, is_sparse = zip(*answers, strict=True)
    return Facts(sum(nbytes), shortest(np.asarray(np.sum(counts, axis=0, dtype=np.int64))), any(is_sparse))


def _add_first(answers: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    known, surveys, found = zip(*answers, strict=True)
    sums = tuple(_add_all(field) for field in zip(*surveys, strict=True))
    return _add_facts(known), sums, None if found[0] is None else add_moments(found)


SUMS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "facts": _add_facts,
    "first": _add_first,
    "moments": add_moments,
    "squares": _add_all,
    "dots": _add_all,
    "dots_with_several": _add_all,
    "careful_dots": add_carefully,
    "products": _add_all,
    "apply": lambda answers: answers[0].together(answers),
}
