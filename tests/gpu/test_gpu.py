"""Data on a real GPU, with CuPy and with torch: run by ``make test-gpu``, skipped elsewhere."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

sys.path.insert(0, str(Path(__file__).parents[1]))

from device_checks import SHAPES, check_case, check_device, check_estimator, design_of
from estimators import EVERY, make_data, target_of
from problems import CASES

import ascd
from ascd.matrix import costs


class Library:
    """How arrays get to the device and back."""

    def __init__(self, name):
        self.name, self.module = name, importlib.import_module(name)

    def put(self, values):
        values = np.asarray(values)
        if self.name == "cupy":
            return self.module.asarray(values)
        given = self.module.from_numpy(np.ascontiguousarray(values.T).T if values.flags.f_contiguous else values)
        return given.cuda()

    def fetch(self, array):
        return array.get() if self.name == "cupy" else array.cpu().numpy()

    def peak_beside(self, run):
        """Bytes that were allocated at most while it ran."""
        pool = importlib.import_module("cupy").get_default_memory_pool()
        pool.free_all_blocks()
        before = pool.total_bytes()
        run()
        return pool.total_bytes() - before


def has_device(name):
    try:
        module = importlib.import_module(name)
        return module.cuda.is_available() if name == "torch" else module.cuda.runtime.getDeviceCount() > 0
    except Exception:
        return False


@pytest.fixture(params=["cupy", "torch"])
def library(request, monkeypatch):
    if not (has_device("cupy") and has_device(request.param)):
        pytest.skip(f"cupy or {request.param} is not installed, or finds no GPU")
    monkeypatch.setattr(costs, "DEVICE_SMALL", 0)
    return Library(request.param)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.int32, np.float16])
@pytest.mark.parametrize("shape", SHAPES)
def test_answers_equal_numpys(library, dtype, order, shape):
    check_device(library.put, dtype, order, shape)


def test_the_memory_is_that_of_the_array(library):
    given = library.put(np.ones((64, 64), dtype=np.float32))
    design = design_of(given)
    given[0, 0] = 7.0
    assert design.dots(np.array([0]), np.eye(64)[0]) == 7.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_every_problem_of_the_table(library, name, dtype):
    check_case(CASES[name], library.put, dtype, intercept=False)


@pytest.mark.parametrize("name", [name for name in CASES if "l1" in name and "scaled" not in name])
def test_large_models_stay_there(library, name, monkeypatch):
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    check_case(CASES[name], library.put, np.float64, intercept=True)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_short_products(library, dtype, order):
    """Sizes that fill no line of memory; columns join in two steps, and one by itself."""
    rng = np.random.default_rng(0)
    A = (20.0 * rng.standard_normal((1003, 150))).astype(dtype)
    source, weight = design_of(library.put(np.asarray(A, order=order))), rng.random(1003)
    wide = A.astype(np.float64)
    means = np.average(wide, axis=0, weights=weight)
    gram = source.kept_products(True, 1e-12)
    for joining in (np.arange(3, 80), np.arange(80, 149), np.array([1])):
        gram.admit(joining, weight, means)
    centred = (wide - means)[:, gram.columns]
    expected = centred.T @ (weight[:, None] * centred)
    vector = rng.standard_normal(gram.columns.size)
    size = np.sqrt(np.diag(expected))
    assert not gram.is_exact
    assert np.all(np.abs(gram.times(vector) - expected @ vector) <= 1e-3 * size * np.sum(size * np.abs(vector)) / 10)
    np.testing.assert_allclose(gram.times_exactly(vector), expected @ vector, rtol=1e-9, atol=1e-6)
    every = np.arange(gram.columns.size)
    found = gram.solve(every, np.zeros(every.size), expected @ vector, 0.0)
    np.testing.assert_allclose(found, vector, atol=2e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["Lasso", "Ridge", "LogisticRegression", "LassoCV", "LinearSVC"])
def test_estimators(library, name, dtype):
    data = make_data(40, 6)
    check_estimator(EVERY[name], library.put, library.fetch, dtype, (data.X, target_of(name, data), data.weight))


@pytest.mark.parametrize("form", ["csc_matrix", "csr_matrix"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_matrices(form, dtype):
    if not has_device("cupy"):
        pytest.skip("cupy is not installed, or finds no GPU")
    sparse = importlib.import_module("cupyx.scipy.sparse")
    data = make_data(60, 30)
    X = getattr(sparse, form)(getattr(scipy.sparse, form)(data.X.astype(dtype)))
    expected = ascd.Lasso(0.05, tol=1e-10).fit(data.X.astype(dtype), data.y)
    model = ascd.Lasso(0.05, tol=1e-10).fit(X, data.y)
    np.testing.assert_allclose(model.coef_.get(), expected.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict(X).get(), expected.predict(data.X.astype(dtype)), atol=1e-4)


def test_little_memory_beside_the_data(library):
    """CuPy computes, whichever library the data come from."""
    rng = np.random.default_rng(0)
    X = library.put(rng.standard_normal((4000, 50_000), dtype=np.float32))
    y = rng.standard_normal(4000)

    design, allowed = design_of(X), 0.02 * 4000 * 50_000 * 4 + (16 << 20)
    assert library.peak_beside(lambda: design.column_stats(np.ones(4000), y[None])) <= allowed
    assert library.peak_beside(lambda: design.careful_dots(np.arange(200), y)) <= allowed
    assert library.peak_beside(lambda: design.dots(np.arange(25_000), y)) <= allowed
    assert library.peak_beside(lambda: design.add(np.arange(25_000), np.ones(25_000), np.zeros(4000))) <= allowed


def test_out_of_memory_is_one_sentence(library):
    design = design_of(library.put(np.ones((1000, 300), dtype=np.float32)))
    gpu = design.gpu
    with pytest.raises(MemoryError, match="ran out of memory"), gpu.here():
        gpu.xp.zeros((1 << 22, 1 << 22))
