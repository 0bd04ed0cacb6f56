"""A matrix in parts: cut by columns, by rows or both; every part answers for itself, wherever it is.

Answers of column parts stand side by side, answers of row parts are summed:

    ⟨a_j, v⟩ = Σ_parts ⟨a_j[rows], v[rows]⟩,       (Ax)[rows] = Σ_parts A[rows, columns]·x[columns].

An *executor* says where parts answer: here, one after the other; tasks on a cluster; devices.  Only parts that hold a
column in question are asked.  Sums over rows are reordered, so the last digits depend on the partition; for a fixed
one they do not change.  ``careful_dots`` adds them with compensation, and its bound counts what that loses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix import prices
from ascd.matrix.design import Survey
from ascd.matrix.executors import Call, Executor, InTurn
from ascd.matrix.joined import Asked, side_by_side
from ascd.matrix.known_moments import KnownMoments
from ascd.matrix.local import Local
from ascd.matrix.part_answers import SUMS, Facts, Moments, together
from ascd.matrix.part_changes import with_constant


class Parted:
    """A source of parts; ``rows`` and ``columns`` are where parts end, from 0 on.

    Where rows are many and columns at most ``prices.AT_ONCE``, products of columns are computed by the parts, and no
    column is ever fetched, unless told otherwise (``gives_products``); this needs columns that are not cut.  All of
    these products come with the first pass and are kept: none is asked for again while weights are a multiple of the
    ones there.
    """

    def __init__(self, executor: Executor, rows: Array, columns: Array, gives_products: bool = True) -> None:
        self.executor, self.rows, self.columns = executor, rows, columns
        self.shape = int(rows[-1]), int(columns[-1])
        self.rounds = self.calls = self.bytes_read = 0
        is_tall = columns.size == 2 and self.shape[1] <= min(prices.AT_ONCE, self.shape[0])
        self.gives_products, self.is_dear = gives_products and is_tall, not isinstance(executor, InTurn)
        self.at_once = prices.AT_ONCE if self.gives_products else 0
        self._facts: Facts | None = None
        self._moments = KnownMoments(self.shape[1])
        self._expected: tuple[Array, Array] | None = None

    @property
    def facts(self) -> Facts:
        """Of all parts; they come with the first pass, or by themselves where somebody asks before."""
        if self._facts is None:
            self._learn([together("facts", column.answers) for column in self._ask("facts", None, lambda _: ())])
        assert self._facts is not None
        return self._facts

    def _learn(self, known: Sequence[Facts]) -> None:
        nbytes, counts, is_sparse = zip(*known, strict=True)
        self._facts = Facts(sum(nbytes), np.concatenate(counts).astype(np.int64), any(is_sparse))

    @property
    def counts(self) -> Array:
        return self.facts.counts

    @property
    def nbytes(self) -> int:
        return self.facts.nbytes

    @property
    def near_limit(self) -> float:
        return 0.0 if self.gives_products else max(prices.NEAR_FETCHED, prices.NEAR_SHARE * self.nbytes)

    def survey(self, weight: Any, vectors: Array) -> Survey:
        wanted = self.gives_products
        found = self._ask("first", None, lambda rows: (_of_rows(weight, rows), vectors[:, rows], wanted))
        known, surveys, moments = zip(*(together("first", column.answers) for column in found), strict=True)
        self._learn(known)
        if wanted:
            self._moments.keep(weight, moments[0])
        square, *others = (np.concatenate(field, axis=-1) for field in zip(*surveys, strict=True))
        return Survey(square if square.size else others[0].copy(), *others)

    def squares(self, weight: Any, columns: Array) -> Array:
        return self._sums("squares", columns, lambda rows: (_of_rows(weight, rows),))

    def expect(self, columns: Array, weight: Array) -> None:
        """Means and products of these columns will be asked for: they come with the next products with a vector."""
        if self.gives_products and columns.size and self._moments.means(columns, weight) is None:
            self._expected = columns, weight

    def dots(self, columns: Array, vector: Array) -> Array:
        expected, self._expected = self._expected, None
        if expected is not None and columns.size:
            others, weight = expected
            found = self._ask("dots_and_moments", columns, lambda rows: (vector[rows], others, weight[rows]))
            product, moments = together("dots_and_moments", found[0].answers)
            self._moments.keep(weight, moments)
            return np.asarray(product)
        return self._sums("dots", columns, lambda rows: (vector[rows],))

    @property
    def brings_columns(self) -> bool:
        """Can parts tell by themselves which of their columns will be asked for?"""
        return self.is_dear and self.rows.size == 2 and not self.gives_products

    def dots_and_worst(
        self, columns: Array, vector: Array, low: Array, high: Array, most: int
    ) -> tuple[Array, Array, Local]:
        """Products, and of the columns for which these are outside −high .. −low about the worst: which, and they."""
        parts, product = self.columns.size - 1, np.zeros(columns.size)
        ends = _alike(low), _alike(high)
        at_most = prices.FEWEST_BROUGHT + int(prices.BROUGHT_SHARE * most) // parts
        brought, joined, blocks = [np.empty(0, dtype=np.int64)], 0, []
        for there, answers in self._ask("dots_and_worst", columns, lambda _: (vector,), ends=(*ends, at_most)):
            product[there], worst, block = answers[0]
            brought.append(columns[there][worst])
            blocks.append(Asked(slice(joined, joined + worst.size), [block]))
            joined += worst.size
        return product, np.concatenate(brought), self._local(blocks, joined)

    def means(self, columns: Array, weight: Array) -> Array:
        """Σ_k s_k·a_kj / Σ_k s_k, 0 where no sample counts.

        Who asks for means of columns wants their products next: these come along where parts give them.
        """
        if self.gives_products and columns.size:
            known = self._moments.means(columns, weight)
            if known is not None:
                return known
            found = together("moments", self._ask("moments", columns, lambda rows: (weight[rows],))[0].answers)
            self._moments.keep(weight, found)
            return np.asarray(found.means)
        total = float(weight.sum())
        return self.dots(columns, weight) / total if total > 0.0 else np.zeros(columns.size)

    def with_constant(self, value: float) -> Parted:
        """One more column, which is constant: parts that hold all columns get it where they are."""
        rows, n = self.rows, self.shape[1]
        return Parted(self.executor.changed(with_constant, value), rows, np.array([0, n + 1]), self.gives_products)

    @property
    def spans(self) -> list[slice]:
        """The rows of each row part."""
        return [self._span(row) for row in range(self.rows.size - 1)]

    def keep_beside(self, values: Sequence[Any]) -> list[Any]:
        """Something for each row part that stays with it; for ``over_rows``."""
        return self.executor.keep(range(len(values)), values)

    def over_rows(self, function: Callable[..., Any], kept: Sequence[Any], *arguments: Any) -> Any:
        """``function(part, kept, *arguments)`` of every row part that holds all columns, added up; one round."""
        beside = iter(kept)
        found = self._ask("apply", None, lambda _: (function, next(beside), *arguments))
        return together("apply", found[0].answers)

    def all_moments(self, weight: Array) -> Moments | None:
        """Of all columns with these weights, where a pass has brought them."""
        return self._moments.of_all(weight)

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        product, error = np.zeros((2, columns.size))
        for there, answers in self._ask("careful_dots", columns, lambda rows: (vector[rows],)):
            product[there], error[there] = together("careful_dots", answers)
        return product, error

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        for _, answers in self._ask("image", columns, lambda _: (), factors):
            for row, change in enumerate(answers):
                image[self._span(row)] += change

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        """Of row parts that hold all columns."""
        known = self._moments.products(first, second, weight, means)
        if known is not None:
            return known
        is_same = np.array_equal(first, second)
        chosen, count = (first, 0) if is_same else (np.concatenate([first, second]), first.size)
        less = None if means is None else means[chosen]
        found = self._ask("products", chosen, lambda rows: (count, weight[rows], less))
        return np.asarray(together("products", found[0].answers))

    def fetch(self, columns: Array) -> Local:
        """These columns in local memory, sparse if a part is."""
        return self._local(self._ask("columns", columns, lambda _: ()), columns.size)

    def _local(self, found: list[Asked], size: int) -> Local:
        """Columns that have come, side by side."""
        return side_by_side(found, (self.shape[0], size), self.spans, self.facts.is_sparse)

    def check_finite(self) -> None:
        for column in self._ask("check_finite", None, lambda _: ()):
            for complaint in filter(None, column.answers):
                raise ValueError(complaint)

    def _sums(self, question: str, columns: Array, of_rows: Callable[[slice], tuple[Any, ...]]) -> Array:
        out = np.zeros(columns.size)
        for there, answers in self._ask(question, columns, of_rows):
            out[there] = together(question, answers)
        return out

    def _ask(
        self, question: str, columns: Array | None, of_rows: Callable[[slice], tuple[Any, ...]],
        factors: Array | None = None, ends: tuple[Any, ...] = (),
    ) -> list[Asked]:  # fmt: skip
        """One round: all row parts of the column parts that hold some of the columns (all parts, if None).

        A part gets the numbers of its columns, the factors that belong to them, what ``of_rows`` gives its rows, and
        of ``ends`` what is an array by columns the part that belongs to its own.
        """
        calls, spans = [], self.spans
        for_rows = [of_rows(span) for span in spans]
        chosen = list(self._holding(columns))
        for column, there, here in chosen:
            begin: tuple[Any, ...] = () if here is None else (here,)
            begin = begin if factors is None else (*begin, factors[there])
            own = tuple(one[there] if np.ndim(one) else one for one in ends)
            for row, arguments in enumerate(for_rows):
                part = row * (self.columns.size - 1) + column
                calls.append(Call(part, column, question, (*begin, *arguments, *own)))
        if not calls:
            return []
        answers, parts = self.executor.ask(calls), len(spans)
        self.rounds += 1
        self.calls += len(calls)
        found = [Asked(there, answers[i * parts : (i + 1) * parts]) for i, (_, there, _) in enumerate(chosen)]
        if question not in SUMS:
            return found
        return [Asked(there, [one for one in some if one is not None]) for there, some in found]

    def _holding(self, columns: Array | None) -> Iterator[tuple[int, Any, Array | None]]:
        """Column parts with some of the columns: where those stand among them, and their numbers in the part."""
        if columns is None:
            yield from ((number, slice(None), None) for number in range(self.columns.size - 1))
            return
        part = np.searchsorted(self.columns, columns, side="right") - 1
        for number in np.unique(part).tolist():
            there = np.flatnonzero(part == number)
            yield number, there, columns[there] - self.columns[number]

    def _span(self, row: int) -> slice:
        return slice(int(self.rows[row]), int(self.rows[row + 1]))


def _of_rows(weight: Any, rows: slice) -> Any:
    return weight if np.ndim(weight) == 0 else weight[rows]


def _alike(values: Array) -> Any:
    """One number for all, where they are alike: less travels."""
    return float(values[0]) if values.size and bool((values == values[0]).all()) else values
