"""CuPy for machines without a GPU: its arrays with NumPy inside, and our CUDA kernels transcribed to NumPy.

What CuPy refuses is refused: arrays of NumPy beside its own, and conversion without ``get``.
"""

from __future__ import annotations

import operator
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.lib.mixins import NDArrayOperatorsMixin


class Device(SimpleNamespace):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


DEVICE = Device(id=0)


def inside(value):
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, list | tuple):
        return type(value)(map(inside, value))
    return value.inner if isinstance(value, ndarray | Sparse) else value


def outside(value):
    return ndarray(value) if isinstance(value, np.ndarray | np.generic) else value


def lifted(function):
    """The function of NumPy for arrays of the device."""

    def called(*given, **named):
        return outside(function(*map(inside, given), **{name: inside(one) for name, one in named.items()}))

    return called


class ndarray(NDArrayOperatorsMixin):
    __module__ = "cupy"
    device = DEVICE

    def __init__(self, inner):
        self.inner = np.asarray(inner)

    def __array_ufunc__(self, ufunc, method, *given, **named):
        return lifted(getattr(ufunc, method))(*given, **named)

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_namespace__(self):
        return sys.modules["cupy"]

    def __getitem__(self, index):
        return outside(self.inner[inside(index)])

    def __setitem__(self, index, value):
        self.inner[inside(index)] = inside(value)

    def __len__(self):
        return len(self.inner)

    def __int__(self):
        return int(self.inner)

    def __float__(self):
        return float(self.inner)

    def get(self):
        return self.inner.copy()

    def set(self, values):
        self.inner[...] = values

    @property
    def data(self):
        return SimpleNamespace(ptr=self.inner.ctypes.data)


for name in ("shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes"):
    setattr(ndarray, name, property(operator.attrgetter(f"inner.{name}")))
ndarray.T = property(lambda self: ndarray(self.inner.T))
for name in ("astype", "copy", "ravel", "reshape", "dot", "sum"):
    setattr(
        ndarray, name, lambda self, *given, _name=name, **named: lifted(getattr(self.inner, _name))(*given, **named)
    )
ndarray.diagonal = lambda self: ndarray(self.inner.diagonal().copy())


class Sparse:
    """A sparse matrix with SciPy's inside."""

    def __init__(self, given, shape=None):
        inner = given if scipy.sparse.issparse(given) else inside(given)
        self.inner = getattr(scipy.sparse, type(self).__name__)(inner, shape=shape)

    def get(self):
        return self.inner.copy()

    def tocsc(self):
        return FORMS["csc"](self.inner.tocsc())


for name in ("shape", "dtype", "format", "nnz", "ndim"):
    setattr(Sparse, name, property(operator.attrgetter(f"inner.{name}")))
Sparse.data = property(lambda self: ndarray(self.inner.data))
FORMS = {form: type(f"{form}_matrix", (Sparse,), {"__module__": "cupyx.scipy.sparse"}) for form in ("csc", "csr")}


# ---- kernels: what each thread does, for all of them


class RawKernel:
    def __init__(self, text, name):
        words = (line.split(maxsplit=2) for line in text.splitlines() if line.startswith("#define"))
        self.defined = {word: value for _, word, value in words}
        self.kernel = KERNELS[name]

    def __call__(self, grid, block, given):
        assert block == (256,)
        assert min(grid) > 0
        self.kernel(self.defined, *(one.inner if isinstance(one, ndarray) else int(one) for one in given))


def lines_of(defined, values, lines, places):
    """Lines of memory, as the kernels find them."""
    down, right = (stride // values.itemsize for stride in values.strides)
    d, n = values.shape
    found = values if right == 1 and (down >= n or d == 1) else values.T
    found = found[lines] if int(defined["LISTED"]) else found
    return (found[:, places] if int(defined["PICKED"]) else found).astype(np.float64)


def sums_of(defined, numbers, vectors):
    """Σ v·a for every vector, Σa and Σa², and Σ s·a², over rows."""
    count, found = int(defined["NV"]), list(vectors[: int(defined["NV"])] @ numbers)
    if int(defined["SQ"]):
        found += [numbers.sum(axis=0), (numbers**2).sum(axis=0)]
    return found + ([vectors[count] @ numbers**2] if int(defined["WT"]) else [])


def along(defined, values, stride, lines, count, places, length, vectors, groups, out):
    found = lines_of(defined, values, lines, places)
    assert found.shape == (count, length)
    for part in range(out.shape[0]):
        there = slice(2048 * part, 2048 * (part + 1))
        out[part] = sums_of(defined, found[:, there].T, vectors[:, there])


def across(defined, values, stride, lines, count, places, length, vectors, span, out):
    found = lines_of(defined, values, lines, places)
    assert found.shape == (count, length)
    for part in range(out.shape[0]):
        there = slice(span * part, span * (part + 1))
        out[part] = sums_of(defined, found[there], vectors[:, there])


KERNELS = {"along": along, "across": across}


def posv(matrix, right):
    return ndarray(scipy.linalg.solve(matrix.inner, right.inner, assume_a="pos"))


def on_gpu(values):
    """A copy as an array of the device, in the same order."""
    return ndarray(np.array(values, order="K"))


def install(monkeypatch):
    """Make this CuPy, for one test."""
    cupy, cupyx = ModuleType("cupy"), ModuleType("cupyx")
    for name in ("empty", "zeros", "concatenate", "take", "isfinite", "bincount", "exp", "log"):
        setattr(cupy, name, lifted(getattr(np, name)))
    cupy.asarray = lambda values: values if isinstance(values, ndarray) else on_gpu(values)
    cupy.ndarray, cupy.RawKernel, cupy.float32 = ndarray, RawKernel, np.float32
    cupy.from_dlpack = lambda other: ndarray(other.inner)
    library = SimpleNamespace(setMathMode=lambda *_: None, CUBLAS_DEFAULT_MATH=0)
    cupy.cuda = SimpleNamespace(
        runtime=SimpleNamespace(memGetInfo=lambda: (1 << 30, 1 << 30)),
        cublas=library,
        device=SimpleNamespace(get_cublas_handle=int),
    )
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 0)
    cupyx.errstate, cupyx.lapack = lambda **_: nullcontext(), SimpleNamespace(posv=posv)
    known = {"cupy": cupy, "cupyx": cupyx, "cupyx.lapack": cupyx.lapack}
    for name, module in known.items():
        monkeypatch.setitem(sys.modules, name, module)
