"""The benchmarks: their gaps are true, their protocol is fair, and published tables are what the results files say."""

from __future__ import annotations

import json
import math
import sys
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
from common.ledger import read
from race import block_tasks, class_tasks, gaps, peers, protocol, tasks
from race.peers.base import Answer

BLOCKS = (*block_tasks.KINDS, *class_tasks.KINDS)


# ---- gaps


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gaps_are_those_of_the_library(storage, loss, l2):
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


def problem_of(task):
    if task.kind in class_tasks.KINDS:
        penalty = ascd.SparseGroup(task.l1, 0.0) if task.l1 else ascd.L21(0.0, ridge=task.l2)
        return ascd.Problem(task.X, task.y, "softmax", penalty)
    if task.kind in block_tasks.TASKS:
        return ascd.Problem(task.X, task.y, penalty=ascd.L21(task.l1))
    return ascd.Problem(task.X, task.y, penalty=ascd.SparseGroup(task.single, task.l1, task.groups))


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


# ---- reports and tables


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
