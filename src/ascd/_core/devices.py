"""Arrays in the memory of a device, as CuPy's and torch's may be: which are, and how small ones come to the host.

Nothing is imported here: an array that came from a library says that the library has been.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def library_of(array: Any) -> str:
    """The package that an array's type comes from."""
    return type(array).__module__.partition(".")[0]


def is_on_device(array: Any) -> bool:
    """Is this a dense array whose memory is not the host's?"""
    if isinstance(array, np.ndarray | np.generic | float | int | list | tuple) or array is None:
        return False
    library = library_of(array)
    if library == "cupy":
        return hasattr(array, "device") and hasattr(array, "ndim")
    if library == "torch":
        return getattr(getattr(array, "device", None), "type", "cpu") != "cpu"
    if not (hasattr(array, "__array_namespace__") and hasattr(array, "device")):
        return False
    # the standard has no name for the host's memory: arrays are made there by default
    return bool(array.device != array.__array_namespace__().empty(0).device)


def fetched(array: Any) -> np.ndarray[Any, Any]:
    """An array of any namespace as NumPy's."""
    if hasattr(array, "get") and library_of(array) == "cupy":  # CuPy's arrays never become NumPy's by themselves
        return np.asarray(array.get())
    if library_of(array) == "torch":
        return np.asarray(array.detach().cpu().numpy())
    if isinstance(array, np.ndarray):
        return array
    return np.asarray(array.to_device(array.__array_namespace__().empty(0).device))


def to_host(array: Any) -> Any:
    """The same values in the host's memory, where they are not; anything else as it is."""
    return fetched(array) if is_on_device(array) else array
