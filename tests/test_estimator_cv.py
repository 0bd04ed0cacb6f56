"""Cross-validation: scikit-learn's errors, choices and shapes; folds that share the data."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
import sklearn.linear_model as peers
from estimators import make_data
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, ShuffleSplit

from ascd import estimators as ours
from ascd.results import Status

DATA = make_data(60, 8)
X, Y, LABELS, WEIGHT = DATA.X, DATA.y, DATA.labels, DATA.weight + 0.5
PRECISE = {"tol": 1e-12, "max_iter": 100_000}


@pytest.fixture(scope="module", autouse=True)
def _quiet_peers():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_lasso_cv_is_scikit_learns(weight, form, fit_intercept):
    params = {"alphas": 12, "cv": 4, "fit_intercept": fit_intercept, "eps": 1e-2}
    data = X if form == "dense" else sparse.csc_array(X)
    mine = ours.LassoCV(**params, tol=1e-10).fit(data, Y, sample_weight=weight)
    theirs = peers.LassoCV(**params, **PRECISE).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(mine.alphas_, theirs.alphas_, rtol=1e-8)
    np.testing.assert_allclose(mine.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert mine.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)
    assert mine.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)
    assert mine.certificate_.gap <= mine.certificate_.tolerance


@pytest.mark.parametrize("positive", [False, True])
def test_elastic_net_cv_chooses_the_ratio_too(positive):
    params = {"alphas": 10, "cv": 3, "l1_ratio": [0.2, 0.9], "positive": positive}
    mine, theirs = ours.ElasticNetCV(**params, tol=1e-10).fit(X, Y), peers.ElasticNetCV(**params, **PRECISE).fit(X, Y)
    assert mine.l1_ratio_ == theirs.l1_ratio_
    assert mine.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(mine.alphas_, theirs.alphas_, rtol=1e-8)
    np.testing.assert_allclose(mine.mse_path_, theirs.mse_path_, rtol=1e-4)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)


def test_folds_share_the_data(monkeypatch):
    from ascd.estimators import _solving

    seen = []
    actual = _solving.path
    monkeypatch.setattr(_solving, "path", lambda problem, **how: seen.append(problem) or actual(problem, **how))
    ours.LassoCV(alphas=[1.0, 0.1, 0.01], cv=4).fit(X, Y)
    assert len(seen) == 4
    assert all(np.shares_memory(problem.parts.matrix.values, X) for problem in seen)
    assert [int(problem.parts.sample.weight.sum()) for problem in seen] == [45, 45, 45, 45]


def test_a_splitter_may_draw_any_samples():
    drawn = [(np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), np.arange(30, 60)), (np.arange(30), np.arange(20, 50))]
    for weight in (np.ones(60), WEIGHT):
        model = ours.LassoCV(alphas=[0.1], cv=drawn, tol=1e-10).fit(X, Y, sample_weight=weight)
        for k, (train, test) in enumerate(drawn):
            alone = ours.Lasso(0.1, tol=1e-10).fit(X[train], Y[train], sample_weight=weight[train])
            error = np.average((alone.predict(X[test]) - Y[test]) ** 2, weights=weight[test])
            assert model.mse_path_.ravel()[k] == pytest.approx(error, rel=1e-4)
    assert ours.LassoCV(alphas=5, cv=ShuffleSplit(3, random_state=0)).fit(X, Y).mse_path_.shape == (5, 3)


def test_a_fold_without_weight_is_refused():
    weight = (np.arange(60) < 20).astype(float)
    with pytest.raises(ValueError, match="sample_weight is zero for all samples of a fold"):
        ours.LassoCV(cv=KFold(3)).fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_logistic_cv_is_scikit_learns(l1_ratio, weight):
    params = {"Cs": [0.1, 1.0, 10.0], "cv": 3, "l1_ratios": (l1_ratio,), "scoring": "neg_log_loss"}
    params["use_legacy_attributes"] = False
    mine = ours.LogisticRegressionCV(**params, tol=1e-10).fit(X, LABELS, sample_weight=weight)
    solver = "saga" if l1_ratio else "newton-cholesky"
    theirs = peers.LogisticRegressionCV(**params, solver=solver, tol=1e-12, max_iter=50_000, random_state=0)
    theirs.fit(X, LABELS, sample_weight=weight)
    assert mine.C_ == theirs.C_
    np.testing.assert_allclose(mine.scores_, theirs.scores_, rtol=5e-3)  # saga hardly moves the intercept
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(mine.coefs_paths_[..., :-1], theirs.coefs_paths_[..., :-1], atol=5e-3)
    assert mine.n_iter_.shape == theirs.n_iter_.shape


def test_logistic_cv_may_average_the_folds_instead_of_fitting_again():
    model = ours.LogisticRegressionCV(Cs=[1.0], cv=3, refit=False).fit(X, LABELS)
    np.testing.assert_allclose(model.coef_, model.coefs_paths_.mean(axis=(0, 1, 2))[:, :-1])
    assert model.C_ == 1.0


@pytest.mark.parametrize("refit", [True, False])
def test_of_equal_scores_the_smallest_c_is_taken_as_in_scikit_learn(refit):
    given = iter([0.0, 1.0, 1.0, 0.0] * 3)  # in each fold: two Cs for each of two l1_ratios
    settings = {"Cs": [0.25, 1.0], "l1_ratios": (0.0, 1.0), "cv": 3, "refit": refit}
    model = ours.LogisticRegressionCV(**settings, scoring=lambda model, X, y: next(given)).fit(X, LABELS)
    assert (model.C_, model.l1_ratio_) == (0.25, 1.0)


def test_logistic_cv_scores_by_what_was_asked_for():
    model = ours.LogisticRegressionCV(Cs=3, cv=3, scoring="neg_log_loss").fit(X, LABELS)
    assert model.score(X, LABELS) == pytest.approx(-log_loss(LABELS, model.predict_proba(X)))
    own = ours.LogisticRegressionCV(Cs=3, cv=3, scoring=lambda model, X, y: -abs(model.coef_).sum())
    assert model.Cs_[0] == own.fit(X, LABELS).C_


@pytest.mark.parametrize(
    "model", [ours.LassoCV(cv=2), ours.MultiTaskLassoCV(cv=2), ours.LogisticRegressionCV(Cs=2, cv=2)]
)
def test_errors_of_a_fold_speak_of_the_users_data(model):
    """A column is of ordinary size in one sample only: in the fold without it, its norm is too small."""
    X = np.random.default_rng(0).standard_normal((8, 2))
    X[:, 1] = 1e-200
    X[0, 1] = 1.0
    y = {"MultiTaskLassoCV": X, "LogisticRegressionCV": np.tile([0, 1], 4)}.get(type(model).__name__, 2.0 * X[:, 0])
    with pytest.raises(ValueError, match=r"X has columns whose norm .* the first is column 1: rescale X"):
        model.fit(X, y)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_folds_that_lack_a_class_are_fitted(classes, fit_intercept):
    """With an intercept the others are fitted alone, and the class that is missing is never predicted."""
    y = np.repeat(np.arange(classes), 60 // classes)
    model = ours.LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=KFold(classes), scoring="neg_log_loss", fit_intercept=fit_intercept, tol=1e-9
    ).fit(X, y)
    assert np.isfinite(model.scores_).all()
    assert model.coefs_paths_.shape[-2:] == (1 if classes == 2 else classes, X.shape[1] + fit_intercept)
    if classes == 2 or not fit_intercept:
        return
    train = y != 0
    alone = ours.LogisticRegression(C=1.0, tol=1e-9).fit(X[train], y[train])
    found = model.coefs_paths_[0, 0, 1, 1:]
    if classes == 3:
        np.testing.assert_allclose(found[1, :-1] - found[0, :-1], 2 * found[1, :-1], atol=1e-4)
        half = ours.LogisticRegression(C=2.0, tol=1e-9).fit(X[train], y[train])  # two rows ±w/2 cost half of one row w
        np.testing.assert_allclose(2 * found[1, :-1], half.coef_[0], atol=1e-3)
    else:
        np.testing.assert_allclose(found[:, :-1], alone.coef_, atol=1e-3)


@pytest.mark.parametrize(
    "name", ["MultiTaskLassoCV", "GroupLassoCV", "LassoCV", "PoissonRegressorCV", "HuberRegressorCV"]
)
def test_every_cross_validation_offers_the_one_error_choice(name):
    grid = {"Poi": {}, "Hub": {"alphas": [0.1, 1.0, 10.0, 100.0]}}.get(name[:3], {"alphas": 8})
    y = {"MultiTaskLassoCV": np.c_[Y, -Y], "PoissonRegressorCV": DATA.counts}.get(name, Y)
    best, simple = (getattr(ours, name)(cv=3, choose=choose, **grid).fit(X, y) for choose in ("best", "1se"))
    assert (best.alpha_, simple.alpha_) == (best.alpha_best_, best.alpha_1se_)
    errors = getattr(best, best._error_path)
    row = errors.mean(axis=1).argmin()
    within = errors.mean(axis=1) <= errors[row].mean() + errors[row].std(ddof=1) / np.sqrt(3.0)
    assert best.alpha_1se_ == best.alphas_[within].max()
    assert simple.alpha_ >= best.alpha_
    assert best.certificate_.converged
    assert simple.certificate_.converged


@pytest.mark.parametrize("how", [{"loss": "hinge"}, {"class_weight": "balanced"}, {"penalty": "l1", "dual": False}])
@pytest.mark.parametrize("classes", [2, 3])
def test_folds_of_a_support_vector_machine_are_fits_to_their_samples(how, classes):
    few, y = X[:36, :3], np.tile(np.arange(classes), 36 // classes)
    model = ours.LinearSVCCV(Cs=[0.1, 1.0], cv=KFold(3), tol=1e-9, **how).fit(few, y)
    for k, (train, test) in enumerate(KFold(3).split(few)):
        alone = ours.LinearSVC(C=1.0, tol=1e-9, **how).fit(few[train], y[train])
        np.testing.assert_allclose(model.coefs_paths_[k, 0, 1, :, :-1], alone.coef_, atol=1e-4)
        np.testing.assert_allclose(model.coefs_paths_[k, 0, 1, :, -1], alone.intercept_, atol=1e-4)
        assert model.scores_[k, 0, 1] == alone.score(few[test], y[test])
    refit = ours.LinearSVC(C=model.C_, tol=1e-9, **how).fit(few, y)
    np.testing.assert_allclose(model.coef_, refit.coef_, atol=1e-4)
    assert model.certificate_.converged


def test_ridge_cv_ends_with_the_exact_fit():
    model = ours.RidgeCV(alphas=[0.1, 1.0], cv=3).fit(X, Y)
    exact = ours.Ridge(alpha=model.alpha_).fit(X, Y)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-10)
    assert model.mse_path_.shape == (2, 3)


@pytest.mark.parametrize(("name", "alphas"), [("PoissonRegressor", [1.0, 0.01]), ("HuberRegressor", [10.0, 0.1])])
def test_folds_of_other_losses_are_fits_to_their_samples(name, alphas):
    y = DATA.counts if name == "PoissonRegressor" else Y
    model = getattr(ours, f"{name}CV")(alphas=alphas, cv=KFold(3), tol=1e-10).fit(X, y, sample_weight=WEIGHT)
    alone = [
        getattr(ours, name)(alpha=alphas[0], tol=1e-10).fit(X[train], y[train], sample_weight=WEIGHT[train]).coef_
        for train, _ in KFold(3).split(X)
    ]
    np.testing.assert_allclose(model.coef_path_.toarray()[:, 0], np.mean(alone, axis=0), atol=1e-4)
    refit = getattr(ours, name)(alpha=model.alpha_, tol=1e-10).fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.coef_, refit.coef_, atol=1e-4)


WIDE = np.random.default_rng(0).standard_normal((60, 150))


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("make", [ours.LassoCV, ours.ElasticNetCV])
def test_fits_of_folds_that_miss_the_tolerance_are_told_once_and_counted(make, n_jobs):
    """Gap and tolerance are in the units of the folds' objectives: 1/(2n)·‖r‖² and so on."""
    y = WIDE[:, :20] @ np.ones(20)
    with pytest.warns(ConvergenceWarning) as caught:
        make(alphas=[1e-3], cv=3, max_iter=1, tol=1e-13, n_jobs=n_jobs).fit(WIDE, y)
    message = str(caught[0].message)
    assert caught[0].filename == __file__
    assert len(caught) == 2  # the folds, and the last fit
    assert f"{make.__name__}: 3 of 3 fits of the 3 folds stopped early (iteration limit)" in message
    assert "Increase max_iter" in message
    gap, tolerance = (float(re.search(rf"{word} (\S+) ", message).group(1)) for word in ("gap of", "tolerance is"))
    assert tolerance == pytest.approx(1e-13 * 0.5 * np.var(y), rel=0.5)
    assert gap > tolerance


@pytest.mark.parametrize("model", [ours.LassoCV(alphas=3, cv=2), ours.GroupLassoCV(alphas=3, cv=2, groups=2)])
def test_an_interruption_while_alphas_are_looked_for_is_not_swallowed(monkeypatch, model):
    from ascd.estimators import _solving

    find = _solving.path
    monkeypatch.setattr(_solving, "path", lambda *a, **k: replace(find(*a, **k), status=Status.INTERRUPTED))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
