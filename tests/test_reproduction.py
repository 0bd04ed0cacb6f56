"""The reproduction: jobs of the table, results that survive an interruption, figures and claims from results alone."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager

import numpy as np
import pytest

from ascd.reproduction import measurements, panels, reproduce
from ascd.reproduction.claims import HOLDS, NOT, PART, UNTESTED, judge_all
from ascd.reproduction.figures import panel_of
from ascd.reproduction.reproduce import publish

TINY = panels.Size(8, 10, 2, 2)


@contextmanager
def made_tiny():
    """Every panel so small that plain Python runs it in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panels, "PANELS", {name: panel._replace(quick=TINY) for name, panel in panels.PANELS.items()})
        patch.setattr(panels, "RATIO_STEPS", {"quick": 50, "full": 100})
        patch.setattr(panels, "WATCHED_SIZES", {"quick": TINY})
        patch.setattr(panels, "SEARCH_SECONDS", {"quick": 0.02})
        patch.setattr("ascd.reproduction.datasets.GENERATED", {"quick": (40, 60)})
        yield


@pytest.fixture
def tiny():
    with made_tiny():
        yield


@pytest.fixture(scope="module")
def all_runs(tmp_path_factory):
    """A folder with the runs of all figures."""
    folder = tmp_path_factory.mktemp("all")
    with made_tiny():
        results_of([], folder)
    return folder


@pytest.fixture
def done(tiny, all_runs, tmp_path):
    """The same in a folder of the test's own: what is done is not done again."""
    shutil.copytree(all_runs / "runs", tmp_path / "runs")
    return tmp_path


def results_of(figures, folder):
    jobs, index = panels.plan(figures, "quick")
    reproduce.conduct(jobs.values(), folder, workers=1)
    return reproduce.load(reproduce.gather(jobs, index, folder, "quick"))


def numbers(results, curve, part="T"):
    return results["runs"][results["index"][part][curve][0]]["result"]


def verdicts(results):
    return {claim.where: claim.verdict for claim in judge_all(results)}


def test_every_entry_of_the_table_becomes_jobs(monkeypatch):
    monkeypatch.setattr("ascd.reproduction.datasets.GENERATED", {"full": (300, 600)})
    jobs, index = panels.plan([], "full")
    assert set(index) == {"1", "4", "T", *panels.PANELS}
    for panel in panels.PANELS.values():
        assert [*index[panel.name]] == [*(method.label for method in panel.methods), "minimum"]
    assert index["2a"]["SCD"] == index["2c"]["SCD"], "panels share the runs they have in common"
    assert json.loads(json.dumps([job.parameters for job in jobs.values()]))
    assert panels.parts_of(["3d", "1"]) == ["1", "3d"]
    with pytest.raises(ValueError, match=r"unknown figure '5'.*Valid names: 1, 2"):
        panels.parts_of(["5"])


def test_results_have_parameters_versions_and_seed_and_curves_are_means(done, tmp_path):
    results = results_of(["2a"], tmp_path)
    run = results["runs"][results["index"]["2a"]["ASCD"][1]]
    assert run["parameters"]["seed"] == 1
    assert {"rule", "oracle", "steepness", "step", "init", "epochs", "strength", "label"} <= set(run["parameters"])
    assert {"ascd", "numpy", "numba", "python"} <= set(run["versions"])
    assert not {"NaN", "Infinity"} & set((tmp_path / "results.json").read_text().replace(",", " ").split())
    again = measurements.measure(run["kind"], run["parameters"])
    assert run["result"]["trace"]["objective"] == again["trace"]["objective"], "a job gives the same numbers again"
    panel = panel_of(results, "2a")
    objectives = [results["runs"][name]["result"]["trace"]["objective"] for name in results["index"]["2a"]["ASCD"]]
    expected = (np.mean(objectives, axis=0) - panel.best) / (objectives[0][0] - panel.best)
    np.testing.assert_allclose(panel.curves["ASCD"].excess, expected, rtol=1e-12, err_msg="means over the seeds")


def test_all_figures_claims_and_the_report_come_from_the_results_file(done, tmp_path):
    results_of([], tmp_path)
    made = publish(tmp_path / "results.json", tmp_path, pictures=False)
    assert len(made["claims"]) == 40
    assert made["claims"][0].where == "Thm 3.2 in practice", "what runs show comes first, then details and theory"
    assert [claim.where for claim in made["claims"] if claim.verdict == UNTESTED] == ["Sec. 6.1"]
    page = (tmp_path / "report.html").read_text()
    for part in ("generated text-like data (no real text)", "λ = λ<sub>max</sub>/20", "Of 40 claims ", "GS-S"):
        assert part in page
    for part in ("exact line search", "random(printed=True)", "true gradient", "2 epochs", "seeds 0 to 1"):
        assert part in page, "captions name every parameter"
    assert all(f'id="chart-{name}"' in page for name in panels.PANELS)
    assert all(claim.verdict in page for claim in made["claims"])
    assert made["claims_file"].read_text().count("\n| ") == 41


def test_the_theorems_hold_in_observed_runs(done, tmp_path):
    found = verdicts(results_of(["T", "4"], tmp_path))
    theorems = ("Thm 2.1", "Sec. 2.1", "Thm 2.2, A.2", "Lemma 3.1", "Thm 3.2", "Sec. 5, App. D", "Sec. 3", "Sec. 4")
    for where in (*theorems, "Lemma A.1", "Lemma 4.1", "App. A, after Thm A.2"):
        assert found[where] == HOLDS, where
    assert found["App. A, after Lemma A.1"] == PART
    assert found["Sec. 7, highlight 2"] == UNTESTED


@pytest.mark.parametrize(
    ("curve", "change", "where", "verdict"),
    [
        ("ridge gs-s norm", {"below_uniform": 3}, "Thm 3.2", NOT),
        ("rates", {"smooth": 1.5}, "Thm 2.1", NOT),
        ("progress", {"uniform": 0.9}, "Lemma A.1", PART),
        ("gradient update", {"worst": 0.01}, "Lemma 4.1", NOT),
        ("random starts", {"largest": 3.5}, "App. A, after Thm A.2", NOT),
        ("family", {"rows": [{"n": 3, "alpha": 0.01, "ratio": 3.9, "bound": 3.03, "constant": 1, "low": 1}]},
         "Thm 2.2, A.2", PART),
    ],
)  # fmt: skip
def test_verdicts_follow_the_numbers(done, tmp_path, curve, change, where, verdict):
    results = results_of(["T"], tmp_path)
    numbers(results, curve).update(change)
    assert verdicts(results)[where] == verdict
