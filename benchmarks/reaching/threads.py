"""Threads: the same fit with more of them, from the data to the certificate."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

import ascd
from reaching import generated
from reaching.timing import in_turns, show


def run(options):
    """Speed-ups against one thread."""
    words = options.fits.split(",")
    fits = {name: make(options.scale) for name, make in CASES.items() if any(word in name for word in words)}
    wanted = [1, *options.jobs]
    rows = []
    for name, fit in fits.items():
        seconds, answers = in_turns({jobs: partial(fit, jobs) for jobs in wanted}, options.repeats)
        check(name, answers)
        faster = [f"{seconds[1] / seconds[jobs]:.2f}" for jobs in options.jobs]
        rows.append([name, f"{seconds[1]:.3f}", *faster])
        print(f"  {name}: {seconds}", flush=True)
    show("Threads", ["fit", "seconds, one thread", *(f"{jobs} threads: times faster" for jobs in options.jobs)], rows)


@cache
def dense_data(scale):
    """``scale`` 1 is 1.6 GB."""
    A, b = generated.dense(2000, int(100_000 * scale))
    return A, b, generated.largest(A, b)


@cache
def sparse_data(scale):
    """``scale`` 1 has 5·10⁷ entries."""
    A, b = generated.sparse(int(500_000 * scale), int(200_000 * scale), int(5e7 * scale))
    return A, b, generated.largest(A, b)


def lasso_case(make, part, scale):
    A, b, top = make(scale)
    return partial(lasso, A, b, top / part)


def logistic_case(scale):
    A, b, _ = sparse_data(scale)
    labels = np.where(b > 0.0, 1.0, -1.0)
    return partial(logistic, A, labels, generated.largest(A, labels) / 2.0 / 20.0)


def folds_case(make, part, scale):
    """On so many columns: one of ``part``."""
    A, b, _ = make(scale)
    return partial(folds, A[:, : A.shape[1] // part], b)


#: name → what makes the fit, for a scale
CASES = {
    "dense Lasso λ_max/20": partial(lasso_case, dense_data, 20),
    "sparse Lasso λ_max/20": partial(lasso_case, sparse_data, 20),
    "sparse Lasso λ_max/100": partial(lasso_case, sparse_data, 100),
    "sparse L1-logistic λ_max/20": logistic_case,
    "dense LassoCV, 5 folds, 20 alphas": partial(folds_case, dense_data, 1),
    "sparse LassoCV, 5 folds, 20 alphas": partial(folds_case, sparse_data, 1),
    "sparse LassoCV, 5 folds, 20 alphas, a fifth of the columns": partial(folds_case, sparse_data, 5),
}


def lasso(A, b, strength, jobs):
    problem = ascd.Problem(A, b, penalty=ascd.L1(strength), n_jobs=jobs)
    return ascd.solve(problem, tol=1e-6, intercept=True, n_jobs=jobs)


def logistic(A, b, strength, jobs):
    problem = ascd.Problem(A, b, "logistic", ascd.L1(strength), n_jobs=jobs)
    return ascd.solve(problem, tol=1e-6, intercept=True, n_jobs=jobs)


def folds(A, b, jobs):
    return ascd.LassoCV(cv=5, alphas=20, eps=0.05, n_jobs=jobs).fit(A, b).certificate_


def check(name, answers):
    """All are proved, and to the same objective."""
    objectives = [answer.objective for answer in answers.values()]
    assert np.ptp(objectives) <= 1e-6 * abs(objectives[0]), (name, objectives)
