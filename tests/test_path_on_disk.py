"""Paths over files that are larger than their cache, and products with several vectors in one pass."""

from __future__ import annotations

import numpy as np
import pytest

import ascd
from ascd.io.readers import NpyReader
from ascd.matrix.base import add_each, dots_of_each
from ascd.matrix.files import FileMatrix
from ascd.results.solution import Status

D, N = 200, 1000
RNG = np.random.default_rng(5)
A = np.asfortranarray(RNG.standard_normal((D, N)) + 0.5 * np.repeat(RNG.standard_normal((D, N // 20)), 20, axis=1))
B = A[:, ::100] @ RNG.standard_normal(N // 100) + 0.1 * RNG.standard_normal(D)
LABELS = np.where(np.median(B) < B, 1.0, -1.0)
#: A third of the data; room for some 300 cached columns.
MEMORY = 1 << 19


@pytest.fixture(scope="module", autouse=True)
def few_pieces():
    """A pass has a dozen pieces, not a hundred of a few kilobytes: most of the time was spent on handing them over."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ascd.matrix.costs.FILE_PIECE", 0.25)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the data in columns and in rows."""
    folder = tmp_path_factory.mktemp("data")
    for order in "CF":
        np.save(folder / f"{order}.npy", np.asarray(A, order=order))
    return folder


def opened(folder, order="F", memory=MEMORY):
    return FileMatrix(NpyReader(folder / f"{order}.npy"), memory)


def path_of(data, loss="squared", penalty=None, **options):
    problem = ascd.Problem(data, B if loss == "squared" else LABELS, loss, penalty or ascd.L1(1.0))
    options = {"n_alphas": 30, "eps": 0.05, "tol": 1e-6, "early_stop": False, "intercept": True, **options}
    return ascd.path(problem, **options)


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        ("squared", ascd.L1(1.0)),
        ("squared", ascd.L1L2(1.0, 0.0, np.where(np.arange(N) == 100, 0.0, 1.0))),
        ("squared", ascd.L1L2(1.0, 0.5)),
        ("logistic", ascd.L1(1.0)),
    ],
    ids=["Lasso", "one column free", "elastic net", "logistic"],
)
def test_the_path_is_the_arrays(folder, loss, penalty):
    found, expected = path_of(opened(folder), loss, penalty), path_of(A, loss, penalty)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.alphas, expected.alphas, rtol=1e-12)
    assert (np.abs(found.objectives - expected.objectives) <= 1e-6 * expected.zero_objective).all()
    assert (found.gaps <= 1e-6 * expected.zero_objective).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_gaps_are_true(folder, order):
    found = path_of(opened(folder, order), intercept=False, n_alphas=12)
    for x, alpha, gap in zip(found.coefs.T, found.alphas, found.gaps, strict=True):
        residual = np.asarray(B - A @ x, dtype=np.longdouble)
        dual = residual * min(1.0, alpha / np.abs(A.T @ residual).max())
        primal = 0.5 * (residual @ residual) + alpha * np.abs(x).sum()
        assert primal - (B @ dual - 0.5 * (dual @ dual)) <= 1.0000001 * 1e-6 * found.zero_objective
        assert gap <= 1e-6 * found.zero_objective


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_with_several_vectors_take_one_pass(folder, order):
    design, vectors, columns = opened(folder, order), RNG.standard_normal((D, 5)), np.arange(N)
    design.dots(np.array([3, 9]), vectors[:, 0])  # these are cached from now on
    before = design.bytes_read
    found = design.dots_with_several(columns, vectors)
    np.testing.assert_allclose(found, A.T @ vectors, atol=1e-10)
    assert design.bytes_read - before <= A.nbytes
    np.testing.assert_allclose(design.dots_with_several(columns[:4], vectors), A[:, :4].T @ vectors, atol=1e-10)


def test_several_targets_are_multiplied_in_one_pass(folder):
    targets = A[:, ::100] @ RNG.standard_normal((N // 100, 5)) + 0.1 * RNG.standard_normal((D, 5))
    strength = np.linalg.norm(A.T @ (targets - targets.mean(axis=0)), axis=1).max() / 20.0
    together, one_by_one = opened(folder), opened(folder)
    dots, add = one_by_one.read_dots, one_by_one.read_add
    one_by_one.read_dots = lambda columns, V: dots(columns, V) if V.ndim == 1 else dots_of_each(dots, columns, V)
    one_by_one.read_add = lambda columns, x, Z: add(columns, x, Z) if Z.ndim == 1 else add_each(add, columns, x, Z)
    found, expected, _ = (
        ascd.solve(ascd.Problem(data, targets, penalty=ascd.L21(strength)), tol=1e-8, intercept=True)
        for data in (together, A, one_by_one)
    )
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-7)
    assert together.bytes_read < 0.4 * one_by_one.bytes_read
