"""Files that are fitted together have the same columns, in any order: else a sentence, before a worker is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ascd.files import Dialect
from ascd.files.parquet import columns_of, opened
from ascd.files.reading import column_names, csv_options

#: Columns that a sentence names.
MOST_NAMED = 5


def check_alike(paths: Sequence[str], written: Dialect | None) -> None:
    """Raise a ValueError that names the first file whose columns are not those of the first one, and these."""
    first = None
    for path in paths if len(paths) > 1 else ():
        names = _parquet_names(Path(path)) if written is None else _csv_names(Path(path), written)
        if names is None:
            continue
        first = first or (path, names)
        lacks, has = [one for one in first[1] if one not in names], [one for one in names if one not in first[1]]
        if lacks or has:
            told = [f"{words} {_listed(some)}" for words, some in (("lacks", lacks), ("has besides", has)) if some]
            raise ValueError(
                f"{Path(path).name} {' and '.join(told)}, compared with {Path(first[0]).name}: files that are fitted "
                "together must have the same columns"
            )


def _csv_names(path: Path, written: Dialect) -> list[str]:
    import pandas

    return column_names(list(pandas.read_csv(path, nrows=1, **csv_options(written, ())).columns), written)


def _parquet_names(path: Path) -> list[str] | None:
    """Without the index that pandas writes; None for a folder, whose files are Dask's matter."""
    if path.is_dir():
        return None
    return columns_of(opened(path))


def _listed(names: list[str]) -> str:
    """A few names, and how many more there are.

    Examples
    --------
    >>> _listed(["a"]), _listed(list("abcdefg"))
    ("the column 'a'", "the columns 'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    shown = ", ".join(map(repr, names[:MOST_NAMED]))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"the column{'s' if len(names) > 1 else ''} {shown}{more}"
