"""What the library answers to a case, beside the problem in the judge's own terms."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

import ascd
from ascd._core import jit as _jit
from ascd.solver import tuning

from .cases import Array, Case
from .forms import twisted
from .truth import Long, Truth, make_truth, penalty_arrays

#: For every family, the function that calls it.
CALLS: dict[str, Callable[[Case], Iterator[Answer]]] = {}
#: Of paths over files: the room for warm starts, as a multiple of the memory, and the passes that they have to save.
EAGER = {"WARM_MEMORY": 20.0, "WORTH_A_PASS": 1e-9}


@dataclass(frozen=True)
class Answer:
    """One point, what is reported of it, and the problem it is an answer to."""

    truth: Truth
    x: Array  # flat, see ``truth``
    gap: float
    objective: float | None = None
    status: str | None = None
    tolerance: float | None = None  # what the gap of a converged run has to reach
    zero_objective: float | None = None
    slack: float = 0.0  # relative rounding of a gap that was changed to the estimator's units
    starts: tuple[Array, ...] = ()  # points that a judge should look at, too
    rounding: float = 0.0  # of the objective, where it was reported with a constant that is taken away here
    rivals: tuple[Any, ...] = ()  # values that the judge found by other means, error bounds added
    trace: Any = None
    again: bool = False  # the same call once more: it has to be the same answer
    faults: tuple[tuple[str, str], ...] = ()  # kinds and descriptions of what is wrong with intervals


@dataclass
class Outcome:
    """The answers of a call, or the error that it raised."""

    answers: list[Answer] = field(default_factory=list)
    error: Exception | None = None
    warnings: list[Any] = field(default_factory=list)
    seconds: float = 0.0  # of the processor


def answers(case: Case) -> Outcome:
    """Call the library; once more where it took too long, since the first call may have compiled."""
    outcome = _answers(case)
    if case.seconds is not None and outcome.seconds > case.seconds:
        outcome = _answers(case)
    return outcome


def _answers(case: Case) -> Outcome:
    outcome = Outcome()
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome.answers = list(CALLS[case.family](case))
        except Exception as error:  # whatever it is, it is judged
            outcome.error = error
    outcome.warnings, outcome.seconds = list(caught), time.process_time() - began
    return outcome


def call(*families: str) -> Callable[[Any], Any]:
    """Enter a function into the table of calls."""

    def enter(function: Any) -> Any:
        CALLS.update(dict.fromkeys(families, function))
        return function

    return enter


@contextmanager
def interpreted() -> Iterator[None]:
    """Kernels run as plain Python; the one call that solves small problems would take long so."""
    with changed(_jit, is_interpreted=True), changed(tuning, SMALL_ENTRIES=0):
        yield


@contextmanager
def changed(module: Any, **values: Any) -> Iterator[None]:
    """Numbers of the library's with other values."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


class Odd(NamedTuple):
    """lower·|x| + ½·linear·x² over a ≤ x ≤ b: a user's penalty, whose fields have the names of other things."""

    a: float = -math.inf
    b: float = math.inf
    lower: float = 0.0
    linear: float = 0.0

    def cost(self, x: float, j: int) -> float:
        return self.lower * abs(x) + 0.5 * self.linear * x * x if self.a <= x <= self.b else math.inf

    def prox(self, v: float, step: float, j: int) -> float:
        kept = math.copysign(max(abs(v) - step * self.lower, 0.0) / (1.0 + step * self.linear), v)
        return max(self.a, min(self.b, kept))

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        low = (self.lower if x > 0.0 else -self.lower) + self.linear * x
        high = (-self.lower if x < 0.0 else self.lower) + self.linear * x
        return (-math.inf if x <= self.a else low), (math.inf if x >= self.b else high)

    def cost_conjugate(self, u: float, j: int) -> float:
        """One of the bounds, the kink and the square is there, not several."""
        if self.linear > 0.0:
            return 0.5 * u * u / self.linear
        if self.a > -math.inf:
            return max(self.a * u, self.b * u)
        return 0.0 if abs(u) <= self.lower else math.inf

    def dual_scale(self, u: float, j: int) -> float:
        is_kink = self.linear == 0.0 and self.a == -math.inf
        return self.lower / abs(u) if is_kink and abs(u) > self.lower else 1.0


#: The judge's names of its fields.
ODD = {"a": "lower", "b": "upper", "lower": "l1", "linear": "l2"}


# ------------------------------------------------------------------------------------------- problems


def problem_of(case: Case) -> Any:
    loss = ascd.Huber(case.threshold) if case.loss == "huber" else case.loss
    b = case.b.astype(np.int64) if case.loss == "softmax" else case.b
    penalty = None
    if case.penalty != "None":
        penalty = (Odd if case.penalty == "Odd" else getattr(ascd, case.penalty))(**case.parameters)
    return ascd.Problem(case.matrix(), b, loss, penalty, case.weight, case.options.get("offset"))


def truth_of(case: Case, factor: float = 1.0) -> Truth:
    """The case in the judge's own terms; an offset is one more column whose coefficient is held at 1."""
    n = case.shape[1]
    if case.penalty == "Odd":
        arrays = {ODD[key]: np.full(n, value, dtype=Long) for key, value in case.parameters.items()}
    else:
        arrays = penalty_arrays(case.penalty, case.parameters, n, factor)
    intercept = bool(case.options.get("intercept", False))
    truth = make_truth(case.A, case.b, case.weight, case.loss, case.threshold, arrays, intercept)
    if "offset" not in case.options:
        return truth
    ends = {name: np.append(getattr(truth, name), 1.0) for name in ("lower", "upper")}
    rest = {name: np.append(getattr(truth, name), Long(0.0)) for name in ("l1", "l2", "linear", "group")}
    A = np.column_stack([truth.A, case.options["offset"]])
    return replace(truth, A=A, blocks=(*truth.blocks, (n,)), **ends, **rest)


def point_of(case: Case, truth: Truth, x: Any, intercepts: Any = 0.0) -> Array:
    """An answer's coefficients and intercepts as a point of its truth."""
    return truth.point(np.append(x, 1.0) if "offset" in case.options else x, intercepts)


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


def starts_of(case: Case, truth: Truth) -> tuple[Array, ...]:
    if "x0" not in case.options:
        return ()
    return (point_of(case, truth, case.options["x0"], case.options.get("intercept0", 0.0)),)


def answer_of(case: Case, solution: Any) -> Answer:
    """A solution of ``solve`` or ``minimize``."""
    truth = truth_of(case)
    return Answer(
        truth, point_of(case, truth, solution.x, getattr(solution, "intercept", 0.0)), solution.gap,
        solution.objective, str(solution.status), case.options.get("tol", 1e-6) * solution.zero_objective,
        solution.zero_objective, starts=starts_of(case, truth), trace=solution.trace,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------- calls


@call("solve")
def solve_case(case: Case) -> Iterator[Answer]:
    first = answer_of(case, ascd.solve(problem_of(case), **arguments_of(case)))
    if not case.twist:
        yield first
        return
    other, back = twisted(case)
    second = answer_of(other, ascd.solve(problem_of(other), **arguments_of(other)))
    second = replace(second, truth=first.truth, x=back(second.x), again=case.twist == "again")
    yield replace(first, starts=(*first.starts, second.x))
    yield replace(second, starts=(*first.starts, first.x))


@call("user")
def user_case(case: Case) -> Iterator[Answer]:
    """Nothing of a user's is kept compiled on disk: these runs are interpreted."""
    with interpreted():
        yield from list(solve_case(case))


@call("path")
def path_case(case: Case) -> Iterator[Answer]:
    found = ascd.path(problem_of(case), **arguments_of(case))
    tolerance = case.options.get("tol", 1e-6) * found.zero_objective
    for i, alpha in enumerate(found.alphas):
        truth = truth_of(case, float(alpha))
        yield Answer(
            truth, point_of(case, truth, found.coefs[..., i], found.intercepts[..., i]), float(found.gaps[i]),
            float(found.objectives[i]), str(found.status), tolerance, starts=starts_of(case, truth),
        )  # fmt: skip


@call("stored_path")
def stored_path_case(case: Case) -> Iterator[Answer]:
    """A path over a file, with less memory than a user may ask for; with warm starts wherever they can be."""
    with changed(tuning, **EAGER):
        yield from list(path_case(case))


@call("minimize")
def minimize_case(case: Case) -> Iterator[Answer]:
    found = answer_of(case, ascd.minimize(problem_of(case), record="geometric", **arguments_of(case)))
    yield replace(found, zero_objective=None)


@call("offset")
def offset_case(case: Case) -> Iterator[Answer]:
    with interpreted():
        yield from list(CALLS[case.options["call"]](case))


@call("DualSVM")
def dual_svm_case(case: Case) -> Iterator[Answer]:
    """min ½‖Aα‖² − Σα (+ Σα²/4C) over 0 ≤ α (≤ C), A = (y_k x_k)."""
    options = arguments_of(case)
    C, loss = options.pop("C"), options.pop("loss")
    solution = ascd.solve(ascd.DualSVM(case.matrix(), case.b, C, loss), **options)
    upper, l2 = (C, 0.0) if loss == "hinge" else (math.inf, 0.5 / C)
    arrays = penalty_arrays("Box", {"lower": 0.0, "upper": upper, "l2": l2, "linear": -1.0}, len(case.b))
    truth = make_truth((case.A * case.b[:, None]).T, np.zeros(case.shape[1]), None, "squared", 1.0, arrays, False)
    yield Answer(
        truth, solution.x, solution.gap, solution.objective, str(solution.status),
        options.get("tol", 1e-6) * solution.zero_objective, trace=solution.trace,
    )  # fmt: skip
