"""Fits of several runs whose cluster is lost, or that are interrupted: what is known is returned, or nothing promised.

Any round may be hit: faults are put into those of the local scheduler.  What a cluster does is in test_dask_faults.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from dask_clusters import as_chunks

import ascd
from ascd.matrix import on_dask
from ascd.matrix.base import DataGone

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
Y = X[:, 0] - 2.0 * X[:, 3] + 0.3 * RNG.standard_normal(60)
LABELS = np.where(Y > 0.0, "yes", "no")
CLASSES = np.digitize(Y, [-1.0, 1.0])
TWO = np.column_stack([Y, X[:, 1] - Y])


@pytest.fixture
def in_round(monkeypatch):
    """Let an error come up in a round, and in all after it unless it is Ctrl-C; yields the count of rounds."""
    count, ask = [0], on_dask.Scheduled.ask

    def fail(number, error):
        count[0] = 0

        def asked(self, calls):
            count[0] += 1
            if count[0] == number or (count[0] > number and error is not KeyboardInterrupt):
                raise error
            return ask(self, calls)

        monkeypatch.setattr(on_dask.Scheduled, "ask", asked)
        return count

    with dask.config.set(scheduler="sync"):
        yield fail


GONE = DataGone("the cluster has gone")


def rounds_of(in_round, model, y, kind="rows"):
    count = in_round(10**9, GONE)
    model.fit(as_chunks(X, kind), y)
    return count[0]


def told_by(model, y, kind="rows", data=None):
    """The warnings of a fit."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(as_chunks(X, kind) if data is None else data, y)
    return [str(one.message) for one in told]


def fails_quietly(error, model, y, kind="rows"):
    """It raises the error, and has promised nothing before."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error):
            model.fit(as_chunks(X, kind), y)


@pytest.mark.parametrize("kind", ["rows", "columns"])
def test_a_huber_regression_ends_with_its_best_point(in_round, kind):
    """While it solves for a scale, and while it looks at residuals; before that there is nothing."""
    model = ascd.HuberRegressor(alpha=0.1)
    last = rounds_of(in_round, model, Y, kind)
    best = model.certificate_.objective
    found = {}
    for number in sorted({2, last // 2, last - 1, last}):
        in_round(number, GONE)
        try:
            told = told_by(model, Y, kind)
        except DataGone:
            assert not found  # no residuals yet
            continue
        assert "the cluster has gone. The best point so far is returned" in told
        found[number] = model.certificate_
        residuals = Y - X @ model.coef_ - model.intercept_
        size, scale = np.abs(residuals), model.scale_
        losses = np.where(size <= 1.35 * scale, size**2 / scale, 2.7 * size - 1.35**2 * scale)
        objective = float(np.sum(scale + losses) + 0.1 * model.coef_ @ model.coef_)
        assert model.certificate_.objective == pytest.approx(objective, rel=1e-9)
        assert objective - best <= model.certificate_.gap + 1e-9
    # all of the few columns are fetched before the first residuals
    assert kind == "columns" or str(found[last // 2].status) == "unreachable"
    in_round(1, GONE)
    fails_quietly(DataGone, model, Y, kind)


MANY = {
    "lasso": (ascd.LassoCV(alphas=3, cv=3), Y),
    "elastic net": (ascd.ElasticNetCV(alphas=3, cv=3, l1_ratio=[0.5, 1.0], choose="1se"), Y),
    "two classes": (ascd.LogisticRegressionCV(Cs=[0.1, 1.0], cv=2), LABELS),
    "three classes": (ascd.LogisticRegressionCV(Cs=[1.0], cv=2), CLASSES),
    "not fitted again": (ascd.LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, refit=False), LABELS),
    "two targets": (ascd.MultiTaskLassoCV(alphas=3, cv=2), TWO),
    "groups": (ascd.GroupLassoCV(groups=2, alphas=3, cv=2), Y),
}


@pytest.mark.parametrize("name", MANY)
def test_a_cross_validation_whose_folds_lose_their_data_is_an_error(in_round, name):
    model, y = MANY[name]
    last = rounds_of(in_round, model, y)
    for number in (2, last // 2):
        in_round(number, GONE)
        fails_quietly(DataGone, model, y)


@pytest.mark.parametrize(
    ("model", "y"), [(ascd.LogisticRegression(l1_ratio=1.0), CLASSES), (ascd.MultiTaskLasso(0.1), TWO)]
)
def test_blocks_end_with_the_point_that_was_looked_at(in_round, model, y):
    last = rounds_of(in_round, model, y)
    best = model.certificate_
    for number in (2, last // 2, last * 3 // 4):
        in_round(number, GONE)
        assert "the cluster has gone. The best point so far is returned" in told_by(model, y)
        now = model.certificate_
        assert str(now.status) == "unreachable"
        assert best.objective - best.gap - 1e-12 <= now.objective
        assert now.objective - best.objective <= now.gap + best.gap
