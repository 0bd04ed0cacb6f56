"""Text cut into lines and fields: what a compressed or plain file begins with, its encoding, and its separator.

A separator is one that cuts every line into the same number of fields, more than one.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Bytes and lines that are looked at; more bytes where they hold fewer lines than ``FEW``, as of 10⁵ columns.
SAMPLE, LINES, FEW, MOST_BYTES = 1 << 18, 200, 20, 1 << 26
SEPARATORS = ("\t", ";", "|", ",")
WHITESPACE = r"\s+"
WORDS = {"\t": "tab", WHITESPACE: "spaces", " ": "space"}
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: Share of the lines that must have the same number of fields; share of zeros among every other byte of UTF-16.
MOST, WIDE = 0.9, 0.5
#: What compressed files begin with, and what makes them.
PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}
#: What a spreadsheet writes into a first line to name the separator.
NAMED_SEPARATOR = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


def separator_name(sep: str | None) -> str:
    """A separator as people call it."""
    return "none" if sep is None else WORDS.get(sep, repr(sep))


def check_separator(sep: str | None) -> None:
    """Refuse what cannot separate columns."""
    if sep in (None, WHITESPACE) or (len(str(sep)) == 1 and str(sep) not in '"\r\n'):
        return
    raise ValueError(
        f"sep (--sep) must be one character other than a quote, or one of the words tab, space, comma, semicolon and "
        f"pipe; got {sep!r}: replace it in the file by one character"
    )


def find_separator(text: str, is_cut: bool = False) -> str | None:
    """The separator that cuts the lines into equally many fields; None where none does.

    Examples
    --------
    >>> from ascd.files.separators import find_separator
    >>> find_separator("a;b\\n1,5;2,25\\n3;4\\n")
    ';'
    """
    for least in (1.0, MOST):
        for sep in (*SEPARATORS, WHITESPACE):
            rows = rows_in(text, sep, is_cut)
            widths = Counter(len(row) for row in (rows[1:] if names_rows(rows) else rows))
            width, count = widths.most_common(1)[0]
            if width > 1 and count >= least * widths.total():
                return sep
    return None


def names_rows(rows: list[list[str]]) -> bool:
    """Has every line one field more than the first?  R writes names of rows so, below a header without a name for them.

    Examples
    --------
    >>> from ascd.files.separators import names_rows
    >>> names_rows([["a", "y"], ["r1", "1", "2"], ["r2", "3", "4"]])
    True
    """
    return len(rows) > 2 and {len(row) for row in rows[1:]} == {len(rows[0]) + 1}


def table_in(text: str) -> tuple[str, int, str | None]:
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
        fields = [len(rows_in(line, sep or ",", False)[0]) for line in lines[skip - 1 : skip + 1] if line.strip()]
        skip -= len(fields) == 2 and fields[0] == fields[1] > 1
    return "".join(lines[skip:]), skip, named[1] if named else None


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Tell of a file that is not compressed as its name says, or that is cut off."""
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
    """The file, opened for reading bytes, which are unpacked as its ending says."""
    return OPENERS.get(path.suffix.lower(), open)(path, "rb")


def beginning(path: Path) -> tuple[bytes, bool]:
    """The first bytes of a file, unpacked, and whether there are more."""
    with unpacking(path), unpacked(path) as file:
        raw: bytes = file.read(SAMPLE)
        is_cut = len(raw) == SAMPLE
        while is_cut and len(raw) < MOST_BYTES and raw.count(b"\n") + raw.count(b"\r") < FEW:
            more = file.read(len(raw))
            is_cut = len(more) == len(raw)
            raw += more
    return raw, is_cut


def packed_by(raw: bytes) -> str | None:
    """What has compressed a file whose name does not say so."""
    return next((name for mark, name in PACKED.items() if raw.startswith(mark)), None)


def encoding_of(raw: bytes) -> str:
    """UTF-16 and UTF-32 by their marks, or UTF-16 where every other byte is 0; UTF-8, or else what Windows writes.

    Examples
    --------
    >>> from ascd.files.separators import encoding_of
    >>> [encoding_of("a;b".encode(name)) for name in ("utf-8", "utf-16", "utf-16-be", "utf-32")]
    ['utf-8-sig', 'utf-16', 'utf-16-be', 'utf-32']
    """
    if raw[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "utf-32"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    for name, zeros, letters in (("utf-16-le", raw[1::2], raw[0::2]), ("utf-16-be", raw[0::2], raw[1::2])):
        if zeros and letters and zeros.count(0) > WIDE * len(zeros) and not letters.count(0):
            return name
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(raw)  # the last character may be cut
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def rows_in(text: str, sep: str, is_cut: bool, most: int | None = LINES) -> list[list[str]]:
    """The first lines in fields; empty lines and a last one that is cut are left out."""
    lines = text.splitlines(keepends=True)
    if is_cut and len(lines) > 1:
        lines = lines[:-1]
    lines = lines[:most]
    if sep == WHITESPACE:
        rows = [line.split() for line in lines]
    else:
        longest = csv.field_size_limit(len(text) + 1)  # a line may be one long field
        try:
            rows = list(csv.reader(io.StringIO("".join(lines)), delimiter=sep, skipinitialspace=True))
        except csv.Error as error:
            raise ValueError(f"this is not a table in CSV: {error}") from error
        finally:
            csv.field_size_limit(longest)
    return [row for row in rows if any(cell.strip() for cell in row)]
