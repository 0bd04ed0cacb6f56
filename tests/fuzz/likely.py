"""The oracle ``stochastic``: its intervals hold together with probability 1 − failure, and are never called proved.

What it knows of the gradient comes from a sample of the rows, so that its intervals alone cannot be held to be true.
Everything else can: the gap, the objective, the box and the status, as of any run; the probability that the solution
states; and that the same seed gives the same bits.  Where the failure that is allowed is ``TINY`` the intervals are
judged as well, at every step of an interpreted run: were they right, a million runs would show a violation once in a
thousand times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

import ascd

from .calls import Answer, arguments_of, call, interpreted, problem_of, truth_of
from .cases import Case
from .chance import chance, pick
from .penalty_draw import KINDS, SHAPES
from .steps import faults_of, watched

#: Intervals that fail less often than this are held to be true.
TINY = 1e-9
LEAST = 1e-200
FAILURES = (0.01, 0.01, 1.0, 0.5, 1e-6, TINY, TINY, TINY, 1e-17, 1e-40, LEAST)
#: Numbers that must be refused.
WRONG = ({"rows": 1}, {"rows": 2.5}, {"failure": 0.0}, {"failure": 1.5}, {"failure": 1e-310}, {"patience": -1.0})
#: The one combination of parts that is compiled: rule, loss and penalty.
COMPILED = ("u-ascd", "squared", "L1")


class Likely(NamedTuple):
    """What a solution says of its intervals, beside the failure that was allowed, and what is wrong with them."""

    failure: float
    confidence: float
    words: str
    faults: tuple[tuple[str, str], ...]


def draw_likely(rng: Any, few: bool, parts: dict[str, tuple[str, ...]], problem: Callable[..., Case]) -> Case:
    """A case; ``problem`` draws its data, of the size given or of at most so many rows."""
    options: dict[str, Any] = {name: pick(rng, values) for name, values in parts.items()}
    is_compiled = few or chance(rng, 0.3)
    if is_compiled:
        options.update(rule=COMPILED[0], steepness="gs-s", step="coordinate")
    shape = 1 if is_compiled else int(rng.integers(len(SHAPES)))
    if options["steepness"] in ("gs", "gsl"):  # for smooth penalties
        shape = pick(rng, (0, 2, KINDS, KINDS + 2))
    loss = COMPILED[1] if is_compiled else pick(rng, ("squared", "logistic", "huber", "squared_hinge"))
    tall = (int(rng.integers(10, 200 if is_compiled else 90)), int(rng.integers(1, 7)))
    is_sparse, is_weighted = not is_compiled and chance(rng, 0.3), not is_compiled and chance(rng, 0.3)
    case = problem("stochastic", loss, SHAPES[shape], is_sparse, is_weighted, 8, tall if chance(rng, 0.7) else None)
    options.update(rng=int(rng.integers(100)), max_iter=int(rng.integers(0, 60)), stochastic=_numbers(rng))
    options["tol"] = pick(rng, (1e-6, 1e-3, 1e-10, 0.0))
    if chance(rng, 0.2):
        options["init"] = "none"
    return case.changed(options=options)


def _numbers(rng: Any) -> dict[str, Any]:
    """The oracle's own parameters."""
    if chance(rng, 0.03):
        return dict(pick(rng, WRONG))
    numbers: dict[str, Any] = {"failure": pick(rng, FAILURES), "anchored": chance(rng, 0.5)}
    if chance(rng, 0.6):
        numbers["rows"] = int(pick(rng, (2, 3, 10, 40, 300)))
    if chance(rng, 0.5):
        numbers["patience"] = pick(rng, (0.0, 0.1, 3.0, 1e300))
    return numbers


def is_wrong(numbers: dict[str, Any]) -> bool:
    """Must these parameters be refused?"""
    rows, failure = numbers.get("rows", 2), numbers.get("failure", 0.01)
    is_right = isinstance(rows, Integral) and rows >= 2 and LEAST <= failure <= 1.0
    return not (is_right and numbers.get("patience", 0.0) >= 0.0)


def with_oracle(case: Case) -> Case:
    """The case with the oracle in place of its parameters."""
    options = dict(case.options)
    options["oracle"] = ascd.Stochastic(**options.pop("stochastic", {}))
    return case.changed(options=options)


@call("stochastic")
def stochastic_case(case: Case) -> Iterator[Answer]:
    first, second = _answered(case), _answered(case)
    yield first
    yield replace(second, again=True)


def _answered(case: Case) -> Answer:
    ready = with_oracle(case)
    is_compiled = (case.options["rule"], case.loss, case.penalty) == COMPILED and min(case.shape) > 1
    with nullcontext() if is_compiled and np.ndim(case.parameters.get("strength")) == 0 else interpreted():
        solution = ascd.minimize(problem_of(case), record="geometric", **arguments_of(ready))
    truth, failure = truth_of(case), float(ready.options["oracle"].failure)
    faults: tuple[tuple[str, str], ...] = ()
    if failure <= TINY:
        faults = tuple(faults_of(truth, case.options.get("steepness", "gs-s"), watched(ready)))
    return Answer(
        truth, solution.x, 0.0, solution.gap, solution.objective, str(solution.status),
        case.options.get("tol", 1e-6) * solution.zero_objective, solution.zero_objective, trace=solution.trace,
        likely=Likely(failure, solution.confidence, solution.intervals, faults),
    )  # fmt: skip


def likely_faults(said: Likely) -> Iterator[tuple[str, str]]:
    """Kinds and descriptions of what is wrong with what a solution says of its intervals."""
    expected = 1.0 - said.failure
    if not (said.confidence < 1.0 and abs(said.confidence - expected) <= 1e-15):
        yield "confidence", f"{said.confidence!r} where a failure of {said.failure!r} is allowed"
    if "proved" in said.words or "probability 1;" in said.words:
        yield "called proved", said.words
    yield from said.faults
