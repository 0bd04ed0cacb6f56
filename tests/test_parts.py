"""Long sums and lists in parts of fixed size: what threads share is right, and the same for any number of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import ascd
from ascd._core import threads
from ascd.matrix import costs
from ascd.matrix.columns import careful_sum
from ascd.problem.samples import dual_length
from ascd.problem.terms import Terms

pytestmark = pytest.mark.usefixtures("compiled")  # what holds bit by bit is about compiled code
MANY = 40_000


@pytest.fixture(params=[1, 3])
def jobs(request, monkeypatch):
    """So many threads, however little there is to do."""
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1.0)
    with threads.use_threads(request.param):
        yield request.param


@pytest.mark.parametrize("size", [0, 5, MANY])
def test_sums_of_many_numbers_are_within_their_error(jobs, size):
    rng = np.random.default_rng(size)
    numbers = rng.standard_normal(size) * 2.0 ** rng.integers(-40, 40, size)
    if size:
        numbers[-1] = -numbers[:-1].sum()  # most of it cancels
    total, error = careful_sum(numbers)
    assert abs(Fraction(total) - sum(map(Fraction, numbers.tolist()))) <= Fraction(error)
    assert error <= 3e-16 * abs(total) + 1e-20 * np.abs(numbers).sum()


def test_the_sum_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1.0)
    numbers, found = np.random.default_rng(0).standard_normal(MANY), []
    for jobs in (1, 2, 5):
        with threads.use_threads(jobs):
            found.append((*careful_sum(numbers), dual_length(numbers[::-1].copy(), np.abs(numbers))))
    assert len(set(found)) == 1


def test_coordinates_are_screened_and_measured_part_by_part(jobs):
    rng = np.random.default_rng(3)
    x = np.where(rng.random(MANY) < 0.01, rng.standard_normal(MANY), 0.0)
    estimate, radius, norm = rng.standard_normal(MANY), 0.1 * rng.random(MANY), 1.0 + rng.random(MANY)
    terms, interval = Terms(ascd.L1(1.0), norm), (x[:, None], estimate[:, None], radius)
    expected = np.flatnonzero((x != 0.0) | (np.abs(estimate) + radius > 1.0))
    assert terms.screen(*interval).tolist() == expected.tolist()
    largest = np.abs(estimate) + radius
    scale, violation, cost, gap, is_complete = terms.measure(*interval, expected)
    assert scale == pytest.approx(1.0 / largest.max())
    at_kink = np.where(x == 0.0, largest - 1.0, np.abs(estimate + np.sign(x)) + radius)
    assert violation == pytest.approx(at_kink.max())
    assert (cost, is_complete) == (pytest.approx(np.abs(x).sum()), True)
    parts = np.abs(x) + np.maximum(scale * x * (estimate - radius), scale * x * (estimate + radius))
    assert gap == pytest.approx(parts.sum())
    assert terms.undecided(*interval).tolist() == expected.tolist()


@pytest.mark.parametrize("keeps", [False, True])
def test_products_by_rows_of_several_parts(jobs, keeps):
    rng = np.random.default_rng(4)
    A = sp.random_array((1700, 9), density=0.1, format="csc", rng=rng)
    weight, columns = rng.random(1700), np.array([0, 2, 3, 5, 8])
    design = ascd.Problem(A, np.ones(1700)).design
    found = design.products(columns, columns, weight, None, {} if keeps else None)
    chosen = A.toarray()[:, columns]
    np.testing.assert_allclose(found, chosen.T @ (weight[:, None] * chosen), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("intercept", [False, True])
def test_sparse_products_do_not_depend_on_threads(monkeypatch, intercept):
    rng = np.random.default_rng(4)
    A = sp.random_array((9000, 30), density=0.3, rng=rng, format="csc")
    design, weight = ascd.Problem(A, np.ones(9000)).design, rng.random(9000)
    columns, left, right = np.arange(30)[::-1].copy(), np.arange(0, 20), np.arange(20, 30)
    means = design.means(np.arange(30), weight) if intercept else None
    centred = A.toarray()[:, columns] - (0.0 if means is None else means[columns])
    exact, found = centred.T @ (weight[:, None] * centred), []
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1.0)
    for jobs in (1, 3):
        for one, other in ((left, left), (left, right), (right, right)):
            with threads.use_threads(jobs):
                block = design.products(columns[one], columns[other], weight, means)
            np.testing.assert_allclose(block, exact[np.ix_(one, other)], rtol=1e-11, atol=1e-11)
            found.append((jobs, block.tobytes()))
    assert {bits for jobs, bits in found if jobs == 1} == {bits for jobs, bits in found if jobs == 3}


def test_dense_products_in_blocks_of_rows_are_those_of_the_whole(jobs, monkeypatch):
    rng = np.random.default_rng(6)
    A, weight = np.asfortranarray(rng.standard_normal((200, 50))), rng.random(200)
    design, columns = ascd.Problem(A, np.ones(200)).design, rng.permutation(50)
    means = design.means(np.arange(50), weight)
    centred = (A - means)[:, columns]
    exact = centred.T @ (weight[:, None] * centred)
    for name, value in (("ROWS", 12), ("BLOCK", 0)):
        monkeypatch.setattr(costs, name, value)
    left, right = np.arange(3, 40), np.arange(40, 50)
    for one, other in ((left, left), (left, right), (right, left)):
        found = design.products(columns[one], columns[other], weight, means)
        np.testing.assert_allclose(found, exact[np.ix_(one, other)], rtol=1e-11, atol=1e-11)
