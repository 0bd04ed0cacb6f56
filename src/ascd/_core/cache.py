"""What of the compiled code is kept on disk: rules that keep numba's cache true.

- numba only notices edits of the file that a kernel stands in, so a digest of all sources that a kernel can reach is
  made part of each kernel's name: any edit there is a miss.  ``WITHOUT_KERNELS`` are the floors above the kernels, as
  ``tests/test_layout.py`` holds: an edit of the command line compiles nothing anew.  numba keeps the cache beside the
  sources, or in a folder named after their path, so a name with another digest there belongs to a former version of
  these very files.  It is kept for a week, for those who go back and forth between versions.
- a specialisation that mentions somebody else's type would make later processes import that module, and fail where it
  is absent: such specialisations are compiled, but never stored.
- where no folder can be written, or the sources cannot be read (so that their digest is not known), nothing is stored:
  compiled code lives as long as the process, and a warning says so once.
"""

from __future__ import annotations

import hashlib
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ascd._core.notes import tell_once
from ascd._core.tuning import DIGEST_SIZE, SECONDS_KEPT

PACKAGE = __name__.partition(".")[0]
#: Packages and modules that hold no kernel and that no package with kernels imports.
WITHOUT_KERNELS = (
    "estimators", "io", "reproduction", "cli", "__main__.py",
)  # fmt: skip
_CACHED = re.compile(rf"_([0-9a-f]{{{DIGEST_SIZE}}})-\d+\.py\d+\w*(\.\w+)?\.nb[ic]$")


class NotKept(Exception):
    """Compiled code cannot be kept on disk; the message says why."""


@cache
def digest() -> str:
    """A fingerprint of the sources of all kernels; the package may be a folder or stand in a zip file."""
    from importlib import resources  # not before it is needed: importing ascd stays cheap

    found = sorted(_sources(resources.files(PACKAGE)))
    if not found:
        raise NotKept(f"{PACKAGE} is installed without its source files, which tell one version from another")
    fingerprint = hashlib.sha256()
    for name, content in found:
        fingerprint.update(f"{name}\0{len(content)}\0".encode())
        fingerprint.update(content)
    return fingerprint.hexdigest()[:DIGEST_SIZE]


def _sources(folder: Any, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    """Names and contents of the Python files below a folder."""
    for item in folder.iterdir():
        name = f"{prefix}{item.name}"
        if name in WITHOUT_KERNELS:
            continue
        if item.name.endswith(".py"):
            yield name, item.read_bytes()
        elif item.name != "__pycache__" and item.is_dir():
            yield from _sources(item, f"{name}/")


@cache
def open_folder(folder: str) -> None:
    """Can a folder be written?  Then remove what is stale there; once a process, for it may hold thousands of files."""
    check_folder(folder)
    remove_stale(folder)


def check_folder(folder: str) -> None:
    """Can compiled code be written to this folder?  It is made where it is missing."""
    import tempfile

    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise NotKept(f"the folder {folder} cannot be written: {error.strerror}") from error


def tell_not_kept(reason: object) -> None:
    """Warn once that every process compiles for itself."""
    tell_once(
        f"compiled code is not kept on disk, so every process compiles anew, which takes seconds: {reason}.  "
        "NUMBA_CACHE_DIR may name another folder",
        about="the cache",
    )


def remove_stale(folder: str) -> None:
    """Remove the cached kernels in this folder that belong to another fingerprint and are older than a week."""
    for path in Path(folder).glob("*.nb[ic]"):
        found = _CACHED.search(path.name)
        if found and found[1] != digest():
            with suppress(OSError):  # somebody else may be removing it, or may not let us
                if time.time() - path.stat().st_mtime > SECONDS_KEPT:
                    path.unlink()


def may_be_stored(value: Any) -> bool:
    """Can a later process import every type inside ``value`` from this package?"""
    if isinstance(value, tuple):
        return is_ours(type(value)) and all(map(may_be_stored, value))
    return True


def nests(value: Any) -> bool:
    """Does a part hold further parts?"""
    return isinstance(value, tuple) and any(isinstance(field, tuple) for field in value)


#: Classes of parts by name, each the first of its name in compiled code that is not stored.
_first_of_name: dict[str, type] = {}


def namesakes(args: tuple[Any, ...]) -> tuple[type, ...]:
    """The classes of all parts among the arguments, where one shares its name with a class met before; else nothing.

    numba tells NamedTuples apart by the names of their classes and fields: of two classes with one name (a notebook's
    cell that was changed and run again, two modules, a factory) it runs the code of the first.
    """
    kinds = tuple(_kinds(args))
    return () if all(map(_is_first_of_name, kinds)) else kinds


def _is_first_of_name(kind: type) -> bool:
    if not is_ours(kind) and _is_name_of_ours(kind.__name__):
        return False
    return _first_of_name.setdefault(kind.__name__, kind) is kind


@cache
def _is_name_of_ours(name: str) -> bool:
    modules = [module for key, module in sys.modules.copy().items() if key.partition(".")[0] == PACKAGE]
    found = [getattr(module, "__dict__", {}).get(name) for module in modules]
    return any(isinstance(each, type) and issubclass(each, tuple) for each in found)


def _kinds(value: tuple[Any, ...]) -> Iterator[type]:
    for part in value:
        if isinstance(part, tuple):
            if type(part) is not tuple:
                yield type(part)
            yield from _kinds(part)


@cache
def is_ours(kind: type) -> bool:
    """Is the class one of this package, or of Python itself?"""
    return kind.__module__.partition(".")[0] in (PACKAGE, "builtins")
