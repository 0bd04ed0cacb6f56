"""Data on a device, as far as a machine without one can tell: array_api_strict's, NumPy's and torch's on the host."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from device_checks import as_read, check_case, check_device
from estimators import make_data
from matrix_answers import check_answers
from problems import CASES
from strict_device import on_device, strict

import ascd
from ascd._core.devices import is_on_device
from ascd.matrix import costs
from ascd.matrix.chunked import InTurn, chunked
from ascd.matrix.dense import Local
from ascd.matrix.device.arrays import space_of
from ascd.matrix.device.matrices import DeviceDense, DeviceSparse
from ascd.matrix.open import open_design

pytestmark = pytest.mark.usefixtures("nothing_is_small")


def as_tensor(values):
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    return torch.from_numpy(np.ascontiguousarray(values.T)).T if values.flags.f_contiguous else torch.from_numpy(values)


def as_it_is(values):
    return values


#: As those of a GPU, in which tiles and vectors are filled; here chunks are, and array_api_strict takes its time.
SHAPES = ((41, 23), (110, 36), (40, 60))
PLACES = {"array_api_strict": on_device, "numpy": as_it_is, "torch": as_tensor}
DTYPES = (np.float32, np.float64, np.int8)
#: Every two of place, type, shape and order meet.
ROWS = [
    (place, dtype, SHAPES[(number + turn) % 3], "CF"[number == turn])
    for number, place in enumerate(PLACES)
    for turn, dtype in enumerate(DTYPES)
]


@pytest.mark.parametrize(("place", "dtype", "shape", "order"), ROWS)
def test_answers_equal_numpys(place, dtype, shape, order, monkeypatch):
    monkeypatch.setattr(costs, "DEVICE_FLOOR", 4000)  # several chunks
    check_device(PLACES[place], dtype, order, shape)


@pytest.mark.parametrize("name", CASES)
def test_every_problem_of_the_table(interpreted, name):
    check_case(CASES[name], on_device, DTYPES[list(CASES).index(name) % 2], intercept=False)


@pytest.mark.parametrize("form", [sp.csc_array, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("floor", [16 << 20, 3000])
def test_sparse_matrices(interpreted, form, floor, monkeypatch):
    """CuPy's are SciPy's with another namespace; the second floor makes several chunks."""
    dtype = DTYPES[((form is sp.csr_array) + (floor == 3000)) % 2]
    monkeypatch.setattr(costs, "DEVICE_FLOOR", floor)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 80)) * (rng.random((60, 80)) < 0.2)
    design, A = DeviceSparse(form(A.astype(dtype))), as_read(A, dtype)
    for columns in (np.array([5, 0, 17, 3]), rng.permutation(80)[:60]):
        check_answers(design, A, columns, close=1e-11)
    b = A[:, :5].sum(axis=1) + 1.0 + 0.1 * rng.standard_normal(60)
    found = ascd.solve(ascd.Problem(design, b, penalty=ascd.L1(0.8)), tol=1e-10, intercept=True)
    expected = ascd.solve(ascd.Problem(A, b, penalty=ascd.L1(0.8)), tol=1e-12, intercept=True)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


def test_nothing_is_copied_to_the_host(interpreted, monkeypatch):
    """No block of X is ever fetched: only vectors of samples and columns, and products of the working set."""
    A = np.random.default_rng(0).standard_normal((300, 400))
    shapes, fetch = [], type(space_of(on_device(A))).fetch

    def noted(self, array):
        shapes.append(tuple(array.shape))
        return fetch(self, array)

    monkeypatch.setattr("ascd.matrix.device.arrays.Space.fetch", noted)
    problem = ascd.Problem(on_device(A), A[:, :3].sum(axis=1), penalty=ascd.L1(50.0))
    assert problem.design.bytes_read == problem.design.nbytes  # norms and first products: one pass
    assert ascd.solve(problem, tol=1e-8).converged
    assert problem.design.bytes_read <= 4 * problem.design.nbytes
    assert len(shapes) > 3
    assert not [shape for shape in shapes if len(shape) == 2 and 300 in shape and min(shape) > 2]


def test_paths_and_parts_on_two_devices(interpreted):
    data = make_data(40, 6)
    others = strict.asarray(data.X[:, 2:], device=strict.Device("device2"))
    parts = [open_design(on_device(data.X[:, :2])), open_design(others)]
    design = chunked(InTurn(parts), np.array([0, 40]), np.array([0, 2, 6]))
    problems = (ascd.Problem(X, data.y, penalty=ascd.L1(1.0)) for X in (data.X, on_device(data.X), design))
    expected, *found = (ascd.path(one, n_alphas=5, eps=0.05, tol=1e-10, intercept=True) for one in problems)
    for path in found:
        np.testing.assert_allclose(path.coefs, expected.coefs, atol=1e-6)
    coefs, _, _ = ascd.logistic_path(on_device(data.X), on_device(data.labels), Cs=[0.1, 1.0], l1_ratio=1.0)
    expected = ascd.logistic_path(data.X, data.labels, Cs=[0.1, 1.0], l1_ratio=1.0)[0]
    np.testing.assert_allclose(coefs, expected, atol=1e-2)


def test_where_arrays_are(monkeypatch):
    """Small ones come to the host; no library is imported for NumPy's."""
    assert is_on_device(on_device(np.ones(3)))
    for here in (np.ones(3), [1.0], 2.0, None, strict.asarray(np.ones(3)), np.float64(1.0)):
        assert not is_on_device(here)
    monkeypatch.setattr(costs, "DEVICE_SMALL", 100)
    assert isinstance(open_design(on_device(np.ones((9, 9)))), Local)
    assert isinstance(open_design(on_device(np.ones((10, 10)))), DeviceDense)
    assert "cupy" not in sys.modules


NAN = np.where(np.eye(5) == 1.0, np.nan, 1.0)


@pytest.mark.parametrize(("A", "message"), [
    (np.ones(5), "two-dimensional"), (np.ones((0, 3)), "at least one sample"), (np.ones((4, 2)) + 1j, "real numbers"),
    (NAN, "finite; it has 5"),
])  # fmt: skip
def test_what_is_refused(A, message):
    with pytest.raises((ValueError, TypeError), match=f"A must .*{message}"):
        ascd.Problem(on_device(A), np.arange(5.0))
