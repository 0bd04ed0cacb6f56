"""Arrays in the memory of a device, as CuPy's and torch's may be: which are, and how small ones come to the host.

Nothing is imported here: an array that came from a library says that the library has been.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def library_of(array: Any) -> str:
    """The package that an array's type comes from."""
    return type(array).__module__.partition(".")[0]


def namespace_of(array: Any) -> Any:
    """The array's namespace; the library's own module, where an array does not name one."""
    return array.__array_namespace__() if hasattr(array, "__array_namespace__") else sys.modules[library_of(array)]


def is_on_device(array: Any) -> bool:
    """Is this an array whose memory is not the host's, or a sparse matrix of CuPy's?"""
    if isinstance(array, np.ndarray | np.generic | float | int | list | tuple) or array is None:
        return False
    library = library_of(array)
    if library in ("cupy", "cupyx"):
        return hasattr(array, "ndim")
    if library == "torch":
        return getattr(getattr(array, "device", None), "type", "cpu") != "cpu"
    if not (hasattr(array, "__array_namespace__") and hasattr(array, "device")):
        return False
    # the standard has no name for the host's memory: arrays are made there by default
    return bool(array.device != array.__array_namespace__().empty(0).device)


def is_on_gpu(array: Any) -> bool:
    """Is this a dense array in the memory of a GPU that CuPy reads?"""
    if not is_on_device(array):
        return False
    return library_of(array) == "cupy" or (hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] == 2)


def to_host(array: Any) -> Any:
    """The same values as NumPy's array, or SciPy's matrix, where they are on a device; anything else as it is."""
    if not is_on_device(array):
        return array
    if hasattr(array, "tocsc"):
        return array.get()
    if library_of(array) == "cupy":  # CuPy's arrays never become NumPy's by themselves
        return np.asarray(array.get())
    if library_of(array) == "torch":
        return np.asarray(array.detach().cpu().numpy())
    return np.asarray(array.to_device(array.__array_namespace__().empty(0).device))


def put_beside(array: Any, values: Any) -> Any:
    """Values of the host on the device of an array, in its library."""
    own, array = np.array(values, order="C"), array.data if hasattr(array, "tocsc") else array
    if library_of(array) == "cupy":  # whose functions take no device: there is a current one
        with array.device:
            return namespace_of(array).asarray(own)
    return namespace_of(array).asarray(own, device=array.device)
