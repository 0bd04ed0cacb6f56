"""scikit-learn's own checks for estimators, none of them expected to fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ascd import estimators

#: Fits of a grid, with much of a penalty: the checks are about the interface.
FEW = {"alphas": 2, "eps": 0.1, "cv": 2}
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
    estimators.GroupLassoCV(**FEW),
    estimators.SparseGroupLassoCV(**FEW),
    estimators.MultiTaskLassoCV(**FEW),
    estimators.MultiTaskElasticNetCV(**FEW),
    estimators.LassoCV(**FEW),
    estimators.ElasticNetCV(**FEW),
    estimators.PoissonRegressorCV(alphas=[1.0, 10.0], cv=2),
    estimators.HuberRegressorCV(alphas=[10.0], cv=2),
    # without much of a penalty a fit takes many times longer
    estimators.LogisticRegressionCV(Cs=[0.01, 0.02], cv=2),
    estimators.RidgeCV(alphas=[0.1, 1.0], cv=2),
    estimators.LinearSVCCV(Cs=[0.01, 0.02], cv=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore:The least populated class")
@parametrize_with_checks(EVERY)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
