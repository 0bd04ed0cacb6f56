"""What people who come from R's glmnet look for: standardised features, the one-standard-error rule."""

from __future__ import annotations

import numpy as np
import pytest
from scaled_data import SCALES, counts, data, labels
from scipy import sparse
from sklearn import linear_model
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ascd

OURS = {
    "Lasso": (ascd.Lasso, linear_model.Lasso, {"alpha": 0.1}, lambda y: y),
    "ElasticNet": (ascd.ElasticNet, linear_model.ElasticNet, {"alpha": 0.1, "l1_ratio": 0.6}, lambda y: y),
    "Ridge": (ascd.Ridge, linear_model.Ridge, {"alpha": 3.0}, lambda y: y),
    "HuberRegressor": (ascd.HuberRegressor, linear_model.HuberRegressor, {"alpha": 1.0}, lambda y: y),
    "PoissonRegressor": (ascd.PoissonRegressor, linear_model.PoissonRegressor, {"alpha": 0.5}, counts),
    "LogisticRegression": (ascd.LogisticRegression, linear_model.LogisticRegression, {"C": 0.5}, labels),
}


#: Huber's regression takes long: one storage.
STORED = (np.asfortranarray, np.asarray, sparse.csc_array, sparse.csr_matrix)
PAIRS = [(name, stored) for name in OURS for stored in STORED[: 1 if "Huber" in name else 4]]


@pytest.mark.parametrize(("name", "stored"), PAIRS)
def test_standardize_is_the_fit_of_standardised_features(name, stored):
    ours, theirs, parameters, target = OURS[name]
    X, y, weight = data(density=0.7)
    y = target(y)
    model = ours(standardize=True, tol=1e-11, **parameters).fit(stored(X), y, sample_weight=weight)
    scaler = StandardScaler().fit(X, sample_weight=weight)
    peer = theirs(tol=1e-10, max_iter=100_000, **parameters).fit(scaler.transform(X), y, sample_weight=weight)
    expected = np.ravel(peer.coef_) / scaler.scale_
    assert np.ravel(model.coef_) * scaler.scale_ == pytest.approx(expected * scaler.scale_, rel=1e-4, abs=1e-5)
    assert np.ravel(model.intercept_) == pytest.approx(
        np.ravel(peer.intercept_) - expected @ scaler.mean_, rel=1e-4, abs=1e-5
    )
    assert model.certificate_.converged


@pytest.mark.parametrize("stored", [np.asarray, sparse.csc_array])
def test_folds_are_standardised_by_what_they_fit(stored):
    X, y, _ = data(density=0.7)
    alphas, cv = np.geomspace(1.0, 0.01, 7), KFold(3)
    ours = ascd.LassoCV(standardize=True, alphas=alphas, cv=cv, tol=1e-10).fit(stored(X), y)
    pipeline = make_pipeline(StandardScaler(), linear_model.Lasso(tol=1e-8, max_iter=100_000))
    search = GridSearchCV(pipeline, {"lasso__alpha": alphas}, cv=cv, scoring="neg_mean_squared_error").fit(X, y)
    errors = np.array([-search.cv_results_[f"split{k}_test_score"] for k in range(3)]).T
    assert ours.mse_path_ == pytest.approx(errors, rel=1e-4)
    assert ours.alpha_ == pytest.approx(search.best_params_["lasso__alpha"])


def test_logistic_folds_are_standardised_by_what_they_fit():
    X, y, _ = data()
    y, cv, Cs = labels(y), KFold(3), [0.05, 0.5]
    ours = ascd.LogisticRegressionCV(Cs=Cs, cv=cv, standardize=True, scoring="neg_log_loss", tol=1e-8).fit(X, y)
    for place, C in enumerate(Cs):
        pipeline = make_pipeline(StandardScaler(), linear_model.LogisticRegression(C=C, tol=1e-8))
        scores = cross_val_score(pipeline, X, y, cv=cv, scoring="neg_log_loss")
        assert ours.scores_[:, 0, place] == pytest.approx(scores, rel=1e-4)


# --- one standard error ---


def test_one_standard_error_fits_the_simpler_model():
    X, y, _ = data()
    X = X / SCALES
    best, simple = (ascd.LassoCV(alphas=40, cv=5, choose=choose, tol=1e-10).fit(X, y) for choose in ("best", "1se"))
    assert simple.alpha_ == simple.alpha_1se_ == best.alpha_1se_ > best.alpha_ == simple.alpha_best_
    assert simple.coef_ == pytest.approx(ascd.Lasso(alpha=best.alpha_1se_, tol=1e-10).fit(X, y).coef_, abs=1e-6)
    means = best.mse_path_.mean(axis=1)
    row = int(np.argmin(means))
    limit = means[row] + best.mse_path_[row].std(ddof=1) / np.sqrt(5)
    assert simple.alpha_ == best.alphas_[means <= limit].max()


def test_one_standard_error_for_classes():
    X, y, _ = data()
    best, simple = (
        ascd.LogisticRegressionCV(
            Cs=np.geomspace(0.05, 50.0, 12), l1_ratios=(1.0,), cv=4, choose=choose, scoring="neg_log_loss"
        ).fit(X, labels(y))
        for choose in ("best", "1se")
    )
    assert simple.C_ == simple.C_1se_ == best.C_1se_ < best.C_ == simple.C_best_
    again = ascd.LogisticRegression(C=simple.C_, l1_ratio=1.0, tol=1e-10).fit(X, labels(y))
    assert simple.coef_ == pytest.approx(again.coef_, rel=1e-4, abs=1e-5)
    with pytest.raises(ValueError, match="choose must be 'best' where refit=False"):
        ascd.LogisticRegressionCV(refit=False, choose="1se").fit(X, labels(y))
    with pytest.raises(ValueError, match="'choose' parameter of LassoCV must be"):
        ascd.LassoCV(choose="lambda.min").fit(X, y)
