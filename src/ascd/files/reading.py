"""Tables from files of four formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascd._core.checks import unknown_name
from ascd.files.arrays import read_npz
from ascd.files.columns import Choices, Recipe, Table, as_table
from ascd.files.counting import counted
from ascd.files.dialect import Dialect, Learnt, detect, distinct
from ascd.files.gaps import without_gaps
from ascd.files.refusals import absent, check_index, check_width, not_csv, not_libsvm
from ascd.files.separators import unpacked, unpacking

FORMATS = {
    "libsvm": (".svm", ".libsvm", ".svmlight", ".txt", ".t", ".gz", ".bz2"),
    "csv": tuple(f"{name}{packed}" for packed in ("", ".gz", ".bz2", ".xz") for name in (".csv", ".tsv")),
    "parquet": (".parquet", ".pq"),
    "npz": (".npz",),
}
SPREADSHEETS = (".xlsx", ".xls", ".ods")
ARCHIVES = (".zip", ".7z", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".zst", ".xz", ".rar")
#: What reading may take of the memory, where nothing is said: pieces, columns kept near, products.
DEFAULT_MEMORY = 2 << 30
DETECT, AS_IT_IS, NO_RECIPE = Dialect(), Choices(), Recipe()


def read_table(
    path: Any,
    target: Any = None,
    format: str | None = None,
    n_features: int | None = None,
    target_optional: bool = False,
    features: Sequence[str] | None = None,
    dialect: Dialect = DETECT,
    choices: Choices = AS_IT_IS,
    recipe: Recipe = NO_RECIPE,
    na: Sequence[str] = (),
) -> Table:
    """Read a data file.

    Parameters
    ----------
    path : the file
    target : column of a CSV or parquet file that holds the target; "target", "y" or "label", else the last, by default.
        A list of columns: several targets, the columns of y
    format : {"libsvm", "csv", "parquet", "npz"}; by default from the file's name
    n_features : width of a LIBSVM file, where it should be more than its largest index
    target_optional : accept a table without a target (for predictions): only a column named ``target`` is taken away
    features : columns of a CSV or parquet file to keep, in this order; by default all but the target
    dialect : how a CSV file is written; what is left out is found out
    choices : columns to leave out, what to do with missing values and with text columns
    recipe : of the table that a model was fitted to, to treat this one in the same way
    na : further texts that stand for a missing value

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.files import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.csv"
    ...     _ = path.write_text("age;size;price\\n1,5;2;3\\n4;5;6\\n")
    ...     table = read_table(path, target="price")
    >>> table.names, table.y, float(table.X[0, 0]), table.notes
    (['age', 'size'], array([3, 6]), 1.5, ("separator ';', decimal comma, header",))
    """
    path = Path(path)
    if not path.is_file():
        raise absent(path)
    kind = format or guess_format(path)
    if kind not in FORMATS:
        raise unknown_name(kind, "format", FORMATS)
    if kind == "libsvm":
        table = _read_libsvm(path, n_features, recipe.written.get("first"))
    elif kind == "npz":
        table = read_npz(path, target_optional)
    else:
        na = na or recipe.written.get("na", ())
        learnt = _learnt(recipe, features)
        frame, found = _read_frame(path, kind, dialect, na, learnt._replace(target=column_name(target, False)))
        target = target if found is None else column_name(target, found.header)
        if found is not None and frame.shape[1] == 1 < len(learnt.names):
            check_width((len(frame), 0), path, found)
        table = as_table(frame, path, target, target_optional, features, choices, recipe)
        if found is not None:
            check_width(table.X.shape, path, found)
            notes = (found.words, *found.notes, *table.notes)
            table = table._replace(notes=notes, recipe=table.recipe._replace(written=as_written(found, na)))
    return without_gaps(table, choices, recipe)


def guess_format(path: Any) -> str:
    """The format that a file's name tells.

    Examples
    --------
    >>> from ascd.files import guess_format
    >>> guess_format("rcv1_train.binary.bz2"), guess_format("genes.csv.gz")
    ('libsvm', 'csv')
    """
    name = Path(path).name.lower()
    if not name.endswith(FORMATS["csv"]) and name.endswith(ARCHIVES):
        raise ValueError(
            f"{name!r} is packed in a way that is not read: unpack it first (.csv.gz, .bz2 and .xz are read)"
        )
    for kind in ("csv", "parquet", "npz", "libsvm"):
        if name.endswith(FORMATS[kind]):
            return kind
    if name.endswith(SPREADSHEETS):
        raise ValueError(f"{name!r} is a spreadsheet, which is not read: save the sheet with the data as CSV")
    raise ValueError(f"the name {name!r} does not show the file's format; give it with --format: {', '.join(FORMATS)}")


def _read_libsvm(path: Path, n_features: int | None, first: int | None) -> Table:
    """A LIBSVM file; ``first`` is the index of the first feature, 0 or 1, which a file that lacks it does not show."""
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_svmlight_file

    with unpacking(path), unpacked(path) as file:
        try:
            X, y = load_svmlight_file(file, zero_based=True)
        except (ValueError, IndexError, OverflowError) as error:
            raise not_libsvm(path, error) from error
    check_index(X.shape[1], path, DEFAULT_MEMORY)
    lowest = int(X.indices.min()) if X.nnz else 0
    if first is None:
        first = int(lowest > 0)
    elif X.nnz and lowest < first:
        raise ValueError(f"{path.name} has an index 0; the model's data count features from 1")
    width = X.shape[1] - first
    if n_features is not None and width > n_features:
        raise ValueError(f"the model has {n_features} features; {path.name} has {width}")
    shape = X.shape[0], max(width, n_features or 0)
    columns = csr_matrix((X.data, X.indices - first, X.indptr), shape=shape).tocsc()
    return Table(columns, y, None, recipe=Recipe(written={"first": first}))


def as_written(found: Dialect, na: Sequence[str]) -> dict[str, Any]:
    """What is worth keeping of a file's dialect, to read others like it."""
    decimal = found.decimal if found.is_marked else None
    return {"sep": found.sep, "decimal": decimal, "header": found.header, "na": list(na)}


def _learnt(recipe: Recipe, features: Sequence[str] | None) -> Learnt:
    """What a model knows of the way in which its data were written."""
    columns = tuple(dict.fromkeys(recipe.source(name) for name in features or ()))
    sep, decimal, header = (recipe.written.get(name) for name in ("sep", "decimal", "header"))
    return Learnt(sep, decimal, header, columns, tuple(recipe.levels))


def _read_frame(
    path: Path, kind: str, given: Dialect, na: Sequence[str], learnt: Learnt
) -> tuple[Any, Dialect | None]:  # fmt: skip
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"reading {kind} files needs pandas: pip install ascd[cli]") from error
    if kind == "parquet":
        try:
            return pandas.read_parquet(path), None
        except ImportError as error:
            raise ImportError("reading parquet files needs pyarrow: pip install ascd[parquet]") from error
        except (ValueError, OSError) as error:  # pyarrow's errors are among them
            raise ValueError(f"{path} is not a parquet file: {error}") from error
    dialect = detect(path, given, learnt)
    try:
        frame = _read_csv(pandas, path, dialect, na)
    except UnicodeDecodeError:  # beyond what was looked at
        dialect = dialect._replace(encoding="cp1252")
        frame = _read_csv(pandas, path, dialect, na)
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
        raise not_csv(error, path, dialect) from error
    if not len(frame):
        raise ValueError(f"{path.name} has a header of {frame.shape[1]} columns and no rows")
    if learnt.header is False:  # the model knows its columns by their positions
        frame.columns = numbered_names(frame.shape[1])
    elif dialect.header is False:
        frame.columns = learnt.placed(list(frame.columns))
        _check_placed(list(frame.columns), learnt)
    return frame, dialect


def _check_placed(names: list[str], learnt: Learnt) -> None:
    """By their positions, all columns are the model's, or the target."""
    others = [name for name in names if name != learnt.target]
    if learnt.names and len(others) != len(learnt.names):
        raise ValueError(
            f"the model has {counted(len(learnt.names), 'column')}; without a header the data must have as many, and "
            f"have {len(others)}"
        )


def _read_csv(pandas: Any, path: Path, dialect: Dialect, na: Sequence[str]) -> Any:
    with unpacking(path):
        frame = pandas.read_csv(path, **csv_options(dialect, na))
    name_columns(frame, dialect)
    return frame


def csv_options(dialect: Dialect, na: Sequence[str]) -> dict[str, Any]:
    """The dialect in pandas' words."""
    return {
        "sep": dialect.sep or ",",
        "decimal": dialect.decimal or ".",
        "thousands": dialect.thousands,
        "header": 0 if dialect.header else None,
        "encoding": dialect.encoding,
        "na_values": list(na) or None,
        "skipinitialspace": True,
        "skiprows": dialect.skip,
        "dtype": dict.fromkeys(dialect.as_text, str) or None,
        "engine": "c",
        "low_memory": False,  # else pandas takes rows in turns, and 07 is 7 in those that hold numbers only
    }


def name_columns(frame: Any, dialect: Dialect) -> None:
    """Text names; numbered ones where the file has no header."""
    frame.columns = column_names(list(frame.columns), dialect)


def column_names(read: Sequence[Any], dialect: Dialect) -> list[str]:
    """The names of columns: those that were read, or numbered ones where the file has no header."""
    return distinct([str(name).strip() for name in read]) if dialect.header else numbered_names(len(read))


def column_name(given: Any, has_header: bool | None) -> Any:
    """A column as it is called, or several: without a header its number will do."""
    if isinstance(given, list | tuple):
        return [column_name(one, has_header) for one in given]
    return f"column {given}" if has_header is False and isinstance(given, str) and given.isdigit() else given


def numbered_names(count: int) -> list[str]:
    """Names for columns that have none."""
    return [f"column {j + 1}" for j in range(count)]
