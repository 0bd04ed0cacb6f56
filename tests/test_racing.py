"""Races: runs end at the accuracy, the table says what it took, and nothing is called 0 that is not proved."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from scipy import sparse

from ascd.datasets import make_synthetic, make_text_like
from ascd.racing import entrants, make_problem, race
from ascd.racing.beside import run_beside, scikit_learn
from ascd.racing.outcome import SOLVER, rounded_up
from ascd.results.solution import Status

pytestmark = pytest.mark.usefixtures("plain_python")


@pytest.fixture(scope="module")
def data():
    return make_synthetic(24, 30, n_nonzero=4, rng=0)


@pytest.fixture(scope="module")
def outcome(plain_python, data):
    problem = make_problem(data.A, data.b, "lasso", "max/10")
    methods = entrants(["uniform", "a-ascd"], ["norm"], ["gs-s"])
    return race(problem, methods, epochs=60, beside=(data.A, "lasso"))


def test_runs_end_where_they_come_within_the_accuracy(outcome):
    for label, run in outcome.runs.items():
        assert run.status is Status.INTERRUPTED, "the goal ends a run, not the epochs"
        trace = run.trace
        excess = (trace.objective - outcome.best) / (trace.objective[0] - outcome.best)
        assert excess[-1] <= outcome.accuracy < excess[-2], label
        found = outcome.arrival(label)
        assert found.reads == trace.reads[-1]
        assert found.epochs == trace.iteration[-1] / 30
        assert 0.0 <= found.seconds <= run.seconds


def test_a_short_run_and_a_long_one_have_as_many_records(data, monkeypatch):
    """Records take time: else a rule of many cheap steps would look slow for being watched."""
    monkeypatch.setattr("ascd.racing.runs.SMALL_SHARE", 0.0)
    problem = make_problem(data.A, data.b, "lasso", "max/10")
    watched = race(problem, entrants(["uniform", "a-ascd"], ["norm"], ["gs-s"]), epochs=60)
    assert watched.runs["uniform"].n_iter > 1.5 * watched.runs["a-ascd"].n_iter
    assert all(60 <= len(run.trace) <= 122 for run in watched.runs.values())
    monkeypatch.setattr("ascd.racing.runs.SMALL_SHARE", float("inf"))
    once = race(problem, entrants(["uniform"], ["norm"], ["gs-s"]), epochs=60)
    assert len(once.runs["uniform"].trace) > 122, "a run that records do not disturb is not repeated"


def test_the_minimum_is_certified_and_what_is_proved_is_an_upper_bound(outcome):
    from ascd import solve

    tight = solve(outcome.problem, tol=1e-14)
    assert outcome.best - outcome.gap <= tight.objective
    for label, run in outcome.solutions.items():
        true = (run.objective - tight.objective) / (run.trace.objective[0] - tight.objective)
        assert true <= outcome.proved(label) * (1.0 + 1e-9) + 1e-15
        assert outcome.end(label) not in ("0", "0.0e+00", "0.00e+00")


def test_a_run_at_the_minimum_is_proved_not_zero(outcome):
    reached = outcome._replace(
        gap=5.2e-6 * (outcome.solved.trace.objective[0] - outcome.best), best=outcome.solved.objective
    )
    assert reached.excess(SOLVER) == 0.0
    assert reached.end(SOLVER) == "≤ 6e-06 (proved)"


def test_scikit_learn_is_judged_as_the_others_are(outcome):
    """It may find a smaller objective than all others: that is the best known then, and never 0."""
    cell = outcome.rows()[-1][3]
    bound = re.fullmatch(r"(?:≤ )?(\d\S*)(?: \(proved\))?", cell)
    assert bound, cell
    assert float(bound[1]) > 0.0
    lower = outcome.best - 0.5 * outcome.gap
    found = outcome._replace(best=lower, gap=0.5 * outcome.gap, fits=outcome.fits._replace(objective=[lower]))
    assert found.rows()[-1][3].endswith("(proved)")
    assert all(run.trace.objective.min() >= outcome.best for run in outcome.solutions.values())
    assert outcome.best <= min(outcome.fits.objective)


def test_without_a_bound_nothing_is_called_proved(outcome):
    unknown = outcome._replace(gap=math.inf, fits=outcome.fits._replace(objective=[outcome.best]))
    assert unknown.rows()[-1][3] == "best known"
    assert "above the best known" in unknown.end("uniform")
    assert "of the smallest objective that is known" in unknown.conclusion()
    assert "how far it is from F* is not known" in unknown.known()
    assert "of the minimum" in outcome.conclusion()


def test_a_start_that_is_the_minimum_is_no_race(data):
    problem = make_problem(data.A, data.b, "lasso", "max/0.9")
    with pytest.raises(ValueError, match=r"x = 0, where every method starts, is the minimum .* a smaller strength"):
        race(problem, entrants(["uniform"], ["norm"], ["gs-s"]))


@pytest.mark.parametrize(("value", "text"), [(5.01e-6, "6e-06"), (9.3e-6, "1e-05"), (2e-10, "2e-10"), (1.0, "1e+00")])
def test_bounds_are_rounded_up(value, text):
    assert rounded_up(value) == text
    assert float(rounded_up(value)) >= value * (1.0 - 1e-8)


def test_the_table_has_the_rules_the_solver_and_scikit_learn(outcome):
    assert outcome.head[1:3] == ("columns read / n to 1e-06", "seconds to 1e-06")
    rows = {row[0]: row for row in outcome.rows()}
    assert list(rows) == ["uniform", "a-ascd", "ascd.solve", "scikit-learn"]
    assert float(rows["a-ascd"][1]) == pytest.approx(outcome.arrival("a-ascd").reads / 30, abs=0.06)
    assert re.fullmatch(r"\d+ sweeps?", rows["scikit-learn"][1])


def test_one_sentence_says_what_to_conclude(outcome):
    text = outcome.conclusion()
    assert "a-ascd reads the fewest columns" in text
    factor = outcome.arrival("uniform").reads / outcome.arrival("a-ascd").reads
    assert f"{factor:.1f} times fewer than uniform" in text
    assert "To fit a model use `ascd.solve`" in text


def test_who_does_not_get_there_is_named(data):
    problem = make_problem(data.A, data.b, "lasso", "max/10")
    outcome = race(problem, entrants(["uniform", "steepest"], ["norm"], ["gs-s"]), epochs=2)
    assert outcome.arrival("uniform") is None
    assert {row[0]: row for row in outcome.rows()}["uniform"][1] == "not in 3.0"
    assert "uniform did not get there" in outcome.conclusion()
    none = outcome._replace(runs={"uniform": outcome.runs["uniform"]})
    assert none.conclusion().startswith("No rule came within 1e-06 of the minimum: more epochs are needed.")


def test_the_page_and_the_numbers_hold_the_table(outcome, tmp_path):
    files = outcome.publish(tmp_path / "out", "A race", pictures=False)
    assert [path.name for path in files] == ["race.html", "race.json"]
    page, numbers = files[0].read_text(), json.loads(files[1].read_text())
    for row in outcome.rows():
        for cell in row:
            assert f"<td>{cell}</td>" in page
    assert "Dotted: the active set" in page
    assert numbers["runs"]["a-ascd"]["to_accuracy"]["reads"] == outcome.arrival("a-ascd").reads
    assert numbers["conclusion"] == outcome.conclusion()


@pytest.mark.parametrize("kind", ["lasso", "elastic-net", "ridge", "logistic"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_scikit_learn_solves_the_same_problem(kind, storage):
    made = make_text_like(80, 30, n_words=6, rng=0)
    X = made.A.toarray() if storage == "dense" else sparse.csc_array(made.A)
    problem = make_problem(X, made.b, kind, "0.5" if kind == "ridge" else "max/5")
    best, start = minimum_of(problem), problem.objective(np.zeros(30))
    fits = run_beside(scikit_learn(X, kind, problem), X, problem, best, start, 1e-6)
    assert fits.excess[-1] <= 1e-6, "another problem has another minimum"
    assert len(fits.seconds) == len(fits.excess) == len(fits.sweeps)
    assert all(sweeps > 0 or math.isnan(sweeps) for sweeps in fits.sweeps)


def minimum_of(problem):
    from ascd import solve

    return solve(problem, tol=1e-12).objective


def test_an_svm_has_nobody_beside_it(data):
    problem = make_problem(data.A, np.where(data.b > 0, 1, -1), "svm", "0.1")
    assert scikit_learn(data.A, "svm", problem) is None


def test_ctrl_c_in_a_run_is_passed_on(data, monkeypatch):
    from ascd.racing import runs

    def pressed(*arguments, callback, **options):
        def interrupting(now):
            callback(now)
            raise KeyboardInterrupt

        return whole(*arguments, callback=interrupting, **options)

    whole = runs.minimize
    monkeypatch.setattr(runs, "minimize", pressed)
    problem = make_problem(data.A, data.b, "lasso", "max/10")
    with pytest.raises(KeyboardInterrupt):
        race(problem, entrants(["uniform"], ["norm"], ["gs-s"]))
