"""How a CSV file is written: separator, decimal mark, header and encoding, found from its beginning.

A separator must cut (nearly) all lines into the same number of fields.  A comma begins decimals where it does not
separate columns and a cell such as ``1,5`` shows it; ``1,250`` alone shows nothing, and what is assumed is noted.  The
first line is a header where it has words above columns of numbers.  What cannot be decided is an error that names the
option which decides it (--sep, --decimal, --thousands, --header, --no-header, --encoding).
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

#: Bytes and lines of the beginning; more bytes where they hold fewer than FEW lines, as with 10⁵ columns.
SAMPLE, LINES, FEW, MOST_BYTES = 1 << 18, 200, 20, 1 << 26
WHITESPACE = r"\s+"
SEPARATORS = ("\t", ";", "|", ",", WHITESPACE)
SEPARATOR_WORDS = {"\t": "tab", WHITESPACE: "spaces", None: "none"}
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: Share of the lines that must have the same number of fields.
MOST = 0.9
#: Cells that stand for a missing value, besides those that pandas knows.
MISSING = frozenset(("", "?", "-", "--", ".", "na", "n/a", "nan", "null", "none", "missing", "#n/a"))
OTHER = {".": ",", ",": "."}
#: Cells that may show a decimal mark, and those that may be whole numbers with marks between thousands as well.
DECIMALS = {
    mark: re.compile(rf"[+-]?(\d*|\d{{1,3}}(\{OTHER[mark]}\d{{3}})+)\{mark}\d+([eE][+-]?\d+)?") for mark in OTHER
}
GROUPED = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}(\{mark}\d{{3}})+") for mark in OTHER}


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
    """A file's dialect, the names of its columns, and what was found and assumed, in sentences."""

    dialect: Dialect
    names: list[str]
    notes: list[str]


def detect(path: Path, given: Dialect, model: Dialect | None = None, known: Sequence[str] = ()) -> Layout:
    """Return the file's dialect: what is given, and the rest as found.

    Parameters
    ----------
    model : the dialect of the data that a model was fitted to; decides where the file does not
    known : names of the model's columns
    """
    check_separator(given.sep)
    raw, is_cut = _beginning(path)
    encoding = given.encoding or encoding_of(raw)
    try:
        text = raw.decode(encoding, errors="replace").lstrip("\ufeff")
    except LookupError:
        raise ValueError(f"unknown encoding {encoding!r} (--encoding); utf-8, cp1252 and utf-16 are common") from None
    if not text.strip():
        raise ValueError(f"{path.name} is empty")
    if "\0" in text:
        raise ValueError(f"{path.name} holds bytes that no text has: is it a CSV file, or compressed?")
    model = model or Dialect()
    sep = given.sep or _separator_of(model, known, text, is_cut) or find_separator(text, is_cut) or model.sep
    rows = rows_in(text, sep or ",", is_cut)
    sep = sep or ("," if max(map(len, rows)) > 1 else None)
    decimal, notes = _decimal(rows, sep, given, model.decimal, path)
    header = _header(rows, decimal, path, given.header, model.header, known)
    first = [cell.strip() for cell in rows[0]]
    names = distinct([cell or f"Unnamed: {j}" for j, cell in enumerate(first)])
    twice = next(((old, new) for old, new in zip(first, names, strict=True) if old not in ("", new)), None)
    if header and twice:
        notes.append(f"several columns are called {twice[0]!r}: the second is {twice[1]!r} here")
    if not header:
        names = numbered(max(map(len, rows)))
    found = Dialect(sep, decimal, header, encoding, given.thousands or model.thousands)
    return Layout(found, names, [found.words, *notes])


def _separator_of(model: Dialect, known: Sequence[str], text: str, is_cut: bool) -> str | None:
    """Return the model's separator where it finds all of the model's columns."""
    if model.sep is None or not known:
        return None
    return model.sep if set(known) <= {cell.strip() for cell in rows_in(text, model.sep, is_cut)[0]} else None


def numbered(count: int) -> list[str]:
    """Return names of columns that have none."""
    return [f"column {j + 1}" for j in range(count)]


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


def find_separator(text: str, is_cut: bool = False) -> str | None:
    """Return the separator that cuts the lines into equally many fields; None where none does."""
    for least in (1.0, MOST):
        for sep in SEPARATORS:
            rows = rows_in(text, sep, is_cut)
            widths = Counter(len(row) for row in rows[1:] or rows)  # a header may lack a name
            width, lines = widths.most_common(1)[0]
            if width > 1 and lines >= least * widths.total():
                return sep
    return None


def rows_in(text: str, sep: str, is_cut: bool) -> list[list[str]]:
    """Return the first lines in fields, without empty lines and a last one that is cut."""
    lines = text.splitlines(keepends=True)
    lines = lines[: min(LINES, len(lines) - (is_cut and len(lines) > 1))]
    return [row for _, row in _fields(lines, sep) if any(cell.strip() for cell in row)]


def _fields(lines: Iterable[str], sep: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the last line of each row, and the row's fields."""
    if sep == WHITESPACE:
        yield from ((number, line.split()) for number, line in enumerate(lines, start=1))
        return
    before = csv.field_size_limit(MOST_BYTES)  # a line may be one long field
    try:
        reader = csv.reader(lines, delimiter=sep, skipinitialspace=True)
        yield from ((reader.line_num, row) for row in reader)
    except csv.Error as error:
        raise ValueError(f"this is not a table in CSV: {error}") from error
    finally:
        csv.field_size_limit(before)


def longer_line(path: Path, layout: Layout) -> tuple[int, int] | None:
    """Return number and fields of the first line with more fields than there are columns."""
    with unpacking(path), unpacked(path) as file:
        lines = io.TextIOWrapper(file, layout.dialect.encoding or "utf-8", errors="replace", newline="")
        found = ((line, len(row)) for line, row in _fields(lines, layout.dialect.sep or ","))
        return next(((line, size) for line, size in found if size > len(layout.names)), None)


def encoding_of(raw: bytes) -> str:
    """Return UTF-16 or UTF-32 where their mark is there, UTF-8 where the bytes allow it, else that of Windows."""
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(raw)  # the last character may be cut
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Translate errors of a file that is not compressed as its name says, or that is cut off."""
    try:
        yield
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        if path.suffix.lower() not in OPENERS or getattr(error, "errno", None) is not None:
            raise
        raise ValueError(
            f"{path.name} cannot be unpacked as its ending {path.suffix} says ({error}): rename it without that ending "
            "if it is not compressed, or copy it again if it is cut off"
        ) from error


def unpacked(path: Path) -> Any:
    """Open a file for reading bytes, decompressed as its ending says."""
    return OPENERS.get(path.suffix.lower(), open)(path, "rb")


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names with numbers behind those that were there before."""
    found: dict[str, None] = {}
    taken = set(names)
    for name in names:
        numbers = (f"{name}.{number}" for number in count(1))
        found[name if name not in found else next(one for one in numbers if one not in taken | set(found))] = None
    return list(found)


def is_missing(cell: str) -> bool:
    """Return True for a text that stands for a missing value."""
    return cell.strip().lower() in MISSING


def plain_number(cell: str, decimal: str = ".", thousands: str | None = None) -> str:
    """Return a number with a decimal point and without marks between thousands; "" for one with other marks."""
    text = cell.strip(" \t")
    if thousands and re.fullmatch(rf"[+-]?\d{{1,3}}(\{thousands}\d{{3}})+(\{decimal}\d+)?", text):
        text = text.replace(thousands, "")
    if decimal == ",":
        text = "" if "." in text else text.replace(",", ".")
    return text


def is_number(cell: str, decimal: str = ".", thousands: str | None = None) -> bool:
    """Return True for a finite number in digits that pandas reads."""
    text = plain_number(cell, decimal, thousands)
    try:
        return abs(float(text)) < float("inf") and text.isascii() and text.isprintable() and "_" not in text
    except ValueError:
        return False


def _beginning(path: Path) -> tuple[bytes, bool]:
    """Return the first bytes of a file, decompressed, and whether there are more."""
    with unpacking(path), unpacked(path) as file:
        raw: bytes = file.read(SAMPLE)
        is_cut = len(raw) == SAMPLE
        while is_cut and len(raw) < MOST_BYTES and raw.count(b"\n") + raw.count(b"\r") < FEW:
            more = file.read(len(raw))
            is_cut = len(more) == len(raw)
            raw += more
    return raw, is_cut


def _decimal(
    rows: list[list[str]], sep: str | None, given: Dialect, model: str | None, path: Path
) -> tuple[str, list[str]]:
    """Return the decimal mark, and a note where it was assumed."""
    if given.decimal is not None or sep == ",":
        return given.decimal or ".", []
    cells = [cell.strip() for row in rows for cell in row]
    sure, unsure = {}, {}
    for mark in OTHER:
        found = [cell for cell in cells if DECIMALS[mark].fullmatch(cell)]
        sure[mark] = next((cell for cell in found if not GROUPED[mark].fullmatch(cell)), None)
        unsure[mark] = next((cell for cell in found if GROUPED[mark].fullmatch(cell)), None)
    if sure["."] and sure[","]:
        raise ValueError(
            f"{path.name} has cells with decimal points ({sure['.']}) and with decimal commas ({sure[',']}): name the "
            "mark of its numbers with --decimal; cells with the other one are text"
        )
    if sure["."] or sure[","]:
        return "." if sure["."] else ",", []
    decimal = model or ("." if unsure["."] or not unsure[","] else ",")
    cell = unsure[decimal]
    if cell is None or model:
        return decimal, []
    return decimal, [
        f"{cell} is read with a decimal {'point' if decimal == '.' else 'comma'}, as nothing in the file shows "
        f"otherwise; --decimal {OTHER[decimal]} --thousands {decimal} reads it as {cell.replace(decimal, '')}"
    ]


def _header(
    rows: list[list[str]], decimal: str, path: Path, given: bool | None, model: bool | None, known: Sequence[str]
) -> bool:
    """Return whether the first line has names; numbers above numbers must be decided by a person or a model."""
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    numeric = [j for j in range(len(first)) if _is_numeric([row[j] for row in rest if j < len(row)], decimal)]
    above = [first[j] for j in numeric] if rest else [cell for cell in first if is_number(cell, decimal)]
    if given is False and above and not any(is_number(cell, decimal) or is_missing(cell) for cell in above):
        raise ValueError(
            f"the first line of {path.name} has words ({', '.join(above[:3])}) above columns of numbers, which "
            "--no-header would read as data: leave that option out, or delete the line"
        )
    if given is not None:
        return given
    if model and known and set(known) <= set(first):
        return True
    if not above or not all(is_number(cell, decimal) for cell in above):
        return bool(above) or model is not False
    if model is False:
        return False
    raise ValueError(
        f"the first line of {path.name} has numbers ({', '.join(above[:3])}) where a header has names: is it data, or "
        "names that are numbers? --no-header reads it as data, --header as names"
    )


def _is_numeric(cells: list[str], decimal: str) -> bool:
    there = [cell.strip() for cell in cells if not is_missing(cell)]
    return bool(there) and all(is_number(cell, decimal) for cell in there)
