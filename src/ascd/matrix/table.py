"""A table of columns of different kinds: numbers, sparse blocks and categories side by side, each read as it is stored.

A category of a thousand levels is a thousand 0/1 columns to the model, and one integer a row in memory (``Codes``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats, Matrix, Part
from ascd.matrix.chunked import InTurn, WideChunks
from ascd.matrix.open import open_design
from ascd.matrix.sparse import CSC, LocalSparse

#: Levels of categories, by block and column.
Levels = Mapping[tuple[str, str], Sequence[Any]]


class Columns(NamedTuple):
    """One chunk of a table: its matrix, its block, the names of its columns, and a category's levels.

    ``levels`` are ((block, column), levels), or None.
    """

    part: Any
    block: str
    names: list[str]
    levels: Any = None


class Table:
    """Numbers, sparse blocks and categories side by side, as one matrix for problems and estimators.

    Parameters
    ----------
    blocks : DataFrame, or a list or dict of blocks
        A block is an array (one- or two-dimensional), a sparse matrix, a DataFrame or a Series.  Columns of a
        DataFrame that are categories (pandas' dtype "category") become one 0/1 column a level, kept as codes; a missing
        value belongs to no level.  Keys of a dict name the columns of blocks that have no names.
    like : Table, optional
        The table that a model was fitted with: categories get its levels, and values that it has not seen belong to no
        level.

    Attributes
    ----------
    shape : (samples, columns), with one column a level
    feature_names : a name for every column; a level's is ``column=level``

    Examples
    --------
    >>> import numpy as np, pandas, ascd
    >>> frame = pandas.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "town": ["Ulm", "Bern", "Ulm", None]})
    >>> frame["town"] = frame["town"].astype("category")
    >>> table = ascd.Table(frame)
    >>> table.shape, table.feature_names
    ((4, 3), ['age', 'town=Bern', 'town=Ulm'])
    >>> model = ascd.Lasso(alpha=0.1).fit(table, [1.0, 0.0, 3.0, 2.0])
    >>> new = pandas.DataFrame({"age": [35.0], "town": ["Ulm"]})
    >>> bool(model.predict(new) == model.predict(ascd.Table(new, like=table)))  # the model knows the levels
    True
    """

    def __init__(self, blocks: Any, *, like: Table | None = None) -> None:
        if like is not None and not isinstance(like, Table):
            raise TypeError(f"like must be an ascd.Table; got {type(like).__name__}")
        known = {} if like is None else like._levels()
        self._columns: list[Columns] = [
            columns for name, block in _named(blocks) for columns in _parts_of(name, block, known)
        ]
        if not self._columns:
            raise ValueError("blocks must hold at least one column; got none")
        heights = {columns.part.shape[0] for columns in self._columns}
        if len(heights) > 1:
            counts = ", ".join(f"{columns.names[0]!r}: {columns.part.shape[0]}" for columns in self._columns)
            raise ValueError(f"blocks must have the same number of rows; got {counts}")
        self.feature_names = _different([name for columns in self._columns for name in columns.names], self._columns)
        self.shape = heights.pop(), len(self.feature_names)
        if like is not None and self.feature_names != like.feature_names:
            _say_difference(self.feature_names, like.feature_names)

    @property
    def levels(self) -> dict[str, list[Any]]:
        """The levels of each category."""
        return {name: found for (_, name), found in self._levels().items()}

    def _levels(self) -> dict[tuple[str, str], list[Any]]:
        return dict(columns.levels for columns in self._columns if columns.levels is not None)

    def without_rows(self) -> Table:
        """Return names and levels alone, for a model to carry: see ``encoded``."""
        light = copy(self)
        light._columns = [columns._replace(part=None) for columns in self._columns]
        return light

    def encoded(self, frame: Any) -> Table:
        """Return new rows, columns of a DataFrame by their names, as a table like this one."""
        wanted: dict[str, list[str]] = {}
        for columns in self._columns:
            names = columns.names if columns.levels is None else [columns.levels[0][1]]
            wanted.setdefault(columns.block, []).extend(names)
        known = {str(name): name for name in frame.columns}
        missing = [name for names in wanted.values() for name in names if name not in known]
        if missing:
            raise ValueError(f"X lacks {len(missing)} columns of the table that was fitted, the first {missing[0]!r}")
        return Table({block: frame[[known[name] for name in names]] for block, names in wanted.items()}, like=self)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        parts = [columns.part for columns in self._columns]
        kinds = ["codes" if isinstance(one, Codes) else "sparse" if one.is_sparse else "dense" for one in parts]
        return f"Table({self.shape[0]} x {self.shape[1]}: {', '.join(kinds)})"

    def as_design(self) -> WideChunks:
        """Return the table as a matrix of column chunks (``ascd.matrix.base``)."""
        widths = [columns.part.shape[1] for columns in self._columns]
        ends = np.concatenate([[0], np.cumsum(widths)])
        parts = [columns.part for columns in self._columns]
        design = WideChunks(InTurn(parts), np.array([0, self.shape[0]]), ends)
        design.feature_names = self.feature_names
        return design


def _named(blocks: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(blocks, Mapping):
        yield from ((str(name), block) for name, block in blocks.items())
    elif isinstance(blocks, list | tuple):
        yield from ((str(number), block) for number, block in enumerate(blocks))
    else:
        yield "0", blocks


def _parts_of(name: str, block: Any, known: Levels) -> Iterator[Columns]:
    """The chunks of one block; ``name`` is for blocks that have none of their own."""
    if isinstance(block, Table):
        yield from block._columns
    elif hasattr(block, "iloc") and hasattr(block, "columns"):
        yield from _of_frame(name, block, known)
    elif hasattr(block, "iloc"):
        yield from _of_frame(name, block.to_frame(name if block.name is None else block.name), known)
    elif hasattr(block, "categories") and hasattr(block, "codes"):
        import pandas

        yield from _of_frame(name, pandas.DataFrame({name: block}), known)
    else:
        part = _opened(name, block)
        yield Columns(part, name, [name] if part.shape[1] == 1 else [f"{name}[{j}]" for j in range(part.shape[1])])


def _opened(name: str, block: Any) -> Any:
    """A block of numbers as a matrix; errors say which block it is."""
    is_sparse = hasattr(block, "tocsc")
    values = block if is_sparse else np.asarray(block)
    if values.dtype.kind not in "fiub":
        kind = type(block).__name__ + ("" if values.dtype.kind == "O" else f" of dtype {values.dtype}")
        allowed = "an array, a sparse matrix, a DataFrame or a Series of real numbers"
        raise TypeError(f"blocks: block {name!r} must be {allowed}; got {kind}")
    try:
        return open_design(values[:, None] if values.ndim == 1 and not is_sparse else values)
    except ValueError as error:  # about the shape, or about indices
        raise ValueError(f"blocks: block {name!r} {str(error).removeprefix('A ').replace('A.', '.')}") from None


def _of_frame(block: str, frame: Any, known: Levels) -> Iterator[Columns]:
    """Neighbours of one kind are one chunk; a category is one by itself."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"blocks: the columns of a DataFrame must have different names; {twice!r} is there twice")
    kinds = [_kind(frame.iloc[:, j], name, (block, name) in known) for j, name in enumerate(names)]
    for kind, run in groupby(range(len(names)), key=lambda j: kinds[j]):
        places = list(run)
        if kind == "category":
            yield from (_category(frame.iloc[:, j], (block, names[j]), known.get((block, names[j]))) for j in places)
            continue
        chosen = frame.iloc[:, places]
        values = chosen.sparse.to_coo().tocsc() if kind == "sparse" else _numbers(chosen)
        yield Columns(open_design(values), block, [names[j] for j in places])


def _kind(column: Any, name: str, is_known: bool) -> str:
    """A category, sparse, or the dtype of numbers; columns of one kind are stored together."""
    dtype = column.dtype
    if is_known or str(dtype) == "category":
        return "category"
    if str(dtype).startswith("Sparse"):
        if dtype.fill_value != 0 or dtype.subtype.kind not in "fiub":
            raise ValueError(f"blocks: the sparse column {name!r} must hold numbers and leave out zeros; it is {dtype}")
        return "sparse"
    if getattr(dtype, "kind", "O") not in "fiub":
        raise TypeError(
            f"blocks: column {name!r} has the dtype {dtype}, which is neither numbers nor a category; "
            f"frame[{name!r}].astype('category') makes one of it"
        )
    return str(dtype)


def _numbers(frame: Any) -> Array:
    """Numbers as they lie; pandas' own types, which have missing values, as float64."""
    if any(not isinstance(dtype, np.dtype) for dtype in frame.dtypes):
        return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(frame.to_numpy())


def _category(column: Any, key: tuple[str, str], levels: Sequence[Any] | None) -> Columns:
    """Codes of a category; of the given levels where there are some."""
    block, name = key
    if levels is None:
        found, codes = list(column.cat.categories), np.ascontiguousarray(column.cat.codes)
    else:
        import pandas

        found = list(levels)
        codes = pandas.Index(found).get_indexer(column.astype(object)).astype(np.min_scalar_type(-len(found)))
    if not found:
        raise ValueError(f"blocks: the category {name!r} has no level at all; leave it out")
    return Columns(Codes(codes, len(found)), block, [f"{name}={level}" for level in found], (key, found))


def _different(names: list[str], parts: list[Columns]) -> list[str]:
    """The names of all columns; with those of their blocks before them where that tells columns apart."""
    if len(set(names)) == len(names):
        return names
    longer = [f"{columns.block}.{name}" for columns in parts for name in columns.names]
    if len(set(longer)) < len(longer):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"blocks: columns must have different names; {twice!r} is there twice")
    return longer


def _say_difference(mine: list[str], theirs: list[str]) -> None:
    missing, new = [name for name in theirs if name not in mine], [name for name in mine if name not in theirs]
    what = [f"lacks {name!r}" for name in missing[:1]] + [f"has {name!r} besides" for name in new[:1]]
    raise ValueError(f"blocks must have the columns of like: it {' and '.join(what) or 'has them in another order'}")


class Codes(Matrix):
    """The levels of one category as 0/1 columns, kept as one small integer a row.

    The product of a level's column with a vector is the sum of the vector over the rows with that code, so one pass
    over the codes answers for all levels; (Ax)_k is the coefficient of row k's level.  A negative code (a missing
    value) belongs to no level.
    """

    is_sparse = True

    def __init__(self, codes: Array, levels: int) -> None:
        self.codes, self.shape = codes, (codes.size, levels)
        self._counts = self._sums(np.ones(codes.size)).astype(np.int64)

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes

    @property
    def counts(self) -> Array:
        return self._counts

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        plain = self.counts.astype(np.float64)
        products = np.array([self._sums(vector) for vector in vectors]).reshape(len(vectors), self.shape[1])
        return ColumnStats(self._weighted(weight), plain, plain.copy(), products)

    def squares(self, weight: Any, columns: Array) -> Array:
        return self._weighted(weight)[columns]

    def dots(self, columns: Array, vectors: Array) -> Array:
        several = np.ascontiguousarray(vectors.reshape(self.shape[0], -1).T)
        return np.stack([self._sums(vector)[columns] for vector in several], axis=1).reshape(-1, *vectors.shape[1:])

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        return self._local(columns).careful_dots(np.arange(columns.size), vector)

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        coefficients = np.zeros((self.shape[1] + 1, *factors.shape[1:]))  # the last is that of code −1
        coefficients[columns] = factors
        share(costs.DENSE_ENTRY * out.size, len(out), add_levels, self.codes, coefficients, out)

    def take(self, columns: Array) -> Part:
        return Part(self._local(columns).matrix, np.arange(columns.size))

    def check_finite(self) -> None:
        """Nothing to check: codes are finite."""

    def _weighted(self, weight: Any) -> Array:
        return self._sums(weight) if np.ndim(weight) else weight * self.counts.astype(np.float64)

    def _sums(self, vector: Array) -> Array:
        """Σ vector_k over the rows of each level; rows are added up in a fixed number of parts."""
        parts = int(min(costs.SPARSE_PARTS, max(1, self.codes.size // (8 * max(1, self.shape[1])))))
        sums = np.zeros((parts, self.shape[1]))
        share(costs.DENSE_ENTRY * self.codes.size, parts, sum_levels, self.codes, vector, sums)
        return np.asarray(sums[0] if parts == 1 else sums.sum(axis=0))

    def _local(self, columns: Array) -> LocalSparse:
        offsets = np.concatenate([[0], np.cumsum(self.counts[columns])])
        kind = np.uint32 if max(offsets[-1], *self.shape) < 2**31 - 1 else np.uint64
        place = np.full(self.shape[1], -1, dtype=np.int64)
        place[columns] = np.arange(columns.size)
        rows = np.empty(offsets[-1], dtype=kind)
        list_level_rows(self.codes, place, offsets[:-1].copy(), rows)
        return LocalSparse(CSC(np.ones(rows.size), rows, offsets.astype(kind)), (self.shape[0], columns.size))


@kernel
def sum_levels(codes: Array, vector: Array, sums: Array, start: int, stop: int) -> None:
    d = codes.size
    for part in range(start, stop):
        for k in range(part * d // sums.shape[0], (part + 1) * d // sums.shape[0]):
            if codes[k] >= 0:
                sums[part, wide(codes[k])] += vector[k]


def add_levels(codes: Array, coefficients: Array, out: Array, start: int, stop: int) -> None:
    out[start:stop] += coefficients[codes[start:stop]]


@kernel
def list_level_rows(codes: Array, place: Array, reached: Array, rows: Array) -> None:
    """List the rows of each level that has a place; ``reached`` is where each list goes on."""
    for k in range(codes.size):
        if codes[k] >= 0:
            where = place[wide(codes[k])]
            if where >= 0:
                rows[reached[where]] = k
                reached[where] += 1
