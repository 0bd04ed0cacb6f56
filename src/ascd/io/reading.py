"""Tables from files of three formats.

==============  ==================================================================================================
LIBSVM          ``label index:value …`` a line (.svm, .libsvm, .txt, also .gz, .bz2), read sparse
CSV             a column a feature (.csv, .tsv, also .gz, .bz2, .xz); the target is the column ``target``
parquet         the same (.parquet; needs ``pyarrow``)
==============  ==================================================================================================

CSV files get a short look at the first lines for what options do not say, then pandas reads.  The separator is the one
of tab, semicolon and comma that cuts all lines alike.  Where it is no comma, a cell such as ``1,5`` shows decimal
commas.  The first line is a header unless it has numbers where names should be, which only the user can decide.
Everything else is said by options (--sep, --decimal, --header, --no-header, --encoding, --na).
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ascd._core.checks import unknown_name
from ascd.io import tables

FORMATS = {
    "libsvm": (".svm", ".libsvm", ".svmlight", ".txt", ".t", ".gz", ".bz2"),
    "csv": tuple(f"{name}{packed}" for packed in ("", ".gz", ".bz2", ".xz") for name in (".csv", ".tsv")),
    "parquet": (".parquet", ".pq"),
}
#: Memory that reading may take where nothing is said, in bytes.
DEFAULT_MEMORY = 2 << 30
#: Lines that are looked at.
LINES = 50
WHITESPACE = r"\s+"
SEPARATOR_WORDS = {"\t": "tab", WHITESPACE: "spaces", None: "none"}
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class Dialect(NamedTuple):
    """How a CSV file is written; None: found from the file.  ``na`` are further texts for a missing value."""

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    na: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The dialect in words."""
        shown = [f"separator {separator_name(self.sep)}"]
        shown += ["decimal comma"] * (self.decimal == ",")
        shown += ["no header" if self.header is False else "header"]
        shown += [f"encoding {self.encoding}"] * (self.encoding is not None)
        return ", ".join(shown)


DETECT, AS_IT_IS = Dialect(), tables.Choices()


def read_table(
    path: Any, target: str | None = None, format: str | None = None, dialect: Dialect = DETECT,
    choices: tables.Choices = AS_IT_IS, recipe: tables.Recipe | None = None,
) -> tables.LabeledData:  # fmt: skip
    """Read a data file.

    Parameters
    ----------
    path : the file
    target : column of a CSV or parquet file that holds the target; "target", "y" or "label", else the last, by default
    format : {"libsvm", "csv", "parquet"}; by default from the file's name
    dialect : how a CSV file is written; what is None is found from the file
    choices : columns to leave out, what to do with missing values and text columns
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
    kind = format or guess_format(path)
    if kind == "csv":
        return _read_csv_table(path, target, dialect, choices, recipe)
    if kind == "parquet":
        return tables.label(_read_parquet(path), path.name, target, choices, recipe)
    if kind != "libsvm":
        raise unknown_name(kind, "format", FORMATS)
    if recipe is None and (target is not None or choices.without):
        raise tables.ColumnError(f"columns of LIBSVM files have no names ({path}): leave out target and without")
    return tables.fill(_read_libsvm(path, recipe), choices, {})


def guess_format(path: Any) -> str:
    """Return the format that a file's name shows, as in rcv1.binary.bz2 (libsvm) and genes.csv.gz."""
    name = Path(path).name.lower()
    for kind in ("csv", "parquet", "libsvm"):
        if name.endswith(FORMATS[kind]) and ".tar." not in name:
            return kind
    raise ValueError(
        f"the name {name!r} does not show the file's format; give it with --format: {', '.join(FORMATS)} (spreadsheets "
        "must be saved as CSV, archives unpacked; .csv.gz, .bz2 and .xz are read)"
    )


def absent(path: Path) -> FileNotFoundError:
    """Return the error of a path that is no file."""
    return FileNotFoundError(f"no such file: {path}" if not path.exists() else f"not a file: {path}")


def unpacked(path: Path) -> Any:
    """Open a file for reading bytes, decompressed as its ending says."""
    return OPENERS.get(path.suffix.lower(), open)(path, "rb")


def _read_parquet(path: Path) -> Any:
    import pandas

    try:
        return pandas.read_parquet(path)
    except ImportError as error:
        raise ImportError("reading parquet files needs pyarrow: pip install ascd[parquet]") from error
    except (ValueError, OSError) as error:  # pyarrow's errors are among them
        raise ValueError(f"{path} is not a parquet file: {error}") from error


# ---- LIBSVM files


def _read_libsvm(path: Path, recipe: tables.Recipe | None) -> tables.LabeledData:
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
    return tables.LabeledData(columns, y, None, recipe=tables.Recipe(written={"first": first}))


def parse_libsvm(file: Any, path: Path, memory: float) -> tuple[Any, Any]:
    """Return matrix (CSR, column 0 for index 0) and labels of LIBSVM's lines.

    An index is an error where the offsets of so many columns alone take more than the memory.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(file, zero_based=True)
    except (ValueError, IndexError, OverflowError) as error:
        raise ValueError(
            f"{path} is not a LIBSVM file, as its name or --format says: {error}; --format names another: csv, parquet"
        ) from error
    needed = 8.0 * (X.shape[1] + 1.0)
    if needed > memory:
        raise ValueError(
            f"{path.name} has an index {X.shape[1] - 1:,}: the offsets of so many columns take {needed / 1e9:.1f} GB, "
            f"more than the {memory / 1e9:.1f} GB that reading may take; number the features anew, or give "
            "`ascd convert` more with --memory"
        )
    return X, y


# ---- CSV files


def _read_csv_table(
    path: Path, target: str | None, given: Dialect, choices: tables.Choices, recipe: tables.Recipe | None
) -> tables.LabeledData:
    """Return the data of a CSV file, written and encoded as a model's recipe says where options do not."""
    known = recipe.written if recipe else {}
    model = Dialect(known.get("sep"), known.get("decimal"), known.get("header"), na=tuple(known.get("na", ())))
    found, names = detect(path, given, model)
    frame = read_csv(path, found, names, list(recipe.levels) if recipe else ())
    target = column_name(target, found.header)
    data = tables.label(frame, path.name, target, choices, recipe, found.decimal or ".")
    written = {name: getattr(found, name) for name in ("sep", "decimal", "header", "na")}
    return data._replace(notes=(found.words, *data.notes), recipe=data.recipe._replace(written=written))


def column_name(given: str | None, has_header: bool | None) -> str | None:
    """Return the name of a column; without a header it may be given as its number."""
    return f"column {given}" if has_header is False and given is not None and given.isdigit() else given


def detect(path: Path, given: Dialect, model: Dialect | None = None) -> tuple[Dialect, list[str] | None]:
    """Return how a file is written, and names of its columns where it has no header.

    What is given counts first, then how the data of a ``model`` were written, then what the first lines show.
    """
    check_separator(given.sep)
    model = model or Dialect()
    lines = _first_lines(path, given)
    sep = given.sep or (model.sep if model.sep and model.sep in lines[0] else find_separator(lines))
    if sep == WHITESPACE:
        rows = [line.split() for line in lines]
    else:
        rows = list(csv.reader(lines, delimiter=sep or ",", skipinitialspace=True))
    rows = [row for row in rows if any(row)]
    decimal = given.decimal or ("." if sep == "," else model.decimal) or _decimal(rows, path.name)
    header = given.header if given.header is not None else _has_header(rows, decimal, model.header, path.name)
    found = Dialect(sep, decimal, header, given.encoding, given.na or model.na)
    return found, None if header else [f"column {j + 1}" for j in range(len(rows[0]))]


def separator_name(sep: str | None) -> str:
    """Return a separator as people call it."""
    return SEPARATOR_WORDS.get(sep) or repr(sep)


def check_separator(sep: str | None) -> None:
    """Raise a ValueError for what cannot separate columns."""
    if sep not in (None, WHITESPACE) and (len(str(sep)) != 1 or str(sep) in '"\r\n'):
        raise ValueError(
            f"sep (--sep) must be one character other than a quote, or one of the words tab and space; got {sep!r}"
        )


def find_separator(lines: Sequence[str]) -> str | None:
    """Return the separator that cuts the lines into equally many fields (a header may lack a name); None if none."""
    plain = [line for line in re.sub(r'"[^"]*"', "q", "".join(lines)).splitlines() if line.strip()]
    for sep in "\t;,":
        if len(widths := {line.count(sep) for line in plain[1:] or plain}) == 1 and widths != {0}:
            return sep
    return "," if any("," in line for line in plain) else None  # pandas names the line that is longer


def _first_lines(path: Path, given: Dialect) -> list[str]:
    """Return the first lines of a file, each with its end; it must be a text."""
    with parsing(path, given), unpacked(path) as raw, io.TextIOWrapper(raw, given.encoding or "utf-8-sig") as file:
        lines = list(islice(file, LINES))
    if any("\0" in line for line in lines):
        raise ValueError(f"{path.name} holds bytes that no text has: is it a CSV file? --encoding names its encoding")
    if not any(map(str.strip, lines)):
        raise ValueError(f"{path.name} is empty")
    return lines


def _decimal(rows: list[list[str]], file: str) -> str:
    """Return the decimal mark that cells show; a point where none does."""
    cells = [cell.strip() for row in rows for cell in row]
    point, comma = (
        next((cell for cell in cells if mark in cell and tables.is_number(cell, mark)), None) for mark in ".,"
    )
    if point and comma:
        raise ValueError(
            f"{file} has cells with decimal points ({point}) and with decimal commas ({comma}): name the mark of its "
            "numbers with --decimal; cells with the other one are text"
        )
    return "," if comma else "."


def _has_header(rows: list[list[str]], decimal: str, model: bool | None, file: str) -> bool:
    """Return True unless the first line has numbers: about these a person decides, or the data of a ``model``."""
    above = [cell for cell in rows[0] if tables.is_number(cell, decimal)]
    if above and model is None:
        raise ValueError(
            f"the first line of {file} has numbers ({', '.join(above[:3])}) where a header has names: is it data, or "
            "names that are numbers? --no-header reads it as data, --header as names"
        )
    return not above or bool(model)


def read_csv(path: Path, dialect: Dialect, names: list[str] | None, words: Sequence[str] = (), **options: Any) -> Any:
    """Return the frame of a CSV file, or an iterator of frames where ``options`` has chunksize.

    ``dialect`` and ``names`` are what ``detect`` returned; in columns of ``words`` 07 must not become 7.
    """
    import pandas

    missing = {spelled for word in tables.MISSING for spelled in (word, word.upper(), word.title())}
    with parsing(path, dialect):
        frame = pandas.read_csv(
            path,
            sep=dialect.sep or ",",
            decimal=dialect.decimal or ".",
            header=0 if names is None else None,
            names=names,
            index_col=False,
            encoding=dialect.encoding or "utf-8-sig",
            na_values=[*missing, *dialect.na],
            skipinitialspace=True,
            dtype=dict.fromkeys(words, str),
            low_memory=False,  # else pandas takes rows in turns, and 07 is 7 where these hold numbers only
            **options,
        )
    if not {"chunksize", "nrows"} & set(options) and not len(frame):
        raise ValueError(f"{path.name} has a header and no rows")
    return frame


@contextmanager
def parsing(path: Path, dialect: Dialect) -> Iterator[None]:
    """Translate errors of a file that pandas cannot parse; they name the line."""
    from pandas.errors import EmptyDataError, ParserError, ParserWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)  # about a first row with more fields than columns
            yield
    except (UnicodeDecodeError, LookupError) as error:
        encoding = dialect.encoding or "utf-8"
        raise ValueError(
            f"{path.name} cannot be read as {encoding}: name its encoding, as in --encoding cp1252 or utf-16; a "
            f"compressed file must be named .gz, .bz2 or .xz ({error})"
        ) from None
    except (ParserError, ParserWarning, EmptyDataError) as error:
        raise ValueError(
            f"{path.name} is not a table in CSV: {str(error).strip()}: is the separator "
            f"{separator_name(dialect.sep or ',')} right (--sep), does a field lack its quotes, or the header a name?"
        ) from None
