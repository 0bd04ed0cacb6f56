"""What of the compiled code is kept on disk: rules that keep numba's cache true.

- numba only notices edits of the file that a kernel stands in, so a digest of *all* sources of this package is made
  part of each kernel's name: any edit is a miss.  numba keeps the cache beside the sources, or in a folder named after
  their path, so a name with another digest there belongs to a former version of these very files.  It is kept for a
  week, for those who go back and forth between versions.
- a specialisation that mentions somebody else's type would make later processes import that module, and fail where it
  is absent: such specialisations are compiled, but never stored.
"""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = __name__.partition(".")[0]
SIZE = 12
SECONDS_KEPT = 7 * 24 * 3600.0
_CACHED = re.compile(rf"_([0-9a-f]{{{SIZE}}})-\d+\.py\d+\w*(\.\d+)?\.nb[ic]$")


@cache
def digest() -> str:
    """A fingerprint of every source file of the package."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:SIZE]


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


@cache
def is_ours(kind: type) -> bool:
    """Is the class one of this package, or of Python itself?"""
    return kind.__module__.partition(".")[0] in (PACKAGE, "builtins")
