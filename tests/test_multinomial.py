"""Logistic regression of three and more classes: agreement with scikit-learn, hard input, and what grouping does."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as peers
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold

from ascd import estimators as ours

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def objective(model, C, ratio, weight=None, grouped=False):
    """Σ s·(log Σ exp(z) − z_y) + r(W)/C."""
    z = X @ model.coef_.T + model.intercept_
    losses = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(Y)), Y]
    W = model.coef_
    kinks = np.linalg.norm(W, axis=0).sum() if grouped else np.abs(W).sum()
    return (
        np.average(losses, weights=weight) * (len(Y) if weight is None else weight.sum())
        + (ratio * kinks + 0.5 * (1.0 - ratio) * (W**2).sum()) / C
    )


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
def test_l2_agrees_with_scikit_learn(C, fit_intercept):
    mine = ours.LogisticRegression(C=C, fit_intercept=fit_intercept).fit(X, NAMES)
    theirs = peers.LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000, solver="newton-cg")
    theirs.fit(X, NAMES)
    assert mine.certificate_.converged
    assert np.linalg.norm(mine.coef_ - theirs.coef_) <= 1e-3 * np.linalg.norm(theirs.coef_)
    assert objective(mine, C, 0.0) - objective(theirs, C, 0.0) <= mine.certificate_.gap
    assert mine.certificate_.objective == pytest.approx(objective(mine, C, 0.0), rel=1e-10)
    np.testing.assert_array_equal(mine.classes_, theirs.classes_)
    assert mine.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(mine.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(("C", "ratio"), [(1.0, 1.0), (0.1, 0.5), (0.02, 1.0)])
def test_l1_and_both_agree_with_scikit_learn(C, ratio):
    mine = ours.LogisticRegression(C=C, l1_ratio=ratio, tol=1e-10).fit(sparse.csr_array(X), Y)
    theirs = peers.LogisticRegression(C=C, l1_ratio=ratio, tol=1e-9, max_iter=100_000, solver="saga").fit(X, Y)
    value, other = (objective(model, C, ratio) for model in (mine, theirs))
    assert mine.certificate_.converged
    assert value <= other + 1e-7 * other
    assert other - value <= 1e-5 * other  # saga hardly moves the intercept


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_a_feature_is_used_by_all_classes_or_by_none(C):
    model = ours.LogisticRegression(C=C, l1_ratio=1.0, grouped=True, tol=1e-10).fit(X, Y)
    plain = ours.LogisticRegression(C=C, l1_ratio=1.0, tol=1e-10).fit(X, Y)
    used = (model.coef_ != 0.0).sum(axis=0)
    assert set(used.tolist()) <= {0, 3}
    assert model.certificate_.converged
    assert objective(model, C, 1.0, grouped=True) <= objective(plain, C, 1.0, grouped=True) + 1e-8
    assert objective(plain, C, 1.0) <= objective(model, C, 1.0) + 1e-8


def test_cross_validation_agrees_with_scikit_learn():
    shared = {"Cs": [0.01, 1.0, 100.0], "cv": KFold(3, shuffle=True, random_state=0), "scoring": "neg_log_loss"}
    mine = ours.LogisticRegressionCV(**shared, tol=1e-9).fit(X, Y)
    theirs = peers.LogisticRegressionCV(
        **shared, l1_ratios=(0,), use_legacy_attributes=False, solver="newton-cg", tol=1e-10, max_iter=10_000
    ).fit(X, Y)
    np.testing.assert_allclose(mine.scores_, theirs.scores_, rtol=1e-3)
    assert mine.C_ == theirs.C_
    assert mine.coefs_paths_.shape == theirs.coefs_paths_.shape
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-3)
