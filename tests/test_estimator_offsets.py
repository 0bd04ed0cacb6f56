"""Offsets: what is known of the linear predictor beforehand, in fits, predictions, paths and cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from scaled_data import SCALES, N, P, counts, data, labels
from scipy import sparse
from scipy.optimize import minimize as scipy_minimize
from sklearn import linear_model
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import KFold

import ascd


def offset_of(seed=1):
    return np.random.default_rng(seed).normal(0.0, 1.0, N)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csc_array])
def test_an_exposure_is_a_weight_and_a_rate(stored):
    """exp(z + log E) − y·(z + log E) = E·(exp(z) − (y/E)·z) + constant: scikit-learn's way to say it."""
    X, y, _ = data()
    X, y, exposure = stored(X / SCALES - 3.0), counts(y), np.exp(offset_of())
    ours = ascd.PoissonRegressor(alpha=0.2, tol=1e-11).fit(X, y, offset=np.log(exposure))
    peer = linear_model.PoissonRegressor(alpha=0.2 * N / exposure.sum(), tol=1e-10, max_iter=10_000)
    peer.fit(X, y / exposure, sample_weight=exposure)
    assert ours.coef_ == pytest.approx(peer.coef_, rel=1e-4, abs=1e-6)
    assert ours.intercept_ == pytest.approx(peer.intercept_, rel=1e-4)
    assert ours.predict(X, offset=np.log(exposure)) == pytest.approx(exposure * peer.predict(X), rel=1e-4)
    assert ours.certificate_.converged
    scored = d2_tweedie_score(y, exposure * peer.predict(X), power=1)
    assert ours.score(X, y, offset=np.log(exposure)) == pytest.approx(scored, rel=1e-3)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_logistic_regression_with_an_offset_is_the_minimum(l1_ratio):
    X, y, _ = data()
    X, y, known = X / SCALES - 3.0, labels(y), offset_of()
    model = ascd.LogisticRegression(C=0.5, l1_ratio=l1_ratio, tol=1e-11).fit(X, y, offset=known)
    sign = np.where(y == "yes", 1.0, -1.0)

    def objective(both):  # positive and negative parts: smooth inside their bounds, for L1 too
        w, c = both[:P] - both[P:-1], both[-1]
        loss = np.logaddexp(0.0, -sign * (X @ w + c + known)).sum()
        return loss + 2.0 * (l1_ratio * both[:-1].sum() + (1.0 - l1_ratio) / 2.0 * w @ w)

    limits = [(0.0, None)] * (2 * P) + [(None, None)]
    peer = scipy_minimize(objective, np.zeros(2 * P + 1), bounds=limits, options={"maxfun": 10**6, "maxiter": 10**4})
    assert model.certificate_.objective <= peer.fun + 1e-9 * abs(peer.fun)
    assert model.certificate_.objective == pytest.approx(peer.fun, rel=1e-5)
    assert model.certificate_.objective - model.certificate_.gap <= peer.fun


def test_predictions_add_the_offset():
    X, y, _ = data()
    y, known = labels(y), 3.0 * offset_of()
    model = ascd.LogisticRegression().fit(X, y, offset=known)
    odds = X @ model.coef_[0] + model.intercept_[0] + known
    assert model.decision_function(X, offset=known) == pytest.approx(odds)
    assert model.predict_proba(X, offset=known)[:, 1] == pytest.approx(1.0 / (1.0 + np.exp(-odds)))
    assert np.exp(model.predict_log_proba(X, offset=known)) == pytest.approx(model.predict_proba(X, offset=known))
    assert (model.predict(X, offset=known) == np.where(odds > 0.0, "yes", "no")).all()
    assert model.score(X, y, offset=known) == np.mean(model.predict(X, offset=known) == y)
    assert model.predict_proba(X, offset=np.zeros(N)) == pytest.approx(model.predict_proba(X))


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_cross_validation_fits_and_scores_with_the_offset(stored):
    size = 30
    X, y, _ = data()
    X, y, known, cv = (X / SCALES - 3.0)[:size], labels(y)[:size], 2.0 * offset_of()[:size], KFold(3)
    how = {"Cs": [0.1, 1.0], "cv": cv, "scoring": "neg_log_loss", "tol": 1e-12}
    found = ascd.LogisticRegressionCV(**how).fit(stored(X), y, offset=known)
    for fold, (train, test) in enumerate(cv.split(X)):
        model = ascd.LogisticRegression(C=1.0, tol=1e-12).fit(X[train], y[train], offset=known[train])
        share = model.predict_proba(X[test], offset=known[test])[np.arange(test.size), (y[test] == "yes").astype(int)]
        assert found.scores_[fold, 0, 1] == pytest.approx(np.log(share).mean(), rel=1e-5)
    last = ascd.LogisticRegression(C=found.C_, tol=1e-10).fit(X, y, offset=known)
    assert found.coef_ == pytest.approx(last.coef_, rel=1e-4, abs=1e-5)
    truth = np.log(last.predict_proba(X, offset=known)[np.arange(size), (y == "yes").astype(int)]).mean()
    assert found.score(stored(X), y, offset=known) == pytest.approx(truth, rel=1e-4)


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (np.zeros(N - 1), "offset must have length 60; got 59"),
        (np.full(N, np.nan), "offset must be finite"),
        (np.zeros((N, 2)), "offset must be one-dimensional"),
        (["a"] * N, "offset must"),
    ],
)
def test_wrong_offsets_are_named(offset, said):
    X, y, _ = data()
    with pytest.raises((ValueError, TypeError), match=said):
        ascd.PoissonRegressor().fit(X, counts(y), offset=offset)
    with pytest.raises((ValueError, TypeError), match=said):
        ascd.LogisticRegression().fit(X, labels(y), offset=offset)
