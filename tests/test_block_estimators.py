"""Group Lasso and multi-task estimators: agreement with peers in their own units, and what users expect."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import sklearn.linear_model as peers
from peers import plain_skglm
from scipy import sparse
from sklearn.utils import get_tags

from ascd import estimators as ours

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 24)) + 0.2
X[RNG.random(X.shape) < 0.3] = 0.0
Y = X[:, :5] @ RNG.standard_normal((5, 3)) + 0.5 * RNG.standard_normal((80, 3)) + [1.0, 0.0, -3.0]
WEIGHT = RNG.integers(0, 4, 80) * 0.5
GROUPS = [list(range(first, 24, 6)) for first in range(6)]
PRECISE = {"tol": 1e-14, "max_iter": 200_000}


def multi_task(model, weight, alpha, ratio):
    """The objective as scikit-learn documents it."""
    residuals = X @ model.coef_.T + model.intercept_ - Y
    norms = np.linalg.norm(model.coef_, axis=0)
    penalty = alpha * (ratio * norms.sum() + 0.5 * (1.0 - ratio) * (norms**2).sum())
    return 0.5 * np.average((residuals**2).sum(axis=1), weights=weight) + penalty


def grouped(model, weight, alpha, ratio=0.0, factors=None):
    """1/(2n)·‖y − Xw − c‖² + alpha·(ratio·‖w‖₁ + (1 − ratio)·Σ_g factor_g·‖w_g‖)."""
    factors = np.ones(len(GROUPS)) if factors is None else factors
    norms = sum(f * np.linalg.norm(model.coef_[g]) for f, g in zip(factors, GROUPS, strict=True))
    residuals = X @ model.coef_ + model.intercept_ - Y[:, 0]
    penalty = alpha * (ratio * np.abs(model.coef_).sum() + (1.0 - ratio) * norms)
    return 0.5 * np.average(residuals**2, weights=weight) + penalty


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(("alpha", "ratio"), [(0.3, 1.0), (0.05, 1.0), (0.3, 0.5), (1e-3, 0.9)])
def test_multi_task_models_agree_with_scikit_learn(alpha, ratio, weight, fit_intercept):
    shared = {"alpha": alpha, "l1_ratio": ratio, "fit_intercept": fit_intercept}
    mine = ours.MultiTaskElasticNet(**shared, tol=1e-12).fit(X, Y, sample_weight=weight)
    theirs = peers.MultiTaskElasticNet(**shared, **PRECISE)
    with np.errstate(all="ignore"):
        theirs.fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-6)
    value = multi_task(mine, weight, alpha, ratio)
    assert value <= multi_task(theirs, weight, alpha, ratio) * (1.0 + 1e-10)
    assert mine.certificate_.objective == pytest.approx(value, rel=1e-10)
    assert mine.certificate_.converged


@pytest.mark.parametrize("alpha", [0.5, 0.05])
def test_group_lasso_agrees_with_celer(alpha):
    celer = pytest.importorskip("celer")
    mine = ours.GroupLasso(alpha, groups=GROUPS, tol=1e-12).fit(X, Y[:, 0])
    theirs = celer.GroupLasso(groups=GROUPS, alpha=alpha, tol=1e-13).fit(X, Y[:, 0])
    assert grouped(mine, None, alpha) == pytest.approx(grouped(theirs, None, alpha), rel=1e-7)
    assert grouped(mine, None, alpha) <= grouped(theirs, None, alpha) * (1.0 + 1e-10)
    assert mine.certificate_.objective == pytest.approx(grouped(mine, None, alpha), rel=1e-10)


def test_group_lasso_agrees_with_skglm():
    factors = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0])
    mine = ours.GroupLasso(0.2, groups=GROUPS, weights=factors, fit_intercept=False, tol=1e-12).fit(X, Y[:, 0])
    with plain_skglm() as skglm:
        theirs = skglm.GroupLasso(groups=GROUPS, weights=factors, alpha=0.2, fit_intercept=False, tol=1e-10)
        theirs.fit(X, Y[:, 0])
    value, other = (grouped(model, None, 0.2, factors=factors) for model in (mine, theirs))
    assert value == pytest.approx(other, rel=1e-7)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0])
def test_the_sparse_group_lasso_lies_between_its_ends(ratio):
    model = ours.SparseGroupLasso(0.2, l1_ratio=ratio, groups=GROUPS, tol=1e-11).fit(X, Y[:, 0])
    end = ours.Lasso(0.2, tol=1e-11) if ratio == 1.0 else ours.GroupLasso(0.2, groups=GROUPS, tol=1e-11)
    value = grouped(model, None, 0.2, ratio)
    assert model.certificate_.converged
    assert model.certificate_.objective == pytest.approx(value, rel=1e-10)
    assert value <= grouped(end.fit(X, Y[:, 0]), None, 0.2, ratio) * (1.0 + 1e-10)
    if ratio in (0.0, 1.0):
        np.testing.assert_allclose(model.coef_, end.coef_, atol=1e-5)


def test_groups_of_one_feature_are_the_lasso_and_labels_are_groups():
    np.testing.assert_allclose(
        ours.GroupLasso(0.1, tol=1e-11).fit(X, Y[:, 0]).coef_,
        ours.Lasso(0.1, tol=1e-11).fit(X, Y[:, 0]).coef_,
        atol=1e-5,
    )
    labels = ["abcdef"[j % 6] for j in range(24)]
    first, second = (ours.GroupLasso(0.1, groups=g, tol=1e-11).fit(X, Y[:, 0]) for g in (labels, GROUPS))
    np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-6)
    rooted = ours.GroupLasso(0.1, groups=4, weights="sqrt", tol=1e-11).fit(X, Y[:, 0])
    doubled = ours.GroupLasso(0.2, groups=4, tol=1e-11).fit(X, Y[:, 0])
    np.testing.assert_allclose(rooted.coef_, doubled.coef_, atol=1e-6)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_cross_validation_agrees_with_scikit_learn(weight):
    shared = {"alphas": 12, "eps": 0.02, "cv": 4}
    mine = ours.MultiTaskLassoCV(**shared, tol=1e-11).fit(X, Y, sample_weight=weight)
    theirs = peers.MultiTaskLassoCV(**shared, **PRECISE)
    if weight is not None and "sample_weight" not in inspect.signature(theirs.fit).parameters:
        pytest.skip("this scikit-learn takes no weights here")
    theirs.fit(X, Y) if weight is None else theirs.fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(mine.alphas_, theirs.alphas_, rtol=1e-9)
    np.testing.assert_allclose(mine.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert mine.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)


def test_errors_of_folds_are_weighted_means_over_all_targets():
    cv = [(np.arange(27, 80), np.arange(27))]
    model = ours.MultiTaskLassoCV(alphas=[0.1], cv=cv, tol=1e-10).fit(X, Y, sample_weight=WEIGHT)
    alone = ours.MultiTaskLasso(0.1, tol=1e-10).fit(X[27:], Y[27:], sample_weight=WEIGHT[27:])
    expected = np.average((alone.predict(X[:27]) - Y[:27]) ** 2, axis=0, weights=WEIGHT[:27]).mean()
    assert model.mse_path_ == pytest.approx(expected, rel=1e-5)


def test_cross_validation_of_the_sparse_group_lasso():
    """Of one ratio it is the grid search by hand; at the ends it is the group Lasso's, and the Lasso's."""
    y = Y[:, 0]
    shared = {"alphas": 6, "cv": 3, "tol": 1e-10}
    model = ours.SparseGroupLassoCV(l1_ratio=[0.0, 0.5, 1.0], groups=GROUPS, **shared).fit(X, y)
    assert model.mse_path_.shape == (3, 6, 3)
    group = ours.GroupLassoCV(groups=GROUPS, **shared).fit(X, y)
    plain = ours.LassoCV(**shared).fit(X, y)
    np.testing.assert_allclose(model.alphas_[0], group.alphas_, rtol=1e-9)
    np.testing.assert_allclose(model.mse_path_[0], group.mse_path_, rtol=1e-6)
    np.testing.assert_allclose(model.alphas_[2], plain.alphas_, rtol=1e-9)
    np.testing.assert_allclose(model.mse_path_[2], plain.mse_path_, rtol=1e-6)
    again = ours.SparseGroupLasso(model.alpha_, l1_ratio=model.l1_ratio_, groups=GROUPS, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-6)
    train, test = np.arange(27, 80), np.arange(27)  # the first of three folds of 80 samples
    half = ours.SparseGroupLasso(model.alphas_[1][4], l1_ratio=0.5, groups=GROUPS, tol=1e-10).fit(X[train], y[train])
    assert model.mse_path_[1, 4, 0] == pytest.approx(np.mean((half.predict(X[test]) - y[test]) ** 2), rel=1e-6)


PEERS = ("MultiTaskLasso", "MultiTaskElasticNet", "MultiTaskLassoCV", "MultiTaskElasticNetCV")


@pytest.mark.parametrize("name", PEERS)
def test_parameters_attributes_and_tags_are_scikit_learns(name):
    theirs, mine = getattr(peers, name)(), getattr(ours, name)()
    for parameter, default in theirs.get_params().items():
        if parameter != "tol":
            assert mine.get_params()[parameter] == default, parameter
    assert get_tags(mine).target_tags == get_tags(theirs).target_tags
    few = {"alphas": [1.0, 0.3, 0.1, 0.03], "cv": 3} if name.endswith("CV") else {}
    for model in (theirs, mine):
        model.set_params(**few).fit(X, Y)
    for attribute in (a for a in vars(theirs) if a.endswith("_") and not a.startswith("_")):
        assert np.shape(getattr(mine, attribute)) == np.shape(getattr(theirs, attribute)), attribute
    assert mine.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="mono-task"):
        mine.fit(X, Y[:, 0])


def test_sparse_targets_columns_too_large_and_folds_without_samples_are_named():
    with pytest.raises(TypeError, match="y must be a dense array; got a sparse csr_array"):
        ours.MultiTaskLasso().fit(X, sparse.csr_array(Y))
    with pytest.raises(ValueError, match=r"X has columns whose norm is above 1e\+60: rescale X$"):
        ours.GroupLasso().fit(1e200 * X, Y[:, 0])
    for cv, words in [([], "cv must split the samples at least once"), ([(range(9), [])], "one has 9 and 0")]:
        with pytest.raises(ValueError, match=words):
            ours.GroupLassoCV(alphas=2, cv=cv).fit(X, Y[:, 0])
