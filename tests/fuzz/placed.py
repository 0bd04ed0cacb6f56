"""Data in other places than a plain array: in parts, in tables, read as they lie in memory, or on a disk.

A storage's name says everything, so that a case can be printed: ``parted:7`` and ``table:7`` are cut as the seed 7
says, ``held:C:int8`` is read in place by rows, ``npy:F:float32:7`` is a file whose pieces hold some seven rows, and
``npy:F:float32:7:9000`` may take 9,000 bytes of memory.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import ascd
from ascd.io.opening import NpyReader
from ascd.matrix import costs
from ascd.matrix.cached import FileMatrix
from ascd.matrix.chunked import InTurn, WideChunks, chunked
from ascd.matrix.open import open_design

from .calls import changed
from .cases import Case
from .data import chance, pick

Array = np.ndarray
HELD = (
    "held:C:float64", "held:C:float32", "held:F:float32", "held:C:int8", "held:F:int8", "held:F:bool", "held:C:bool",
    "held:csr:float64", "held:csr:float32", "held:csc:float32", "held:csr:int8",
)  # fmt: skip
ON_DISK = ("npy:C:float64", "npy:F:float64", "npy:C:float32", "npy:F:float32", "npy:C:int8", "npy:F:bool")
#: Kinds of places, and how often they are drawn.
PLACES = {"parted": 0.4, "table": 0.25, "held": 0.2, "npy": 0.15}


def is_placed(storage: str) -> bool:
    return storage.partition(":")[0] in PLACES


def placed(A: Array, storage: str) -> Any:
    """A in its place."""
    kind, *rest = storage.split(":")
    if kind == "parted":
        return _parted(A, int(rest[0]))
    if kind == "table":
        return _table(A, int(rest[0]))
    values = as_held(A, *rest[:2])
    if kind == "held":
        with changed(costs, SMALL_DATA=-1):
            return open_design(values)
    return _on_disk(values, *map(int, rest[2:]))


def fitting(rng: Any, A: Array, kind: str) -> tuple[Array, str]:
    """A storage of this kind, and A with the numbers that it can hold."""
    seed = int(rng.integers(1000))
    if kind == "parted":
        return A, f"parted:{seed}"
    if kind == "table":
        return _with_categories(rng, A), f"table:{seed}"
    storage = pick(rng, HELD if kind == "held" else ON_DISK)
    dtype = storage.split(":")[2]
    rows = "" if kind == "held" else f":{int(rng.integers(1, 9))}"
    if dtype == "float32":
        with np.errstate(all="ignore"):
            rounded = A.astype(np.float32).astype(float)
        return (rounded if np.isfinite(rounded).all() else np.sign(A)), storage + rows
    if dtype == "int8":
        with np.errstate(all="ignore"):
            return np.clip(np.round(3.0 * A / (np.abs(A).mean() or 1.0)), -127, 127), storage + rows
    return ((A > 0.0).astype(float) if dtype == "bool" else A), storage + rows


def moved(rng: Any, case: Case, kind: str) -> Case:
    """The case with its data in such a place; targets, penalties and starts stay."""
    A, storage = fitting(rng, np.array(case.A), kind)
    twist = "again" if case.twist == "scaled" or (case.twist and chance(rng, 0.3)) else case.twist
    return case.changed(A=A, storage=storage, twist=twist)


def as_held(A: Array, layout: str, dtype: str) -> Any:
    values = A.astype(np.int8 if dtype == "int8" else dtype)
    if layout in ("csr", "csc"):
        return sparse.csr_matrix(values) if layout == "csr" else sparse.csc_matrix(values)
    return np.array(values, order=layout)


def _cuts(rng: Any, size: int) -> Array:
    """Where parts end: one part, a few, or one for every row or column."""
    share = pick(rng, (0.0, 0.3, 1.0))
    return np.array([0, *(np.flatnonzero(rng.random(size - 1) < share) + 1), size])


def _parted(A: Array, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    rows, columns = (_cuts(rng, size) for size in A.shape)
    kinds, parts = [chance(rng, 0.4) for _ in columns], []
    for top, bottom in pairwise(rows):
        for number, (left, right) in enumerate(pairwise(columns)):
            block = np.asfortranarray(A[top:bottom, left:right])
            parts.append(open_design(sparse.csr_array(block) if kinds[number] else block))
    return (chunked if chance(rng, 0.7) else WideChunks)(InTurn(parts), rows, columns)


def _table(A: Array, seed: int) -> Any:
    import pandas

    rng, blocks = np.random.default_rng(seed), {}
    for number, (left, right) in enumerate(pairwise(_cuts(rng, A.shape[1]))):
        block = A[:, left:right]
        if is_category(block):
            codes = np.where(block.any(axis=1), block.argmax(axis=1), -1)
            levels = pandas.Categorical.from_codes(codes, categories=[*range(block.shape[1])])
            blocks[f"c{number}"] = pandas.Series(levels)
        elif chance(rng, 0.3):
            blocks[f"c{number}"] = sparse.csr_array(block)
        else:
            blocks[f"c{number}"] = block if chance(rng, 0.5) else pandas.DataFrame(block).add_prefix(f"p{number}.")
    return ascd.Table(blocks)


def is_category(block: Array) -> bool:
    """Are these the 0/1 columns of one category?"""
    return bool(np.isin(block, (0.0, 1.0)).all() and (block.sum(axis=1) <= 1.0).all())


def _with_categories(rng: Any, A: Array) -> Array:
    """Some neighbouring columns become the levels of a category, with values missing."""
    (d, n), A = A.shape, A.copy()
    left = int(rng.integers(n))
    right = int(rng.integers(left, n)) + 1
    if chance(rng, 0.7):
        codes = rng.integers(-1, right - left, d)
        A[:, left:right] = codes[:, None] == np.arange(right - left)
    return A


def _on_disk(values: Array, rows: int, memory: int | None = None) -> Any:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    np.save(folder / "A.npy", values)
    if memory is not None:  # less than a user may ask for: the data are small
        filed = FileMatrix(NpyReader(folder / "A.npy"), memory)
        weakref.finalize(filed, shutil.rmtree, folder, ignore_errors=True)
        return filed
    data = ascd.open_data(folder / "A.npy")
    with changed(costs, BLOCK_BYTES=max(1, rows * values.itemsize * values.shape[1])):
        design = data.as_design()
    weakref.finalize(design, shutil.rmtree, folder, ignore_errors=True)
    return data
