"""Estimators with scikit-learn's interface; see docs/estimators.md.

========================================  =============================================================
``least_squares``                         squared loss: single features, groups, several targets
``logistic``, ``huber``, ``svm``          other losses, with Poisson's beside the logistic one
``paths``, ``cross_validation``           paths as functions; strengths chosen by cross-validation
``_parameters``, ``_data``, ``_solving``  parameters; the one way in for X and y; problems stated and solved
``_base``                                 one fit, one certificate, one prediction
========================================  =============================================================

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
    from ascd.estimators._base import Certificate as Certificate
    from ascd.estimators.cross_validation import ElasticNetCV as ElasticNetCV
    from ascd.estimators.cross_validation import GroupLassoCV as GroupLassoCV
    from ascd.estimators.cross_validation import HuberRegressorCV as HuberRegressorCV
    from ascd.estimators.cross_validation import LassoCV as LassoCV
    from ascd.estimators.cross_validation import LinearSVCCV as LinearSVCCV
    from ascd.estimators.cross_validation import LogisticRegressionCV as LogisticRegressionCV
    from ascd.estimators.cross_validation import MultiTaskElasticNetCV as MultiTaskElasticNetCV
    from ascd.estimators.cross_validation import MultiTaskLassoCV as MultiTaskLassoCV
    from ascd.estimators.cross_validation import PoissonRegressorCV as PoissonRegressorCV
    from ascd.estimators.cross_validation import RidgeCV as RidgeCV
    from ascd.estimators.cross_validation import SparseGroupLassoCV as SparseGroupLassoCV
    from ascd.estimators.huber import HuberRegressor as HuberRegressor
    from ascd.estimators.least_squares import NNLS as NNLS
    from ascd.estimators.least_squares import ElasticNet as ElasticNet
    from ascd.estimators.least_squares import GroupLasso as GroupLasso
    from ascd.estimators.least_squares import Lasso as Lasso
    from ascd.estimators.least_squares import MultiTaskElasticNet as MultiTaskElasticNet
    from ascd.estimators.least_squares import MultiTaskLasso as MultiTaskLasso
    from ascd.estimators.least_squares import Ridge as Ridge
    from ascd.estimators.least_squares import SparseGroupLasso as SparseGroupLasso
    from ascd.estimators.least_squares import enet_path as enet_path
    from ascd.estimators.least_squares import lasso_path as lasso_path
    from ascd.estimators.logistic import LogisticRegression as LogisticRegression
    from ascd.estimators.logistic import PoissonRegressor as PoissonRegressor
    from ascd.estimators.logistic import logistic_path as logistic_path
    from ascd.estimators.paths import model_path as model_path
    from ascd.estimators.svm import LinearSVC as LinearSVC

_FILES = {
    "_base": "Certificate",
    "cross_validation": "ElasticNetCV GroupLassoCV HuberRegressorCV LassoCV LinearSVCCV LogisticRegressionCV "
    "MultiTaskElasticNetCV MultiTaskLassoCV PoissonRegressorCV RidgeCV SparseGroupLassoCV",
    "huber": "HuberRegressor",
    "least_squares": "ElasticNet GroupLasso Lasso MultiTaskElasticNet MultiTaskLasso NNLS Ridge SparseGroupLasso "
    "enet_path lasso_path",
    "logistic": "LogisticRegression PoissonRegressor logistic_path",
    "paths": "model_path",
    "svm": "LinearSVC",
}
_HOMES = {name: file for file, names in _FILES.items() for name in names.split()}
_importing = RLock()


if not TYPE_CHECKING:  # a type checker would take any name for one of ours
    __all__ = sorted(_HOMES)

    def __getattr__(name):
        if name not in _HOMES:
            message = f"module 'ascd.estimators' has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=modules[__name__])  # Python adds the nearest name there is
        with _importing:
            found = getattr(import_module(f"ascd.estimators.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
