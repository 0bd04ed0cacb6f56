"""Interpreted, the library makes every step that the reference makes: picks, points and intervals."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from combinations import (
    FACTORS,
    RULE_NAMES,
    STORAGES,
    all_pairs,
    assemble_combination,
    library_rule,
    pairs_of,
    pairwise_runs,
    reference_cache,
    reference_oracle,
    start_of,
)
from lockstep import BOUNDED_RULES, assemble, check_bounds, close, record, replay
from problems import CASES, sketchable

import ascd
from ascd.engine.oracles.products import sketch_dimension

N_ITER = 18
RUNS = list(pairwise_runs())
GROUPS: dict[str, list] = {}
for run in RUNS:
    GROUPS.setdefault(f"{run[0].rule} {run[0].oracle}", []).append(run)


def check_summary(case, history, combination):
    """What ``descend`` returns: the largest upper bound, the share of zero lower bounds, the active set's size."""
    rule, lower, upper = combination.rule, history.lower[-1], history.upper[-1]
    state = history.x[-1], history.estimate[-1], history.radius[-1]
    check_bounds(case.reference(), combination.steepness, state, (lower, upper))
    intervals = history.assembly.point.intervals
    certified_lower, certified_upper = np.array([intervals.bounds_at(j) for j in range(case.n)]).T
    everything = 1 if rule == "steepest" else case.n
    count = len(ref.active_set(rule, upper, lower)) if rule in BOUNDED_RULES else everything
    assert history.summary[:2] == (certified_upper.max(), np.mean(certified_lower == 0.0))
    wider = ref.active_set(rule, 1.0000000001 * upper, lower) if rule == "ascd" else range(count)
    assert count <= history.summary[2] <= len(wider)


def check_run(combination, case, start, seed):
    history = record(assemble_combination(combination, case, start, seed), N_ITER)
    estimate, radius = ref.initial_intervals(case.reference(), start_of(case, start), case.start)
    assert np.array_equal(history.x[0], case.start)
    assert close(history.estimate[0], estimate, 1e-12 * (1.0 + np.abs(estimate)))
    assert np.array_equal(history.radius[0], radius)
    oracle = reference_oracle(combination.oracle, case.n, history.assembly.oracle)
    undecided = replay(case, history, combination.rule, oracle, combination.steepness, combination.step)
    check_summary(case, history, combination)
    return undecided


@pytest.mark.parametrize("group", GROUPS)
def test_every_step_is_the_references(group):
    undecided = 0
    for seed, (combination, case, start) in enumerate(GROUPS[group]):
        try:
            undecided += check_run(combination, case, start, seed)
        except AssertionError as error:
            raise AssertionError(f"{combination}, {case.name}, init {start!r}: {error}") from error
    assert undecided <= max(0.25 * N_ITER * len(GROUPS[group]), N_ITER)


def test_every_pair_meets_in_some_run():
    """Rule, oracle, steepness, step, storage, problem and start: whatever two of them do to each other is seen."""
    rows = [{**combination._asdict(), "case": case.name, "start": start} for combination, case, start in RUNS]
    met = set().union(*(pairs_of({factor: row[factor] for factor in FACTORS}) for row in rows))
    assert met >= set(all_pairs())
    assert len(RUNS) < 500


@pytest.mark.parametrize("rule", RULE_NAMES)
@pytest.mark.parametrize("storage", STORAGES)
def test_a_sketch_that_is_smaller_than_the_data(rule, storage):
    case = sketchable()
    assert sketch_dimension(case.n, 0.9, 0.01) < case.A.shape[0]
    history = record(assemble(case.library(storage), library_rule(rule), ascd.Sketch(0.9), seed=3), 20)
    assert history.assembly.oracle.embedded.shape == (sketch_dimension(case.n, 0.9, 0.01), case.n)
    assert history.assembly.oracle.epsilon == 0.9
    oracle = ref.oracle_sketch(history.assembly.oracle.embedded, 0.9)
    assert replay(case, history, rule, oracle, "gs-s", "coordinate") == 0
    if rule != "steepest":
        assert history.radius[-1].max() > 0.0


@pytest.mark.parametrize("capacity", [1, 2, 3])
@pytest.mark.parametrize("fallback", ["norm", "random"])
def test_a_full_cache_forgets_the_row_used_longest_ago(capacity, fallback):
    case = CASES["squared, sparse, l1, weights"]
    oracle = ascd.Cached(capacity, fallback=fallback)
    history = record(assemble(case.library(), "uniform", oracle, seed=5), 300)
    twin = reference_cache({"norm": ref.oracle_norm, "random": ref.oracle_random}[fallback](), capacity)
    assert replay(case, history, "uniform", twin, "gs-s", "coordinate") == 0
    unlimited = reference_cache(ref.oracle_norm(), case.n)
    with pytest.raises(AssertionError):  # the capacity did matter
        replay(case, history, "uniform", unlimited, "gs-s", "coordinate")


@pytest.mark.parametrize("steepness", ["gs-s", "gsl-r", "gs-q"])
def test_the_printed_pick(steepness):
    case = CASES["squared, wide, l1"]
    history = record(assemble(case.library(), ascd.ASCD("largest-lower"), "norm", steepness, seed=7), 60)
    assert replay(case, history, "ascd", ref.oracle_norm(), steepness, "coordinate", pick="largest-lower") == 0
