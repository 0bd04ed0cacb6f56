"""The estimators among scikit-learn's tools: pipelines, searches, frames, pickles, routing, warm starts, no copies."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest
import sklearn
import sklearn.linear_model
import sklearn.svm
from estimators import CROSS_VALIDATED, EVERY, make_data, target_of
from scipy import sparse
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ascd import estimators as ours

DATA = make_data(60, 8)
X, Y, LABELS = DATA.X, DATA.y, DATA.labels
#: Defaults that differ: our tolerance is a share of the objective, and our iterations are cheaper than theirs.
OTHER_DEFAULTS = {"tol", "max_iter", "solver", "l1_ratios", "scoring", "use_legacy_attributes"}
PEERS = {
    "Lasso": sklearn.linear_model.Lasso,
    "ElasticNet": sklearn.linear_model.ElasticNet,
    "Ridge": sklearn.linear_model.Ridge,
    "HuberRegressor": sklearn.linear_model.HuberRegressor,
    "PoissonRegressor": sklearn.linear_model.PoissonRegressor,
    "LogisticRegression": sklearn.linear_model.LogisticRegression,
    "LinearSVC": sklearn.svm.LinearSVC,
    "LassoCV": sklearn.linear_model.LassoCV,
    "ElasticNetCV": sklearn.linear_model.ElasticNetCV,
    "LogisticRegressionCV": sklearn.linear_model.LogisticRegressionCV,
}


@pytest.mark.parametrize("name", PEERS)
def test_parameters_and_defaults_are_scikit_learns(name):
    theirs, mine = PEERS[name]().get_params(), getattr(ours, name)().get_params()
    assert set(theirs) <= set(mine)
    for parameter in set(theirs) - OTHER_DEFAULTS:
        assert mine[parameter] == theirs[parameter], parameter
    theirs, mine = (set(inspect.signature(model.fit).parameters) for model in (PEERS[name], getattr(ours, name)))
    assert theirs <= mine


@pytest.mark.parametrize("name", PEERS)
def test_a_fit_has_scikit_learns_attributes(name):
    y = LABELS if "Logistic" in name or "SVC" in name else DATA.counts
    extra = {"LogisticRegressionCV": {"use_legacy_attributes": False, "l1_ratios": (0,), "scoring": "accuracy"}}
    folds = {"cv": 2} if name in CROSS_VALIDATED else {}
    theirs = PEERS[name](**extra.get(name, {}), **folds).fit(X, y)
    mine = getattr(ours, name)(**folds).fit(X, y)
    for attribute in (a for a in vars(theirs) if a.endswith("_") and not a.startswith("_")):
        assert hasattr(mine, attribute), attribute
        assert np.shape(getattr(mine, attribute)) == np.shape(getattr(theirs, attribute)), attribute


@pytest.mark.parametrize("name", EVERY)
def test_a_search_over_a_pipeline(name):
    pipeline = Pipeline([("scale", StandardScaler(with_mean=False)), ("model", EVERY[name]())])
    data = X if "Huber" in name else sparse.csr_array(X)  # which is compiled for each storage
    search = GridSearchCV(pipeline, {"model__tol": [1e-3, 1e-6]}, cv=3).fit(data, target_of(name, DATA))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[-1].certificate_.converged


@pytest.mark.parametrize("name", EVERY)
def test_sample_weights_are_routed(name):
    y = target_of(name, DATA)
    with sklearn.config_context(enable_metadata_routing=True):
        how = {}
        if name in ("LogisticRegressionCV", "LinearSVCCV"):
            how["scoring"] = get_scorer("accuracy").set_score_request(sample_weight=True)
        model = EVERY[name](**how).set_fit_request(sample_weight=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        routed.fit(X, y, sample_weight=DATA.weight)
        plain = EVERY[name](**how).set_fit_request(sample_weight=True)
        plain.fit(StandardScaler().fit_transform(X), y, sample_weight=DATA.weight)
        ignoring = EVERY[name](**how).set_fit_request(sample_weight=False)
        ignoring = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), ignoring)
        ignoring.fit(X, y, sample_weight=DATA.weight)
    np.testing.assert_allclose(routed[-1].coef_, plain.coef_)
    assert not np.allclose(ignoring[-1].coef_, plain.coef_, rtol=1e-6)


def test_groups_are_routed_to_the_splitter():
    groups = np.arange(len(Y)) % 4
    with sklearn.config_context(enable_metadata_routing=True):
        model = ours.LassoCV(cv=GroupKFold(4), alphas=5).fit(X, Y, groups=groups)
    assert model.mse_path_.shape == (5, 4)
    with pytest.raises(ValueError, match="groups"):
        ours.LassoCV(cv=GroupKFold(4)).fit(X, Y, groups=groups)


def test_data_in_the_solvers_layout_are_not_copied_nor_changed():
    for data in (X, sparse.csc_array(X)):
        kept = data.copy()
        read = ours.Lasso()._read(data, Y, None).X.matrix
        same = np.shares_memory(read, data) if data is X else np.shares_memory(read.data, data.data)
        assert same
        ours.Lasso(0.1).fit(data, Y)
        assert (abs(kept - data)).max() == 0.0
    rows = np.ascontiguousarray(X)
    model = ours.LinearSVC(fit_intercept=False)
    assert np.shares_memory(model._read(rows, LABELS, None).X.matrix, rows)


def test_a_seed_decides_the_engines_runs():
    runs = [ours.Lasso(0.1, solver="uniform", random_state=seed).fit(X, Y) for seed in (1, 1, np.random.RandomState(1))]
    np.testing.assert_array_equal(runs[0].coef_, runs[1].coef_)
    assert runs[2].certificate_.converged


def test_where_scikit_learn_has_changed_inside_estimators_fit_without_checks_of_their_parameters():
    code = """
import sklearn.linear_model, sklearn.utils._param_validation as inner
del inner.validate_parameter_constraints
import ascd
print(ascd.Lasso(alpha=0.1).fit([[0.0], [1.0]], [0.0, 1.0]).certificate_.converged)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert "scikit-learn has changed inside" in done.stderr
