"""Steps by the local curvature: below their model everywhere on the way, never shorter than 1/L_j's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lockstep import assemble
from reference.descent import local_curvature
from selection import regression, watch

import ascd
from ascd.engine.steps import Coordinate, LocalCurvature, as_step, growth
from ascd.engine.tuning import LARGEST_GROWTH, SMALL_GROWTH

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize("z", [0.0, 1e-9, 0.99 * SMALL_GROWTH, 1.01 * SMALL_GROWTH, 0.5, 3.0, 20.0])
def test_growth_is_its_series(z):
    series = math.fsum(2.0 * z**k / math.factorial(k + 2) for k in range(120))
    assert growth(z) == pytest.approx(series, rel=1e-11)


def test_growth_ends_somewhere():
    assert growth(LARGEST_GROWTH) == growth(1e300) == math.inf


def test_other_losses_take_the_usual_step():
    for loss, kind in {
        "logistic": LocalCurvature,
        "squared": Coordinate,
        "huber": Coordinate,
        "squared_hinge": Coordinate,
    }.items():
        assert isinstance(as_step("local", regression(15, 20, loss).library().parts), kind)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("weights", [None, np.arange(15.0) % 3])
def test_a_local_step_stays_below_its_model(scale, weights):
    """F on the whole way from x_j to the new x_j is at most the model with the curvature that the step was made by."""
    for seed in range(3):
        case = regression(15, 20, "logistic", seed=seed, weights=weights)
        problem, rng = case.reference(), np.random.default_rng(seed)
        for j in range(case.n):
            x = scale * rng.standard_normal(case.n)
            g = problem.gradient(x)[j]
            curvature = local_curvature(problem, x, j, g)
            new = problem.penalty.prox(x[j] - g / curvature, 1.0 / curvature, j)
            usual = problem.penalty.prox(x[j] - g / problem.Lj[j], 1.0 / problem.Lj[j], j)
            assert abs(new - x[j]) >= abs(usual - x[j]) * (1.0 - 1e-12)
            smooth = [problem.smooth_value(with_value(x, j, x[j] + t)) for t in np.linspace(0.0, new - x[j], 9)]
            for t, value in zip(np.linspace(0.0, new - x[j], 9), smooth, strict=True):
                assert value <= smooth[0] + g * t + curvature / 2 * t**2 + 1e-12 * abs(smooth[0])


def with_value(x, j, value):
    x = x.copy()
    x[j] = value
    return x


@pytest.mark.parametrize("rule", ["cyclic", "working-set"])
def test_every_local_step_descends_and_they_lead_further(rule, compiled):
    problem = regression(30, 40, "logistic", share=0.02, seed=4).library()
    reached = {}
    for step in ("coordinate", "local"):
        assembly, seen = assemble(problem, rule, "reference" if rule == "working-set" else "norm", step=step), []
        watch(assembly, 130, lambda point, pick, seen=seen: seen.append(problem.objective(point.x)))
        assert np.all(np.diff(seen) <= 1e-12 * seen[0])
        reached[step] = seen[-1]
    best = ascd.solve(problem, tol=1e-12).objective
    assert reached["local"] - best < 0.5 * (reached["coordinate"] - best)
