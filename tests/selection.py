"""What the tests of the selection rules share: runs that can be watched, data sets, and exact probabilities."""

from __future__ import annotations

import numpy as np
import reference as ref
import scipy.sparse as sp
from problems import Case
from scipy.stats import chi2

import ascd
from ascd.engine.descent import active_count, descend
from ascd.engine.rules.largest import LIST_SIZE

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
        picks.append(assembly.rule.select(assembly.point, 0, rng))
        for array, before in zip(arrays, saved, strict=True):
            array[...] = before
    return picks


def arrays_of(part):
    """All arrays that a part holds, also in parts of its own: what a pick may change."""
    if isinstance(part, np.ndarray):
        return [part]
    return [array for field in part for array in arrays_of(field)] if isinstance(part, tuple) else []


def check_draw(rule, point, pick):
    """The pick belongs to a-ASCD's set, which is contained in the list.  Returns the size of the set."""
    lower, upper = bounds_of(point)
    active, members = ref.active_set("a-ascd", upper, lower), rule.members[: rule.state[LIST_SIZE]].tolist()
    assert pick in active
    assert rule.active_count(point) == len(active)
    assert set(active) <= set(members) or not members
    assert len(set(members)) == len(members)
    return len(active)
