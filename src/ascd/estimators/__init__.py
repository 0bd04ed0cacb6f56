"""Estimators with scikit-learn's interface; see docs/estimators.md."""

from ascd.estimators._fitting import Certificate
from ascd.estimators.cross_validation import ElasticNetCV, LassoCV
from ascd.estimators.huber import HuberRegressor
from ascd.estimators.least_squares import ElasticNet, Lasso
from ascd.estimators.logistic import LogisticRegression
from ascd.estimators.logistic_cv import LogisticRegressionCV
from ascd.estimators.logistic_paths import logistic_path
from ascd.estimators.paths import enet_path, lasso_path
from ascd.estimators.poisson import PoissonRegressor
from ascd.estimators.ridge import NNLS, Ridge
from ascd.estimators.svm import LinearSVC

__all__ = [
    "NNLS",
    "Certificate",
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "PoissonRegressor",
    "Ridge",
    "enet_path",
    "lasso_path",
    "logistic_path",
]
