"""The benchmarks: their gaps are true, their protocol is fair, and published tables are what the results files say."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import ascd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import bench_tables
import solver
from common import ledger as ledgers
from common.ledger import Ledger, read
from race import block_tasks, cases, class_tasks, gaps, groups, peers, protocol, report, tasks
from race.peers.base import Answer, Failed, Peer, method_of
from race.peers.glmnet import GlmnetR

BLOCKS = (*block_tasks.KINDS, *class_tasks.KINDS)


# ---- gaps


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gaps_are_those_of_the_library(interpreted, storage, loss, l2):
    rng = np.random.default_rng(3)
    X, y = np.asfortranarray(rng.standard_normal((30, 20))), rng.standard_normal(30)
    X = X if storage == "dense" else sp.csc_matrix(np.where(np.abs(X) > 0.7, X, 0.0))
    y = np.sign(y) if loss == "logistic" else y
    l1, unit = 0.3 * tasks.strongest(X, y, loss), gaps.zero_objective(loss, y)
    problem = ascd.Problem(X, y, loss=loss, penalty=ascd.L1L2(l1=l1, l2=l2) if l2 else ascd.L1(l1))
    coefs = np.outer(rng.standard_normal(20) * (rng.random(20) < 0.5), (0.0, 1e-3, 1.0))
    for x in coefs.T:
        assert gaps.objective(X, y, loss, l1, l2, x) == pytest.approx(problem.objective(x), rel=1e-12)
        known = min(gaps.relative_gap(X, y, loss, l1, l2, x) * unit, problem.objective(x))  # 0 is a dual point too
        assert problem.gap(x) == pytest.approx(known, rel=2e-9)
    assert gaps.relative_gap(X, y, loss, l1, l2, np.full(20, np.nan)) == math.inf
    if loss == "squared" and l2 == 0.0:
        single = [gaps.relative_gap(X, y, loss, l1, 0.0, x) for x in coefs.T]
        np.testing.assert_allclose(gaps.path_gaps(X, y, np.full(3, l1), coefs), single, rtol=1e-12)
        assert (gaps.path_gaps(X, y, np.full(3, l1), coefs[:, :2]) == np.inf).all(), "a path that ended early"


def test_the_lower_bound_of_the_svm_is_tight(interpreted):
    X, y = np.array([[2.0, 0.0], [-2.0, 0.0]]), np.array([1.0, -1.0])
    task = tasks.make(cases.Case("by hand", X, y, y), "svm", 1.0)
    assert task.lower == pytest.approx(0.125, abs=1e-9)
    assert gaps.svm_primal(X, y, 1.0, np.array([0.5, 0.0])) == 0.125
    assert task.gap(Answer(np.array([0.5, 0.0]))) <= 1e-9
    assert gaps.svm_dual(X, y, 1.0, np.array([5.0, 5.0])) <= 0.125, "infeasible points are clipped"


def problem_of(task):
    if task.kind in class_tasks.KINDS:
        penalty = ascd.SparseGroup(task.l1, 0.0) if task.l1 else ascd.L21(0.0, ridge=task.l2)
        return ascd.Problem(task.X, task.y, "softmax", penalty)
    if task.kind in block_tasks.TASKS:
        return ascd.Problem(task.X, task.y, penalty=ascd.L21(task.l1))
    return ascd.Problem(task.X, task.y, penalty=ascd.SparseGroup(task.single, task.l1, task.groups))


@pytest.mark.usefixtures("compiled_sweeps")
@pytest.mark.parametrize("kind", BLOCKS)
def test_gaps_of_blocks_are_true_and_peers_find_the_same_minimum(kind):
    task = tasks.small(kind, "sparse" if kind in block_tasks.SPARSE else "dense")
    problem, rng = problem_of(task), np.random.default_rng(0)
    shape, best = (problem.n_features, problem.n_outputs), ascd.solve(problem, tol=1e-12)
    unit = problem.objective(np.zeros(shape))
    assert task.gap(Answer(best.x)) <= 1e-11
    for size in (0.0, 1e-3, 0.3):
        x = size * rng.standard_normal(shape) * (rng.random((shape[0], 1)) < 0.5)
        assert task.objective(Answer(x)) == pytest.approx(problem.objective(x), rel=1e-12)
        assert task.gap(Answer(x)) >= (problem.objective(x) - best.objective) / unit - 1e-9
    here, _ = peers.installed("scikit-learn,celer")  # skglm compiles for half a minute
    for name, peer in here.items():
        if kind in peer.kinds:
            with protocol.quiet():
                found = task.objective(peer.fit(task, 1e-9))
            assert found == pytest.approx(best.objective, rel=1e-7), name


# ---- the protocol


class Blurred(Peer):
    """Knows the minimum of a diagonal problem and misses it by its tolerance."""

    name, kinds, floor = "blurred", ("lasso",), 1e-14

    def __init__(self, first, slow=0.0):
        self.first, self.slow = first, slow

    def start(self, task, target):
        return self.first

    def lasso(self, task, tol):
        time.sleep(self.slow)
        product = task.X.T @ task.y
        return np.sign(product) * np.maximum(0.0, np.abs(product) - task.l1) * (1.0 + tol)


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a search can be stopped only where one can fork")
@pytest.mark.parametrize("clock", ["wall", "processor"])
def test_a_fit_beyond_the_budget_is_stopped(diagonal, monkeypatch, clock):
    class Slow(Blurred):
        def lasso(self, task, tol):
            while clock == "processor":
                pass
            time.sleep(60.0)

    peer = Slow(1e-1)
    peer.clock = clock
    monkeypatch.setattr(protocol, "GRACE", 0.1)
    began = time.perf_counter()
    assert protocol.race({"slow": peer}, diagonal, (1e-6,), repeats=1, budget=0.1)[1e-6, 1]["slow"].seconds is None
    assert time.perf_counter() - began < 30.0


def test_a_peer_that_fails_is_left_out_of_what_it_cannot_do(diagonal):
    class Broken(Blurred):
        def lasso(self, task, tol):
            raise TypeError("no such argument")

    class Picky(Blurred):
        def lasso(self, task, tol):
            if not isinstance(task.X, np.ndarray):
                raise Failed("dense only")
            return np.zeros(task.X.shape[1])

    broken, picky = Broken(1e-1), Picky(1e-1)
    spent, unable = protocol.warm_up({"broken": broken, "picky": picky}, ("lasso",))
    assert spent["broken"] == 0.0
    wrong = {"broken for lasso, dense": "TypeError: no such argument", "picky for lasso, sparse": "dense only"}
    assert unable == wrong
    assert (broken.kinds, picky.kinds) == ((), ("lasso",))


def test_every_kind_has_a_method_of_its_peers_and_a_group(monkeypatch):
    for kind in BLOCKS:
        assert kind in groups.GROUPS
        for library in peers.EVERYBODY:
            if kind in library.kinds and library is not GlmnetR:  # which has one way for all
                assert hasattr(library, method_of(kind)), (library, kind)
    monkeypatch.setattr("race.peers.glmnet.shutil.which", lambda name: None)
    here, absent = peers.installed("glmnet,scikit-learn")
    assert "scikit-learn" in here
    assert absent["glmnet (R)"] == "Rscript is not installed"


# ---- reports and tables


def record(ours, **others):
    found = {
        name: {"seconds": value, "gap": 1e-7, "nonzero": 3, "reads": 60 if name == "ascd" else None}
        for name, value in {"ascd": ours, **others}.items()
    }
    what = {"group": "lasso", "case": "c", "label": "c λmax/10", "part": 10.0, "target": 1e-6, "threads": 1}
    return {**what, "features": 30, "peers": found}


def test_ratios_are_ours_over_the_best_peer_that_got_there():
    assert report.ratio(record(1.0, celer=2.0, skglm=4.0)) == 0.5
    assert report.ratio(record(1.0, celer=None, skglm=4.0)) == 0.25
    assert report.ratio(record(None, celer=2.0)) == math.inf
    assert report.ratio(record(1.0, celer=None)) is None
    rows = report.summary([record(1.0, celer=4.0), record(4.0, celer=4.0), record(1.0, celer=None)])
    assert rows == [["Lasso, one λ", "1e-06", "1", "2", "0.500", "0.500", "1.00 (c λmax/10)", "0.6", "0.33"]]
    assert "alone" in report.cells(record(1.0, celer=None), ["ascd", "celer"])


def test_the_solvers_benchmark_runs_from_end_to_end(tmp_path, capsys):
    out = tmp_path / "results" / "solver.json"
    choice = ["--only", "lasso", "--case", "tiny", "--peers", "scikit-learn", "--threads", "one"]
    given = [*choice, "--repeats", "1", "--budget", "10"]
    solver.main([*given, "--json", str(out)])
    assert "tiny λmax/20" in capsys.readouterr().out
    results = json.loads(out.read_text())
    assert len(results["tables"]["races"]) == 3 * 2
    assert results["runs"]["1"]["command"] == "python benchmarks/solver.py " + " ".join(given)
    for race in results["tables"]["races"]:
        found = race["peers"]["scikit-learn"]
        assert found["seconds"] > 0.0
        assert found["gap"] <= race["target"]
    solver.main(["--tables", str(out)])
    assert "| tiny λmax/20 | 1e-06 | 1 |" in capsys.readouterr().out


@pytest.mark.parametrize("page", bench_tables.PAGES, ids=lambda page: page.name)
def test_published_tables_are_what_the_results_files_say(page):
    text = page.read_text(encoding="utf-8")
    assert bench_tables.BLOCK.search(text)
    assert bench_tables.filled(text) == text, "run `make bench-tables`"
    with pytest.raises(ValueError, match=r"no table named tinny: there are short, solver-summary"):
        bench_tables.filled("<!-- table: tinny -->\n<!-- end of table -->")


def test_published_results_name_no_place_and_every_row_its_run():
    for name in ("engine", "selection", "solver"):
        content = read(ledgers.RESULTS / f"{name}.json")
        assert all(row["run"] in content["runs"] for rows in content["tables"].values() for row in rows)
        for run in content["runs"].values():
            assert run["command"].startswith(f"python benchmarks/{name}.py")
            assert {"date", "machine", "versions"} <= set(run)
            assert set(run["machine"]) == {"processor", "architecture", "cores"}
            assert "/" not in run["command"].removeprefix("python benchmarks/")


def test_a_later_run_replaces_only_its_own_rows(tmp_path):
    path = tmp_path / "results" / "some.json"
    first = Ledger(path, "some.py", ["--quick"])
    first.put("costs", ("rule", "n"), [{"rule": "a", "n": 1, "seconds": 1.0}, {"rule": "a", "n": 2, "seconds": 2.0}])
    second = Ledger(path, "some.py", ["--only", "costs", "--data", "/home/me", "--json=mine.json"], {"peer": "1.0"})
    second.put("costs", ("rule", "n"), [{"rule": "a", "n": 2, "seconds": math.inf}])
    content = read(path)
    assert content["tables"]["costs"] == [
        {"rule": "a", "n": 1, "seconds": 1.0, "run": "1"},
        {"rule": "a", "n": 2, "seconds": None, "run": "2"},
    ]
    assert content["runs"]["2"]["command"] == "python benchmarks/some.py --only costs"
    assert content["runs"]["2"]["versions"]["peer"] == "1.0"
    Ledger(path, "some.py", []).put("costs", ("rule", "n"), [{"rule": "a", "n": 1, "seconds": 3.0}])
    assert set(read(path)["runs"]) == {"2", "3"}
