"""Estimators with scikit-learn's interface; see docs/estimators.md.

A file is imported when one of its names is first asked for: half of scikit-learn is needed by cross-validation alone.
"""

from importlib import import_module
from typing import Any

_FILES = {
    "_fitting": ["Certificate"],
    "cross_validation": ["ElasticNetCV", "LassoCV"],
    "huber": ["HuberRegressor"],
    "least_squares": ["ElasticNet", "Lasso"],
    "logistic": ["LogisticRegression"],
    "logistic_cv": ["LogisticRegressionCV"],
    "logistic_paths": ["logistic_path"],
    "paths": ["enet_path", "lasso_path"],
    "poisson": ["PoissonRegressor"],
    "ridge": ["NNLS", "Ridge"],
    "svm": ["LinearSVC"],
}
_HOMES = {name: file for file, names in _FILES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"ascd.estimators.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'ascd.estimators' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
