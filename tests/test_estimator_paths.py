"""Paths as functions: scikit-learn's signatures and answers, from the production solver or the engine."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import sklearn.linear_model as peers
from estimators import make_data
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import ascd
from ascd import estimators as ours

DATA = make_data(60, 8)
X, Y, LABELS, WEIGHT = DATA.X, DATA.y, DATA.labels, DATA.weight + 0.5
PRECISE = {"tol": 1e-12, "max_iter": 100_000}


@pytest.mark.parametrize("name", ["lasso_path", "enet_path"])
def test_signatures_are_scikit_learns(name):
    theirs, mine = (inspect.signature(getattr(module, name)).parameters for module in (peers, ascd))
    for parameter in theirs.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            assert parameter.name in mine
            assert mine[parameter.name].kind is parameter.kind
            assert parameter.default in ("warn", "deprecated", mine[parameter.name].default), parameter.name


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


PATHS = {
    "groups": (ours.GroupLasso(groups=2, tol=1e-10), Y, "alpha", [0.5, 0.05]),
    "several targets": (ours.MultiTaskLasso(tol=1e-10), np.c_[Y, -Y], "alpha", [0.5, 0.05]),
    "classes": (ours.LogisticRegression(l1_ratio=1.0, tol=1e-10), LABELS, "C", [0.1, 1.0]),
    "weighted classes": (
        ours.LogisticRegression(penalty="l1", class_weight={0: 3.0, 1: 0.5}, tol=1e-10),
        LABELS,
        "C",
        [1.0],
    ),
    "counts": (ours.PoissonRegressor(l1_ratio=0.5, tol=1e-10), DATA.counts, "alpha", [1.0, 0.1]),
    "several classes": (ours.LogisticRegression(tol=1e-10), np.digitize(Y, [0.0, 1.0]), "C", [0.1, 1.0]),
    "support vectors": (ours.LinearSVC(loss="hinge", tol=1e-10), LABELS, "C", [0.1, 1.0]),
    "standardised": (ours.Lasso(standardize=True, tol=1e-10), Y, "alpha", [0.5, 0.05]),
}


@pytest.mark.parametrize(("model", "y", "name", "values"), PATHS.values(), ids=PATHS)
def test_every_estimator_has_a_path(model, y, name, values):
    found = ascd.model_path(model, X, y, **{f"{name}s": values}, sample_weight=WEIGHT)
    np.testing.assert_array_equal(found.strengths, values)
    assert found.gaps.shape == found.n_iters.shape == np.shape(values)
    for k, value in enumerate(values):
        alone = clone(model).set_params(**{name: value}).fit(X, y, sample_weight=WEIGHT)
        np.testing.assert_allclose(np.ravel(found.coefs[..., k].T), np.ravel(alone.coef_), atol=1e-4)
        np.testing.assert_allclose(np.ravel(found.intercepts[..., k]), np.ravel(alone.intercept_), atol=1e-4)


PATH_ERRORS = [
    (lambda: ascd.enet_path(X, Y, l1_ratio=0.0), "Automatic alpha grid generation is not supported for l1_ratio=0"),
    (lambda: ascd.lasso_path(X, Y, alphas=[-1.0]), "alphas must be finite and at least 0"),
    (lambda: ascd.lasso_path(X, Y[:5]), "inconsistent numbers of samples"),
    (lambda: ascd.model_path(ours.LogisticRegression(), X, LABELS, Cs=[0.0]), "Cs must be positive"),
]


@pytest.mark.parametrize(("call", "message"), PATH_ERRORS)
def test_bad_paths_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_path_may_start_anywhere():
    alphas, coefs, _ = ascd.lasso_path(X, Y, alphas=5)
    again = ascd.lasso_path(X, Y, alphas=alphas[-1:], coef_init=coefs[:, -1], return_n_iter=True)
    np.testing.assert_allclose(again[1][:, 0], coefs[:, -1], atol=1e-3)
    assert again[3] == [1]
    first = ascd.model_path(ours.LogisticRegression(), X, LABELS, Cs=[1.0])
    started = ascd.model_path(ours.LogisticRegression(), X, LABELS, Cs=[1.0], coef_init=first.coefs[:, 0])
    assert started.n_iters[0] < first.n_iters[0]


def test_fits_that_miss_the_tolerance_are_told():
    wide = np.random.default_rng(0).standard_normal((20, 50))
    limits = {"max_iter": 1, "tol": 1e-13}
    with pytest.warns(ConvergenceWarning, match=r"Lasso: \d of 3 fits stopped early \(iteration limit\)") as caught:
        ascd.lasso_path(wide, wide[:, :20] @ np.ones(20), alphas=3, **limits)
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match=r"LogisticRegression: \d of 2 fits stopped early"):
        ascd.model_path(ours.LogisticRegression(**limits), wide, LABELS[:20], Cs=[1.0, 10.0])


def test_the_path_of_an_estimator_of_ones_own_is_refused():
    with pytest.raises(TypeError, match=r"model must be an estimator of ascd; got Ridge\(\): ascd.path"):
        ascd.model_path(peers.Ridge(), X, LABELS)
