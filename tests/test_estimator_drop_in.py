"""What a user of scikit-learn may be surprised by: precision of coefficients, shapes, types, weights of classes."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model as peers
from estimators import EVERY, make_data, target_of
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as TheirSVC

from ascd import estimators as ours

DATA = make_data(60, 6)
X, Y, LABELS, COUNTS = DATA.X, DATA.y, DATA.labels, DATA.counts
THREE = np.array(["a", "b", "c"])[np.digitize(Y, [-1.5, 1.0])]
STRENGTHS = [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e8]


def error(found, expected):
    return np.linalg.norm(np.ravel(found) - np.ravel(expected)) / np.linalg.norm(expected)


def precise(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y).coef_


POISSON = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 10_000}
#: Ours, theirs and the target, for one strength of the penalty.
PRECISE = {
    "poisson": lambda a: (ours.PoissonRegressor(alpha=a), peers.PoissonRegressor(alpha=a, **POISSON), COUNTS),
    "logistic": lambda a: (ours.LogisticRegression(C=1 / a), peers.LogisticRegression(C=1 / a, **POISSON), LABELS),
    "primal": lambda a: (ours.LinearSVC(C=1 / a, dual=False), TheirSVC(C=1 / a, tol=1e-12, max_iter=100_000), LABELS),
    "dual": lambda a: (ours.LinearSVC(C=1 / a, dual=True), TheirSVC(C=1 / a, tol=1e-12, max_iter=100_000), LABELS),
    "huber": lambda a: (ours.HuberRegressor(alpha=a), peers.HuberRegressor(alpha=a, tol=1e-12, max_iter=100_000), Y),
}


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("name", PRECISE)
def test_the_tolerance_bounds_the_error_of_coefficients(name, strength, request):
    """With an L2 penalty the relative error is at most √tol, as far as float64 allows.

    Compiled but for the squared hinge, which no other test compiles on dense data without weights.
    """
    if name != "primal":
        request.getfixturevalue("compiled")
    model, theirs, y = PRECISE[name](np.clip(strength, 1e-3, 1e4) if name == "huber" else strength)
    assert error(model.fit(X, y).coef_, precise(theirs, y)) <= 1e-3
    assert model.certificate_.converged


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", ["Ridge", "Lasso", "ElasticNet", "NNLS"])
def test_shapes_are_scikit_learns(name, fit_intercept, columns):
    target = np.c_[Y, -Y][:, :columns]
    model = getattr(ours, name)(fit_intercept=fit_intercept).fit(X, target)
    theirs = peers.LinearRegression(positive=True) if name == "NNLS" else getattr(peers, name)()
    theirs.set_params(fit_intercept=fit_intercept).fit(X, target)
    for attribute in ("coef_", "intercept_"):
        assert np.shape(getattr(model, attribute)) == np.shape(getattr(theirs, attribute)), attribute
    assert model.predict(X).shape == theirs.predict(X).shape


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet", "NNLS", "LogisticRegression", "PoissonRegressor"])
def test_a_warm_start_from_coefficients_set_by_hand(name):
    y = target_of(name, DATA)
    expected = EVERY[name](tol=1e-10).fit(X, y).coef_
    model = EVERY[name](tol=1e-10, warm_start=True)
    model.coef_ = np.full_like(expected, 0.1)
    np.testing.assert_allclose(model.fit(X, y).coef_, expected, atol=1e-4)
    started = EVERY[name](tol=1e-8, warm_start=True)
    started.coef_ = expected
    assert np.max(started.fit(X, y).n_iter_) <= np.max(model.n_iter_)


FLOAT32 = {
    **{name: getattr(peers, name) for name in ("Lasso", "ElasticNet", "Ridge", "PoissonRegressor", "HuberRegressor")},
    "LogisticRegression": peers.LogisticRegression,
    "LinearSVC": TheirSVC,
    "NNLS": lambda **how: peers.LinearRegression(positive=True, **how),
    "LassoCV": lambda **how: peers.LassoCV(cv=3, **how),
    "ElasticNetCV": lambda **how: peers.ElasticNetCV(cv=3, **how),
    "LogisticRegressionCV": lambda **how: peers.LogisticRegressionCV(
        cv=3, use_legacy_attributes=False, l1_ratios=(0,), scoring="accuracy", **how
    ),
    "LinearSVCCV": TheirSVC,
}


@pytest.mark.parametrize(("number", "dtype"), [*enumerate([np.float32, np.float64, np.float16, np.int64])])
@pytest.mark.parametrize("name", EVERY)
def test_the_type_of_coefficients_is_scikit_learns(name, number, dtype):
    """Every two of estimator, type and intercept meet."""
    fit_intercept = (number + list(EVERY).index(name)) % 2 == 0
    data, y = (2.0 * X).astype(dtype), target_of(name, DATA)
    model = EVERY[name](fit_intercept=fit_intercept).fit(data, y)
    assert FLOAT32.keys() == EVERY.keys()
    theirs = FLOAT32[name](fit_intercept=fit_intercept).fit(data, y)
    if name == "NNLS":  # LinearRegression keeps float16 too, and float32 only with an intercept
        assert model.coef_.dtype == (np.float32 if dtype is np.float32 else np.float64)
        return
    assert model.coef_.dtype == theirs.coef_.dtype
    assert np.asarray(model.intercept_).dtype == np.asarray(theirs.intercept_).dtype
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            assert getattr(model, method)(data).dtype == getattr(theirs, method)(data).dtype, method


def test_float32_is_found_in_frames_and_sparse_data_and_the_fit_is_float64():
    single = X.astype(np.float32)
    expected = ours.Lasso(0.1).fit(single.astype(float), Y)
    for data in (single, pd.DataFrame(single, columns=list("abcdef")), sparse.csr_array(single)):
        model = ours.Lasso(0.1).fit(data, Y)
        assert model.coef_.dtype == np.float32
        np.testing.assert_array_equal(model.coef_, expected.coef_.astype(np.float32))
        certificate = model.certificate_  # that of the rounded coefficients
        assert expected.certificate_.gap <= certificate.gap <= certificate.tolerance
        residuals = Y - single.astype(float) @ model.coef_.astype(float) - float(model.intercept_)
        objective = 0.5 * np.mean(residuals**2) + 0.1 * np.abs(model.coef_.astype(float)).sum()
        assert certificate.objective == pytest.approx(objective, rel=1e-12)
    mixed = pd.DataFrame(single, columns=list("abcdef")).astype({"a": float})
    assert ours.Lasso(0.1).fit(mixed, Y).coef_.dtype == np.float64


CLASS_WEIGHTS = ["balanced", {"a": 3.0, "b": 0.5, "c": 2.0}, {"b": 4.0}]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS, ids=str)
def test_support_vectors_of_several_classes_weigh_as_in_liblinear(class_weight, dual, weighted):
    weight = DATA.weight + 0.1 if weighted else None
    how = {"class_weight": class_weight, "C": 0.3, "dual": dual, "tol": 1e-10}
    model = ours.LinearSVC(**how).fit(X, THREE, sample_weight=weight)
    theirs = TheirSVC(**how, max_iter=1_000_000).fit(X, THREE, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("class_weight", [None, *CLASS_WEIGHTS], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_regression_of_several_classes_is_multinomial(class_weight, weighted):
    """A tolerance of 1e-12 would be near what rounding allows: all its rounds bring nothing any more."""
    weight = DATA.weight + 0.1 if weighted else None
    model = ours.LogisticRegression(class_weight=class_weight, tol=1e-10).fit(X, THREE, sample_weight=weight)
    how = {"tol": 1e-12, "solver": "newton-cg", "max_iter": 10_000}
    theirs = peers.LogisticRegression(class_weight=class_weight, **how).fit(X, THREE, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert model.n_iter_.shape == theirs.n_iter_.shape


@pytest.mark.parametrize("params", [{"bounds": (0.0, 1.0)}, {"solver": "a-ascd"}])
def test_what_is_for_two_classes_says_so(params):
    with pytest.raises(ValueError, match="is for two classes: wrap LogisticRegression"):
        ours.LogisticRegression(**params).fit(X, THREE)


@pytest.mark.parametrize("class_weight", [None, *CLASS_WEIGHTS], ids=str)
def test_cross_validation_weighs_the_classes_as_the_last_fit_does(class_weight):
    model = ours.LogisticRegressionCV(Cs=[0.5], cv=3, class_weight=class_weight, tol=1e-6).fit(X, THREE)
    alone = ours.LogisticRegression(C=0.5, class_weight=class_weight, tol=1e-10).fit(X, THREE)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-4)
    fold = np.arange(len(Y)) % 3 > 0
    shared = [(np.flatnonzero(fold), np.flatnonzero(~fold))]
    chosen = ours.LogisticRegressionCV(Cs=[0.5], cv=shared, class_weight=class_weight, tol=1e-7).fit(X, THREE)
    part = ours.LogisticRegression(C=0.5, tol=1e-10).fit(X[fold], THREE[fold], expected_factors(class_weight)[fold])
    np.testing.assert_allclose(chosen.coefs_paths_[0, 0, 0, :, :-1], part.coef_, atol=1e-4)


def expected_factors(class_weight):
    """What each sample weighs."""
    if class_weight is None:
        return np.ones(len(Y))
    if class_weight == "balanced":
        return np.array([len(Y) / (3.0 * (label == THREE).sum()) for label in THREE])
    return np.array([class_weight.get(label, 1.0) for label in THREE])
