"""Tables from files of four formats.

==============  ==================================================================================================
LIBSVM          ``label index:value …`` a line (.svm, .libsvm, .txt, also .gz, .bz2), read sparse
CSV             a column a feature (.csv, .tsv, also .gz, .bz2, .xz); the target is the column ``target``
parquet         the same (.parquet; needs ``pyarrow``)
npz             ``scipy.sparse.save_npz`` with an array ``y`` added, or arrays ``X`` and ``y``
==============  ==================================================================================================
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.checks import check_places, unknown_name
from ascd.io.csv_files import Dialect, detect, read_csv, separator_name, unpacked
from ascd.io.tables import Choices, ColumnError, LabeledData, Recipe, as_target, counted, fill, label

FORMATS = {
    "libsvm": (".svm", ".libsvm", ".svmlight", ".txt", ".t", ".gz", ".bz2"),
    "csv": tuple(f"{name}{packed}" for packed in ("", ".gz", ".bz2", ".xz") for name in (".csv", ".tsv")),
    "parquet": (".parquet", ".pq"),
    "npz": (".npz",),
}
#: Memory that reading may take where nothing is said, in bytes.
DEFAULT_MEMORY = 2 << 30
#: What a damaged archive of arrays raises, by where the damage lies (RuntimeError: it seems to be encrypted).
DAMAGED_ARCHIVE = (EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
DETECT, AS_IT_IS = Dialect(), Choices()


def read_table(
    path: Any, target: Any = None, format: str | None = None, dialect: Dialect = DETECT, choices: Choices = AS_IT_IS,
    recipe: Recipe | None = None,
) -> LabeledData:  # fmt: skip
    """Read a data file.

    Parameters
    ----------
    path : the file
    target : column of a CSV or parquet file that holds the target; "target", "y" or "label", else the last, by default.
        A list of columns: several targets, the columns of y
    format : {"libsvm", "csv", "parquet", "npz"}; by default from the file's name
    dialect : how a CSV file is written; what is None is found from the file
    choices : columns to leave out, what to do with missing values, text columns and dates
    recipe : of the data that a model was fitted to, to treat these in the same way; they may lack the target

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.csv"
    ...     _ = path.write_text("age;size;price\\n1,5;2;3\\n4;5;6\\n")
    ...     data = read_table(path, target="price")
    >>> data.names, data.y, float(data.X[0, 0]), data.notes
    (['age', 'size'], array([3, 6]), 1.5, ("separator ';', decimal comma, header",))
    """
    path = Path(path)
    if not path.is_file():
        raise absent(path)
    kind, fills = format or guess_format(path), recipe.fills if recipe else {}
    if kind not in FORMATS:
        raise unknown_name(kind, "format", FORMATS)
    if kind == "csv":
        return _read_csv_table(path, target, dialect, choices, recipe)
    if kind == "parquet":
        return label(_read_parquet(path), path.name, target, choices, recipe)
    if recipe is None and (target is not None or choices.without):
        raise ColumnError(f"columns of {kind} files have no names ({path}): leave out target and without")
    if kind == "libsvm":
        return fill(_read_libsvm(path, recipe), choices, fills)
    return fill(_read_npz(path, recipe is not None), choices, fills)


def _read_csv_table(
    path: Path, target: Any, given: Dialect, choices: Choices, recipe: Recipe | None
) -> LabeledData:  # fmt: skip
    """Return the data of a CSV file, written and encoded as a model's recipe says where options do not."""
    known = recipe.written if recipe else {}
    model = Dialect(known.get("sep"), known.get("decimal"), known.get("header"), na=tuple(known.get("na", ())))
    found, names = detect(path, given, model)
    frame = read_csv(path, found, names, list(recipe.levels) if recipe else ())
    target = column_name(target, found.header)
    data = label(frame, path.name, target, choices, recipe, found.decimal or ".")
    check_width(data.X.shape, path, found)
    written = {name: getattr(found, name) for name in ("sep", "decimal", "header", "na")}
    return data._replace(notes=(found.words, *data.notes), recipe=data.recipe._replace(written=written))


def guess_format(path: Any) -> str:
    """Return the format that a file's name shows.

    Examples
    --------
    >>> from ascd.io import guess_format
    >>> guess_format("rcv1_train.binary.bz2"), guess_format("genes.csv.gz")
    ('libsvm', 'csv')
    """
    name = Path(path).name.lower()
    for kind in ("csv", "parquet", "npz", "libsvm"):
        if name.endswith(FORMATS[kind]) and ".tar." not in name:
            return kind
    raise ValueError(
        f"the name {name!r} does not show the file's format; give it with --format: {', '.join(FORMATS)} (spreadsheets "
        "must be saved as CSV, archives unpacked; .csv.gz, .bz2 and .xz are read)"
    )


def absent(path: Path) -> FileNotFoundError:
    """Return the error of a path that is no file."""
    return FileNotFoundError(f"no such file: {path}" if not path.exists() else f"not a file: {path}")


def column_name(given: Any, has_header: bool | None) -> Any:
    """Return the name of a column, or of several; without a header it may be given as its number."""
    if isinstance(given, list | tuple):
        return [column_name(one, has_header) for one in given]
    return f"column {given}" if has_header is False and isinstance(given, str) and given.isdigit() else given


def check_width(shape: tuple[int, int], path: Path, dialect: Dialect) -> None:
    """Raise a ValueError where one column leaves no features: the separator must be another one."""
    if not shape[1]:
        raise ValueError(
            f"{path.name} has {counted(shape[0], 'sample')} and 0 features: with the separator "
            f"{separator_name(dialect.sep)} its lines are one column, the target; name the separator with --sep"
        )


def _read_parquet(path: Path) -> Any:
    import pandas

    try:
        return pandas.read_parquet(path)
    except ImportError as error:
        raise ImportError("reading parquet files needs pyarrow: pip install ascd[parquet]") from error
    except (ValueError, OSError) as error:  # pyarrow's errors are among them
        raise ValueError(f"{path} is not a parquet file: {error}") from error


def _read_libsvm(path: Path, recipe: Recipe | None) -> LabeledData:
    """Return the data of a LIBSVM file, with the first index and the width of a model's data where there is one."""
    from scipy.sparse import csr_matrix

    with unpacked(path) as file:
        X, y = parse_libsvm(file, path, DEFAULT_MEMORY)
    lowest = int(X.indices.min()) if X.nnz else 0
    first = int(lowest > 0) if recipe is None else recipe.written.get("first", int(lowest > 0))
    if X.nnz and lowest < first:
        raise ValueError(f"{path.name} has an index 0; the model's data count features from 1")
    width, known = X.shape[1] - first, recipe.width if recipe else 0
    if recipe is not None and width > known:
        raise ValueError(f"the model has {known} features; {path.name} has {width}")
    columns = csr_matrix((X.data, X.indices - first, X.indptr), shape=(X.shape[0], max(width, known))).tocsc()
    return LabeledData(columns, y, None, recipe=Recipe(written={"first": first}))


def parse_libsvm(file: Any, path: Path, memory: float) -> tuple[Any, Any]:
    """Return matrix (CSR, column 0 for index 0) and labels of LIBSVM's lines.

    An index is an error where the offsets of so many columns alone take more than the memory.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(file, zero_based=True)
    except (ValueError, IndexError, OverflowError) as error:
        raise ValueError(
            f"{path} is not a LIBSVM file, as its name or --format says: {error}; --format names another: csv, "
            "parquet, npz"
        ) from error
    needed = 8.0 * (X.shape[1] + 1.0)
    if needed > memory:
        raise ValueError(
            f"{path.name} has an index {X.shape[1] - 1:,}: the offsets of so many columns take {needed / 1e9:.1f} GB, "
            f"more than the {memory / 1e9:.1f} GB that reading may take; number the features anew, or give "
            "`ascd convert` more with --memory"
        )
    return X, y


def _read_npz(path: Path, target_optional: bool) -> LabeledData:
    """Return X (an array, or what scipy.sparse.save_npz wrote) and y of an npz file."""
    from scipy.sparse import load_npz

    try:
        with np.load(path, allow_pickle=False) as arrays:
            there = sorted(arrays.files)
            y, X = (arrays[name] if name in there else None for name in ("y", "X"))
        if X is None and {"data", "shape", "format"} <= set(there):
            X = load_npz(path)
            check_places(X)
            X = X.tocsc()
    except (ValueError, KeyError, TypeError, AttributeError, *DAMAGED_ARCHIVE) as error:
        why = "it holds Python objects" if "pickle" in str(error) else str(error)  # NumPy advises to unpickle them
        raise ValueError(f"{path} is damaged, or is not an npz file of numbers and text: {why}") from None
    if X is None or (y is None and not target_optional):
        raise ValueError(f"{path} must hold X (an array, or what scipy.sparse.save_npz wrote) and y; it has {there}")
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: X must be a table of numbers, rows by features; it has shape {X.shape} of {X.dtype}")
    if y is not None and (y.ndim not in (1, 2) or len(y) != X.shape[0]):
        raise ValueError(f"{path}: y must have one entry a row of X, {X.shape[0]}; it has shape {y.shape}")
    y = None if y is None else as_target(y[:, 0] if y.shape[1:] == (1,) else y)
    if hasattr(X, "tocsc"):
        return LabeledData(X, y, None)
    import pandas

    return LabeledData(X, y, None, frame=pandas.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])]))
