"""Every way to pass A gives the same problem, at most one copy is made, and the user's data stays as it was."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from forms import DENSE, FORMS, SPARSE, long_indices
from scipy import sparse

import ascd
from ascd.matrix import columns as matrices
from ascd.matrix.dense import Dense
from ascd.matrix.open import open_design
from ascd.matrix.sparse import CSC, as_rows
from ascd.problem.problem import Sample

pytestmark = pytest.mark.usefixtures("plain_python")
D, N = 9, 5
rng = np.random.default_rng(3)
# small integers with many zeros: exact in every dtype below
VALUES = rng.integers(-3, 4, (D, N)) * (rng.random((D, N)) < 0.6).astype(np.int64)
TARGET = rng.standard_normal(D)
X = np.array([0.5, 0.0, -1.25, 2.0, 0.0])


def memory(A):
    """The arrays that hold the user's data."""
    if isinstance(A, np.ndarray):
        return [A]
    names = ("data", "indices", "indptr", "row", "col")
    arrays = [getattr(A, name) for name in names if isinstance(getattr(A, name, None), np.ndarray)]
    return arrays or [np.asarray(A.toarray() if sparse.issparse(A) else A)]


def snapshot(A):
    return [part.tobytes() for part in memory(A)]


def check_problem(A, values=VALUES):
    """Objective, gradient and image as NumPy says."""
    residual = values @ X - TARGET
    problem = ascd.Problem(A, TARGET, penalty=ascd.L1(0.5))
    assert problem.objective(X) == pytest.approx(0.5 * residual @ residual + 0.5 * np.abs(X).sum(), rel=1e-14)
    np.testing.assert_allclose(problem.gradient(X), values.T @ residual, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(problem.image(X), values @ X, rtol=1e-14, atol=1e-14)
    return problem


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_problem_and_is_left_alone(form):
    A = FORMS[form](VALUES)
    before = snapshot(A)
    problem = check_problem(A)
    assert isinstance(problem.parts.matrix, CSC if form in SPARSE else Dense)
    solution = ascd.minimize(problem, rule="cyclic", tol=1e-12)
    assert snapshot(A) == before
    gram = VALUES.T @ VALUES + 0.0
    residual = gram @ solution.x - VALUES.T @ TARGET
    steep = np.where(solution.x != 0, np.abs(residual + 0.5 * np.sign(solution.x)), np.abs(residual) - 0.5)
    assert solution.converged
    assert steep.max() < 1e-9


def test_all_forms_share_two_compiled_kernels():
    for forms in (DENSE, SPARSE):
        compiled_types = {numba.typeof(open_design(form(VALUES)).matrix) for form in forms.values()}
        assert len(compiled_types) == 1


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array, sparse.csr_array])
def test_bool_is_zero_and_one(make):
    check_problem(make(VALUES > 0), (VALUES > 0).astype(float))


@pytest.mark.parametrize("form", ["F order", "read-only", "np.matrix"])
def test_dense_columns_are_not_copied(form):
    A = DENSE[form](VALUES)
    assert np.shares_memory(open_design(A).matrix.values, A)


@pytest.mark.parametrize("form", ["csc_array", "csc_matrix", "explicit zeros", "read-only csc"])
def test_sparse_columns_are_not_copied(form):
    A = SPARSE[form](VALUES)
    ours = open_design(A).matrix
    assert all(np.shares_memory(getattr(ours, part), getattr(A, part)) for part in ("data", "indices", "indptr"))


def test_long_indices_cost_no_copy_of_the_values():
    A = long_indices(VALUES)
    ours = open_design(A).matrix
    assert ours.indices.dtype == ours.indptr.dtype == np.uint32
    assert np.shares_memory(ours.data, A.data)
    assert A.indices.dtype == np.int64


@pytest.mark.parametrize("oracle", ["norm", "cached", "reference"])
def test_a_matrix_too_large_for_short_indices_gives_the_same_answers(monkeypatch, oracle):
    """``solve`` is compiled once, beside "norm"; everything else is plain Python."""
    monkeypatch.setattr("ascd._core.jit.is_interpreted", True)
    A = sparse.csc_array(sparse.random(D, 60, density=0.4, random_state=0))
    short = ascd.Problem(A, TARGET, penalty=ascd.L1(0.5))
    monkeypatch.setattr("ascd.matrix.sparse.LARGEST_SHORT", 0)
    long = ascd.Problem(A, TARGET, penalty=ascd.L1(0.5))
    assert (short.parts.matrix.indices.dtype, long.parts.matrix.indices.dtype) == (np.uint32, np.uint64)
    run = ascd.minimize(long, rule="a-ascd", oracle=oracle, tol=1e-8)
    assert run.converged
    monkeypatch.setattr("ascd._core.jit.is_interpreted", oracle != "norm")
    for problem in (short, long):
        solution = ascd.solve(problem, tol=1e-12)
        assert solution.converged
        assert run.objective == pytest.approx(solution.objective, rel=1e-7)


@pytest.mark.parametrize("mode", ["r", "c"])
def test_a_memory_map_is_used_in_place(tmp_path, mode):
    path = tmp_path / "A.npy"
    np.save(path, np.asfortranarray(VALUES, dtype=np.float64))
    on_disk = path.read_bytes()
    A = np.load(path, mmap_mode=mode)
    problem = check_problem(A)
    assert np.shares_memory(problem.parts.matrix.values, A)
    ascd.minimize(problem, rule="cyclic")
    del A
    check_problem(problem.parts.matrix.values)  # the problem keeps the map alive
    assert path.read_bytes() == on_disk


def test_targets_weights_and_start_are_left_alone(interpreted):
    weights, start = np.linspace(0.0, 2.0, D), X.copy()
    kept = [array.copy() for array in (TARGET, weights, start)]
    problem = ascd.Problem(VALUES, TARGET, penalty=ascd.L1(0.5), sample_weight=weights)
    ascd.minimize(problem, rule="cyclic", x0=start)
    for array, before in zip((TARGET, weights, start), kept, strict=True):
        np.testing.assert_array_equal(array, before)


STORAGES = {
    "dense": Dense(np.asfortranarray(VALUES, dtype=float)),
    "sparse": open_design(SPARSE["csc_array"](VALUES)).matrix,
}
storages = pytest.mark.parametrize("matrix", STORAGES.values(), ids=STORAGES)
columns = pytest.mark.parametrize("j", range(N))
WEIGHT, VECTOR = np.linspace(0.0, 2.0, D), np.linspace(-1.0, 3.0, D)


@storages
@columns
@pytest.mark.parametrize("loss", [ascd.Squared(), ascd.Huber(0.7)])
def test_column_operations_equal_numpy(matrix, j, loss):
    column, sample = VALUES[:, j].astype(float), Sample(TARGET, WEIGHT)
    derivative, curvature = np.vectorize(loss.derivative), np.vectorize(loss.curvature)
    assert matrices.dot(matrix, j, VECTOR) == pytest.approx(column @ VECTOR)
    assert matrices.weighted_square(matrix, j, WEIGHT) == pytest.approx(column @ (WEIGHT * column))
    assert matrices.weighted_square(matrix, j, 1.0) == pytest.approx(column @ column)
    moved = VECTOR + 0.3 * column
    first, second = column * WEIGHT @ derivative(TARGET, moved), column**2 * WEIGHT @ curvature(TARGET, moved)
    assert matrices.along(matrix, j, 0.3, sample, loss, VECTOR) == pytest.approx((first, second))
    image, slope = VECTOR.copy(), WEIGHT * derivative(TARGET, VECTOR)
    matrices.shift(matrix, j, 0.3, sample, loss, image, slope)
    np.testing.assert_allclose(slope, WEIGHT * derivative(TARGET, moved), atol=1e-14)
    if not loss.is_quadratic():
        np.testing.assert_allclose(image, moved, atol=1e-14)


@storages
@columns
def test_scatter_and_clear_touch_one_column(matrix, j):
    out = np.zeros(D)
    matrices.scatter(matrix, j, WEIGHT, out)
    np.testing.assert_array_equal(out, WEIGHT * VALUES[:, j])
    matrices.clear(matrix, j, out)
    np.testing.assert_array_equal(out, np.zeros(D))


@storages
def test_whole_matrix_operations_equal_numpy(matrix):
    out = np.full(D, np.nan)
    matrices.multiply(matrix, X, out)
    np.testing.assert_allclose(out, VALUES @ X)
    np.testing.assert_array_equal(sparse.csc_array(matrix.to_scipy(D, N)).toarray(), VALUES)
    for weight in (1.0, WEIGHT):
        expected = VALUES.T @ (np.broadcast_to(weight, D)[:, None] * VALUES)
        np.testing.assert_allclose(matrices.gram_matrix(matrix, weight, N, D), expected)


def test_the_row_wise_copy_is_the_same_matrix():
    rows = as_rows(STORAGES["sparse"], D)
    np.testing.assert_array_equal(sparse.csr_array(rows, shape=(D, N)).toarray(), VALUES)
