"""Estimators with scikit-learn's interface; see docs/estimators.md.

Each family stands in a file of its own.  What they share:

==============================================================  ==================================================
``_base``, ``_given``, ``_layouts``, ``_speaking``              the user's data, read and checked; errors about X
``_elsewhere``, ``_lazily``, ``_on_device``                     data that are not arrays of this process
``_penalty``, ``_deviations``                                   weights, bounds, standardised features
``_fitting``, ``_solving``, ``_engine``, ``_rounding``          a problem solved: settings, certificate, float32
``_least_squares``, ``_smooth``, ``_normal_equations``          the squared loss; without kinks, exactly
``_scale``, ``_scale_terms``                                    Huber's scale
``_classes``, ``_odds``, ``_multinomial``, ``_svm_dual``        classifiers
``_blocks``                                                     groups of features, several targets
``_following``, ``_folds``, ``_path_cv``, ``_logistic_folds``   paths and cross-validations
``_scoring``, ``_unfinished``, ``_plots``                       their scores, what is left of lost ones, pictures
==============================================================  ==================================================

A file is imported when one of its names is first asked for: half of scikit-learn is needed by cross-validation alone.
scikit-learn's modules import each other in circles, so two threads that import it at once by different ways meet
half-made modules: one thread imports at a time.  Type checkers read plain imports.
"""

from importlib import import_module
from threading import RLock

TYPE_CHECKING = False  #: as in ``typing``, which takes longer to import than all the rest here
if TYPE_CHECKING:
    from ascd.estimators._fitting import Certificate
    from ascd.estimators.block_cv import MultiTaskElasticNetCV, MultiTaskLassoCV
    from ascd.estimators.cross_validation import ElasticNetCV, LassoCV
    from ascd.estimators.group_cv import GroupLassoCV, SparseGroupLassoCV
    from ascd.estimators.group_lasso import GroupLasso, SparseGroupLasso
    from ascd.estimators.huber import HuberRegressor
    from ascd.estimators.least_squares import ElasticNet, Lasso
    from ascd.estimators.logistic import LogisticRegression
    from ascd.estimators.logistic_cv import LogisticRegressionCV
    from ascd.estimators.logistic_paths import logistic_path
    from ascd.estimators.multi_task import MultiTaskElasticNet, MultiTaskLasso
    from ascd.estimators.paths import enet_path, lasso_path
    from ascd.estimators.poisson import PoissonRegressor
    from ascd.estimators.ridge import NNLS, Ridge
    from ascd.estimators.svm import LinearSVC

__all__ = [
    "NNLS",
    "Certificate",
    "ElasticNet",
    "ElasticNetCV",
    "GroupLasso",
    "GroupLassoCV",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "PoissonRegressor",
    "Ridge",
    "SparseGroupLasso",
    "SparseGroupLassoCV",
    "enet_path",
    "lasso_path",
    "logistic_path",
]

_FILES = {
    "_fitting": ["Certificate"],
    "block_cv": ["MultiTaskElasticNetCV", "MultiTaskLassoCV"],
    "cross_validation": ["ElasticNetCV", "LassoCV"],
    "group_cv": ["GroupLassoCV", "SparseGroupLassoCV"],
    "group_lasso": ["GroupLasso", "SparseGroupLasso"],
    "huber": ["HuberRegressor"],
    "least_squares": ["ElasticNet", "Lasso"],
    "logistic": ["LogisticRegression"],
    "logistic_cv": ["LogisticRegressionCV"],
    "logistic_paths": ["logistic_path"],
    "multi_task": ["MultiTaskElasticNet", "MultiTaskLasso"],
    "paths": ["enet_path", "lasso_path"],
    "poisson": ["PoissonRegressor"],
    "ridge": ["NNLS", "Ridge"],
    "svm": ["LinearSVC"],
}
_HOMES = {name: file for file, names in _FILES.items() for name in names}
_importing = RLock()


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module 'ascd.estimators' has no attribute {name!r}")
        with _importing:
            found = getattr(import_module(f"ascd.estimators.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
