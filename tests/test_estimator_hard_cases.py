"""Hard cases through the estimators: an answer that is right, or an end with a status and a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from estimators import EVERY, REGRESSORS, make_data, target_of
from sklearn.exceptions import ConvergenceWarning

from ascd import estimators as ours

DATA = make_data(40, 6)
X, Y, LABELS, COUNTS = DATA.X, DATA.y, DATA.labels, DATA.counts
LEAST_SQUARES = ["Lasso", "ElasticNet", "Ridge", "NNLS", "HuberRegressor"]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_a_target_of_zeros_converges_at_once(name, fit_intercept):
    model = REGRESSORS[name](fit_intercept=fit_intercept).fit(X, np.zeros(len(Y)))
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_ == 0.0
    assert model.n_iter_ <= 2
    assert model.certificate_.gap <= model.certificate_.tolerance
    assert name == "HuberRegressor" or model.certificate_.gap == 0.0


@pytest.mark.parametrize("value", [0.1, 1.0 / 3.0, 3.7, 1e6 + 0.1])
@pytest.mark.parametrize("name", [*REGRESSORS, "LassoCV", "ElasticNetCV"])
def test_a_constant_target_is_the_intercept(name, value):
    """What the intercept leaves is rounding, and no share of that is asked for."""
    for data, weight in ((X, None), (X + 5.0, DATA.weight + 0.1), (np.tile(X, 10), None)):
        model = EVERY[name](fit_intercept=True).fit(data, np.full(len(Y), value), sample_weight=weight)
        np.testing.assert_allclose(model.coef_, 0.0, atol=1e-9)
        prediction = np.exp(model.intercept_) if name == "PoissonRegressor" else model.intercept_
        assert prediction == pytest.approx(value)
        assert model.n_iter_ <= 2
        assert model.certificate_.converged


#: Penalties that let the features speak.
WEAK = {"Lasso": {"alpha": 0.01}, "ElasticNet": {"alpha": 0.01}, "LogisticRegression": {"l1_ratio": 1.0}}


@pytest.mark.parametrize("name", EVERY)
def test_features_of_very_different_scales(name):
    scales = np.geomspace(1e-8, 1e8, X.shape[1])
    y = target_of(name, DATA)
    model = EVERY[name](**WEAK.get(name, {})).fit(X * scales, y)
    assert model.certificate_.converged
    assert model.certificate_.gap <= model.certificate_.tolerance
    assert model.score(X * scales, y) > 0.1 or name in ("LassoCV", "ElasticNetCV")  # their alphas end too early


def test_separable_data_without_a_penalty_end_with_a_status_and_finite_coefficients():
    separable = (X[:, 0] > 0.0).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ours.LogisticRegression(C=np.inf, max_iter=50).fit(X, separable)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, separable) == 1.0
    assert model.certificate_.converged or any(issubclass(w.category, ConvergenceWarning) for w in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        three = ours.LogisticRegression(C=np.inf, max_iter=50).fit(X, np.digitize(X[:, 0], [-0.2, 0.3]))
        chosen = ours.LogisticRegressionCV(Cs=[np.inf], cv=3, max_iter=50).fit(X, separable)
    assert np.isfinite(three.coef_).all()
    assert np.isfinite(chosen.coef_).all()
    assert np.isinf(chosen.C_)


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet"])
def test_alpha_zero_is_least_squares_and_says_so(name):
    with pytest.warns(UserWarning, match="alpha=0 has no penalty: this is ordinary least squares") as caught:
        model = REGRESSORS[name](alpha=0.0, tol=1e-12).fit(X, Y)
    assert caught[0].filename == __file__
    expected = np.linalg.lstsq(np.c_[X, np.ones(len(Y))], Y, rcond=None)[0]
    np.testing.assert_allclose(model.coef_, expected[:-1], atol=1e-5)
    assert model.intercept_ == pytest.approx(expected[-1], abs=1e-5)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("factor", [1.0 + 1e-9, 2.0, 1e6])
def test_alpha_beyond_alpha_max_gives_exactly_zero(fit_intercept, factor):
    centered = Y - Y.mean() if fit_intercept else Y
    alpha_max = np.abs((X - X.mean(axis=0) if fit_intercept else X).T @ centered).max() / len(Y)
    model = ours.Lasso(alpha=factor * alpha_max, fit_intercept=fit_intercept).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_ == pytest.approx(Y.mean() if fit_intercept else 0.0)
    below = ours.Lasso(alpha=0.99 * alpha_max, fit_intercept=fit_intercept).fit(X, Y)
    assert np.count_nonzero(below.coef_) == 1


@pytest.mark.parametrize("name", [name for name in EVERY if not name.endswith("CV")])  # their folds would differ
def test_samples_of_weight_zero_are_as_good_as_absent(name):
    y, kept = target_of(name, DATA), np.arange(len(Y)) % 3 > 0
    weighted = EVERY[name](tol=1e-10).fit(X, y, sample_weight=kept.astype(float))
    removed = EVERY[name](tol=1e-10).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.coef_, removed.coef_, atol=1e-4)
    np.testing.assert_allclose(weighted.intercept_, removed.intercept_, atol=1e-4)


@pytest.mark.usefixtures("compiled")
def test_an_early_end_is_a_warning_in_the_users_units_with_advice():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((50, 300))
    y = wide[:, :20] @ rng.standard_normal(20)
    with pytest.warns(ConvergenceWarning) as caught:
        model = ours.Lasso(alpha=1e-3, tol=1e-14, max_iter=1).fit(wide, y)
    certificate, message = model.certificate_, str(caught[0].message)
    assert caught[0].filename == __file__
    assert not certificate.converged
    assert f"gap is {certificate.gap:.3g}" in message
    assert f"tolerance is {certificate.tolerance:.3g}" in message
    assert "Increase max_iter" in message
    assert certificate.tolerance == pytest.approx(1e-14 * 0.5 * np.var(y))
    best = ours.Lasso(alpha=1e-3, tol=1e-8).fit(wide, y).certificate_
    assert certificate.objective - best.objective <= certificate.gap
    assert model.dual_gap_ == certificate.gap


@pytest.mark.parametrize(
    ("name", "value"), [("Lasso", 0.5), ("Lasso", 1e5 + 0.1), ("HuberRegressor", 3.7), ("PoissonRegressor", 3.7)]
)
def test_a_constant_column_without_a_penalty_is_proved_beside_the_intercept(name, value):
    constant = np.c_[X, np.full(len(Y), value)]
    weights = np.append(np.ones(X.shape[1]), 0.0)
    model = EVERY[name](penalty_weights=weights).fit(constant, target_of(name, DATA))
    assert model.certificate_.converged
