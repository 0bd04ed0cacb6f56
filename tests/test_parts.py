"""Long sums and lists in parts of fixed size: what threads share is right, and the same for any number of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import ascd
from ascd._core import threads, tuning
from ascd.matrix import costs
from ascd.matrix.columns import careful_sum, elementwise, farthest
from ascd.matrix.dense import fill_four_dots
from ascd.problem.dual import DualFit, InterceptFit, centred, dual_distance, dual_length, fit_to, is_finite
from ascd.problem.terms import CoordinateTerms

MANY = 40_000


@pytest.fixture(params=[1, 3])
def jobs(request, monkeypatch):
    """So many threads, however little there is to do."""
    monkeypatch.setattr(tuning, "WORTH_A_THREAD", 1.0)
    with threads.use_threads(request.param):
        yield request.param


@pytest.mark.parametrize("size", [0, 1, 100, tuning.LISTED_A_PART, tuning.LISTED_A_PART + 1, MANY])
@pytest.mark.parametrize("every", [1, 3, 20_000])
def test_lists_of_parts_are_joined(jobs, size, every):
    wanted = np.arange(size) % every == 0

    def list_wanted(listed, counts, start, stop):
        for part in range(start, stop):
            first = part * tuning.LISTED_A_PART
            found = first + np.flatnonzero(wanted[first : first + tuning.LISTED_A_PART])
            listed[first : first + found.size], counts[part] = found, found.size

    listed = np.full(size, -1)
    count = threads.share_list(1e9, listed, list_wanted)
    assert listed[:count].tolist() == np.flatnonzero(wanted).tolist()


@pytest.mark.parametrize("size", [0, 5, MANY])
def test_sums_of_many_numbers_are_within_their_error(jobs, size):
    rng = np.random.default_rng(size)
    numbers = rng.standard_normal(size) * 2.0 ** rng.integers(-40, 40, size)
    if size:
        numbers[-1] = -numbers[:-1].sum()  # most of it cancels
    total, error = careful_sum(numbers)
    assert abs(Fraction(total) - sum(map(Fraction, numbers.tolist()))) <= Fraction(error)
    assert error <= 3e-16 * abs(total) + 1e-20 * np.abs(numbers).sum()


def test_a_sum_that_is_not_finite_has_no_error_that_is():
    for numbers in ([np.inf, 1.0], [np.inf, -np.inf], [1e308] * MANY):
        assert not np.isfinite(careful_sum(np.array(numbers))).all()


def test_the_sum_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(tuning, "WORTH_A_THREAD", 1.0)
    numbers, found = np.random.default_rng(0).standard_normal(MANY), []
    for jobs in (1, 2, 5):
        with threads.use_threads(jobs):
            found.append((*careful_sum(numbers), dual_distance(numbers, numbers[::-1].copy(), 0.3, np.abs(numbers))))
    assert len(set(found)) == 1


@pytest.mark.parametrize("size", [50, MANY])
@pytest.mark.parametrize("weighted", [False, True])
def test_lengths(jobs, size, weighted):
    rng = np.random.default_rng(1)
    v, u = rng.standard_normal((2, size))
    weight = rng.integers(0, 3, size).astype(float) if weighted else 1.0
    counted = np.broadcast_to(np.asarray(weight) > 0.0, size)
    root = np.sqrt(np.broadcast_to(weight, size)[counted])
    assert dual_length(v, weight) == pytest.approx(np.linalg.norm(v[counted] / root), rel=1e-12)
    assert dual_distance(v, u, 0.7, weight) == pytest.approx(np.linalg.norm((v - 0.7 * u)[counted] / root), rel=1e-12)


def test_what_is_finite():
    with np.errstate(over="ignore"):
        assert is_finite(np.array([1e200, -1e300]))  # whose squares are not
    assert not is_finite(np.array([1.0, np.nan]))
    assert not is_finite(np.array([1.0, -np.inf]))


def test_an_intercept_alone_is_fitted_as_any_column():
    rng = np.random.default_rng(2)
    curvature, gradient = rng.random(MANY) * (rng.random(MANY) < 0.5), rng.standard_normal(MANY)
    design = ascd.Problem(np.ones((MANY, 1)), gradient).design
    quick = fit_to(design, np.arange(0), True, curvature, 1.0, np.empty(0))
    plain = DualFit(np.ones((MANY, 1)), np.sqrt(curvature), np.arange(1))
    assert isinstance(quick, InterceptFit)
    excess = np.array([gradient.sum()])
    np.testing.assert_allclose(quick.moved(gradient, excess), plain.moved(gradient, excess), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(quick.reach(excess)[0], plain.reach(excess)[0], rtol=1e-9)
    assert np.all(np.abs(quick.moved(gradient, excess) - gradient) <= quick.reach(excess)[0])
    assert abs(careful_sum(centred(quick.moved(gradient, excess), quick))[0]) <= 1e-15


def test_curvatures_whose_sum_overflows_are_fitted_too():
    curvature = np.full(4, 1e308)
    design = ascd.Problem(np.ones((4, 1)), np.arange(4.0)).design
    fit = fit_to(design, np.arange(0), True, curvature, 1.0, np.empty(0))
    np.testing.assert_allclose(fit.moved(np.arange(4.0), np.array([6.0])), np.arange(4.0) - 1.5)


def test_coordinates_are_screened_and_measured_part_by_part(jobs):
    rng = np.random.default_rng(3)
    x = np.where(rng.random(MANY) < 0.01, rng.standard_normal(MANY), 0.0)
    estimate, radius, norm = rng.standard_normal(MANY), 0.1 * rng.random(MANY), 1.0 + rng.random(MANY)
    terms, interval = CoordinateTerms(ascd.L1(1.0), norm), (x[:, None], estimate[:, None], radius)
    expected = np.flatnonzero((x != 0.0) | (np.abs(estimate) + radius > 1.0))
    assert terms.screen(*interval).tolist() == expected.tolist()
    largest = np.abs(estimate) + radius
    found = terms.measure(*interval, expected)
    assert found.scale == pytest.approx(1.0 / largest.max())
    at_kink = np.where(x == 0.0, largest - 1.0, np.abs(estimate + np.sign(x)) + radius)
    assert found.violation == pytest.approx(at_kink.max())
    assert (found.cost, found.infeasible) == (pytest.approx(np.abs(x).sum()), 0.0)
    parts = np.abs(x) + np.maximum(found.scale * x * (estimate - radius), found.scale * x * (estimate + radius))
    assert terms.quick_gap(*interval, expected, found.scale) == (pytest.approx(parts.sum()), True)
    assert terms.undecided(*interval).tolist() == expected.tolist()


@pytest.mark.parametrize("keeps", [False, True])
def test_products_by_rows_of_several_parts(jobs, keeps):
    rng = np.random.default_rng(4)
    A = sp.random_array((1700, 9), density=0.1, format="csc", rng=rng)
    weight, columns = rng.random(1700), np.array([0, 2, 3, 5, 8])
    store = np.zeros((5, 5), order="F")
    multiplier = ascd.Problem(A, np.ones(1700)).design.multiplier(keeps)
    multiplier.fill(store, columns, np.arange(5), np.arange(5), weight, None)
    chosen = A.toarray()[:, columns]
    np.testing.assert_allclose(store, chosen.T @ (weight[:, None] * chosen), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("intercept", [False, True])
def test_sparse_products_do_not_depend_on_threads(monkeypatch, intercept):
    """Nor on the columns beside them."""
    rng = np.random.default_rng(4)
    A = sp.random_array((9000, 30), density=0.3, rng=rng, format="csc")
    design, weight = ascd.Problem(A, np.ones(9000)).design, rng.random(9000)
    columns, left, right = np.arange(30)[::-1].copy(), np.arange(0, 20), np.arange(20, 30)
    means = design.means(np.arange(30), weight) if intercept else None
    centred = A.toarray()[:, columns] - (0.0 if means is None else means[columns])
    exact, found = centred.T @ (weight[:, None] * centred), []
    monkeypatch.setattr(tuning, "WORTH_A_THREAD", 1.0)
    for jobs in (1, 3):
        store = np.full((40, 40), np.nan, order="F")
        with threads.use_threads(jobs):
            for pair in ((left, left), (left, right), (right, right)):
                design.multiplier(False).fill(store, columns, *pair, weight, means)
        for one, other in ((left, left), (left, right), (right, right)):
            there = np.ix_(one, other)
            np.testing.assert_allclose(store[there], exact[there], rtol=1e-11, atol=1e-11)
        found.append(store.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [1, 7, MANY])
def test_long_vectors_are_added_and_searched_by_parts(jobs, size):
    u, v = np.random.default_rng(size).standard_normal((2, size))
    np.testing.assert_array_equal(elementwise(np.add, u, v), u + v)
    np.testing.assert_array_equal(elementwise(np.multiply, u, 3.0), 3.0 * u)
    there = u.copy()
    assert elementwise(np.maximum, there, v, there) is there
    np.testing.assert_array_equal(there, np.maximum(u, v))
    assert farthest(u) == np.abs(u).max()
    u[size // 2] = np.nan
    assert np.isnan(farthest(u))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_a_product_does_not_depend_on_the_columns_beside_it(dtype):
    rng = np.random.default_rng(5)
    values = np.asfortranarray(8.0 * rng.standard_normal((301, 23)), dtype=dtype)
    vector, columns, whole = rng.standard_normal(301), rng.permutation(23), np.empty(23)
    fill_four_dots(values, columns, vector, whole, 0, 23)
    np.testing.assert_allclose(whole, vector @ values[:, columns].astype(float), rtol=1e-11, atol=1e-11)
    for size in (1, 2, 3, 5, 22):
        parts = np.empty(23)
        for start in range(0, 23, size):
            fill_four_dots(values, columns, vector, parts, start, min(start + size, 23))
        assert parts.tobytes() == whole.tobytes()


def test_dense_products_in_strips_are_those_of_the_whole(jobs, monkeypatch):
    rng = np.random.default_rng(6)
    A, weight = np.asfortranarray(rng.standard_normal((200, 50))), rng.random(200)
    design, columns = ascd.Problem(A, np.ones(200)).design, rng.permutation(50)
    means = design.means(np.arange(50), weight)
    centred = (A - means)[:, columns]
    exact = centred.T @ (weight[:, None] * centred)
    monkeypatch.setattr(costs, "STRIP", 12)
    left, right = np.arange(3, 40), np.arange(40, 50)
    for one, other in ((left, left), (left, right), (right, left)):
        store, there = np.full((60, 60), np.nan, order="F"), np.ix_(one, other)
        design.multiplier(False).fill(store, columns, one, other, weight, means)
        np.testing.assert_allclose(store[there], exact[there], rtol=1e-11, atol=1e-11)
        assert np.isnan(store).sum() == 3600 - one.size * other.size
