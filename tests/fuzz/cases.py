"""A case: data, options and the call they belong to, as plain values that can be printed, compared and made smaller."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray
#: Ways in which a matrix can come.  All hold the same numbers.
STORAGES = (
    "F", "C", "list", "float32", "int", "read-only", "strided",
    "csc", "csr", "coo", "csc-zeros", "csc-unsorted", "csc-int64", "csc-array", "csc-read-only",
)  # fmt: skip
SPARSE = tuple(storage for storage in STORAGES if storage.startswith(("c", "coo")) and storage != "C")


@dataclass(frozen=True)
class Case:
    """One call of the library.

    ``family`` names the call (``solve``, ``path``, ``minimize``, ``DualSVM`` or an estimator); ``penalty`` is the name
    of a penalty class with its ``parameters``, ``groups`` as lists of columns; ``options`` are the arguments of the
    call.  ``b`` has a column an output, is flat for one target, or holds the classes of the softmax.  A ``twist`` asks
    for the same problem once more, stated otherwise; ``seconds`` limits the processor time of the call.
    """

    family: str
    A: Array
    b: Array
    loss: str = "squared"
    threshold: float = 1.35
    penalty: str = "None"
    parameters: dict[str, Any] = field(default_factory=dict)
    weight: Array | None = None
    storage: str = "F"
    options: dict[str, Any] = field(default_factory=dict)
    twist: str = ""
    seconds: float | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape

    @property
    def outputs(self) -> int:
        if self.loss == "softmax":
            return max(2, int(self.b.max()) + 1)
        return self.b.size // len(self.b)

    @property
    def has_rows(self) -> bool:
        """Whether coefficients have a row a column of A: one for every output."""
        return self.b.ndim == 2 or self.loss == "softmax"

    @property
    def has_blocks(self) -> bool:
        return self.has_rows or "groups" in {**self.parameters, **self.options}

    def changed(self, **changes: Any) -> Case:
        """A copy with other fields."""
        return replace(self, **changes)

    def with_option(self, **changes: Any) -> Case:
        """A copy with other options; None removes one."""
        options = {name: value for name, value in {**self.options, **changes}.items() if value is not None}
        return replace(self, options=options)

    def matrix(self) -> Any:
        """A in its storage."""
        return stored(self.A, self.storage)


def stored(A: Array, storage: str) -> Any:
    """The numbers of A as the storage holds them."""
    from .placed import is_placed, placed

    if is_placed(storage):
        return placed(A, storage)
    if storage == "list":
        return A.tolist()
    if storage in ("C", "F"):
        return np.array(A, order=storage)
    if storage in ("float32", "int"):
        return A.astype(np.float32 if storage == "float32" else np.int64)
    if storage == "read-only":
        copy = np.array(A, order="F")
        copy.flags.writeable = False
        return copy
    if storage == "strided":
        return np.repeat(A, 2, axis=0)[::2]
    return _stored_sparse(A, storage)


def _stored_sparse(A: Array, storage: str) -> Any:
    if storage == "csr":
        return sparse.csr_matrix(A)
    if storage == "coo":
        return sparse.coo_matrix(A)
    if storage == "csc-array":
        return sparse.csc_array(A)
    if storage == "csc-zeros":  # every entry is stored, zeros too
        d, n = A.shape
        rows = np.tile(np.arange(d), n)
        return sparse.csc_matrix((A.ravel(order="F"), rows, d * np.arange(n + 1)), shape=A.shape)
    columns = sparse.csc_matrix(A)
    if storage == "csc-unsorted":
        order = np.concatenate([np.arange(*ends)[::-1] for ends in pairwise(columns.indptr)]).astype(int)
        return sparse.csc_matrix((columns.data[order], columns.indices[order], columns.indptr), shape=A.shape)
    if storage == "csc-int64":
        columns.indices, columns.indptr = columns.indices.astype(np.int64), columns.indptr.astype(np.int64)
    if storage == "csc-read-only":
        for array in (columns.data, columns.indices, columns.indptr):
            array.flags.writeable = False
    return columns


def number(value: Any) -> str:
    """A value as Python source; floats exactly."""
    if isinstance(value, np.ndarray):
        return f"np.array({_entries(value.tolist())})"
    if isinstance(value, float | np.floating):
        return _float(float(value))
    if isinstance(value, tuple | list):
        inner = ", ".join(number(entry) for entry in value)
        return f"({inner},)" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {number(entry)}" for key, entry in value.items()) + "}"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _float(value: float) -> str:
    if math.isinf(value):
        return "np.inf" if value > 0.0 else "-np.inf"
    return "np.nan" if math.isnan(value) else repr(value)


def _entries(values: Any) -> str:
    return "[" + ", ".join(map(_entries, values)) + "]" if isinstance(values, list) else _float(values)


def source(case: Case) -> str:
    """The case as the Python expression that makes it."""
    parts = [repr(case.family), number(case.A), number(case.b)]
    defaults = Case("", case.A, case.b)
    for name in ("loss", "threshold", "penalty", "parameters", "weight", "storage", "options", "twist", "seconds"):
        value = getattr(case, name)
        if value is None:
            continue
        if isinstance(value, np.ndarray) or value != getattr(defaults, name):
            parts.append(f"{name}={number(value)}")
    return f"Case({', '.join(parts)})"
