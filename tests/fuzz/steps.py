"""Every step of ``minimize``: the intervals contain the gradient, and the bounds enclose the score.

A rule that writes down what it sees is wrapped around the rule of the case; the run is interpreted, so that no
combination of parts has to be compiled.  Gradients and scores are computed here, in long double, from their formulas
(L_j = M·‖a_j‖², L the largest, y* the minimiser of g·y + L/2·y² + Ψ_j(x + y) − Ψ_j(x)):

    gs-s  dist(−g, ∂Ψ_j(x))      gs-r  L·|y*|      gs-q  √(−2L·min V)      gsl-…  divided by √L_j, with L = L_j

The interval is the one that rules look at, rounding errors counted (``width_at``): it must hold the entry to the last
digit.  A radius without them holds in exact arithmetic only: after 10⁷ units of accumulated step length its digits end
at 10⁻⁹.  Scores are kept in float64: an excess below ``ROUNDING`` of the sizes of the terms is rounding.

The oracle ``stochastic`` knows the gradient from a sample of the rows: its intervals hold together with probability
1 − failure, and are never called proved.  The gap, the objective, the box and the status are judged as of any run, and
so are the probability that the solution states, and that the same seed gives the same bits.  Where the failure allowed
is ``TINY`` the intervals are judged as well: were they right, a million runs would show a violation once in a thousand
times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

import ascd
from ascd.engine import rules
from ascd.engine.descent import active_count
from ascd.engine.guards import as_part
from ascd.protocols import Rule

from .calls import Answer, answer_of, arguments_of, call, interpreted, problem_of, truth_of
from .cases import Array, Case
from .data import chance, pick
from .penalties import KINDS, SHAPES
from .truth import UNIT, Long, Truth

RULES = (
    "cyclic", "uniform", "importance", "steepest", "ascd", "u-ascd", "l-ascd", "a-ascd",
    "block", "working-set",
)  # fmt: skip
#: Oracles whose intervals are proved come first; those of the sketch are only likely.
ORACLES = ("exact", "norm", "simulated", "cached", "reference", "random", "sketch")
SAFE = ORACLES[:-1]
STEEPNESSES = ("gs-s", "gsl-s", "gs-r", "gs-q", "gsl-r", "gsl-q", "gs", "gsl")
STEPS = ("coordinate", "fixed", "line-search", "local")
#: What ``minimize`` uses where nothing is asked for.
DEFAULT = ("working-set", "reference", "gs-s", "coordinate")
ROUNDING = 1e-9
CURVATURE = {"squared": 1.0, "logistic": 0.25, "huber": 1.0, "squared_hinge": 2.0}
#: Intervals that fail less often than this are held to be true.
TINY = 1e-9
LEAST = 1e-200
FAILURES = (0.01, 0.01, 1.0, 0.5, 1e-6, TINY, TINY, TINY, 1e-17, 1e-40, LEAST)
#: Numbers that must be refused.
WRONG = ({"rows": 1}, {"rows": 2.5}, {"failure": 0.0}, {"failure": 1.5}, {"failure": 1e-310}, {"patience": -1.0})
#: The one combination of parts with sampled rows that is compiled: rule, loss and penalty.
COMPILED = ("u-ascd", "squared", "L1")


@cache
def engines(few: bool = False) -> tuple[tuple[str, str, str, str, str, int, bool], ...]:
    """Rule, oracle, steepness, step, loss, shape, sparse: every value with many of every other."""
    if few:
        return ((*DEFAULT, "squared", 1, False),)
    losses = tuple(CURVATURE)
    found = [(*DEFAULT, loss, (3 * i + 1) % KINDS, i % 2 == 1) for i, loss in enumerate(losses)]
    for i in range(4 * len(RULES)):
        lap = i // len(RULES)
        rule, oracle = RULES[i % len(RULES)], ORACLES[(i + lap) % len(ORACLES)]
        steepness, step = STEEPNESSES[(i + 3 * lap) % len(STEEPNESSES)], STEPS[(i + lap) % len(STEPS)]
        loss, shape = losses[(i + lap) % 4], (i + 5 * lap) % KINDS
        if steepness in ("gs", "gsl"):  # for smooth penalties
            shape = 2 * (i % 2)
        found.append((rule, oracle, steepness, step, loss, shape, i % 4 == 3))
    return tuple(found)


class Seen(NamedTuple):
    """The state before a pick."""

    x: Array
    estimate: Array
    radius: Array
    bounds: Array


class Watcher(NamedTuple):
    """A rule that writes down what another one sees."""

    inner: Any
    log: Any

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Watcher:
        return Watcher(as_part(self.inner, rules.RULES, "rule", Rule, parts, oracle, steepness), self.log)

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, n = point.intervals, point.x.size
        known = [intervals.extra.tighten(j, intervals.estimate[j], intervals.width_at(j)) for j in range(n)]
        bounds = np.array([intervals.bounds_at(j) for j in range(n)])
        self.log.append(Seen(point.x.copy(), *np.array(known).T, bounds))
        return self.inner.select(point, t, rng)

    def active_count(self, point: Any) -> int:
        return active_count(self.inner, point)


def watched(case: Case) -> list[Seen]:
    """The states of a run."""
    log: list[Seen] = []
    options = {**case.options, "rule": Watcher(case.options["rule"], log)}
    with interpreted():
        ascd.minimize(problem_of(case), record=None, **options)
    return log


def faults(case: Case) -> Iterator[tuple[str, str]]:
    """Kinds and descriptions of what does not hold in some step."""
    truth, steepness = truth_of(case), case.options.get("steepness", "gs-s")
    for t, seen in enumerate(watched(case)):
        gradient, size = exact_gradient(truth, seen.x)
        excess = np.abs(gradient - seen.estimate) - seen.radius - truth.A.size * UNIT * size
        if np.any(excess > 0.0):
            j = int(np.argmax(excess))
            yield "interval", f"step {t}, coordinate {j}: {seen.estimate[j]} ± {seen.radius[j]} misses {gradient[j]}"
            return
        score, slack = exact_scores(truth, steepness, seen.x.astype(Long), gradient, size)
        low, high = seen.bounds.T
        if np.any(low > score + slack) or np.any(high < score - slack):
            j = int(np.argmax(np.maximum(low - score - slack, score - slack - high)))
            yield "sandwich", f"step {t}, coordinate {j}: score {score[j]} outside [{low[j]}, {high[j]}]"
            return


def exact_gradient(truth: Truth, x: Array) -> tuple[Array, Array]:
    """∇f(x), and the sizes of the terms of its entries."""
    A, s = truth.A.astype(Long), truth.s.astype(Long)
    y, z = truth.b[:, 0].astype(Long), A @ x.astype(Long)
    size = np.abs(A) @ np.abs(x) + np.abs(y) + 1
    M = CURVATURE[truth.loss]
    derivative = {
        "squared": lambda: z - y,
        "huber": lambda: np.clip(z - y, -truth.threshold, truth.threshold),
        "logistic": lambda: -y / (1 + np.exp(np.minimum(y * z, 11000))),
        "squared_hinge": lambda: -2 * y * np.maximum(1 - y * z, 0),
    }[truth.loss]()
    return A.T @ (s * derivative), np.abs(A).T @ (s * M * size)


def exact_scores(truth: Truth, steepness: str, x: Array, g: Array, size: Array) -> tuple[Array, Array]:
    """The score of every coordinate, and how far rounding may move it."""
    own = CURVATURE[truth.loss] * (truth.s.astype(Long)[:, None] * truth.A.astype(Long) ** 2).sum(axis=0)
    own[own == 0.0] = own[own > 0.0].min(initial=np.inf if own.any() else 1.0)
    L = own if steepness.startswith("gsl") else np.full(x.size, own.max(), dtype=Long)
    l1, l2, linear = (np.asarray(p, dtype=Long) for p in (truth.l1, truth.l2, truth.linear))
    pull = size + np.abs(linear) + l1 + l2 * np.abs(x)
    if steepness in ("gs", "gs-s", "gsl", "gsl-s"):
        low, high = subgradients(truth, x)
        score, slack = np.maximum(0.0, np.maximum(g + low, -g - high)), ROUNDING * pull
    else:
        v = x - (g + linear) / L
        target = np.sign(v) * np.maximum(np.abs(v) - l1 / L, 0.0) / (1.0 + l2 / L)
        y = np.clip(target, truth.lower, truth.upper) - x
        score, slack = L * np.abs(y), ROUNDING * (pull + L * np.abs(x))
        if steepness.endswith("q"):
            cost = l1 * (np.abs(x + y) - np.abs(x)) + l2 * y * (x + 0.5 * y) + linear * y
            score = np.sqrt(np.maximum(0.0, -2.0 * L * (g * y + 0.5 * L * y * y + cost)))
            slack = slack + 1e-6 * np.sqrt(2.0 * L * np.abs(x) * (pull + L * np.abs(x))) + 1e-6 * pull
    root = np.sqrt(own) if steepness.startswith("gsl") else 1.0
    return score / root, slack / root


def subgradients(truth: Truth, x: Array) -> tuple[Array, Array]:
    """The ends of ∂Ψ_j(x_j)."""
    smooth, l1 = truth.l2 * x + truth.linear, np.asarray(truth.l1, dtype=Long)
    low, high = smooth + np.where(x > 0.0, l1, -l1), smooth + np.where(x < 0.0, -l1, l1)
    return np.where(x <= truth.lower, -np.inf, low), np.where(x >= truth.upper, np.inf, high)


# ------------------------------------------------------------------------------------------- sampled rows


def draw_stochastic(rng: Any, few: bool, problem: Callable[..., Case]) -> Case:
    """Tall data, and any parts go together; ``problem(parts, size)`` draws the data, of any size for None."""
    options: dict[str, Any] = {"rule": pick(rng, RULES), "steepness": pick(rng, STEEPNESSES), "step": pick(rng, STEPS)}
    is_compiled = few or chance(rng, 0.3)
    if is_compiled:
        options.update(rule=COMPILED[0], steepness="gs-s", step="coordinate")
    shape = 1 if is_compiled else int(rng.integers(len(SHAPES)))
    if options["steepness"] in ("gs", "gsl"):  # for smooth penalties
        shape = pick(rng, (0, 2, KINDS, KINDS + 2))
    loss = COMPILED[1] if is_compiled else pick(rng, tuple(CURVATURE))
    tall = (int(rng.integers(10, 200 if is_compiled else 90)), int(rng.integers(1, 7)))
    is_sparse, is_weighted = not is_compiled and chance(rng, 0.3), not is_compiled and chance(rng, 0.3)
    case = problem((loss, shape, is_sparse, is_weighted), tall if chance(rng, 0.7) else None)
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
    yield _sampled(case)
    yield replace(_sampled(case), again=True)


def _sampled(case: Case) -> Answer:
    ready = with_oracle(case)
    is_compiled = (case.options["rule"], case.loss, case.penalty) == COMPILED and min(case.shape) > 1
    with nullcontext() if is_compiled and np.ndim(case.parameters.get("strength")) == 0 else interpreted():
        solution = ascd.minimize(problem_of(case), record="geometric", **arguments_of(ready))
    return replace(answer_of(case, solution), faults=tuple(_likely_faults(ready, solution)))


def _likely_faults(case: Case, solution: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with what a solution reports of its intervals, and with them where they hardly ever fail."""
    failure = float(case.options["oracle"].failure)
    if not (solution.confidence < 1.0 and abs(solution.confidence - (1.0 - failure)) <= 1e-15):
        yield "confidence", f"{solution.confidence!r} where a failure of {failure!r} is allowed"
    if "proved" in solution.intervals or "probability 1;" in solution.intervals:
        yield "called proved", solution.intervals
    if failure <= TINY:
        yield from faults(case)
