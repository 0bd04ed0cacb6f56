"""What the tests of the selection rules share: runs that can be watched, data sets, and exact probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import reference as ref
import scipy.sparse as sp
from lockstep import assemble
from problems import Case
from scipy.stats import chi2

import ascd
from ascd.engine.descent import active_count, descend
from ascd.engine.rules.ascd import best_level, smallest_set_threshold
from ascd.engine.rules.largest import LIST_SIZE, NEXT_PLACE
from ascd.engine.rules.scan import highest
from ascd.engine.tuning import BUCKETS, LEVELS

INF = float("inf")
LOSSES = ("squared", "logistic", "huber", "squared_hinge")


class Watch:
    """A rule that shows every pick, before its step, to a function; interpreted runs only."""

    def __init__(self, rule, look):
        self.rule, self.look, self.picks = rule, look, []

    def select(self, point, t, rng):
        self.picks.append(self.rule.select(point, t, rng))
        self.look(point, self.picks[-1])
        return self.picks[-1]

    def active_count(self, point):
        return active_count(self.rule, point)


def watch(assembly, n_iter, look=lambda point, pick: None):
    """Descend interpreted, showing each pick; returns the picks."""
    watched = Watch(assembly.rule, look)
    with np.errstate(all="ignore"):
        assembly.descend(0, n_iter, descend.py_func, watched)
    return watched.picks


def bounds_of(point):
    pairs = np.array([point.intervals.bounds_at(j) for j in range(point.x.size)])
    return pairs[:, 0], pairs[:, 1]


def sparse_matrix(rng, d, n, density=0.15):
    return sp.random(d, n, density=density, random_state=rng).toarray() + np.eye(d, n)


def regression(d, n, loss="squared", share=0.1, seed=0, weights=None):
    """A problem with an L1 penalty of a share of the smallest strength that keeps everything at 0."""
    rng = np.random.default_rng(seed)
    A = sparse_matrix(rng, d, n)
    b = A[:, : n // 5] @ rng.standard_normal(n // 5) + 0.1 * rng.standard_normal(d)
    b = np.sign(b) if loss in ("logistic", "squared_hinge") else b
    top = np.abs(ref.Problem(A, b, loss, None, weights).gradient(np.zeros(n))).max()
    return Case(loss, A, b, loss, ascd.L1(share * top), ref.L1(np.full(n, share * top)), weights)


def few_steep():
    """Fixed steps are short here, because of one long column: small sets that live through many steps."""
    rng = np.random.default_rng(6)
    A = np.diag(np.where(np.arange(75) == 0, 10.0, 1.0)) + 0.02 * rng.standard_normal((75, 75))
    b = A @ np.where(np.arange(75) % 15 == 1, 3.0, 0.02 * rng.standard_normal(75))
    return Case("few steep", A, b, "squared", ascd.L1(0.05), ref.L1(np.full(75, 0.05)))


def leaning():
    """Short steps of one steep column make all others steep, which were not when the set was built."""
    A = np.zeros((10, 10))
    A[0, :9], A[np.arange(1, 9), np.arange(1, 9)], A[9, 9] = [1.0] + [0.9] * 8, np.sqrt(0.19), 5.0
    b = np.array([3.0] + [-2.7 / np.sqrt(0.19)] * 8 + [0.0])
    return Case("leaning", A, b, "squared", ascd.Zero(), ref.Zero(10))


def kinks():
    """Half of the coordinates are steep until a tiny step takes them to 0."""
    start = np.where(np.arange(10) < 5, 1e-3, 0.0)
    b = start + np.where(np.arange(10) < 5, 0.0, 4.0)
    return Case("kinks", np.eye(10), b, "squared", ascd.L1(3.0), ref.L1(np.full(10, 3.0)), x0=start)


class Stay(NamedTuple):
    """A step that goes nowhere and leaves the interval as it is: the rule meets the same state again."""

    unit: float = 1.0

    def take(self, point: Any, i: int, g: float) -> tuple[float, float, float]:
        return point.x[i], point.intervals.estimate[i], point.intervals.radius_at(i)


def standing_still(rule, lower, upper, seed=0):
    """An assembly whose scores have exactly these bounds, at every step."""
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    with np.errstate(invalid="ignore"):
        estimate = np.where(lower > 0.0, 0.5 * (lower + upper), 0.0)
        radius = np.where(lower > 0.0, 0.5 * (upper - lower), upper)
    problem = ascd.Problem(np.eye(lower.size), np.ones(lower.size))
    assembly = assemble(problem, rule, "norm", init=(estimate, radius), seed=seed)
    assembly.step = Stay()
    assembly.point.intervals.lengths[:] = 0.0  # no rounding
    return assembly


def adaptive_chances(lower, upper):
    """The rule "adaptive", from its own set and level: (chance of each coordinate, members of ASCD's set)."""
    work = np.empty((BUCKETS, 2)), np.empty(lower.size, dtype=np.int32)
    threshold = smallest_set_threshold(lower, upper, highest(lower), *work)
    level = best_level(lower, upper, threshold, highest(lower), np.empty((LEVELS, 4)))
    members = upper >= threshold
    leaving, arriving = members & (upper < level), lower >= level
    chance = (members & ~leaving) / members.sum()
    if leaving.any():
        chance[arriving] += leaving.sum() / members.sum() * lower[arriving] ** 2 / np.sum(lower[arriving] ** 2)
    return chance, members


def follows(picks, chance):
    """Do independent picks follow these chances?  (Chi-square; one false alarm in a million.)"""
    found, possible = np.bincount(picks, minlength=len(chance)), chance > 0.0
    expected = len(picks) * chance[possible]
    distance = np.sum((found[possible] - expected) ** 2 / expected)
    return found[~possible].sum() == 0 and distance <= chi2.ppf(1 - 1e-6, max(possible.sum() - 1, 1))


def redraws(assembly, count, seed=0):
    """Picks from the present state, again and again; the rule is restored after each."""
    rng, arrays = np.random.default_rng(seed), arrays_of(assembly.rule)
    saved, picks = [array.copy() for array in arrays], []
    for _ in range(count):
        picks.append(redraw(assembly.rule, assembly.point, rng))
        for array, before in zip(arrays, saved, strict=True):
            array[...] = before
    return picks


def arrays_of(part):
    """All arrays that a part holds, also in parts of its own: what a pick may change."""
    if isinstance(part, np.ndarray):
        return [part]
    return [array for field in part for array in arrays_of(field)] if isinstance(part, tuple) else []


def redraw(rule, point, rng):
    """A pick with random numbers of its own, also where the rule has drawn some before."""
    if hasattr(rule, "members") and hasattr(rule, "floor"):
        rule.state[NEXT_PLACE] = -1
    return rule.select(point, 0, rng)


def check_draw(rule, point, pick):
    """The pick belongs to a-ASCD's set, which is contained in the list.  Returns the size of the set."""
    lower, upper = bounds_of(point)
    active, members = ref.active_set("a-ascd", upper, lower), rule.members[: rule.state[LIST_SIZE]].tolist()
    assert pick in active
    assert rule.active_count(point) == len(active)
    assert set(active) <= set(members) or not members
    assert len(set(members)) == len(members)
    return len(active)
