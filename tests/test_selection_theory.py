"""What docs/selection.md proves about selection, checked step by step against exact gradients:

- scores are Lipschitz in the gradient entry, so bounds grow no faster than the step lengths;
- look-ahead's set keeps UCD ≤ ASCD ≤ SCD at every step of its life, and lives long enough to pay for its making;
- adaptive sampling is never worse than ASCD for any gradient inside the intervals;
- blocks take the best k, and each of their steps descends.

The reference oracle's part is in ``test_selection_reference.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from lockstep import assemble, gradient_scale, record, score_tolerance
from problems import CASES
from selection import (
    INF,
    adaptive_chances,
    bounds_of,
    few_steep,
    follows,
    kinks,
    leaning,
    regression,
    standing_still,
    watch,
)

import ascd
from ascd._core.jit import Kernel
from ascd.engine.rules.ascd import STEPS_TAKEN
from ascd.engine.steepness import STEEPNESS, as_steepness

pytestmark = pytest.mark.usefixtures("lazy_everywhere")

SPARSE, BOXED = CASES["squared, sparse, l1, weights"], CASES["logistic, zero_column, box"]


def suits(case, steepness):
    return case.is_smooth or not STEEPNESS[steepness][2]


# --------------------------------------------------------------------------------- growth of the bounds


@pytest.mark.parametrize("steepness", STEEPNESS)
def test_scores_are_lipschitz(interpreted, steepness):
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
def test_order_of_upper_bounds_is_static(interpreted, steepness):
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


# ------------------------------------------------------------------------------------------ look-ahead


def check_sandwich(case, steepness, rule, point, pick):
    """The mean of score² over the set beats every coordinate outside; the set has the pick and the steepest."""
    members = rule.members[: rule.whole[1]]
    gradient = case.reference().gradient(point.x)
    scores = ref.scores(case.reference(), steepness, point.x, gradient)
    slack = score_tolerance(case.reference(), steepness, point.x, gradient)
    outside = np.setdiff1d(np.arange(case.n), members)
    average = np.sqrt(np.mean((scores[members] + slack[members]) ** 2))
    assert pick in members
    assert np.unique(members).size == members.size
    assert np.all(scores[outside] - slack[outside] <= average)
    assert np.all(scores[outside] - slack[outside] <= np.max(scores[members] + slack[members]))


SHORT_STEPS = [few_steep(), leaning()]
LOOKS = [regression(30, 150, "squared", seed=3), regression(30, 150, "logistic", seed=4), SPARSE, BOXED, kinks()]


@pytest.mark.parametrize("oracle", ["norm", "exact", "random", "cached", "reference"])
@pytest.mark.parametrize("turn", [0, 1])
def test_lookahead_keeps_the_sandwich(interpreted, oracle, turn):
    """Every problem with every oracle, with one steepness or the other."""
    for number, case in list(enumerate(LOOKS + SHORT_STEPS))[turn::2]:
        steepness = ("gs-s", "gs-q")[(number // 2 + len(oracle)) % 2]
        step = "fixed" if case in SHORT_STEPS else "coordinate"
        assembly = assemble(case.library("sparse"), "look-ahead", oracle, steepness=steepness, step=step, x0=case.x0)
        small_and_old = []

        def look(point, pick, case=case, steepness=steepness, rule=assembly.rule, seen=small_and_old):
            check_sandwich(case, steepness, rule, point, pick)
            seen.append(rule.whole[1] <= case.n / 5 and rule.whole[2] > 5)

        watch(assembly, 70, look)
        assert any(small_and_old) or step != "fixed"


def test_lookahead_window_pays_for_itself(compiled):
    """Step by step: a set that has just been built has served one pick."""
    n, steps = 1000, 10_000
    assembly, ages = assemble(regression(200, n, share=0.2, seed=5).library("sparse"), "look-ahead"), []
    for t in range(steps):
        assembly.descend(t, t + 1)
        ages.append(assembly.rule.whole[STEPS_TAKEN])
    for part in np.split(np.array(ages[steps // 4 :]), 3):
        assert 0 < np.sum(part == 1) <= part.size * 64 / n
    small = regression(40, 20, seed=13).library("sparse")
    assembly = assemble(small, "look-ahead")
    assembly.descend(0, 20_000)
    assert small.objective(assembly.point.x) == pytest.approx(ascd.solve(small, tol=1e-10).objective, rel=1e-8)


# -------------------------------------------------------------------------------------------- adaptive


def random_bounds(rng, n):
    """Bounds with ties, zeros, exact scores and unknown ones."""
    lower = np.abs(rng.standard_normal(n)) * 10.0 ** rng.uniform(-2, 1, n) * (rng.random(n) < rng.uniform(0.2, 1.0))
    upper = lower + np.abs(rng.standard_normal(n)) * 10.0 ** rng.uniform(-3, 1) * (rng.random(n) < 0.8)
    upper[rng.random(n) < rng.choice([0.0, 0.2])] = INF
    if rng.random() < 0.5:
        lower, upper = np.floor(4 * lower) / 4, np.ceil(4 * upper) / 4
    return lower, upper


def worst_gain(lower, upper):
    """min over all scores within the bounds of Σ p_i score_i² − mean_I score_i², relative to the largest ℓ²."""
    chance, members = adaptive_chances(lower, upper)
    assert abs(chance.sum() - 1.0) < 1e-12
    weight = np.where(np.abs(chance - members / members.sum()) < 1e-15, 0.0, chance - members / members.sum())
    assert np.all(np.isfinite(upper[weight < 0.0]))
    score = np.where(weight < 0.0, upper, lower)
    return np.sum(weight * score**2) / max(lower.max() ** 2, 1e-300)


def test_adaptive_is_never_worse_than_ascd(interpreted):
    rng = np.random.default_rng(7)
    gains = [worst_gain(*random_bounds(rng, int(rng.integers(1, 40)))) for _ in range(1500)]
    assert min(gains) >= -1e-12
    assert np.mean(np.array(gains) > 1e-6) > 0.05
    assert worst_gain(*EXAMPLE) > 0.05


#: some that are steep, some that cannot be, and some that may be anything: lower and upper bounds
EXAMPLE = np.array([4.0, 3.0, 0.0, 0.0, 0.0]), np.array([4.5, 5.0, 3.9, 3.0, INF])
EQUAL = np.array([2.0, 2.0, 0.0, 0.5]), np.array([2.0, 2.0, 1.9, 1.8])
SHARED = np.array([2.0, 1.98, 1.99, *[0.0] * 6]), np.array([2.2, 2.1, 2.0, 5.0, 5.0, 5.0, 1.5, 1.5, 1.7])
PICKS = [EXAMPLE, EQUAL, SHARED, (np.zeros(4), np.array([1.0, 0.0, 2.0, INF]))]


def draw_many(rule, point, rng, picks):
    for t in range(picks.size):
        picks[t] = rule.select(point, t, rng)


@pytest.mark.parametrize("bounds", PICKS)
def test_adaptive_picks_with_these_chances(interpreted, bounds):
    """Compiled; the first picks are those of plain Python."""
    plain, compiled = (standing_still("adaptive", *bounds, seed=8) for _ in range(2))
    history, picks = record(plain, 200), np.empty(20_000, dtype=np.int64)
    np.testing.assert_allclose(history.upper[5], bounds[1], rtol=1e-15)
    Kernel(draw_many).compiled(compiled.rule, compiled.point, compiled.rng, picks)
    assert follows(picks, adaptive_chances(*bounds)[0])
    assert np.array_equal(picks[:200], history.picks)


# ---------------------------------------------------------------------------------------------- blocks


@pytest.mark.parametrize(("size", "share"), [(2, 0.3), (3, 0.9), (5, 1.0), (1000, 0.01), (7, 0.3)])
def test_block_takes_the_best_k(interpreted, size, share):
    for seed, case in enumerate([SPARSE, BOXED, LOOKS[0], LOOKS[1], *CASES.values()]):
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
