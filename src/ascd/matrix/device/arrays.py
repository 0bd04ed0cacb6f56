"""Arrays on a GPU: CuPy is the library that reads them; arrays of others come to it by DLPack, on the same memory.

Whatever a GPU does happens inside ``gpu.here()``, which makes the array's device the current one and turns what may go
wrong there into one sentence.  Arrays that no kernel reads (half precision, complicated strides) are copied once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ascd._core.checks import Array, check_shape
from ascd._core.devices import library_of, namespace_of

#: Types of entries that kernels read as they are, in CUDA's words.
TYPES = {
    "float64": "double", "float32": "float", "bool": "bool", "uint8": "unsigned char", "int8": "signed char",
    "uint16": "unsigned short", "int16": "short", "uint32": "unsigned int", "int32": "int", "int64": "long long",
}  # fmt: skip


class Gpu:
    """The GPU that a CuPy array is on; ``xp`` is CuPy."""

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
    down, right = values.strides
    d, n = values.shape
    is_by_rows = right == values.itemsize and (down >= n * values.itemsize or d == 1)
    is_by_columns = down == values.itemsize and (right >= d * values.itemsize or n == 1)
    return values if is_by_rows or is_by_columns else values.copy(order="F")
