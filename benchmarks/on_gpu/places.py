"""Where the data of ``benchmarks/gpu.py`` are made: by CuPy or torch."""

from __future__ import annotations

import time

import numpy as np


class Cupy:
    name = "cupy"

    def __init__(self):
        import cupy

        self.xp, self.rng = cupy, cupy.random.default_rng(0)

    def empty(self, shape, dtype):
        return self.xp.empty(shape, dtype=dtype)

    def normal(self, shape, dtype):
        return self.rng.standard_normal(shape, dtype=dtype)

    def wait(self):
        """For the device."""
        self.xp.cuda.Device().synchronize()

    def to_host(self, array):
        return array.get()

    def describe(self):
        known = self.xp.cuda.runtime.getDeviceProperties(self.xp.cuda.Device().id)
        return f"{known['name'].decode()}, CuPy {self.xp.__version__}"


class Torch:
    name = "torch"

    def __init__(self):
        import torch

        self.xp = torch
        torch.manual_seed(0)

    def empty(self, shape, dtype):
        return self.xp.empty(shape, dtype=self._type(dtype), device="cuda")

    def normal(self, shape, dtype):
        return self.xp.randn(shape, dtype=self._type(dtype), device="cuda")

    def wait(self):
        self.xp.cuda.synchronize()

    def to_host(self, array):
        return array.cpu().numpy()

    def describe(self):
        return f"{self.xp.cuda.get_device_name()}, torch {self.xp.__version__}"

    def _type(self, dtype):
        return self.xp.float32 if dtype == np.float32 else self.xp.float64


PLACES = {"cupy": Cupy, "torch": Torch}


def find_place(name):
    """The library that was asked for, or the first that has a device."""
    for known in [name] if name else PLACES:
        try:
            place = PLACES[known]()
            place.to_host(place.normal((2, 2), np.float32))
        except Exception as error:
            print(f"{known}: {type(error).__name__}: {error}", flush=True)
        else:
            return place
    raise SystemExit("no library with a device was found")


def design(X):
    """The matrix where it is."""
    from ascd.matrix.device.matrices import DeviceDense

    return DeviceDense(X)


def make_data(place, samples, features, dtype, true=500, rho=0.5, block=20, rows=False):
    """X with blocks of correlated columns, and a target with noise; column-major unless ``rows`` is set."""
    XT = place.empty((features, samples), dtype)
    step = 50 * block
    for start in range(0, features, step):
        stop = min(features, start + step)
        shared = place.normal((-(-(stop - start) // block), samples), dtype)
        for group in range(shared.shape[0]):
            begin, end = start + group * block, min(start + (group + 1) * block, stop)
            XT[begin:end] = rho**0.5 * shared[group] + (1 - rho) ** 0.5 * place.normal((end - begin, samples), dtype)
    rng = np.random.default_rng(1)
    where = np.sort(rng.permutation(features)[: min(true, features // 4)])
    y = np.zeros(samples)
    design(XT.T).add(where, rng.standard_normal(where.size), y)
    y += rng.standard_normal(samples) * y.std() / 3
    if rows:
        return place.xp.asarray(XT.T, order="C") if place.name != "torch" else XT.T.contiguous(), y
    return XT.T, y


def seconds_of(place, task, repeats=1):
    """The shortest of several runs, and the last answer."""
    best, answer = float("inf"), None
    for _ in range(repeats):
        place.wait()
        began = time.perf_counter()
        answer = task()
        place.wait()
        best = min(best, time.perf_counter() - began)
    return best, answer
