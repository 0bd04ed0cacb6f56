"""Batched warm starts of paths over files: the next penalties share a pass, and wrong warm starts do no harm."""

from __future__ import annotations

import os

import numpy as np
import pytest

import ascd
from ascd.io.opening import NpyReader
from ascd.matrix.cached import FileMatrix
from ascd.results import Status
from ascd.solver import tuning
from ascd.solver.path import WarmStarts

D, N = 200, 1000
RNG = np.random.default_rng(5)
A = np.asfortranarray(RNG.standard_normal((D, N)) + 0.5 * np.repeat(RNG.standard_normal((D, N // 20)), 20, axis=1))
B = A[:, ::100] @ RNG.standard_normal(N // 100) + 0.1 * RNG.standard_normal(D)
LABELS = np.where(np.median(B) < B, 1.0, -1.0)
#: A third of the data; room for some 300 cached columns, and four warm starts.
MEMORY = 1 << 19


@pytest.fixture(scope="module", autouse=True)
def few_pieces():
    """A pass has a dozen pieces, not a hundred of a few kilobytes: most of the time was spent on handing them over.

    Kernels are compiled: whole paths take minutes without.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ascd._core.jit.is_interpreted", os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"))
        patch.setattr("ascd.matrix.costs.FILE_PIECE", 0.25)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the data in columns and in rows."""
    folder = tmp_path_factory.mktemp("data")
    for order in "CF":
        np.save(folder / f"{order}.npy", np.asarray(A, order=order))
    return folder


@pytest.fixture(scope="module")
def expected():
    return path_of(A)


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
def test_the_path_is_the_arrays_with_less_reading(folder, monkeypatch, loss, penalty):
    data, again = opened(folder), opened(folder)
    found, expected = path_of(data, loss, penalty), path_of(A, loss, penalty)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.alphas, expected.alphas, rtol=1e-12)
    assert (np.abs(found.objectives - expected.objectives) <= 1e-6 * expected.zero_objective).all()
    assert (found.gaps <= 1e-6 * expected.zero_objective).all()
    assert (found.n_iters[1:] >= 1).all()
    monkeypatch.setattr(tuning, "MOST_WARM_STARTS", 0)
    path_of(again, loss, penalty)
    assert data.bytes_read < 0.8 * again.bytes_read


@pytest.mark.parametrize("order", ["C", "F"])
def test_gaps_of_warm_starts_are_true(folder, order):
    found = path_of(opened(folder, order), intercept=False, n_alphas=12)
    for x, alpha, gap in zip(found.coefs.T, found.alphas, found.gaps, strict=True):
        residual = np.asarray(B - A @ x, dtype=np.longdouble)
        dual = residual * min(1.0, alpha / np.abs(A.T @ residual).max())
        primal = 0.5 * (residual @ residual) + alpha * np.abs(x).sum()
        assert primal - (B @ dual - 0.5 * (dual @ dual)) <= 1.0000001 * 1e-6 * found.zero_objective
        assert gap <= 1e-6 * found.zero_objective


def test_wrong_warm_starts_are_dropped(folder, monkeypatch, expected):
    """No coordinate may move but those that have: most warm starts miss what comes next."""
    dropped, prepare = [], WarmStarts._prepare

    def watched(self, factors):
        dropped.append(self.at_once < tuning.MOST_WARM_STARTS)
        return prepare(self, factors)

    monkeypatch.setattr(tuning, "GOOD_START", 0.0)
    monkeypatch.setattr(WarmStarts, "_prepare", watched)
    monkeypatch.setattr(WarmStarts, "_may_move", lambda self, last, room: self.state.support)
    found = path_of(opened(folder))
    assert any(dropped)
    assert found.status is Status.CONVERGED
    assert (np.abs(found.objectives - expected.objectives) <= 1e-6 * expected.zero_objective).all()
