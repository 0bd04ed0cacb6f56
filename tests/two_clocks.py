"""Runs with two clocks for the tests, hard data, and who sleeps by which clock."""

from __future__ import annotations

import numpy as np
import reference as ref
from lockstep import assemble
from problems import Case
from selection import held_by, sparse_matrix

import ascd
from ascd.engine.rules.two_clocks import CLOCKS

RULES = {"u-ascd": ascd.UpperASCD, "a-ascd": ascd.HeuristicASCD}


def both(case, rule, patience, **options):
    """The run with two clocks and the scanning one."""
    oracle = ascd.Reference(patience)
    lazy, scan = (assemble(case.library("sparse"), RULES[rule](scan=each), oracle, **options) for each in (False, True))
    assert type(lazy.rule).__name__.startswith("TwoClock")
    assert type(scan.rule).__name__ == "LevelSet"
    return lazy, scan


def hard(kind, seed=12):
    """Data on which bounds tie, stand still, or differ by orders."""
    rng = np.random.default_rng(seed)
    A = sparse_matrix(rng, 25, 40)
    if kind == "zero columns":
        A[:, ::4] = 0.0
    elif kind == "duplicates":
        A[:, 20:] = A[:, :20] * (-1.0) ** np.arange(20)
    elif kind == "scales":
        A = A / np.linalg.norm(A, axis=0) * np.logspace(-3, 3, 40)[rng.permutation(40)]
    b = A @ (rng.standard_normal(40) / np.maximum(np.abs(A).sum(axis=0), 1e-9)) + 0.1 * rng.standard_normal(25)
    if kind == "l2":
        return Case(kind, A, b, "squared", ascd.L2(0.5), ref.L2(np.full(40, 0.5)))
    if kind == "box":
        low, high = np.full(40, -0.2), np.where(np.arange(40) % 3, 0.3, -0.2)
        return Case(kind, A, b, "squared", ascd.Box(low, high), ref.Box(low, high))
    strength = 0.1 * np.abs(A.T @ b).max() if kind != "scales" else 1e-3
    return Case(kind, A, b, "squared", ascd.L1(strength), ref.L1(np.full(40, strength)))


def sleeping(rule):
    """Those who sleep by each clock, with their keys."""
    if hasattr(rule, "queues"):
        queues = [rule.queues.queue_of(which) for which in range(CLOCKS)]
        return [dict(zip(each.order[: each.queued()].tolist(), each.key, strict=False)) for each in queues]
    return [held_by(rule.asleep.room_of(which)) for which in range(CLOCKS)]


def asleep_in(rule):
    return [j for each in sleeping(rule) for j in each]
