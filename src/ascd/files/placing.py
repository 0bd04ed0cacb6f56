"""A conversion takes the place of an earlier one in one instant: when its index does.

The numbers lie in a folder of their own, which the index names; its name holds an identifier of the conversion:

    numbers of the new one beside those of the old   →   the index is replaced, by one rename   →   the old ones go

A process that is killed on the way leaves the old conversion or the new one, never some of both.  What it leaves
besides is named by no index, and goes with the next conversion (unless its name might be somebody else's: files of
version 1 go with their index only).
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ascd.files.folders import DATA, INDEX, VERSION, is_folder_of_groups, read_index
from ascd.files.writing import whole_folder, write_text

#: The folder of a conversion's numbers.
OURS = re.compile(DATA + r"[0-9a-f]{32}")
#: Files of a conversion of version 1, which lay beside the index.
OURS_BEFORE = re.compile(r"rows-\d{5}(\.(data|indices|indptr))?\.npy|target\.npy")


def place(folder: Path, write: Callable[[Path], dict[str, Any]]) -> None:
    """Have the numbers written to a new folder inside; the index that comes back makes them those of ``folder``."""
    was_there, before = folder.is_dir(), _named(folder)
    name = f"{DATA}{uuid.uuid4().hex}"
    try:
        with whole_folder(folder) as drafts:
            (drafts / name).mkdir()
            index = write(drafts / name)
        write_text(folder / INDEX, json.dumps({**index, "version": VERSION, "data": name}))
    finally:  # Ctrl-C may come when the index has been replaced already
        if _named(folder) != name:
            shutil.rmtree(folder / name, ignore_errors=True)
            if not was_there:
                with contextlib.suppress(OSError):
                    folder.rmdir()
    _remove_others(folder, name, before)


def is_unfinished(folder: Path) -> bool:
    """Has a conversion to this folder been killed before there was an index?"""
    is_ours = folder.is_dir() and any(OURS.fullmatch(path.name) for path in folder.iterdir())
    return is_ours and not is_folder_of_groups(folder)


def _named(folder: Path) -> str | None:
    """The folder that the index names; None where there is no index, or one that cannot be read."""
    with contextlib.suppress(ValueError):
        return str(read_index(folder)["data"]) if is_folder_of_groups(folder) else None
    return None


def _remove_others(folder: Path, name: str, before: str | None) -> None:
    """Remove the numbers of other conversions as far as that can be done; files that are not ours stay."""
    for path in folder.iterdir():
        if OURS.fullmatch(path.name) and path.name != name:
            shutil.rmtree(path, ignore_errors=True)
        elif before == "." and OURS_BEFORE.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()
