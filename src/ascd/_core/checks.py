"""Input checks.  Every error names the argument, what was given and what is allowed, before any work is done."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ascd._core.devices import to_host

Array = npt.NDArray[Any]


def finite_values(values: Array, name: str) -> None:
    """Reject nan and inf, naming the first place."""
    flat = values.ravel(order="K")
    # The sum of finite numbers can overflow; only then is the exact (slower, allocating) test needed.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(flat.sum()):
            return
    bad = ~np.isfinite(flat)
    if bad.any():
        first = flat[bad][0]
        raise ValueError(f"{name} must be finite; it has {int(bad.sum())} nan or inf entries, the first is {first}")


def refuse_masks(values: Any, name: str) -> None:
    """What a mask hides would be fitted, and the fit proved, as if it were there."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        count = int(np.sum(np.ma.getmaskarray(values)))
        raise ValueError(f"{name} must have no masked entries, {count} are: fill them, or leave their samples out")


def as_numbers(values: Any, name: str) -> Array:
    """An array of real numbers on the host, of any shape; sparse matrices stay what they are."""
    array = values
    if type(values) is not np.ndarray and not hasattr(values, "tocsc"):
        refuse_masks(values, name)
        array = np.asarray(to_host(values))
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers (float, int or bool); got dtype {array.dtype}")
    return array


class _Unlocked:
    """The memory of a read-only array, offered as writable; it keeps the array alive."""

    def __init__(self, array: Array) -> None:
        self.array, (address, _) = array, array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def unlocked(array: Array) -> Array:
    """The same memory, writable as far as types go: a read-only array would cost its own compilation.

    The library never writes to the user's data; copying a memory map instead would defeat its purpose.
    """
    return array if array.flags.writeable else np.asarray(_Unlocked(array))


def as_vector(values: Any, name: str, size: int | None = None) -> Array:
    """A contiguous float64 vector of the given length."""
    array = as_numbers(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {array.shape}")
    if size is not None and array.size != size:
        raise ValueError(f"{name} must have length {size}; got {array.size}")
    return unlocked(np.ascontiguousarray(array, dtype=np.float64).view(np.ndarray))


def as_finite_vector(values: Any, name: str, size: int | None = None) -> Array:
    array = as_vector(values, name, size)
    finite_values(array, name)
    return array


def as_parameter(values: Any, name: str, size: int, *, low: float = -np.inf, finite: bool = True) -> float | Array:
    """One number for all coordinates, or one for each; at least ``low``, no nan, finite unless ``finite`` is false."""
    if isinstance(values, float) and low <= values and (values < math.inf or not finite):  # most often
        return float(values)
    scalar = isinstance(values, numbers.Real) or np.ndim(values) == 0
    array = np.atleast_1d(as_numbers(values, name)) if scalar else as_vector(values, name, size)
    array = np.asarray(array, dtype=np.float64)
    if finite:
        finite_values(array, name)
    elif np.isnan(array).any():
        raise ValueError(f"{name} must not hold nan")
    if low > -np.inf and (array < low).any():
        raise ValueError(f"{name} must be at least {low:g}; the smallest entry is {array.min():g}")
    return float(array[0]) if scalar else array


def as_design(A: Any) -> Any:
    """What ``as_matrix`` returned, as a dense column-major float64 ndarray or a CSC float64 matrix.

    Whether its entries are finite is seen later, where the norms of the columns are computed.
    """
    if not hasattr(A, "tocsc"):
        return np.asfortranarray(A, dtype=np.float64).view(np.ndarray)
    design = A.tocsc()
    if not design.has_canonical_format:
        design = design.copy() if design is A or design.data is A.data else design
        design.sum_duplicates()
    return design.astype(np.float64, copy=False)


def as_matrix(A: Any) -> Any:
    """A two-dimensional array, or a sparse matrix, of real numbers as it lies; its rows and columns exist."""
    matrix = as_numbers(A, "A")
    check_shape(matrix.shape)
    check_places(matrix)
    return matrix


def check_places(A: Any) -> None:
    """Refuse rows and columns of a SciPy matrix that do not exist: compiled code goes wherever they lead."""
    if not hasattr(A, "tocsc") or len(A.shape) != 2:
        return
    (d, n), form = A.shape, A.format
    if form == "coo":
        _check_range(A.row, d, "row indices", "A.row")
        _check_range(A.col, n, "column indices", "A.col")
    elif form in ("csc", "csr", "bsr"):
        height, width = A.blocksize if form == "bsr" else (1, 1)
        kind, size, count = ("row", d, n) if form == "csc" else ("column", n // width, d // height)
        _check_offsets(A.indptr, count + 1, min(len(A.indices), len(A.data)))
        _check_range(A.indices[: A.indptr[-1]], size, f"{kind} indices", "A.indices")


def _check_range(places: Array, size: int, what: str, where: str) -> None:
    """One pass: as unsigned numbers, negative ones are beyond all others."""
    if places.size and places.view(f"u{places.itemsize}").max() >= size:
        at = int(np.flatnonzero((places < 0) | (places >= size))[0])
        raise ValueError(f"A must have {what} from 0 to {size - 1}; {where}[{at}] is {places[at]}")


def _check_offsets(offsets: Array, count: int, stored: int) -> None:
    """Columns (rows) lie one behind the other among the entries that are stored."""
    if offsets.size != count:
        raise ValueError(f"A must have {count} offsets; A.indptr has {offsets.size}")
    falls = offsets[1:] < offsets[:-1]
    if offsets[0] != 0 or offsets[-1] > stored or falls.any():
        at = 0 if offsets[0] != 0 else int(falls.argmax()) + 1 if falls.any() else count - 1
        raise ValueError(
            f"A must have offsets that begin with 0, never fall and end at {stored} entries or before; "
            f"A.indptr[{at}] is {offsets[at]}"
        )


def check_shape(shape: tuple[int, ...]) -> None:
    """Raise a ValueError unless it is that of a matrix with samples and features."""
    if len(shape) != 2:
        raise ValueError(f"A must be two-dimensional (n_samples, n_features); got shape {shape}")
    if 0 in shape:
        raise ValueError(f"A must have at least one sample and one feature; got shape {shape}")


def as_number(value: Any, name: str, *, low: float = -np.inf, high: float = np.inf, strict: bool = False) -> float:
    """A real number in [low, high] (above ``low`` when ``strict``)."""
    if type(value) is float and low < value <= high:  # the common case
        return value
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number; got {value!r}")
    number = float(value)
    if number != number or number < low or number > high or (strict and number == low):  # nan is not itself
        bracket = "(" if strict else "["
        raise ValueError(f"{name} must be in {bracket}{low:g}, {high:g}]; got {value!r}")
    return number


def as_count(value: Any, name: str, low: int = 1) -> int:
    """An integer of at least ``low``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be at least {low}; got {value}")
    return int(value)


def as_flag(value: Any, name: str) -> bool:
    """True or False, also as 1 or 0."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, numbers.Integral) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name} must be True or False; got {value!r}")


def as_generator(rng: Any) -> np.random.Generator:
    """The generator for a seed, or the user's own."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        allowed = "None, a non-negative integer (or several) or a numpy.random.Generator"
        raise type(error)(f"rng must be {allowed}; got {rng!r}") from None


def unknown_name(name: Any, argument: str, valid: Iterable[str]) -> ValueError:
    """The error for a name that is not in the table, with the nearest valid ones first."""
    names = list(valid)
    near = difflib.get_close_matches(str(name), names, n=2, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    listed = ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")
    return ValueError(f"unknown {argument} {name!r}.{hint} Valid names: {listed}")
