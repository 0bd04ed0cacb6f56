"""Dask's collections: the same estimators, the same answers, and the data stay where they are."""

from __future__ import annotations

import os
from textwrap import dedent

import numpy as np
import pytest
from copies import OTHERS, ended
from dask_clusters import KINDS, as_chunks, local_cluster
from solving import LOSSES, make_case

import ascd
from ascd.matrix import costs
from ascd.matrix.open import open_design

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
import dask.array as da  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 8)) * (RNG.random((90, 8)) < 0.7)
SIGNAL = X[:, 0] - 2.0 * X[:, 3] + 0.3 * RNG.standard_normal(90)
WEIGHT = RNG.random(90)
LABELS = np.where(SIGNAL > 0.0, "yes", "no")
COUNTS = RNG.poisson(np.exp(0.3 * SIGNAL)).astype(float)
MODELS = {
    "lasso": (ascd.Lasso(0.05), SIGNAL),
    "lasso, standardised": (ascd.Lasso(0.05, standardize=True), SIGNAL),
    "elastic net, positive": (ascd.ElasticNet(0.05, positive=True, penalty_weights=np.arange(4.0)), SIGNAL),
    "ridge": (ascd.Ridge(2.0, tol=1e-12), SIGNAL),
    "lasso with bounds": (ascd.Lasso(0.05, bounds=(-1.0, 0.5), tol=1e-12), SIGNAL),
    "huber": (ascd.HuberRegressor(alpha=1.0, tol=1e-10), SIGNAL),
    "poisson": (ascd.PoissonRegressor(alpha=0.1, tol=1e-12), COUNTS),
    "logistic": (ascd.LogisticRegression(tol=1e-12, l1_ratio=1.0), LABELS),
    "svm": (ascd.LinearSVC(dual=False, tol=1e-12), LABELS),
    "lasso cv": (ascd.LassoCV(alphas=4, cv=3), SIGNAL),
    "logistic cv": (ascd.LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, tol=1e-13), LABELS),
    "three classes": (ascd.LogisticRegression(tol=1e-12), np.digitize(SIGNAL, [-1.0, 1.0])),
}


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


#: each kind of chunks with every other problem, so that each two values meet in some row; each kind once on the cluster
ROWS = [
    (kind, loss, penalty, number % 2 == 0, None if number % 6 == 0 or number == 25 else "sync")
    for number, (kind, loss) in enumerate((kind, loss) for kind in KINDS for loss in LOSSES)
    for penalty in [("l1", "none", "box", "elastic net, some free")[(number + number // 6) % 4]]
]


@pytest.mark.parametrize(("kind", "loss", "penalty", "intercept", "scheduler"), ROWS)
def test_every_partition_gives_the_answer_of_the_whole(client, kind, loss, penalty, intercept, scheduler):
    case = make_case(loss, penalty, intercept, seed=4)
    expected = ascd.solve(case.problem(), tol=1e-9, intercept=intercept)
    with dask.config.set(scheduler=scheduler):
        found = ascd.solve(case.problem(as_chunks(case.A, kind)), tol=1e-9, intercept=intercept)
    assert str(found.status) == str(expected.status)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9, abs=1e-12)


assert {row[0] for row in ROWS if row[-1] is None} == set(KINDS)
#: Models of many rounds, which are the same on a cluster; those of one process on fewer numbers take less time.
LONG = ("huber", "logistic cv", "three classes")


@pytest.mark.parametrize(("name", "kind"), [(name, KINDS[number % 6]) for number, name in enumerate(MODELS)])
def test_estimators(client, name, kind):
    with dask.config.set(scheduler="sync" if name in LONG else None):
        compare_estimator(*MODELS[name], kind, 30 if name in LONG else 45, 4)


def compare_estimator(model, y, kind, d, n):
    dense, y, weight = X[:d, :n], y[:d], WEIGHT[:d]
    expected = model.fit(dense, y, sample_weight=weight)
    coef, predicted, score = expected.coef_.copy(), expected.predict(dense), expected.score(dense, y)
    data, target = as_chunks(dense, kind), da.from_array(y, chunks=20)
    found = model.fit(data, target, sample_weight=da.from_array(weight, chunks=16))
    np.testing.assert_allclose(found.coef_, coef, atol=1e-6)
    assert found.n_features_in_ == n
    assert hasattr(found, "feature_names_in_") == (kind == "frame")
    lazy = found.predict(data)
    assert isinstance(lazy, da.Array)
    if y.dtype.kind == "f":
        np.testing.assert_allclose(lazy.compute(), predicted, atol=1e-5)
    else:
        assert np.array_equal(lazy.compute(), predicted)
    if hasattr(found, "predict_proba"):
        probabilities = found.predict_proba(data)
        assert isinstance(probabilities, da.Array)
        np.testing.assert_allclose(probabilities.compute().sum(axis=1), 1.0)
    assert found.score(data, target) == pytest.approx(score, abs=1e-6)


def test_a_round_is_one_task_a_worker_and_one_answer(client, monkeypatch):
    data = da.from_array(RNG.standard_normal((400, 6)), chunks=(20, 6)).persist()
    design = open_design(data)
    executor = design.executor
    design.column_stats(1.0, np.zeros((1, 400)))
    submit, tasks = client.submit, []
    monkeypatch.setattr(client, "submit", lambda *given, **how: tasks.append(given) or submit(*given, **how))
    before = executor.sent, executor.received
    design.dots(np.arange(6), np.ones(400))
    assert len(tasks) == 2
    assert executor.sent - before[0] <= 8 * (400 + 20 * 6)  # the vector once, and column numbers
    assert executor.received - before[1] == 2 * 8 * 6  # of twenty parts on two workers


@pytest.mark.parametrize("share", [0.5, 0.0])
@pytest.mark.parametrize("kind", ["both", "frame"])
def test_without_a_cluster_the_collections_own_scheduler_is_used(kind, share, monkeypatch):
    """Parts that have no room in memory are computed anew in every round."""
    monkeypatch.setattr(costs, "MEMORY_SHARE", share)
    with dask.config.set(scheduler="threads"):
        found = ascd.Lasso(0.05).fit(as_chunks(X, kind), SIGNAL)
    np.testing.assert_allclose(found.coef_, ascd.Lasso(0.05).fit(X, SIGNAL).coef_, atol=1e-12)


def test_empty_chunks_are_left_out(client):
    import dask.dataframe as dd
    import pandas

    table = pandas.DataFrame(X).rename(columns=str).assign(y=SIGNAL, number=np.arange(90))
    frame = dd.from_pandas(table, npartitions=6)
    kept = frame[frame["number"] >= 40]
    found = ascd.Lasso(0.05).fit(kept.drop(columns=["y", "number"]), kept["y"])
    np.testing.assert_allclose(found.coef_, ascd.Lasso(0.05).fit(X[40:], SIGNAL[40:]).coef_, atol=1e-12)
    with_gaps = da.concatenate([da.zeros((0, 8)), da.from_array(X), da.zeros((0, 8))])
    np.testing.assert_allclose(open_design(with_gaps).dots(np.arange(8), SIGNAL), X.T @ SIGNAL)


def test_nothing_of_dask_is_imported_without_its_collections():
    code = """
        import sys, numpy, ascd
        from ascd._core.jit import debugging
        with debugging(True):
            ascd.Lasso().fit(numpy.eye(3), [1.0, 2.0, 3.0])
        print("dask" in sys.modules)
    """
    surroundings = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    assert ended(dedent(code), surroundings, OTHERS) == (0, "False\n", "")
