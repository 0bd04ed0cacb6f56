"""One job → numbers.  A function a kind; what it returns is what the results file keeps, as lists and numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ascd import theory
from ascd.engine.minimize import minimize
from ascd.engine.naming import named_part
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.experiments import lemmas, theorems
from ascd.experiments.data import problem_of
from ascd.experiments.tuning import SHOWN
from ascd.racing import search_minimum
from ascd.results.solution import Status
from ascd.results.trace import COLUMNS, Trace

Parameters = Mapping[str, Any]


def measure(kind: str, parameters: Parameters) -> dict[str, Any]:
    """Do a job, and note the processor time it took, compiling included."""
    began = time.process_time()
    numbers = KINDS[kind](parameters)
    return {**numbers, "cpu_seconds": time.process_time() - began}


def descent(parameters: Parameters) -> dict[str, Any]:
    """A run of one method, recorded."""
    problem = problem_of(parameters)
    solution = minimize(
        problem,
        rule=named_part(parameters["rule"], RULES, "rule"),
        oracle=named_part(parameters["oracle"], ORACLES, "oracle"),
        steepness=parameters["steepness"],
        step=parameters["step"],
        init=parameters["init"],
        max_iter=parameters["epochs"] * problem.n_features,
        tol=0.0,
        record=parameters["record"],
        rng=parameters["seed"],
    )
    if solution.status is Status.INTERRUPTED:  # minimize returns what it has; half a run must not be stored
        raise KeyboardInterrupt
    if solution.status is Status.DIVERGED:
        raise RuntimeError(f"the run diverged: {dict(parameters)}")
    return {
        "n": problem.n_features,
        "trace": trace_columns(solution.trace),
        "gap": solution.gap,
        "support": int(np.count_nonzero(solution.x)),
    }


def trace_columns(trace: Trace) -> dict[str, list[float]]:
    """A trace as plain lists; the column "gap" only where it was recorded."""
    columns = {name: getattr(trace, name) for name in COLUMNS}
    return {name: values.tolist() for name, values in columns.items() if not np.isnan(values).all()}


def minimum(parameters: Parameters) -> dict[str, Any]:
    """The smallest objective, and how far it may be from the true minimum."""
    problem = problem_of(parameters)
    solution = search_minimum(problem, parameters["longest"])
    support = int(np.count_nonzero(solution.x))
    return {"n": problem.n_features, "objective": solution.objective, "gap": solution.gap, "support": support}


def ratio(parameters: Parameters) -> dict[str, Any]:
    """Fig. 1: the simulated competitive ratio, its limit and its bound."""
    n, s, T, c = (parameters[key] for key in ("n", "s", "T", "c"))
    rho = theory.simulate_competitive_ratio(n, s, T, parameters["n_iter"], c=c, rng=parameters["seed"])
    settled = rho[rho.size // 4 :]
    return {
        "rho": rho[:SHOWN].tolist(),
        "mean": float(settled.mean()),
        "limit": theory.competitive_ratio_limit(n, s, T, c=c),
        "bound": theory.competitive_ratio_bound(n, s, T),
    }


def lower_bound(parameters: Parameters) -> dict[str, Any]:
    """Fig. 4: steepest descent from the vector of ones on the lower-bound function."""
    n, alpha = parameters["n"], parameters["alpha"]
    Q = theory.lower_bound_matrix(n, alpha)
    x = theory.steepest_descent_on(Q, np.ones(n), parameters["n_iter"])
    gradient = x @ Q
    sizes = np.abs(gradient)
    return {
        "objective": (0.5 * np.einsum("ti,ti->t", x, gradient)).tolist(),
        "sorted": (np.sort(sizes, axis=1)[:, ::-1] / np.linalg.norm(sizes, axis=1, keepdims=True)).tolist(),
        "ratio": (n * sizes.max(axis=1) ** 2 / (sizes**2).sum(axis=1)).tolist(),
        "bound": n * theory.gradient_ratio_bound(n, alpha),
    }


KINDS: dict[str, Callable[[Parameters], dict[str, Any]]] = {
    "descent": descent,
    "minimum": minimum,
    "ratio": ratio,
    "lower-bound": lower_bound,
    "watched": theorems.watched,
    "exact-is-steepest": theorems.exact_is_steepest,
    "family": theorems.family,
    "rates": theorems.rates,
    "speed-up": theorems.speed_up,
    "progress": lemmas.progress,
    "gradient-update": lemmas.gradient_update,
    "random-starts": lemmas.random_starts,
}
