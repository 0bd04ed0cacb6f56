"""Measurements: a function a kind of job, from parameters to numbers that the results file stores.

``descent`` and ``minimum`` run a panel of a figure; the others compare the theorems and lemmas with numbers, in runs
that are observed at every step or on quadratics where everything can be computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.engine.minimize import minimize
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.engine.rules.ascd import ASCD, SmallestSet
from ascd.engine.rules.scan import pick_at_least
from ascd.matrix.columns import dot
from ascd.problem.problem import Problem
from ascd.reproduction import theory
from ascd.reproduction.datasets import problem_of
from ascd.reproduction.panels import named_part
from ascd.results import COLUMNS, Solution, Status
from ascd.solver import solve

#: Gap of the search for the minimum, relative to the objective.
PRECISION = 1e-10
#: Iterations of Fig. 1 that are drawn; the mean is over more.
SHOWN = 2000
#: Points of a segment at which a curvature is evaluated.
POINTS = 201
#: Relative rounding of comparisons of sums of some thousand terms.
COMPARISON_ROUNDING = 1e-9
Parameters = Mapping[str, Any]


def measure(kind: str, parameters: Parameters) -> dict[str, Any]:
    """Do a job; return its numbers with the processor time it took, compiling included."""
    began = time.process_time()
    numbers = KINDS[kind](parameters)
    return {**numbers, "cpu_seconds": time.process_time() - began}


def descent(parameters: Parameters) -> dict[str, Any]:
    """Run one method, recorded."""
    options = {key: parameters[key] for key in ("record", "steepness", "step", "init")}
    solution = whole_run(parameters, named_part(parameters["rule"], RULES), parameters["oracle"], **options)
    if solution.status is Status.DIVERGED:
        raise RuntimeError(f"the run diverged: {dict(parameters)}")
    columns = {name: getattr(solution.trace, name) for name in COLUMNS}
    trace = {name: values.tolist() for name, values in columns.items() if not np.isnan(values).all()}
    return {"n": solution.x.size, "trace": trace, "gap": solution.gap, "support": int(np.count_nonzero(solution.x))}


def whole_run(parameters: Parameters, rule: Any, oracle: str, **options: Any) -> Solution:
    """Return the solution of ``minimize`` after all epochs of a job."""
    problem = problem_of(parameters)
    options |= {"max_iter": parameters["epochs"] * problem.n_features, "tol": 0.0, "rng": parameters.get("seed", 0)}
    return uninterrupted(minimize(problem, rule, named_part(oracle, ORACLES), **options))


def uninterrupted(run: Solution, is_done: bool = False) -> Solution:
    """Return a run; half a one that Ctrl-C ended must not be taken for a whole one."""
    if run.status is Status.INTERRUPTED and not is_done:
        raise KeyboardInterrupt
    return run


def minimum(parameters: Parameters) -> dict[str, Any]:
    """Find the smallest objective, and a bound on its distance from the true minimum."""
    problem = problem_of(parameters)
    solution = search_minimum(problem, parameters["longest"])
    found = {"objective": solution.objective, "gap": solution.gap, "support": int(np.count_nonzero(solution.x))}
    return {"n": problem.n_features, **found}


def search_minimum(problem: Problem, seconds: float) -> Solution:
    """Return the smallest objective found in some seconds, compiling included; its gap says how good it is."""

    def is_close(now: Any) -> bool:  # where F(0) = 0, as in an SVM's dual, no tolerance relative to it can be met
        return bool(now.trace.gap[-1] <= PRECISION * abs(now.objective))

    found = solve(problem, tol=PRECISION, max_time=seconds, callback=is_close)
    return uninterrupted(found, found.gap <= PRECISION * abs(found.objective))


def ratio(parameters: Parameters) -> dict[str, Any]:
    """Fig. 1: simulate the competitive ratio; its limit and its bound."""
    n, s, T, c = (parameters[key] for key in ("n", "s", "T", "c"))
    rho = theory.simulate_competitive_ratio(n, s, T, parameters["n_iter"], c=c, rng=parameters["seed"])
    limit, bound = theory.competitive_ratio_limit(n, s, T, c=c), theory.competitive_ratio_bound(n, s, T)
    return {"rho": rho[:SHOWN].tolist(), "mean": float(rho[rho.size // 4 :].mean()), "limit": limit, "bound": bound}


def lower_bound(parameters: Parameters) -> dict[str, Any]:
    """Fig. 4: steepest descent from the vector of ones on the lower-bound function."""
    n, alpha = parameters["n"], parameters["alpha"]
    Q = theory.lower_bound_matrix(n, alpha)
    x = theory.steepest_descent_on(Q, np.ones(n), parameters["n_iter"])
    sizes = np.abs(x @ Q)
    return {
        "objective": (0.5 * np.einsum("ti,ti->t", x, x @ Q)).tolist(),
        "sorted": (np.sort(sizes, axis=1)[:, ::-1] / np.linalg.norm(sizes, axis=1, keepdims=True)).tolist(),
        "ratio": (n * _largest_share(sizes)).tolist(),
        "bound": n * theory.gradient_ratio_bound(n, alpha),
    }


def _largest_share(gradient: Array) -> Array:
    """Return ‖g‖²_∞/‖g‖² of every row."""
    return (gradient**2).max(axis=1) / (gradient**2).sum(axis=1)


def _gains(Q: Array, start: Array, steps: int) -> Array:
    """Return n·‖∇‖²_∞/‖∇‖² along steepest descent."""
    return len(Q) * _largest_share(theory.steepest_descent_on(Q, start, steps) @ Q)


class Watched(NamedTuple):
    """ASCD that notes, at each step, what every coordinate would have gained.

    A row of the table: mean score² over all (UCD) and over the active set (ASCD), the largest (SCD), whether the
    steepest is inside, and how many leave their bounds.  ``scores`` is a work array for the exact scores.
    """

    table: Array
    inner: SmallestSet
    scores: Array

    def select(self, point: Any, t: int, rng: Any) -> int:
        rule, score = self.inner, self.scores
        threshold = rule.find_threshold(point)
        n, best, outside = score.size, 0, 0
        total, inside, members = 0.0, 0.0, 0
        for j in range(n):
            score[j] = point.intervals.score_at(j, dot(point.problem.matrix, j, point.raw_gradient))
            best = j if score[j] > score[best] else best
            slack = 1e-9 * (1.0 + abs(score[j]))
            outside += score[j] < rule.lower[j] - slack or score[j] > rule.upper[j] + slack
        for j in range(n):
            total += score[j] * score[j]
            if rule.upper[j] >= threshold:
                inside += score[j] * score[j]
                members += 1
        row = self.table[t]
        row[0], row[1], row[2] = total / n, inside / members, score[best] * score[best]
        row[3], row[4] = 1.0 if rule.upper[best] >= threshold else 0.0, outside
        return pick_at_least(rule.upper, threshold, rng)

    def active_count(self, point: Any) -> int:
        return self.inner.active_count(point)


def watched(parameters: Parameters) -> dict[str, Any]:
    """Test Theorem 3.2 and Lemma 3.1 at every step of a run of ASCD.

    A step counts while the largest score is above ``resolution`` times that of the first step: below, the scores are
    differences of nearly equal numbers, and rounding decides which is the largest.  ``left_out`` counts the others.
    """
    n = parameters["features"]
    table, active_set = (
        np.zeros((parameters["epochs"] * n, 5)),
        ASCD().prepare(problem_of(parameters).parts, None, None),
    )
    options = {"steepness": parameters["steepness"], "step": "fixed", "record": None}
    whole_run(parameters, Watched(table, active_set, np.empty(n)), parameters["oracle"], **options)
    counts = table[:, 2] > parameters["resolution"] ** 2 * table[0, 2]
    uniform, active, steepest, contained, outside = table[counts].T
    return {
        "steps": int(counts.sum()),
        "left_out": int((~counts).sum()),
        "below_uniform": int((active < uniform * (1.0 - COMPARISON_ROUNDING)).sum()),
        "above_steepest": int((active > steepest * (1.0 + COMPARISON_ROUNDING)).sum()),
        "steepest_missing": int((contained == 0.0).sum()),
        "bounds_violated": int(outside.sum()),
        "gain_over_uniform": float(np.mean(active / np.maximum(uniform, np.finfo(float).tiny))),
    }


def exact_is_steepest(parameters: Parameters) -> dict[str, Any]:
    """Compare the objectives of ASCD with δ = 0 and the true start with those of SCD."""
    options = {"step": "fixed", "record": parameters["features"]}
    mine, steepest = (whole_run(parameters, rule, "exact", **options).trace.objective for rule in ("ascd", "steepest"))
    return {
        "steps": parameters["epochs"] * parameters["features"],
        "largest_difference": float((np.abs(mine - steepest) / np.abs(steepest)).max()),
    }


def family(parameters: Parameters) -> dict[str, Any]:
    """The lower bound: n·‖∇‖²_∞/‖∇‖² along steepest descent from the worst start, for several n and α."""
    rows = [
        {
            "n": n,
            "alpha": alpha,
            "ratio": float(_gains(theory.lower_bound_matrix(n, alpha), theory.worst_start(n, alpha), 3 * n).max()),
            "constant": theory.cycling_constant(n, alpha),
            "bound": n * theory.gradient_ratio_bound(n, alpha),
            "low": theory.cycling_constant_bound(n, alpha),
        }
        for n in parameters["sizes"]
        for alpha in parameters["alphas"]
    ]
    return {"rows": rows}


def rates(parameters: Parameters) -> dict[str, Any]:
    """Largest ratio of measured error and promised rate of SCD, on random quadratics and on the lower-bound family."""
    n, count = parameters["n"], parameters["n_iter"]
    observed, smooth, strong = quadratics(n, parameters["seeds"]), 0.0, 0.0
    for Q, start in observed:
        x = theory.steepest_descent_on(Q, start, count)
        error = 0.5 * np.einsum("ti,ij,tj->t", x, Q, x)
        L, mu1 = float(np.diag(Q).max()), theory.one_norm_strong_convexity(Q)
        # the first level set is an ellipsoid: its radius in the 1-norm is √(2 f(x_0)/μ1)
        radius = float(np.sqrt(2.0 * error[0] / mu1))
        t = np.arange(1, count + 1)
        smooth = max(smooth, float((error[1:] / theory.smooth_rate_steepest(L, radius, t)).max()))
        seen = error[1:] > 1e-12 * error[0]
        promised = np.asarray(theory.strong_rate_steepest(mu1, L, float(error[0]), t))
        strong = max(strong, float((error[1:] / promised)[seen].max()))
    return {"quadratics": len(observed), "smooth": smooth, "strong": strong}


def speed_up(parameters: Parameters) -> dict[str, Any]:
    """τ_SCD/τ_UCD along steepest descent on functions of s of n coordinates, against n/s."""
    n, rows = parameters["n"], []
    for s in parameters["sizes"]:
        start = np.zeros(n)
        start[:s] = theory.worst_start(s, parameters["alpha"])
        gain = _gains(theory.low_dimensional_matrix(n, s, parameters["alpha"]), start, parameters["n_iter"])
        rows.append({"s": s, "expected": n / s, "low": float(gain.min()), "high": float(gain.max())})
    return {"rows": rows}


def progress(parameters: Parameters) -> dict[str, Any]:
    """Δ = 1/E[f(x_{t+1}) − f*] − 1/(f(x_t) − f*) of SCD and UCD at every iterate of SCD, on quadratics with f* = 0.

    Both step with 1/L.  Returned are the smallest Δ·2L‖x‖₁² of SCD, the smallest Δ·2nL‖x‖₂² of UCD (Lemma A.1: at least
    1), and the extremes of Δ_UCD/Δ_SCD (the paper: between 1/n and 1).
    """
    n = parameters["n"]
    steepest, uniform, shares = [], [], []
    for Q, start in quadratics(n, parameters["seeds"]):
        L = float(np.diag(Q).max())
        x = np.tile(start, (parameters["n_iter"] + 1, 1))
        for t in range(parameters["n_iter"]):
            gradient = Q @ x[t]
            j = int(np.abs(gradient).argmax())
            x[t + 1] = x[t]
            x[t + 1, j] -= gradient[j] / L
        gradients = x @ Q
        error = 0.5 * np.einsum("ti,ti->t", x, gradients)
        gains = gradients**2 * (1.0 - 0.5 * np.diag(Q) / L) / L  # f(x) − f(x − g_i/L e_i)
        best = gains[np.arange(len(x)), np.abs(gradients).argmax(axis=1)]
        seen = (error > 1e-10 * error[0]) & (error - best > 1e-14 * error[0])
        one, all_mean = (1.0 / (error - gain)[seen] - 1.0 / error[seen] for gain in (best, gains.mean(axis=1)))
        steepest.append(float((one * 2.0 * L * np.abs(x).sum(axis=1)[seen] ** 2).min()))
        uniform.append(float((all_mean * 2.0 * n * L * (x**2).sum(axis=1)[seen]).min()))
        shares += (all_mean / one).tolist()
    extremes = {"least_share": min(shares), "largest_share": max(shares)}
    return {"quadratics": len(steepest), "steepest": min(steepest), "uniform": min(uniform), **extremes, "n": n}


def quadratics(n: int, seeds: int) -> list[tuple[Array, Array]]:
    """Return the lower-bound family and random quadratics, with random starts."""
    matrices = [theory.lower_bound_matrix(n, alpha) for alpha in (0.01, 0.1, 0.5)]
    for seed in range(seeds):
        factor = np.random.default_rng(seed).standard_normal((2 * n, n))
        matrices.append(factor.T @ factor)
    return [(Q, np.random.default_rng(seed).standard_normal(n)) for seed, Q in enumerate(matrices)]


def gradient_update(parameters: Parameters) -> dict[str, Any]:
    """Compare a step's change of every gradient entry with the curvature along the step, for a logistic loss.

    Lemma 4.1: (∇_i F(x + γe_j) − ∇_i F(x))/γ = ⟨a_i, ∇²f(Ax̃) a_j⟩ for some x̃ on the segment.  So the quotient lies
    between the extremes of the right-hand side over the segment; ``worst`` is by how much it leaves them, relative to
    ‖a_i‖‖a_j‖/4, the largest curvature.
    """
    from scipy.special import expit  # the derivative of Σ log(1 + exp(z)): labels do not matter to the lemma

    rng = np.random.default_rng(parameters["seed"])
    A = rng.standard_normal((parameters["samples"], parameters["features"]))
    norm, worst = np.linalg.norm(A, axis=0), 0.0
    for _ in range(parameters["steps"]):
        x, j, step = rng.standard_normal(A.shape[1]), int(rng.integers(A.shape[1])), 3.0 * rng.standard_normal()
        Ax = A @ x
        change = A.T @ (expit(Ax + step * A[:, j]) - expit(Ax)) / step
        middle = expit(Ax + np.linspace(0.0, 1.0, POINTS)[:, None] * step * A[:, j])
        curvature = (middle * (1.0 - middle) * A[:, j]) @ A
        outside = np.maximum(curvature.min(axis=0) - change, change - curvature.max(axis=0))
        worst = max(worst, float((outside / (0.25 * norm * norm[j])).max()))
    return {"entries": parameters["steps"] * A.shape[1], "worst": worst}


def random_starts(parameters: Parameters) -> dict[str, Any]:
    """Largest n·‖∇‖²_∞/‖∇‖² of SCD on the lower-bound function from random starts, from ``late``·n steps on."""
    n, alpha, after = parameters["n"], parameters["alpha"], parameters["late"] * parameters["n"]
    Q, rng = theory.lower_bound_matrix(n, alpha), np.random.default_rng(parameters["seed"])
    late = [float(_gains(Q, rng.standard_normal((n,)), 2 * after)[after:].max()) for _ in range(parameters["starts"])]
    return {"largest": max(late), "median": float(np.median(late)), "bound": n * theory.gradient_ratio_bound(n, alpha)}


#: Kind of a job → its function.
KINDS: dict[str, Callable[[Parameters], dict[str, Any]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        descent, minimum, ratio, lower_bound, watched, exact_is_steepest, family, rates, speed_up, progress,
        gradient_update, random_starts,
    )
}  # fmt: skip
