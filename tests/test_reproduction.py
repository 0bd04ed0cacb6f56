"""The reproduction: jobs from the table, results that survive an interruption, charts and claims from results alone."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from ascd.experiments import charts, jobs, store, table
from ascd.experiments.claims import judge_all
from ascd.experiments.claims.register import HOLDS, NOT, PART, UNTESTED
from ascd.experiments.conduct import conduct
from ascd.experiments.curves import panel_of
from ascd.experiments.data import load_text, text_source
from ascd.experiments.measure import measure
from ascd.experiments.reproduce import publish

pytestmark = pytest.mark.usefixtures("interpreted")
TINY = table.Size(8, 10, 2, 2)


@contextmanager
def made_tiny():
    """Every panel so small that plain Python runs it in a moment."""
    panels = {name: panel._replace(quick=TINY) for name, panel in table.PANELS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "PANELS", panels)
        patch.setattr(table, "RATIO_STEPS", {"quick": 50, "full": 100})
        patch.setattr(table, "WATCHED_SIZES", {"quick": TINY})
        patch.setattr("ascd.experiments.tuning.SEARCH_SECONDS", {"quick": 0.02})
        patch.setattr("ascd.experiments.data.GENERATED", {"quick": (40, 60)})
        yield


@pytest.fixture
def tiny():
    with made_tiny():
        yield


@pytest.fixture(scope="module")
def all_runs(tmp_path_factory, plain_python):
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
    text = text_source(None, "quick") if jobs.needs_text(figures) else None
    plan = jobs.plan(figures, "quick", text)
    conduct(plan, folder, workers=1)
    return store.gather(plan, store.Store(folder), "quick", folder / "results.json")


def test_every_entry_of_the_table_becomes_jobs():
    plan = jobs.plan([], "full", text_source("generated", "quick"))
    assert set(plan.curves) == {"1", "4", "T", *table.PANELS}
    for panel in table.PANELS.values():
        assert [*plan.curves[panel.name]] == [*(method.label for method in panel.methods), "minimum"]
    assert plan.curves["2a"]["SCD"] == plan.curves["2c"]["SCD"], "panels share the runs they have in common"
    assert json.loads(json.dumps([job.parameters for job in plan.jobs.values()]))


def test_figures_are_chosen_by_number_or_panel():
    assert jobs.parts_of(["2"]) == ["2a", "2b", "2c", "2d"]
    assert jobs.parts_of(["3d", "1"]) == ["1", "3d"]
    with pytest.raises(ValueError, match=r"unknown figure '5'.*Valid names: 1, 2"):
        jobs.parts_of(["5"])


def test_an_interrupted_run_continues_where_it_stopped(tiny, tmp_path):
    plan = jobs.plan(["2a"], "quick", None)
    assert conduct(plan, tmp_path, workers=1) == len(plan.jobs)
    files = sorted((tmp_path / "runs").iterdir())
    kept = files[0].stat().st_mtime_ns
    files[1].unlink()
    files[2].write_text('{"kind": "desc')  # what a crash without whole writing would leave
    assert conduct(plan, tmp_path, workers=1) == 2
    assert files[0].stat().st_mtime_ns == kept
    assert conduct(plan, tmp_path, workers=1) == 0


def test_a_failing_job_leaves_no_file(tiny, tmp_path, monkeypatch):
    plan = jobs.plan(["4"], "quick", None)
    monkeypatch.setattr("ascd.experiments.conduct.measure", lambda kind, parameters: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        conduct(plan, tmp_path, workers=1)
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())
    with pytest.raises(RuntimeError, match="1 of 1 runs have no results"):
        store.gather(plan, store.Store(tmp_path), "quick", tmp_path / "results.json")


def test_an_interrupted_job_is_not_stored(tiny, tmp_path, monkeypatch):
    from ascd.experiments import measure as measuring

    whole = measuring.minimize

    def interrupted(*arguments, **options):
        return whole(*arguments, **options, callback=lambda now: True)

    plan = jobs.plan(["2a"], "quick", None)
    monkeypatch.setattr(measuring, "minimize", interrupted)
    with pytest.raises(KeyboardInterrupt):
        conduct(plan, tmp_path, workers=1)
    assert not any(path.name.startswith("descent") for path in tmp_path.rglob("*.json"))


def test_results_carry_parameters_versions_and_seed(tiny, tmp_path):
    results = results_of(["2a"], tmp_path)
    run = results["runs"][results["index"]["2a"]["ASCD"][1]]
    assert run["parameters"]["seed"] == 1
    assert {"rule", "oracle", "steepness", "step", "init", "epochs", "strength", "label"} <= set(run["parameters"])
    assert {"ascd", "numpy", "numba", "python"} <= set(run["versions"])
    assert not {"NaN", "Infinity"} & set((tmp_path / "results.json").read_text().replace(",", " ").split())


def test_the_same_job_gives_the_same_numbers(tiny):
    job = next(iter(jobs.plan(["2a"], "quick", None).jobs.values()))
    first, second = (measure(job.kind, job.parameters)["trace"] for _ in range(2))
    assert first["objective"] == second["objective"]


def test_curves_are_means_over_the_seeds(done, tmp_path):
    results = results_of(["2a"], tmp_path)
    panel = panel_of(results, "2a")
    runs = [results["runs"][name]["result"]["trace"]["objective"] for name in results["index"]["2a"]["ASCD"]]
    scale = runs[0][0] - panel.best
    np.testing.assert_allclose(panel.curves["ASCD"].excess, (np.mean(runs, axis=0) - panel.best) / scale, rtol=1e-12)
    assert panel.curves["ASCD"].excess[0] == 1.0
    assert (panel.curves["ASCD"].low <= panel.curves["ASCD"].high).all()


def test_all_figures_claims_and_the_report_come_from_the_results_file(done, tmp_path):
    results_of([], tmp_path)
    made = publish(tmp_path / "results.json", tmp_path, pictures=False)
    assert len(made["claims"]) >= 30
    assert made["claims"][0].where == "Thm 3.2 in practice", "what runs show comes first, then details and theory"
    untested = [claim.where for claim in made["claims"] if claim.verdict == UNTESTED]
    assert untested == ["Sec. 6.1"], "only the estimate without constants"
    page = (tmp_path / "report.html").read_text()
    assert "generated text-like data (no real text)" in page
    for name in table.PANELS:
        assert f'id="chart-{name}"' in page
    assert all(claim.verdict in page for claim in made["claims"])
    assert "λ = λ<sub>max</sub>/20" in (tmp_path / "report.html").read_text()


def test_pictures_are_drawn_for_each_axis(done, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    results_of(["2a"], tmp_path)
    made = publish(tmp_path / "results.json", tmp_path, pictures=True)
    names = {path.name for path in made["figures"]}
    assert names == {"figure-2.png", "figure-2.svg", "figure-2-reads.png", "figure-2-seconds.png"}
    assert all(path.stat().st_size > 5000 for path in made["figures"])


def test_the_theorems_hold_in_watched_runs(done, tmp_path):
    verdicts = {claim.where: claim.verdict for claim in judge_all(results_of(["T", "4"], tmp_path))}
    theorems = ("Thm 2.1", "Sec. 2.1", "Thm 2.2, A.2", "Lemma 3.1", "Thm 3.2", "Sec. 5, App. D", "Sec. 3", "Sec. 4")
    for where in (*theorems, "Lemma A.1", "Lemma 4.1", "App. A, after Thm A.2"):
        assert verdicts[where] == HOLDS, where
    assert verdicts["App. A, after Lemma A.1"] == PART
    assert verdicts["Sec. 7, highlight 2"] == UNTESTED


def test_verdicts_follow_the_numbers(done, tmp_path):
    results = results_of(["T", "2c"], tmp_path)
    watched = results["runs"][results["index"]["T"]["ridge gs-s norm"][0]]["result"]
    rates = results["runs"][results["index"]["T"]["rates"][0]]["result"]
    watched["below_uniform"], rates["smooth"] = 3, 1.5
    claims = {claim.where: claim for claim in judge_all(results)}
    assert (claims["Thm 3.2"].verdict, claims["Thm 2.1"].verdict) == (NOT, NOT)
    assert "broken in 3 of" in claims["Thm 3.2"].measured
    assert "left out" not in claims["Thm 3.2"].measured
    family = results["runs"][results["index"]["T"]["family"][0]]["result"]["rows"]
    family[0]["ratio"] = 3.9  # above 3 + 3α for α = 0.01, below 4
    assert {claim.where: claim for claim in judge_all(results)}["Thm 2.2, A.2"].verdict == PART


def test_steps_whose_scores_are_rounding_are_left_out_and_counted(tiny, monkeypatch, tmp_path):
    monkeypatch.setattr(table, "RESOLUTION", 0.1)
    results = results_of(["T"], tmp_path)
    names = [name for name in results["index"]["T"] if name.startswith(("ridge", "lasso"))]
    runs = {name: results["runs"][results["index"]["T"][name][0]] for name in names}
    size = runs["lasso gs-q norm"]["parameters"]["epochs"] * runs["lasso gs-q norm"]["parameters"]["features"]
    assert all(run["result"]["steps"] + run["result"]["left_out"] == size for run in runs.values())
    assert runs["lasso gs-q norm"]["result"]["left_out"] > 0
    steps, left_out = (sum(run["result"][key] for run in runs.values()) for key in ("steps", "left_out"))
    measured = {claim.where: claim.measured for claim in judge_all(results)}
    assert measured["Lemma 3.1"].startswith(
        f"missing in 0 of {steps:,} steps ({left_out:,} left out, their scores below"
    )


def test_lemmas_fail_where_their_numbers_do(done, tmp_path):
    results = results_of(["T"], tmp_path)

    def numbers(curve):
        return results["runs"][results["index"]["T"][curve][0]]["result"]

    numbers("progress")["uniform"] = 0.9
    numbers("gradient update")["worst"] = 0.01
    numbers("random starts")["largest"] = 3.5
    claims = {claim.where: claim.verdict for claim in judge_all(results)}
    assert (claims["Lemma A.1"], claims["Lemma 4.1"], claims["App. A, after Thm A.2"]) == (PART, NOT, NOT)


def test_a_search_for_the_minimum_passes_an_interrupt_on(monkeypatch):
    from ascd import Problem
    from ascd.problem.penalties import L1

    problem = Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=L1(1.0))
    from ascd.racing import runs

    found = runs.search_minimum(problem, 1.0)
    monkeypatch.setattr(runs, "solve", lambda *_, **__: replace(found, status=runs.Status.INTERRUPTED))
    with pytest.raises(KeyboardInterrupt):
        runs.search_minimum(problem, 1.0)


def test_text_data_from_files_get_values_of_one_and_labels(tmp_path):
    A = sparse.csc_array(np.array([[0.0, 2.5], [0.3, 0.0], [0.1, 0.7]]))
    sparse.save_npz(tmp_path / "mine.npz", A)
    with np.load(tmp_path / "mine.npz", allow_pickle=False) as held:
        np.savez(tmp_path / "mine.npz", **held, y=np.array([0, 1, 1]))
    found, labels = load_text(str(tmp_path / "mine.npz"))
    np.testing.assert_array_equal(found.toarray(), [[0, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(labels, [-1, 1, 1])
    (tmp_path / "mine.svm").write_text("+1 1:0.5 3:2\n-1 2:1\n")
    source = text_source(str(tmp_path / "mine.svm"), "quick")
    assert (source.samples, source.features, source.nonzeros, source.label) == (2, 3, 3, "mine.svm")


@pytest.mark.parametrize("origin", ["rcv1", "libsvmdata:rcv1.binary"])
def test_text_that_cannot_be_fetched_is_told_with_a_way_out(monkeypatch, origin):
    from types import SimpleNamespace

    def offline(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setitem(sys.modules, "libsvmdata", SimpleNamespace(fetch_dataset=offline))
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", offline)
    with pytest.raises(OSError, match=rf"--data {origin} could not be fetched \(no network\): give a file"):
        load_text(origin)


def test_rcv1_gets_libsvms_labels_and_values_of_one(monkeypatch):
    from types import SimpleNamespace

    topics = sparse.csr_matrix(np.array([[1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]))
    words = sparse.csr_matrix(np.array([[0.5, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, 0.0], [0.3, 0.4]]))
    bunch = SimpleNamespace(data=words, target=topics, target_names=["CCAT", "ECAT", "GCAT", "MCAT"])
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", lambda subset: bunch)
    load_text.cache_clear()
    A, y = load_text("rcv1")
    load_text.cache_clear()
    np.testing.assert_array_equal(A.toarray(), [[1, 0], [0, 1], [1, 1]])
    np.testing.assert_array_equal(y, [1, -1, 1])


def test_captions_name_every_parameter(done, tmp_path):
    results = results_of(["3c"], tmp_path)
    caption = charts.sections(results)[0].charts[0].caption
    for part in (
        "exact line search",
        "GS-S",
        "random(printed=True)",
        "true gradient",
        "2 epochs",
        "no real text",
        "all values 1",
        "seeds 0 to 1",
    ):
        assert part in caption


@pytest.mark.parametrize("content", [b"{half", b"[1, 2]", b"\xff\xfe", b"{}"])
def test_a_damaged_results_file_is_named(content, tmp_path):
    """It once was an error of the parser's, about a column that nobody knew the file of."""
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"results\.json is not a results file of `ascd reproduce`, or damaged"):
        store.load(path)
