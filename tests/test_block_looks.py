"""What the block solver does not look at: blocks that surely rest, and balls that hold the gradients all the same."""

from __future__ import annotations

import numpy as np
import pytest

import ascd
from ascd.blocks import tuning
from ascd.blocks.bounds import GradientBounds
from ascd.problem.penalties.blocks import BlockNorm
from ascd.problem.penalties.resting import Resting

GROUPS = [3, 1, 4, 2, 5, 5]


def data(outputs=1, d=30, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, 20)) + rng.standard_normal((d, 1))
    return A, A[:, :3] @ rng.standard_normal((3, outputs)) + rng.standard_normal((d, outputs)), rng


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("group", "l1", "ridge"), [(2.0, 0.0, 0.0), (1.0, 0.7, 0.0), (0.0, 0.5, 0.0), (1.5, 0.2, 3.0)])
def test_gradients_within_the_resting_radius_leave_a_block_at_rest(group, l1, ridge, positive):
    rng, one = np.random.default_rng(1), np.ones(1)
    penalty = BlockNorm(group * one, l1 * one, ridge * one, positive)
    (radius,) = penalty.resting_radii()
    for _ in range(200):
        u = rng.standard_normal(rng.integers(1, 6)) * (rng.random() < rng.random(1))
        u[0] += rng.standard_normal()
        u *= radius * (1.0 - 1e-12) / np.linalg.norm(u)
        assert penalty.block_conjugate(u, 0.0, 0) == 0.0


def test_blocks_that_moved_or_may_are_candidates():
    problem = ascd.Problem(*data()[:2], penalty=ascd.GroupL2(2.0, groups=GROUPS))
    resting = Resting(problem.penalty, problem.ends)
    moved = np.array([True, False, False, False, False, False])
    length, radius = np.array([0.0, 1.9, 1.9, 0.0, 2.1, np.nan]), np.array([0.0, 0.05, 0.2, np.inf, 0.0, 0.0])
    assert resting.candidates(moved, length, radius).tolist() == [0, 2, 3, 4, 5]


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("intercept", [False, True])
def test_balls_hold_the_gradients_whatever_was_read_when(outputs, intercept):
    A, B, rng = data(outputs)
    problem = ascd.Problem(A, B, penalty=ascd.GroupL2(2.0, groups=GROUPS))
    bounds, every = GradientBounds(problem, intercept), np.arange(len(GROUPS))
    slope = rng.standard_normal(B.shape)
    for turn in range(40):
        slope = 0.9 * slope + 0.2 * rng.standard_normal(B.shape)
        slope -= slope.mean(axis=0) * intercept
        bounds.locate(slope)
        bounds.show(every)
        off = np.add.reduceat(((A.T @ slope - bounds.estimate) ** 2).sum(axis=1), problem.groups.starts[:-1])
        assert (np.sqrt(off) <= bounds.radius)[bounds.slot >= 0].all()
        shown = np.add.reduceat((bounds.estimate**2).sum(axis=1), problem.groups.starts[:-1])
        assert (np.sqrt(shown) <= bounds.length * (1.0 + 1e-12)).all()
        bounds.read(every if turn == 0 else np.flatnonzero(rng.random(6) < 0.5 * rng.random()), slope)
        assert bounds.count.tolist() == [int((bounds.slot == place).sum()) for place in range(tuning.BLOCK_SLOTS)]


def test_reads_of_few_blocks_do_not_read_others_again():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((20, 120)), rng.standard_normal((20, 2))
    bounds = GradientBounds(ascd.Problem(A, B, penalty=ascd.L21(1.0)), False)
    for part in range(3):  # as many blocks for each of the large places
        bounds.read(np.arange(120)[part * 40 :], rng.standard_normal(B.shape))
    before = bounds.reads
    for _ in range(5):
        bounds.read(np.array([7, 50, 90]), rng.standard_normal(B.shape))
    assert bounds.reads - before == 15


@pytest.mark.parametrize("outputs", [1, 4])
def test_models_of_columns_and_of_products_find_the_same_minimum(outputs, monkeypatch):
    A, B, _ = data(outputs, d=8)
    problem = ascd.Problem(A, B, penalty=ascd.GroupL2(3.0, groups=GROUPS))
    found = []
    for wide in (0, 1000):
        monkeypatch.setattr(tuning, "WIDE", wide)
        monkeypatch.setattr(tuning, "WIDE_SEVERAL", wide)
        found.append(ascd.solve(problem, tol=1e-12, intercept=True))
    assert all(one.converged for one in found)
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-11)


def test_a_limit_of_rounds_tells_the_gap_as_well_as_it_can():
    """Between rounds a gap far from the tolerance is not looked at twice; in the end it is."""
    problem = ascd.Problem(*data()[:2], penalty=ascd.GroupL2(2.0, groups=GROUPS))
    stopped = ascd.solve(problem, tol=1e-14, max_iter=1)
    best = ascd.solve(problem, tol=1e-12).objective
    assert stopped.objective - best <= stopped.gap <= stopped.objective
    assert ascd.solve(problem, tol=1e-14, max_iter=0).gap <= stopped.zero_objective * (1.0 + 1e-8)


def test_lists_and_arrays_of_columns_are_the_same_groups():
    A, b, _ = data()
    lists = [[0, 5, 7], [1], [2, 3, 4, 6], list(range(8, 20))]
    for other in ([np.array(part) for part in lists], [tuple(part) for part in lists]):
        one, two = (ascd.Problem(A, b, penalty=ascd.GroupL2(1.0, groups=given)) for given in (lists, other))
        assert one.groups.order.tolist() == two.groups.order.tolist()
        assert one.groups.starts.tolist() == two.groups.starts.tolist()


@pytest.mark.parametrize("wrong", [[[0, 1], [1]], [[0], []], [[0, 2], [1]], [[0, 1.0]], [[True, False]], [[0]]])
def test_lists_that_are_no_partition_are_refused(wrong):
    with pytest.raises((TypeError, ValueError), match="group"):
        ascd.Problem(np.eye(2), [1.0, 2.0], penalty=ascd.GroupL2(1.0, groups=wrong))
