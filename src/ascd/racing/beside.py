"""scikit-learn on the same problem: fits of falling tolerance until one is close enough to the minimum.

Only the last of these fits counts, the loosest tolerance that gets there, which is the best that can be said of it.
scikit-learn counts sweeps over the columns rather than columns read.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd.problem.problem import Problem

NAME = "scikit-learn"
TOLERANCES = tuple(10.0**-power for power in range(1, 13))
#: Seconds after which no further tolerance is tried, and sweeps that a fit may take.
LONGEST, MOST_SWEEPS = 10.0, 100_000


class Fits(NamedTuple):
    """One entry a tolerance: seconds, relative suboptimality, sweeps (nan where they are not counted), objective.

    The suboptimality is that over what was known before, and negative where a fit found a smaller objective.
    """

    seconds: list[float]
    excess: list[float]
    sweeps: list[float]
    objective: list[float]


def scikit_learn(X: Any, kind: str, problem: Problem) -> Callable[[float], Any] | None:
    """A function tolerance → unfitted estimator for the same problem; None where scikit-learn has none.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd.racing import make_problem
    >>> from ascd.racing.beside import scikit_learn
    >>> X = np.eye(3)
    >>> scikit_learn(X, "lasso", make_problem(X, [3.0, 1.0, -2.0], "lasso", "1.0"))(1e-3).alpha.round(4)
    np.float64(0.3333)
    """
    from sklearn import linear_model

    n, penalty = X.shape[0], problem.parts.penalty
    shared: dict[str, Any] = {"fit_intercept": False, "max_iter": MOST_SWEEPS}
    if kind == "lasso":
        return lambda tol: linear_model.Lasso(alpha=np.float64(penalty.strength) / n, tol=tol, **shared)
    if kind == "elastic-net":
        return lambda tol: linear_model.ElasticNet(alpha=2.0 * penalty.l1 / n, l1_ratio=0.5, tol=tol, **shared)
    if kind == "ridge":
        return lambda tol: linear_model.Ridge(alpha=penalty.strength, tol=tol, **shared)
    if kind == "logistic":
        own = {"solver": "liblinear", "C": 1.0 / penalty.strength, **_l1_only()}
        return lambda tol: linear_model.LogisticRegression(tol=tol, random_state=0, **own, **shared)
    return None  # an SVM's dual variables are not shown


def _l1_only() -> dict[str, Any]:
    """How the installed scikit-learn wants to be told that the penalty is the ℓ1 norm."""
    from sklearn import __version__

    is_new = tuple(map(int, __version__.split(".")[:2])) >= (1, 8)
    return {"l1_ratio": 1.0} if is_new else {"penalty": "l1"}


def run_beside(
    make: Callable[[float], Any], X: Any, problem: Problem, best: float, start: float, accuracy: float
) -> Fits:
    """Fit with falling tolerances until the suboptimality is at most ``accuracy``."""
    fits, y, X = Fits([], [], [], []), problem.parts.sample.target, _narrow(X)
    began = time.perf_counter()
    for tol in TOLERANCES:
        model = make(tol)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence: the excess tells
            clock = time.perf_counter()
            model.fit(X, y)
        fits.seconds.append(time.perf_counter() - clock)
        fits.objective.append(problem.objective(np.ravel(model.coef_)))
        fits.excess.append((fits.objective[-1] - best) / max(start - best, 1e-300))
        sweeps = getattr(model, "n_iter_", None)
        fits.sweeps.append(float("nan") if sweeps is None else float(np.max(sweeps)))
        if fits.excess[-1] <= accuracy or time.perf_counter() - began > LONGEST:
            break
    return fits


def _narrow(X: Any) -> Any:
    """A sparse matrix with 32-bit indices, which scikit-learn insists on; anything else as it is."""
    from scipy import sparse

    if not sparse.issparse(X):
        return X
    X = sparse.csc_array(X)
    return sparse.csc_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
