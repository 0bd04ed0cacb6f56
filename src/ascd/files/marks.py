"""Which mark begins the decimals of numbers in text, and which stands between thousands.

``1,5`` shows that the comma begins decimals, and so do ``1.250,30`` and ``1.250.000``, whose points stand between
thousands.  ``4.311`` shows nothing: it is a number between 4 and 5, or four thousand.  A column of such cells is read
by what other columns show; where none does, the point begins decimals, and so does a comma that does not separate
columns.  What was assumed is told, with the option that reads it the other way.  Spaces and apostrophes between
thousands (``1 250,50``, ``1'250.50``) leave no doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

OTHER = {".": ",", ",": "."}
NAMES = {".": "point", ",": "comma"}
#: Cells that stand for a missing value, besides what pandas knows; upper and lower case are the same.
MISSING = frozenset(("", "?", "-", "--", ".", "na", "n/a", "nan", "null", "none", "missing", "#n/a"))
#: Kinds of cells: decimals after a mark, several groups of three digits, one such group, a number without marks.
DECIMAL, GROUPS, EITHER, PLAIN = "decimal", "groups", "either", "plain"
#: How a decimal mark is known.
GIVEN, SHOWN, LEARNT, ASSUMED, NO_MARK = "given", "shown", "learnt", "assumed", "no mark"
#: Share of a column's cells that are numbers, for the column to count; columns that a note names.
MOSTLY, MOST_NAMED = 0.5, 3
#: Spaces and apostrophes that stand between thousands, and numbers with them.
THIN = " \u00a0\u202f'\u2019"
SPACED = re.compile(rf"[+-]?[1-9]\d{{0,2}}([{THIN}]\d{{3}})+([.,]\d+)?")
WHOLE = re.compile(r"[+-]?\d+([eE][+-]?\d+)?")
SHAPES = {
    mark: (
        (EITHER, re.compile(rf"[+-]?[1-9]\d{{0,2}}\{mark}\d{{3}}")),
        (GROUPS, re.compile(rf"[+-]?[1-9]\d{{0,2}}(\{mark}\d{{3}}){{2,}}")),
        (DECIMAL, re.compile(rf"[+-]?(\d*|\d{{1,3}}(\{OTHER[mark]}\d{{3}})+)\{mark}\d+([eE][+-]?\d+)?")),
    )
    for mark in OTHER
}


class Place(NamedTuple):
    """A cell and its column's number."""

    column: int
    cell: str


class Marks(NamedTuple):
    """The decimal mark, what stands between thousands, and how they are known.

    ``witness`` is a cell that shows the decimal mark, ``contrary`` one that shows the other; ``doubtful`` are columns
    whose cells show nothing; ``as_text`` are those in which the mark of thousands stands elsewhere, as in dates.
    """

    decimal: str
    thousands: str | None
    basis: str
    witness: Place | None = None
    contrary: Place | None = None
    doubtful: tuple[Place, ...] = ()
    as_text: tuple[int, ...] = ()


def is_missing(cell: str) -> bool:
    """Does the text stand for a missing value?"""
    return cell.strip().lower() in MISSING


def kind_of(cell: str) -> tuple[str, str]:
    """The kind of a cell that is a number, and the mark that this speaks of; empty texts for what is no number.

    Examples
    --------
    >>> from ascd.files.marks import kind_of
    >>> kind_of("1.250,30"), kind_of("4.311"), kind_of("1.250.000"), kind_of("12.5.2020")
    (('decimal', ','), ('either', '.'), ('groups', '.'), ('', ''))
    """
    if SPACED.fullmatch(cell):
        cell = re.sub(f"[{THIN}]", "", cell)
    if WHOLE.fullmatch(cell):
        return PLAIN, ""
    return next(((kind, mark) for mark in SHAPES for kind, shape in SHAPES[mark] if shape.fullmatch(cell)), ("", ""))


def without_spaces(column: Any) -> Any:
    """A column of text whose numbers have spaces or apostrophes between thousands, without these, and with points.

    Examples
    --------
    >>> import pandas
    >>> from ascd.files.marks import without_spaces
    >>> without_spaces(pandas.Series(["1\\u00a0250,5", "7,25"])).tolist()
    ['1250.5', '7.25']
    """
    if not column.map(lambda cell: SPACED.fullmatch(cell.strip()) is not None).any():
        return column
    plain = column.str.replace(f"[{THIN}]", "", regex=True)
    return plain if plain.str.contains(".", regex=False).any() else plain.str.replace(",", ".", regex=False)


def find_marks(rows: Sequence[Sequence[str]], sep: str | None, given: str | None, learnt: str | None = None) -> Marks:
    """The marks of a table's cells; ``given`` is a decimal mark that holds, ``learnt`` one unless cells contradict it.

    Examples
    --------
    >>> from ascd.files.marks import find_marks
    >>> find_marks([["4.311", "1,5"], ["12.500", "2,5"]], ";", None)[:3]
    (',', '.', 'shown')
    >>> find_marks([["4.311"], ["12.500"]], ";", None)[:3]
    ('.', None, 'assumed')
    """
    columns = _columns(rows)
    kinds = {j: [kind_of(cell) for cell in cells] for j, cells in columns.items()}
    counted = {j: known for j, known in kinds.items() if sum(map(any, known)) > MOSTLY * len(known)}
    shown: dict[str, dict[int, str]] = {".": {}, ",": {}}
    unsure: dict[str, dict[int, str]] = {".": {}, ",": {}}
    for j, known in counted.items():
        for (kind, mark), cell in zip(known, columns[j], strict=True):
            if kind in (DECIMAL, GROUPS):
                shown[mark if kind == DECIMAL else OTHER[mark]].setdefault(j, cell)
            elif kind == EITHER:
                unsure[mark].setdefault(j, cell)
    decimal, basis = _decided(shown, unsure, sep, given, learnt)
    other = OTHER[decimal]
    pairs = [pair for j in counted for pair in zip(columns[j], kinds[j], strict=True)]
    spaced = next((cell for cell, _ in pairs if SPACED.fullmatch(cell)), "")
    thin = next((mark for mark in THIN if mark in spaced and mark.isascii()), None)  # pandas knows no other
    thousands = other if any(_has_groups(cell, kind, other) for cell, kind in pairs) else thin
    open_columns = [j for j in counted if not any(j in shown[mark] for mark in OTHER)]
    doubtful = [Place(j, unsure[mark][j]) for mark in OTHER for j in open_columns if j in unsure[mark]]
    strange = [j for j, cells in columns.items() if thousands and _is_strange(cells, kinds[j], thousands)]
    witness, contrary = (next((Place(*one) for one in shown[mark].items()), None) for mark in (decimal, other))
    return Marks(decimal, thousands, basis, witness, contrary, tuple(doubtful), tuple(strange))


def notes_of(marks: Marks, sep: str | None, names: Sequence[str]) -> list[str]:
    """What was assumed about marks, and how to have it otherwise; nothing where the cells leave no doubt."""
    notes = []
    for mark in OTHER:
        places = [place for place in marks.doubtful if mark in place.cell]
        is_usual = mark == marks.decimal and (marks.basis == SHOWN or (mark == "." and sep == ","))
        if not places or marks.basis == GIVEN or is_usual:
            continue
        example, other = places[0].cell, OTHER[mark]
        whole, parted = example.replace(mark, ""), example.replace(mark, ".")
        as_read, unread = (parted, whole) if mark == marks.decimal else (whole, parted)
        option = other if mark == marks.decimal else mark
        notes.append(
            f"{_named(places, names)}: {example} is read as {as_read}, not as {unread}, because "
            f"{_reason(marks, names)}; --decimal {option} reads it as {unread}"
        )
    if marks.contrary is not None and marks.basis != GIVEN:
        column, cell = marks.contrary
        how = "with a point" if kind_of(cell) == (DECIMAL, ".") and "," not in cell else "as text"
        notes.append(
            f"decimal {NAMES[marks.decimal]}s, but column {names[column]!r} has {cell}, read {how}: "
            f"--decimal {OTHER[marks.decimal]} takes the other mark"
        )
    return notes


def _decided(
    shown: dict[str, dict[int, str]], unsure: dict[str, dict[int, str]], sep: str | None, given: str | None,
    learnt: str | None,
) -> tuple[str, str]:  # fmt: skip
    """The decimal mark and how it is known."""
    if given is not None:
        return given, GIVEN
    if learnt is not None and (shown[learnt] or not shown[OTHER[learnt]]):
        return learnt, LEARNT
    if shown["."] or shown[","]:
        margin = len(shown[","]) - len(shown["."])
        return "," if margin > 0 or (margin == 0 and sep != ",") else ".", SHOWN
    if unsure["."] or unsure[","]:
        return "." if unsure["."] or sep == "," else ",", ASSUMED
    return ".", NO_MARK


def _has_groups(cell: str, kind: tuple[str, str], thousands: str) -> bool:
    """Does the mark stand between thousands in this cell?"""
    if thousands in THIN:
        return thousands in cell and SPACED.fullmatch(cell) is not None
    return kind in ((EITHER, thousands), (GROUPS, thousands), (DECIMAL, OTHER[thousands])) and thousands in cell


def _is_strange(cells: list[str], kinds: list[tuple[str, str]], thousands: str) -> bool:
    """Has a column the mark of thousands where it does not stand between them?  Taking it away would spoil a date."""
    return any(
        thousands in cell and not _has_groups(cell, kind, thousands) for cell, kind in zip(cells, kinds, strict=True)
    )


def _columns(rows: Sequence[Sequence[str]]) -> dict[int, list[str]]:
    """The cells of each column that hold something."""
    columns: dict[int, list[str]] = {}
    for row in rows:
        for j, cell in enumerate(row):
            if not is_missing(cell):
                columns.setdefault(j, []).append(cell.strip())
    return columns


def _named(places: list[Place], names: Sequence[str]) -> str:
    shown = ", ".join(repr(names[place.column]) for place in places[:MOST_NAMED])
    more = f" and {len(places) - MOST_NAMED:,} more" if len(places) > MOST_NAMED else ""
    return f"column{'s' * (len(places) > 1)} {shown}{more}"


def _reason(marks: Marks, names: Sequence[str]) -> str:
    if marks.basis == LEARNT:
        return f"the model's data had decimal {NAMES[marks.decimal]}s"
    if marks.witness is None:
        return "nothing in the file tells decimals from thousands"
    column, cell = marks.witness
    return f"{cell} in column {names[column]!r} shows the decimal {NAMES[marks.decimal]}"
