"""``minimize``: validate the arguments, assemble the parts, run them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ascd._core.checks import as_finite_vector, as_flag, as_generator, as_number
from ascd._core.jit import debugging
from ascd._core.timing import Stopwatch
from ascd.engine.constant import with_constant, with_local_columns
from ascd.engine.descent import Point
from ascd.engine.intervals import start_intervals
from ascd.engine.oracles import as_oracle, oracle_part
from ascd.engine.rules import WorkingSetSweeps, as_rule, rule_part
from ascd.engine.run import Assembly, Run
from ascd.engine.steepness import as_steepness
from ascd.engine.steps import as_step
from ascd.engine.tuning import DEFAULT_EPOCHS
from ascd.problem.penalties import nearest_allowed
from ascd.problem.problem import Problem
from ascd.results.limits import as_limits
from ascd.results.progress import progress_bar
from ascd.results.solution import Snapshot, Solution, check_callback
from ascd.results.trace import Schedule

DEFAULT_RULE, DEFAULT_ORACLE, DEFAULT_STEP = "working-set", "reference", "local"


def minimize(
    problem: Any,
    rule: Any = None,
    oracle: Any = None,
    steepness: Any = "gs-s",
    step: Any = None,
    init: Any = "gradient",
    x0: Any = None,
    max_iter: int | None = None,
    tol: float = 1e-6,
    max_time: float | None = None,
    rng: Any = None,
    record: Any = "epoch",
    record_gap: bool = False,
    callback: Callable[[Snapshot], Any] | None = None,
    progress: bool = False,
    debug: bool = False,
    intercept: bool = False,
) -> Solution:
    """Minimise F(x) = f(Ax) + Σ Ψ_j(x_j) by coordinate descent, with any combination of the paper's parts.

    Parameters
    ----------
    problem : Problem
        With single coordinates and one output; ``ascd.solve`` takes groups and several outputs.
    rule : str or a rule
        Which coordinate is next: "working-set", "cyclic", "uniform", "importance", "steepest", "ascd", "u-ascd",
        "l-ascd", "a-ascd", "look-ahead", "adaptive" or "block".  By default "working-set", the fastest;
        ``solution.chosen`` has the names of all parts.
    oracle : {"exact", "sketch", "simulated", "norm", "random", "cached", "reference", "stochastic"} or an oracle
        How the intervals of the other gradient entries change with a step; by default "reference" for the rule
        "working-set", and "norm" for the others.
    steepness : {"gs", "gs-s", "gs-r", "gs-q", "gsl", "gsl-s", "gsl-r", "gsl-q"} or a steepness
        The score of a coordinate; "gs" and "gsl" are for smooth penalties.
    step : {"fixed", "coordinate", "local", "line-search"} or a step
        Step length: 1/L, 1/L_j, by the curvature at x and its growth (logistic loss; 1/L_j for others), or to the
        minimum along the coordinate.  By default "local" for the rule "working-set" and "coordinate" for the others.
    init : {"gradient", "none"} or (estimate, radius)
        What is known of the gradient at the start: all of it (with "stochastic" a sample of the rows), nothing, or
        intervals of one's own (with an intercept one more, the last, for its constant).  These are checked when the run
        would end by them: a ValueError says so where they do not contain the gradient.
    x0 : array of length n_features, optional
        The starting point; zero (or the nearest allowed point) by default.
    max_iter : number of coordinate steps, by default 1000 for each coordinate
    tol : float
        Stop when no coordinate's steepness can exceed ``tol``; 0 never stops early.  The status is then "converged"
        where the duality gap is at most ``tol`` times F at zero, and "stationary" where it is not.
    max_time : float, optional
        Seconds.
    rng : None, int, Generator
        The seed; the same seed gives the same run.
    record : int, "epoch", "geometric" or None
        Record every so many steps, every n steps, geometrically, or only at both ends.
    record_gap : also record the duality gap (a pass over the data for each record)
    callback : called with a ``Snapshot`` at each record; a true answer stops the run
    progress : show a progress bar (needs ``rich`` outside of notebooks)
    debug : run the parts as plain Python, hundreds of times slower: every index is checked, and errors name class,
        method and line of a part of your own; ``ASCD_DEBUG=1`` in the environment does the same everywhere
    intercept : fit a constant c in f(Ax + c·1), as one more coordinate without penalty; ``solution.intercept`` has it

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np, ascd
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((50, 200))
    >>> b = A[:, :3] @ [1.0, -2.0, 3.0]
    >>> solution = ascd.minimize(ascd.Problem(A, b, penalty=ascd.L1(5.0)), rng=0)
    >>> solution.status
    <Status.CONVERGED: 'converged'>
    >>> bool(solution.gap < 1e-3)
    True
    """
    if not isinstance(problem, Problem) or not problem.is_by_coordinate:
        raise TypeError(
            "problem must be an ascd.Problem with single coordinates and one output (ascd.solve takes groups and "
            f"several outputs); got {type(problem).__name__}"
        )
    check_callback(callback)
    if as_flag(intercept, "intercept"):
        start = None if x0 is None else np.append(as_finite_vector(x0, "x0", problem.n_features), 0.0)
        seen = None if callback is None else lambda snapshot: callback(snapshot._replace(x=snapshot.x[:-1]))
        found = minimize(
            with_constant(problem), rule, oracle, steepness, step, init, start, max_iter, tol, max_time, rng, record,
            record_gap, seen, progress, debug,
        )  # fmt: skip
        return replace(found, x=found.x[:-1].copy(), intercept=float(found.x[-1]))
    limits = as_limits(DEFAULT_EPOCHS * problem.n_features if max_iter is None else max_iter, max_time)
    tol = as_number(tol, "tol", low=0.0)
    schedule, record_gap = Schedule(record, problem.n_features), as_flag(record_gap, "record_gap")
    problem, watch = with_local_columns(problem), Stopwatch()
    if math.isinf(problem.parts.largest):
        name = type(problem.stated.loss).__name__
        raise ValueError(f"minimize needs a loss with bounded curvature, {name} has none: use ascd.solve")
    with debugging(as_flag(debug, "debug")), progress_bar(progress, limits.max_iter) as show:
        assembly = assemble(problem, rule, oracle, steepness, step, init, x0, rng)
        found = Run(problem, assembly, record_gap).until(limits, tol, schedule, callback, show)
        return replace(found, compile_seconds=watch.compile_seconds)


def assemble(
    problem: Problem,
    rule: Any = None,
    oracle: Any = None,
    steepness: Any = "gs-s",
    step: Any = None,
    init: Any = "gradient",
    x0: Any = None,
    rng: Any = None,
) -> Assembly:
    """Return the parts of a run, checked and prepared for the problem; arguments as those of ``minimize``."""
    rule, oracle, step = chosen_parts(rule, oracle, step)
    chosen = {"rule": rule, "oracle": oracle, "steepness": steepness, "step": step}
    names = {role: part if isinstance(part, str) else type(part).__name__ for role, part in chosen.items()}
    generator, parts = as_generator(rng), problem.parts
    point, unread = _start(problem, steepness, init, x0)
    oracle = as_oracle(oracle_part(oracle, rule_part(rule)), parts, generator)
    step = as_step(step, parts)
    if hasattr(oracle, "tightening"):
        point = point._replace(intervals=point.intervals._replace(extra=oracle.tightening()))
    rule = as_rule(rule, parts, oracle, point.intervals.steepness)
    return Assembly(point, rule, oracle, step, generator, unread, names)


def chosen_parts(rule: Any, oracle: Any, step: Any) -> tuple[Any, Any, Any]:
    """Return rule, oracle and step with the defaults in place of None."""
    rule = DEFAULT_RULE if rule is None else rule
    is_default = isinstance(rule, WorkingSetSweeps) or (isinstance(rule, str) and rule == DEFAULT_RULE)
    if oracle is None:
        oracle = DEFAULT_ORACLE if is_default else "norm"
    if step is None:
        step = DEFAULT_STEP if is_default else "coordinate"
    return rule, oracle, step


def _start(problem: Problem, steepness: Any, init: Any, x0: Any) -> tuple[Point, bool]:
    """Return the point before the first step, and whether its gradient is still to be read."""
    n, parts = problem.n_features, problem.parts
    x = nearest_allowed(parts.penalty, n) if x0 is None else as_finite_vector(x0, "x0", n).copy()
    objective, predictor, raw_gradient = problem.evaluate(x)
    intervals, unread = start_intervals(init, x, raw_gradient, parts, as_steepness(steepness, parts))
    if not np.isfinite(objective) and x0 is None:
        raise ValueError(
            f"the objective at the start is {objective}: A and b are too large for float64 (rescale them), or a loss "
            "or a penalty of your own is not finite there"
        )
    if not np.isfinite(objective):
        raise ValueError(f"x0 must have a finite objective (lie inside the box, if there is one); F(x0) = {objective}")
    return Point(parts, x, predictor, raw_gradient, intervals, np.zeros(1)), unread
