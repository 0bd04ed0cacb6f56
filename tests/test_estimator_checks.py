"""scikit-learn's own checks for estimators, none of them expected to fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ascd import estimators

EVERY = [
    estimators.Lasso(),
    estimators.ElasticNet(),
    estimators.Ridge(),
    estimators.NNLS(),
    estimators.HuberRegressor(),
    estimators.PoissonRegressor(),
    estimators.LogisticRegression(),
    estimators.LinearSVC(),
    estimators.LinearSVC(loss="hinge"),
    estimators.GroupLasso(),
    estimators.SparseGroupLasso(),
    estimators.MultiTaskLasso(),
    estimators.MultiTaskElasticNet(),
    estimators.GroupLassoCV(alphas=10),
    estimators.MultiTaskLassoCV(alphas=10),
    estimators.MultiTaskElasticNetCV(alphas=10),
    estimators.LassoCV(alphas=10),
    estimators.ElasticNetCV(alphas=10),
    estimators.LogisticRegressionCV(Cs=3, cv=3),  # some checks have three samples of a class
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore:The least populated class")
@parametrize_with_checks(EVERY)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
