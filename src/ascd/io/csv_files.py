"""CSV files: a short look at the first lines for what options do not say, then pandas reads.

The separator is the one of tab, semicolon and comma that cuts all lines alike.  Where it is no comma, a cell such as
``1,5`` shows decimal commas.  The first line is a header unless it has numbers where names should be, which only the
user can decide.  Everything else is said by options (--sep, --decimal, --header, --no-header, --encoding, --na).
"""

from __future__ import annotations

import bz2
import codecs
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

#: Lines that are looked at.
LINES = 50
WHITESPACE = r"\s+"
SEPARATOR_WORDS = {"\t": "tab", WHITESPACE: "spaces", None: "none"}
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: Texts in small letters that stand for a missing value.
MISSING = frozenset(("", "?", "-", "--", ".", "na", "n/a", "nan", "null", "none", "missing", "#n/a", "<na>", "nat"))
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: Cells that show a decimal mark.
DECIMALS = {mark: re.compile(rf"[+-]?\d*\{mark}\d+([eE][+-]?\d+)?") for mark in ".,"}


class Dialect(NamedTuple):
    """How a CSV file is written; None: found from the file.  ``na`` are further texts for a missing value."""

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    na: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The dialect in words.

        Examples
        --------
        >>> from ascd.io import Dialect
        >>> Dialect(";", ",", True).words
        "separator ';', decimal comma, header"
        """
        shown = [f"separator {separator_name(self.sep)}"]
        shown += ["decimal comma"] * (self.decimal == ",")
        shown += ["no header" if self.header is False else "header"]
        shown += [f"encoding {self.encoding}"] * (self.encoding is not None)
        return ", ".join(shown)


def detect(path: Path, given: Dialect, model: Dialect | None = None) -> tuple[Dialect, list[str] | None]:
    """Return how a file is written, and names of its columns where it has no header.

    What is given counts first, then how the data of a ``model`` were written, then what the first lines show.
    """
    check_separator(given.sep)
    model = model or Dialect()
    lines = _first_lines(path, given.encoding)
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
            f"sep (--sep) must be one character other than a quote, or one of the words tab, space, comma, semicolon "
            f"and pipe; got {sep!r}"
        )


def find_separator(lines: Sequence[str]) -> str | None:
    """Return the separator that cuts the lines into equally many fields (a header may lack a name); None if none."""
    plain = [line for line in re.sub(r'"[^"]*"', "q", "".join(lines)).splitlines() if line.strip()]
    for sep in "\t;,":
        if len(widths := {line.count(sep) for line in plain[1:] or plain}) == 1 and widths != {0}:
            return sep
    return "," if any("," in line for line in plain) else None  # pandas names the line that is longer


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return True for a finite number in digits."""
    text = cell.strip(" \t")
    if decimal == ",":
        text = "" if "." in text else text.replace(",", ".")
    return NUMBER.fullmatch(text) is not None


def read_csv(path: Path, dialect: Dialect, names: list[str] | None, words: Sequence[str] = (), **options: Any) -> Any:
    """Return the frame of a CSV file, or an iterator of frames where ``options`` has chunksize.

    Parameters
    ----------
    dialect, names : what ``detect`` returned
    words : columns of words, in which 07 must not become 7
    """
    import pandas

    missing = {spelled for word in MISSING for spelled in (word, word.upper(), word.title())}
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
    except UnicodeDecodeError as error:
        raise _not_text(path, dialect.encoding, error) from None
    except (ParserError, ParserWarning, EmptyDataError) as error:
        longer = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        if not longer and not isinstance(error, ParserWarning):
            raise ValueError(f"{path} is not a table in CSV: {error}") from None
        first = f"line {2 if dialect.header else 1} has more fields than there are columns"
        where = "line {1} has {2} fields, and there are {0} columns".format(*longer.groups()) if longer else first
        raise ValueError(
            f"{path.name}: {where}: is the separator "
            f"{separator_name(dialect.sep or ',')} right (--sep), does a field lack its quotes, or the header a name?"
        ) from None


def _not_text(path: Path, encoding: str | None, error: UnicodeDecodeError) -> ValueError:
    return ValueError(
        f"{path.name} is not {encoding or 'utf-8'} in all its lines ({error.reason}): name its encoding, as in "
        "--encoding cp1252 or utf-16; a compressed file must be named .gz, .bz2 or .xz"
    )


def unpacked(path: Path) -> Any:
    """Open a file for reading bytes, decompressed as its ending says."""
    return OPENERS.get(path.suffix.lower(), open)(path, "rb")


def _first_lines(path: Path, encoding: str | None) -> list[str]:
    """Return the first lines of a file, each with its end; it must be a text."""
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise ValueError(f"unknown encoding {encoding!r} (--encoding); utf-8, cp1252 and utf-16 are common") from None
    try:
        with io.TextIOWrapper(unpacked(path), encoding or "utf-8-sig") as file:
            lines = list(islice(file, LINES))
    except UnicodeDecodeError as error:
        raise _not_text(path, encoding, error) from None
    if any("\0" in line for line in lines):
        raise ValueError(f"{path.name} holds bytes that no text has: is it a CSV file? --encoding names its encoding")
    if not any(map(str.strip, lines)):
        raise ValueError(f"{path.name} is empty")
    return lines


def _decimal(rows: list[list[str]], file: str) -> str:
    """Return the decimal mark that cells show; a point where none does."""
    cells = [cell.strip() for row in rows for cell in row]
    point, comma = (next((cell for cell in cells if DECIMALS[mark].fullmatch(cell)), None) for mark in ".,")
    if point and comma:
        raise ValueError(
            f"{file} has cells with decimal points ({point}) and with decimal commas ({comma}): name the mark of its "
            "numbers with --decimal; cells with the other one are text"
        )
    return "," if comma else "."


def _has_header(rows: list[list[str]], decimal: str, model: bool | None, file: str) -> bool:
    """Return whether the first line has names: yes for a word above numbers, and where it has no numbers.

    Numbers must be decided by a person, or by the data of a ``model``.
    """
    numeric = [[is_number(cell, decimal) or cell.strip().lower() in MISSING for cell in row] for row in rows]
    above = [cell for cell in rows[0] if is_number(cell, decimal)]
    is_named = any(
        not numeric[0][j] and len(rows) > 1 and all(row[j] for row in numeric[1:] if j < len(row))
        for j in range(len(rows[0]))
    )
    if is_named or not above:
        return True
    if model is None:
        raise ValueError(
            f"the first line of {file} has numbers ({', '.join(above[:3])}) where a header has names: is it data, or "
            "names that are numbers? --no-header reads it as data, --header as names"
        )
    return model
