"""Arrays on a device: the few functions of their library that passes need, and passes by the library's own products.

``Space`` is written against the array API standard; CuPy and torch have other names for some functions.  No library is
imported here: an array that came from one says that it has been.  Whatever the device does happens inside
``space.here()``, which makes the array's device the current one and turns what may go wrong there into one sentence.

``LibraryPasses`` convert a tile at a time to float64 and multiply it.  Entries of float32 (or of fewer digits) are
float64 numbers too, so what is summed is what a host would sum, and rounding errors are those of float64:
(d + 8)·2⁻⁵³·‖a_j‖‖v‖ for any order of summation, as certificates count them.  A tile and what is computed from it take
``costs.DEVICE_SHARE`` of the data at most.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.devices import fetched, library_of
from ascd.matrix import costs


class Space:
    """A library and a device; this one is any namespace of the array API standard.

    ``half`` is the name of the type of 16 bits, where the library has products of such numbers with float32 sums.
    """

    half: str | None = None

    def __init__(self, array: Any) -> None:
        self.xp: Any = namespace_of(array)
        self.device: Any = getattr(array, "device", None)

    def put(self, values: Array) -> Any:
        """Return an array of the host on the device."""
        return self.xp.asarray(values, device=self.device)

    def fetch(self, array: Any) -> Array:
        """Return an array of the device on the host."""
        return fetched(array)

    def zeros(self, shape: Any, kind: str = "float64") -> Any:
        """Return zeros of the type with this name."""
        return self.xp.zeros(shape, dtype=getattr(self.xp, kind), device=self.device)

    def empty(self, shape: Any, kind: str) -> Any:
        """Return an array of the type with this name, not filled."""
        return self.xp.empty(shape, dtype=getattr(self.xp, kind), device=self.device)

    def cast(self, array: Any, kind: str = "float64") -> Any:
        """Return the array in the type with this name, without a copy where it is that."""
        return self.xp.astype(array, getattr(self.xp, kind), copy=False)

    @property
    def short(self) -> str:
        """The name of the type that the device multiplies fastest."""
        return self.half or "float32"

    def add_short_products(self, out: Any, left: Any, right: Any) -> None:
        """out += leftᵀ·right for numbers of the type ``short``; ``out`` is float32."""
        out += left.T @ right

    def take(self, array: Any, places: Any, axis: int) -> Any:
        """Return rows (axis 0) or columns (1) of an array."""
        return self.xp.take(array, places, axis=axis)

    def join(self, arrays: list[Any]) -> Any:
        """Return arrays below each other."""
        join = getattr(self.xp, "concat", None) or self.xp.concatenate
        return join(arrays, axis=0)

    def cholesky_solve(self, matrix: Any, right: Any) -> Any | None:
        """Return matrix⁻¹·right for a positive definite matrix, which may be overwritten; None where it is not.

        The standard solves no triangular systems, so this computes a general solution.
        """
        try:
            self.xp.linalg.cholesky(matrix)
            return self.xp.linalg.solve(matrix, right)
        except Exception as error:  # every namespace has its own
            if "LinAlgError" in type(error).__name__:
                return None
            raise

    def free_bytes(self) -> float | None:
        """Return the memory of the device that is not in use; None where that is not known."""
        return None

    def current(self) -> Any:
        """Return a context in which the array's device is the current one."""
        return nullcontext()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Make the device the current one, and turn its errors into one sentence."""
        try:
            with self.current():
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
    """CuPy, whose functions take no device: there is a current one."""

    half = "float16"

    def put(self, values: Array) -> Any:
        """Into new memory: half of the time that ``asarray`` takes for a vector."""
        values = np.ascontiguousarray(values)
        out = self.xp.empty(values.shape, dtype=values.dtype)
        out.set(values)
        return out

    def zeros(self, shape: Any, kind: str = "float64") -> Any:
        return self.xp.zeros(shape, dtype=kind)

    def empty(self, shape: Any, kind: str) -> Any:
        return self.xp.empty(shape, dtype=kind)

    def cast(self, array: Any, kind: str = "float64") -> Any:
        return array.astype(kind, copy=False)

    def add_short_products(self, out: Any, left: Any, right: Any) -> None:
        """By cuBLAS itself, which sums in float32, into ``out``: CuPy's own product of halves has halves as sums."""
        library, one = self.xp.cuda.cublas, np.ones(1, dtype=np.float32)
        turned, plain = library.CUBLAS_OP_T, library.CUBLAS_OP_N
        half, single, default = 2, 0, -1  # CUDA_R_16F, CUDA_R_32F, CUBLAS_GEMM_DEFAULT
        # rows of ``out`` are columns to the library
        (first_by_columns, first_stride), (second_by_columns, second_stride) = map(_leading, (right, left))
        library.gemmEx(
            self.xp.cuda.device.get_cublas_handle(), turned if first_by_columns else plain,
            plain if second_by_columns else turned, right.shape[1], left.shape[1], left.shape[0],
            one.ctypes.data, right.data.ptr, half, first_stride, left.data.ptr, half, second_stride,
            one.ctypes.data, out.data.ptr, single, out.strides[0] // out.itemsize, library.CUBLAS_COMPUTE_32F, default,
        )  # fmt: skip

    def times_into(self, matrix: Any, vector: Any, out: Any) -> None:
        """out = matrix·vector."""
        matrix.dot(vector, out=out)

    def current(self) -> Any:
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

    def __init__(self, array: Any) -> None:
        super().__init__(array)
        # products of halves with float32 sums: on a device, from torch 2.8 on
        if self.device.type == "cuda" and hasattr(self.xp.ops.aten.mm, "dtype"):
            self.half = "float16"

    def put(self, values: Array) -> Any:
        values = np.ascontiguousarray(values)
        made = self.xp.from_numpy(values if values.flags.writeable else values.copy())
        return made.to(self.device)

    def cast(self, array: Any, kind: str = "float64") -> Any:
        return array.to(getattr(self.xp, kind))

    def add_short_products(self, out: Any, left: Any, right: Any) -> None:
        out += self.xp.mm(left.T, right, **({"out_dtype": self.xp.float32} if self.half else {}))

    def times_into(self, matrix: Any, vector: Any, out: Any) -> None:
        """out = matrix·vector."""
        self.xp.mv(matrix, vector, out=out)

    def take(self, array: Any, places: Any, axis: int) -> Any:
        return self.xp.index_select(array, axis, places)

    def current(self) -> Any:
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
    """Return the library and the device of an array."""
    return SPACES.get(library_of(array), Space)(array)


def namespace_of(array: Any) -> Any:
    """Return the array's namespace; the library's own module, where an array does not name one."""
    return array.__array_namespace__() if hasattr(array, "__array_namespace__") else sys.modules[library_of(array)]


def strides_of(values: Any) -> tuple[int, int] | None:
    """Return how many entries rows and columns are apart; None where a library does not say."""
    if callable(getattr(values, "stride", None)):
        down, right = values.stride()
    elif getattr(values, "strides", None):
        down, right = (step // item_size(values) for step in values.strides)
    else:
        return None
    return int(down), int(right)


def item_size(values: Any) -> int:
    """Return the bytes of an entry."""
    size = getattr(values.dtype, "itemsize", None) or getattr(values, "itemsize", None)
    return int(size) if size else 8


def _leading(array: Any) -> tuple[bool, int]:
    """Whether entries of a column lie together, and how far apart columns (rows) begin."""
    down, right = (stride // array.itemsize for stride in array.strides)
    return (True, max(right, array.shape[0])) if down == 1 else (False, down)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


class LibraryPasses:
    """Passes over a dense array in float64, a tile at a time; ``reason`` says why there are no kernels for it."""

    def __init__(self, values: Any, space: Space) -> None:
        self.values, self.space = values, space
        self.d, self.n = values.shape
        room = costs.DEVICE_SHARE * self.d * self.n * item_size(values)
        self.most = int(min(costs.DEVICE_BLOCK, max(costs.DEVICE_FLOOR, room)) // costs.DEVICE_ENTRY)
        strides = strides_of(values)
        self.is_by_rows = strides is None or strides[1] <= strides[0]
        self.reason = "there are no kernels for this array"

    def column_stats(self, weight: Any | None, vectors: Any) -> Any:
        """Return rows of sums by column: products with vectors (one a row), Σa, Σa², and Σ s·a² with weights s."""
        count = vectors.shape[0] + (2 if weight is None else 3)
        out = self.space.zeros((count, self.n))
        for rows, there, part in self.tiles(None):
            square = part * part
            sums = [self.space.xp.sum(part, axis=0)[None, :], self.space.xp.sum(square, axis=0)[None, :]]
            if weight is not None:
                sums.append(weight[None, rows] @ square)
            if vectors.shape[0] > 0:
                sums.insert(0, vectors[:, rows] @ part)
            row = 0
            for found in sums:
                stop = row + found.shape[0]
                out[row:stop, there] = out[row:stop, there] + found
                row = stop
        return out

    def squares(self, weight: Any, columns: Array) -> Any:
        """Return Σ s·a² of the columns."""
        out = self.space.zeros((1, columns.size))
        for rows, there, part in self.tiles(columns):
            out[:, there] = out[:, there] + weight[None, rows] @ (part * part)
        return out[0, :]

    def dots(self, columns: Array | None, vectors: Any) -> Any:
        """Return products of the columns (all) with the vectors, one a row."""
        out = self.space.zeros((vectors.shape[0], self.n if columns is None else columns.size))
        for rows, there, part in self.tiles(columns):
            out[:, there] = out[:, there] + vectors[:, rows] @ part
        return out

    def add(self, columns: Array | None, factors: Any) -> Any:
        """Return Σ_i factors_i·a_columns_i."""
        out = self.space.zeros((self.d, 1))
        for rows, there, part in self.tiles(columns):
            out[rows, :] = out[rows, :] + part @ factors[there][:, None]
        return out[:, 0]

    def tiles(self, columns: Array | None) -> Iterator[tuple[slice, slice, Any]]:
        """Yield rows, places among the columns, and these entries in float64."""
        count = self.n if columns is None else columns.size
        tall, wide = self.extents(count)
        for first in range(0, count, wide):
            there = slice(first, min(first + wide, count))
            places = None if columns is None else self.space.put(np.ascontiguousarray(columns[there], dtype=np.int64))
            for top in range(0, self.d, tall):
                rows = slice(top, min(top + tall, self.d))
                yield rows, there, self.tile(rows, there if places is None else places)

    def tile(self, rows: slice, columns: Any) -> Any:
        """Return some rows of some columns in float64; columns are a slice or places on the device."""
        if isinstance(columns, slice):
            return self.space.cast(self.values[rows, columns])
        if self.is_by_rows:
            return self.space.cast(self.space.take(self.values[rows, :], columns, axis=1))
        return self.space.cast(self.space.take(self.values.T[:, rows], columns, axis=0)).T  # columns stay together

    def extents(self, count: int) -> tuple[int, int]:
        """Return how many rows and columns a tile has: as many as lie together."""
        if self.is_by_rows:
            wide = min(count, self.most)
            return max(1, min(self.d, self.most // max(1, wide))), max(1, wide)
        tall = min(self.d, self.most)
        return tall, max(1, min(count, self.most // tall))
