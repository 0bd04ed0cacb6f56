"""Standardised features in models of several targets and classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ascd

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 8)) * 10.0 ** np.linspace(-1.0, 1.0, 8) + 1.0
X[RNG.random(X.shape) < 0.4] = 0.0
X[:, 5] = 3.0  # constant: as if its deviation were 1
Y = X[:, :3] @ RNG.standard_normal((3, 2)) + 0.3 * RNG.standard_normal((60, 2))
WEIGHT = RNG.integers(0, 4, 60) * 0.5
TIGHT = {"tol": 1e-12}


def undone(pipeline):
    """Coefficients and intercepts of a pipeline in the units of the data."""
    scaler, model = (step for _, step in pipeline.steps)
    coef = model.coef_ / scaler.scale_
    return coef, model.intercept_ - coef @ scaler.mean_


@pytest.mark.parametrize("stored", [np.asfortranarray, np.ascontiguousarray, sparse.csc_matrix, sparse.csr_matrix])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_several_targets_are_fitted_as_in_a_pipeline(stored, weight, ratio):
    how = {"alpha": 0.05, "l1_ratio": ratio}
    model = ascd.MultiTaskElasticNet(**how, standardize=True, **TIGHT).fit(stored(X), Y, sample_weight=weight)
    scaler = StandardScaler().fit(X, sample_weight=weight)
    theirs = ascd.MultiTaskElasticNet(**how, **TIGHT).fit(scaler.transform(X), Y, sample_weight=weight)
    coef = theirs.coef_ / scaler.scale_
    np.testing.assert_allclose(model.coef_, coef, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_ - coef @ scaler.mean_, atol=1e-5)
    assert model.certificate_.objective == pytest.approx(theirs.certificate_.objective, rel=1e-9)
    plain = ascd.MultiTaskElasticNet(**how, **TIGHT).fit(stored(X), Y, sample_weight=weight)
    assert np.abs(plain.coef_ - model.coef_).max() > 1e-3


@pytest.mark.parametrize("name", ["MultiTaskLassoCV", "MultiTaskElasticNetCV"])
def test_each_fold_uses_its_own_deviations(name):
    alphas, cv = [0.5, 0.05, 0.005], KFold(3)
    model = getattr(ascd, name)(alphas=alphas, cv=cv, standardize=True, **TIGHT).fit(X, Y)
    single = getattr(ascd, name.removesuffix("CV"))
    errors = np.empty((3, 3))
    for column, (train, test) in enumerate(cv.split(X)):
        for row, alpha in enumerate(alphas):
            fold = make_pipeline(StandardScaler(), single(alpha=alpha, **TIGHT)).fit(X[train], Y[train])
            errors[row, column] = np.mean((fold.predict(X[test]) - Y[test]) ** 2)
    np.testing.assert_allclose(model.mse_path_, errors, rtol=1e-6)
    again = single(alpha=model.alpha_, standardize=True, **TIGHT).fit(X, Y)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-7)


@pytest.mark.parametrize("grouped", [False, True])
def test_three_classes_are_fitted_as_in_a_pipeline(grouped):
    classes = np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.7]))
    how = {"C": 0.5, "l1_ratio": 0.7, "grouped": grouped, "tol": 1e-12}
    model = ascd.LogisticRegression(standardize=True, **how).fit(X, classes)
    coef, intercept = undone(make_pipeline(StandardScaler(), ascd.LogisticRegression(**how)).fit(X, classes))
    np.testing.assert_allclose(model.coef_, coef, atol=1e-5)
    # the same number added to all intercepts changes nothing
    np.testing.assert_allclose(model.intercept_ - model.intercept_.mean(), intercept - intercept.mean(), atol=1e-4)
