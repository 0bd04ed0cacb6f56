"""Matrices in memory: every way to pass A gives the same problem and answers as NumPy does, large data are read in
place, nothing of the user's is changed, and a matrix of one's own needs three methods."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from forms import FORMS, SPARSE
from matrix_answers import check_answers
from solving import LOSSES, make_case

import ascd
from ascd._core.threads import use_threads
from ascd.engine.descent import multiply, shift
from ascd.engine.oracles.products import gram_matrix
from ascd.engine.steps import along
from ascd.matrix import columns as operations
from ascd.matrix import costs
from ascd.matrix.base import Matrix, Part
from ascd.matrix.dense import Dense, Local, LocalDense
from ascd.matrix.open import open_design
from ascd.matrix.sparse import CSC, as_rows
from ascd.problem.losses import Sample

D, N = 9, 5
RNG = np.random.default_rng(3)
# small integers with many zeros: exact in every dtype below
VALUES = RNG.integers(-3, 4, (D, N)) * (RNG.random((D, N)) < 0.6).astype(np.int64)
TARGET = RNG.standard_normal(D)
X = np.array([0.5, 0.0, -1.25, 2.0, 0.0])


def memory(A):
    """The arrays that hold the user's data."""
    if isinstance(A, np.ndarray):
        return [A]
    names = ("data", "indices", "indptr", "row", "col")
    arrays = [getattr(A, name) for name in names if isinstance(getattr(A, name, None), np.ndarray)]
    return arrays or [np.asarray(A.toarray() if sp.issparse(A) else A)]


def check_problem(A, values=VALUES):
    """Objective, gradient and predictor as NumPy says."""
    residual = values @ X - TARGET
    problem = ascd.Problem(A, TARGET, penalty=ascd.L1(0.5))
    assert problem.objective(X) == pytest.approx(0.5 * residual @ residual + 0.5 * np.abs(X).sum(), rel=1e-14)
    np.testing.assert_allclose(problem.gradient(X), values.T @ residual, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(problem.linear_predictor(X), values @ X, rtol=1e-14, atol=1e-14)
    return problem


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_problem_and_is_left_alone(form):
    A = FORMS[form](VALUES)
    before = [part.tobytes() for part in memory(A)]
    problem = check_problem(A)
    assert isinstance(problem.parts.matrix, CSC if form in SPARSE else Dense)
    assert ascd.minimize(problem, rule="cyclic", tol=1e-12).converged
    assert [part.tobytes() for part in memory(A)] == before
    if form in ("F order", "read-only", "np.matrix"):
        assert np.shares_memory(problem.parts.matrix.values, A)
    if form in ("csc_array", "csc_matrix", "explicit zeros", "read-only csc"):
        assert all(np.shares_memory(*pair) for pair in zip(problem.parts.matrix, memory(A), strict=True))


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array, sp.csr_array])
def test_bool_is_zero_and_one(make):
    check_problem(make(VALUES > 0), (VALUES > 0).astype(float))


STORAGES = {
    "dense": Dense(np.asfortranarray(VALUES, dtype=float)),
    "sparse": open_design(SPARSE["csc_array"](VALUES)).matrix,
}
WEIGHT, VECTOR = np.linspace(0.0, 2.0, D), np.linspace(-1.0, 3.0, D)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", [ascd.Squared(), ascd.Huber(0.7)])
def test_column_operations_equal_numpy(storage, loss):
    matrix, sample = STORAGES[storage], Sample(TARGET, WEIGHT)
    derivative, curvature = np.vectorize(loss.derivative), np.vectorize(loss.curvature)
    for j in range(N):
        column, out = VALUES[:, j].astype(float), np.zeros(D)
        assert operations.dot(matrix, j, VECTOR) == pytest.approx(column @ VECTOR)
        assert operations.weighted_square(matrix, j, WEIGHT) == pytest.approx(column @ (WEIGHT * column))
        moved = VECTOR + 0.3 * column
        first, second = column * WEIGHT @ derivative(TARGET, moved), column**2 * WEIGHT @ curvature(TARGET, moved)
        assert along(matrix, j, 0.3, sample, loss, VECTOR) == pytest.approx((first, second))
        predictor, gradient = VECTOR.copy(), WEIGHT * derivative(TARGET, VECTOR)
        shift(matrix, j, 0.3, sample, loss, predictor, gradient)
        np.testing.assert_allclose(gradient, WEIGHT * derivative(TARGET, moved), atol=1e-14)
        np.testing.assert_allclose(predictor, VECTOR if loss.is_quadratic() else moved, atol=1e-14)
        operations.scatter(matrix, j, WEIGHT, out)
        np.testing.assert_array_equal(out, WEIGHT * column)
        operations.clear(matrix, j, out)
        assert not out.any()


@pytest.mark.parametrize("storage", STORAGES)
def test_whole_matrix_operations_equal_numpy(storage):
    matrix, out = STORAGES[storage], np.full(D, np.nan)
    multiply(matrix, X, out)
    np.testing.assert_allclose(out, VALUES @ X)
    np.testing.assert_array_equal(sp.csc_array(matrix.to_scipy(D, N)).toarray(), VALUES)
    for weight in (1.0, WEIGHT):
        expected = VALUES.T @ (np.broadcast_to(weight, D)[:, None] * VALUES)
        np.testing.assert_allclose(gram_matrix(matrix, weight, N, D), expected)
    rows = as_rows(STORAGES["sparse"], D)
    np.testing.assert_array_equal(sp.csr_array(rows, shape=(D, N)).toarray(), VALUES)


# ---- large data, read where they are

TALL = 43  # rows are read four at a time, and the rest one by one
A = np.round(3.0 * RNG.standard_normal((TALL, 25)) * (RNG.random((TALL, 25)) < 0.4))
SIGNAL, SHARES, COLUMNS = A[:, 0] - A[:, 3] + 1.0 + 0.1 * RNG.standard_normal(TALL), RNG.random(TALL), np.array(
    [5, 0, 17, 3])  # fmt: skip
CSR = sp.csr_array(A)
IN_PLACE = {
    "float32 columns": np.asfortranarray(A, dtype=np.float32),
    "int8 columns": np.asfortranarray(A, dtype=np.int8),
    "rows": np.ascontiguousarray(A),
    "float32 rows": np.ascontiguousarray(A, dtype=np.float32),
    "int8 rows": np.ascontiguousarray(A, dtype=np.int8),
    "float32 sparse columns": sp.csc_array(A.astype(np.float32)),
    "sparse rows": CSR,
    "int8 sparse rows": sp.csr_array(A.astype(np.int8)),
    "sparse rows with 64 bits": sp.csr_array(
        (CSR.data, CSR.indices.astype(np.int64), CSR.indptr.astype(np.int64)), shape=A.shape
    ),
}
#: Each way to store is compiled in some form: the others run as plain Python.
COMPILED = ("float32 columns", "rows", "float32 sparse columns", "sparse rows")


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(costs, "SMALL_DATA", 0)


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array], ids=["dense", "sparse"])
def test_small_data_answer_as_numpy_does(make):
    check_answers(open_design(make(A)), A, COLUMNS)


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("form", IN_PLACE)
def test_answers_equal_numpys_in_place(form, monkeypatch, request):
    """With threads and without, and where nothing can be cached."""
    monkeypatch.setattr("ascd._core.threads.WORTH_A_THREAD", 1e-9)
    if form in COMPILED:
        request.getfixturevalue("compiled")
    given = IN_PLACE[form]
    design = open_design(given)
    kept = (design if design.matrix is not None else design.turned).matrix[0]
    assert np.shares_memory(kept, given if isinstance(given, np.ndarray) else given.data)
    for n_jobs in (1, 3):
        with use_threads(n_jobs):
            check_answers(open_design(given), A, COLUMNS)
    assert design.entries() == (A.size if isinstance(given, np.ndarray) else np.count_nonzero(A))
    for name, value in (("NEAR_FLOOR", 0), ("NEAR_SHARE", 0.0), ("BLOCK_BYTES", 1000)):
        monkeypatch.setattr(costs, name, value)
    check_answers(open_design(given), A, COLUMNS)


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("form", ["float32 columns", "int8 rows", "float32 sparse columns", "sparse rows"])
def test_fits_are_those_of_float64_columns(form):
    """Solutions, paths, the engine, which copies rows, and estimators."""
    data, y = IN_PLACE[form], np.where(np.median(SIGNAL) < SIGNAL, 1.0, -1.0)
    for loss, b in (("squared", SIGNAL), ("logistic", y)):
        expected = ascd.solve(ascd.Problem(np.asfortranarray(A), b, loss, ascd.L1(2.0)), tol=1e-10, intercept=True)
        problem = ascd.Problem(data, b, loss, ascd.L1(2.0))
        found = ascd.solve(problem, tol=1e-10, intercept=True)
        assert found.converged
        assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    path = ascd.path(problem, n_alphas=3, eps=0.1, intercept=True)
    assert np.all(path.gaps <= 1e-6 * path.zero_objective)
    assert ascd.minimize(ascd.Problem(data, SIGNAL, penalty=ascd.L1(2.0)), tol=1e-4, rng=0).converged
    model = ascd.Lasso(alpha=0.05, tol=1e-10).fit(data, SIGNAL)
    assert (model.coef_.dtype == np.float32) == (data.dtype == np.float32)
    np.testing.assert_allclose(
        model.predict(data), ascd.Lasso(alpha=0.05, tol=1e-10).fit(A, SIGNAL).predict(A), atol=1e-2
    )
    assert ascd.LassoCV(cv=2, alphas=3, n_jobs=2).fit(data, SIGNAL).alpha_ > 0.0
    ascd.LinearSVC(dual=True).fit(data, y)


def test_a_support_vector_machine_is_fitted_to_unsorted_rows():
    rows = sp.csr_array(sp.random(300, 20, 0.4, format="csr", random_state=2))
    y = np.where(rows @ np.arange(-10.0, 10.0) + np.random.default_rng(3).standard_normal(300) > 0.0, 1.0, -1.0)
    order = np.concatenate([np.arange(stop - 1, start - 1, -1) for start, stop in zip(rows.indptr, rows.indptr[1:])])  # noqa: B905
    mixed = sp.csr_array((rows.data[order], rows.indices[order], rows.indptr), shape=rows.shape)
    before = mixed.indices.copy()
    for C in (0.01, 1000.0):
        fits = [ascd.LinearSVC(loss="hinge", C=C, tol=1e-9).fit(each, y) for each in (rows, mixed)]
        np.testing.assert_allclose(fits[1].coef_, fits[0].coef_, atol=1e-3 * np.abs(fits[0].coef_).max())
    np.testing.assert_array_equal(mixed.indices, before)
    mixed.data[3] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        ascd.LinearSVC(loss="hinge", fit_intercept=False).fit(mixed, y)


MAKE = {"dense": np.asarray, "sparse": sp.csc_array}


@pytest.mark.parametrize("storage", MAKE)
@pytest.mark.parametrize("keeps", [False, True])
def test_products_of_columns_far_from_zero_keep_their_digits(storage, keeps):
    """Also beside columns with zeros, and with other curvatures than those they were first listed for."""
    far, columns = A[:12, :7].copy(), np.array([6, 2, 0, 4])
    far[:, :3] = 1e8 + np.arange(36.0).reshape(12, 3) % 7
    design, exact = open_design(MAKE[storage](far)), far - [1e8, 1e8, 1e8, 0, 0, 0, 0]
    kept = {} if keeps else None
    for weight in (SHARES[:12], SHARES[:12][::-1].copy()):
        found = design.products(columns, columns, weight, design.means(np.arange(7), weight), kept)
        B = exact - weight @ exact / weight.sum()
        np.testing.assert_allclose(found, B[:, columns].T @ (weight[:, None] * B[:, columns]), atol=1e-5)


@pytest.mark.parametrize("storage", MAKE)
def test_a_column_that_is_constant_where_samples_count_is_seen(storage):
    """What rounding leaves of its square is nothing, whether all its entries are stored or not."""
    constant, weight = A.copy(), SHARES.copy()
    constant[:, 0], constant[:, 1], constant[3, 1], weight[3] = 0.1, 0.1, 0.0, 0.0
    design, both = open_design(MAKE[storage](constant)), np.arange(2)
    found = design.products(both, both, weight, design.means(np.arange(25), weight))
    assert (found.diagonal() <= costs.CONSTANT_CENTRED * 0.01 * weight.sum()).all()


# ---- the interface


class Own(Matrix):
    """A matrix of one's own: three methods and the defaults.  Columns are numbered anew in local memory: whoever mixes
    up the two is found out."""

    def __init__(self, A):
        self.A, self.shape, self.asked = np.asarray(A, dtype=float), A.shape, Counter()

    def _check(self, name, columns, vector):
        assert columns.ndim == 1
        assert np.unique(columns).size == columns.size
        assert vector.shape[0] == self.shape[0]
        self.asked[name] += columns.size

    def dots(self, columns, vector):
        self._check("dots", columns, vector)
        return self.A[:, columns].T @ vector

    def add(self, columns, factors, out):
        self._check("add", columns, out)
        out += self.A[:, columns] @ factors

    def take(self, columns):
        self.asked["take"] += columns.size
        return Part(Dense(np.asfortranarray(self.A[:, columns[::-1]])), np.arange(columns.size)[::-1].copy())


def test_three_methods_make_a_matrix(monkeypatch):
    check_answers(Own(A), A, COLUMNS)
    monkeypatch.setattr(costs, "BLOCK_BYTES", 3 * 8 * TALL)
    check_answers(Own(A), A, COLUMNS)
    broken = A.copy()
    broken[2, 3] = np.nan
    with pytest.raises(ValueError, match="A must be finite"):
        ascd.Problem(Own(broken), SIGNAL)
    with pytest.raises(TypeError, match=r"minimize reads single columns.*Own.*ascd\.solve"):
        ascd.minimize(ascd.Problem(Own(A), SIGNAL))


def test_a_matrix_is_a_subclass_that_writes_what_has_no_default():
    class Alien:
        def careful_dots(self, columns, vector): ...

    with pytest.raises(TypeError, match=r"Alien must be a subclass of ascd\.matrix\.base\.Matrix"):
        ascd.Problem(Alien(), SIGNAL)

    class Half(Matrix):
        def careful_dots(self, columns, vector): ...

    with pytest.raises(TypeError, match=r"abstract.*add.*dots.*take"):
        Half()


class Genotypes(NamedTuple):
    """Numbers from 0 to 3, four samples a byte; not all fields are arrays, and none has the matrix's shape."""

    packed: Any
    samples: int

    def start(self, j):
        return 0

    def stop(self, j):
        return self.samples

    def row(self, p):
        return p

    def entry(self, p, j):
        return float((self.packed[p >> 2, j] >> (2 * (p & 3))) & 3)

    def stored(self):
        return self.packed

    def to_scipy(self, d, n):
        bits = np.unpackbits(self.packed, axis=0, bitorder="little")
        return (bits[0::2] + 2 * bits[1::2])[:d].astype(float)


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_storage_without_values_of_the_shape_is_read_by_its_methods_alone(outputs):
    numbers = np.random.default_rng(7).integers(0, 4, (41, 12)).astype(np.uint8)
    packed = sum(np.vstack([numbers, np.zeros((3, 12), np.uint8)])[i::4] << (2 * i) for i in range(4))
    design, plain = Local(Genotypes(np.asfortranarray(packed), 41), (41, 12)), numbers.astype(float)
    target = plain[:, :2] - plain[:, 2:4] if outputs == 2 else plain[:, 0] - plain[:, 1]
    penalty = ascd.L21(5.0) if outputs == 2 else ascd.L1(5.0)
    found, expected = (ascd.solve(ascd.Problem(X, target, penalty=penalty), intercept=True) for X in (design, plain))
    assert found.converged
    np.testing.assert_allclose(found.x, expected.x, atol=1e-4)
    with pytest.raises(
        TypeError, match=r"LocalDense needs a storage with values of shape \(41, 12\); Local takes Geno"
    ):
        ascd.Problem(LocalDense(design.matrix, design.shape), target)


def packed_numbers(d=41, n=12):
    numbers = np.random.default_rng(7).integers(0, 4, (d + 3, n)).astype(np.uint8)
    return np.asfortranarray(sum(numbers[i : d + i : 4] << (2 * i) for i in range(4)))


class Opens:
    def __init__(self, design):
        self.design = design

    def as_design(self):
        return self.design


def fitted(X):
    return ascd.Lasso(0.1).fit(np.random.default_rng(1).random((41, 12)), np.arange(41.0))


#: Every way in for a matrix of the user's.
WAYS_IN = {
    "problem": lambda X: ascd.Problem(X, np.arange(41.0)),
    "as_design": lambda X: ascd.Problem(Opens(X), np.arange(41.0)),
    "fit": lambda X: ascd.Lasso(0.1).fit(X, np.arange(41.0)),
    "standardize": lambda X: ascd.Lasso(0.1, standardize=True).fit(X, np.arange(41.0)),
    "cross-validation": lambda X: ascd.LassoCV(cv=3).fit(X, np.arange(41.0)),
    "predict": lambda X: fitted(X).predict(X),
    "score": lambda X: fitted(X).score(X, np.arange(41.0)),
    "lasso_path": lambda X: ascd.lasso_path(X, np.arange(41.0)),
}
UNFIT = {
    "too many samples": (Genotypes(packed_numbers(), 44), (41, 12), "column 0 entry 43 is in row 43"),
    "too few bytes": (Genotypes(packed_numbers(37), 41), (41, 12), "column 0 index 10 is out of bounds"),
    "too few columns": (Genotypes(packed_numbers(), 41), (41, 13), "column 12 index 12 is out of bounds"),
    "far too few columns": (Genotypes(packed_numbers(), 41), (41, 999), "column 20 index 20 is out of bounds"),
    "dense": (Dense(np.ones((41, 12))), (40, 12), "column 0 entry 40 is in row 40"),
    "sparse": (CSC(np.ones(2), np.array([0, 41]), np.array([0, 1, 2])), (41, 2), "column 1 entry 1 is in row 41"),
    "row before the first": (
        CSC(np.ones(2), np.array([0, -1]), np.array([0, 1, 2])),
        (41, 2),
        "column 1 entry 1 is in row",
    ),
    "one column less": (CSC(np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), (41, 3), "column 2 index 3 is out"),
}


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("kind", UNFIT)
def test_a_storage_that_does_not_fit_its_shape_is_an_error_before_compiled_code_reads_it(way, kind):
    storage, shape, found = UNFIT[kind]
    message = f"{type(storage).__name__} does not fit the shape {shape}: in {found}"
    with pytest.raises(ValueError, match=re.escape(message)):
        WAYS_IN[way](Local(storage, shape))


@pytest.mark.parametrize("way", WAYS_IN)
def test_what_is_no_matrix_of_a_storage_is_an_error_in_a_sentence(way):
    packed = packed_numbers()
    with pytest.raises(TypeError, match=r"Genotypes must be a .*Matrix \(of a storage: Local\([AX], shape\)\)"):
        WAYS_IN[way](Genotypes(packed, 41))
    with pytest.raises(TypeError, match=r"a storage must be a NamedTuple with methods .*; got <class .*Genotypes"):
        WAYS_IN[way](Local(Genotypes, (41, 12)))


def test_a_matrix_says_its_shape_and_storage():
    assert repr(Local(Genotypes(packed_numbers(), 41), (41, 12))) == "Local(41 x 12, Genotypes)"


PENALTIES = ("l1", "none", "box", "elastic net, some free")


@pytest.mark.usefixtures("long_way")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_solver_calls_nothing_else(loss, penalty):
    """It gives the answer that it gives with a storage, and reads as much.  Every two of loss and penalty meet."""
    intercept = (list(LOSSES).index(loss) + PENALTIES.index(penalty)) % 2 == 0
    case = make_case(loss, penalty, intercept, seed=4)
    own = Own(case.A)
    expected = ascd.solve(case.problem(), tol=1e-9, intercept=intercept)
    found = ascd.solve(case.problem(own), tol=1e-9, intercept=intercept)
    assert str(found.status) == str(expected.status)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.reads == expected.reads
    assert own.asked["dots"] >= case.A.shape[1]


def test_the_solver_knows_no_storage():
    """But that of the hinge loss, whose sweeps read rows in local memory."""
    for path in (Path(ascd.__file__).parent / "solver").glob("*.py"):
        text = "" if path.name == "svm.py" else path.read_text(encoding="utf-8")
        assert not re.search(r"\bDense\b|\bCSC\b|parts\.matrix|matrix\.(dense|sparse|device|on_dask)", text), path.name
