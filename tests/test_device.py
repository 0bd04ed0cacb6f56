"""Data on a GPU, as far as a machine without one can tell: NumPy is in the place of CuPy."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from cupy_stand_in import FORMS, on_gpu
from device_checks import check_case, check_device, design_of
from matrix_answers import check_answers
from problems import CASES

import ascd
from ascd._core.devices import is_on_device
from ascd.matrix import costs
from ascd.matrix.dense import Local
from ascd.matrix.device.matrices import DeviceDense, Gpu
from ascd.matrix.open import open_design

pytestmark = pytest.mark.usefixtures("without_gpu")


#: As those of a GPU, in which tiles and vectors are filled; here chunks are.
SHAPES = ((41, 23), (110, 36), (40, 60), (2100, 20))
DTYPES = (np.float32, np.float64, np.int8, np.float16)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("number", range(4))
def test_answers_equal_numpys(number, order, monkeypatch):
    monkeypatch.setattr(costs, "DEVICE_FLOOR", 4000)  # several tiles
    for turn in range(2):
        check_device(on_gpu, DTYPES[number], order, SHAPES[(number + turn) % 4])


class OfAnotherLibrary:
    """An array of another library on the same memory."""

    device = "cuda:0"

    def __init__(self, values):
        self.inner, self.shape, self.dtype, self.ndim = values, values.shape, values.dtype, values.ndim

    def __array_namespace__(self):
        return np

    def __dlpack_device__(self):
        return (2, 0)


def test_other_libraries_come_by_dlpack(monkeypatch):
    A = np.random.default_rng(0).standard_normal((30, 12))
    design = open_design(OfAnotherLibrary(A))
    assert isinstance(design, DeviceDense)
    assert np.shares_memory(design.values.inner, A)
    check_answers(design, A, close=1e-11)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match=r"on a GPU, which CuPy reads: pip install 'ascd\[cupy\]'"):
        open_design(OfAnotherLibrary(A))


@pytest.mark.parametrize("name", CASES)
def test_every_problem_of_the_table(name):
    check_case(CASES[name], on_gpu, DTYPES[list(CASES).index(name) % 2], intercept=False)


@pytest.mark.parametrize("form", ["csc", "csr"])
def test_sparse_matrices_come_to_the_host(form):
    A = sp.random_array((60, 80), density=0.2, rng=np.random.default_rng(0))
    given = FORMS[form](A.tocsc())
    assert isinstance(open_design(given), Local)
    b = A.toarray()[:, :5].sum(axis=1)
    model, expected = ascd.Lasso(0.01).fit(given, on_gpu(b)), ascd.Lasso(0.01).fit(A.tocsc(), b)
    np.testing.assert_array_equal(model.coef_.get(), expected.coef_)
    np.testing.assert_allclose(model.predict(given).get(), expected.predict(A.tocsc()))


def test_nothing_is_copied_to_the_host(monkeypatch):
    """No block of X is ever fetched: only vectors of samples and columns, and products of the working set."""
    A = np.random.default_rng(0).standard_normal((300, 400))
    shapes, fetch = [], Gpu.fetch

    def noted(self, array):
        shapes.append(tuple(array.shape))
        return fetch(self, array)

    monkeypatch.setattr("ascd.matrix.device.matrices.Gpu.fetch", noted)
    problem = ascd.Problem(on_gpu(A), A[:, :3].sum(axis=1), penalty=ascd.L1(50.0))
    assert problem.design.bytes_read == problem.design.nbytes  # norms and first products: one pass
    assert ascd.solve(problem, tol=1e-8).converged
    assert problem.design.bytes_read <= 4 * problem.design.nbytes
    assert len(shapes) > 3
    assert not [shape for shape in shapes if len(shape) == 2 and 300 in shape and min(shape) > 2]


def test_where_arrays_are(monkeypatch):
    """Small ones come to the host, and those of devices that CuPy does not know."""
    strict = pytest.importorskip("array_api_strict")
    elsewhere = strict.asarray(np.ones((10, 10)), device=strict.Device("device1"))
    assert is_on_device(on_gpu(np.ones(3)))
    assert is_on_device(elsewhere)
    for here in (np.ones(3), [1.0], 2.0, None, strict.asarray(np.ones(3)), np.float64(1.0)):
        assert not is_on_device(here)
    monkeypatch.setattr(costs, "DEVICE_SMALL", 100)
    assert isinstance(open_design(elsewhere), Local)
    assert isinstance(open_design(on_gpu(np.ones((9, 9)))), Local)
    assert isinstance(open_design(on_gpu(np.ones((10, 10)))), DeviceDense)


NAN = np.where(np.eye(5) == 1.0, np.nan, 1.0)


@pytest.mark.parametrize(("A", "message"), [
    (np.ones(5), "two-dimensional"), (np.ones((0, 3)), "at least one sample"), (np.ones((4, 2)) + 1j, "real numbers"),
    (NAN, "finite; it has 5"),
])  # fmt: skip
def test_what_is_refused(A, message):
    with pytest.raises((ValueError, TypeError), match=f"A must .*{message}"):
        ascd.Problem(on_gpu(A), np.arange(5.0))


# --- Models of working sets on a device: products that stay there, short ones at first, and what comes to the host


@pytest.mark.parametrize(("number", "name"), [*enumerate(name for name in CASES if "scaled" not in name)])
def test_large_models_stay_there(number, name, monkeypatch):
    """With room for their products, and without."""
    room = (0.0, 1e9)[number % 2]
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    monkeypatch.setattr("ascd.solver.tuning.GRAM_FLOOR", room)
    monkeypatch.setattr(DeviceDense, "products_room", room)
    check_case(CASES[name], on_gpu, np.float64, intercept=True)


@pytest.mark.parametrize(("nearness", "is_exact"), [(1.0, False), (1e-3, True)])
def test_products_become_exact_where_short_ones_do_not_do(nearness, is_exact, monkeypatch):
    """Pairs of columns that differ by less than short numbers tell; a gap that nothing but their difference closes."""
    rng = np.random.default_rng(5)
    half = rng.standard_normal((40, 8))
    other = half + nearness * rng.standard_normal((40, 8))
    A = np.stack([half, other], axis=2).reshape(40, 16)
    b = half @ np.ones(8) + (other - half) @ np.linspace(1.0, 2.0, 8) / nearness + 0.1 * rng.standard_normal(40)
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    kept, make = [], DeviceDense.kept_products
    monkeypatch.setattr(DeviceDense, "kept_products", lambda *given: kept.append(make(*given)) or kept[-1])
    penalty = ascd.L1(1e-3)
    found = ascd.solve(ascd.Problem(design_of(on_gpu(A)), b, penalty=penalty), tol=1e-8)
    expected = ascd.solve(ascd.Problem(A, b, penalty=penalty), tol=1e-10)
    assert found.converged
    assert found.objective - expected.objective <= found.gap + 1e-9 * expected.zero_objective
    assert kept[0].is_exact == is_exact


def test_models_of_columns_that_have_much_in_common_end_by_newton_steps(monkeypatch):
    """One eigenvalue is about n: proximal steps are so short that 1,000 of them lead nowhere."""
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 1)) + rng.standard_normal((60, 40)) / 10.0
    b = A[:, :5] @ rng.standard_normal(5) + 0.1 * rng.standard_normal(60)
    penalty = ascd.L1(1e-3 * np.abs(A.T @ b).max())
    found = ascd.solve(ascd.Problem(design_of(on_gpu(A)), b, penalty=penalty), tol=1e-10)
    assert found.converged
    expected = ascd.solve(ascd.Problem(A, b, penalty=penalty), tol=1e-12)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
