"""Models of working sets on a device: products that stay there, short ones at first, and what comes to the host."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from cupy_stand_in import on_gpu
from device_checks import check_case, design_of
from problems import CASES

import ascd
from ascd.matrix.device.matrices import DeviceDense

pytestmark = pytest.mark.usefixtures("without_gpu")


@pytest.mark.parametrize(("number", "name"), [*enumerate(name for name in CASES if "scaled" not in name)])
def test_large_models_stay_there(interpreted, number, name, monkeypatch):
    """With room for their products, and without."""
    room = (0.0, 1e9)[number % 2]
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_FETCHED", 0)
    monkeypatch.setattr("ascd.solver.tuning.GRAM_FLOOR", room)
    monkeypatch.setattr(DeviceDense, "products_room", room)
    check_case(CASES[name], on_gpu, np.float64, intercept=True)


def gram_of(A, intercept=True):
    """Products of all columns of A but the first, short ones, joined in two steps; and what they are."""
    source, weight = DeviceDense(on_gpu(A)), np.linspace(0.5, 1.5, len(A))
    means = np.average(A, axis=0, weights=weight)
    gram, every = source.kept_products(intercept, 1e-12), np.arange(1, A.shape[1])
    gram.admit(every[::2], weight, means)
    gram.admit(every[1::2], weight, means)
    centred = A[:, gram.columns] - (means[gram.columns] if intercept else 0.0)
    return gram, centred.T @ (weight[:, None] * centred)


@pytest.mark.parametrize("intercept", [False, True])
def test_short_products_are_near_and_widen(intercept):
    """Columns of very different lengths, one of zeros, one constant."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((50, 12)) * 10.0 ** rng.integers(-6, 6, 12)
    A[:, 3], A[:, 4] = 0.0, 7.0
    gram, expected = gram_of(A, intercept)
    assert not gram.is_exact
    held = np.flatnonzero(gram.columns == 4) if intercept else np.empty(0, dtype=np.int64)
    expected[held, held] = gram.diagonal[held]  # a constant column is held
    lengths = np.sqrt(np.diag(expected))
    vector = rng.standard_normal(11) / np.where(lengths > 0.0, lengths, 1.0)
    error = np.abs(gram.times(vector) - expected @ vector)
    assert np.all(error <= 1e-4 * lengths * np.sum(lengths * np.abs(vector)))
    assert np.any(error > 1e-13 * lengths)  # they are short
    vector[held] = 0.0
    np.testing.assert_allclose(gram.times_exactly(vector), expected @ vector, rtol=1e-9, atol=1e-12)
    free = np.flatnonzero(lengths > 0.0)
    right = expected[np.ix_(free, free)] @ (1.0 / lengths[free])
    found = gram.solve(free, np.zeros(free.size), right, 0.0)
    np.testing.assert_allclose(found * lengths[free], 1.0, rtol=1e-3)
    columns = gram.columns
    gram.widen()
    assert gram.is_exact
    assert gram.columns.size == 0
    gram.admit(columns, gram.weight, np.average(A, axis=0, weights=gram.weight))
    np.testing.assert_allclose(gram.times(vector), expected @ vector, rtol=1e-9, atol=1e-12)
    lengths = np.array([1.0, 1.0, 1e-150, 1.0, 1e120, 1.0])  # which short numbers do not reach
    assert gram_of(rng.standard_normal((20, 6)) * lengths)[0].is_exact


@pytest.mark.parametrize(("nearness", "fetched", "is_exact"), [(1.0, 0, False), (1e-3, 0, True), (1e-3, 99, False)])
def test_products_become_exact_where_short_ones_do_not_do(compiled_sweeps, nearness, fetched, is_exact, monkeypatch):
    """Pairs of columns that differ by less than short numbers tell; a gap that nothing but their difference closes."""
    rng = np.random.default_rng(5)
    half = rng.standard_normal((40, 8))
    other = half + nearness * rng.standard_normal((40, 8))
    A = np.stack([half, other], axis=2).reshape(40, 16)
    b = half @ np.ones(8) + (other - half) @ np.linspace(1.0, 2.0, 8) / nearness + 0.1 * rng.standard_normal(40)
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_FETCHED", fetched)  # the third model comes to the host
    kept, make = [], DeviceDense.kept_products
    monkeypatch.setattr(DeviceDense, "kept_products", lambda *given: kept.append(make(*given)) or kept[-1])
    penalty = ascd.L1(1e-3)
    found = ascd.solve(ascd.Problem(design_of(on_gpu(A)), b, penalty=penalty), tol=1e-8)
    expected = ascd.solve(ascd.Problem(A, b, penalty=penalty), tol=1e-10)
    assert found.converged
    assert found.objective - expected.objective <= found.gap + 1e-9 * expected.zero_objective
    assert kept[0].is_exact == is_exact


def test_models_of_columns_that_have_much_in_common_come_to_the_host(interpreted, monkeypatch):
    """One eigenvalue is about n: proximal steps are so short that 1,000 of them lead nowhere."""
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    asked, products = [], DeviceDense.products
    monkeypatch.setattr(DeviceDense, "products", lambda *given: asked.append(1) or products(*given))
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 1)) + rng.standard_normal((60, 40)) / 10.0
    b = A[:, :5] @ rng.standard_normal(5) + 0.1 * rng.standard_normal(60)
    penalty = ascd.L1(1e-3 * np.abs(A.T @ b).max())
    found = ascd.solve(ascd.Problem(design_of(on_gpu(A)), b, penalty=penalty), tol=1e-10)
    assert asked
    assert found.converged
    expected = ascd.solve(ascd.Problem(A, b, penalty=penalty), tol=1e-12)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


@pytest.mark.parametrize(("host", "call"), [(0, 1), (0, 5), (600, 2)])
def test_ctrl_c_inside_a_model_states_the_point_that_is_returned(interpreted, host, call, monkeypatch):
    """From a start where F is lower without the penalty: an image of the start would promise too much."""
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", host)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 30))
    b = A[:, :6].sum(axis=1) + rng.standard_normal(40)
    start = ascd.solve(ascd.Problem(A, b, penalty=ascd.L1(0.1))).x
    calls = []

    def interrupting(function):
        def called(*given):
            calls.append(1)
            found = function(*given)
            if len(calls) == call:
                raise KeyboardInterrupt
            return found

        return called

    name = "ascd.solver.device.largest_violation" if host == 0 else "ascd.solver.models.sweep_gram"
    module, _, function = name.rpartition(".")
    monkeypatch.setattr(name, interrupting(getattr(sys.modules[module], function)))
    problem = ascd.Problem(design_of(on_gpu(A)), b, penalty=ascd.L1(20.0))
    found = ascd.solve(problem, x0=start, tol=1e-12)
    on_host = ascd.Problem(A, b, penalty=ascd.L1(20.0))
    assert found.objective == pytest.approx(on_host.objective(found.x), rel=1e-12)
    if len(calls) >= call:
        assert str(found.status) == "interrupted"
    assert found.objective <= on_host.objective(start) * (1.0 + 1e-12)
    assert found.objective - ascd.solve(on_host, tol=1e-12).objective <= found.gap * (1.0 + 1e-9) + 1e-9
