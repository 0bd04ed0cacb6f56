"""Files are written whole or not at all: a draft takes the file's place when everything has been written.

A process that is killed leaves its draft behind.  A draft's name holds the machine's name and the process's number, so
that the next one who writes there can tell that its owner is gone, and removes it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def whole_file(path: Any) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well, and vanishes when not.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.files import whole_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "note.txt"
    ...     with whole_file(path) as draft:
    ...         _ = draft.write_text("all of it")
    ...     path.read_text()
    'all of it'
    """
    path = Path(os.path.realpath(path))  # a link stays, and what it leads to is replaced
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file that can be replaced")
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_deserted(path.parent)
    handle, name = tempfile.mkstemp(prefix=_prefix(), suffix=path.suffix, dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(draft)):  # a full disk is told without a name
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(folder: Any) -> Iterator[Path]:
    """A temporary folder whose files move to ``folder`` when the block ends well, and vanish when not.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.files import whole_folder
    >>> with tempfile.TemporaryDirectory() as outer:
    ...     with whole_folder(f"{outer}/results") as drafts:
    ...         _ = (drafts / "a.txt").write_text("first")
    ...         _ = (drafts / "b.txt").write_text("second")
    ...     sorted(path.name for path in pathlib.Path(f"{outer}/results").iterdir())
    ['a.txt', 'b.txt']
    """
    folder = Path(folder)
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())  # of the same file system
    for place in {nearest, folder.absolute().parent}:  # the folder may not have been there for somebody else
        _remove_deserted(place)
    with tempfile.TemporaryDirectory(prefix=_prefix(), dir=nearest) as name:
        drafts = Path(name)
        yield drafts
        for path in sorted(path for path in drafts.rglob("*") if path.is_file()):
            target = folder / path.relative_to(drafts)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)


def write_text(path: Any, text: str) -> Path:
    """Write a text file whole or not at all."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return Path(path)


def _prefix(process: str | None = None) -> str:
    """How the names of a process's drafts begin."""
    machine = re.sub(r"\W", "_", platform.node())
    return f".ascd-draft-{machine}-{os.getpid() if process is None else process}-"


def _remove_deserted(folder: Path) -> None:
    """Remove drafts of processes of this machine that have ended."""
    if os.name != "posix":  # elsewhere there is no harmless way to ask whether a process lives
        return
    pattern = re.compile(re.escape(_prefix("NUMBER")).replace("NUMBER", r"(\d+)"))
    for path in folder.iterdir() if folder.is_dir() else ():
        found = pattern.match(path.name)
        if found and not _lives(int(found[1])):
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
