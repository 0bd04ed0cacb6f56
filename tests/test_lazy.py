"""Rules without scanning beside the scanning ones: the same picks, sets and probabilities; heaps, lists and sorts."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import reference as ref
from lockstep import assemble, score_tolerance
from problems import CASES, Case
from selection import bounds_of, check_draw, follows, redraws, regression, sparse_matrix, watch

import ascd
from ascd.engine.descent import descend
from ascd.engine.steepness import STEEPNESS

pytestmark = pytest.mark.usefixtures("lazy_everywhere")

RULES = {"u-ascd": ascd.UpperASCD, "l-ascd": ascd.LowerASCD, "a-ascd": ascd.HeuristicASCD, "steepest": ascd.Steepest}


#: Rows and columns; and columns where draws from all are counted: the fewer, the smaller the errors that a number of
#: draws shows.
D, N, FEW = 16, 25, 12


@cache
def generic(smooth, loss, n=N):
    """No two coordinates are equal."""
    case = regression(D, n, loss, seed=11)
    if not smooth:
        return case
    return Case("smooth", case.A, case.b, loss, ascd.L2(0.5), ref.L2(np.full(n, 0.5)))


def both(case, rule, **options):
    """The lazy run and the scanning one."""
    lazy, scan = (assemble(case.library("sparse"), RULES[rule](scan=scan), **options) for scan in (False, True))
    assert type(lazy.rule).__name__.startswith("Lazy")
    assert not type(scan.rule).__name__.startswith("Lazy")
    return lazy, scan


def rate_of(assembly):
    """ρ, the fastest that an upper bound can grow with the accumulated step length."""
    return assembly.point.intervals.steepness.rates(assembly.point.problem.norm).max()


# -------------------------------------------------------------------------------------- the same picks


@pytest.mark.parametrize("steepness", STEEPNESS)
@pytest.mark.parametrize("rule", ["u-ascd", "steepest"])
def test_lazy_picks_are_the_scans(rule, steepness):
    """As long as the largest and the next differ by more than rounding: at the minimum, and after two visits that
    move nothing, they do not.
    """
    number, other = STEEPNESS.index(steepness), rule == "steepest"
    loss = ("squared", "logistic")[(number + other) % 2]  # every two of step, rule, steepness and loss meet
    step = ("coordinate", "fixed")[(number // 2 + other) % 2]
    case = generic(steepness in ("gs", "gsl"), loss)
    lazy, scan = both(case, rule, steepness=steepness, step=step)
    rate, decided = rate_of(lazy), []

    def look(point, pick):
        second, first = np.sort(bounds_of(point)[1])[-2:]  # the scan for the steepest has made these exact
        decided.append(first - second > 1e-12 * (first + rate * point.intervals.lengths[0]))

    picks = watch(scan, 100, look)
    until = decided.index(False) if False in decided else 100
    assert until > 50
    assert watch(lazy, until) == picks[:until]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("steepness", STEEPNESS)
def test_lazy_l_ascd_picks_as_the_scan_while_something_is_known(steepness, loss):
    """As long as a lower bound is positive; after that any coordinate is as good as any other."""
    case, known = generic(steepness in ("gs", "gsl"), loss), []
    lazy, scan = both(case, "l-ascd", steepness=steepness, step="fixed")
    picks = watch(scan, 100, lambda point, pick: known.append(bounds_of(point)[0].max() > 0.0))
    first = known.index(False) if False in known else len(known)
    assert first > 3
    assert watch(lazy, first) == picks[:first]


@pytest.mark.parametrize("steepness", STEEPNESS)
def test_lazy_a_ascd_has_the_scans_set(steepness):
    case = generic(steepness in ("gs", "gsl"), "squared")
    lazy, scan = both(case, "a-ascd", steepness=steepness, step="fixed")
    sizes = []

    def look(point, pick):
        sizes.append(check_draw(lazy.rule, point, pick))
        assert scan.rule.active_count(point) == sizes[-1]

    watch(lazy, 120, look)
    assert min(sizes) < N / 2 < max(sizes)


@pytest.mark.parametrize("steps", [0, 1, 6, 30])
def test_lazy_a_ascd_is_uniform_on_its_set(steps):
    """At first all are in it, and a draw from all takes its time: there for fewer kinds of data, and a few of them."""
    n = N if steps else FEW
    cases = generic(False, "squared", n), hard("duplicates"), hard("all equal", n)
    for case in cases[:: 1 if steps > 1 else 2 + steps]:
        lazy, _ = both(case, "a-ascd", steepness="gs-s", step="fixed", seed=steps)
        watch(lazy, steps)
        lazy.descend(0, 0, descend.py_func)
        lower, upper = bounds_of(lazy.point)
        active = np.isin(np.arange(upper.size), ref.active_set("a-ascd", upper, lower))
        assert follows(redraws(lazy, 1300 if steps else 1000, seed=steps), active / active.sum())


def test_lazy_u_ascd_first_visits_are_uniform():
    """Every order of first visits is as likely as any other: checked for single visits and for pairs of them."""
    case, count = CASES["squared, wide, l1"], 1400  # of 9: two layers of a heap of which each has four below it
    problem = case.library("sparse")
    runs = np.array([watch(assemble(problem, "u-ascd", init="none", seed=seed), case.n) for seed in range(count)])
    assert np.array_equal(np.sort(runs), np.tile(np.arange(case.n), (count, 1)))
    for t in (0, 1, 4, 8):
        assert follows(runs[:, t], np.full(case.n, 1 / case.n))
    for t in (0, 3, 7):
        pairs = runs[:, t] * case.n + runs[:, t + 1]
        assert follows(pairs, (1.0 - np.eye(case.n)).ravel() / (case.n * (case.n - 1)))


# ------------------------------------------------------------------------------------------- hard data


@cache
def hard(kind, n=N):
    rng = np.random.default_rng(14)
    A = sparse_matrix(rng, D, n)
    if kind == "zero columns":
        A[:, ::4] = 0.0
    elif kind == "duplicates":
        A[:, n // 2 : -1] = A[:, : n // 2] * (-1.0) ** np.arange(n // 2)
    elif kind == "scales":
        A = A / np.linalg.norm(A, axis=0) * np.logspace(-6, 6, n)[rng.permutation(n)]
    elif kind == "all equal":
        A = np.eye(n)
    b = np.ones(n) if kind == "all equal" else A @ (rng.standard_normal(n) / np.maximum(np.abs(A).sum(axis=0), 1e-9))
    strength = 0.1 * np.abs(A.T @ b).max() if kind != "scales" else 1e-9
    return Case(kind, A, b, "squared", ascd.L1(strength), ref.L1(np.full(n, strength)))


def check_pick(case, rule, steepness, lazy, point, pick):
    """The pick has the largest bound, or for the steepest the largest score, up to rounding."""
    lower, upper = bounds_of(point)
    exact = ref.scores(case.reference(), steepness, point.x, case.reference().gradient(point.x))
    pairs = {"u-ascd": (upper, upper), "l-ascd": (lower, lower), "a-ascd": (upper, lower), "steepest": (exact, exact)}
    mine, best = pairs[rule]
    slack = score_tolerance(case.reference(), steepness, point.x, exact)
    slack += 1e-12 * rate_of(lazy) * point.intervals.lengths[0]
    assert mine[pick] == best.max() or mine[pick] + slack[pick] >= np.max(best - slack)


KINDS = ("zero columns", "duplicates", "scales", "all equal")
COMPOSITE = ("gs-s", "gs-r", "gs-q", "gsl-s", "gsl-r", "gsl-q")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steepness", COMPOSITE)
def test_lazy_picks_attain_the_scans_bounds(kind, steepness):
    """Every two of data, steepness and rule meet."""
    case, turn = hard(kind), KINDS.index(kind) + COMPOSITE.index(steepness)
    for rule in list(RULES)[turn % 2 :: 2]:
        lazy, scan = both(case, rule, steepness=steepness, init="none" if rule == "a-ascd" else "gradient")

        watch(lazy, 60, lambda point, pick, lazy=lazy, rule=rule: check_pick(case, rule, steepness, lazy, point, pick))
        if rule == "a-ascd":
            assert lazy.rule.active_count(lazy.point) == scan.rule.active_count(lazy.point)


# ------------------------------------------------------------------------------------- heap and sorting


# ------------------------------------------------------------------------------------- uniform picks
