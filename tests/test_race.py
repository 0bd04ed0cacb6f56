"""The benchmark of the solver: its gaps are true, its protocol is fair, and it runs from end to end."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import enet_path

import ascd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import solver
from race import bounds, cases, gaps, peers, protocol, report, tasks
from race.peers.base import Answer, Peer
from race.peers.glmnet import GlmnetPython


def design(storage, rng, shape=(30, 20)):
    A = np.asfortranarray(rng.standard_normal(shape))
    return A if storage == "dense" else sp.csc_matrix(np.where(np.abs(A) > 0.7, A, 0.0))


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize(("loss", "l2"), [("squared", 0.0), ("squared", 0.7), ("logistic", 0.0), ("logistic", 0.7)])
def test_gaps_are_those_of_the_library(interpreted, storage, loss, l2):
    rng = np.random.default_rng(3)
    X, y = design(storage, rng), rng.standard_normal(30)
    y = np.sign(y) if loss == "logistic" else y
    l1 = 0.3 * tasks.strongest(X, y, loss)
    problem = ascd.Problem(X, y, loss=loss, penalty=ascd.L1L2(l1=l1, l2=l2) if l2 else ascd.L1(l1))
    for size in (0.0, 1e-3, 1.0):
        x = size * rng.standard_normal(20) * (rng.random(20) < 0.5)
        unit = gaps.zero_objective(loss, y)
        assert unit == pytest.approx(problem.objective(np.zeros(20)), rel=1e-12)
        assert gaps.objective(X, y, loss, l1, l2, x) == pytest.approx(problem.objective(x), rel=1e-12)
        known = min(gaps.relative_gap(X, y, loss, l1, l2, x) * unit, problem.objective(x))  # 0 is a dual point too
        assert problem.gap(x) == pytest.approx(known, rel=2e-9)


@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_the_gap_vanishes_at_a_minimum_found_by_hand_and_bounds_elsewhere(l2):
    X, y, l1 = np.diag([1.0, 2.0, 3.0]), np.array([3.0, 0.2, -4.0]), 1.0
    product = X.T @ y
    best = np.sign(product) * np.maximum(0.0, np.abs(product) - l1) / (np.diag(X) ** 2 + l2)
    assert np.count_nonzero(best) == 2
    unit, least = gaps.zero_objective("squared", y), gaps.objective(X, y, "squared", l1, l2, best)
    assert gaps.relative_gap(X, y, "squared", l1, l2, best) < 1e-15
    for x in (np.zeros(3), 1.1 * best, best + 0.01, -best):
        excess = gaps.objective(X, y, "squared", l1, l2, x) - least
        assert 0.0 < excess <= gaps.relative_gap(X, y, "squared", l1, l2, x) * unit


def test_the_logistic_gap_vanishes_at_a_minimum_found_by_hand():
    """One sample, one feature: σ(−x) = l1."""
    X, y, l1 = np.ones((1, 1)), np.ones(1), 0.25
    best = np.array([math.log(1.0 / l1 - 1.0)])
    assert gaps.relative_gap(X, y, "logistic", l1, 0.0, best) < 1e-15
    assert gaps.relative_gap(X, y, "logistic", l1, 0.0, best + 0.1) > 1e-4
    assert tasks.strongest(X, y, "logistic") == 0.5


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_gaps_of_paths_and_of_fits_with_intercept_are_the_same_gap(storage):
    rng = np.random.default_rng(4)
    X, y, coefs = design(storage, rng), 3.0 + rng.standard_normal(30), rng.standard_normal((20, 3))
    strengths = np.array([5.0, 3.0, 1.0])
    single = [gaps.relative_gap(X, y, "squared", l1, 0.0, coefs[:, t]) for t, l1 in enumerate(strengths)]
    np.testing.assert_allclose(gaps.path_gaps(X, y, strengths, coefs), single, rtol=1e-12)
    assert (gaps.path_gaps(X, y, strengths, coefs[:, :2]) == np.inf).all()  # a path that ended early
    dense = X.toarray() if storage == "sparse" else X
    centred = gaps.relative_gap(dense - dense.mean(axis=0), y - y.mean(), "squared", 2.0, 0.0, coefs[:, 0])
    assert gaps.centred_gap(X, y, 2.0, coefs[:, 0]) == pytest.approx(centred, rel=1e-10)


def test_a_coefficient_that_is_not_finite_has_no_gap():
    assert gaps.relative_gap(np.eye(2), np.ones(2), "squared", 0.1, 0.0, np.array([np.nan, 0.0])) == math.inf


def test_the_lower_bound_of_the_svm_meets_a_minimum_found_by_hand():
    X, y = np.array([[2.0, 0.0], [-2.0, 0.0]]), np.array([1.0, -1.0])
    alpha = bounds.dual_point(X, y, 1.0)
    assert gaps.svm_primal(X, y, 1.0, np.array([0.5, 0.0])) == 0.125
    assert gaps.svm_dual(X, y, 1.0, alpha) == pytest.approx(0.125, abs=1e-12)
    assert gaps.svm_dual(X, y, 1.0, np.array([5.0, 5.0])) <= 0.125  # infeasible points are clipped


def test_the_lower_bound_of_the_svm_is_tight():
    task = tasks.make(cases.tiny(), "svm", 1.0)
    alpha = bounds.dual_point(task.X, task.y, task.C)
    assert task.gap(Answer(task.X.T @ (task.y * alpha))) < 1e-8


class Blurred(Peer):
    """Knows the minimum of a diagonal problem and misses it by its tolerance."""

    name = "blurred"
    kinds = ("lasso",)
    floor = 1e-14

    def __init__(self, first, slow=0.0):
        self.first, self.slow = first, slow

    def start(self, task, target):
        return self.first

    def lasso(self, task, tol):
        time.sleep(self.slow)
        product = task.X.T @ task.y
        best = np.sign(product) * np.maximum(0.0, np.abs(product) - task.l1)
        return best * (1.0 + tol)


@pytest.fixture
def diagonal():
    y = np.array([3.0, 0.2, -4.0])
    return tasks.make(cases.Case("diagonal", np.eye(3), y, np.sign(y)), "lasso", 4.0)


@pytest.mark.parametrize("first", [1e-1, 1e-9])
def test_the_loosest_tolerance_that_reaches_the_gap_counts_wherever_the_search_begins(diagonal, first):
    peer = Blurred(first)
    runs = protocol.searched(peer, diagonal, (1e-4, 1e-8), 5.0)
    for target in (1e-4, 1e-8):
        found = protocol.first_success(runs, target)
        assert found.gap <= target
        assert protocol.run(peer, diagonal, found.tol * peer.factor).gap > target


def test_a_gap_that_is_never_reached_is_reported_with_the_best_one(diagonal):
    peer = Blurred(1e-1)
    peer.floor = 1e-3
    results, runs = protocol.race({"blurred": peer}, diagonal, (1e-12,), repeats=1, budget=5.0)
    result = results[1e-12, 1]["blurred"]
    assert result.seconds is None
    assert result.gap == min(run["gap"] for run in runs["blurred"]) > 1e-12


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a search can be stopped only where one can fork")
def test_a_fit_beyond_the_budget_is_stopped(diagonal, monkeypatch):
    monkeypatch.setattr(protocol, "GRACE", 0.2)
    began = time.perf_counter()
    results, _ = protocol.race({"slow": Blurred(1e-1, slow=60.0)}, diagonal, (1e-6,), repeats=1, budget=0.1)
    assert results[1e-6, 1]["slow"].seconds is None
    assert time.perf_counter() - began < 30.0


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed")
def test_an_r_process_that_dies_costs_one_race_only():
    here, absent = peers.installed("glmnet (R)")
    if absent:
        pytest.skip(f"R's glmnet: {absent}")
    peer, task = here["glmnet (R)"], tasks.small("lasso", "dense")
    try:
        assert task.gap(peer.fit(task, 1e-20)) < 1e-8
        peer.process.kill()
        assert protocol.searched(peer, task, (1e-6,), 5.0) == []
        assert protocol.first_success(protocol.searched(peer, task, (1e-6,), 5.0), 1e-6) is not None
    finally:
        peer.close()


def record(ours, **others):
    times = {"ascd": ours, **others}
    found = {name: {"seconds": value, "gap": 1e-7, "nonzero": 3, "reads": None} for name, value in times.items()}
    found["ascd"]["reads"] = 60
    what = {"group": "lasso", "case": "c", "label": "c λmax/10", "part": 10.0, "target": 1e-6, "threads": 1}
    return {**what, "features": 30, "peers": found, "runs": {}}


def test_ratios_are_ours_over_the_best_peer_that_got_there():
    assert report.ratio(record(1.0, celer=2.0, skglm=4.0)) == 0.5
    assert report.ratio(record(1.0, celer=None, skglm=4.0)) == 0.25
    assert report.ratio(record(None, celer=2.0)) == math.inf
    assert report.ratio(record(1.0, celer=None)) is None
    assert report.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    rows = report.summary([record(1.0, celer=4.0), record(4.0, celer=4.0), record(1.0, celer=None)])
    assert rows == [["Lasso, one λ", "1e-06", "1", "2", "0.500", "0.500", "1.00 (c λmax/10)", "0.6", "0.33"]]
    assert "alone" in report.cells(record(1.0, celer=None), ["ascd", "celer"])
    assert report.cells(record(1.0, celer=2.0), ["ascd", "celer"])[-1] == "2.00"


@pytest.mark.parametrize("kind", ["lasso", "enet", "path"])
def test_python_glmnet_is_asked_in_its_own_terms(kind, monkeypatch):
    """It has no wheel; scikit-learn's path, which divides losses by n as well, stands in for it."""

    class ElasticNet:
        def __init__(self, alpha, lambda_path, tol, **settings):
            self.ratio, self.alphas, self.tol, self.settings = alpha, lambda_path, tol, settings

        def fit(self, X, y):
            assert not self.settings["standardize"]
            assert not self.settings["fit_intercept"]
            path = enet_path(X, y, l1_ratio=self.ratio, alphas=self.alphas, tol=self.tol, max_iter=100_000)
            self.coef_path_ = path[1]
            return self

    monkeypatch.setitem(sys.modules, "glmnet", SimpleNamespace(ElasticNet=ElasticNet))
    task = tasks.small(kind, "dense")
    assert task.gap(GlmnetPython().fit(task, 1e-12)) < 1e-8


def test_what_is_not_installed_is_named_and_left_out(monkeypatch):
    monkeypatch.setattr("race.peers.glmnet.shutil.which", lambda name: None)
    here, absent = peers.installed("glmnet,scikit-learn")
    assert "scikit-learn" in here
    assert absent["glmnet (R)"] == "Rscript is not installed"
    assert absent.keys() <= {"glmnet (R)", "glmnet (Python)"}


def test_a_peer_that_fails_is_left_out_of_that_kind(diagonal):
    class Broken(Blurred):
        def lasso(self, task, tol):
            raise TypeError("no such argument")

    peer = Broken(1e-1)
    spent, unable = protocol.warm_up({"broken": peer}, ("lasso",))
    assert spent == {"broken": 0.0}
    assert unable == {"broken for lasso, dense": "TypeError: no such argument"}
    assert peer.kinds == ()


def test_the_benchmark_runs_from_end_to_end(tmp_path, capsys):
    out = tmp_path / "results" / "solver.json"
    choice = ["--only", "lasso", "--case", "tiny", "--peers", "scikit-learn", "--threads", "one"]
    given = [*choice, "--repeats", "1", "--budget", "10"]
    solver.main([*given, "--json", str(out)])
    printed = capsys.readouterr().out
    assert "Lasso, one λ" in printed
    assert "tiny λmax/20" in printed
    results = json.loads(out.read_text())
    records = results["tables"]["races"]
    assert len(records) == 3 * 2
    assert results["runs"]["1"]["command"] == "python benchmarks/solver.py " + " ".join(given)
    for race in records:
        found = race["peers"]["scikit-learn"]
        assert found["seconds"] > 0.0
        assert found["gap"] <= race["target"]
        assert found["repeats"] >= 1
    pictures = importlib.util.find_spec("matplotlib") is not None
    assert (out.parent / "solver_lasso.png").exists() == pictures
    solver.main(["--tables", str(out)])
    assert "| tiny λmax/20 | 1e-06 | 1 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "allowed"), [(["--only", "lassso"], "lasso, path, enet"), (["--case", "nowhere"], "rcv1_sample, news20")]
)
def test_options_that_name_nothing_are_refused(capsys, wrong, allowed):
    with pytest.raises(SystemExit):
        solver.arguments(wrong)
    message = capsys.readouterr().err
    assert wrong[1] in message
    assert allowed in message


def test_cases_come_as_they_are_described(tmp_path):
    rng = np.random.default_rng(5)
    raw = sp.csc_matrix(rng.random((12, 5)))
    for name, y in (("riboflavin", rng.random(12)), ("news20", np.arange(12) % 4), ("a9a", np.tile([-1.0, 1.0], 6))):
        sp.save_npz(tmp_path / f"{name}.npz", raw)
        with np.load(tmp_path / f"{name}.npz") as stored:
            content = dict(stored)
        np.savez(tmp_path / f"{name}.npz", **content, y=y)
    names = ("riboflavin", "riboflavin (raw)", "news20", "a9a")
    dense, raw_dense, text, binary = (cases.get(name, tmp_path) for name in names)
    assert dense.X.flags.f_contiguous
    np.testing.assert_allclose(dense.X.mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_array_equal(raw_dense.X, raw.toarray())
    assert text.storage == "sparse"
    assert abs(text.y.mean()) < 1e-14
    assert text.labels.sum() == 3 - 9
    np.testing.assert_array_equal(binary.y, binary.labels)
    assert cases.get("w8a", tmp_path) is None
