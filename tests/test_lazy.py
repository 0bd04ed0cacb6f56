"""The rules that do not scan: every pick is one that the scan could have made, with the same distribution."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
import scipy.sparse as sp
from lockstep import assemble, is_rounding, score_tolerance
from problems import CASES, Case
from scipy.stats import chi2
from selection import Watch, redraws

import ascd
from ascd.engine.descent import descend

pytestmark = pytest.mark.usefixtures("interpreted", "lazy_everywhere")

LAZY_RULES = ("steepest", "u-ascd", "l-ascd", "a-ascd")
STEEPNESSES = ("gs-s", "gs-r", "gs-q", "gsl-s", "gsl-r", "gsl-q")


def lazily(case, rule, **options):
    assembly = assemble(case.library("sparse"), rule, "norm", **options)
    assert type(assembly.rule).__name__.startswith("Lazy")
    return assembly


def walk(assembly, n_iter):
    """(x, estimates and radii before the step, pick, size of the active set after it) for each step."""
    rule, point = Watch(assembly.rule, lambda point, pick: None), assembly.point
    assembly.descend(0, 0, descend.py_func)
    for t in range(n_iter):
        radius = np.array([point.intervals.radius_at(j) for j in range(point.x.size)])
        state = point.x.copy(), point.intervals.estimate.copy(), radius
        count = assembly.descend(t, t + 1, descend.py_func, rule)[2]
        yield state, rule.picks[t], count


def blurred_sets(case, rule, steepness, state):
    """(coordinates certainly in the active set, coordinates possibly in it), by the reference's bounds."""
    x, estimate, radius = state
    lower, upper = ref.bounds(case.reference(), steepness, x, estimate, radius)
    slack = score_tolerance(case.reference(), steepness, x, estimate)
    low, high = {"u-ascd": (upper, upper), "l-ascd": (lower, lower), "a-ascd": (lower, upper)}[rule]
    best = low.argmax()
    return (
        np.flatnonzero(high - slack >= low[best] + slack[best]),
        np.flatnonzero(high + slack >= low[best] - slack[best]),
    )


def check_walk(case, rule, steepness, n_iter, **options):
    """Every pick is in the reference's active set, every count is that set's size; returns the counts."""
    counts, before = [], None
    for state, pick, count in walk(lazily(case, rule, steepness=steepness, x0=case.x0, **options), n_iter):
        if rule == "steepest":
            assert is_rounding(case.reference(), rule, steepness, state[0], None, pick)
            continue
        certain, possible = blurred_sets(case, rule, steepness, state)
        assert pick in possible
        assert before is None or len(certain) <= before <= len(possible)
        before = count
        counts.append(count)
    return np.array(counts)


@pytest.mark.parametrize("rule", LAZY_RULES)
@pytest.mark.parametrize("steepness", STEEPNESSES)
def test_picks_are_in_the_active_set(rule, steepness):
    """Every two of rule, steepness and problem meet: each pair of the first two has a third of the problems."""
    turn = LAZY_RULES.index(rule) + STEEPNESSES.index(steepness)
    for seed, case in list(enumerate(CASES.values()))[turn % 3 :: 3]:
        init, step = ("gradient", "none")[seed % 2], ("coordinate", "fixed", "line-search")[seed % 3]
        check_walk(case, rule, steepness, 20, init=init, step=step, seed=seed)


def sparse_lasso():
    rng = np.random.default_rng(300)
    A = sp.random(30, 90, density=0.1, random_state=rng).toarray() + np.eye(30, 90)
    b = A[:, :10] @ rng.standard_normal(10) + 0.1 * rng.standard_normal(30)
    strength = 0.1 * np.abs(A.T @ b).max()
    return Case("sparse lasso", A, b, "squared", ascd.L1(strength), ref.L1(np.full(90, strength)))


@pytest.mark.parametrize("rule", LAZY_RULES)
@pytest.mark.parametrize("steepness", ["gs-s", "gsl-s"])
def test_long_runs_in_which_coordinates_leave_and_return(rule, steepness):
    counts = check_walk(sparse_lasso(), rule, steepness, 250 if rule == "a-ascd" else 125, seed=1)
    if rule == "a-ascd":
        assert counts.min() < 78
        assert np.any(np.diff(counts) > 0)
        assert np.any(np.diff(counts) < 0)


#: rule, init, steps before the pick
DRAWS = [("a-ascd", "gradient", 1), ("a-ascd", "gradient", 25), ("a-ascd", "none", 30)]
DRAWS += [("l-ascd", "none", 0), ("u-ascd", "none", 0)]


@pytest.mark.parametrize(("rule", "init", "steps"), DRAWS)
def test_picks_are_uniform_on_the_active_set(rule, init, steps):
    case = CASES["squared, sparse, l1, weights"]
    assembly = lazily(case, rule, init=init, seed=2)
    count = assembly.descend(0, steps, descend.py_func)[2]
    lower, upper = assembly.state()[3:]
    active = ref.active_set(rule, upper, lower)
    assert count == len(active) > 1
    found = np.bincount(redraws(assembly, 3000, seed=3), minlength=case.n)
    expected = 3000 / len(active)
    assert found.sum() == found[active].sum()
    assert np.sum((found[active] - expected) ** 2 / expected) < chi2.ppf(1 - 1e-6, len(active) - 1)


@pytest.mark.parametrize("rule", LAZY_RULES)
def test_a_run_goes_on_where_nothing_is_left_to_move(rule):
    """λ above λ_max: every bound is 0, and every coordinate as good as any other."""
    case = CASES["squared, wide, l1 above the maximum"]
    for step in ("coordinate", "fixed"):
        assembly = lazily(case, rule, step=step)
        survey = assembly.descend(0, 40, descend.py_func)
        assert survey[:2] == (0.0, 1.0)
        assert survey[2] == (1 if rule == "steepest" else case.n)
        assert not assembly.point.x.any()


def test_what_is_at_its_minimum_for_certain_is_not_picked():
    """Without lower bounds, everything but the coordinates with upper bound 0 (look-ahead widens the intervals)."""
    case = CASES["squared, sparse, l1, weights"]
    radius = np.full(case.n, 1e9)
    radius[::3] = 0.0  # known, and inside the penalty's kink
    for rule in ("a-ascd", "ascd", "adaptive"):
        assembly = assemble(case.library("sparse"), rule, "norm", init=(np.zeros(case.n), radius))
        picks = redraws(assembly, 200, seed=5)
        assert set(picks) == set(np.flatnonzero(radius)), rule


@pytest.mark.parametrize("steepness", STEEPNESSES)
def test_lazy_steepest_descends_as_the_scan_does_and_reads_less(steepness):
    case = sparse_lasso()
    lazy = lazily(case, "steepest", steepness=steepness)
    scan = assemble(case.library("sparse"), ascd.Steepest(scan=True), "norm", steepness)
    for assembly in (lazy, scan):
        assembly.descend(0, 60, descend.py_func)
    np.testing.assert_allclose(lazy.point.x, scan.point.x, rtol=0, atol=1e-10)
    assert lazy.point.reads[0] < 0.9 * scan.point.reads[0]
