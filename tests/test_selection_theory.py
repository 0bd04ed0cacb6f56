"""What docs/selection.md proves about selection, checked step by step against exact gradients:

- scores are Lipschitz in the gradient entry, so bounds grow no faster than the step lengths;
- blocks take the best k, and each of their steps descends.

The reference oracle is at the end.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import reference as ref
from lockstep import assemble, check_bounds, gradient_scale, score_tolerance
from problems import CASES, Case
from selection import LOSSES, bounds_of, regression, watch

import ascd
from ascd.engine import descent
from ascd.engine.oracles.reference import HAS_REFERENCE, REFERENCE_SQUARE, Referenced
from ascd.engine.steepness import STEEPNESS, as_steepness

pytestmark = pytest.mark.usefixtures("lazy_everywhere")

SPARSE, BOXED = CASES["squared, sparse, l1, weights"], CASES["logistic, zero_column, box"]


def suits(case, steepness):
    return case.is_smooth or steepness not in ("gs", "gsl")


# --------------------------------------------------------------------------------- growth of the bounds


@pytest.mark.parametrize("steepness", STEEPNESS)
def test_scores_are_lipschitz(steepness):
    rng = np.random.default_rng(1)
    for case in CASES.values():
        if not suits(case, steepness):
            continue
        problem, parts = case.reference(), case.library().parts
        compiled = as_steepness(steepness, parts)
        constant = 1.0 / np.sqrt(problem.Lj) if steepness.startswith("gsl") else np.ones(case.n)
        np.testing.assert_allclose(compiled.rates(parts.norm), constant * problem.norms, rtol=1e-12)
        scale = gradient_scale(problem, case.start)
        for _ in range(15):
            x = np.clip(rng.choice([0.0, 0.3, 1.0]) * rng.standard_normal(case.n), case.twin.lower, case.twin.upper)
            one = scale * rng.standard_normal(case.n)
            other = one + scale * rng.standard_normal(case.n) * 10.0 ** rng.integers(-6, 1)
            scores = [[compiled.score(parts.penalty, j, x[j], g[j]) for j in range(case.n)] for g in (one, other)]
            slack = sum(score_tolerance(problem, steepness, x, g) for g in (one, other))
            assert np.all(np.abs(np.subtract(*scores)) <= constant * np.abs(one - other) * (1 + 1e-9) + slack)


@pytest.mark.parametrize("steepness", STEEPNESS)
def test_order_of_upper_bounds_is_static(steepness):
    """Between visits ℓ and u − ρG never rise; for gsl-s u − ρG and ℓ + ρG do not change at all."""
    for case in filter(lambda case: suits(case, steepness), CASES.values()):
        assembly = assemble(case.library(), "uniform", steepness=steepness, x0=case.x0)
        norm, lengths = case.reference().norms, assembly.point.intervals.lengths
        rate = assembly.point.intervals.steepness.rates(norm).max()
        lower, upper, times = [], [], []

        def look(point, pick, seen=(lower, upper, times)):
            for values, value in zip(seen, (*bounds_of(point), point.intervals.lengths[0]), strict=True):
                values.append(value)

        picks = watch(assembly, 40, look)
        slack = score_tolerance(case.reference(), steepness, assembly.point.x, norm) + 1e-10 * rate * lengths[0]
        for t in range(39):
            others = np.arange(case.n) != picks[t]
            rise = upper[t + 1] - upper[t] - rate * (times[t + 1] - times[t])
            fall = lower[t] - lower[t + 1]
            assert np.all((rise <= slack) & (fall >= -slack), where=others)
            if steepness == "gsl-s":
                others &= norm > 0.0
                assert np.all(np.abs(rise) <= slack, where=others & (upper[t] > 0.0))
                short = fall - rate * (times[t + 1] - times[t])
                assert np.all(np.abs(short) <= slack, where=others & (lower[t + 1] > 0.0))


# ---------------------------------------------------------------------------------------------- blocks

LARGER = [regression(30, 150, "squared", seed=3), regression(30, 150, "logistic", seed=4)]


@pytest.mark.parametrize(("size", "share"), [(2, 0.3), (3, 0.9), (5, 1.0), (1000, 0.01), (7, 0.3)])
def test_block_takes_the_best_k(size, share):
    for seed, case in enumerate([SPARSE, BOXED, *LARGER, *CASES.values()]):
        init = ("gradient", "none")[seed % 2]
        assembly = assemble(case.library(), ascd.Block(size, share), x0=case.x0, init=init)

        def look(point, pick, rule=assembly.rule, size=size):
            members = rule.members[: rule.queue[1]]
            assert pick == members[rule.queue[0] - 1]
            if rule.queue[0] > 1 or bounds_of(point)[1].max() == 0.0:
                return
            upper = bounds_of(point)[1]
            able = np.sort(upper[upper >= share * upper.max()])[::-1]
            assert np.unique(members).size == members.size
            np.testing.assert_allclose(upper[members], able[:size], rtol=1e-12)

        watch(assembly, 30, look)


# --- the reference oracle: its interval contains every gradient entry, is as tight as can be, and is paid for


def check_intervals(case, oracle, point):
    """Every tightened interval, against the gradient that NumPy computes from x."""
    problem, intervals = case.reference(), point.intervals
    v = problem.s * problem.loss.derivative(problem.b, problem.A @ point.x)
    scale = np.linalg.norm(problem.A, axis=0) * (np.linalg.norm(v) + math.sqrt(oracle.account[REFERENCE_SQUARE]))
    for j, gradient in enumerate(problem.A.T @ v):
        middle, radius = intervals.extra.tighten(j, intervals.estimate[j], intervals.radius_at(j))
        assert radius >= 0.0
        assert abs(gradient - middle) <= radius + 1e-9 * scale[j] + 1e-300
        middle, radius = intervals.extra.tighten(j, 0.0, math.inf)  # the reference alone
        assert abs(gradient - middle) <= radius + 1e-9 * scale[j] + 1e-300
    check_bounds_over(problem, point)
    if oracle.account[HAS_REFERENCE]:
        check_widths(problem.A, oracle)


def check_bounds_over(problem, point):
    """The bounds on the scores are those over the tightened intervals."""
    intervals, n = point.intervals, point.x.size
    pairs = [intervals.extra.tighten(j, intervals.estimate[j], intervals.radius_at(j)) for j in range(n)]
    check_bounds(problem, "gs-s", (point.x, *np.array(pairs).T), bounds_of(point))


def check_widths(A, oracle):
    """w_j is the length of what is orthogonal to v_ref in a_j, a little more, whatever the samples weigh."""
    unit = oracle.vector / max(np.linalg.norm(oracle.vector), 1e-300)
    across = np.linalg.norm(A - np.outer(unit, unit @ A), axis=0)
    longer = oracle.bound.width - across
    size = np.linalg.norm(A, axis=0)
    assert np.all((longer >= 0.0) & (longer <= 2e-6 * size))


def cases_of(loss):
    """Sample weights: none, some, and some of them 0."""
    weight = 0.1 + np.arange(15.0) % 4
    for seed, weights in enumerate([None, weight, weight * (np.arange(15) % 3 > 0)]):
        yield regression(15, 20, loss, seed=seed, weights=weights)
    yield from (case for case in CASES.values() if case.loss == loss)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_reference_interval_contains_the_truth(monkeypatch, loss, storage):
    """Every problem in both storages and with both steps."""
    count = count_refreshes(monkeypatch)
    for seed, case in enumerate(cases_of(loss)):
        step = ("coordinate", "line-search")[(seed + (storage == "sparse")) % 2]
        rule, init = ("block", "uniform", "a-ascd", "working-set")[seed % 4], ("gradient", "none")[seed % 2]
        patience = (0.05, 0.5)[seed % 2]
        assembly = assemble(
            case.library(storage), rule, ascd.Reference(patience), step=step, init=init, x0=case.x0, seed=seed
        )
        watch(assembly, 60, lambda point, pick, case=case, oracle=assembly.oracle: check_intervals(case, oracle, point))
    assert len(count) > seed


def test_reference_interval_contains_the_truth_for_nearly_parallel_columns():
    """Where w_j² is a difference of nearly equal numbers, its rounding must not shorten the interval."""
    rng = np.random.default_rng(2)
    for tilt in (1e-5, 1e-7, 3e-8, 1e-8, 3e-9):
        b = rng.standard_normal(6)
        A = b[:, None] * (0.5 + rng.random(8)) + tilt * rng.standard_normal((6, 8))
        A = np.column_stack([rng.standard_normal(6), A])
        case = Case("parallel", A, b, "squared", ascd.Zero(), ref.Zero(9))
        assembly = assemble(case.library(), "cyclic", ascd.Reference(1e9))
        assembly.descend(0, 0, descent.descend.py_func)
        assembly.oracle.refresh(assembly.point)
        watch(assembly, 20, lambda point, pick, case=case, oracle=assembly.oracle: check_intervals(case, oracle, point))


# ------------------------------------------------------------------------------------------- tightness


@pytest.mark.parametrize("seed", range(10))
def test_reference_interval_is_tight(seed):
    """Columns with the same norm and the same product with v_ref attain both ends."""
    rng = np.random.default_rng(seed)
    start, moving = rng.standard_normal(7), rng.standard_normal(7)
    change, norm = rng.standard_normal(), 1.0 + rng.random()
    product = norm * np.linalg.norm(start) * rng.uniform(-0.9, 0.9)
    now = start + change * moving
    rest = now - (now @ start) / (start @ start) * start
    parallel = product / (start @ start) * start
    across = math.sqrt(norm**2 - parallel @ parallel) * rest / np.linalg.norm(rest)
    ends = np.column_stack([parallel - across, parallel + across])
    np.testing.assert_allclose(np.linalg.norm(ends, axis=0), norm)
    np.testing.assert_allclose(ends.T @ start, product, atol=1e-12)

    problem = ascd.Problem(np.column_stack([moving, ends]), -start)  # v = Ax − b
    assembly = assemble(problem, "cyclic", "reference")
    point, oracle = assembly.point, assembly.oracle
    oracle.refresh(point)
    point.x[0] += change
    point.raw_gradient[:] = now
    oracle.measure(point)
    for j, gradient in zip((1, 2), ends.T @ now, strict=True):
        middle, radius = point.intervals.extra.tighten(j, 0.0, math.inf)
        assert gradient == pytest.approx(middle + (2 * j - 3) * radius, abs=1e-9)


# ----------------------------------------------------------------------------------------- refreshing


def count_refreshes(monkeypatch):
    """Every refresh from now on: (reads before it, reads after it)."""
    seen, refresh = [], Referenced.refresh

    def counting(self, point):
        before = point.reads[0]
        refresh(self, point)
        seen.append((before, point.reads[0]))

    monkeypatch.setattr(Referenced, "refresh", counting)
    return seen


def count_products(monkeypatch):
    """[how many inner products with a column have been computed]"""
    total, dot = [0], descent.dot

    def counting(matrix, j, vector):
        total[0] += 1
        return dot(matrix, j, vector)

    monkeypatch.setattr(descent, "dot", counting)
    return total


@pytest.mark.parametrize("patience", [0.05, 0.25, 2.0])
@pytest.mark.parametrize("rule", ["uniform", "block", "a-ascd"])
def test_reference_refresh_is_paid_for(monkeypatch, rule, patience):
    case, steps = regression(15, 40, seed=2), 600
    refreshes, products = count_refreshes(monkeypatch), count_products(monkeypatch)
    assembly, moves = assemble(case.library(), rule, ascd.Reference(patience)), []
    update = type(assembly.oracle).update

    def counting(self, point, i, change, rng):
        moves.append(point.reads[0])
        update(self, point, i, change, rng)

    monkeypatch.setattr(Referenced, "update", counting)
    watch(assembly, steps)
    assert assembly.point.reads[0] == products[0] == case.n + steps + len(refreshes) * case.n
    assert len(refreshes) > 1
    assert refreshes[0][0] == moves[0]
    for (_, since), (until, after) in pairwise(refreshes):
        wasted = until - since - sum(since < read <= until for read in moves)
        assert after - until == case.n
        assert wasted > patience * case.n
