"""What can go wrong on a cluster: lost workers and data, a scheduler that goes away, Ctrl-C."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from dask_clusters import as_chunks, kill_a_worker, local_cluster, ready

import ascd
from ascd.matrix.on_dask import OnCluster

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
import dask  # noqa: E402
import dask.array as da  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 40))
Y = X[:, :6] @ RNG.standard_normal(6) + RNG.standard_normal(30)
STRENGTH = float(np.abs(X.T @ Y).max()) / 20.0


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


def stated(data):
    return ascd.Problem(data, Y, penalty=ascd.L1(STRENGTH))


def in_round(problem, number, action):
    """Do something right before a round."""
    executor = problem.design.executor
    ask, count = executor.ask, [0]

    def asked(calls):
        count[0] += 1
        if count[0] == number:
            action()
        return ask(calls)

    executor.ask = asked
    return count


def test_a_cluster_without_workers_is_told_of(monkeypatch):
    monkeypatch.setattr("ascd.matrix.costs.WORKERS_AWAITED", 0.2)
    with local_cluster(0), pytest.raises(RuntimeError, match=r"no worker for 0\.2 seconds: start some"):
        stated(as_chunks(X, "rows"))


@pytest.fixture
def cancelled(client, monkeypatch):
    """How many tasks are cancelled at a time."""
    ready(client)
    found, cancel = [], client.cancel
    monkeypatch.setattr(client, "cancel", lambda tasks, **how: found.append(len(tasks)) or cancel(tasks, **how))
    return found


def interrupting(monkeypatch, where, name):
    """The first call of a function is interrupted."""
    function, calls = getattr(where, name), []

    def called(*given, **how):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return function(*given, **how)

    monkeypatch.setattr(where, name, called)


def test_an_interrupt_cancels_the_tasks_and_keeps_the_point(client, cancelled, monkeypatch):
    problem = stated(as_chunks(X, "columns"))
    interrupting(monkeypatch, client, "gather")
    found = ascd.solve(problem, tol=1e-12)
    assert str(found.status) == "interrupted"
    assert [count > 0 for count in cancelled] == [True]
    assert found.gap < np.inf  # what there is was evaluated


def tall():
    """Rows in parts, and a loss that takes many rounds."""
    labels = np.where(Y + X[:, 9] > 0.0, 1.0, -1.0)
    return ascd.Problem(as_chunks(X[:, :8], "rows"), labels, loss="logistic", penalty=ascd.L1(1.0))


@pytest.mark.parametrize(("make", "numbers"), [(tall, (1, -1)), (lambda: stated(as_chunks(X, "columns")), (2,))])
def test_a_killed_worker_changes_nothing(client, make, numbers, monkeypatch):
    """In whatever round, the first, the last or another: the chunks are computed again, and no round is lost."""
    monkeypatch.setattr("ascd.matrix.costs.NEAR_FETCHED", 0)  # few columns have room here, so there are many rounds
    problem = make()
    count = in_round(problem, 0, None)
    expected = ascd.solve(problem, tol=1e-9)
    assert count[0] > 2
    for number in (count[0] if one < 0 else one for one in numbers):
        ready(client)
        problem = make()
        counted = in_round(problem, number, lambda: kill_a_worker(client))
        found = ascd.solve(problem, tol=1e-9)
        np.testing.assert_allclose(found.x, expected.x, atol=1e-12)
        assert found.converged
        assert counted == count


def test_scattered_data_that_are_lost_are_an_error_that_says_so(client):
    ready(client)
    futures = client.scatter([X[:, :20], X[:, 20:]])
    pieces = [da.from_delayed(dask.delayed(future), (30, 20), dtype=float) for future in futures]
    problem = stated(da.concatenate(pieces, axis=1))
    del pieces
    for process in client.run(os.getpid).values():
        os.kill(process, signal.SIGKILL)
    with pytest.warns(RuntimeWarning, match=r"lost and cannot be computed again.*client\.scatter.*best point so far"):
        found = ascd.solve(problem)
    assert str(found.status) == "unreachable"
    ready(client)


def test_a_cluster_that_loses_all_workers_ends_with_the_best_point(client, monkeypatch):
    ready(client)
    problem = stated(da.from_array(X, chunks=(15, 10)))
    monkeypatch.setattr("ascd.matrix.costs.WORKERS_AWAITED", 0.3)
    client.cluster.scale(0)
    with pytest.warns(RuntimeWarning, match=r"no worker for 0\.3 seconds.*best point so far"):
        found = ascd.solve(problem)
    assert str(found.status) == "unreachable"
    client.cluster.scale(2)
    ready(client)


def test_a_scheduler_that_goes_away(monkeypatch):
    """The best point so far, with a status: of a fit of many runs, and of one that had not begun yet."""
    with local_cluster(1) as client, dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}):
        problem, data = stated(as_chunks(X, "columns")), as_chunks(X[:, :8], "rows")
        asked, ask = [], OnCluster.ask
        monkeypatch.setattr(
            OnCluster,
            "ask",
            lambda self, calls: asked.append(len(asked) == 12 and client.cluster.close()) or ask(self, calls),
        )
        with pytest.warns(match="scheduler has gone away.*The best point so far"):
            robust = ascd.HuberRegressor(alpha=0.1).fit(data, Y)
        assert str(robust.certificate_.status) == "unreachable"
        assert robust.certificate_.objective < robust.certificate_.tolerance / robust.tol
        with pytest.warns(RuntimeWarning, match="scheduler has gone away.*The best point so far"):
            found = ascd.solve(problem, tol=1e-12)
        assert str(found.status) == "unreachable"
        assert found.objective <= Y @ Y
