"""Estimators on data that are read through a design: the same answers as on the array."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
import scipy.sparse as sp
from test_chunked import cut

import ascd

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 8)) * (RNG.random((40, 8)) < 0.7)
SIGNAL = X[:, 0] - 2.0 * X[:, 3] + 0.3 * RNG.standard_normal(40)
TARGETS = {
    "number": SIGNAL,
    "class": np.where(SIGNAL > 0.0, "yes", "no"),
    "classes": np.digitize(SIGNAL, [-1.0, 1.0]),
    "count": np.random.default_rng(1).poisson(np.exp(0.3 * SIGNAL)).astype(float),
    "several": np.stack([SIGNAL, -SIGNAL + X[:, 1]], axis=1),
}
GROUPS = [[0, 1], [2, 3], [4, 5, 6, 7]]
MODELS = {
    "lasso": (ascd.Lasso(0.05), "number"),
    "lasso, standardised": (ascd.Lasso(0.05, standardize=True), "number"),
    "elastic net, positive": (ascd.ElasticNet(0.05, positive=True), "number"),
    "several targets": (ascd.Lasso(0.05), "several"),
    "ridge": (ascd.Ridge(2.0, tol=1e-12), "number"),
    "nnls": (ascd.NNLS(), "number"),
    "poisson": (ascd.PoissonRegressor(alpha=0.1, tol=1e-10), "count"),
    "logistic": (ascd.LogisticRegression(tol=1e-10), "class"),
    "three classes": (ascd.LogisticRegression(tol=1e-10), "classes"),
    "svm": (ascd.LinearSVC(dual=False, tol=1e-10), "class"),
    "lasso cv": (ascd.LassoCV(alphas=5, cv=3), "number"),
    "elastic net cv": (ascd.ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=4, cv=3, standardize=True), "number"),
    "logistic cv": (ascd.LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, scoring="neg_log_loss"), "class"),
    "group lasso": (ascd.GroupLasso(0.05, groups=GROUPS), "number"),
    "group lasso cv": (ascd.GroupLassoCV(groups=GROUPS, alphas=4, cv=3), "number"),
    "multi-task": (ascd.MultiTaskLasso(0.05), "several"),
    "multi-task cv": (ascd.MultiTaskLassoCV(alphas=4, cv=3), "several"),
}
FORMS = {"columns": lambda A: cut(A, "columns", "mixed"), "rows": lambda A: cut(A, "rows")}


WEIGHT = np.arange(40) % 3 + 1.0


@cache
def fitted_to_the_array(name):
    model, kind = MODELS[name]
    return type(model)(**model.get_params()).fit(X, TARGETS[kind], sample_weight=WEIGHT)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_estimators_give_the_answer_of_the_array(name, form):
    (model, kind), plain = MODELS[name], fitted_to_the_array(name)
    found = type(model)(**model.get_params()).fit(FORMS[form](X), TARGETS[kind], sample_weight=WEIGHT)
    assert found.coef_.shape == plain.coef_.shape
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=2e-4)
    assert found.certificate_.gap <= found.certificate_.tolerance
    assert found.certificate_.objective == pytest.approx(plain.certificate_.objective, rel=1e-5)
    expected = plain.predict(X)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found.predict(FORMS[form](X)), expected, atol=2e-3)
    else:
        assert np.mean(found.predict(FORMS[form](X)) == expected) > 0.95
        np.testing.assert_allclose(found.decision_function(FORMS[form](X)), plain.decision_function(X), atol=1e-2)


def test_paths_of_functions():
    classes = partial(ascd.model_path, ascd.LogisticRegression(tol=1e-9), Cs=3)
    for path, y in [(partial(ascd.lasso_path, alphas=4, tol=1e-9), SIGNAL), (classes, TARGETS["class"])]:
        # two ways to the answer agree as far as both are proved
        found, expected = path(X=FORMS["columns"](X), y=y)[:2], path(X=X, y=y)[:2]
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=2e-3)


def test_what_does_not_fit_is_said():
    design = FORMS["rows"](X)
    with pytest.raises(ValueError, match="samples one by one"):
        ascd.LinearSVC(loss="hinge").fit(design, TARGETS["class"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ascd.Lasso().fit(design, SIGNAL[:-1])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        ascd.Lasso().fit(design, np.r_[np.nan, SIGNAL[1:]])
    with pytest.raises(ValueError, match="requires y"):
        ascd.Lasso().fit(design, None)
    model = ascd.Lasso(0.1).fit(design, SIGNAL)
    with pytest.raises(ValueError, match="X has 7 features, but Lasso is expecting 8"):
        model.predict(cut(X[:, 1:], "rows"))
    broken = X.copy()
    broken[5, 5] = np.inf
    with pytest.raises(ValueError, match="X must be finite; it has 1 nan or inf"):
        ascd.Lasso().fit(cut(broken, "rows"), SIGNAL)
    assert sp.issparse(model.sparse_coef_)
