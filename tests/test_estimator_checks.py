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
    estimators.LassoCV(),
    estimators.ElasticNetCV(),
    estimators.LogisticRegressionCV(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(EVERY)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
