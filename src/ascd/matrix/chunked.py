"""A matrix in chunks: cut by columns, by rows or both; every chunk is itself a matrix, wherever it is.

Answers of column chunks are joined, answers of row chunks are summed:

    ⟨a_j, v⟩ = Σ_chunks ⟨a_j[rows], v[rows]⟩,       (Ax)[rows] = Σ_chunks A[rows, columns]·x[columns].

An *executor* says where chunks are: in this process, on a cluster, on devices.  A *request* is a function of a chunk or
the name of one of its methods; arguments and answers are arrays, so that they can travel.  Where answers of row chunks
add up, an executor may add up those it has in one place, so that one answer travels.  Products of centred columns add
up too, each chunk with its own means m_p and total weight s_p: with the means m of all,

    Σ_k s_k (a_k − m)(a_k − m)ᵀ = Σ_p [Σ_{k in p} s_k (a_k − m_p)(a_k − m_p)ᵀ + s_p (m_p − m)(m_p − m)ᵀ],

a sum without cancellation.

Tall data in row chunks (``TallChunks``) multiply their columns themselves, and no column is ever fetched; of others
(``WideChunks``) working sets are fetched and cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats, Matrix, as_block
from ascd.matrix.cached import CachedMatrix, Remote, joined
from ascd.matrix.columns import UNIT
from ascd.matrix.dense import Dense, Local, LocalDense, check_design
from ascd.matrix.sparse import CSC

Request = str | Callable[..., Any]
Total = Callable[[Sequence[Any]], Any]


class Call(NamedTuple):
    """A request to a chunk; chunks are numbered row by row, ``column`` says which columns it holds.

    ``total`` adds up the answers of chunks with the same columns, or is None.
    """

    chunk: int
    column: int
    request: Request
    arguments: tuple[Any, ...] = ()
    total: Total | None = None


class InTurn:
    """An executor: chunks in this process, one after the other; each shares its work among threads.

    Executors for chunks that are elsewhere inherit from it; ``is_remote`` says that a request costs a round trip.
    """

    is_remote = False

    def __init__(self, chunks: Sequence[Any]) -> None:
        self.chunks = list(chunks)

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """Return the answers in the order of the calls, at most one a chunk; one round trip.

        Answers that add up may come as one: the others are None then.
        """
        return [self.run(answer, self.chunks[call.chunk], call.request, call.arguments) for call in calls]

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the function returns, or what stands for it, where the chunks among its arguments are."""
        return function(*arguments)

    def keep(self, values: Sequence[Any]) -> list[Any]:
        """Store values beside the first chunks for many rounds; what is returned stands for them in calls."""
        return list(values)


# ---- requests


class Moments(NamedTuple):
    """Of some columns: Σs, their means weighted by s, and the products of the columns less these."""

    columns: Array
    total: float
    means: Array
    products: Array


def answer(chunk: Any, request: Request, arguments: Sequence[Any]) -> Any:
    """Return what the chunk answers."""
    with np.errstate(all="ignore"):  # what is not finite is named once norms have shown it
        return request(chunk, *arguments) if callable(request) else getattr(chunk, request)(*arguments)


def first(chunk: Matrix, weight: Any, vectors: Array, with_products: bool) -> tuple[Any, ...]:
    """Return bytes, whether it is sparse, counts, column_stats and, where they are wanted, moments.

    This is all that a first pass can give; all but the moments are numbers and arrays that add up.
    """
    stats = chunk.column_stats(weight, np.ascontiguousarray(vectors))
    found = moments(chunk, np.arange(chunk.shape[1]), weight) if with_products else None
    return int(chunk.nbytes), int(chunk.is_sparse), chunk.counts, *stats, found


def moments(chunk: Matrix, columns: Array, weight: Any, sums: Array | None = None) -> Moments:
    """Return the moments of these columns; ``sums`` are their weighted sums, where those are known."""
    weights = np.full(chunk.shape[0], float(weight)) if np.ndim(weight) == 0 else weight
    total, less = float(weights.sum()), np.zeros(chunk.shape[1])
    less[columns] = means = sums / total if sums is not None and total > 0.0 else chunk.means(columns, weights)
    return Moments(columns, total, means, chunk.products(columns, columns, weights, less))


def dots_and_worst(
    chunk: Matrix, columns: Array, low: Any, high: Any, most: int, vector: Array
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
    out = np.zeros((chunk.shape[0], *factors.shape[1:]))
    chunk.add(columns, np.ascontiguousarray(factors), out)
    return out


def block(chunk: Matrix, columns: Array) -> Any:
    """Return these columns as float64: a SciPy matrix by columns, or an array in Fortran order."""
    part = chunk.take(columns)
    if isinstance(part.matrix, CSC):
        return part.matrix.to_scipy(chunk.shape[0], part.matrix.indptr.size - 1)[:, part.places]
    return as_block(part, chunk.shape[0])


def with_constant(matrix: Matrix, value: float) -> Matrix:
    """Return a matrix with one more column, which is constant; row chunks of tall data get it where they are."""
    d, n = matrix.shape
    if isinstance(matrix, TallChunks):
        executor, rows = copy(matrix.executor), np.array([0, *(span.stop for span in matrix.spans)])
        executor.chunks = [executor.run(with_constant, chunk, value) for chunk in executor.chunks]
        return TallChunks(executor, rows, np.array([0, n + 1]))
    column = LocalDense(Dense(np.full((d, 1), value, order="F")), (d, 1))
    return WideChunks(InTurn([matrix, column]), np.array([0, d]), np.array([0, n, n + 1]))


# ---- sums of the answers of row chunks


def added(total: Total, answers: Sequence[Any]) -> Any:
    """Return the answer of several row chunks with the same columns."""
    with np.errstate(all="ignore"):
        return answers[0] if len(answers) == 1 else total(answers)


def add_all(answers: Iterable[Any]) -> Any:
    """Return the sum of arrays or numbers."""
    return reduce(add, answers)


def add_moments(answers: Sequence[Moments]) -> Moments:
    """Return the moments of all rows, from those of row chunks; see the top."""
    total, means = sum(one.total for one in answers), answers[0].means
    if total > 0.0:
        means = add_all(one.total * one.means for one in answers) / total
    away = (one.means - means for one in answers)
    found = add_all(one.products + np.outer(one.total * a, a) for one, a in zip(answers, away, strict=True))
    return Moments(answers[0].columns, total, means, found)


def add_carefully(answers: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the sum of products with error bounds, and its own bound: two-sums keep what every addition loses."""
    total, error = answers[0]
    rest, lost = np.zeros((2, total.size))
    for product, bound in answers[1:]:
        grown = total + product
        back = grown - total
        left = (total - (grown - back)) + (product - back)
        total, rest, lost, error = grown, rest + left, lost + np.abs(left), error + bound
    result = total + rest
    return result, 1.01 * (error + np.where(rest != 0.0, UNIT * np.abs(result), 0.0) + len(answers) * UNIT * lost)


def add_first(answers: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the sums of what ``first`` returns."""
    *sums, found = zip(*answers, strict=True)
    return *map(add_all, sums), None if found[0] is None else add_moments(found)


def add_own(answers: Sequence[Any]) -> Any:
    """Return the sum of answers that have a method for it."""
    return answers[0].together(answers)


# ---- matrices in chunks


def chunked(executor: InTurn, rows: Array, columns: Array) -> Matrix:
    """Return the matrix of chunks, numbered row by row, that end at these ``rows`` and ``columns``, from 0 on."""
    rows, columns = as_ends(rows, "rows"), as_ends(columns, "columns")
    if type(executor) is InTurn:  # others have been opened where they are
        check_chunks(executor.chunks, [(int(d), int(n)) for d in np.diff(rows) for n in np.diff(columns)])
    is_tall = columns.size == 2 and columns[-1] <= min(costs.AT_ONCE, int(rows[-1]))
    return (TallChunks if is_tall else WideChunks)(executor, rows, columns)


def as_ends(ends: Any, name: str) -> Array:
    """Return where chunks end as an array, or raise an error."""
    found = np.asarray(ends)
    if found.ndim != 1 or found.size < 2 or found.dtype.kind not in "iu" or found[0] or (found[1:] <= found[:-1]).any():
        raise ValueError(f"{name}: the ends of chunks must be integers that rise from 0; got {ends!r}")
    return found.astype(np.int64)


def check_chunks(chunks: Sequence[Any], shapes: Sequence[tuple[int, int]]) -> None:
    """Raise an error unless the chunks are matrices of these shapes."""
    if len(chunks) != len(shapes):
        raise ValueError(f"executor: the ends of rows and columns ask for {len(shapes)} chunks; got {len(chunks)}")
    for k, (chunk, shape) in enumerate(zip(chunks, shapes, strict=True)):
        if not isinstance(chunk, Matrix) or tuple(chunk.shape) != shape:
            found = f"{type(chunk).__name__} of shape {getattr(chunk, 'shape', None)}"
            raise ValueError(f"executor: chunk {k} must be a Matrix (see open_design) of shape {shape}; got {found}")
        check_design(chunk, f"chunk {k}")


class Chunks(Remote):
    """What tall and wide chunks have in common; ``rounds`` and ``calls`` count requests."""

    # replaced as a whole: folds of a cross-validation share it between threads
    _moments: tuple[tuple[Any, Moments], ...] = ()

    def __init__(self, executor: InTurn, rows: Array, columns: Array) -> None:
        self.executor, self.column_ends = executor, columns
        self.shape = int(rows[-1]), int(columns[-1])
        self.is_dear = executor.is_remote
        self.spans = [slice(int(start), int(stop)) for start, stop in pairwise(rows)]
        self.rounds = self.calls = 0

    @cached_property
    def facts(self) -> tuple[int, bool, Array]:
        """Bytes, whether a chunk is sparse, and the stored entries of each column; they come with the first pass."""
        self.column_stats(1.0, np.empty((0, self.shape[0])))
        return self.facts

    nbytes = property(lambda self: self.facts[0])
    is_sparse = property(lambda self: self.facts[1])  # type: ignore[assignment]
    counts = property(lambda self: self.facts[2])

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        def given(rows: slice) -> tuple[Any, ...]:
            return weight if np.ndim(weight) == 0 else weight[rows], vectors[:, rows], self.at_once > 0

        found = (sums for _, sums in self._ask(first, None, given, total=add_first))
        nbytes, is_sparse, *fields, known = zip(*found, strict=True)
        counts, *stats = (np.concatenate(field, axis=-1) for field in fields)
        self.facts = sum(nbytes), any(is_sparse), counts
        if self.at_once:
            self.keep_moments(weight, known[0])
        return ColumnStats(*stats)

    def keep_moments(self, weight: Any, moments: Moments) -> None:
        """Keep these moments, and of the others as many as have room."""
        kept = weight if np.ndim(weight) == 0 else weight.copy()
        size = moments.products.nbytes + np.asarray(kept).nbytes  # weights of tall data are longer than products
        most = min(16, max(1, (128 << 20) // size))  # for folds of a cross-validation
        self._moments = ((kept, moments), *self._moments)[:most]

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        """Return ``dots`` from a round."""
        out = np.zeros((columns.size, *vectors.shape[1:]))
        for there, products in self._ask("dots", columns, lambda rows: (vectors[rows],), total=add_all):
            out[there] = products
        return out

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        product, error = np.zeros((2, columns.size))
        for there, sums in self._ask("careful_dots", columns, lambda rows: (vector[rows],), total=add_carefully):
            product[there], error[there] = sums
        return product, error

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        """Do what ``add`` does by a round."""
        for _, answers in self._ask(linear, columns, by_columns=(factors,)):
            for span, change in zip(self.spans, answers, strict=True):
                out[span] += change

    def fetch(self, columns: Array) -> Local:
        found = self._ask(block, columns)
        blocks = ((rows, there, one) for there, answers in found for rows, one in zip(self.spans, answers, strict=True))
        return joined(blocks, (self.shape[0], columns.size), self.is_sparse)

    def _ask(
        self, request: Request, columns: Array | None, of_rows: Callable[[slice], tuple[Any, ...]] = lambda _: (),
        by_columns: tuple[Any, ...] = (), total: Total | None = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """One round: all row chunks of the column chunks that hold some of the columns (all chunks, if None).

        A chunk gets the indices of its columns, its part of ``by_columns`` where that are arrays, and what ``of_rows``
        gives for its rows.  Returns for each column chunk where its columns stand among those requested, and the
        answers of its row chunks, or what they add up to (``total``).
        """
        for_rows, count, width = [of_rows(span) for span in self.spans], len(self.spans), self.column_ends.size - 1
        chunk = None if columns is None else np.searchsorted(self.column_ends, columns, side="right") - 1
        calls, places = [], []
        for column in range(width) if chunk is None else np.unique(chunk).tolist():
            there: Any = slice(None) if columns is None else np.flatnonzero(chunk == column)
            parts = (one[there] if np.ndim(one) else one for one in by_columns)
            begin = () if columns is None else (columns[there] - self.column_ends[column], *parts)
            places.append(there)
            for row, arguments in enumerate(for_rows):
                calls.append(Call(row * width + column, column, request, (*begin, *arguments), total))
        if not calls:
            return []
        answers = self.executor.ask(calls)
        self.rounds += 1
        self.calls += len(calls)
        found: list[Any] = [answers[start : start + count] for start in range(0, len(answers), count)]
        if total is not None:
            found = [added(total, [one for one in some if one is not None]) for some in found]
        return list(zip(places, found, strict=True))


class TallChunks(Chunks):
    """Row chunks that hold all of a few columns: the first pass gives all products of columns, which are kept.

    None is requested again while weights are a multiple of the ones there: with w = f·s means are the same, and
    products f times as large.  What belongs to the samples can be computed beside the rows (``over_rows``).
    """

    at_once = costs.AT_ONCE

    row_parts = property(lambda self: self)
    dots, add = Chunks.read_dots, Chunks.read_add

    def means(self, columns: Array, weight: Array) -> Array:
        """Return the means; products of these columns, which are requested next, come along."""
        return self._moments_of(columns, weight).means if columns.size else np.zeros(0)

    def products(self, first: Array, second: Array, weight: Array, means: Array | None, kept: Any = None) -> Array:
        """Return products of columns less any means m, from those less the weighted means m_s: with S = Σs,

        Σ_k s_k (a_ki − m_i)(a_kj − m_j) = Σ_k s_k (a_ki − m_si)(a_kj − m_sj) + S·(m_si − m_i)(m_sj − m_j).
        """
        both = np.union1d(first, second)
        found = self._moments_of(both, weight)
        away = found.means - (0.0 if means is None else means[both])
        left, right = np.searchsorted(both, first), np.searchsorted(both, second)
        return np.asarray(found.products[np.ix_(left, right)] + found.total * np.outer(away[left], away[right]))

    def _moments_of(self, columns: Array, weight: Array) -> Moments:
        """Moments of these columns: known, or requested and kept."""
        known = self.known_moments(columns, weight)
        if known is None:
            known = self._ask(moments, columns, lambda rows: (weight[rows],), total=add_moments)[0][1]
            self.keep_moments(weight, known)
        return known

    def known_moments(self, columns: Array, weight: Array) -> Moments | None:
        """Return the moments of these columns with these weights, where a pass has given them."""
        for kept, found in self._moments:
            place, largest = np.full(self.shape[1], -1), float(np.max(kept))
            place[found.columns] = np.arange(found.columns.size)
            there = place[columns]
            factor = float(weight[np.argmax(kept)]) / largest if largest > 0.0 else np.nan
            if (there >= 0).all() and (weight == factor * kept).all():
                products = factor * found.products[np.ix_(there, there)]
                return Moments(columns, factor * found.total, found.means[there], products)
        return None

    def over_rows(self, function: Callable[..., Any], kept: Sequence[Any], *arguments: Any) -> Any:
        """Return ``function(chunk, kept, *arguments)`` of every row chunk, added up; one round.

        ``kept`` is what the executor has stored for each of them (``InTurn.keep``).
        """
        beside = iter(kept)
        return self._ask(function, None, lambda _: (next(beside), *arguments), total=add_own)[0][1]


class WideChunks(Chunks, CachedMatrix):
    """Chunks of many columns: columns of working sets are fetched and cached."""

    caches_dots = False
    brings_columns = property(lambda self: self.executor.is_remote and len(self.spans) == 1)  # type: ignore[assignment]

    @property
    def cache_bytes(self) -> float:  # type: ignore[override]
        return max(costs.NEAR_FETCHED, costs.NEAR_SHARE * self.nbytes)

    def dots_and_worst(self, columns: Array, vector: Array, low: Array, high: Array, most: int) -> Array:
        """Return products; columns for which they are farthest outside −high .. −low come in the same round."""
        cache, is_far = self._cache, ~self.are_near(columns)
        far, out = columns[is_far], np.empty(columns.size)
        taken = 0.0 if cache is None else self._bytes(cache.columns)
        if not far.size or taken + most * self._bytes(far) / far.size > self.cache_bytes:
            return self.dots(columns, vector)
        out[~is_far] = self.dots(columns[~is_far], vector)
        at_most = 4 + int(1.5 * most) // (self.column_ends.size - 1)  # somewhat more than its share
        # one number for all columns where that is enough: less travels
        ends = [float(one[0]) if (one == one[0]).all() else one for one in (low[is_far], high[is_far])]
        new, blocks, product = np.empty(0, dtype=np.int64), [], np.empty(far.size)
        for there, answers in self._ask(dots_and_worst, far, lambda _: (vector,), (*ends, at_most)):
            product[there], worst, found = answers[0]
            blocks.append((self.spans[0], slice(new.size, new.size + worst.size), found))
            new = np.concatenate([new, far[there][worst]])
        out[is_far] = product
        if new.size:
            self._keep(joined(blocks, (self.shape[0], new.size), self.is_sparse), new, cache)
        return out
