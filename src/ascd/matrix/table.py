"""A table of columns of different kinds: numbers, sparse blocks and categories side by side, each read as it is stored.

A category of a thousand levels is a thousand 0/1 columns to the model, and sparse columns with one entry a row here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from ascd.matrix.chunked import InTurn, WideChunks
from ascd.matrix.open import open_design

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
        DataFrame that are categories (pandas' dtype "category") or text become one 0/1 column a level, kept sparse;
        a missing value belongs to no level.  Keys of a dict name the columns of blocks that have no names.
    like : Table, optional
        The table that a model was fitted with: categories get its levels, and values that it has not seen belong to no
        level.

    Attributes
    ----------
    shape : (samples, columns), with one column a level
    feature_names : a name for every column; a level's is ``column=level``
    levels : the levels of each category

    Examples
    --------
    >>> import numpy as np, pandas, ascd
    >>> frame = pandas.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "town": ["Ulm", "Bern", "Ulm", None]})
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
        known = {} if like is None else like._levels
        listed = blocks if isinstance(blocks, list | tuple) else [blocks]
        named = blocks.items() if isinstance(blocks, Mapping) else enumerate(listed)
        self._columns: list[Columns] = []
        for name, block in named:
            is_frame = hasattr(block, "iloc")
            self._columns += _of_frame(str(name), block, known) if is_frame else [_of_array(str(name), block)]
        if not self._columns:
            raise ValueError("blocks must hold at least one column; got none")
        heights = {columns.part.shape[0] for columns in self._columns}
        if len(heights) > 1:
            counts = ", ".join(f"{columns.names[0]!r}: {columns.part.shape[0]}" for columns in self._columns)
            raise ValueError(f"blocks must have the same number of rows; got {counts}")
        self.feature_names = _names_of(self._columns, like)
        self.shape = heights.pop(), len(self.feature_names)
        self._levels: dict[Any, list[Any]] = dict(columns.levels for columns in self._columns if columns.levels)
        self.levels = {name: found for (_, name), found in self._levels.items()}

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
        kinds = ", ".join("sparse" if columns.part.is_sparse else "dense" for columns in self._columns)
        return f"Table({self.shape[0]} x {self.shape[1]}: {kinds})"

    def as_design(self) -> WideChunks:
        """Return the table as a matrix of column chunks (``ascd.matrix.base``)."""
        parts = [columns.part for columns in self._columns]
        ends = np.cumsum([0, *(part.shape[1] for part in parts)])
        design = WideChunks(InTurn(parts), np.array([0, self.shape[0]]), ends)
        design.feature_names = self.feature_names
        return design


def _of_array(name: str, block: Any) -> Columns:
    """One chunk; its columns have the block's name."""
    is_sparse = hasattr(block, "tocsc")
    values = block if is_sparse else np.asarray(block)
    if values.dtype.kind not in "fiub":
        kind = type(block).__name__ + ("" if values.dtype.kind == "O" else f" of dtype {values.dtype}")
        allowed = "an array, a sparse matrix, a DataFrame or a Series of real numbers"
        raise TypeError(f"blocks: block {name!r} must be {allowed}; got {kind}")
    try:
        part = open_design(values[:, None] if values.ndim == 1 and not is_sparse else values)
    except ValueError as error:  # about the shape, or about indices
        raise ValueError(f"blocks: block {name!r} {str(error).removeprefix('A ').replace('A.', '.')}") from None
    return Columns(part, name, [name] if part.shape[1] == 1 else [f"{name}[{j}]" for j in range(part.shape[1])])


def _of_frame(block: str, frame: Any, known: Levels) -> Iterator[Columns]:
    """Neighbours of one kind are one chunk; a category is one by itself.  A Series without a name has the block's."""
    if not hasattr(frame, "columns"):
        frame = frame.to_frame(block if frame.name is None else frame.name)
    names = [str(name) for name in frame.columns]
    kinds = ["category" if (block, name) in known else _kind(frame.iloc[:, j], name) for j, name in enumerate(names)]
    for kind, run in groupby(range(len(names)), key=kinds.__getitem__):
        places = list(run)
        chosen = frame.iloc[:, places]
        if kind == "category":
            yield from (_category(chosen.iloc[:, i], block, names[j], known) for i, j in enumerate(places))
            continue
        if kind == "sparse":
            values = chosen.sparse.to_coo().tocsc()
        elif isinstance(chosen.dtypes.iloc[0], np.dtype):  # as they lie
            values = np.asarray(chosen)
        else:  # pandas' own types, which have missing values
            values = chosen.to_numpy(dtype=np.float64, na_value=np.nan)
        yield Columns(open_design(values), block, [names[j] for j in places])


def _kind(column: Any, name: str) -> str:
    """A category, sparse, or the dtype of numbers; columns of one kind are stored together."""
    from pandas.api.types import infer_dtype

    dtype = column.dtype
    if str(dtype) == "category" or (dtype.kind == "O" and infer_dtype(column) == "string"):
        return "category"
    if dtype.kind not in "fiub":
        raise TypeError(
            f"blocks: column {name!r} has the dtype {dtype}, which is neither numbers nor text nor a category: make "
            f"one of it, by frame[{name!r}].astype('category') or, for dates, as days since the first"
        )
    return "sparse" if str(dtype).startswith("Sparse") else str(dtype)


def _category(column: Any, block: str, name: str, known: Levels) -> Columns:
    """The 0/1 columns of a category's levels; of the known ones where there are some."""
    import pandas

    values, levels = column.astype("category").array, known.get((block, name))
    found = pandas.Index(values.categories if levels is None else levels)
    codes = values.codes if levels is None else found.get_indexer(column.astype(object))
    if not len(found):
        raise ValueError(f"blocks: the category {name!r} has no level at all; leave it out")
    rows = np.flatnonzero(codes >= 0)
    entries = np.ones(rows.size, dtype=np.uint8), (rows, codes[rows])
    columns = open_design(csc_array(entries, shape=(codes.size, len(found))))
    return Columns(columns, block, [f"{name}={level}" for level in found], ((block, name), list(found)))


def _names_of(parts: list[Columns], like: Table | None) -> list[str]:
    """The names of all columns; with those of their blocks before them where that tells columns apart."""
    names = [name for columns in parts for name in columns.names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        names = [f"{columns.block}.{name}" for columns in parts for name in columns.names]
        if len(set(names)) < len(names):
            raise ValueError(f"blocks: columns must have different names; {twice!r} is there twice")
    if like is not None and names != like.feature_names:
        what = [f"lacks {name!r}" for name in like.feature_names if name not in names][:1]
        what += [f"has {name!r} besides" for name in names if name not in like.feature_names][:1]
        said = " and ".join(what) or "has them in another order"
        raise ValueError(f"blocks must have the columns of like: it {said}")
    return names
