"""The default of ``minimize``: the rule "working-set" with the oracle "reference"."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lockstep import assemble
from pairs import in_pairs
from penalty_table import BOUNDED_BELOW
from reference.working_set import Sweeps as NaiveSweeps
from selection import LOSSES, bounds_of, regression, watch
from solving import make_case

import ascd
from ascd.engine.tuning import BOUNDS_COST, STEEP_BUCKETS
from ascd.matrix.costs import VISIT
from ascd.matrix.dense import entry_cost

# ------------------------------------------------------------------------------------------- oracle


# ------------------------------------------------------------------------------------------- rule


def naive(assembly):
    """The transcription, beside the library's oracle."""
    point, oracle = assembly.point, assembly.oracle
    matrix, n = point.problem.matrix, point.x.size
    prices = [entry_cost(matrix) * (matrix.stop(j) - matrix.start(j)) + VISIT for j in range(n)]
    scan = BOUNDS_COST * n + point.problem.sample.target.size
    has_reference, looks = hasattr(oracle, "refresh"), []

    def refresh():
        if has_reference:
            oracle.refresh(point)

    def measure():
        if not looks and point.intervals.radius_at(0) == 0.0:
            refresh()
        looks.append(1)
        if has_reference:
            oracle.measure(point)

    lipschitz = point.problem.lipschitz
    return NaiveSweeps(prices, scan, 0.7, STEEP_BUCKETS, lipschitz, lambda: list(bounds_of(point)[1]), measure, refresh)


@in_pairs(oracle=["reference", "norm", "exact"], init=["gradient", "none"], storage=["dense", "sparse"])
def test_picks_are_those_of_the_transcription(oracle, init, storage):
    first = 2 * ["reference", "norm", "exact"].index(oracle)
    for seed in (first, first + 1):
        case = regression(25, 60, share=(0.3, 0.05)[seed % 2], seed=seed)
        ours, theirs = (assemble(case.library(storage), "working-set", oracle, init=init, seed=seed) for _ in range(2))
        picks = watch(ours, 400)
        transcription = naive(theirs)
        found = watch(with_rule(theirs, transcription), 400)
        assert found == picks
        np.testing.assert_array_equal(ours.point.x, theirs.point.x)


class Follow:
    """A plain object with the rule's method."""

    def __init__(self, transcription):
        self.transcription = transcription

    def select(self, point, t, rng):
        return self.transcription.select(point.x, t, rng)

    def active_count(self, point):
        return 1


def with_rule(assembly, transcription):
    assembly.rule = Follow(transcription)
    return assembly


# ------------------------------------------------------------------------------------------- default


@pytest.mark.parametrize(("turn", "penalty"), [*enumerate(BOUNDED_BELOW)])
def test_the_default_finds_the_minimum(turn, penalty):
    loss, storage = LOSSES[turn % 4], ("dense", "sparse")[turn % 3 % 2]
    problem = make_case(loss, penalty, seed=5).problem(storage)
    solution = ascd.minimize(problem, tol=1e-7)
    assert solution.status.is_answer or solution.n_iter == 1000 * problem.n_features
    best = ascd.solve(problem, tol=1e-10).objective
    assert solution.objective == pytest.approx(best, rel=1e-6, abs=1e-8)
    assert solution.objective - best <= solution.gap + 1e-9 * abs(best)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (ascd.WorkingSetSweeps(price=0.0), "WorkingSetSweeps price"),
        (ascd.WorkingSetSweeps(share=math.nan), "WorkingSetSweeps share"),
    ],
)
def test_numbers_that_make_no_sense(rule, words):
    with pytest.raises(ValueError, match=words):
        ascd.minimize(regression(15, 20).library(), rule)
