"""The theorems against numbers: runs that are watched step by step, and quadratics where everything is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ascd import theory
from ascd._core.checks import Array
from ascd.engine.minimize import minimize
from ascd.engine.naming import named_part
from ascd.engine.oracles import ORACLES
from ascd.engine.rules.ascd import ASCD, SmallestSet
from ascd.engine.rules.scan import pick_at_least
from ascd.experiments.data import problem_of
from ascd.experiments.lemmas import quadratics
from ascd.experiments.tuning import COMPARISON_ROUNDING
from ascd.matrix.columns import dot

Parameters = Mapping[str, Any]


class Watched(NamedTuple):
    """ASCD that notes, at each step, what every coordinate would have gained.

    A row of the table: mean score² over all coordinates (UCD), over the active set (ASCD), the largest (SCD), the share
    of the active set with at least half the steepest score, whether the steepest is inside, and how many scores leave
    their bounds.
    """

    table: Array
    inner: Any = ASCD()

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> WatchedSet:
        return WatchedSet(self.table, self.inner.prepare(parts, oracle, steepness), np.empty(parts.norm.size))


class WatchedSet(NamedTuple):
    """The table, the rule and room for the exact scores."""

    table: Array
    inner: SmallestSet
    scores: Array

    def select(self, point: Any, t: int, rng: Any) -> int:
        rule, score = self.inner, self.scores
        threshold = rule.find_threshold(point)
        n, best, outside = score.size, 0, 0
        total, inside, members = 0.0, 0.0, 0
        for j in range(n):
            score[j] = point.intervals.score_at(j, dot(point.problem.matrix, j, point.slope))
            best = j if score[j] > score[best] else best
            slack = 1e-9 * (1.0 + abs(score[j]))
            outside += score[j] < rule.lower[j] - slack or score[j] > rule.upper[j] + slack
        steep = 0
        for j in range(n):
            total += score[j] * score[j]
            if rule.upper[j] >= threshold:
                inside += score[j] * score[j]
                members += 1
            steep += rule.upper[j] >= threshold and score[j] >= 0.5 * score[best]
        row = self.table[t]
        row[0], row[1], row[2] = total / n, inside / members, score[best] * score[best]
        row[3], row[4], row[5] = steep / members, 1.0 if rule.upper[best] >= threshold else 0.0, outside
        return pick_at_least(rule.upper, threshold, rng)

    def active_count(self, point: Any) -> int:
        return self.inner.active_count(point)


def watched(parameters: Parameters) -> dict[str, Any]:
    """The sandwich theorem and its lemma at every step of a run of ASCD.

    A step counts while the largest score is above ``resolution`` times that of the first step: below, the scores are
    differences of nearly equal numbers, and rounding decides which is the largest.  ``left_out`` is how many do not.
    """
    problem = problem_of(parameters)
    steps = parameters["epochs"] * problem.n_features
    table = np.zeros((steps, 6))
    oracle = named_part(parameters["oracle"], ORACLES, "oracle")
    options = {"steepness": parameters["steepness"], "step": "fixed", "tol": 0.0, "record": None}
    minimize(problem, rule=Watched(table), oracle=oracle, max_iter=steps, rng=parameters["seed"], **options)
    counts = table[:, 2] > parameters["resolution"] ** 2 * table[0, 2]
    uniform, active, steepest, competitive, contained, outside = table[counts].T
    return {
        "steps": int(counts.sum()),
        "left_out": int((~counts).sum()),
        "below_uniform": int((active < uniform * (1.0 - COMPARISON_ROUNDING)).sum()),
        "above_steepest": int((active > steepest * (1.0 + COMPARISON_ROUNDING)).sum()),
        "steepest_missing": int((contained == 0.0).sum()),
        "bounds_violated": int(outside.sum()),
        "gain_over_uniform": float(np.mean(active / np.maximum(uniform, np.finfo(float).tiny))),
        "steepest_over_uniform": float(np.mean(steepest / np.maximum(uniform, np.finfo(float).tiny))),
        "competitive_ratio": float(competitive[competitive.size // 2 :].mean()),
    }


def exact_is_steepest(parameters: Parameters) -> dict[str, Any]:
    """δ = 0 and the true start: ASCD against SCD, objective by objective."""
    problem = problem_of(parameters)
    steps = parameters["epochs"] * problem.n_features
    options = {
        "oracle": "exact",
        "step": "fixed",
        "max_iter": steps,
        "tol": 0.0,
        "record": problem.n_features,
        "rng": 0,
    }
    mine, steepest = (minimize(problem, rule=rule, **options).trace.objective for rule in ("ascd", "steepest"))
    return {"steps": steps, "largest_difference": float((np.abs(mine - steepest) / np.abs(steepest)).max())}


def family(parameters: Parameters) -> dict[str, Any]:
    """The lower bound: n·‖∇‖²_∞/‖∇‖² along steepest descent from the worst start, for several n and α."""
    rows = []
    for n in parameters["sizes"]:
        for alpha in parameters["alphas"]:
            Q = theory.lower_bound_matrix(n, alpha)
            gradient = theory.steepest_descent_on(Q, theory.worst_start(n, alpha), 3 * n) @ Q
            ratio = float((n * gradient.max(axis=1) ** 2 / (gradient**2).sum(axis=1)).max())
            bound = n * theory.gradient_ratio_bound(n, alpha)
            constant, low = theory.cycling_constant(n, alpha), theory.cycling_constant_bound(n, alpha)
            rows.append({"n": n, "alpha": alpha, "ratio": ratio, "bound": bound, "constant": constant, "low": low})
    return {"rows": rows}


def rates(parameters: Parameters) -> dict[str, Any]:
    """Largest ratio of measured error and promised rate of SCD, on random quadratics and on the lower-bound family."""
    n, count = parameters["n"], parameters["n_iter"]
    watched, smooth, strong = quadratics(n, parameters["seeds"]), 0.0, 0.0
    for Q, start in watched:
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
    return {"quadratics": len(watched), "smooth": smooth, "strong": strong}


def speed_up(parameters: Parameters) -> dict[str, Any]:
    """τ_SCD/τ_UCD along steepest descent on functions of s of n coordinates, against n/s."""
    n, rows = parameters["n"], []
    for s in parameters["sizes"]:
        Q = theory.low_dimensional_matrix(n, s, parameters["alpha"])
        start = np.zeros(n)
        start[:s] = theory.worst_start(s, parameters["alpha"]) if s > 2 else 1.0
        gradient = theory.steepest_descent_on(Q, start, parameters["n_iter"]) @ Q
        ratio = (gradient**2).max(axis=1) / (gradient**2).mean(axis=1)
        rows.append({"s": s, "expected": n / s, "low": float(ratio.min()), "high": float(ratio.max())})
    return {"rows": rows}
