"""What docs/selection.md proves about selection, checked step by step against exact gradients:

- scores are Lipschitz in the gradient entry, so bounds drift no faster than the clock;
- look-ahead's set keeps UCD ≤ ASCD ≤ SCD at every step of its life, and lives long enough to pay for its making;
- the reference oracle's interval contains the truth, is the tightest of its kind, and its refreshes are paid for;
- adaptive sampling is never worse than ASCD for any gradient inside the intervals;
- blocks take the best k, and each of their steps descends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import reference as ref
from lockstep import gradient_scale, record, score_tolerance
from problems import CASES
from selection import (
    INF, LOSSES, adaptive_chances, bounds_of, equip, follows, regression, sparse_matrix, standing_still, watch,
)  # fmt: skip

import ascd
from ascd.descent import descend
from ascd.oracles import reference
from ascd.steepness import STEEPNESS, as_steepness

SPARSE, BOXED = CASES["squared, sparse, l1, weights"], CASES["logistic, zero_column, box"]


def suits(case, steepness):
    return case.is_smooth or not STEEPNESS[steepness][2]


# ---------------------------------------------------------------------------------- drift of the bounds


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
        for _ in range(40):
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
        assembly = equip(case.library(), "uniform", steepness=steepness, x0=case.x0)
        norm, clock = case.reference().norms, assembly.point.intervals.clock
        drift = assembly.point.intervals.steepness.rates(norm).max()
        lower, upper, times = [], [], []

        def look(point, pick, seen=(lower, upper, times)):
            for values, value in zip(seen, (*bounds_of(point), point.intervals.clock[0]), strict=True):
                values.append(value)

        picks = watch(assembly, 40, look)
        slack = score_tolerance(case.reference(), steepness, assembly.point.x, norm) + 1e-10 * drift * clock[0]
        for t in range(39):
            others = np.arange(case.n) != picks[t]
            rise = upper[t + 1] - upper[t] - drift * (times[t + 1] - times[t])
            fall = lower[t] - lower[t + 1]
            assert np.all((rise <= slack) & (fall >= -slack), where=others)
            if steepness == "gsl-s":
                others &= norm > 0.0
                assert np.all(np.abs(rise) <= slack, where=others & (upper[t] > 0.0))
                short = fall - drift * (times[t + 1] - times[t])
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


LOOKS = [regression(30, 150, "squared", seed=3), regression(30, 150, "logistic", seed=4), SPARSE, BOXED]


@pytest.mark.parametrize("oracle", ["norm", "exact", "random", "cached", "reference"])
@pytest.mark.parametrize("steepness", ["gs-s", "gs-q"])
def test_lookahead_keeps_the_sandwich(interpreted, oracle, steepness):
    smallest = []
    for case in LOOKS:
        assembly = equip(case.library("sparse"), "look-ahead", oracle, steepness=steepness)

        def look(point, pick, case=case, rule=assembly.rule):
            check_sandwich(case, steepness, rule, point, pick)
            smallest.append(rule.whole[1] / case.n)

        watch(assembly, 120 if case.n > 100 else 60, look)
    assert min(smallest) < 0.2


class CountBuilds(NamedTuple):
    """Look-ahead that writes down at which steps it built a set."""

    rule: Any
    built: np.ndarray

    def select(self, point: Any, t: int, rng: Any) -> int:
        pick = self.rule.select(point, t, rng)
        self.built[t] = self.rule.whole[2] == 1
        return pick

    def active_count(self, point: Any) -> int:
        return self.rule.active_count(point)


def test_lookahead_window_pays_for_itself(compiled):
    n, steps = 2000, 20_000
    assembly = equip(regression(400, n, share=0.2, seed=5).library("sparse"), "look-ahead")
    counting = CountBuilds(assembly.rule, np.zeros(steps))
    assembly.descend(0, steps, rule=counting)
    for part in np.split(counting.built[steps // 4 :], 3):
        assert part.sum() <= 2.0 * part.size * 64 / n
