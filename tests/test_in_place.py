"""Matrices in memory: every storage answers as NumPy does, large data are read in place, and a matrix of one's own
needs three methods."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from counting import behind_the_door
from matrix_answers import check_answers
from solving import LOSSES, make_case

import ascd
from ascd._core.threads import use_threads
from ascd.matrix import costs
from ascd.matrix.base import Matrix, Part
from ascd.matrix.dense import Dense
from ascd.matrix.open import as_local, open_design

RNG = np.random.default_rng(0)
D = 43  # rows are read four at a time, and the rest one by one
A = np.round(3.0 * RNG.standard_normal((D, 25)) * (RNG.random((D, 25)) < 0.4))
WEIGHT, VECTORS, COLUMNS = RNG.random(D), RNG.standard_normal((2, D)), np.array([5, 0, 17, 3])
TARGET = A[:, 0] - A[:, 3] + 1.0 + 0.1 * VECTORS[0]
CSR = sp.csr_array(A)
#: How the same numbers may come; each is read where it is.
FORMS = {
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
forms = pytest.mark.parametrize("form", FORMS)
#: Each way to store and each type of number is compiled in some form: these run as plain Python.
PLAIN = ("int8 columns", "float32 rows", "int8 sparse rows")
#: Whole fits, which call the same methods, are compiled for these.
COMPILED = ("float32 columns", "sparse rows")


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(costs, "SMALL_DATA", 0)


def shares_memory(given, design):
    kept = design.matrix[0] if design.matrix is not None else design.values if given.ndim and hasattr(
        design, "values") else design.data  # fmt: skip
    return np.shares_memory(kept, given if isinstance(given, np.ndarray) else given.data)


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array], ids=["dense", "sparse"])
def test_small_data_answer_as_numpy_does(make):
    check_answers(open_design(make(A)), A, COLUMNS)


@forms
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.usefixtures("everything_is_large")
def test_answers_equal_numpys_in_place(form, n_jobs, monkeypatch):
    monkeypatch.setattr("ascd._core.tuning.WORTH_A_THREAD", 1e-9)
    monkeypatch.setattr("ascd._core.jit.is_interpreted", form in PLAIN)
    design = open_design(FORMS[form])
    assert shares_memory(FORMS[form], design)
    with use_threads(n_jobs):
        check_answers(design, A, COLUMNS)
    assert design.entries() == (A.size if isinstance(FORMS[form], np.ndarray) else np.count_nonzero(A))


@forms
@pytest.mark.usefixtures("everything_is_large")
def test_passes_where_nothing_can_be_cached(form, monkeypatch):
    for name, value in (("NEAR_FLOOR", 0), ("NEAR_SHARE", 0.0), ("BLOCK_BYTES", 1000)):
        monkeypatch.setattr(costs, name, value)
    monkeypatch.setattr("ascd._core.jit.is_interpreted", form in PLAIN)
    check_answers(open_design(FORMS[form]), A, COLUMNS)


@forms
@pytest.mark.usefixtures("everything_is_large")
def test_solutions_are_those_of_float64_columns(form, compiled_sweeps, monkeypatch):
    """Both losses with every way to store and with every type of numbers."""
    monkeypatch.setattr("ascd._core.jit.is_interpreted", form not in COMPILED)
    loss = ("squared", "logistic")[list(FORMS).index(form) % 2]
    b = np.where(np.median(TARGET) < TARGET, 1.0, -1.0) if loss == "logistic" else TARGET
    expected = ascd.solve(ascd.Problem(as_local(A), b, loss, ascd.L1(2.0)), tol=1e-10, intercept=True)
    problem = ascd.Problem(FORMS[form], b, loss, ascd.L1(2.0))
    found = ascd.solve(problem, tol=1e-10, intercept=True)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-4)
    path = ascd.path(problem, n_alphas=5, eps=0.1, intercept=True)
    assert np.all(path.gaps <= 1e-6 * path.zero_objective)


@pytest.mark.usefixtures("everything_is_large")
@pytest.mark.parametrize("form", ["rows", "sparse rows"])
def test_cached_columns_are_not_read_again(form):
    design = open_design(FORMS[form])
    design.dots(COLUMNS, VECTORS[0])
    before = design.bytes_read
    design.dots(COLUMNS[:2], VECTORS[1])
    design.add(COLUMNS, np.ones(4), np.zeros(D))
    design.take(COLUMNS)
    nothing = COLUMNS[:0]
    assert design.dots(nothing, VECTORS[0]).size == design.means(nothing, WEIGHT).size == 0
    design.take(nothing)
    assert design.bytes_read == before > 0
    design.dots(np.array([9]), VECTORS[0])
    assert design.bytes_read > before


@pytest.mark.usefixtures("everything_is_large")
def test_the_engine_copies_what_is_read_by_rows(interpreted):
    b = A[:, 0] + VECTORS[0]
    found = ascd.minimize(ascd.Problem(FORMS["sparse rows"], b, penalty=ascd.L1(2.0)), tol=1e-6, rng=0)
    expected = ascd.solve(ascd.Problem(A, b, penalty=ascd.L1(2.0)), tol=1e-10)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-4)


@cache
def fitted_to_float64_columns():
    return ascd.Lasso(alpha=0.05, tol=1e-10).fit(A, TARGET), ascd.LassoCV(cv=2, alphas=4).fit(A, TARGET)


@pytest.mark.parametrize("form", ["rows", "float32 rows", "int8 columns", "sparse rows", "float32 sparse columns"])
@pytest.mark.usefixtures("everything_is_large")
def test_estimators_take_them_as_they_are(form, compiled_sweeps, monkeypatch):
    """Rows of float64 are compiled, as other tests need them; the others would have kernels of their own."""
    monkeypatch.setattr("ascd._core.jit.is_interpreted", form not in ("rows", "sparse rows"))
    y, (expected, chosen) = TARGET, fitted_to_float64_columns()
    found = ascd.Lasso(alpha=0.05, tol=1e-10).fit(FORMS[form], y)
    tolerance = 1e-4 if found.coef_.dtype == np.float32 else 1e-6
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=tolerance)
    assert (found.coef_.dtype == np.float32) == (FORMS[form].dtype == np.float32)
    np.testing.assert_allclose(found.predict(FORMS[form]), expected.predict(A), atol=1e-2)
    folds = ascd.LassoCV(cv=2, alphas=4, n_jobs=2).fit(FORMS[form], y)
    assert folds.alpha_ == pytest.approx(chosen.alpha_)
    ascd.Ridge().fit(FORMS[form], y)
    ascd.LinearSVC(dual=True).fit(FORMS[form], y > 0)


@pytest.mark.usefixtures("everything_is_large")
def test_what_is_not_finite_is_named():
    for form in ("rows", "sparse rows"):
        broken = FORMS[form].copy()
        (broken if isinstance(broken, np.ndarray) else broken.data).flat[3] = np.nan
        with pytest.raises(ValueError, match="A must be finite"):
            ascd.Problem(broken, VECTORS[0])


@pytest.mark.parametrize("C", [0.01, 1000.0])
def test_a_support_vector_machine_is_fitted_to_unsorted_rows(C):
    X = sp.csr_array(sp.random(300, 20, 0.4, format="csr", random_state=2))
    y = np.where(X @ np.arange(-10.0, 10.0) + np.random.default_rng(3).standard_normal(300) > 0.0, 1.0, -1.0)
    order = np.concatenate([np.arange(stop - 1, start - 1, -1) for start, stop in zip(X.indptr, X.indptr[1:])])  # noqa: B905
    mixed = sp.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)
    assert not mixed.has_sorted_indices
    before = mixed.indices.copy()
    fits = [ascd.LinearSVC(loss="hinge", C=C, tol=1e-9).fit(each, y) for each in (X, mixed)]
    np.testing.assert_allclose(fits[1].coef_, fits[0].coef_, atol=1e-3 * np.abs(fits[0].coef_).max())
    np.testing.assert_array_equal(mixed.indices, before)
    mixed.data[3] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        ascd.LinearSVC(loss="hinge", fit_intercept=False).fit(mixed, y)


# ---- products of columns far from zero

MAKE = {"dense": np.asarray, "sparse": sp.csc_array}


@pytest.mark.parametrize("storage", MAKE)
@pytest.mark.parametrize("keeps", [False, True])
def test_products_of_columns_far_from_zero_keep_their_digits(storage, keeps):
    """Also beside columns with zeros, and with other curvatures than those they were first listed for."""
    far, columns, every = A[:12, :7].copy(), np.array([6, 2, 0, 4]), np.arange(4)
    far[:, :3] = 1e8 + np.arange(36.0).reshape(12, 3) % 7
    design, exact = open_design(MAKE[storage](far)), far - [1e8, 1e8, 1e8, 0, 0, 0, 0]
    multiplier, store = design.multiplier(keeps), np.zeros((4, 4), order="F")
    for weight in (WEIGHT[:12], WEIGHT[:12][::-1].copy()):
        multiplier.fill(store, columns, every, every, weight, design.means(np.arange(7), weight))
        B = exact - weight @ exact / weight.sum()
        np.testing.assert_allclose(store, B[:, columns].T @ (weight[:, None] * B[:, columns]), atol=1e-5)


@pytest.mark.parametrize("storage", MAKE)
def test_a_column_that_is_constant_where_samples_count_is_seen(storage):
    """What rounding leaves of its square is nothing, whether all its entries are stored or not."""
    constant, weight = A.copy(), WEIGHT.copy()
    constant[:, 0], constant[:, 1], constant[3, 1], weight[3] = 0.1, 0.1, 0.0, 0.0
    design, store, both = open_design(MAKE[storage](constant)), np.zeros((2, 2), order="F"), np.arange(2)
    multiplier = design.multiplier(False)
    multiplier.fill(store, both, both, both, weight, design.means(np.arange(25), weight))
    assert (store.diagonal() <= multiplier.constant * 0.01 * weight.sum()).all()


# ---- the interface


class Halved(Matrix):
    """A matrix of one's own: three methods, and the defaults."""

    def __init__(self, A):
        self.A, self.shape = 2.0 * A, A.shape

    def dots(self, columns, vector):
        return 0.5 * (vector @ self.A[:, columns])

    def add(self, columns, factors, out):
        out += 0.5 * (self.A[:, columns] @ factors)

    def take(self, columns):
        return Part(Dense(np.asfortranarray(0.5 * self.A[:, columns])), np.arange(columns.size))


def test_three_methods_make_a_matrix(monkeypatch, interpreted):
    check_answers(Halved(A), A, COLUMNS)
    monkeypatch.setattr(costs, "BLOCK_BYTES", 3 * 8 * D)
    check_answers(Halved(A), A, COLUMNS)
    b = TARGET + np.arange(D) % 3
    for problem in (ascd.Problem(Halved(A), b, penalty=ascd.L1(2.0)), ascd.Problem(A, b, penalty=ascd.L1(2.0))):
        found = ascd.solve(problem, tol=1e-10, intercept=True)
        assert found.converged
        assert found.objective == pytest.approx(ascd.solve(problem, tol=1e-12, intercept=True).objective, rel=1e-9)
    broken = A.copy()
    broken[2, 3] = np.nan
    with pytest.raises(ValueError, match="A must be finite"):
        ascd.Problem(Halved(broken), b)


def test_a_matrix_is_a_subclass_that_writes_what_has_no_default():
    class Alien:
        def careful_dots(self, columns, vector): ...

    with pytest.raises(TypeError, match=r"Alien must be a subclass of ascd\.matrix\.base\.Matrix"):
        ascd.Problem(Alien(), TARGET)

    class Half(Matrix):
        def careful_dots(self, columns, vector): ...

    with pytest.raises(TypeError, match=r"abstract.*add.*dots.*take"):
        Half()


PENALTIES = ("l1", "none", "box", "elastic net, some free")


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_solver_calls_nothing_else(loss, penalty):
    """With no storage to read and columns under other numbers, it gives the answer that it gives with them.

    Every two of loss, penalty, intercept and storage meet.
    """
    number, turn = list(LOSSES).index(loss), PENALTIES.index(penalty)
    intercept, storage = (number + turn) % 2 == 0, ("dense", "sparse")[(number + turn // 2) % 2]
    case = make_case(loss, penalty, intercept, seed=4)
    plain = case.problem(storage)
    design = behind_the_door(MAKE[storage](case.A))
    closed = case.problem(design)
    expected = ascd.solve(plain, tol=1e-9, intercept=intercept)
    found = ascd.solve(closed, tol=1e-9, intercept=intercept)
    assert str(found.status) == str(expected.status)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.reads == expected.reads
    assert design.asked["dots"] >= closed.n_features
    assert closed.gap(found.x) < np.inf


@pytest.mark.usefixtures("interpreted")
def test_paths_and_sweeps_over_columns_keep_to_the_interface(monkeypatch):
    monkeypatch.setattr("ascd.solver.tuning.GRAM_FLOOR", 0)
    monkeypatch.setattr("ascd.solver.tuning.GRAM_SHARE", 0.0)
    case = make_case("squared", "l1", True, seed=4)
    plain, design = case.problem("sparse"), behind_the_door(sp.csc_array(case.A))
    closed = case.problem(design)
    expected = ascd.path(plain, n_alphas=4, eps=0.1, intercept=True)
    found = ascd.path(closed, n_alphas=4, eps=0.1, intercept=True)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=1e-9)
    assert design.asked["take"] > 0


def test_the_engine_says_that_it_needs_columns():
    with pytest.raises(TypeError, match=r"minimize reads single columns.*Counting.*ascd\.solve"):
        ascd.minimize(ascd.Problem(behind_the_door(A), TARGET))


def test_the_solver_knows_no_storage():
    """But that of the hinge loss, whose sweeps read rows in local memory."""
    for path in (Path(ascd.__file__).parent / "solver").glob("*.py"):
        text = "" if path.name == "svm.py" else path.read_text(encoding="utf-8")
        assert not re.search(r"\bDense\b|\bCSC\b|parts\.matrix|matrix\.(dense|sparse|device|on_dask)", text), path.name
