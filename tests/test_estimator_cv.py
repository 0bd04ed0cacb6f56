"""Paths and cross-validation: scikit-learn's errors, choices and shapes; folds that share the data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model as peers
from estimators import make_data
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

import ascd
from ascd import estimators as ours
from ascd.estimators._folds import simplest_within_one_error

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


def test_given_alphas_are_used_from_strong_to_weak():
    alphas = [0.01, 1.0, 0.1]
    mine, theirs = (make(alphas=alphas, cv=3).fit(X, Y) for make in (ours.LassoCV, peers.LassoCV))
    np.testing.assert_array_equal(mine.alphas_, [1.0, 0.1, 0.01])
    np.testing.assert_array_equal(mine.alphas_, theirs.alphas_)
    assert mine.mse_path_.shape == (3, 3)


def test_the_one_error_choice_is_simpler_and_nearly_as_good():
    model = ours.LassoCV(alphas=30, cv=5).fit(X, Y)
    means = model.mse_path_.mean(axis=1)
    best, simple = means.argmin(), np.flatnonzero(model.alphas_ == model.alpha_1se_)[0]
    spread = model.mse_path_[best].std(ddof=1) / np.sqrt(5)
    assert model.alpha_1se_ >= model.alpha_
    assert means[simple] <= means[best] + spread
    assert simple == 0 or means[simple - 1] > means[best] + spread


def test_the_one_error_choice_of_a_single_fold_is_the_best():
    assert simplest_within_one_error(np.array([[2.0], [1.0], [3.0]]), best=1) == 1


def test_folds_side_by_side_give_the_same_answer():
    one, two = (ours.LassoCV(alphas=10, cv=4, n_jobs=n_jobs).fit(X, Y) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.mse_path_, two.mse_path_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_folds_share_the_data(monkeypatch):
    from ascd.estimators import _following

    seen = []
    actual = _following.path
    monkeypatch.setattr(_following, "path", lambda problem, **how: seen.append(problem) or actual(problem, **how))
    ours.LassoCV(alphas=3, cv=4).fit(X, Y)
    assert len(seen) == 4
    assert all(np.shares_memory(problem.parts.matrix.values, X) for problem in seen)
    assert [int(problem.parts.sample.weight.sum()) for problem in seen] == [45, 45, 45, 45]


def test_a_splitter_may_draw_any_samples():
    drawn = [(np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), np.arange(30, 60)), (np.arange(30), np.arange(20, 50))]
    model = ours.LassoCV(alphas=[0.1], cv=drawn, tol=1e-10).fit(X, Y)
    for k, (train, test) in enumerate(drawn):
        alone = ours.Lasso(0.1, tol=1e-10).fit(X[train], Y[train])
        error = np.mean((alone.predict(X[test]) - Y[test]) ** 2)
        assert model.mse_path_.ravel()[k] == pytest.approx(error, rel=1e-4)
    assert ours.LassoCV(alphas=5, cv=ShuffleSplit(3, random_state=0)).fit(X, Y).mse_path_.shape == (5, 3)


def test_a_fold_without_weight_is_refused():
    weight = (np.arange(60) < 20).astype(float)
    with pytest.raises(ValueError, match="sample_weight is zero for all samples of a fold"):
        ours.LassoCV(cv=KFold(3)).fit(X, Y, sample_weight=weight)


def test_a_constant_target_has_a_path_of_zeros():
    model = ours.LassoCV(alphas=5, cv=3).fit(X, np.full(60, 2.0))
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_ == pytest.approx(2.0)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_logistic_cv_is_scikit_learns(l1_ratio, weight):
    params = {"Cs": [0.1, 1.0, 10.0], "cv": 3, "l1_ratios": (l1_ratio,), "scoring": "neg_log_loss"}
    params["use_legacy_attributes"] = False
    mine = ours.LogisticRegressionCV(**params, tol=1e-10).fit(X, LABELS, sample_weight=weight)
    solver = "saga" if l1_ratio else "newton-cholesky"
    theirs = peers.LogisticRegressionCV(**params, solver=solver, tol=1e-12, max_iter=50_000)
    theirs.fit(X, LABELS, sample_weight=weight)
    assert mine.C_ == theirs.C_
    np.testing.assert_allclose(mine.scores_, theirs.scores_, rtol=5e-3)  # saga hardly moves the intercept
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(mine.coefs_paths_[..., :-1], theirs.coefs_paths_[..., :-1], atol=5e-3)
    assert mine.n_iter_.shape == theirs.n_iter_.shape


def test_logistic_cv_with_three_classes_and_two_ratios():
    y = np.array(["a", "b", "c"])[np.digitize(DATA.y, [-1.0, 2.0])]
    model = ours.LogisticRegressionCV(Cs=4, cv=StratifiedKFold(3), l1_ratios=(0.0, 0.5), class_weight="balanced")
    model.fit(X, y)
    assert model.scores_.shape == (3, 2, 4)
    assert model.coefs_paths_.shape == (3, 2, 4, 3, X.shape[1] + 1)
    assert model.C_1se_ <= model.C_
    assert model.score(X, y) > 0.6
    ratio = list(model.l1_ratios_).index(model.l1_ratio_)
    row = list(model.Cs_).index(model.C_)
    assert model.scores_.mean(axis=0)[ratio, row] == model.scores_.mean(axis=0).max()


def test_logistic_cv_may_average_the_folds_instead_of_fitting_again():
    model = ours.LogisticRegressionCV(Cs=[1.0], cv=3, refit=False).fit(X, LABELS)
    np.testing.assert_allclose(model.coef_, model.coefs_paths_.mean(axis=(0, 1, 2))[:, :-1])
    assert model.C_ == 1.0


def test_logistic_cv_scores_by_what_was_asked_for():
    model = ours.LogisticRegressionCV(Cs=3, cv=3, scoring="neg_log_loss").fit(X, LABELS)
    assert model.score(X, LABELS) == pytest.approx(-log_loss(LABELS, model.predict_proba(X)))
    own = ours.LogisticRegressionCV(Cs=3, cv=3, scoring=lambda model, X, y: -abs(model.coef_).sum())
    assert model.Cs_[0] == own.fit(X, LABELS).C_


def test_logistic_cv_refuses_folds_of_one_class_and_old_attributes():
    order = np.argsort(LABELS)
    with pytest.raises(ValueError, match="samples of one class only"):
        ours.LogisticRegressionCV(cv=KFold(2)).fit(X[order[5:-5]], np.repeat([0, 1], [25, 25]))
    with pytest.raises(ValueError, match="use_legacy_attributes must be False"):
        ours.LogisticRegressionCV(use_legacy_attributes=True).fit(X, LABELS)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_paths_are_scikit_learns(positive, form):
    data = X if form == "dense" else sparse.csc_array(X)
    params = {"alphas": 8, "eps": 1e-2, "positive": positive, "return_n_iter": True}
    mine, theirs = ascd.lasso_path(data, Y, **params, tol=1e-12), peers.lasso_path(X, Y, **params, **PRECISE)
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-8)
    np.testing.assert_allclose(mine[1], theirs[1], atol=1e-5)
    assert mine[2].shape == theirs[2].shape
    assert len(mine[3]) == 8
    scale = 0.5 * np.mean(Y**2)
    assert (mine[2] <= 1e-12 * scale * 1.001).all()
    mine, theirs = ascd.enet_path(data, Y, l1_ratio=0.4, **params), peers.enet_path(X, Y, l1_ratio=0.4, **params)
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-8)


def test_a_path_takes_given_alphas_and_the_older_name_for_a_number():
    alphas, coefs, gaps = ascd.enet_path(X, Y, alphas=[0.1, 0.5])
    np.testing.assert_array_equal(alphas, [0.5, 0.1])
    assert coefs.shape == (X.shape[1], 2)
    assert gaps.shape == (2,)
    assert len(ascd.lasso_path(X, Y, n_alphas=7)[0]) == 7


def test_logistic_path_follows_single_fits():
    coefs, Cs, n_iter = ascd.logistic_path(X, LABELS, Cs=[1.0, 0.1], l1_ratio=1.0, tol=1e-10)
    np.testing.assert_array_equal(Cs, [0.1, 1.0])
    for row, C in zip(coefs, Cs, strict=True):
        alone = ours.LogisticRegression(C=C, l1_ratio=1.0, tol=1e-10).fit(X, LABELS)
        np.testing.assert_allclose(row, np.append(alone.coef_, alone.intercept_), atol=1e-4)
    assert n_iter.shape == (2,)
    bare = ascd.logistic_path(X, LABELS, Cs=3, fit_intercept=False)[0]
    assert bare.shape == (3, X.shape[1])


PATH_ERRORS = [
    (lambda: ascd.enet_path(X, Y, l1_ratio=0.0), "Automatic alpha grid generation is not supported for l1_ratio=0"),
    (lambda: ascd.lasso_path(X, Y, alphas=[-1.0]), "alphas must be finite and at least 0"),
    (lambda: ascd.lasso_path(X, Y[:5]), "inconsistent numbers of samples"),
    (lambda: ascd.logistic_path(X, LABELS, Cs=[0.0]), "Cs must be positive"),
    (lambda: ascd.logistic_path(X, np.arange(60) % 3), "pos_class must be given unless there are two classes"),
    (lambda: ascd.logistic_path(X, LABELS, pos_class=7), r"pos_class must be one of the classes \[0, 1\]; got 7"),
    (lambda: ours.ElasticNetCV(l1_ratio=[0.5, 2.0]).fit(X, Y), r"l1_ratio must be in \[0, 1\]"),
    (lambda: ours.ElasticNetCV(l1_ratio=0.0).fit(X, Y), "not supported for l1_ratio=0"),
    (lambda: ours.LogisticRegressionCV(l1_ratios=[2.0]).fit(X, LABELS), "l1_ratios must be a list"),
]


@pytest.mark.parametrize(("call", "message"), PATH_ERRORS)
def test_bad_paths_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("make", [ours.LassoCV, ours.LogisticRegressionCV])
def test_the_plot_shows_the_curve_and_the_path(make):
    import matplotlib as mpl

    mpl.use("agg")
    grid = {"Cs": 4} if make is ours.LogisticRegressionCV else {"alphas": 4}
    model = make(**grid, cv=3).fit(X, LABELS)
    curve, lines = model.plot()
    assert lines.get_xlabel() in ("alpha", "C")
    assert len(curve.lines) == 3 + 1 + 2  # folds, their mean, two marks
    assert len(lines.lines) == X.shape[1] + 2
    again = model.plot(axes=(curve, lines))
    assert again[0] is curve


def test_progress_is_shown_on_request(monkeypatch):
    from contextlib import contextmanager

    from ascd.estimators import _folds

    shown = []

    @contextmanager
    def bar(wanted, total):
        yield lambda done, _: shown.append((wanted, total, done))

    monkeypatch.setattr(_folds, "progress_bar", bar)
    ours.LassoCV(alphas=3, cv=3, progress=True).fit(X, Y)
    assert shown == [(True, 3, 1), (True, 3, 2), (True, 3, 3)]
