"""What an iteration costs: the engine against bare loops, NumPy passes and itself, as ratios from one run.

    python benchmarks/engine.py [--quick]

Every figure is the minimum of several interleaved repeats, in seconds of the processor, so that other work on the
machine disturbs little.  The bars are those the engine was built to:

    uniform, sparse data            ≤ 1.5 × the same step as a bare numba loop
    ascd, a-ascd with "norm"        ≤ 3 × a NumPy pass over four float64 arrays of length n
    dense 2000 × 2000, a-ascd       ≤ 1.3 × uniform
    import + first minimize         ≤ 8 s with an empty cache, ≤ 1.0 s with a filled one; import alone ≤ 0.6 s
    memory above the data           ≤ 10 float64 vectors of length n and 4 of length d
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from functools import partial

import numba
import numpy as np
import scipy.sparse as sp

import ascd
from ascd.descent import descend
from ascd.minimize import _start
from ascd.oracles import as_oracle
from ascd.rules import as_rule
from ascd.steps import as_step


def stepper(problem, rule, oracle="norm", steepness="gs-s", step="coordinate", init="gradient"):
    """A function that performs the next ``count`` iterations of a prepared run and returns the seconds each took."""
    rng = np.random.default_rng(0)
    point, unread = _start(problem, steepness, init, None)
    compiled_oracle = as_oracle(oracle, problem.parts, rng)
    compiled_rule = as_rule(rule, problem.parts, compiled_oracle, point.intervals.steepness)
    parts = (point, compiled_rule, compiled_oracle, as_step(step, problem.parts))
    descend(*parts, unread, 0, 0, rng)
    done = 0

    def advance(count):
        nonlocal done
        began = time.thread_time()
        descend(*parts, False, done, done + count, rng)
        done += count
        return (time.thread_time() - began) / count

    return advance


def interleaved(functions, repeats):
    """The minimum of each function's answers over interleaved repeats."""
    best = dict.fromkeys(functions, np.inf)
    for _ in range(repeats):
        for name, function in functions.items():
            best[name] = min(best[name], function())
    return best


@numba.njit(error_model="numpy")
def bare_lasso(data, indices, indptr, residual, x, lipschitz, lam, rng, count):
    for _ in range(count):
        j = int(rng.random() * x.size)
        g = 0.0
        for p in range(indptr[j], indptr[j + 1]):
            g += data[p] * residual[indices[p]]
        v, t = x[j] - g / lipschitz[j], lam / lipschitz[j]
        new = v - t if v > t else (v + t if v < -t else 0.0)
        if new != x[j]:
            change = new - x[j]
            x[j] = new
            for p in range(indptr[j], indptr[j + 1]):
                residual[indices[p]] += change * data[p]


@numba.njit(error_model="numpy")
def bare_ridge(data, indices, indptr, residual, x, lipschitz, lam, rng, count):
    for _ in range(count):
        j = int(rng.random() * x.size)
        g = 0.0
        for p in range(indptr[j], indptr[j + 1]):
            g += data[p] * residual[indices[p]]
        new = (x[j] - g / lipschitz[j]) / (1.0 + lam / lipschitz[j])
        if new != x[j]:
            change = new - x[j]
            x[j] = new
            for p in range(indptr[j], indptr[j + 1]):
                residual[indices[p]] += change * data[p]


def bare_stepper(loop, A, b, lam):
    x, residual, rng = np.zeros(A.shape[1]), -b.copy(), np.random.default_rng(0)
    lipschitz = np.maximum(np.asarray(A.multiply(A).sum(axis=0)).ravel(), 1e-12)

    def advance(count):
        began = time.thread_time()
        loop(A.data, A.indices, A.indptr, residual, x, lipschitz, lam, rng, count)
        return (time.thread_time() - began) / count

    advance(1)
    return advance


def generic_price(quick):
    print("\nuniform on sparse data against a bare numba loop (bar 1.5)")
    rng = np.random.default_rng(0)
    for d, n, per_column in ((2_000, 5_000, 20), (20_000, 50_000, 40), (100_000, 50_000, 200)):
        if quick and d > 20_000:
            continue
        A = sp.random(d, n, density=per_column / d, format="csc", random_state=rng)
        b = rng.standard_normal(d)
        lam = 0.05 * np.abs(A.T @ b).max()
        for name, penalty, loop, strength in (
            ("lasso", ascd.L1(lam), bare_lasso, lam),
            ("ridge", ascd.L2(1.0), bare_ridge, 1.0),
        ):
            ours, bare = stepper(ascd.Problem(A, b, penalty=penalty), "uniform"), bare_stepper(loop, A, b, strength)
            count = 4 * n
            best = interleaved({"ours": partial(ours, count), "bare": partial(bare, count)}, 3 if quick else 7)
            print(
                f"  {name} {d:>7} x {n:<6} {per_column:>3} entries a column:  {1e9 * best['ours']:7.0f} ns"
                f" / {1e9 * best['bare']:7.0f} ns = {best['ours'] / best['bare']:.2f}"
            )


def numpy_pass(n):
    a, b, c, d = (np.random.default_rng(0).random(n) for _ in range(4))

    def once():
        began = time.thread_time()
        np.add(a, b, out=c)
        np.add(c, d, out=c)
        return time.thread_time() - began

    return once


def selection_price(quick):
    print("\none iteration with oracle 'norm' against a NumPy pass over four arrays (bar 3)")
    rng = np.random.default_rng(1)
    for n in (10_000, 50_000) if quick else (10_000, 50_000, 500_000):
        d = 5_000
        A = sp.random(d, n, density=30 / d, format="csc", random_state=rng)
        b = A[:, : n // 100] @ rng.standard_normal(n // 100) + rng.standard_normal(d)
        lam = 0.02 * np.abs(A.T @ b).max()
        problem = ascd.Problem(A, b, penalty=ascd.L1(lam))
        rules = {
            "ascd": ascd.ASCD(),
            "a-ascd scan": ascd.HeuristicASCD(scan=True),
            "a-ascd": ascd.HeuristicASCD(),
            "u-ascd": ascd.UpperASCD(),
            "l-ascd": ascd.LowerASCD(),
        }
        steppers = {name: stepper(problem, rule) for name, rule in rules.items()}
        count = 20 if quick else 50
        functions = {name: partial(advance, count) for name, advance in steppers.items()}
        best = interleaved({"numpy": numpy_pass(n), **functions}, 10 if quick else 30)
        for name in rules:
            print(
                f"  n = {n:>6} {name:12}: {1e6 * best[name]:8.1f} us / {1e6 * best['numpy']:7.1f} us"
                f" = {best[name] / best['numpy']:.2f}"
            )


def dense_price(quick):
    print("\ndense 2000 x 2000, a-ascd against uniform (bar 1.3)")
    rng = np.random.default_rng(2)
    A = np.asfortranarray(rng.standard_normal((2000, 2000)))
    b = A[:, :100] @ rng.standard_normal(100) + rng.standard_normal(2000)
    lam = 0.05 * np.abs(A.T @ b).max()
    for name, penalty in (("ridge", ascd.L2(1.0)), ("lasso", ascd.L1(lam))):
        problem = ascd.Problem(A, b, penalty=penalty)
        for step in ("fixed", "coordinate"):
            steppers = {rule: stepper(problem, rule, step=step) for rule in ("uniform", "a-ascd")}
            functions = {rule: partial(advance, 5000) for rule, advance in steppers.items()}
            best = interleaved(functions, 3 if quick else 9)
            print(
                f"  {name} {step:10}: {1e6 * best['a-ascd']:.2f} us / {1e6 * best['uniform']:.2f} us"
                f" = {best['a-ascd'] / best['uniform']:.2f}"
            )


STARTS = {
    "import alone": "import ascd",
    "import + minimize": (
        "import numpy as np, ascd\n"
        "A = np.random.default_rng(0).standard_normal((100, {n}))\n"
        "problem = ascd.Problem(A, A[:, 0] - A[:, 1], penalty=ascd.L1(10.0))\n"
        "print(ascd.minimize(problem, rule={rule!r}).status)"
    ),
}


def start_price(quick):
    print("\nfresh process, seconds, in brackets those of the processor (bars: import 0.6; cold 8, warm 1.0)")
    for rule, n in (("a-ascd", 1000), ("ascd", 1000), ("a-ascd", 3000)):  # lazy selection from 1500 on
        with tempfile.TemporaryDirectory() as folder:
            times = [_seconds_of(STARTS["import + minimize"].format(rule=rule, n=n), folder) for _ in range(4)]
        print(f"  import + first minimize, {rule:7} n = {n}: cold {_shown(times[:1])}, warm {_shown(times[1:])}")
    print(f"  import alone: {_shown([_seconds_of(STARTS['import alone'], '') for _ in range(4)])}")


def _shown(times):
    return "{:.2f} ({:.2f})".format(*np.min(times, axis=0))


def _seconds_of(code, cache):
    """Seconds by the clock and of the processor, first line to last, without the start of the interpreter itself."""
    timed = (
        f"import time; clock, work = time.perf_counter(), time.process_time()\n{code}\n"
        "print(time.perf_counter() - clock, time.process_time() - work)"
    )
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    done = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in done.stdout.split()[-2:]]


def memory_price(quick):
    print("\npeak memory above the data, in float64 vectors (bar: 10 of length n and 4 of length d)")
    rng = np.random.default_rng(3)
    for d, n in ((200, 200_000), (200_000, 200)):
        A = sp.random(d, n, density=0.01, format="csc", random_state=rng)
        b = rng.standard_normal(d)
        for rule in ("ascd", "a-ascd"):
            options = {"rule": rule, "max_iter": 50, "rng": 0, "record": None}
            ascd.minimize(ascd.Problem(A, b, penalty=ascd.L1(1.0)), **options)  # compiled code is not counted
            tracemalloc.start()
            ascd.minimize(ascd.Problem(A, b, penalty=ascd.L1(1.0)), **options)
            peak = tracemalloc.get_traced_memory()[1] / 8
            tracemalloc.stop()
            allowed = 10 * n + 4 * d
            print(
                f"  {d:>6} x {n:<6} {rule:7}: {peak / max(n, d):.1f} vectors of length {max(n, d)}"
                f" = {peak / allowed:.2f} of the bar"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller cases, fewer repeats")
    parser.add_argument("--only", help="run one part: generic, selection, dense, start or memory")
    options = parser.parse_args()
    parts = {
        "generic": generic_price,
        "selection": selection_price,
        "dense": dense_price,
        "start": start_price,
        "memory": memory_price,
    }
    if options.only is not None and options.only not in parts:
        parser.error(f"--only must be one of {', '.join(parts)}; got {options.only!r}")
    for name, part in parts.items():
        if options.only in (None, name):
            part(options.quick)


if __name__ == "__main__":
    main()
