"""How a CSV file is written: separator, decimal mark, header and encoding, found out from its beginning.

Separators are found by ``separators``, decimal marks by ``marks``.  The first line is a header where it has words above
columns of numbers.  Lines of comments above it (#), and the line ``sep=;`` that spreadsheets write, are left out.

A model knows how its data were written (``Learnt``), and reads new data in the same way unless these contradict it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ascd.files.counting import counted
from ascd.files.marks import NO_MARK, find_marks, is_missing, kind_of, notes_of
from ascd.files.separators import (
    LINES,
    WHITESPACE,
    beginning,
    check_separator,
    encoding_of,
    find_separator,
    names_rows,
    packed_by,
    rows_in,
    separator_name,
    table_in,
)

#: Characters of a line that are shown.
LONGEST = 80


class Dialect(NamedTuple):
    """How a CSV file is written; what is None is found out from the file.

    Besides what a file has: lines above the table to ``skip``, columns to be read ``as_text`` (by their places or
    names), what was assumed (``notes``), and whether a decimal mark was seen at all (``is_marked``).
    """

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    thousands: str | None = None
    skip: int = 0
    as_text: tuple[int | str, ...] = ()
    notes: tuple[str, ...] = ()
    is_marked: bool = False

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


class Learnt(NamedTuple):
    """How a model's data were written, and the names of their columns; None and () where that is not known.

    ``words`` are the names of columns of text, ``target`` is that of the new data's target.
    """

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    target: Any = None

    def placed(self, numbered: Sequence[str]) -> list[str]:
        """The names of columns that have none: where the model has names, these belong to all but the target, in turn.

        Examples
        --------
        >>> from ascd.files.dialect import Learnt
        >>> Learnt(names=("age", "town"), target="column 1").placed(["column 1", "column 2", "column 3"])
        ['column 1', 'age', 'town']
        """
        if self.header is False:  # the model knows its columns by their numbers, too
            return list(numbered)
        names = iter(self.names)
        return [name if name == self.target else next(names, name) for name in numbered]


NOTHING = Learnt()


def detect(path: Path, given: Dialect, learnt: Learnt = NOTHING) -> Dialect:
    """The file's dialect: what is given, and the rest found out; ``sep`` stays None where there is one column only."""
    check_separator(given.sep)
    raw, is_cut = beginning(path)
    if not raw.strip():
        raise ValueError(f"{path.name} is empty")
    encoding = given.encoding or encoding_of(raw)
    decoded = raw.decode(encoding, errors="replace")
    if not decoded.strip("\ufeff \r\n\t"):
        raise ValueError(f"{path.name} is empty")
    if "\0" in decoded:
        packer = packed_by(raw)
        known = f"it is compressed by {packer}: unpack it, or rename it" if packer else "is it a CSV file?"
        raise ValueError(f"{path.name} holds bytes that no text has: {known}")
    text, skip, named = table_in(decoded)
    sep = given.sep or named or _better_separator(text, is_cut, learnt)
    rows = rows_in(text, sep or ",", is_cut, most=None)
    sep = sep or ("," if max(map(len, rows)) > 1 else None)  # lines of unequal lengths, which no separator cuts alike
    has_row_names = names_rows(rows)
    if has_row_names:
        if not any(row[-1].strip() for row in rows[1:]):  # names of rows would move all other names by one column
            raise ValueError(
                f"{path.name}: every line but the first ends with a separator, {separator_name(sep)}: add one to the "
                "first line as well, or remove the others"
            )
        rows = [rows[0], *(row[1:] for row in rows[1:])]
    cells = rows if given.header is False else rows[1:] or rows
    marks = find_marks(cells, sep, given.decimal, learnt.decimal)
    header = given.header if given.header is not None else _has_header(rows[: LINES + 1], marks.decimal, path, learnt)
    if given.header is False:
        _check_first(rows[: LINES + 1], marks.decimal, path)
    widest = max(map(len, rows))
    names = [f"column {j + 1}" for j in range(widest)]
    first = [cell.strip() for cell in rows[0]]
    unique = distinct([cell or f"Unnamed: {j}" for j, cell in enumerate(first)])
    names = [*unique, *names[len(first) :]] if header else learnt.placed(names)
    twice = [(old, new) for old, new in zip(first, unique, strict=True) if header and old not in ("", new)]
    notes = ["the first column has no name: left out, as names of the rows"] if has_row_names else []
    notes += [f"several columns are called {twice[0][0]!r}: the second is {twice[0][1]!r} here"] if twice else []
    notes += [*_differences(learnt, sep, marks.decimal, header), *notes_of(marks, sep, names)]
    thousands, is_marked = given.thousands or marks.thousands, marks.basis != NO_MARK
    as_text = tuple(j + has_row_names for j, name in enumerate(names) if j in marks.as_text or name in learnt.words)
    return Dialect(sep, marks.decimal, header, encoding, thousands, skip, as_text, tuple(notes), is_marked)


def distinct(names: Sequence[str]) -> list[str]:
    """Names with numbers behind those that were there before: pandas' own, also where only spaces told names apart.

    Examples
    --------
    >>> from ascd.files.dialect import distinct
    >>> distinct(["a", "a", "a.1"])
    ['a', 'a.2', 'a.1']
    """
    found: dict[str, None] = {}
    taken = set(names)
    for name in names:
        numbered = (f"{name}.{number}" for number in count(1))
        free = name if name not in found else next(one for one in numbered if one not in taken and one not in found)
        found[free] = None
    return list(found)


def _differences(learnt: Learnt, sep: str | None, decimal: str, header: bool) -> list[str]:
    """Where the file contradicts what a model has learnt, or an option does."""
    told = []
    if learnt.sep is not None and sep is not None and sep != learnt.sep:
        told.append(f"the separator {separator_name(learnt.sep)}")
    if learnt.decimal is not None and decimal != learnt.decimal:
        told.append(f"the decimal mark {learnt.decimal!r}")
    if learnt.header is not None and header != learnt.header:
        told.append("a header" if learnt.header else "no header")
    return [f"the model's data had {' and '.join(told)}"] if told else []


def _better_separator(text: str, is_cut: bool, learnt: Learnt) -> str | None:
    """The separator that is found, or the model's where that finds more of its columns."""
    found = find_separator(text, is_cut)
    if learnt.sep in (None, found):
        return found

    def columns_found(sep: str | None) -> tuple[int, bool]:
        first = [cell.strip() for cell in rows_in(text, sep or ",", is_cut)[0]]
        return len(set(first) & set(learnt.names)), len(first) >= len(learnt.names)

    return learnt.sep if columns_found(learnt.sep) > columns_found(found) else found


def first_look(path: Path, dialect: Dialect) -> tuple[str, str | None]:
    """The first line of a file, and the separator that suits it best."""
    raw, is_cut = beginning(path)
    text, _, _ = table_in(raw.decode(dialect.encoding or "utf-8", errors="replace"))
    better = find_separator(text, is_cut)
    return text.splitlines()[0][:LONGEST], " " if better == WHITESPACE else better


def is_number(cell: str, decimal: str = ".") -> bool:
    """Is the text a finite number, in digits that pandas reads?"""
    text = cell.strip(" \t")
    if decimal == ",":
        text = text.replace(".", "").replace(",", ".")
    try:
        return abs(float(text)) < float("inf") and text.isascii() and text.isprintable() and "_" not in text
    except ValueError:
        return False


def _has_header(rows: list[list[str]], decimal: str, path: Path, learnt: Learnt) -> bool:
    """Has the first line words above columns of numbers?  Where it has numbers there, a person or a model must say."""
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    numeric = [j for j in range(len(first)) if _is_numeric([row[j] for row in rest if j < len(row)], decimal)]
    above = [first[j] for j in numeric] if rest else [cell for cell in first if _is_number(cell, decimal)]
    if learnt.header and learnt.names and set(learnt.names) <= set(first):
        return True
    if not above or any(not _is_number(cell, decimal) for cell in above):
        return bool(above) or learnt.header is not False
    if learnt.header is False:
        return False
    raise ValueError(
        f"the first line of {path.name} has numbers ({', '.join(above[:3])}) where a header has names: is it data, or "
        "names that are numbers? --no-header reads it as data, --header as names"
    )


def _check_first(rows: list[list[str]], decimal: str, path: Path) -> None:
    """Refuse names as a row of data: words above every column of numbers."""
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    above = [first[j] for j in range(len(first)) if _is_numeric([row[j] for row in rest if j < len(row)], decimal)]
    if above and not any(_is_number(cell, decimal) or is_missing(cell) for cell in above):
        raise ValueError(
            f"the first line of {path.name} has words ({', '.join(above[:3])}) above columns of numbers, which "
            "--no-header would read as data: leave that option out, or delete the line"
        )


def _is_numeric(cells: list[str], decimal: str) -> bool:
    there = [cell.strip() for cell in cells if not is_missing(cell)]
    return bool(there) and all(_is_number(cell, decimal) for cell in there)


def _is_number(cell: str, decimal: str) -> bool:
    """A number, with marks between thousands or without."""
    return is_number(cell, decimal) or any(kind_of(cell))
