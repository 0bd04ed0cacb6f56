"""The races themselves: every method runs until it is close enough to the minimum, which is found and certified first.

Rules that do not look at bounds (uniform, cyclic, importance) run once, whatever oracles and steepnesses there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ascd._core.contracts import asked
from ascd.engine.minimize import minimize
from ascd.engine.naming import named_part
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.problem.problem import Problem
from ascd.racing.beside import NAME, run_beside, scikit_learn
from ascd.racing.outcome import SOLVER, Outcome
from ascd.results.solution import Snapshot, Solution, Status
from ascd.solver import solve

#: Seconds that the search for the minimum may take, compiling included.
LONGEST_SEARCH = 30.0
#: Records a run: so finely is the moment known at which the accuracy is reached.
RECORDS = 60
#: Records an epoch of a first try, which finds out how long the run is.  Records count as time of a run, about so many
#: seconds each: where they are more than a small share of it, it is run again with fewer.
FIRST_RECORDS, SECONDS_A_RECORD, SMALL_SHARE = 50, 2e-4, 0.05
#: The minimum's gap, relative to it.
PRECISION = 1e-10
Show = Callable[[str], AbstractContextManager[Any]]


class Entrant(NamedTuple):
    """A rule, an oracle and a steepness, by their names."""

    rule: str
    oracle: str
    steepness: str

    @property
    def blind(self) -> bool:
        """Do oracle and steepness not matter to the rule?"""
        return asked(named_part(self.rule, RULES, "rule"), "is_blind", False)

    def label(self, oracles: int, scores: int) -> str:
        """The shortest name that tells it from the others."""
        shown = [self.rule]
        if not self.blind:
            shown += [self.oracle] * (oracles > 1) + [self.steepness] * (scores > 1)
        return " ".join(shown)


def entrants(rules: Sequence[str], oracles: Sequence[str], scores: Sequence[str]) -> dict[str, Entrant]:
    """All combinations by their labels.

    Examples
    --------
    >>> from ascd.racing import entrants
    >>> list(entrants(["uniform", "ascd"], ["norm", "exact"], ["gs-s"]))
    ['uniform', 'ascd norm', 'ascd exact']
    """
    every = [Entrant(rule, oracle, score) for rule in rules for oracle in oracles for score in scores]
    return {entrant.label(len(oracles), len(scores)): entrant for entrant in every}


def silently(text: str) -> AbstractContextManager[None]:
    """Show nothing."""
    return nullcontext()


class Goal:
    """A callback that ends a run close enough to the minimum, and tells how much of it is done."""

    def __init__(self, objective: float, steps: int, advance: Callable[[float], None] | None) -> None:
        self.objective, self.steps, self.advance = objective, steps, advance
        self.reached = False

    def __call__(self, now: Snapshot) -> bool:
        if self.advance is not None:
            self.advance(now.iteration / self.steps)
        self.reached = self.reached or bool(now.objective <= self.objective)
        return self.reached


def race(
    problem: Problem,
    methods: dict[str, Entrant],
    step: str = "coordinate",
    init: str = "gradient",
    epochs: int = 20,
    seed: int = 0,
    show: Show = silently,
    accuracy: float = 1e-6,
    beside: tuple[Any, str] | None = None,
) -> Outcome:
    """Run every method until it comes within ``accuracy`` of the minimum, or for so many epochs.

    Parameters
    ----------
    problem : Problem
    methods : label → rule, oracle and steepness
    step, init, seed : as in ``minimize``
    epochs : the most passes of n steps
    show : accompanies each run; what it yields, unless None, is called with the share that is done
    accuracy : relative suboptimality (F(x) − F*)/(F(x_0) − F*) that ends a run
    beside : the data X and the kind of the problem, to run ``ascd.solve`` and scikit-learn as well

    Examples
    --------
    >>> from ascd.datasets import make_synthetic
    >>> from ascd.racing import entrants, make_problem, race
    >>> data = make_synthetic(50, 80, n_nonzero=5, rng=0)
    >>> problem = make_problem(data.A, data.b, "lasso")
    >>> outcome = race(problem, entrants(["uniform", "a-ascd"], ["norm"], ["gs-s"]), epochs=50)
    >>> outcome.arrival("a-ascd").reads < outcome.arrival("uniform").reads
    True
    """
    total = len(methods) + 1 + (2 if beside else 0)
    with show(f"1 of {total}: finding the minimum, to measure against"):
        reference = search_minimum(problem, LONGEST_SEARCH)
    start = problem.objective(np.zeros(problem.n_features))
    _check_start(start, reference)
    goal = reference.objective + accuracy * (start - reference.objective)
    runs = {}
    for number, (label, method) in enumerate(methods.items(), start=2):
        with show(f"{number} of {total}: {label}") as advance:
            runs[label] = _descend(problem, method, step, init, epochs, seed, goal, advance)
    best = min(reference.objective, *(float(run.trace.objective.min()) for run in runs.values()))
    gap = best - (reference.objective - reference.gap)
    outcome = Outcome(problem, runs, best, gap, goal, "", accuracy)
    if beside is not None:
        outcome = _with_others(outcome, *beside, start, show, total)
    told = _conditions(problem, methods, step, init, epochs, seed)
    return outcome._replace(conditions=f"{told}. {outcome.known()}.")


def _check_start(start: float, reference: Solution) -> None:
    """Refuse a race that is over before it begins: every method starts at x = 0."""
    if start - reference.objective <= min(reference.gap, PRECISION * abs(start)):
        raise ValueError(
            f"x = 0, where every method starts, is the minimum (F = {start:.8g}): there is nothing to race; a smaller "
            "strength lets coefficients be nonzero, unless the target is zero everywhere"
        )


def _descend(
    problem: Problem, method: Entrant, step: str, init: str, epochs: int, seed: int, goal: float, advance: Any
) -> Solution:
    """A run to the goal, with few records: as many in a short run as in a long one."""
    given = (problem, method, step, init, epochs * problem.n_features, seed, goal, advance)
    run = _attempt(*given, record=max(1, problem.n_features // FIRST_RECORDS))
    if len(run.trace) * SECONDS_A_RECORD <= SMALL_SHARE * run.seconds:
        return run
    return _attempt(*given, record=max(1, run.n_iter // RECORDS))


def _attempt(
    problem: Problem,
    method: Entrant,
    step: str,
    init: str,
    steps: int,
    seed: int,
    goal: float,
    advance: Any,
    record: int,
) -> Solution:
    stop = Goal(goal, steps, advance)
    run = minimize(
        problem,
        rule=named_part(method.rule, RULES, "rule"),
        oracle=named_part(method.oracle, ORACLES, "oracle"),
        steepness=method.steepness,
        step=step,
        init=init,
        max_iter=steps,
        tol=0.0,
        record=record,
        rng=seed,
        callback=stop,
    )
    if run.status is Status.INTERRUPTED and not stop.reached:  # half a race compares nothing
        raise KeyboardInterrupt
    return run


def _with_others(outcome: Outcome, X: Any, kind: str, start: float, show: Show, total: int) -> Outcome:
    """The solver on the same problem until it is as close, and scikit-learn where it has the problem."""
    with show(f"{total - 1} of {total}: {SOLVER}"):
        stop = Goal(outcome.goal, 1, None)
        solved = solve(outcome.problem, tol=0.1 * outcome.accuracy, callback=stop)
    if solved.status is Status.INTERRUPTED and not stop.reached:
        raise KeyboardInterrupt
    fits = None
    with show(f"{total} of {total}: {NAME}"):
        make = scikit_learn(X, kind, outcome.problem)
        if make is not None:
            fits = run_beside(make, X, outcome.problem, outcome.best, start, outcome.accuracy)
    others = [float(solved.trace.objective.min()), *(fits.objective if fits is not None else ())]
    best = min(outcome.best, *others)
    gap = max(0.0, outcome.gap - (outcome.best - best))
    return outcome._replace(solved=solved, fits=fits, best=best, gap=gap)


def _conditions(problem: Problem, methods: dict[str, Entrant], step: str, init: str, epochs: int, seed: int) -> str:
    parts = [f"{label}: {one.oracle}, {one.steepness}" for label, one in methods.items() if not one.blind]
    told = f"{problem!r}; step {step}, init {init}, at most {epochs} epochs, seed {seed}"
    return told + (f"; oracle and steepness: {'; '.join(parts)}" if parts else "")


def search_minimum(problem: Problem, seconds: float) -> Solution:
    """The smallest objective that can be found in some seconds; its gap says how good it is.  Ctrl-C is not swallowed.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> from ascd.racing import search_minimum
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> search_minimum(problem, 1.0).objective
    4.5
    """

    enough = False

    def close_enough(now: Snapshot) -> bool:
        """Where F(0) = 0, as in an SVM's dual, no tolerance relative to it can be met."""
        nonlocal enough
        enough = bool(now.trace.gap[-1] <= PRECISION * abs(now.objective))
        return enough

    solution = solve(problem, tol=PRECISION, max_time=seconds, callback=close_enough)
    if solution.status is Status.INTERRUPTED and not enough:
        raise KeyboardInterrupt
    return solution
