"""One namespace on one device: the few functions of it that passes over the data need.

Written against the array API standard; torch has other names for some of them.  Nothing is imported here: an array
that came from a library says that the library has been.

Whatever the device does happens inside ``space.here()``, which makes the array's device the current one and turns what
may go wrong there into one sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.devices import fetched, library_of
from ascd.matrix import prices


class Space:
    """A namespace of the array API standard; CuPy and NumPy keep to it."""

    def __init__(self, array: Any) -> None:
        self.xp: Any = namespace_of(array)
        self.device: Any = getattr(array, "device", None)

    def put(self, values: Array) -> Any:
        """An array of the host, on the device."""
        return self.xp.asarray(values, device=self.device)

    def fetch(self, array: Any) -> Array:
        """An array of the device, on the host."""
        return fetched(array)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def wide(self, array: Any) -> Any:
        """The same numbers as float64."""
        return self.xp.astype(array, self.xp.float64, copy=False)

    def short_zeros(self, shape: tuple[int, ...]) -> Any:
        return self.xp.zeros(shape, dtype=self.xp.float32, device=self.device)

    @property
    def half(self) -> Any | None:
        """The type of 16 bits, where the library has products of such numbers with sums in float32."""
        return None

    def half_empty(self, shape: tuple[int, ...]) -> Any:
        return self.xp.empty(shape, dtype=self.half)

    def short(self, array: Any) -> Any:
        """The numbers in the type that the device multiplies fastest."""
        return self.xp.astype(array, self.xp.float32)

    def add_short_products(self, out: Any, left: Any, right: Any) -> None:
        """out += leftᵀ·right for short numbers; ``out`` is float32."""
        out += left.T @ right

    def take(self, array: Any, places: Any, axis: int) -> Any:
        return self.xp.take(array, places, axis=axis)

    def cholesky_solve(self, matrix: Any, right: Any) -> Any | None:
        """matrix⁻¹·right for a positive definite matrix, which may be overwritten; None where it is not.

        The standard solves no triangular systems, so this asks for a general solution.
        """
        try:
            self.xp.linalg.cholesky(matrix)
            return self.xp.linalg.solve(matrix, right)
        except Exception as error:  # every namespace has its own
            if "LinAlgError" in type(error).__name__:
                return None
            raise

    def free_bytes(self) -> float | None:
        """Memory of the device that is not in use; None where that is not known."""
        return None

    def memory_of(self) -> Any:
        """A context in which the array's device is the current one."""
        return nullcontext()

    @contextmanager
    def here(self) -> Iterator[None]:
        """The device, and its errors in one sentence."""
        try:
            with self.memory_of():
                yield
        except Exception as error:
            kind = type(error)
            if "OutOfMemory" in kind.__name__:
                raise MemoryError(
                    f"the device {self.device} ran out of memory beside X: free some of it, or fit fewer columns "
                    f"({_first_line(error)})"
                ) from error
            if kind.__module__.partition(".")[0] in ("cupy", "cupy_backends", "torch"):
                raise RuntimeError(f"the device {self.device} failed: {_first_line(error)}") from error
            raise


class CupySpace(Space):
    """CuPy: its current device is a matter of its own."""

    def put(self, values: Array) -> Any:
        """Into memory of its own: half of the time that ``asarray`` takes for a vector."""
        values = np.ascontiguousarray(values)
        out = self.xp.empty(values.shape, dtype=values.dtype)
        out.set(values)
        return out

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return self.xp.zeros(shape, dtype=np.float64)

    def wide(self, array: Any) -> Any:
        return array.astype(np.float64, copy=False)

    def short_zeros(self, shape: tuple[int, ...]) -> Any:
        return self.xp.zeros(shape, dtype=np.float32)

    def like(self, array: Any, size: int) -> Any:
        """A vector of the array's type, not filled."""
        return self.xp.empty(size, dtype=array.dtype)

    def times_into(self, matrix: Any, vector: Any, out: Any) -> None:
        """out = matrix·vector."""
        matrix.dot(vector, out=out)

    @property
    def half(self) -> Any | None:
        return np.float16

    def short(self, array: Any) -> Any:
        return array.astype(np.float16)

    def add_short_products(self, out: Any, left: Any, right: Any) -> None:
        """CuPy's own product of halves has halves as sums; the library below it sums in float32, into ``out``."""
        library, one = self.xp.cuda.cublas, np.ones(1, dtype=np.float32)
        turned, plain = library.CUBLAS_OP_T, library.CUBLAS_OP_N
        first, second = (_leading(array) for array in (right, left))  # rows of ``out`` are columns to the library
        library.gemmEx(
            self.xp.cuda.device.get_cublas_handle(), turned if first.by_columns else plain,
            plain if second.by_columns else turned, right.shape[1], left.shape[1], left.shape[0],
            one.ctypes.data, right.data.ptr, prices.CUDA_HALF, first.stride,
            left.data.ptr, prices.CUDA_HALF, second.stride, one.ctypes.data,
            out.data.ptr, prices.CUDA_SINGLE, out.strides[0] // out.itemsize,
            library.CUBLAS_COMPUTE_32F, prices.CUBLAS_DEFAULT,
        )  # fmt: skip

    def memory_of(self) -> Any:
        return self.device

    def cholesky_solve(self, matrix: Any, right: Any) -> Any | None:
        from cupyx import errstate
        from cupyx.lapack import posv

        try:
            with errstate(linalg="raise"):
                return posv(matrix, right)
        except np.linalg.LinAlgError:
            return None

    def free_bytes(self) -> float | None:
        free, _ = self.xp.cuda.runtime.memGetInfo()
        return float(free + self.xp.get_default_memory_pool().free_bytes())


class TorchSpace(Space):
    """torch, whose functions have other names and whose tensors know their device."""

    def put(self, values: Array) -> Any:
        values = np.ascontiguousarray(values)
        made = self.xp.from_numpy(values if values.flags.writeable else values.copy())
        return made.to(self.device)

    def wide(self, array: Any) -> Any:
        return array.to(self.xp.float64)

    def like(self, array: Any, size: int) -> Any:
        return self.xp.empty(size, dtype=array.dtype, device=self.device)

    def times_into(self, matrix: Any, vector: Any, out: Any) -> None:
        self.xp.mv(matrix, vector, out=out)

    @property
    def half(self) -> Any | None:
        """On a device, from torch 2.8 on."""
        return self.xp.float16 if self.device.type == "cuda" and hasattr(self.xp.ops.aten.mm, "dtype") else None

    def half_empty(self, shape: tuple[int, ...]) -> Any:
        return self.xp.empty(shape, dtype=self.half, device=self.device)

    def short(self, array: Any) -> Any:
        return array.to(self.half or self.xp.float32)

    def add_short_products(self, out: Any, left: Any, right: Any) -> None:
        out += self.xp.mm(left.T, right, **({"out_dtype": self.xp.float32} if self.half else {}))

    def take(self, array: Any, places: Any, axis: int) -> Any:
        return self.xp.index_select(array, axis, places)

    def memory_of(self) -> Any:
        return self.xp.cuda.device(self.device) if self.device.type == "cuda" else nullcontext()

    def cholesky_solve(self, matrix: Any, right: Any) -> Any | None:
        factor, trouble = self.xp.linalg.cholesky_ex(matrix)
        if int(trouble):
            return None
        return self.xp.cholesky_solve(right, factor)

    def free_bytes(self) -> float | None:
        if self.device.type != "cuda":
            return None
        free, _ = self.xp.cuda.mem_get_info(self.device)
        return float(free + self.xp.cuda.memory_reserved(self.device) - self.xp.cuda.memory_allocated(self.device))


SPACES = {"cupy": CupySpace, "torch": TorchSpace}


def space_of(array: Any) -> Space:
    return SPACES.get(library_of(array), Space)(array)


def namespace_of(array: Any) -> Any:
    """The array's namespace; the library's own module, where an array does not name one."""
    return array.__array_namespace__() if hasattr(array, "__array_namespace__") else sys.modules[library_of(array)]


class _Leading(NamedTuple):
    """Do entries of a column lie together, and how far apart do columns (rows) begin?"""

    by_columns: bool
    stride: int


def _leading(array: Any) -> _Leading:
    down, right = (stride // array.itemsize for stride in array.strides)
    return _Leading(True, max(right, array.shape[0])) if down == 1 else _Leading(False, down)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
