"""``minimize(problem)`` as it comes against random and cyclic steps, to relative suboptimality 1e-4.

Lasso, elastic net and L1-logistic at λ_max/20 and /100, and the dual of the hinge SVM at C = 1 and 0.2.
A baseline that does not arrive in ``LIMIT`` seconds counts with what it has spent: then the quotient is an upper bound.
"""

from __future__ import annotations

import numpy as np

import ascd
from choosing.contest import BASELINES, best_objective, reach
from choosing.data import cases

LIMIT = 5.0
METHODS = {**BASELINES, "default": {}}
RECORDS = {"default": 40}  # an epoch: it needs less than one, the others dozens
QUOTIENTS = ("of uniform", "of cyclic", "of the better", "reads of uniform")


def signs(y):
    return np.where(y > np.median(y), 1.0, -1.0)


def lasso(A, y, part):
    return ascd.Problem(A, y, penalty=ascd.L1(np.abs(A.T @ y).max() / part))


def elastic_net(A, y, part):
    strength = np.abs(A.T @ y).max() / part
    return ascd.Problem(A, y, penalty=ascd.L1L2(0.9 * strength, 0.1 * strength))


def logistic(A, y, part):
    return ascd.Problem(A, signs(y), "logistic", ascd.L1(0.5 * np.abs(A.T @ signs(y)).max() / part))


def svm_dual(A, y, part):
    return ascd.DualSVM(A, signs(y), C=20.0 / part)


PROBLEMS = {"Lasso": lasso, "elastic net": elastic_net, "L1-logistic": logistic, "SVM dual": svm_dual}


def defaults(folder, quick, wanted="", problems=""):
    """One row a data set, problem and share of λ_max; the geometric means and the worst are printed at the end."""
    chosen, quotients = {kind: make for kind, make in PROBLEMS.items() if problems in kind}, []
    for name, (A, y) in cases(folder, quick, wanted, more=True):
        for kind, make in chosen.items():
            for part in (20, 100):
                problem = make(A, y, part)
                best, _ = best_objective(problem)
                methods = {
                    method: reach(problem, options, best, quick, LIMIT, RECORDS.get(method, 4))
                    for method, options in METHODS.items()
                }
                quotients.append(compared(methods))
                names = {"case": name, "problem": kind, "part": part}
                yield names | {"methods": methods, "quotients": dict(zip(QUOTIENTS, quotients[-1], strict=True))}
    if quotients:
        for word, found in ("geometric mean", np.exp(np.log(quotients).mean(axis=0))), ("worst", np.max(quotients, 0)):
            told = (f"{name}: {number:.2f}" for name, number in zip(QUOTIENTS, found, strict=True))
            print(f"  {word} of {len(quotients)}: {',  '.join(told)}", flush=True)


def compared(methods):
    """Seconds of the default as parts of the others', and its reads as a part of uniform's."""
    seconds = {name: found["seconds"] or found["spent"] for name, found in methods.items()}
    reads = {name: found["reads"] or found["read"] for name, found in methods.items()}
    own = seconds["default"]
    parts = [own / seconds["uniform"], own / seconds["cyclic"], own / min(seconds["uniform"], seconds["cyclic"])]
    return [*parts, reads["default"] / reads["uniform"]]
