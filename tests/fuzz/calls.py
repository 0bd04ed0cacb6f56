"""What the library answers to a case, beside the problem in the judge's own terms."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import ascd
from ascd._core import jit as _jit

from .cases import Array, Case
from .truth import Truth, make_truth, penalty_arrays
from .twists import twisted
from .user_parts import USERS, user_arrays

#: For every family, the function that calls it.
CALLS: dict[str, Callable[[Case], Iterator[Answer]]] = {}


@dataclass(frozen=True)
class Answer:
    """One point, what is said of it, and the problem it is an answer to."""

    truth: Truth
    x: Array
    constant: float
    gap: float
    objective: float | None = None
    status: str | None = None
    tolerance: float | None = None  # what the gap of a converged run has to reach
    zero_objective: float | None = None
    slack: float = 0.0  # relative rounding of a gap that was changed to the estimator's units
    starts: tuple[tuple[Array, float], ...] = ()  # points that a judge should look at, too
    rounding: float = 0.0  # of the objective, where it was told with a constant that is taken away here
    rivals: tuple[Any, ...] = ()  # values that the judge found by other means, error bounds added
    trace: Any = None
    again: bool = False  # the same call once more: it has to be the same answer
    likely: Any = None  # what is said of intervals that are not proved


@dataclass
class Outcome:
    """The answers of a call, or the error that it raised."""

    answers: list[Answer] = field(default_factory=list)
    error: Exception | None = None
    warnings: list[Any] = field(default_factory=list)
    seconds: float = 0.0


def answers(case: Case) -> Outcome:
    """Call the library."""
    outcome = Outcome()
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome.answers = list(CALLS[case.family](case))
        except Exception as error:  # whatever it is, it is what is looked at
            outcome.error = error
    outcome.warnings, outcome.seconds = list(caught), time.perf_counter() - began
    return outcome


def call(family: str) -> Callable[[Any], Any]:
    """Enter a function into the table of calls."""

    def enter(function: Any) -> Any:
        CALLS[family] = function
        return function

    return enter


@contextmanager
def interpreted() -> Iterator[None]:
    """Kernels run as plain Python."""
    before, _jit.is_interpreted = _jit.is_interpreted, True
    try:
        yield
    finally:
        _jit.is_interpreted = before


def loss_of(case: Case) -> Any:
    return ascd.Huber(case.threshold) if case.loss == "huber" else case.loss


def penalty_of(case: Case) -> Any:
    if case.penalty in USERS:
        return USERS[case.penalty](**case.parameters)
    return None if case.penalty == "None" else getattr(ascd, case.penalty)(**case.parameters)


def problem_of(case: Case) -> Any:
    offset = case.options.get("offset")
    return ascd.Problem(case.matrix(), case.b, loss_of(case), penalty_of(case), case.weight, offset)


def truth_of(case: Case, factor: float = 1.0) -> Truth:
    if case.penalty in USERS:
        arrays = user_arrays(case.penalty, case.parameters, case.shape[1])
    else:
        arrays = penalty_arrays(case.penalty, case.parameters, case.shape[1], factor)
    intercept = bool(case.options.get("intercept", False))
    return make_truth(case.A, case.b, case.weight, case.loss, case.threshold, arrays, intercept)


def arguments_of(case: Case) -> dict[str, Any]:
    """The options of a call, with ``stop_after`` turned into a callback."""
    options = {name: value for name, value in case.options.items() if name not in ("offset", "call")}
    if "stop_after" in options:
        left = [options.pop("stop_after")]

        def stop(snapshot: Any) -> bool:
            left[0] -= 1
            return left[0] <= 0

        options["callback"] = stop
    return options


def _starts(case: Case) -> tuple[tuple[Array, float], ...]:
    if "x0" not in case.options:
        return ()
    return ((case.options["x0"], case.options.get("intercept0", 0.0)),)


@call("solve")
def solve_case(case: Case) -> Iterator[Answer]:
    first = next(_solved(case))
    if not case.twist:
        yield first
        return
    other, back = twisted(case)
    second = next(_solved(other))
    second = replace(second, truth=first.truth, x=back(second.x), again=case.twist == "again")
    yield replace(first, starts=(*first.starts, (second.x, second.constant)))
    yield replace(second, starts=(*first.starts, (first.x, first.constant)))


@call("user")
def user_case(case: Case) -> Iterator[Answer]:
    with interpreted():
        yield next(_solved(case))


def _solved(case: Case) -> Iterator[Answer]:
    solution = ascd.solve(problem_of(case), **arguments_of(case))
    yield Answer(
        truth_of(case), solution.x, solution.intercept, solution.gap, solution.objective, str(solution.status),
        case.options.get("tol", 1e-6) * solution.zero_objective, solution.zero_objective, starts=_starts(case),
        trace=solution.trace,
    )  # fmt: skip


@call("path")
def path_case(case: Case) -> Iterator[Answer]:
    found = ascd.path(problem_of(case), **arguments_of(case))
    tolerance = case.options.get("tol", 1e-6) * found.zero_objective
    for i, alpha in enumerate(found.alphas):
        yield Answer(
            truth_of(case, float(alpha)), found.coefs[:, i], float(found.intercepts[i]), float(found.gaps[i]),
            float(found.objectives[i]), str(found.status), tolerance, starts=_starts(case),
        )  # fmt: skip


@call("minimize")
def minimize_case(case: Case) -> Iterator[Answer]:
    solution = ascd.minimize(problem_of(case), record="geometric", **arguments_of(case))
    yield Answer(
        truth_of(case), solution.x, 0.0, solution.gap, solution.objective, str(solution.status),
        case.options.get("tol", 1e-6) * solution.zero_objective, trace=solution.trace, starts=_starts(case),
    )  # fmt: skip


@call("DualSVM")
def dual_svm_case(case: Case) -> Iterator[Answer]:
    options = arguments_of(case)
    C, loss = options.pop("C"), options.pop("loss")
    problem = ascd.DualSVM(case.matrix(), case.b, C, loss)
    solution = ascd.solve(problem, **options)
    yield Answer(
        dual_truth(case.A, case.b, C, loss), solution.x, 0.0, solution.gap, solution.objective, str(solution.status),
        options.get("tol", 1e-6) * solution.zero_objective, None, trace=solution.trace,
    )  # fmt: skip


def dual_truth(X: Array, y: Array, C: float, loss: str) -> Truth:
    """min ½‖Aα‖² − Σα (+ Σα²/4C) over 0 ≤ α (≤ C), A = (y_k x_k)."""
    upper, l2 = (C, 0.0) if loss == "hinge" else (math.inf, 0.5 / C)
    arrays = penalty_arrays("Box", {"lower": 0.0, "upper": upper, "l2": l2, "linear": -1.0}, len(y))
    return make_truth((X * y[:, None]).T, np.zeros(X.shape[1]), None, "squared", 1.0, arrays, False)
