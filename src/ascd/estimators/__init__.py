"""Estimators with scikit-learn's interface; see docs/estimators.md.

============================================  =========================================================
``least_squares``, ``block_models``           squared loss: one target; groups or several targets
``poisson``, ``huber``, ``logistic``, ``svm`` other losses
``paths``                                     paths as functions
``cross_validation``                          strengths chosen by cross-validation
``_parameters``, ``_data``, ``_solving``      parameters; the one way in for X and y; problems stated and solved
``_base``, ``_folds``                         one fit, one certificate, one prediction; one cross-validation
============================================  =========================================================

A file is imported when one of its names is first asked for: half of scikit-learn is needed by cross-validation alone.
scikit-learn's modules import each other in circles, so two threads that import it at once by different ways meet
half-made modules: one thread imports at a time.  Type checkers read plain imports.
"""

from __future__ import annotations

from importlib import import_module
from sys import modules
from threading import RLock

TYPE_CHECKING = False  #: as in ``typing``, which takes longer to import than all the rest here
if TYPE_CHECKING:
    from ascd.estimators._base import Certificate
    from ascd.estimators.block_models import GroupLasso, MultiTaskElasticNet, MultiTaskLasso, SparseGroupLasso
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
    from ascd.estimators.least_squares import NNLS, ElasticNet, Lasso, Ridge, enet_path, lasso_path
    from ascd.estimators.logistic import LogisticRegression, logistic_path
    from ascd.estimators.paths import model_path
    from ascd.estimators.poisson import PoissonRegressor
    from ascd.estimators.svm import LinearSVC

__all__ = [
    "NNLS",
    "Certificate",
    "ElasticNet",
    "ElasticNetCV",
    "GroupLasso",
    "GroupLassoCV",
    "HuberRegressor",
    "HuberRegressorCV",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LinearSVCCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "PoissonRegressor",
    "PoissonRegressorCV",
    "Ridge",
    "RidgeCV",
    "SparseGroupLasso",
    "SparseGroupLassoCV",
    "enet_path",
    "lasso_path",
    "logistic_path",
    "model_path",
]

_FILES = {
    "_base": ["Certificate"],
    "block_models": ["GroupLasso", "MultiTaskElasticNet", "MultiTaskLasso", "SparseGroupLasso"],
    "cross_validation": [
        "ElasticNetCV", "GroupLassoCV", "HuberRegressorCV", "LassoCV", "LinearSVCCV", "LogisticRegressionCV",
        "MultiTaskElasticNetCV", "MultiTaskLassoCV", "PoissonRegressorCV", "RidgeCV", "SparseGroupLassoCV",
    ],
    "huber": ["HuberRegressor"],
    "least_squares": ["ElasticNet", "Lasso", "NNLS", "Ridge", "enet_path", "lasso_path"],
    "logistic": ["LogisticRegression", "logistic_path"],
    "paths": ["model_path"],
    "poisson": ["PoissonRegressor"],
    "svm": ["LinearSVC"],
}  # fmt: skip
_HOMES = {name: file for file, names in _FILES.items() for name in names}
_importing = RLock()


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name):
        if name not in _HOMES:
            message = f"module 'ascd.estimators' has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=modules[__name__])  # Python adds the nearest name there is
        with _importing:
            found = getattr(import_module(f"ascd.estimators.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
