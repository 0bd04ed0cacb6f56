"""What must hold between an answer and the truth."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import ascd

from . import block_estimators, estimator_calls, offsets, stored_paths  # noqa: F401  (they enter their calls into the table)
from .block_calls import BLOCK_FAMILIES
from .block_search import block_candidates, blocks_from_scipy
from .block_truth import BlockTruth
from .calls import Answer, Outcome, answers
from .cases import Array, Case
from .errors import Violation, check_error, is_all_rounding
from .likely import likely_faults
from .peers import from_scipy, from_sklearn
from .search import candidates
from .steps import faults
from .truth import FLOAT64, UNIT, Truth

STATUSES = {str(status) for status in ascd.Status}
REPORTED = 1e-10
#: Numbers below this count as 0: float64's range ends, and with it what the library says of squares and products.
SMALLEST = 1e-290
#: Squares of coefficients beyond this are no float64 numbers: a run that ends there has diverged, with F = inf.
LARGEST = 1e150
#: Sums above this are beyond float64 for whoever adds squares first.
OVERFLOWS = 0.25 * float(np.finfo(float).max)
#: Multiples of x that are candidates: where there is no minimum, F falls along them.
MULTIPLES = (0.5, 2.0, 10.0, 1e3)


def judge(case: Case, deep: bool = True) -> tuple[Outcome, list[Violation]]:
    """Call the library and list what does not hold; ``deep`` asks SciPy and scikit-learn, too."""
    if case.family == "steps":
        return _judge_steps(case)
    outcome = answers(case)
    found = _check_warnings(case, outcome)
    if outcome.error is not None:
        return outcome, found + check_error(case, outcome.error)
    peers = from_sklearn(case) if deep and outcome.answers else []
    for answer in outcome.answers:
        more = [*peers, *(_from_scipy(answer) if deep else [])]
        found += check_answer(replace(answer, starts=(*answer.starts, *more)))
    return outcome, found + _check_again(outcome.answers)


def _from_scipy(answer: Answer) -> list[tuple[Array, float]]:
    if isinstance(answer.truth, BlockTruth):
        return blocks_from_scipy(answer.truth, answer.x)
    return from_scipy(answer.truth, answer.x, answer.constant)


def searched(truth: Any, given: list[tuple[Array, float]]) -> tuple[Array, Array]:
    """Points of the judge's own search."""
    if isinstance(truth, BlockTruth):
        return block_candidates(truth, given)
    return _hinge_candidates(truth) if truth.loss == "hinge" else candidates(truth, given)


def _check_again(answers: list[Answer]) -> list[Violation]:
    if not (len(answers) == 2 and answers[1].again):
        return []
    first, second = ((a.x.tobytes(), a.constant, repr(a.gap), repr(a.objective), a.status) for a in answers)
    return [] if first == second else [Violation("not deterministic", f"{first[1:]} and then {second[1:]}")]


def _judge_steps(case: Case) -> tuple[Outcome, list[Violation]]:
    outcome = Outcome()
    try:
        return outcome, [Violation(*fault) for fault in faults(case)]
    except Exception as error:
        outcome.error = error
        return outcome, check_error(case, error)


def _check_warnings(case: Case, outcome: Outcome) -> list[Violation]:
    wrong = [w for w in outcome.warnings if not issubclass(w.category, ConvergenceWarning)]
    if case.options.get("alpha") == 0.0:  # as in scikit-learn
        wrong = [w for w in wrong if "has no penalty" not in str(w.message)]
    theirs = ("least populated class", "number of unique classes")  # scikit-learn's own, of its folds and its checks
    wrong = [w for w in wrong if not any(words in str(w.message) for words in theirs)]
    if case.family in ("solve", "path", "minimize", "stochastic", "DualSVM", "user", *BLOCK_FAMILIES):
        wrong = outcome.warnings
    return [Violation("warning", f"{w.category.__name__}: {w.message}") for w in wrong[:1]]


def check_answer(answer: Answer) -> list[Violation]:
    """Everything that is said of one point."""
    truth, x = answer.truth, np.asarray(answer.x, dtype=float)
    if not (np.isfinite(x).all() and math.isfinite(answer.constant)):
        return [Violation("point not finite", f"x = {x}, intercept {answer.constant}")]
    if not truth.is_allowed(x):
        return [Violation("outside the box", f"x = {x}")]
    known = Known(answer)
    wrong = [] if answer.likely is None else [Violation(*fault) for fault in likely_faults(answer.likely)]
    found = [
        *_check_said(answer, known),
        *_check_trace(answer),
        *_check_zero(answer, known),
        *_check_gap(answer, known),
    ]
    return [*wrong, *found]


class Known:
    """F at the answer (place 0), at the allowed point nearest to zero (place 1) and at every candidate."""

    def __init__(self, answer: Answer) -> None:
        truth, x, c = answer.truth, np.asarray(answer.x, dtype=float), answer.constant
        given = [(x, c), (truth.nearest(), 0.0), *answer.starts]
        plain = [*given, *((factor * x, factor * c) for factor in MULTIPLES)]
        self.names = ["x", "the start", *["a given point"] * len(answer.starts), *["a multiple of x"] * len(MULTIPLES)]
        points = [np.clip(np.nan_to_num(point), truth.lower, truth.upper) for point, _ in plain]
        constants = [constant if truth.intercept else 0.0 for _, constant in plain]
        if math.isfinite(answer.gap):
            found, offsets = searched(truth, given)
            points, constants = [*points, *found.T], [*constants, *offsets]
            self.names += ["a point of the search"] * found.shape[1]
        self.values, self.errors, self.absolute = truth.values(np.array(points).T, np.array(constants))
        self.rivals = answer.rivals
        sizes = [float(size) for size in self.absolute[:2] if np.isfinite(float(size))]
        self.scale = max(sizes, default=0.0) or 1.0
        self.in_float64 = truth.values(np.array(points[:2]).T, np.array(constants[:2]), FLOAT64 * UNIT)[1]

        self.is_all_rounding = truth.A.shape[1] == x.size and is_all_rounding(truth.loss, truth.A, x)
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


def _check_said(answer: Answer, known: Known) -> list[Violation]:
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
    value, said = float(known.values[1]), answer.zero_objective
    wrong = value > 0.0 and not known.overflows(1) and not said <= value + known.rounding(1) + SMALLEST
    if not said >= 0.0 or wrong:
        return [Violation("zero_objective", f"said {said!r}, F at zero {value!r}", said / known.scale)]
    return []


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


def _hinge_candidates(truth: Truth) -> tuple[Array, Array]:
    """Primal weights from the judge's own descent on the dual."""
    m = len(truth.b)
    one = np.ones(m)
    arrays = {"l1": 0 * one, "l2": 0 * one, "linear": -one, "lower": 0 * one, "upper": truth.s.astype(float)}
    with np.errstate(all="ignore"):
        signed = (truth.A * truth.b[:, None]).T
    dual = Truth(signed, np.zeros(truth.n), np.ones(truth.n), "squared", 1.0, **arrays, intercept=False)
    alpha, _ = candidates(dual, [(np.zeros(m), 0.0)])
    weights = signed @ alpha
    return weights, np.zeros(weights.shape[1])
