"""Tables from npz files: arrays X and y, or what ``scipy.sparse.save_npz`` wrote with an array y added."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ascd._core.checks import check_places
from ascd.files.columns import Table
from ascd.files.targets import as_target

#: What a damaged archive of arrays raises, by where the damage lies (RuntimeError: it seems to be encrypted).
DAMAGED_ARCHIVE = (EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)


def read_npz(path: Path, target_optional: bool) -> Table:
    """The table of an npz file; ``y`` may be absent where the target is optional."""
    try:
        opened = np.load(path, allow_pickle=False)
    except (ValueError, *DAMAGED_ARCHIVE):
        raise ValueError(f"{path} is not an npz file") from None
    if not hasattr(opened, "files"):
        raise ValueError(f"{path} holds one array; an npz file with X and y is needed")
    with opened as arrays:
        held = set(arrays.files)
        y = _array(arrays, "y", path) if "y" in held else None
        X = _array(arrays, "X", path) if "X" in held else None
    if X is None and {"data", "shape", "format"} <= held:
        from scipy.sparse import load_npz

        try:
            stored = load_npz(path)
        except (ValueError, KeyError, TypeError, *DAMAGED_ARCHIVE) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        X = _columns(stored, path)
    if X is None or (y is None and not target_optional):
        raise ValueError(
            f"{path} must hold X (an array, or what scipy.sparse.save_npz wrote) and y; it has {sorted(held)}"
        )
    return Table(X, _checked_arrays(path, X, y), None)


def _columns(X: Any, path: Path) -> Any:
    try:
        check_places(X)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return X.tocsc()


def _checked_arrays(path: Path, X: Any, y: Any) -> Any:
    """The target, one number or word a row; refuses arrays that are no table of numbers with such a target."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: X must be a table of numbers, rows by features; it has shape {X.shape} of {X.dtype}")
    if y is not None and (y.ndim not in (1, 2) or len(y) != X.shape[0]):
        raise ValueError(f"{path}: y must have one entry a row of X, {X.shape[0]}; it has shape {y.shape}")
    return y if y is None else as_target(y[:, 0] if y.shape[1:] == (1,) else y)


def _array(arrays: Any, name: str, path: Path) -> Any:
    """An array of numbers or text; one of Python objects would run code when it is opened."""
    try:
        return arrays[name]
    except DAMAGED_ARCHIVE as error:
        raise ValueError(f"{path} is damaged: {name} cannot be read, {error}") from None
    except ValueError:
        raise ValueError(f"{path}: {name} holds Python objects, not numbers or text; save it as one of these") from None
