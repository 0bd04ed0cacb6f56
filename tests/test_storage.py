"""Data as they come: other number types, row-major arrays and sparse rows are read in place, with the same answers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import ascd
from ascd._core.threads import crew
from ascd.matrix import prices
from ascd.matrix.base import as_block
from ascd.matrix.open import as_local, open_design
from ascd.matrix.rows import DenseRows, SparseRows

RNG = np.random.default_rng(0)
D = 43  # rows are read four at a time, and the rest one by one
A = np.round(3.0 * RNG.standard_normal((D, 25)) * (RNG.random((D, 25)) < 0.4))
WEIGHT, VECTORS, COLUMNS = RNG.random(D), RNG.standard_normal((2, D)), np.array([5, 0, 17, 3])
TARGET = A[:, 0] - A[:, 3] + 1.0 + 0.1 * VECTORS[0]
#: How the same numbers may come; each is read where it is.
FORMS = {
    "float32 columns": np.asfortranarray(A, dtype=np.float32),
    "int8 columns": np.asfortranarray(A, dtype=np.int8),
    "rows": np.ascontiguousarray(A),
    "float32 rows": np.ascontiguousarray(A, dtype=np.float32),
    "int8 rows": np.ascontiguousarray(A, dtype=np.int8),
    "float32 sparse columns": sp.csc_array(A.astype(np.float32)),
    "sparse rows": sp.csr_array(A),
    "int8 sparse rows": sp.csr_array(A.astype(np.int8)),
    "sparse rows with 64 bits": sp.csr_array((sp.csr_array(A).data, sp.csr_array(A).indices.astype(np.int64),
                                              sp.csr_array(A).indptr.astype(np.int64)), shape=A.shape),
}  # fmt: skip
forms = pytest.mark.parametrize("form", FORMS)
#: Each way to store and each type of number is compiled in some form: these run as plain Python.
PLAIN = ("int8 columns", "float32 rows", "int8 sparse rows")
#: Whole fits, which ask the same questions, are compiled for these.
COMPILED = ("float32 columns", "sparse rows")


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(prices, "SMALL_DATA", 0)


def shares_memory(given: object, design: object) -> bool:
    source = getattr(design, "source", design)
    held = getattr(source, "values", None) if hasattr(source, "values") else getattr(source, "data", None)
    held = held if held is not None else source.matrix[0]
    return np.shares_memory(held, given if isinstance(given, np.ndarray) else given.data)


@forms
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_answers_equal_numpy(form, n_jobs, monkeypatch):
    monkeypatch.setattr("ascd._core.tuning.WORTH_A_THREAD", 1e-9)
    monkeypatch.setattr("ascd._core.jit.is_interpreted", form in PLAIN)
    design = open_design(FORMS[form])
    assert shares_memory(FORMS[form], design)
    with crew(n_jobs):
        survey = design.survey(WEIGHT, VECTORS)
        np.testing.assert_allclose(survey.square, WEIGHT @ A**2, rtol=1e-13)
        np.testing.assert_allclose(survey.plain, (A**2).sum(axis=0), rtol=1e-13)
        np.testing.assert_allclose(survey.total, A.sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(survey.products, VECTORS @ A, atol=1e-12)
        np.testing.assert_allclose(design.dots(np.arange(25), VECTORS[0]), VECTORS[0] @ A, atol=1e-12)
        np.testing.assert_allclose(design.dots(COLUMNS, VECTORS[0]), VECTORS[0] @ A[:, COLUMNS], atol=1e-12)
        np.testing.assert_allclose(design.squares(WEIGHT, COLUMNS), WEIGHT @ A[:, COLUMNS] ** 2)
        product, error = design.careful_dots(COLUMNS, VECTORS[1])
        np.testing.assert_allclose(product, VECTORS[1] @ A[:, COLUMNS], atol=1e-12)
        assert np.all(error <= 1e-13)
        image = VECTORS[0].copy()
        design.add(COLUMNS, np.array([1.0, 0.0, -2.0, 0.5]), image)
        np.testing.assert_allclose(image, VECTORS[0] + A[:, COLUMNS] @ [1.0, 0.0, -2.0, 0.5])
        np.testing.assert_allclose(design.means(COLUMNS, WEIGHT), WEIGHT @ A[:, COLUMNS] / WEIGHT.sum())
        np.testing.assert_array_equal(as_block(design.take(COLUMNS), D), A[:, COLUMNS])
        products(design)
    assert design.entries() == (A.size if isinstance(FORMS[form], np.ndarray) else np.count_nonzero(A))


@forms
@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("weight", [1.5, WEIGHT], ids=["equal", "weighted"])
def test_one_pass_takes_any_number_of_vectors(form, count, weight, monkeypatch):
    monkeypatch.setattr("ascd._core.jit.is_interpreted", form in PLAIN or count > 2)
    vectors = np.vstack([VECTORS, VECTORS[::-1] ** 2])[:count]
    survey = open_design(FORMS[form]).survey(weight, vectors)
    np.testing.assert_allclose(survey.square, np.broadcast_to(weight, D) @ A**2, rtol=1e-13)
    np.testing.assert_allclose(survey.plain, (A**2).sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(survey.total, A.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(survey.products, vectors @ A, atol=1e-11)


def products(design: object) -> None:
    means = design.means(np.arange(25), WEIGHT)
    multiplier, columns, every = design.multiplier(True), np.array([6, 2, 0, 4]), np.arange(4)
    for used in (None, means):
        store, B = np.zeros((4, 4), order="F"), A[:, columns] - (0.0 if used is None else used[columns])
        multiplier.fill(store, columns, every[:1], every[1:], WEIGHT, used)
        np.testing.assert_allclose(store[0, 1:], (B.T @ (WEIGHT[:, None] * B))[0, 1:], atol=1e-12)
        multiplier.fill(store, columns, every, every, WEIGHT, used)
        np.testing.assert_allclose(store, B.T @ (WEIGHT[:, None] * B), atol=1e-12)
        multiplier.forget()


@forms
def test_passes_where_nothing_can_be_kept_near(form, monkeypatch):
    """The same questions answered by passes alone."""
    monkeypatch.setattr("ascd.matrix.prices.NEAR_FLOOR", 0)
    monkeypatch.setattr("ascd.matrix.prices.NEAR_SHARE", 0.0)
    monkeypatch.setattr("ascd.matrix.prices.BLOCK_BYTES", 1000)
    monkeypatch.setattr("ascd._core.jit.is_interpreted", form in PLAIN)
    design = open_design(FORMS[form])
    np.testing.assert_allclose(design.dots(COLUMNS, VECTORS[0]), VECTORS[0] @ A[:, COLUMNS], atol=1e-12)
    image = np.zeros(D)
    design.add(COLUMNS, np.array([1.0, 0.0, -2.0, 0.5]), image)
    np.testing.assert_allclose(image, A[:, COLUMNS] @ [1.0, 0.0, -2.0, 0.5], atol=1e-12)
    product, _ = design.careful_dots(COLUMNS, VECTORS[1])
    np.testing.assert_allclose(product, VECTORS[1] @ A[:, COLUMNS], atol=1e-12)
    products(design)


@forms
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


def test_columns_kept_near_are_not_read_again():
    design = open_design(FORMS["rows"])
    assert isinstance(design, DenseRows | SparseRows)
    design.dots(COLUMNS, VECTORS[0])
    before = design.bytes_read
    design.dots(COLUMNS[:2], VECTORS[1])
    design.add(COLUMNS, np.ones(4), np.zeros(D))
    design.take(COLUMNS)
    assert design.bytes_read == before > 0
    design.dots(np.array([9]), VECTORS[0])
    assert design.bytes_read > before


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


def test_what_is_not_finite_is_named():
    for form in ("rows", "sparse rows"):
        broken = FORMS[form].copy()
        (broken if isinstance(broken, np.ndarray) else broken.data).flat[3] = np.nan
        with pytest.raises(ValueError, match="A must be finite"):
            ascd.Problem(broken, VECTORS[0])
