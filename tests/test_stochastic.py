"""The oracle "stochastic": what it promises with a probability, and that nobody takes it for proved."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from lockstep import assemble, record
from pairs import in_pairs
from problems import CASES
from reference.stochastic import Stochastic as NaiveStochastic
from scipy.sparse import eye_array
from scipy.stats import binom
from selection import regression

import ascd
from ascd.engine.minimize import Run
from ascd.engine.oracles import stochastic
from ascd.results import Status


def most(runs, chance):
    """More failures than this happen once in a million times where each has that chance."""
    return binom.ppf(1.0 - 1e-6, runs, chance)


# ------------------------------------------------------------------------------------------- radii

#: Values and chances in [−1, 1]: even, rare and large, one-sided, nearly constant.
POPULATIONS = (
    ([-1.0, 1.0], [0.5, 0.5]),
    ([-0.01, 1.0], [0.99, 0.01]),
    ([0.0, 1.0], [0.9, 0.1]),
    ([0.2, 0.21], [0.5, 0.5]),
)


def shares_outside(radius_of, draws, runs=4000):
    """How often the mean of a sample is farther from the truth than its radius, for each population."""
    rng, found = np.random.default_rng(5), []
    for values, chances in POPULATIONS:
        values = np.array(values)
        truth, moment = values @ chances, values**2 @ chances
        y = rng.choice(values, size=(runs, draws), p=chances)
        radius = [radius_of(variance, moment, draws) for variance in y.var(axis=1, ddof=1)]
        found.append(np.mean(np.abs(y.mean(axis=1) - truth) > radius))
    return np.array(found)


@in_pairs(draws=[3, 20, 200], eta=[0.05, 0.5], kind=["bernstein", "empirical", "both"])
def test_radii_fail_no_more_often_than_they_say(draws, eta, kind):
    radius = {
        "bernstein": lambda variance, moment, m: stochastic.sampled_radius(np.inf, moment, m, 2.0 * eta),
        "empirical": lambda variance, moment, m: stochastic.sampled_radius(variance, np.inf, m, 2.0 * eta),
        "both": lambda variance, moment, m: stochastic.sampled_radius(variance, moment, m, eta),
    }[kind]
    assert shares_outside(radius, draws).max() <= most(4000, eta) / 4000
    shorter = shares_outside(lambda *given: 0.02 * radius(*given), draws)
    assert shorter.max() > most(4000, eta) / 4000, "with far shorter radii the line above would fail"


# ------------------------------------------------------------------------------------------- samples


def follow_transcription(case, storage, anchored):
    """Compare every interval of a run; returns how many samples it drew, and how often it read all entries."""
    oracle = ascd.Stochastic(10, failure=0.2, anchored=anchored, patience=0.1)
    history = record(assemble(case.library(storage), "cyclic", oracle, x0=case.x0, seed=4), 60)
    stored = np.ones(case.A.shape, dtype=bool) if storage == "dense" else case.A != 0.0
    naive, rng = NaiveStochastic(case.reference(), 10, 0.2, anchored, 0.1, stored), copy.deepcopy(history.rng)
    naive.sample(history.x[0], rng)
    for t, i in enumerate(history.picks):
        scale = 1e-9 * (np.abs(naive.estimate) + case.reference().norms + naive.radius)
        assert np.all(np.abs(history.estimate[t] - naive.estimate) <= scale), (case.name, t)
        assert np.all(np.abs(history.radius[t] - naive.radius) <= scale), (case.name, t)
        naive.follow(history.x[t + 1], i, history.x[t + 1, i] - history.x[t, i], rng)
        naive.estimate[i], naive.radius[i] = history.estimate[t + 1, i], history.radius[t + 1, i]
    assert history.assembly.point.reads[0] == pytest.approx(naive.reads)
    return naive.samples, naive.anchors


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("anchored", [False, True])
def test_every_interval_is_that_of_the_transcription(storage, anchored):
    counts = [follow_transcription(case, storage, anchored) for case in CASES.values() if "scaled" not in case.name]
    samples, anchors = np.array(counts).sum(axis=0)
    assert samples >= 2 * len(counts)
    assert anchors >= len(counts) // 2 if anchored else anchors == 0


# ------------------------------------------------------------------------------------------- coverage


def tall(seed, loss="squared"):
    return regression(60, 4, loss, seed=seed)


def outside(loss, seeds, steps=20, failure=0.2, **options):
    """For each run: at how many of its steps, and for how many entries, the truth was not in the interval."""
    found = np.zeros((seeds, steps + 1, 4), dtype=bool)
    for seed in range(seeds):
        case = tall(seed, loss)
        oracle = ascd.Stochastic(40, failure, patience=0.0, **options)
        history = record(assemble(case.library(), "u-ascd", oracle, seed=seed), steps)
        for t, x in enumerate(history.x):
            gradient = case.reference().gradient(x)
            slack = 1e-9 * (1.0 + np.abs(gradient))
            found[seed, t] = np.abs(gradient - history.estimate[t]) > history.radius[t] + slack
    return found


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("anchored", [False, True])
def test_all_intervals_of_a_run_hold_as_often_as_promised(loss, anchored):
    found = outside(loss, 40, anchored=anchored)
    assert found.any(axis=(1, 2)).sum() <= most(40, 0.2), "runs in which some interval failed"
    assert found.mean(axis=0).max() <= most(40, 0.2) / 40, "and no entry fails more often at any step"


# ------------------------------------------------------------------------------------------- nothing is called proved


def test_a_run_ends_after_a_look_at_exact_entries_only(monkeypatch):
    """Radii of 0 around wrong estimates say that all is done; the run looks, and goes on."""
    monkeypatch.setattr(stochastic, "sampled_radius", lambda *given: 0.0)
    monkeypatch.setattr(stochastic.Sampled, "interval_of", lambda self, j, mass, moment, eta: (0.0, 0.0))
    looks, whole = [], Run._steepest
    monkeypatch.setattr(Run, "_steepest", lambda self: looks.append(whole(self)) or looks[-1])
    case = tall(1)
    solution = ascd.minimize(case.library(), "u-ascd", ascd.Stochastic(40, anchored=False), tol=1e-6, max_iter=3, rng=0)
    assert solution.status is Status.ITERATION_LIMIT
    assert min(looks) > 1e-6


@pytest.mark.parametrize("failure", [1e-9, 1e-16, 1e-30, 1e-200])
def test_however_small_the_failure_is_nothing_is_called_proved(failure, monkeypatch):
    """1 - 1e-17 is 1 in float64, and six digits of 1 - 1e-9 are those of 1.  What is drawn does not matter here."""
    monkeypatch.setattr("ascd.engine.oracles.products._sparse_signs", lambda m, d, rng: eye_array(m, d, format="csr"))
    wide = np.random.default_rng(0).standard_normal((6000, 3))  # more rows than the sketch has
    for problem, oracle in (
        (tall(2).library(), ascd.Stochastic(40, failure=failure)),
        (ascd.Problem(wide, wide[:, 0], penalty=ascd.L2(1.0)), ascd.Sketch(0.9, failure)),
    ):
        found = ascd.minimize(problem, "u-ascd", oracle, rng=0, max_iter=2)
        assert 1.0 - max(2e-9, failure) < found.confidence < 1.0
        assert "with probability 1 - " in found.intervals


# ------------------------------------------------------------------------------------------- runs
