"""How a CSV file is written: separator, decimal mark, header and encoding, found out from its beginning.

A separator is one that cuts every line into the same number of fields, more than one.  A decimal comma is one inside
cells that are numbers otherwise.  The first line is a header where it has words above columns of numbers.  Lines of
comments above it (#), and the line ``sep=;`` that spreadsheets write, are left out.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ascd.files.counting import counted

#: Bytes and lines that are looked at.
SAMPLE, LINES = 1 << 18, 200
SEPARATORS = ("\t", ";", "|", ",")
WHITESPACE = r"\s+"
WORDS = {"\t": "tab", WHITESPACE: "spaces", " ": "space"}
#: Cells that stand for a missing value, besides what pandas knows; upper and lower case are the same.
MISSING = frozenset(("", "?", "-", "--", ".", "na", "n/a", "nan", "null", "none", "missing", "#n/a"))
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: Characters of a line that are shown.
LONGEST = 80
#: Share of the lines that must have the same number of fields.
MOST = 0.9
EUROPEAN = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+")
COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
#: What a spreadsheet writes into a first line to name the separator.
NAMED_SEPARATOR = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")
ENGLISH = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")


class Dialect(NamedTuple):
    """How a CSV file is written; what is None is found out from the file."""

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    thousands: str | None = None
    skip: int = 0

    @property
    def words(self) -> str:
        """In words, for people.

        Examples
        --------
        >>> from ascd.files import Dialect
        >>> Dialect(";", ",", True, "utf-8-sig").words
        "separator ';', decimal comma, header"
        """
        shown = [f"separator {separator_name(self.sep)}"]
        shown += ["decimal comma"] * (self.decimal == ",")
        shown += [f"{self.thousands!r} between thousands"] * bool(self.thousands)
        shown += ["no header" if self.header is False else "header"]
        shown += [f"encoding {self.encoding}"] * (self.encoding not in (None, "utf-8-sig"))
        shown += [f"{counted(self.skip, 'line')} above the table left out"] * bool(self.skip)
        return ", ".join(shown)


def separator_name(sep: str | None) -> str:
    """A separator as people call it."""
    return "none" if sep is None else WORDS.get(sep, repr(sep))


def detect(path: Path, given: Dialect) -> Dialect:
    """The file's dialect: what is given, and the rest found out; ``sep`` stays None where there is one column only."""
    raw, is_cut = _beginning(path)
    if not raw.strip():
        raise ValueError(f"{path.name} is empty")
    encoding = given.encoding or _encoding(raw)
    decoded = raw.decode(encoding, errors="replace")
    if not decoded.strip("\ufeff \r\n\t"):
        raise ValueError(f"{path.name} is empty")
    if "\0" in decoded:
        raise ValueError(f"{path.name} holds bytes that no text has: is it a CSV file?")
    text, skip, named = _table_of(decoded)
    sep = given.sep or named or find_separator(text, is_cut)
    rows = _rows(text, sep or ",", is_cut)
    decimal, thousands = _marks(rows[1:] or rows, sep, given.decimal)
    header = given.header if given.header is not None else _has_header(rows, decimal, path.name)
    return Dialect(sep, decimal, header, encoding, given.thousands or thousands, skip)


def _table_of(text: str) -> tuple[str, int, str | None]:
    """The text without the lines above the table, how many these are, and the separator that they name.

    A header that begins with # has as many fields as the line below it, and stays.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)
    named = NAMED_SEPARATOR.fullmatch(lines[0].strip())
    skip = 1 if named else 0
    while skip < len(lines) and (lines[skip].startswith("#") or not lines[skip].strip()):
        skip += 1
    if skip == len(lines):
        return "".join(lines), 0, None
    if skip and not named:
        sep = find_separator("".join(lines[skip:]))
        fields = [len(_rows(line, sep or ",", False)[0]) for line in lines[skip - 1 : skip + 1] if line.strip()]
        skip -= len(fields) == 2 and fields[0] == fields[1] > 1
    return "".join(lines[skip:]), skip, named[1] if named else None


def find_separator(text: str, is_cut: bool = False) -> str | None:
    """The separator that cuts the lines into equally many fields; None where none does.

    Examples
    --------
    >>> from ascd.files.dialect import find_separator
    >>> find_separator("a;b\\n1,5;2,25\\n3;4\\n")
    ';'
    """
    for least in (1.0, MOST):
        for sep in (*SEPARATORS, WHITESPACE):
            widths = Counter(len(row) for row in _rows(text, sep, is_cut))
            width, count = widths.most_common(1)[0]
            if width > 1 and count >= least * widths.total():
                return sep
    return None


def first_look(path: Path, dialect: Dialect) -> tuple[str, str | None]:
    """The first line of a file, and the separator that suits it best."""
    raw, is_cut = _beginning(path)
    text, _, _ = _table_of(raw.decode(dialect.encoding or "utf-8", errors="replace"))
    better = find_separator(text, is_cut)
    return text.splitlines()[0][:LONGEST], " " if better == WHITESPACE else better


def is_number(cell: str, decimal: str = ".") -> bool:
    """Is the text a finite number?"""
    text = cell.strip()
    if decimal == ",":
        text = text.replace(".", "").replace(",", ".")
    try:
        return abs(float(text)) < float("inf") and "_" not in text
    except ValueError:
        return False


def is_missing(cell: str) -> bool:
    """Does the text stand for a missing value?"""
    return cell.strip().lower() in MISSING


def _beginning(path: Path) -> tuple[bytes, bool]:
    opener = OPENERS.get(path.suffix.lower(), open)
    with opener(path, "rb") as file:
        raw: bytes = file.read(SAMPLE)
    return raw, len(raw) == SAMPLE


def _encoding(raw: bytes) -> str:
    """UTF-16 where its mark is there; UTF-8, or what Windows writes where it is not that."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    try:
        raw[:-4].decode("utf-8-sig")  # the last character may be cut
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _rows(text: str, sep: str, is_cut: bool) -> list[list[str]]:
    """The first lines in fields; empty lines and a last one that is cut are left out."""
    lines = text.splitlines(keepends=True)[: LINES + 1]
    if len(lines) > LINES or (is_cut and len(lines) > 1):
        lines = lines[:-1]
    if sep == WHITESPACE:
        rows = [line.split() for line in lines]
    else:
        try:
            rows = list(csv.reader(io.StringIO("".join(lines)), delimiter=sep, skipinitialspace=True))
        except csv.Error as error:
            raise ValueError(f"this is not a table in CSV: {error}") from error
    return [row for row in rows if any(cell.strip() for cell in row)]


def _marks(rows: list[list[str]], sep: str | None, given: str | None) -> tuple[str, str | None]:
    """The decimal mark and what stands between thousands: where the one is given, the other may be that."""
    cells = [cell.strip() for row in rows for cell in row]
    if given == ",":
        return ",", "." if any(map(POINTS.fullmatch, cells)) else None
    if given is not None:
        return given, "," if any(map(ENGLISH.fullmatch, cells)) else None
    if any(map(EUROPEAN.fullmatch, cells)):
        return ",", "."
    if sep != "," and any(map(COMMA.fullmatch, cells)) and not any(map(POINT.fullmatch, cells)):
        return ",", None
    return ".", "," if any(map(ENGLISH.fullmatch, cells)) else None


def _has_header(rows: list[list[str]], decimal: str, name: str) -> bool:
    """Has the first line words above columns of numbers?  Where it has numbers there, a person must say."""
    first, rest = rows[0], rows[1:]
    numeric = [j for j in range(len(first)) if _is_numeric([row[j] for row in rest if j < len(row)], decimal)]
    above = [first[j] for j in numeric] if rest else [cell for cell in first if is_number(cell, decimal)]
    if not above or any(not is_number(cell, decimal) for cell in above):
        return True
    shown = ", ".join(cell.strip() for cell in above[:3])
    raise ValueError(
        f"the first line of {name} has numbers ({shown}) where a header has names: is it data, or names that are "
        "numbers? --no-header reads it as data, --header as names"
    )


def _is_numeric(cells: list[str], decimal: str) -> bool:
    there = [cell for cell in cells if not is_missing(cell)]
    return bool(there) and all(is_number(cell, decimal) or ENGLISH.fullmatch(cell.strip()) for cell in there)
