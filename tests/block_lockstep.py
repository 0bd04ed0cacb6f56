"""Runs of the engine on blocks that write down every step, and their replay by ``reference.blocks``."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from lockstep import BOUNDED_RULES, close
from reference import blocks as naive
from scipy import sparse

import ascd
from ascd.blocks.engine.descent import descend_blocks
from ascd.blocks.engine.run import assemble_blocks
from ascd.engine.rules.scan import fill_bounds

RNG = np.random.default_rng(7)
ROWS = 10
A = np.where(RNG.random((ROWS, 9)) < 0.4, 0.0, RNG.standard_normal((ROWS, 9)))
Y = A[:, [0, 3]] @ RNG.standard_normal((2, 3)) + 0.3 * RNG.standard_normal((ROWS, 3))
WEIGHT = RNG.integers(0, 3, ROWS) * 0.7 + 0.1
LABELS = np.argmax(Y + 0.5 * RNG.standard_normal(Y.shape), axis=1)
GROUPS = [[4, 0, 7], [2], [1, 8], [3, 5, 6]]
LAM = np.array([1.0, 0.5, 0.8, 1.2])


@dataclass
class Case:
    """A problem for the library and for the reference."""

    target: np.ndarray
    loss: str = "squared"
    weight: Any = None
    l1: float = 0.0
    mu: float = 0.0
    groups: Any = None

    @property
    def lists(self):
        return self.groups or GROUPS

    def library(self, storage="dense"):
        data = A if storage == "dense" else sparse.csc_array(A)
        weights = LAM if len(self.lists) == 4 else None
        penalty = ascd.SparseGroup(self.l1, 1.0, self.lists, weights, ridge=self.mu)
        return ascd.BlockProblem(data, self.target, self.loss, penalty, sample_weight=self.weight)

    def reference(self):
        lam = LAM if len(self.lists) == 4 else 1.0
        return naive.BlockProblem(A, self.target, self.lists, self.loss, self.weight, self.l1, lam, self.mu)


CASES = {
    "group": Case(Y[:, 0]),
    "several targets": Case(Y, l1=0.1, mu=0.3),
    "weighted": Case(Y, weight=WEIGHT),
    "rows": Case(Y, groups=[[j] for j in range(9)]),
    "logistic": Case(np.sign(Y[:, 0]), "logistic", WEIGHT),
    "softmax": Case(LABELS, "softmax", WEIGHT, l1=0.05),
    "softmax rows": Case(LABELS, "softmax", groups=[[j] for j in range(9)]),
}


class BlockRecorder(NamedTuple):
    """A rule that writes down the state before each of its picks, and the pick."""

    rule: Any
    picks: np.ndarray
    x: np.ndarray
    gradient: np.ndarray
    radius: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def select(self, point: Any, t: int, rng: Any) -> int:
        self.x[t] = point.coefficients
        self.gradient[t] = point.gradient
        for b in range(point.x.size):
            self.radius[t, b] = point.intervals.radius_at(b)
        fill_bounds(point.intervals, self.lower[t], self.upper[t])
        self.picks[t] = self.rule.select(point, t, rng)
        return self.picks[t]

    def active_count(self, point: Any) -> int:
        return self.rule.active_count(point)


class NoRule(NamedTuple):
    """Looks, and takes no step."""

    unit: float = 1.0

    def select(self, point: Any, t: int, rng: Any) -> int:
        return 0


@dataclass
class BlockHistory:
    """``picks[t]`` leads from state t to state t + 1; states are in the user's order of the columns."""

    picks: np.ndarray
    x: np.ndarray
    gradient: np.ndarray
    radius: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rng: np.random.Generator
    assembly: Any


def record(problem, n_iter, kernel=descend_blocks.py_func, **how):
    """Descend by ``n_iter`` steps and return every state on the way."""
    made = assemble_blocks(problem, **how)
    count, size = problem.groups.count, made.point.coefficients.size
    arrays = [np.empty((n_iter + 1, width)) for width in (size, size, count, count, count)]
    recorder = BlockRecorder(made.rule, np.empty(n_iter, dtype=np.int64), *arrays)
    rng = copy.deepcopy(made.rng)
    kernel(made.point, recorder, made.oracle, made.step, made.unread, 0, n_iter, made.rng)
    recorder._replace(rule=NoRule(), picks=np.empty(n_iter + 1, dtype=np.int64)).select(made.point, n_iter, made.rng)
    shape, order = (n_iter + 1, problem.n_features, problem.n_outputs), np.argsort(problem.groups.order)
    x, gradient = (array.reshape(shape)[:, order] for array in arrays[:2])
    return BlockHistory(recorder.picks, x, gradient, *arrays[2:], rng, made)


def scale_of(problem, X):
    """The size of the terms that gradients are sums of."""
    image = np.abs(problem.A) @ np.abs(X) + 1.0 + np.abs(problem.y).max()
    return problem.M * np.linalg.norm(problem.A) * np.linalg.norm(problem.s[:, None] * image)


def replay(case, history, rule, oracle, steepness, step):
    """Check every recorded step against the reference."""
    problem, rng = case.reference(), copy.deepcopy(history.rng)
    loose = 1e-6 if steepness.endswith("q") or step == "line-search" else 1e-9
    for t, i in enumerate(history.picks):
        X, estimate, radius = history.x[t].copy(), history.gradient[t].copy(), history.radius[t].copy()
        allowed = loose * scale_of(problem, history.x[t + 1])
        bounds = history.lower[t], history.upper[t]
        for found, expected in zip(bounds, naive.block_bounds(problem, steepness, X, estimate, radius), strict=True):
            assert close(found, expected, allowed), (t, found, expected)
        assert i == naive.select_block(problem, rule, t, X, bounds, steepness, rng), (t, i)
        if rule == "steepest":
            estimate = np.where(np.repeat(radius > 0.0, lengths(problem))[np.argsort(flat(problem))][:, None],
                                problem.gradient(X), estimate)  # fmt: skip
            radius = np.zeros(radius.size)
        g = problem.groups[i]
        new, own, error = naive.take_block_step(problem, step, X, i)
        assert close(history.x[t + 1][g], new, allowed / problem.Lb[i]), (t, i)
        D = history.x[t + 1][g] - X[g]
        if D.any():
            estimate, radius = naive.move_balls(
                problem, estimate, radius, i, D, *oracle(problem, i, D, rng)
            )  # fmt: skip
        X[g], estimate[g], radius[i] = history.x[t + 1][g], own, error
        assert np.array_equal(history.x[t + 1], X), (t, i)
        assert close(history.gradient[t + 1], estimate, allowed), (t, i)
        assert close(history.radius[t + 1], radius, allowed), (t, i)


def lengths(problem):
    return [len(g) for g in problem.groups]


def flat(problem):
    return [j for g in problem.groups for j in g]


RULES = ("cyclic", "uniform", "importance", "steepest", *BOUNDED_RULES)
ORACLES = {
    "exact": (lambda made: naive.oracle_exact(), "exact"),
    "norm": (lambda made: naive.oracle_norm(), "norm"),
    "random": (lambda made: naive.oracle_random(), "random"),
    "printed": (lambda made: naive.oracle_random(True), ascd.Random(printed=True)),
    "simulated": (lambda made: naive.oracle_simulated(0.2), ascd.Simulated(0.2)),
    "sketch": (lambda made: naive.oracle_sketch(made.images, made.epsilon), "sketch"),
    "blind": (lambda made: naive.oracle_blind(naive.oracle_exact(), [1, 3]), ascd.Blind([1, 3], "exact")),
}
