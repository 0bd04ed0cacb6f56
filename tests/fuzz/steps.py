"""Every step of ``minimize``: the intervals contain the gradient, and the bounds enclose the score.

A rule that writes down what it sees is wrapped around the rule of the case; the run is interpreted, so that no
combination of parts has to be compiled.  Gradients and scores are computed here, in long double, from their formulas
(L_j = M·‖a_j‖², L the largest, y* the minimiser of g·y + L/2·y² + Ψ_j(x + y) − Ψ_j(x)):

    gs-s  dist(−g, ∂Ψ_j(x))      gs-r  L·|y*|      gs-q  √(−2L·min V)      gsl-…  divided by √L_j, with L = L_j

The interval is the one that rules look at, rounding errors counted (``width_at``): it must hold the entry to the last
digit.  A radius without them holds in exact arithmetic only: when the clock has run to 10⁷, its digits end at 10⁻⁹.
Scores are kept in float64: an excess below ``ROUNDING`` of the sizes of the terms is rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import ascd
from ascd.engine.descent import active_count
from ascd.engine.rules import as_rule

from .calls import interpreted, problem_of, truth_of
from .cases import Array, Case
from .truth import UNIT, Long, Truth

ROUNDING = 1e-9
CURVATURE = {"squared": 1.0, "logistic": 0.25, "huber": 1.0, "squared_hinge": 2.0}


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
        return Watcher(as_rule(self.inner, parts, oracle, steepness), self.log)

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
    yield from faults_of(truth_of(case), case.options.get("steepness", "gs-s"), watched(case))


def faults_of(truth: Truth, steepness: str, states: list[Seen]) -> Iterator[tuple[str, str]]:
    """The same for states that were written down."""
    for t, seen in enumerate(states):
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
    y, z = truth.b.astype(Long), A @ x.astype(Long)
    size = np.abs(A) @ np.abs(x) + np.abs(y) + 1
    M = CURVATURE[truth.loss]
    slope = {
        "squared": lambda: z - y,
        "huber": lambda: np.clip(z - y, -truth.threshold, truth.threshold),
        "logistic": lambda: -y / (1 + np.exp(np.minimum(y * z, 11000))),
        "squared_hinge": lambda: -2 * y * np.maximum(1 - y * z, 0),
    }[truth.loss]()
    return A.T @ (s * slope), np.abs(A).T @ (s * M * size)


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
    slope, l1 = truth.l2 * x + truth.linear, np.asarray(truth.l1, dtype=Long)
    low, high = slope + np.where(x > 0.0, l1, -l1), slope + np.where(x < 0.0, -l1, l1)
    return np.where(x <= truth.lower, -np.inf, low), np.where(x >= truth.upper, np.inf, high)
