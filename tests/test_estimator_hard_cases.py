"""Bad input and hard cases through the estimators: an error that says what is wrong, or an answer that is right."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from estimators import make_data
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ascd import estimators as ours

DATA = make_data(40, 6)
X, Y, LABELS, COUNTS = DATA.X, DATA.y, DATA.labels, DATA.counts
REGRESSORS = {
    "Lasso": ours.Lasso,
    "ElasticNet": ours.ElasticNet,
    "Ridge": ours.Ridge,
    "NNLS": ours.NNLS,
    "HuberRegressor": ours.HuberRegressor,
    "PoissonRegressor": ours.PoissonRegressor,
}
CLASSIFIERS = {"LogisticRegression": ours.LogisticRegression, "LinearSVC": ours.LinearSVC}
EVERY = {**REGRESSORS, **CLASSIFIERS}
LEAST_SQUARES = ["Lasso", "ElasticNet", "Ridge", "NNLS", "HuberRegressor"]


def target_of(name):
    return LABELS if name in CLASSIFIERS else COUNTS if name == "PoissonRegressor" else Y


def with_entry(array, value):
    changed = np.array(array, dtype=float)
    changed.flat[1] = value
    return changed


DATA_ERRORS = {
    "nan in X": ({"X": with_entry(X, np.nan)}, ["Input X contains NaN"]),
    "inf in X": ({"X": with_entry(X, -np.inf)}, ["Input X contains infinity"]),
    "nan in sparse X": ({"X": sparse.csr_array(with_entry(X, np.nan))}, ["Input X contains NaN"]),
    "1-D X": ({"X": X[:, 0]}, ["Expected 2D array, got 1D array"]),
    "3-D X": ({"X": X[None]}, ["dim 3"]),
    "no samples": ({"X": X[:0], "y": []}, ["0 sample"]),
    "no features": ({"X": X[:, :0]}, ["0 feature"]),
    "complex X": ({"X": X + 1j}, ["Complex data not supported"]),
    "words in X": ({"X": X.astype(str).astype(object) + "x"}, ["could not convert string to float"]),
    "overflow": ({"X": 1e200 * X}, ["X has columns whose squared norm overflows"]),
    "short y": ({"y": [0, 1, 1]}, ["inconsistent numbers of samples"]),
    "no y": ({"y": None}, ["y"]),
    "negative weight": ({"sample_weight": np.linspace(-1, 1, len(Y))}, ["sample_weight", "Negative values"]),
    "nan weight": ({"sample_weight": with_entry(DATA.weight, np.nan)}, ["sample_weight", "NaN"]),
    "short weight": ({"sample_weight": [1.0, 2.0]}, ["sample_weight.shape"]),
    "zero weights": ({"sample_weight": np.zeros(len(Y))}, ["Sample weights must contain at least one non-zero"]),
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(("change", "words"), DATA_ERRORS.values(), ids=DATA_ERRORS)
def test_bad_data_are_refused_in_scikit_learns_words(name, change, words):
    arguments = {"X": X, "y": target_of(name), **change}
    with np.errstate(over="ignore"), pytest.raises(ValueError) as caught:  # noqa: PT011
        EVERY[name]().fit(**arguments)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_target_that_is_not_finite_is_refused(name):
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=f"Input y contains {word}"):
            REGRESSORS[name]().fit(X, with_entry(target_of(name), value))


PARAMETER_ERRORS = [
    (ours.Lasso, {"alpha": -1.0}, ["'alpha' parameter of Lasso", "-1.0"]),
    (ours.Lasso, {"alpha": "strong"}, ["'alpha' parameter of Lasso", "'strong'"]),
    (ours.Lasso, {"alpha": np.nan}, ["alpha", "nan"]),
    (ours.Lasso, {"tol": -1e-3}, ["'tol' parameter of Lasso"]),
    (ours.Lasso, {"max_iter": 0}, ["'max_iter' parameter of Lasso"]),
    (ours.Lasso, {"solver": "asdc"}, ["unknown solver 'asdc'", "Did you mean 'ascd'"]),
    (ours.Lasso, {"solver": {"rules": "ascd"}}, ["'rules'", "Did you mean 'rule'"]),
    (ours.Lasso, {"solver": {"rule": "ascd", "oracle": "nrm"}}, ["'nrm'", "Did you mean 'norm'"]),
    (ours.Lasso, {"penalty_weights": [1.0, 2.0]}, ["penalty_weights must have length 6", "2"]),
    (ours.Lasso, {"penalty_weights": [-1.0] + [1.0] * 5}, ["penalty_weights must be at least 0", "-1"]),
    (ours.Lasso, {"bounds": (1.0, 2.0)}, ["bounds must allow the coefficient 0", "(1.0, 2.0)"]),
    (ours.Lasso, {"bounds": (-1.0,)}, ["bounds must be a pair", "(-1.0,)"]),
    (ours.Lasso, {"bounds": (-1.0, [1.0, 2.0])}, ["bounds[1] must have length 6"]),
    (ours.ElasticNet, {"l1_ratio": 1.5}, ["'l1_ratio' parameter of ElasticNet", "1.5"]),
    (ours.Ridge, {"alpha": [1.0, 2.0]}, ["1 != 2"]),
    (ours.Ridge, {"alpha": [-1.0]}, ["alpha must be at least 0", "-1"]),
    (ours.HuberRegressor, {"epsilon": 0.5}, ["'epsilon' parameter of HuberRegressor"]),
    (ours.LogisticRegression, {"C": 0.0}, ["'C' parameter of LogisticRegression"]),
    (ours.LogisticRegression, {"penalty": "elasticnet", "l1_ratio": None}, ["l1_ratio must be specified"]),
    (ours.LinearSVC, {"penalty": "l1", "loss": "hinge"}, ["penalty='l1' and loss='hinge' is not supported"]),
    (ours.LinearSVC, {"multi_class": "crammer_singer"}, ["'multi_class' parameter of LinearSVC"]),
]


@pytest.mark.parametrize(("make", "params", "words"), PARAMETER_ERRORS)
def test_bad_parameters_are_refused(make, params, words):
    y = LABELS if make in CLASSIFIERS.values() else Y
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make(**params).fit(X, y)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match="out of the valid range of the loss 'HalfPoissonLoss'"):
        ours.PoissonRegressor().fit(X, -1.0 - COUNTS)


def test_counts_of_zero_only_have_no_finite_intercept():
    with pytest.raises(ValueError, match="y must hold a positive count"):
        ours.PoissonRegressor().fit(X, np.zeros(len(Y)))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class_is_refused(name):
    with pytest.raises(ValueError, match=r"needs samples of at least 2 classes .* only one class"):
        CLASSIFIERS[name]().fit(X, np.ones(len(Y)))
    with pytest.raises(ValueError, match=r"needs samples of at least 2 classes .* only one class"):
        CLASSIFIERS[name]().fit(X, LABELS, sample_weight=LABELS.astype(float))
    three = np.arange(len(Y)) % 3
    with pytest.raises(ValueError, match=r"zero for all samples of the classes \[2\]"):
        CLASSIFIERS[name]().fit(X, three, sample_weight=(three < 2).astype(float))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_numbers_are_no_classes(name):
    with pytest.raises(ValueError, match="Unknown label type"):
        CLASSIFIERS[name]().fit(X, Y)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_a_target_of_zeros_converges_at_once(name, fit_intercept):
    model = REGRESSORS[name](fit_intercept=fit_intercept).fit(X, np.zeros(len(Y)))
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_ == 0.0
    assert model.n_iter_ <= 2
    assert model.certificate_.gap <= model.certificate_.tolerance
    assert name == "HuberRegressor" or model.certificate_.gap == 0.0


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_a_constant_target_is_the_intercept(name):
    model = REGRESSORS[name](fit_intercept=True).fit(X, np.full(len(Y), 3.7))
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-9)
    assert model.intercept_ == pytest.approx(3.7)
    assert model.n_iter_ <= 2


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", EVERY)
def test_features_of_zeros_get_no_weight(name, fit_intercept):
    y = target_of(name)
    model = EVERY[name](fit_intercept=fit_intercept).fit(np.zeros_like(X), y)
    np.testing.assert_array_equal(model.coef_, 0.0)
    if name in ("Lasso", "ElasticNet", "Ridge", "NNLS") and fit_intercept:
        assert model.intercept_ == pytest.approx(Y.mean())


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet", "Ridge", "NNLS", "LogisticRegression", "LinearSVC"])
def test_duplicate_and_collinear_columns(name):
    doubled = np.c_[X, X, X[:, :2] @ np.ones(2)]
    y, params = target_of(name), {"tol": 1e-9}
    if name == "LogisticRegression":
        params["l1_ratio"] = 1.0
    if name in ("Lasso", "ElasticNet"):
        params["alpha"] = 0.01
    model = EVERY[name](**params).fit(doubled, y)
    assert model.certificate_.converged
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.gap <= model.certificate_.tolerance


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet", "LogisticRegression"])
def test_features_of_very_different_scales(name):
    scales = np.geomspace(1e-8, 1e8, X.shape[1])
    params = {"l1_ratio": 1.0} if name == "LogisticRegression" else {"alpha": 0.05}
    model = EVERY[name](**params, tol=1e-8).fit(X * scales, target_of(name))
    assert model.certificate_.converged
    assert model.certificate_.gap <= model.certificate_.tolerance
    assert model.score(X * scales, target_of(name)) > 0.1


def test_scaled_penalties_undo_scaled_features():
    scales = np.geomspace(1e-8, 1e8, X.shape[1])
    plain = ours.Lasso(0.05, tol=1e-10).fit(X, Y)
    scaled = ours.Lasso(0.05, tol=1e-10, penalty_weights=scales).fit(X * scales, Y)
    np.testing.assert_allclose(scaled.coef_ * scales, plain.coef_, atol=1e-4)


def test_separable_data_without_a_penalty_end_with_a_status_and_finite_coefficients():
    separable = (X[:, 0] > 0.0).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ours.LogisticRegression(C=np.inf, max_iter=50).fit(X, separable)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, separable) == 1.0
    assert model.certificate_.converged or any(issubclass(w.category, ConvergenceWarning) for w in caught)


def test_separable_data_with_a_penalty_are_no_trouble():
    separable = (X[:, 0] > 0.0).astype(int)
    assert ours.LogisticRegression(C=1e4).fit(X, separable).certificate_.converged


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


@pytest.mark.parametrize("name", REGRESSORS)
def test_one_sample(name):
    model = REGRESSORS[name](fit_intercept=True).fit(X[:1], [2.0])
    assert model.predict(X[:1]) == pytest.approx([2.0], rel=1e-2)


@pytest.mark.parametrize("name", EVERY)
def test_samples_of_weight_zero_are_as_good_as_absent(name):
    y, kept = target_of(name), np.arange(len(Y)) % 3 > 0
    weighted = EVERY[name](tol=1e-10).fit(X, y, sample_weight=kept.astype(float))
    removed = EVERY[name](tol=1e-10).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.coef_, removed.coef_, atol=1e-4)
    np.testing.assert_allclose(weighted.intercept_, removed.intercept_, atol=1e-4)


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


@pytest.mark.parametrize("name", ["LogisticRegression", "PoissonRegressor"])
def test_an_early_end_returns_the_point_its_objective_belongs_to(name):
    y = target_of(name)
    with pytest.warns(ConvergenceWarning):
        model = EVERY[name](tol=1e-15, max_iter=2).fit(X, y)
    z, w = X @ model.coef_.ravel() + np.ravel(model.intercept_)[0], model.coef_.ravel()
    if name == "LogisticRegression":
        expected = np.logaddexp(0.0, -(2.0 * y - 1.0) * z).sum() + 0.5 * w @ w
    else:
        entropy = np.where(y > 0.0, y * np.log(np.maximum(y, 1.0)), 0.0)
        expected = np.mean(np.exp(z) - y * z + entropy - y) + 0.5 * w @ w
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_tolerance_of_a_support_vector_machine_is_a_share_of_its_primal_objective_at_zero(loss):
    model = ours.LinearSVC(loss=loss, C=0.5, tol=1e-7).fit(X, LABELS)
    assert model.certificate_.tolerance == pytest.approx(1e-7 * 0.5 * len(LABELS))
    assert model.certificate_.gap <= model.certificate_.tolerance
