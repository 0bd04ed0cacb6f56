"""A dense array on a GPU, read where it lies.

Vectors of samples and of columns travel, the data never do; columns are fetched only where single ones are needed (a
column without a penalty whose dual point must be fitted).  CuPy is the library that reads them; arrays of others come
to it by DLPack, on the same memory.  Arrays that no kernel reads (half precision, complicated strides) are copied once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ascd._core.checks import Array, check_shape
from ascd._core.devices import library_of, namespace_of
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats
from ascd.matrix.cached import Remote
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.device.cuda import CUDA_VECTORS, TYPES, Passes, lines_of
from ascd.matrix.device.gram import ENTRY_BYTES, DeviceGram, Weighted, multiply


class Gpu:
    """The GPU that a CuPy array is on; ``xp`` is CuPy.  Whatever it does happens inside ``here``."""

    def __init__(self, array: Any) -> None:
        import cupy

        self.xp: Any = cupy
        self.device: Any = array.device

    def put(self, values: Array, kind: Any = None) -> Any:
        """Return an array of the host on the GPU, one row after the other: half of the time that ``asarray`` takes."""
        values = np.ascontiguousarray(values, dtype=kind)
        out = self.xp.empty(values.shape, dtype=values.dtype)
        out.set(values)
        return out

    def fetch(self, array: Any) -> Array:
        """Return an array of the GPU on the host."""
        return np.asarray(array.get())

    @contextmanager
    def short_products(self) -> Iterator[None]:
        """Multiply 10 bits of each float32 (TF32), summed in float32; CuPy's own products of halves sum in halves."""
        library, handle = self.xp.cuda.cublas, self.xp.cuda.device.get_cublas_handle()
        library.setMathMode(handle, 3)  # CUBLAS_TF32_TENSOR_OP_MATH
        try:
            yield
        finally:
            library.setMathMode(handle, library.CUBLAS_DEFAULT_MATH)

    def cholesky_solve(self, matrix: Any, right: Any) -> Any | None:
        """Return matrix⁻¹·right for a positive definite matrix, which may be overwritten; None where it is not."""
        from cupyx import errstate
        from cupyx.lapack import posv

        try:
            with errstate(linalg="raise"):
                return posv(matrix, right)
        except np.linalg.LinAlgError:
            return None

    @contextmanager
    def here(self) -> Iterator[None]:
        """Make the GPU the current one, and turn its errors into one sentence."""
        try:
            with self.device:
                yield
        except Exception as error:
            kind, said = type(error), str(error).strip().partition("\n")[0] or type(error).__name__
            if "OutOfMemory" in kind.__name__:
                raise MemoryError(
                    f"the device {self.device} ran out of memory beside X: free some of it, or fit fewer columns "
                    f"({said})"
                ) from error
            if kind.__module__.partition(".")[0] in ("cupy", "cupy_backends"):
                raise RuntimeError(f"the device {self.device} failed: {said}") from error
            raise


def as_cupy(values: Any) -> Any:
    """Return a dense matrix on a GPU as a CuPy array: on the same memory, or a copy where kernels do not read that."""
    check_shape(tuple(values.shape))
    if "complex" in str(values.dtype) or "object" in str(values.dtype):
        raise TypeError(f"A must hold real numbers (float, int or bool); got dtype {values.dtype}")
    if library_of(values) != "cupy":
        try:
            import cupy
        except ImportError as error:
            raise ImportError(
                f"A is an array of {library_of(values)} on a GPU, which CuPy reads: pip install 'ascd[cupy]', "
                "or pass it from the memory of the host"
            ) from error
        if library_of(values) == "torch":  # whose tensors may have gradients, and booleans that do not travel
            values = values.detach()
            values = values.view(namespace_of(values).uint8) if str(values.dtype) == "torch.bool" else values
        values = cupy.from_dlpack(values)
    if str(values.dtype) not in TYPES:
        values = values.astype("float32" if str(values.dtype) == "float16" else "float64")
    return values if lines_of(values) else values.copy(order="F")


class DeviceDense(Remote):
    """A dense array where it lies; ``gpu`` is where that is, ``room`` the bytes that may be used beside it."""

    is_dear = True
    at_once = 1024  # a pass takes longer than products of so many columns

    def __init__(self, values: Any) -> None:
        self.values = as_cupy(values)
        self.gpu = Gpu(self.values)
        self.shape: tuple[int, int] = (int(values.shape[0]), int(values.shape[1]))
        self.room = int(max(costs.DEVICE_FLOOR, costs.DEVICE_SHARE * self.nbytes))
        lines: Any = lines_of(self.values)
        self.by_columns: bool = lines.are_columns
        with self.gpu.here():
            self.passes = Passes(self.values, self.gpu, lines, self.room)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    @property
    def products_room(self) -> float:
        """Bytes that products of columns may take on the device."""
        xp = self.gpu.xp
        with self.gpu.here():
            return 0.2 * float(xp.cuda.runtime.memGetInfo()[0] + xp.get_default_memory_pool().free_bytes())

    def kept_products(self, intercept: bool, constant: float) -> DeviceGram:
        """Return products of columns that stay on the device."""
        return DeviceGram(self, intercept, constant)

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        self.note(None)
        count = CUDA_VECTORS - 1
        some, others = vectors[:count], vectors[count:]
        with self.gpu.here():
            weights = None if np.ndim(weight) == 0 else self.gpu.put(weight, np.float64)
            rows = self.gpu.put(some, np.float64)
            products, (total, plain, *squares) = np.split(
                self.gpu.fetch(self.passes.over_samples(rows, weights, True)), [len(some)]
            )
        if len(others):
            products = np.concatenate([products, self.dots(np.arange(self.shape[1]), others.T).T])
        square = weight * plain if weights is None else squares[0]
        return ColumnStats(square, plain, total, np.ascontiguousarray(products))

    def squares(self, weight: Any, columns: Array) -> Array:
        self.note(columns)
        with self.gpu.here():
            weights = self.gpu.put(np.broadcast_to(weight, self.shape[:1]), np.float64)
            nothing = self.gpu.xp.zeros((0, self.shape[0]))
            return self.gpu.fetch(self.passes.over_samples(nothing, weights, columns=columns)[0, :])

    def dots(self, columns: Array, vectors: Array) -> Array:
        self.note(columns)
        rows, chosen = vectors.reshape(self.shape[0], -1).T, self._chosen(columns)
        out = np.empty((columns.size, len(rows)))
        with self.gpu.here():
            for start in range(0, len(rows), CUDA_VECTORS):
                some = slice(start, start + CUDA_VECTORS)
                put = self.gpu.put(rows[some], np.float64)
                out[:, some] = self.gpu.fetch(self.passes.over_samples(put, columns=chosen)).T
        return out.reshape(-1, *vectors.shape[1:])

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        chosen = self._chosen(columns)
        with self.gpu.here():
            for number in np.ndindex(out.shape[1:]):  # one output after the other
                self.note(columns)
                there = (slice(None), *number)
                out[there] += self.gpu.fetch(self.passes.over_columns(np.ascontiguousarray(factors[there]), chosen))

    def products(self, first: Array, second: Array, weight: Array, means: Array | None, kept: Any = None) -> Array:
        parts = [first] if first is second else [first, second]
        with self.gpu.here():
            return self.gpu.fetch(multiply(*(Weighted(self, columns, weight, means) for columns in parts)))

    def fetch(self, columns: Array) -> LocalDense:
        self.note(columns)
        values = np.empty((self.shape[0], columns.size), order="F")
        step = max(1, self.room // (ENTRY_BYTES * self.shape[0]))
        with self.gpu.here():
            for there in (slice(start, start + step) for start in range(0, columns.size, step)):
                values[:, there] = self.gpu.fetch(self.tile(slice(None), self.gpu.put(columns[there], np.int64)))
        return LocalDense(Dense(values), values.shape)

    def note(self, columns: Array | None) -> None:
        """Count what a pass over these columns (all) reads."""
        size = self.shape[1] if columns is None else columns.size
        self.bytes_read += size * (self.nbytes // self.shape[1])

    def tile(self, rows: slice, places: Any) -> Any:
        """Return some rows of some columns (their places are on the GPU) in float64."""
        take = self.gpu.xp.take
        if self.by_columns:  # which stay together
            part = take(self.values.T[:, rows], places, axis=0).T
        else:
            part = take(self.values[rows, :], places, axis=1)
        return part.astype(np.float64, copy=False)

    def _chosen(self, columns: Array) -> Array | None:
        """None for all columns in their order."""
        are_all = columns.size == self.shape[1] and bool((columns == np.arange(columns.size)).all())
        return None if are_all else columns
