"""A matrix in parts: cut by columns, by rows or both; every part answers for itself, wherever it is.

Answers of column parts stand side by side, answers of row parts are summed:

    ⟨a_j, v⟩ = Σ_parts ⟨a_j[rows], v[rows]⟩,       (Ax)[rows] = Σ_parts A[rows, columns]·x[columns].

An *executor* says where parts answer: here, one after the other; tasks on a cluster; devices.  Only parts that hold a
column in question are asked.  Sums over rows are reordered, so the last digits depend on the partition; for a fixed
one they do not change.  ``careful_dots`` adds them with compensation, and its bound counts what that loses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Protocol

import numpy as np

from ascd._base.checks import Array, unlocked
from ascd.data import prices
from ascd.data.careful import UNIT
from ascd.data.dense import Dense, LocalDense
from ascd.data.design import Survey
from ascd.data.local import Local
from ascd.data.part_answers import answer
from ascd.data.sparse import CSC, LocalSparse, short_width, unsigned


class Call(NamedTuple):
    """A question (see ``part_answers``) to a part; parts are numbered row by row."""

    part: int
    question: str
    arguments: tuple[Any, ...]


class Executor(Protocol):
    """Where parts are."""

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """The answers, in the order of the calls; one round trip."""


class InTurn:
    """Parts in this process, asked one after the other; each shares its work among threads."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        return [answer(self.parts[call.part], call.question, call.arguments) for call in calls]


class Asked(NamedTuple):
    """A column part: where its columns stand among those in question, and what its row parts answered."""

    there: Any
    answers: list[Any]


class Parted:
    """A source of parts; ``rows`` and ``columns`` are where parts end, from 0 on.

    Where rows are many and columns at most ``prices.AT_ONCE``, products of columns are computed by the parts, and no
    column is ever fetched, unless told otherwise (``gives_products``); this needs columns that are not cut.
    """

    def __init__(self, executor: Executor, rows: Array, columns: Array, gives_products: bool = True) -> None:
        self.executor, self.rows, self.columns = executor, rows, columns
        self.shape = int(rows[-1]), int(columns[-1])
        self.rounds = self.calls = self.bytes_read = 0
        known = self._ask("facts", None, lambda _: ())
        self.counts = np.concatenate([reduce(add, [part.counts for part in column.answers]) for column in known])
        self.nbytes = sum(part.nbytes for column in known for part in column.answers)
        self.is_sparse = any(part.is_sparse for column in known for part in column.answers)
        self.gives_products = (
            gives_products and columns.size == 2 and self.shape[1] <= min(prices.AT_ONCE, self.shape[0])
        )
        self.is_dear = not isinstance(executor, InTurn)
        self.at_once = prices.AT_ONCE if self.gives_products else 0
        self.near_limit = 0.0 if self.gives_products else max(prices.NEAR_FLOOR, prices.NEAR_SHARE * self.nbytes)

    def survey(self, weight: Any, vectors: Array) -> Survey:
        found = self._ask("survey", None, lambda rows: (_of_rows(weight, rows), vectors[:, rows]))
        summed = [[reduce(add, field) for field in zip(*column.answers, strict=True)] for column in found]
        return Survey(*(np.concatenate(field, axis=-1) for field in zip(*summed, strict=True)))

    def squares(self, weight: Any, columns: Array) -> Array:
        return self._sums("squares", columns, lambda rows: (_of_rows(weight, rows),))

    def dots(self, columns: Array, vector: Array) -> Array:
        return self._sums("dots", columns, lambda rows: (vector[rows],))

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        product, error = np.zeros((2, columns.size))
        for there, answers in self._ask("careful_dots", columns, lambda rows: (vector[rows],)):
            product[there], error[there] = add_carefully(answers)
        return product, error

    def add(self, columns: Array, factors: Array, image: Array) -> None:
        for _, answers in self._ask("image", columns, lambda _: (), factors):
            for row, change in enumerate(answers):
                image[self._span(row)] += change

    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        """Of row parts that hold all columns."""
        is_same = np.array_equal(first, second)
        chosen, count = (first, 0) if is_same else (np.concatenate([first, second]), first.size)
        less = None if means is None else means[chosen]
        found = self._ask("products", chosen, lambda rows: (count, weight[rows], less))
        return np.asarray(reduce(add, found[0].answers))

    def fetch(self, columns: Array) -> Local:
        """These columns in local memory, sparse if a part is."""
        found = self._ask("columns", columns, lambda _: ())
        if self.is_sparse:
            return self._join_sparse(found, columns.size)
        values = np.empty((self.shape[0], columns.size), order="F")
        for there, answers in found:
            for row, block in enumerate(answers):
                values[self._span(row), there] = block
        return LocalDense(Dense(values), (self.shape[0], columns.size))

    def _join_sparse(self, found: list[Asked], size: int) -> LocalSparse:
        from scipy import sparse

        whole = sparse.csc_array((self.shape[0], size))
        if size:
            order = np.concatenate([np.arange(size)[column.there] for column in found])
            stacks = [sparse.vstack([sparse.csc_array(part) for part in column.answers]) for column in found]
            whole = sparse.hstack(stacks, format="csc")[:, np.argsort(order)]
            whole.sort_indices()
        return LocalSparse(CSC(*map(unlocked, unsigned(whole, short_width(whole)))), whole.shape)

    def check_finite(self) -> None:
        for column in self._ask("check_finite", None, lambda _: ()):
            for complaint in filter(None, column.answers):
                raise ValueError(complaint)

    def _sums(self, question: str, columns: Array, of_rows: Callable[[slice], tuple[Any, ...]]) -> Array:
        out = np.zeros(columns.size)
        for there, answers in self._ask(question, columns, of_rows):
            out[there] = reduce(add, answers)
        return out

    def _ask(
        self, question: str, columns: Array | None, of_rows: Callable[[slice], tuple[Any, ...]],
        factors: Array | None = None,
    ) -> list[Asked]:  # fmt: skip
        """One round: all row parts of the column parts that hold some of the columns (all parts, if None).

        A part gets the numbers of its columns, the factors that belong to them, and what ``of_rows`` gives its rows.
        """
        calls, spans = [], [self._span(row) for row in range(self.rows.size - 1)]
        for_rows = [of_rows(span) for span in spans]
        chosen = list(self._holding(columns))
        for column, there, here in chosen:
            begin: tuple[Any, ...] = () if here is None else (here,)
            begin = begin if factors is None else (*begin, factors[there])
            for row, arguments in enumerate(for_rows):
                calls.append(Call(row * (self.columns.size - 1) + column, question, (*begin, *arguments)))
        if not calls:
            return []
        answers, parts = self.executor.ask(calls), len(spans)
        self.rounds += 1
        self.calls += len(calls)
        return [Asked(there, answers[i * parts : (i + 1) * parts]) for i, (_, there, _) in enumerate(chosen)]

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


def add_carefully(answers: list[tuple[Array, Array]]) -> tuple[Array, Array]:
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


def _of_rows(weight: Any, rows: slice) -> Any:
    return weight if np.ndim(weight) == 0 else weight[rows]
