"""Wrong usage, exit code 2: a command that names what is not there, or gives a value that is not allowed.

Everything that can be known from the command and from where its files are is checked here, before any file is read.
What is wrong with the files themselves, or with the work, is an error, exit code 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ascd.cli.options import Source
from ascd.files import guess_format
from ascd.files.opening import PARQUET, as_bytes, not_in_pieces
from ascd.files.separators import check_separator

#: Endings of arrays that are read piece by piece.
STAYING = (".npy", ".zarr")
#: Words for generated data.
WORDS = ("synthetic", "text")


@contextmanager
def as_usage() -> Iterator[None]:
    """Call a value that the library refuses wrong usage."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error


def is_word(source: Source) -> bool:
    """Does the name of the data stand for generated ones?"""
    return str(source.data) in WORDS and not source.data.exists()


def stays_on_disk(source: Source) -> bool:
    """Are the data to be read piece by piece, because of --memory or of what they are?"""
    return source.memory is not None or source.data.is_dir() or source.data.suffix.lower() in STAYING


def check_source(source: Source, takes_words: bool = False, may_stay: bool = False) -> None:
    """Refuse data that are not there or are no file, a name that shows no format, and options with a wrong value."""
    with as_usage():
        check_separator(source.dialect.sep)
        if source.memory is not None:
            as_bytes(source.memory)
    if takes_words and is_word(source):
        return
    check_there(source.data)
    if may_stay and stays_on_disk(source):
        if source.data.is_file() and source.data.suffix.lower() not in (*STAYING, *PARQUET):
            raise click.UsageError(str(not_in_pieces(source.data)))
        return
    if source.data.is_dir() or source.data.suffix.lower() in STAYING:
        raise click.UsageError(
            f"{source.data} is no file that this command reads, which needs the data in memory; fit and path read "
            "folders and arrays piece by piece"
        )
    if source.format is None:
        with as_usage():
            guess_format(source.data)


def check_there(path: Any) -> None:
    """Refuse a place where nothing is, and pipes and devices, which can be read once only."""
    try:
        is_there = path.exists()
    except (OSError, RuntimeError):  # links that lead to each other; a name that no file can have
        is_there = False
    if not is_there:
        raise FileNotFoundError(f"no such file: {path}")
    if not (path.is_file() or path.is_dir()):
        raise FileNotFoundError(f"not a file: {path}: pipes and devices can be read once only; save the data to a file")
