"""The table of agreement: everybody's objective beside ours, and what the table says of those who are elsewhere."""

from __future__ import annotations

import re
import shutil
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from peers import plain_skglm

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import solver
from race import agreement, cases, class_tasks, groups, once, peers, protocol, report, tasks
from race.peers.base import Failed, Peer

TITLE = report.EXTRAS["agreement"].title
#: Kinds that skglm runs in plain Python: one that it has an estimator for, one that it has parts for.
WITH_SKGLM = ("groups of 5", "sparse groups of 5")


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("kind", agreement.KINDS)
def test_everybody_finds_the_same_minimum(kind, storage):
    """To 1e-7 in objective, both with dense and with sparse data."""
    with_skglm = storage == "dense" and kind in WITH_SKGLM and find_spec("skglm") is not None
    with plain_skglm() if with_skglm else nullcontext():
        here, _ = peers.installed("ascd,scikit-learn,celer" + ",skglm" * with_skglm)
        row = agreement.compared(here, tasks.small(kind, storage), 30.0)
    assert row["gap"] <= 1e-11
    assert all(agreement.is_there(found) for found in row["peers"].values()), row
    wanted = {"tasks": "scikit-learn", "groups": "celer", "multinomial": "scikit-learn"}.get(kind.split(" ")[0])
    if wanted in here and not (storage == "sparse" and kind.startswith("tasks")):
        assert wanted in row["peers"], row
    assert with_skglm == ("skglm" in row["peers"])


@pytest.fixture(scope="module")
def with_glmnet():
    """R's process is started once."""
    here, absent = peers.installed("ascd,glmnet (R)")
    if absent:
        pytest.skip(f"R's glmnet: {absent}")
    yield here
    here["glmnet (R)"].close()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed")
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("kind", class_tasks.KINDS)
def test_glmnet_minimises_the_same_multinomial_objective(with_glmnet, kind, storage):
    """By either clock with each kind and each storage."""
    with_glmnet["glmnet (R)"].clock = ("wall", "processor")[(kind == class_tasks.KINDS[0]) ^ (storage == "dense")]
    row = agreement.compared(with_glmnet, tasks.small(kind, storage), 30.0)
    assert agreement.is_there(row["peers"]["glmnet (R)"]), row


class Elsewhere(Peer):
    """A peer that gives what it was told to."""

    kinds = ("tasks 10",)

    def __init__(self, answer):
        self.answer = answer

    def tasks(self, task, tol):
        if isinstance(self.answer, str):
            raise Failed(self.answer)
        return np.full((task.X.shape[1], 10), self.answer)


def test_those_who_have_not_arrived_are_told_with_their_gaps():
    task = tasks.small("tasks 10", "dense")
    here, _ = peers.installed("ascd")
    others = {"far": Elsewhere(1.0), "broken": Elsewhere("out of order")}
    row = agreement.compared(here | others, task, 5.0, {"absent": "takes no sparse data\nat all"})
    assert row["peers"].keys() == {"far"}
    figure, label, _, said, verdict = agreement.cells(row)
    assert (figure, label, verdict) == ("tasks 10", task.label, "nobody arrived")
    assert "far +" in said
    assert "at its gap" in said
    assert "broken: nothing in 5 s; absent: takes no sparse data" in said
    row["peers"]["far"]["gap"] = 0.0  # claims the minimum and is not there: that would be an error of one of us
    assert agreement.cells(row)[-1] == "apart: far"
    row["peers"]["near"] = {"difference": -3e-9, "gap": 1e-10}
    del row["peers"]["far"]
    assert agreement.cells(row)[-1] == "3e-09"


def test_the_table_comes_from_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(agreement, "KINDS", ("groups of 5",))
    out = tmp_path / "solver.json"
    solver.main(
        ["--only", "agreement", "--case", "tiny", "--peers", "ascd,celer", "--threads", "one", "--json", str(out)]
    )
    printed = capsys.readouterr().out
    assert TITLE in printed
    assert len(groups.GROUPS["groups of 5"].parts) == 3
    for part in ("10", "20", "100"):
        assert f"tiny λmax/{part}" in printed
    assert "tiny" in cases.names("tiny")


def test_tasks_of_minutes_are_fitted_once(tmp_path, capsys, monkeypatch):
    """With seconds and gaps; those who are stopped are named."""
    monkeypatch.setattr(once, "CASES", ("tiny",))
    what = ["--only", "once", "--case", "tiny", "--parts", "5", "--peers", "ascd,scikit", "--threads", "one"]
    solver.main([*what, "--targets", "1e-3,1e-5", "--json", str(tmp_path / "solver.json")])
    printed = capsys.readouterr().out
    assert report.EXTRAS["once"].title in printed
    table = printed.partition(report.EXTRAS["once"].title)[2]
    assert len(re.findall("tiny λmax/5 +ascd ", table)) == 2
    assert len(re.findall("tiny C=5 +scikit-learn  ", table)) == 2
    here, _ = peers.installed("ascd")
    task = tasks.small("multinomial l2", "dense")
    monkeypatch.setattr(protocol, "searched", lambda *arguments: [])
    options = solver.arguments(["--budget", "7"])
    (row,) = once.fits(here["ascd"], task, options)
    assert once.cells(row)[3:] == ["none (limit 7 s)", "-"]
