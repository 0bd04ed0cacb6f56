"""Estimators with scikit-learn's interface; see docs/estimators.md.

========================================  =============================================================
``least_squares``                         squared loss: single features, groups, several targets
``logistic``, ``huber``, ``svm``          other losses, with Poisson's beside the logistic one
``cross_validation``                      strengths chosen by cross-validation
``_parameters``, ``_data``                parameters; the one way in for X and y
``_solving``, ``_base``                   problems and paths solved; one fit, one certificate, one prediction
========================================  =============================================================
"""

from ascd.estimators._base import Certificate
from ascd.estimators._solving import model_path
from ascd.estimators.cross_validation import (
    ElasticNetCV,
    GroupLassoCV,
    HuberRegressorCV,
    LassoCV,
    LinearSVCCV,
    LogisticRegressionCV,
    MultiTaskElasticNetCV,
    MultiTaskLassoCV,
    PoissonRegressorCV,
    RidgeCV,
    SparseGroupLassoCV,
)
from ascd.estimators.huber import HuberRegressor
from ascd.estimators.least_squares import (
    NNLS,
    ElasticNet,
    GroupLasso,
    Lasso,
    MultiTaskElasticNet,
    MultiTaskLasso,
    Ridge,
    SparseGroupLasso,
    enet_path,
    lasso_path,
)
from ascd.estimators.logistic import LogisticRegression, PoissonRegressor
from ascd.estimators.svm import LinearSVC

__all__ = [
    "NNLS", "Certificate", "ElasticNet", "ElasticNetCV", "GroupLasso", "GroupLassoCV", "HuberRegressor",
    "HuberRegressorCV", "Lasso", "LassoCV", "LinearSVC", "LinearSVCCV", "LogisticRegression", "LogisticRegressionCV",
    "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV", "PoissonRegressor",
    "PoissonRegressorCV", "Ridge", "RidgeCV", "SparseGroupLasso", "SparseGroupLassoCV", "enet_path", "lasso_path",
    "model_path",
]  # fmt: skip
