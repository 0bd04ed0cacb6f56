"""Threads: the same fit with more of them, from the data to the certificate."""

from __future__ import annotations

from functools import partial

import numpy as np

import ascd
from reaching import generated
from reaching.timing import in_turns, show


def run(options):
    """Speed-ups against one thread."""
    wanted = [1, *options.jobs]
    rows = []
    for name, fit in cases(options.scale).items():
        seconds, answers = in_turns({jobs: partial(fit, jobs) for jobs in wanted}, options.repeats)
        check(name, answers)
        faster = [f"{seconds[1] / seconds[jobs]:.2f}" for jobs in options.jobs]
        rows.append([name, f"{seconds[1]:.3f}", *faster])
        print(f"  {name}: {seconds}", flush=True)
    show("Threads", ["fit", "seconds, one thread", *(f"{jobs} threads: times faster" for jobs in options.jobs)], rows)


def cases(scale):
    """Sizes of issue and figure: ``scale`` 1 is 1.6 GB dense and 5·10⁷ entries sparse."""
    A, b = generated.dense(2000, int(100_000 * scale))
    top = generated.largest(A, b)
    fits = {"dense Lasso λ_max/20": partial(lasso, A, b, top / 20)}
    S, s = generated.sparse(int(500_000 * scale), int(200_000 * scale), int(5e7 * scale))
    highest = generated.largest(S, s)
    for part in (20, 100):
        fits[f"sparse Lasso λ_max/{part}"] = partial(lasso, S, s, highest / part)
    labels = np.where(s > 0.0, 1.0, -1.0)
    strength = generated.largest(S, labels) / 2.0 / 20.0
    fits["sparse L1-logistic λ_max/20"] = partial(logistic, S, labels, strength)
    few = S[:, : S.shape[1] // 5]
    fits["sparse LassoCV, 5 folds, 20 alphas"] = partial(folds, few, s)
    return fits


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
