"""The races with blocks: their gaps are true, and everybody who is here agrees on the minimum."""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import ascd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from race import block_tasks, cases, class_tasks, groups, peers, protocol, tasks
from race.peers.base import Answer, Failed, Peer, method_of
from race.peers.glmnet import GlmnetR

KINDS = (*block_tasks.KINDS, *class_tasks.KINDS)


def problem_of(task):
    if task.kind in class_tasks.KINDS:
        penalty = ascd.SparseGroup(task.l1, 0.0) if task.l1 else ascd.L21(0.0, ridge=task.l2)
        return ascd.Problem(task.X, task.y, "softmax", penalty)
    if task.kind in block_tasks.TASKS:
        return ascd.Problem(task.X, task.y, penalty=ascd.L21(task.l1))
    return ascd.Problem(task.X, task.y, penalty=ascd.SparseGroup(task.single, task.l1, task.groups))


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("kind", KINDS)
def test_gaps_and_objectives_are_those_of_the_library(kind, storage, request):
    request.getfixturevalue("compiled" if kind in block_tasks.TASKS and storage == "dense" else "compiled_sweeps")
    task = tasks.small(kind, storage)
    problem, rng = problem_of(task), np.random.default_rng(0)
    shape = (problem.n_features, problem.n_outputs)
    unit = problem.objective(np.zeros(shape))
    best = ascd.solve(problem, tol=1e-12)
    assert task.gap(Answer(best.x)) <= 1e-11
    for size in (0.0, 1e-3, 0.3):
        x = size * rng.standard_normal(shape) * (rng.random((shape[0], 1)) < 0.5)
        assert task.objective(Answer(x)) == pytest.approx(problem.objective(x), rel=1e-12)
        excess = (problem.objective(x) - best.objective) / unit
        assert task.gap(Answer(x)) >= excess - 1e-9
    assert task.gap(Answer(np.full(shape, np.nan))) == np.inf


@pytest.mark.parametrize("kind", [*block_tasks.KINDS, "multinomial l1"])
def test_the_strongest_penalty_gives_zero_and_less_does_not(interpreted, kind):
    task = tasks.small(kind, "dense")
    for factor, is_zero in ((1.0 + 1e-9, True), (0.98, False)):
        scaled = factor * task.part
        problem = problem_of(task)
        stronger = problem.replace(penalty=problem.penalty.scaled(scaled))
        assert (not ascd.solve(stronger, tol=1e-10).x.any()) == is_zero


@pytest.mark.parametrize("kind", KINDS)
def test_every_peer_that_is_here_agrees(kind):
    task = tasks.small(kind, "dense")
    here, _ = peers.installed("ascd,scikit-learn,celer")  # skglm takes half a minute to compile each
    able = {name: peer for name, peer in here.items() if kind in peer.kinds}
    assert "ascd" in able
    found = {}
    for name, peer in able.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = task.objective(peer.fit(task, 1e-9 if name != "ascd" else 1e-11))
    least = min(found.values())
    assert all(value - least <= 1e-7 * least for value in found.values()), found


def test_kinds_have_methods_and_groups():
    for kind in KINDS:
        assert kind in groups.GROUPS
        for library in peers.EVERYBODY:
            if kind in library.kinds and library is not GlmnetR:  # which has one way for all
                assert hasattr(library, method_of(kind)), (library, kind)


def test_classes_come_from_values_or_from_parts():
    assert class_tasks.classes_of(np.array([3.0, 1.0, 2.0, 1.0])).tolist() == [2, 0, 1, 0]
    assert np.bincount(class_tasks.classes_of(np.arange(100.0))).tolist() == [20] * 5
    assert tasks.make(cases.tiny(), "multinomial l2", 100.0).l2 == 0.01
    two = cases.tiny()
    two.y = two.labels
    assert np.bincount(tasks.make(two, "multinomial l1", 5.0).y).tolist() == [20] * 5


def test_a_storage_that_a_peer_does_not_take_leaves_it_in_the_other_races():
    class Picky(Peer):
        name, kinds = "picky", ("tasks 10",)

        def tasks(self, task, tol):
            if not isinstance(task.X, np.ndarray):
                raise Failed("dense only")
            return np.zeros((task.X.shape[1], 10))

    peer = Picky()
    _, unable = protocol.warm_up({"picky": peer}, ("tasks 10",))
    assert unable == {"picky for tasks 10, sparse": "dense only"}
    assert peer.kinds == ("tasks 10",)
    assert protocol.searched(peer, tasks.small("tasks 10", "sparse"), (1e-3,), 5.0) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a search can be stopped only where one can fork")
def test_by_the_processors_clock_it_is_work_that_is_limited(monkeypatch):
    class Busy(Peer):
        name, kinds, clock = "busy", ("tasks 10",), "processor"

        def tasks(self, task, tol):
            if tol < 2e-4:
                while True:
                    pass
            time.sleep(0.35)  # no work: more than the budget, and allowed
            return np.zeros((task.X.shape[1], 10))

    monkeypatch.setattr(protocol, "GRACE", 0.1)
    runs = protocol.searched(Busy(), tasks.small("tasks 10", "dense"), (1e-6,), 0.2)
    assert runs
    assert all(run.tol >= 2e-4 and run.seconds < 0.2 for run in runs)
