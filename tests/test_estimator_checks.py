"""scikit-learn's own checks for estimators, none of them expected to fail."""

from __future__ import annotations

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from ascd import estimators

#: Fits of a grid: the checks are about the interface.
FEW = {"alphas": 2, "cv": 2}
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
    estimators.PoissonRegressorCV(alphas=[0.1, 1.0], cv=2),
    estimators.HuberRegressorCV(alphas=[0.1, 1.0], cv=2),
    # without much of a penalty a fit takes many times longer
    estimators.LogisticRegressionCV(Cs=[0.01, 0.1], cv=2),
    estimators.RidgeCV(alphas=[0.1, 1.0], cv=2),
    estimators.LinearSVCCV(Cs=[0.01, 0.1], cv=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore:The least populated class")
@parametrize_with_checks(EVERY)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    with warnings.catch_warnings():
        if is_badly_rounded(estimator, check):
            warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def is_badly_rounded(estimator, check):
    """Rounded to float32, dependent columns of the array API checks ask of NNLS for coefficients of 1e6."""
    given = getattr(check, "keywords", {})
    return (
        isinstance(estimator, estimators.NNLS) and "array_namespace" in given and given.get("dtype_name") == "float32"
    )
