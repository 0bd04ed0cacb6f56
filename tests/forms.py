"""The many ways in which a user may pass the same matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse


def duplicated(A):
    """COO with every entry split into two halves."""
    coo = sparse.coo_array(A.astype(np.float64))
    row, col = np.tile(coo.row, 2), np.tile(coo.col, 2)
    return sparse.coo_array((np.tile(coo.data / 2, 2), (row, col)), shape=A.shape)


def unsorted(A):
    """CSC whose rows stand in falling order inside each column."""
    csc = sparse.csc_array(A.astype(np.float64))
    order = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in zip(csc.indptr, csc.indptr[1:], strict=False)])
    return sparse.csc_array((csc.data[order], csc.indices[order], csc.indptr), shape=A.shape)


def explicit_zeros(A):
    """CSC that stores every zero."""
    full = np.asfortranarray(A, dtype=np.float64)
    indptr = np.arange(0, A.size + 1, A.shape[0], dtype=np.int32)
    return sparse.csc_array(
        (full.ravel("F"), np.tile(np.arange(A.shape[0], dtype=np.int32), A.shape[1]), indptr), shape=A.shape
    )


def doubled_csc(A):
    """CSC with duplicate entries, as only hand-made ones have them."""
    csc = sparse.csc_array(A.astype(np.float64))
    parts = (np.repeat(csc.data / 2, 2), np.repeat(csc.indices, 2), 2 * csc.indptr)
    return sparse.csc_array(parts, shape=A.shape)


def long_indices(A):
    csc = sparse.csc_array(A.astype(np.float64))
    csc.indices, csc.indptr = csc.indices.astype(np.int64), csc.indptr.astype(np.int64)
    return csc


def read_only(A):
    locked = np.asfortranarray(A, dtype=np.float64)
    locked.flags.writeable = False
    return locked


def read_only_csc(A):
    csc = sparse.csc_array(A.astype(np.float64))
    for part in (csc.data, csc.indices, csc.indptr):
        part.flags.writeable = False
    return csc


DENSE = {
    "list": lambda A: A.tolist(),
    "C order": lambda A: np.ascontiguousarray(A, dtype=np.float64),
    "F order": lambda A: np.asfortranarray(A, dtype=np.float64),
    "strided": lambda A: np.repeat(np.repeat(A.astype(np.float64), 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda A: A.astype(np.float64)[::-1, ::-1].copy()[::-1, ::-1],
    "float32": lambda A: A.astype(np.float32),
    "int8": lambda A: A.astype(np.int8),
    "int64": lambda A: A,
    "big endian": lambda A: A.astype(">f8"),
    "DataFrame": lambda A: pd.DataFrame(A.astype(np.float64)),
    "mixed DataFrame": lambda A: pd.DataFrame(A).astype({0: np.float32, 1: np.int8}),
    "read-only": read_only,
    "np.matrix": lambda A: np.asfortranarray(A, dtype=np.float64).view(np.matrix),
}
SPARSE = {
    "csc_array": lambda A: sparse.csc_array(A.astype(np.float64)),
    "csc_matrix": lambda A: sparse.csc_matrix(A.astype(np.float64)),
    "csr": lambda A: sparse.csr_array(A.astype(np.float64)),
    "coo": lambda A: sparse.coo_array(A.astype(np.float64)),
    "coo duplicates": duplicated,
    "csc duplicates": doubled_csc,
    "lil": lambda A: sparse.lil_array(A.astype(np.float64)),
    "dok": lambda A: sparse.dok_array(A.astype(np.float64)),
    "bsr": lambda A: sparse.bsr_array(A.astype(np.float64)),
    "csc float32": lambda A: sparse.csc_array(A.astype(np.float32)),
    "csc int": lambda A: sparse.csc_array(A),
    "explicit zeros": explicit_zeros,
    "unsorted": unsorted,
    "int64 indices": long_indices,
    "read-only csc": read_only_csc,
}
FORMS = {**DENSE, **SPARSE}
