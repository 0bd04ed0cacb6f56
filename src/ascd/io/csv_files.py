"""CSV files: how one is written (separator, decimal mark, header), found from its first lines, and its frame.

A separator cuts (nearly) all lines into the same number of fields.  A comma begins decimals where it does not separate
columns and a cell such as ``1,5`` shows it; ``1,250`` alone shows nothing, and what is assumed is noted.  The first
line is a header where it has words above columns of numbers.  What cannot be decided is an error that names the option
which decides it (--sep, --decimal, --thousands, --header, --no-header, --encoding).
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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

#: Lines that are looked at; fewer, but at least FEW, where they have more characters than SAMPLE.
LINES, FEW, SAMPLE = 200, 20, 1 << 18
#: Share of the lines that must have the same number of fields.
MOST = 0.9
#: Characters of the longest field (a line is one field to a separator that it lacks).
LONGEST = 1 << 26
WHITESPACE = r"\s+"
SEPARATORS = ("\t", ";", "|", ",", WHITESPACE)
SEPARATOR_WORDS = {"\t": "tab", WHITESPACE: "spaces", None: "none"}
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: Encodings by the mark that a file may begin with; UTF-8 without one.
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
#: Texts in small letters that stand for a missing value.
MISSING = frozenset(("", "?", "-", "--", ".", "na", "n/a", "nan", "null", "none", "missing", "#n/a", "<na>", "nat"))
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
OTHER = {".": ",", ",": "."}
#: Cells that show a decimal mark, and those among them that may be whole numbers with marks between thousands.
DECIMALS = {mark: re.compile(rf"[+-]?\d*\{mark}\d+([eE][+-]?\d+)?") for mark in OTHER}
GROUPED = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}\{mark}\d{{3}}") for mark in OTHER}


class Dialect(NamedTuple):
    """How a CSV file is written; None: found from the file, except ``thousands``, the mark between thousands."""

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    thousands: str | None = None

    @property
    def words(self) -> str:
        """The dialect in words.

        Examples
        --------
        >>> from ascd.io import Dialect
        >>> Dialect(";", ",", True, "utf-8-sig").words
        "separator ';', decimal comma, header"
        """
        shown = [f"separator {separator_name(self.sep)}"]
        shown += ["decimal comma"] * (self.decimal == ",")
        shown += [f"{self.thousands!r} between thousands"] * bool(self.thousands)
        shown += ["no header" if self.header is False else "header"]
        shown += [f"encoding {self.encoding}"] * (self.encoding not in (None, "utf-8-sig"))
        return ", ".join(shown)


class Layout(NamedTuple):
    """A file's dialect, the names of its columns, what was found in sentences, and the fields of its first row."""

    dialect: Dialect
    names: list[str]
    notes: list[str]
    width: int


def detect(path: Path, given: Dialect, model: Dialect | None = None, known: Sequence[str] = ()) -> Layout:
    """Return how a file is written: what is given, and the rest as found.

    Parameters
    ----------
    model : the dialect of the data that a model was fitted to; decides where the file does not
    known : names of the model's columns
    """
    check_separator(given.sep)
    model = model or Dialect()
    encoding = given.encoding or _encoding_of(path)
    lines = _first_lines(path, encoding)
    sep = given.sep
    if sep is None and model.sep and known and set(known) <= set(_rows(lines, model.sep)[0]):
        sep = model.sep
    sep = sep or find_separator(lines) or model.sep
    rows = _rows(lines, sep or ",")
    sep = sep or ("," if max(map(len, rows)) > 1 else None)
    decimal, notes = _decimal([cell for row in rows for cell in row], sep, given, model.decimal, path.name)
    header = _header(rows, decimal, path.name, given.header, model.header, known)
    names = numbered(max(map(len, rows)))
    if header:
        names = distinct([cell or f"Unnamed: {j}" for j, cell in enumerate(rows[0])])
        twice = next(((old, new) for old, new in zip(rows[0], names, strict=True) if old not in ("", new)), None)
        notes += [f"several columns are called {twice[0]!r}: the second is {twice[1]!r} here"] if twice else []
    found = Dialect(sep, decimal, header, encoding, given.thousands or model.thousands)
    return Layout(found, names, [found.words, *notes], len(rows[-1 if len(rows) == 1 else int(header)]))


def numbered(count: int) -> list[str]:
    """Return names of columns that have none."""
    return [f"column {j + 1}" for j in range(count)]


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with numbers behind those that were there before."""
    found: dict[str, None] = {}
    for name in names:
        number, free = 0, name
        while free in found:
            number += 1
            free = f"{name}.{number}"
        found[free] = None
    return list(found)


def separator_name(sep: str | None) -> str:
    """Return a separator as people call it."""
    return SEPARATOR_WORDS.get(sep) or repr(sep)


def check_separator(sep: str | None) -> None:
    """Raise a ValueError for what cannot separate columns."""
    if sep in (None, WHITESPACE) or (len(str(sep)) == 1 and str(sep) not in '"\r\n'):
        return
    raise ValueError(
        f"sep (--sep) must be one character other than a quote, or one of the words tab, space, comma, semicolon and "
        f"pipe; got {sep!r}: replace it in the file by one character"
    )


def find_separator(lines: Sequence[str]) -> str | None:
    """Return the separator that cuts the lines into equally many fields; None where none does."""
    plain = [line for line in re.sub(r'"[^"]*"', "q", "".join(lines)).splitlines() if line.strip()]
    for least in (1.0, MOST):
        for sep in SEPARATORS:
            cut = None if sep == WHITESPACE else sep
            widths = Counter(len(line.split(cut)) for line in plain[1:] or plain)  # a header may lack a name
            width, count = widths.most_common(1)[0]
            if width > 1 and count >= least * widths.total():
                return sep
    return None


def is_number(cell: str, decimal: str = ".", thousands: str | None = None) -> bool:
    """Return True for a finite number in digits."""
    return NUMBER.fullmatch(plain_number(cell, decimal, thousands)) is not None


def plain_number(cell: str, decimal: str = ".", thousands: str | None = None) -> str:
    """Return a number with a decimal point and without marks between thousands; "" for one with other marks."""
    text = cell.strip(" \t")
    if thousands and re.fullmatch(rf"[+-]?\d{{1,3}}(\{thousands}\d{{3}})+(\{decimal}\d+)?", text):
        text = text.replace(thousands, "")
    if decimal == ",":
        text = "" if "." in text else text.replace(",", ".")
    return text


def read_csv(path: Path, layout: Layout, na: Sequence[str], as_text: Sequence[str] = (), **options: Any) -> Any:
    """Return the frame of a CSV file, or an iterator of frames where ``options`` has chunksize.

    Parameters
    ----------
    as_text : columns of words, in which 07 must not become 7
    """
    import pandas

    dialect, names = layout.dialect, layout.names
    missing = {spelled for word in MISSING for spelled in (word, word.upper(), word.title())}
    with parsing(path, layout):
        frame = pandas.read_csv(
            path,
            sep=dialect.sep or ",",
            decimal=dialect.decimal or ".",
            header=0 if dialect.header else None,
            names=names,
            index_col=False,
            encoding=dialect.encoding,
            na_values=[*missing, *na],
            skipinitialspace=True,
            dtype={name: str for name in as_text if name in names},
            low_memory=False,  # else pandas takes rows in turns, and 07 is 7 where these hold numbers only
            **options,
        )
    if "chunksize" not in options and not len(frame):
        raise ValueError(f"{path.name} has a header of {len(names)} column{'s' * (len(names) > 1)} and no rows")
    return frame


@contextmanager
def parsing(path: Path, layout: Layout) -> Iterator[None]:
    """Translate errors of a file that pandas cannot parse; they name the line."""
    from pandas.errors import EmptyDataError, ParserError, ParserWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)  # about a first row with more fields than columns
            yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path.name} is not {layout.dialect.encoding} in all its lines ({error.reason}): name its encoding, as in "
            "--encoding cp1252"
        ) from None
    except (ParserError, ParserWarning, EmptyDataError) as error:
        raise _not_csv(error, path, layout) from None


def _not_csv(error: Exception, path: Path, layout: Layout) -> ValueError:
    longer = re.search(r"in line (\d+), saw (\d+)", str(error))
    if not longer and type(error).__name__ != "ParserWarning":
        return ValueError(f"{path} is not a table in CSV: {error}")
    line, fields = longer.groups() if longer else (1 + bool(layout.dialect.header), layout.width)
    return ValueError(
        f"{path.name}: line {line} has {fields} fields, and there are {len(layout.names)} columns: is the separator "
        f"{separator_name(layout.dialect.sep or ',')} right (--sep), does a field lack its quotes, or the header a "
        "name (as R writes files with names of rows)?"
    )


def unpacked(path: Path) -> Any:
    """Open a file for reading bytes, decompressed as its ending says."""
    return OPENERS.get(path.suffix.lower(), open)(path, "rb")


def _encoding_of(path: Path) -> str:
    """Return UTF-16 where its mark is there, UTF-8 where the first bytes allow it, else that of Windows."""
    with unpacked(path) as file:
        raw: bytes = file.read(SAMPLE)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(raw)  # the last character may be cut
    except UnicodeDecodeError:
        return MARKS.get(raw[:2], "cp1252")
    return "utf-8-sig"


def _first_lines(path: Path, encoding: str) -> list[str]:
    """Return the first lines of a file, each with its end; it must be a text."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ValueError(f"unknown encoding {encoding!r} (--encoding); utf-8, cp1252 and utf-16 are common") from None
    lines, size = [], 0
    with io.TextIOWrapper(unpacked(path), encoding, errors="replace") as file:
        for line in file:
            lines.append(line)
            size += len(line)
            if len(lines) >= (LINES if size < SAMPLE else FEW):
                break
    text = "".join(lines)
    if "\0" in text:
        raise ValueError(f"{path.name} holds bytes that no text has: is it a CSV file, or compressed?")
    if not text.strip("\ufeff \t\n"):
        raise ValueError(f"{path.name} is empty")
    return [lines[0].lstrip("\ufeff"), *lines[1:]]


def _rows(lines: Sequence[str], sep: str) -> list[list[str]]:
    """Return the fields of the lines, without empty lines."""
    before = csv.field_size_limit(LONGEST)
    try:
        if sep == WHITESPACE:
            lines, sep = [re.sub(r"[ \t]+", " ", line.strip()) for line in lines], " "
        cut = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=sep, skipinitialspace=True)]
    except csv.Error as error:
        raise ValueError(f"this is not a table in CSV: {error}") from error
    finally:
        csv.field_size_limit(before)
    return [row for row in cut if any(row)]


def _decimal(
    cells: list[str], sep: str | None, given: Dialect, model: str | None, file: str
) -> tuple[str, list[str]]:  # fmt: skip
    """Return the decimal mark, and a note where it was assumed."""
    if given.decimal is not None or sep == ",":
        return given.decimal or ".", []
    if given.thousands in OTHER:
        return OTHER[given.thousands], []
    found = {mark: [cell for cell in cells if DECIMALS[mark].fullmatch(cell)] for mark in OTHER}
    sure = {mark: next((cell for cell in found[mark] if not GROUPED[mark].fullmatch(cell)), None) for mark in OTHER}
    if sure["."] and sure[","]:
        raise ValueError(
            f"{file} has cells with decimal points ({sure['.']}) and with decimal commas ({sure[',']}): name the mark "
            "of its numbers with --decimal; cells with the other one are text"
        )
    if sure["."] or sure[","]:
        return "." if sure["."] else ",", []
    decimal = model or ("." if found["."] or not found[","] else ",")
    if model or not found[decimal]:
        return decimal, []
    cell = found[decimal][0]
    return decimal, [
        f"{cell} is read with a decimal {'point' if decimal == '.' else 'comma'}, as nothing in the file shows "
        f"otherwise; --decimal {OTHER[decimal]} --thousands {decimal} reads it as {cell.replace(decimal, '')}"
    ]


def _header(
    rows: list[list[str]], decimal: str, file: str, given: bool | None, model: bool | None, known: Sequence[str]
) -> bool:
    """Return whether the first line has names; numbers above numbers must be decided by a person or a model."""
    first, rest = rows[0], rows[1:]
    columns = ([row[j] for row in rest if j < len(row) and row[j].lower() not in MISSING] for j in range(len(first)))
    numeric = [bool(cells) and all(is_number(cell, decimal) for cell in cells) for cells in columns]
    above = [cell for cell, one in zip(first, numeric, strict=True) if (one if rest else is_number(cell, decimal))]
    are_numbers = [is_number(cell, decimal) for cell in above]
    if given is not None:
        return given
    if model and known and set(known) <= set(first):
        return True
    if not above or not all(are_numbers):
        return bool(above) or model is not False
    if model is False:
        return False
    raise ValueError(
        f"the first line of {file} has numbers ({', '.join(above[:3])}) where a header has names: is it data, or names "
        "that are numbers? --no-header reads it as data, --header as names"
    )
