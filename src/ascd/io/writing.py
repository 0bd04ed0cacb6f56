"""Files written completely or not at all: a draft replaces the file once everything has been written."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Beginning of the names of unfinished files; a process that is killed leaves such a file.
DRAFT = ".ascd-draft-"


@contextlib.contextmanager
def whole_file(path: Any) -> Iterator[Path]:
    """Yield a draft beside ``path`` that replaces it if the block succeeds and is removed if not."""
    path = Path(os.path.realpath(path))  # a link stays, its target is replaced
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file that can be replaced")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{DRAFT}{uuid.uuid4().hex}{path.suffix}")
    try:
        draft.touch()
        yield draft
        draft.replace(path)
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(draft)):  # a full disk is reported without a name
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(folder: Any) -> Iterator[Path]:
    """Yield a temporary folder whose files move to ``folder`` if the block succeeds."""
    folder = Path(folder)
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())  # on the same file system
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=nearest) as name:
        drafts = Path(name)
        yield drafts
        for path in sorted(path for path in drafts.rglob("*") if path.is_file()):
            target = folder / path.relative_to(drafts)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)


def write_text(path: Any, text: str) -> Path:
    """Write a text file completely or not at all."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return Path(path)


def json_ready(value: Any) -> Any:
    """Return what JSON can hold: paths as text, NumPy's numbers as numbers, None for what is not finite."""
    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if hasattr(value, "tolist"):
        return json_ready(value.tolist())
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
