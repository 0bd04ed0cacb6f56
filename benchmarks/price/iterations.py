"""Seconds of an iteration, beside the least it could cost."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import scipy.sparse as sp
from common.stepping import interleaved, stepper

import ascd
from price.bare import bare_stepper


def generic(quick):
    """``uniform`` on sparse data and the same step as a bare loop."""
    rng = np.random.default_rng(0)
    for d, n, per_column in ((2_000, 5_000, 20), (20_000, 50_000, 40), (100_000, 50_000, 200)):
        if quick and d > 20_000:
            continue
        A = sp.random(d, n, density=per_column / d, format="csc", random_state=rng)
        b = rng.standard_normal(d)
        strength = 0.05 * np.abs(A.T @ b).max()
        ours, bare = stepper(ascd.Problem(A, b, penalty=ascd.L1(strength)), "uniform"), bare_stepper(A, b, strength)
        best = interleaved({"ours": partial(ours, 4 * n), "bare": partial(bare, 4 * n)}, 3 if quick else 7)
        yield {"problem": "lasso", "samples": d, "features": n, "per_column": per_column, **best}


def numpy_pass(n):
    a, b, c, d = (np.random.default_rng(0).random(n) for _ in range(4))

    def once():
        began = time.thread_time()
        np.add(a, b, out=c)
        np.add(c, d, out=c)
        return time.thread_time() - began

    return once


def selection(quick):
    """Rules with the oracle "norm" and a NumPy pass over four arrays of length n."""
    rng = np.random.default_rng(1)
    rules = {
        "ascd": ascd.ASCD(),
        "a-ascd scan": ascd.HeuristicASCD(scan=True),
        "a-ascd": ascd.HeuristicASCD(),
        "u-ascd": ascd.UpperASCD(),
        "l-ascd": ascd.LowerASCD(),
    }
    for n in (10_000, 50_000) if quick else (10_000, 50_000, 500_000):
        d = 5_000
        A = sp.random(d, n, density=30 / d, format="csc", random_state=rng)
        b = A[:, : n // 100] @ rng.standard_normal(n // 100) + rng.standard_normal(d)
        problem = ascd.Problem(A, b, penalty=ascd.L1(0.02 * np.abs(A.T @ b).max()))
        functions = {name: partial(stepper(problem, rule), 20 if quick else 50) for name, rule in rules.items()}
        best = interleaved({"numpy": numpy_pass(n), **functions}, 10 if quick else 30)
        for name in rules:
            yield {"features": n, "rule": name, "seconds": best[name], "numpy": best["numpy"]}


def dense(quick):
    """``a-ascd`` and ``uniform`` where reading a column costs as much as selecting."""
    rng = np.random.default_rng(2)
    A = np.asfortranarray(rng.standard_normal((2000, 2000)))
    b = A[:, :100] @ rng.standard_normal(100) + rng.standard_normal(2000)
    lam = 0.05 * np.abs(A.T @ b).max()
    for name, penalty in (("ridge", ascd.L2(1.0)), ("lasso", ascd.L1(lam))):
        problem = ascd.Problem(A, b, penalty=penalty)
        for step in ("fixed", "coordinate"):
            functions = {rule: partial(stepper(problem, rule, step=step), 5000) for rule in ("uniform", "a-ascd")}
            yield {"problem": name, "step": step, **interleaved(functions, 3 if quick else 9)}
