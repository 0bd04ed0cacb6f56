"""Deciding what kind of matrix an input becomes; modules for Dask and devices are imported when one comes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import as_design, as_matrix, check_shape
from ascd._core.devices import is_on_device, is_on_gpu, library_of, to_host
from ascd.matrix import costs
from ascd.matrix.base import Matrix
from ascd.matrix.cached import READ_IN_PLACE, as_stored
from ascd.matrix.dense import Dense, LocalDense, check_design


def open_design(A: Any) -> Matrix:
    """Return the input as a matrix; it is read as it comes, or converted once, and never modified.

    A ``Matrix`` is taken as it is, and what opens as one (``as_design``) is opened; the chunks of Dask's collections
    are opened where they are.  Small data are converted to column-major float64, for which everything is compiled
    already; data of more than ``costs.SMALL_DATA`` entries are read in place where they can be.  Arrays on a GPU stay
    there, unless they are small; those on other devices, and sparse ones, are copied to the host.
    """
    if type(A) is np.ndarray and A.dtype == np.float64 and A.flags.f_contiguous and A.flags.writeable:
        check_shape(A.shape)
        return LocalDense(Dense(A), A.shape)
    if is_collection(A):
        from ascd.matrix.on_dask import open_collection

        return open_collection(A, open_design)
    if is_design(A):
        design = A.as_design() if hasattr(A, "as_design") else A
        check_design(design, "A")
        return design
    A = brought_if_small(A)
    if is_on_device(A):
        from ascd.matrix.device.matrices import DeviceDense

        return DeviceDense(A)
    A = as_matrix(A)
    return as_stored(A if is_read_in_place(A) else as_design(A))


def is_design(A: Any) -> bool:
    """Return True for a matrix, what opens as one, and a storage in no matrix; no array has these attributes."""
    names = ("careful_dots", "as_design", "to_scipy")
    return not isinstance(A, np.ndarray) and (any(hasattr(A, name) for name in names) or is_collection(A))


def is_collection(A: Any) -> bool:
    """Return True for a Dask collection or future: nothing else has both of these; a Delayed has every attribute."""
    if A is None or isinstance(A, np.ndarray):
        return False
    is_future = library_of(A) == "distributed" and type(A).__name__ == "Future"
    return is_future or (hasattr(A, "__dask_graph__") and hasattr(A, "to_delayed"))


def brought_if_small(A: Any) -> Any:
    """Return sparse matrices, small arrays and those on no GPU of CuPy's on the host; anything else as it is."""
    return to_host(A) if is_on_device(A) and (math.prod(A.shape) < costs.DEVICE_SMALL or not is_on_gpu(A)) else A


def is_read_in_place(A: Any) -> bool:
    """Return True for an array or a sparse matrix that is not converted."""
    if hasattr(A, "tocsc"):
        is_large = A.format in ("csc", "csr") and A.nnz > costs.SMALL_DATA and A.has_canonical_format
    else:
        is_large = isinstance(A, np.ndarray) and A.ndim == 2 and A.size > costs.SMALL_DATA
        is_large = is_large and (A.flags.c_contiguous or A.flags.f_contiguous)
    return bool(is_large and A.dtype in READ_IN_PLACE)
