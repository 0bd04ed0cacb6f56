"""What must hold between an answer and the truth, and which errors are no violations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import ascd
from ascd.solver import tuning

from . import estimators, steps  # noqa: F401  (they enter their calls into the table)
from .calls import Answer, Outcome, answers, point_of, truth_of
from .cases import Case
from .placed import is_placed
from .search import candidates, from_scipy, from_sklearn
from .steps import faults, is_wrong
from .truth import FLOAT64, UNIT

STATUSES = {str(status) for status in ascd.Status}
REPORTED = 1e-10
#: Numbers below this count as 0: float64's range ends, and with it what the library reports of squares and products.
SMALLEST = 1e-290
#: Squares of coefficients beyond this are no float64 numbers: a run that ends there has diverged, with F = inf.
LARGEST = 1e150
#: Sums above this are beyond float64 for whoever adds squares first.
OVERFLOWS = 0.25 * float(np.finfo(float).max)
#: Multiples of x that are candidates: where there is no minimum, F falls along them.
MULTIPLES = (0.5, 2.0, 10.0, 1e3)
#: Words of which an error message must hold one: the argument that is to blame.
ARGUMENTS = (
    "A", "b", "X", "y", "x0", "tol", "alphas", "alpha", "sample_weight", "weights", "penalty", "steepness", "unbounded",
    "intercept0", "Cs", "cv", "scale", "classes", "groups", "positive", "loss", "dual", "rows", "strength", "l1", "l2",
    "ridge", "failure", "patience", "offset",
)  # fmt: skip
#: Calls that must not warn at all; estimators may of convergence.
SILENT = ("solve", "path", "minimize", "stochastic", "DualSVM", "user", "offset", "stored_path")


@dataclass(frozen=True)
class Violation:
    """A promise that did not hold: its kind, what was seen, and how far off, relative to the terms of the objective."""

    kind: str
    text: str
    size: float = math.nan


def judge(case: Case, deep: bool = True) -> tuple[Outcome, list[Violation]]:
    """Call the library and list what does not hold; ``deep`` asks SciPy and scikit-learn, too."""
    if case.family == "steps":
        return _judge_steps(case)
    with _way_of(case):
        outcome = answers(case)
    found = [*_check_warnings(case, outcome), *_check_time(case, outcome)]
    if outcome.error is not None:
        return outcome, found + check_error(case, outcome.error)
    peers = from_sklearn(case) if deep and outcome.answers else []
    for answer in outcome.answers:
        more = [*peers, *(from_scipy(answer.truth, answer.x) if deep else [])]
        found += check_answer(replace(answer, starts=(*answer.starts, *more)))
    return outcome, found + _check_again(outcome.answers)


@contextmanager
def _way_of(case: Case) -> Iterator[None]:
    """Solve half of the cases, all of them small, by the loop and not in one compiled call."""
    entries = tuning.SMALL_ENTRIES
    tuning.SMALL_ENTRIES = 0 if sum(case.A.shape) % 2 else entries
    try:
        yield
    finally:
        tuning.SMALL_ENTRIES = entries


def _judge_steps(case: Case) -> tuple[Outcome, list[Violation]]:
    outcome = Outcome()
    try:
        return outcome, [Violation(*fault) for fault in faults(case)]
    except Exception as error:
        outcome.error = error
        return outcome, check_error(case, error)


def _check_again(answers: list[Answer]) -> list[Violation]:
    if not (len(answers) == 2 and answers[1].again):
        return []
    first, second = ((a.x.tobytes(), repr(a.gap), repr(a.objective), a.status) for a in answers)
    return [] if first == second else [Violation("not deterministic", f"{first[1:]} and then {second[1:]}")]


def _check_time(case: Case, outcome: Outcome) -> list[Violation]:
    if case.seconds is None or outcome.seconds <= case.seconds:
        return []
    ended = [answer.status for answer in outcome.answers]
    return [Violation("slow", f"{outcome.seconds:.1f} s of processor time, {ended}", outcome.seconds)]


def _check_warnings(case: Case, outcome: Outcome) -> list[Violation]:
    wrong = [w for w in outcome.warnings if not issubclass(w.category, ConvergenceWarning)]
    if case.options.get("alpha") == 0.0:  # as in scikit-learn
        wrong = [w for w in wrong if "has no penalty" not in str(w.message)]
    # scikit-learn's own, of its folds and its checks; and a column of small data may equal the target by chance
    allowed = ("least populated class", "number of unique classes", "equals y")
    wrong = [w for w in wrong if not any(words in str(w.message) for words in allowed)]
    if case.family in SILENT:
        wrong = outcome.warnings
    return [Violation("warning", f"{w.category.__name__}: {w.message}") for w in wrong[:1]]


# ------------------------------------------------------------------------------------------- answers


def check_answer(answer: Answer) -> list[Violation]:
    """Everything that is reported of one point."""
    truth, x = answer.truth, np.asarray(answer.x, dtype=float)
    if not np.isfinite(x).all():
        return [Violation("point not finite", f"x = {x}")]
    if not truth.is_allowed(x):
        return [Violation("outside the box", f"x = {x}")]
    known = Known(answer)
    return [
        *(Violation(*fault) for fault in answer.faults),
        *_check_reported(answer, known),
        *_check_trace(answer),
        *_check_zero(answer, known),
        *_check_descent(answer, known),
        *_check_gap(answer, known),
    ]


class Known:
    """F at the answer (index 0), at the allowed point nearest to zero (index 1) and at every candidate."""

    def __init__(self, answer: Answer) -> None:
        truth, x = answer.truth, np.asarray(answer.x, dtype=float)
        given = [x, truth.nearest(), *answer.starts]
        plain = [*given, *(factor * x for factor in MULTIPLES)]
        self.names = ["x", "the start", *["a given point"] * len(answer.starts), *["a multiple of x"] * len(MULTIPLES)]
        points = np.array([np.clip(np.nan_to_num(point), *truth.bounds()) for point in plain]).T
        if math.isfinite(answer.gap):
            found = candidates(truth, given)
            points = np.hstack([points, found])
            self.names += ["a point of the search"] * found.shape[1]
        self.values, self.errors, self.absolute = truth.values(points)
        self.rivals = answer.rivals
        sizes = [float(size) for size in self.absolute[:2] if np.isfinite(float(size))]
        self.scale = max(sizes, default=0.0) or 1.0
        self.in_float64 = truth.values(points[:, :2], FLOAT64 * UNIT)[1]
        coefficients = x[: truth.coefficients].reshape(-1, truth.outputs)
        self.is_all_rounding = is_all_rounding(truth.loss, truth.A, coefficients)
        self.square = float(np.abs(truth.b).max(initial=0.0)) if truth.loss == "squared" else 0.0

    def overflows(self, place: int) -> bool:
        """Is the value, or a square in it before its weight, beyond float64?"""
        return float(self.values[place]) > OVERFLOWS or self.square > math.sqrt(OVERFLOWS)

    def rounding(self, place: int) -> float:
        """How far a value in float64 may be off."""
        return max(REPORTED * float(self.absolute[place]) + float(self.in_float64[place]), 1e-15 * self.scale)

    def best(self) -> tuple[Any, str]:
        """The lowest F that was found, error bounds added, and where it came from."""
        pessimistic = self.values + self.errors + self.errors[0]
        i = int(np.argmin(pessimistic))
        rival = min(self.rivals, default=np.longdouble(np.inf))
        return (rival, "another scale") if rival < pessimistic[i] else (pessimistic[i], self.names[i])


def _check_reported(answer: Answer, known: Known) -> list[Violation]:
    found = []
    gap, status = answer.gap, answer.status
    if math.isnan(gap) or gap < 0.0:
        found.append(Violation("gap nan or negative", f"gap {gap}, status {status}"))
    if status is not None and status not in STATUSES:
        found.append(Violation("unknown status", str(status)))
    if status == "converged" and answer.tolerance is not None and not gap <= answer.tolerance * (1 + answer.slack):
        found.append(Violation("converged above tolerance", f"gap {gap:.3g}, tolerance {answer.tolerance:.3g}"))
    value, farthest = float(known.values[0]), float(np.abs(answer.x).max(initial=0.0))
    is_beyond = answer.objective == math.inf and (
        (status == "diverged" and farthest > LARGEST) or known.overflows(0) or known.is_all_rounding
    )
    if answer.objective is not None and math.isfinite(value) and not is_beyond:
        off = abs(float(known.values[0] - np.longdouble(answer.objective)))
        if not off <= known.rounding(0) + answer.rounding + SMALLEST:
            text = f"reported {answer.objective!r}, F(x) = {value!r}"
            found.append(Violation("objective", text, off / known.scale))
    return found


def _check_trace(answer: Answer) -> list[Violation]:
    if answer.trace is None or not np.any(answer.trace.gap < 0.0):
        return []
    return [Violation("negative gap in the trace", str(answer.trace.gap))]


def _check_zero(answer: Answer, known: Known) -> list[Violation]:
    """The tolerance refers to F at the allowed point nearest to zero, or to less where an intercept is fitted."""
    if answer.zero_objective is None:
        return []
    value, reported = float(known.values[1]), answer.zero_objective
    wrong = value > 0.0 and not known.overflows(1) and not reported <= value + known.rounding(1) + SMALLEST
    if not reported >= 0.0 or wrong:
        text = f"reported {reported!r}, F at zero {value!r}"
        return [Violation("zero_objective", text, reported / known.scale)]
    return []


def _check_descent(answer: Answer, known: Known) -> list[Violation]:
    """No run that begins at zero ends above it."""
    if answer.zero_objective is None or answer.starts or known.overflows(1):
        return []
    after, before = float(known.values[0]), float(known.values[1])
    if after <= before + known.rounding(0) + known.rounding(1) + SMALLEST:
        return []
    return [Violation("worse than zero", f"F {after!r}, at zero {before!r}, {answer.status}", after / known.scale)]


def _check_gap(answer: Answer, known: Known) -> list[Violation]:
    if not math.isfinite(answer.gap):
        return []
    value, (best, name) = known.values[0], known.best()
    deficit = value - best - np.longdouble(answer.gap) * (1 + np.longdouble(answer.slack))
    if not deficit > SMALLEST:
        return []
    text = (
        f"gap {answer.gap:.3g} ({answer.status}), but F(x) = {float(value):.17g} and {name} is lower by "
        f"{float(value - best):.3g}; short by {float(deficit):.3g}, {float(deficit) / known.scale:.2g} of its terms"
    )
    return [Violation("gap", text, float(deficit) / known.scale)]


# ------------------------------------------------------------------------------------------- errors


def check_error(case: Case, error: Exception) -> list[Violation]:
    """Is it a ValueError or TypeError that names an argument, and has a reason?"""
    text = f"{type(error).__name__}: {error}"
    if not isinstance(error, ValueError | TypeError):
        return [Violation(f"exception {type(error).__name__}", text)]
    words = set("".join(letter if letter.isalnum() or letter == "_" else " " for letter in str(error)).split())
    if not words & set(ARGUMENTS):
        return [Violation("unclear error", text)]
    return [] if is_justified(case, str(error)) else [Violation("unjustified error", text)]


def is_justified(case: Case, message: str) -> bool:
    """Is there a reason for the error in the data?"""
    s = np.ones(len(case.b)) if case.weight is None else case.weight
    if "must be 0 or between" in message or "has columns whose norm" in message:
        return _is_out_of_range(case, s)
    if any(words in message for words in ("must be at most 1e+", "must be in [0, 1e+150]", "alphas must be smaller")):
        return _are_strengths_out_of_range(case)
    if "unbounded" in message:
        return bool(np.any(case.parameters.get("linear", 0.0)))
    if "alphas must be given" in message or "scaled" in message:
        weights = (case.options.get(name, 1.0) for name in ("penalty_weights", "weights"))
        is_path = case.options.get("call", case.family) in ("path", "stored_path")
        return is_path or not all(np.any(given) for given in weights)
    if "x0" in message:
        start = case.options.get("x0")  # squares of what is beyond 1e150 are not float64 numbers
        is_rounding = is_all_rounding(case.loss, case.A, start)
        return start is not None and (np.abs(start).max() > 1e150 or not _start_value(case) < 1e300 or is_rounding)
    if "cv must leave samples" in message:  # shuffled folds of few samples
        return bool(np.unique(case.b, return_counts=True)[1].min() < 2 * int(case.options.get("cv", 5)))
    if "steepness" in message:
        return case.options.get("steepness") in ("gs", "gsl")
    if "bounded curvature" in message:
        return case.loss == "poisson"
    if "Stochastic" in message:
        return is_wrong(case.options.get("stochastic", {}))
    if "must be in memory" in message:  # samples or columns that are read one by one
        return is_placed(case.storage)
    if "positive=True needs a penalty" in message:  # an unpenalised group has no sense of its own there
        return bool({**case.parameters, **case.options}.get("positive"))
    if "classes in the data" in message:
        return len(set(case.b[s > 0.0])) < 2
    return "y must hold a positive count" in message or "Automatic alpha grid" in message


def _is_out_of_range(case: Case, s: Any) -> bool:
    """Are norms, targets or weights out of range, those of a fold or with factors that C and alpha stand for?"""
    factors = [1.0, *np.ravel(case.options.get("C", 1.0))]
    squares = np.array([(factor * s[:, None] * case.A**2).sum(axis=0) for factor in factors])
    sizes = np.sqrt(np.append(squares, (case.A**2).sum(axis=1)))
    if case.family.endswith("CV"):
        sizes = np.append(sizes, np.abs(case.A))
    targets = [np.abs(case.b).max(), np.abs(case.options.get("offset", 0.0)).max()]
    given = ((sizes, 1e60), (np.array(targets), 1e60), (np.outer(factors, s), 1e20))
    return any(((some > most) | ((some > 0.0) & (some < 1.0 / most))).any() for some, most in given)


def _are_strengths_out_of_range(case: Case) -> bool:
    """Of a penalty, with its weights, at the largest alpha of a path; and its bounds."""
    given, largest = case.parameters, float(np.max(case.options.get("alphas", 1.0)))
    weights = given.get("weights", 1.0)
    factor = 1.0 if weights is None or isinstance(weights, str) else np.max(weights)
    strengths = [np.max(given[name]) for name in ("strength", "l1", "l2", "ridge") if name in given]
    ends = np.abs(np.r_[given.get("lower", 0.0), given.get("upper", 0.0)])
    sizes = [largest * strength * factor for strength in strengths] + [np.abs(given.get("linear", 0.0)).max()]
    return max(sizes) > 1e150 or bool(((ends > 1e60) & (ends < np.inf)).any())


def is_all_rounding(loss: str, A: Any, x: Any) -> bool:
    """Do products with x cancel so far that the exponential of their rounding overflows?"""
    if loss != "poisson" or x is None:
        return False
    with np.errstate(all="ignore"):
        size = np.abs(A) @ np.abs(np.asarray(x, dtype=float))
    return bool(size.max() * 1e-16 > 700.0)


def _start_value(case: Case) -> Any:
    truth = truth_of(case)
    return truth.value(point_of(case, truth, case.options["x0"], case.options.get("intercept0", 0.0)))[0]
