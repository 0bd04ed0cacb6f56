"""Passes by kernels of our own on NVIDIA's devices, for CuPy's arrays and torch's tensors.

The libraries multiply arrays of one type only: float32 data would have to be converted to float64 a chunk at a time,
which reads and writes five times as much as a pass needs.  ``cuda_source`` reads each entry once, as it is.

Where there is no compiler for it (another device, an older torch), or entries do not lie together, passes go by chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.devices import library_of
from ascd.matrix import prices
from ascd.matrix.device.chunks import Chunks, concat, item_size
from ascd.matrix.device.cuda_source import SOURCE
from ascd.matrix.device.spaces import Space
from ascd.matrix.sparse import LARGEST_SHORT

#: Types of entries, by the end of their name, in CUDA's words.
TYPES = {"float64": "double", "float32": "float", "uint8": "unsigned char", "int8": "signed char", "bool": "bool"}

Launch = Callable[[tuple[int, int], list[Any]], None]


class Lines(NamedTuple):
    """How an array lies: so many lines of so many entries, ``stride`` entries apart; ``width`` are read at once."""

    number: int
    length: int
    stride: int
    width: int
    are_columns: bool


class Kind(NamedTuple):
    """What a kernel is compiled for."""

    name: str
    type: str
    vectors: int
    squares: bool
    weights: bool
    listed: bool
    picked: bool
    width: int

    def source(self) -> str:
        numbers = {"NV": self.vectors, "SQ": self.squares, "WT": self.weights, "LISTED": self.listed}
        numbers |= {"PICKED": self.picked, "WIDTH": self.width}
        return f"#define T {self.type}\n" + "".join(f"#define {k} {int(v)}\n" for k, v in numbers.items()) + SOURCE

    @property
    def sums(self) -> int:
        """Sums a line or a place."""
        return self.vectors + 2 * self.squares + self.weights


def passes_of(chunks: Chunks) -> Any:
    """Kernels where there are some for this array, chunks else."""
    lines, type_name = lines_of(chunks.values), type_of(chunks.values)
    compile_kernel = COMPILERS.get(library_of(chunks.values))
    is_cuda = "cuda" in str(getattr(chunks.values, "device", "")).lower()
    if lines is None or type_name is None or compile_kernel is None or not is_cuda:
        return chunks
    try:
        return KernelPasses(chunks, lines, type_name, compile_kernel)
    except Exception as error:  # no compiler here: whatever it lacks, chunks need none
        chunks.reason = f"{type(error).__name__}: {error}"
        return chunks


class KernelPasses:
    """The passes of ``Chunks``, each a launch and a small sum."""

    def __init__(self, chunks: Chunks, lines: Lines, type_name: str, compile_kernel: Any) -> None:
        self.chunks, self.lines, self.type, self.compile = chunks, lines, type_name, compile_kernel
        self.space: Space = chunks.space
        self.nothing = self.space.put(np.zeros(1, dtype=np.int32))
        self._kernel(Kind("along", type_name, 1, False, False, False, False, lines.width))

    def survey(self, weight: Any | None, vectors: Any) -> Any:
        first = vectors[: prices.CUDA_VECTORS - (weight is not None), :]
        found = self._sums(first, weight, squares=True)
        if vectors.shape[0] == first.shape[0]:
            return found
        others = self.dots(None, vectors[first.shape[0] :, :])
        count = first.shape[0]
        return concat(self.space, [found[:count, :], others, found[count:, :]])

    def squares(self, weight: Any, columns: Array) -> Any:
        return self._sums(self.space.zeros((0, self.chunks.d)), weight, squares=False, columns=columns)[0, :]

    def dots(self, columns: Array | None, vectors: Any) -> Any:
        found = [
            self._sums(vectors[start : start + prices.CUDA_VECTORS, :], None, squares=False, columns=columns)
            for start in range(0, vectors.shape[0], prices.CUDA_VECTORS)
        ]
        return found[0] if len(found) == 1 else concat(self.space, found)

    def add(self, columns: Array | None, factors: Any) -> Any:
        if columns is not None and columns.size == 0:
            return self.space.zeros((self.chunks.d,))
        if self.lines.are_columns:
            return self._across(factors[None, :], None, False, self._as_list(columns), None)[0, :]
        if columns is not None and columns.size > prices.CUDA_PICKED * self.chunks.n:
            return self.add(None, spread(self.space, factors, columns, self.chunks.n))
        return self._along(factors[None, :], None, False, None, self._as_list(columns))[0, :]

    def _sums(self, vectors: Any, weight: Any | None, squares: bool, columns: Array | None = None) -> Any:
        """Sums over the samples for these columns (all)."""
        if columns is not None and columns.size == 0:
            return self.space.zeros((vectors.shape[0] + 2 * squares + (weight is not None), 0))
        if self.lines.are_columns:
            return self._along(vectors, weight, squares, self._as_list(columns), None)
        if columns is not None and columns.size > prices.CUDA_PICKED * self.chunks.n:
            everything = self._across(vectors, weight, squares, None, None)
            return self.space.take(everything, self.space.put(np.asarray(columns, dtype=np.int64)), axis=1)
        return self._across(vectors, weight, squares, None, self._as_list(columns))

    def _as_list(self, columns: Array | None) -> Any | None:
        return None if columns is None else self.space.put(np.ascontiguousarray(columns, dtype=np.int32))

    def _along(self, vectors: Any, weight: Any | None, squares: bool, lines: Any | None, places: Any | None) -> Any:
        count, length = self._sizes(lines, places)
        kind = self._kind("along", vectors, weight, squares, lines, places)
        parts = -(-length // prices.CUDA_TILE)
        groups = min(prices.CUDA_GROUPS, max(1, count * parts // (prices.CUDA_LINES * prices.CUDA_BLOCKS)))
        grid = (-(-count // (prices.CUDA_LINES * groups)), parts)
        return self._launch(kind, grid, vectors, weight, lines, places, groups, (parts, kind.sums, count))

    def _across(self, vectors: Any, weight: Any | None, squares: bool, lines: Any | None, places: Any | None) -> Any:
        count, length = self._sizes(lines, places)
        kind = self._kind("across", vectors, weight, squares, lines, places)
        blocks = -(-length // (prices.CUDA_THREADS * kind.width))
        # sums of parts are added up later
        room = self.chunks.most * prices.DEVICE_ENTRY // (8 * max(1, kind.sums) * length)
        parts = max(1, min(-(-prices.CUDA_BLOCKS // blocks), -(-count // prices.CUDA_FEWEST), room))
        span = -(-count // parts)
        parts = -(-count // span)
        return self._launch(kind, (blocks, parts), vectors, weight, lines, places, span, (parts, kind.sums, length))

    def _sizes(self, lines: Any | None, places: Any | None) -> tuple[int, int]:
        count = self.lines.number if lines is None else lines.shape[0]
        return int(count), int(self.lines.length if places is None else places.shape[0])

    def _kind(
        self, name: str, vectors: Any, weight: Any | None, squares: bool, lines: Any | None, places: Any | None
    ) -> Kind:
        width = self.lines.width
        if places is not None or (name == "across" and self.lines.length % width):
            width = 1
        listed, picked = lines is not None, places is not None
        return Kind(name, self.type, int(vectors.shape[0]), squares, weight is not None, listed, picked, width)

    def _launch(
        self, kind: Kind, grid: tuple[int, int], vectors: Any, weight: Any | None, lines: Any | None,
        places: Any | None, step: int, shape: tuple[int, int, int],
    ) -> Any:  # fmt: skip
        """Sums by parts, added up."""
        space, (count, length) = self.space, self._sizes(lines, places)
        rows = vectors if weight is None else concat(space, [vectors, weight[None, :]])
        out = space.zeros(shape)
        here, there = (self.nothing if one is None else one for one in (lines, places))
        self._kernel(kind)(
            grid, [self.chunks.values, self.lines.stride, here, count, there, length, rows, step, out]
        )  # fmt: skip
        return out[0, :, :] if shape[0] == 1 else space.xp.sum(out, axis=0)

    def _kernel(self, kind: Kind) -> Launch:
        launch: Launch = self.compile(kind, str(self.space.device))
        return launch


def lines_of(values: Any) -> Lines | None:
    """How the entries lie; None where neither rows nor columns lie together."""
    d, n = (int(size) for size in values.shape)
    if callable(getattr(values, "stride", None)):
        across, along = values.stride()
    elif getattr(values, "strides", None):
        across, along = (step // item_size(values) for step in values.strides)
    else:
        return None
    if max(d, n, across, along) > LARGEST_SHORT:
        return None
    if along == 1 and (across >= n or d == 1):
        stride, count, length, are_columns = across if d > 1 else n, d, n, False
    elif across == 1 and (along >= d or n == 1):
        stride, count, length, are_columns = along if n > 1 else d, n, d, True
    else:
        return None
    if length > prices.CUDA_TILE * prices.CUDA_MOST_BLOCKS:
        return None
    size = item_size(values)
    width = min(4, 16 // size)
    is_aligned = stride % width == 0 and address_of(values) % (width * size) == 0
    return Lines(count, length, stride, width if is_aligned else 1, are_columns)


def address_of(values: Any) -> int:
    if hasattr(values, "data_ptr"):
        return int(values.data_ptr())
    memory = getattr(values, "data", None)
    return int(getattr(memory, "ptr", 1))


def type_of(values: Any) -> str | None:
    name = str(values.dtype).rpartition(".")[2]
    return TYPES.get(name)


def spread(space: Space, factors: Any, columns: Array, n: int) -> Any:
    """A vector of n entries with the factors at these places."""
    out = np.zeros(n)
    out[columns] = space.fetch(factors)
    return space.put(out)


@cache
def compiled_by_cupy(kind: Kind, device: str) -> Launch:
    import cupy

    kernel = cupy.RawKernel(kind.source(), kind.name)
    kernel.compile()

    def launch(grid: tuple[int, int], arguments: list[Any]) -> None:
        kernel(grid, (prices.CUDA_THREADS,), tuple(np.int32(one) if isinstance(one, int) else one for one in arguments))

    return launch


@cache
def compiled_by_torch(kind: Kind, device: str) -> Launch:
    import torch

    kernel = torch.cuda._compile_kernel(kind.source(), kind.name)

    def launch(grid: tuple[int, int], arguments: list[Any]) -> None:
        kernel(grid=(*grid, 1), block=(prices.CUDA_THREADS, 1, 1), args=arguments)

    return launch


COMPILERS = {"cupy": compiled_by_cupy, "torch": compiled_by_torch}
