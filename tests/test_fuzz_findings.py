"""What the fuzzer found on plain problems, made small where that was possible; each failed before it was mended."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from operator import mul

import numpy as np
import pytest
from fuzz.calls import CALLS, Answer, truth_of
from fuzz.cases import Case
from fuzz.checks import check_answer, judge
from fuzz.draw import draw
from fuzz.likely import TINY, with_oracle
from fuzz.steps import faults, watched

import ascd
from ascd._core.jit import debugging

pytestmark = pytest.mark.usefixtures("plain_python")


def test_intervals_hold_in_exact_arithmetic_after_a_long_step():
    """One step moves the clock by 2e7: the radius, a difference of such numbers, has lost the digits of the others."""
    case = draw(202000047767)
    A = [[Fraction(float(entry)) for entry in row] for row in case.A]
    for seen in watched(case):
        x = [Fraction(float(entry)) for entry in seen.x]
        slope = [sum(map(mul, row, x)) - Fraction(float(y)) for row, y in zip(A, case.b, strict=True)]
        for j, (middle, width) in enumerate(zip(seen.estimate, seen.radius, strict=True)):
            entry = sum(row[j] * v for row, v in zip(A, slope, strict=True))
            assert abs(entry - Fraction(float(middle))) <= Fraction(float(width))
    assert list(faults(case)) == []


@pytest.mark.parametrize("oracle", ["simulated", "exact", "cached"])
def test_the_rounding_of_estimates_that_are_sums_is_counted(oracle):
    """33 products were added to an estimate of 75: it was wrong by 5e-13, and 4.9e-13 were counted."""
    case = draw(2101000311395, False, "single")
    options = {**case.options, "oracle": oracle, "max_iter": 200}
    assert list(faults(replace(case, options=options))) == []


@pytest.mark.parametrize("oracle", ["stochastic", "norm", "reference", "exact"])
def test_the_rounding_of_steps_too_short_to_be_seen_is_counted(oracle):
    """x moves by an ulp, 33 times in one direction, and v stays: nothing but x tells of it."""
    case = with_oracle(draw(9942000038966))
    assert case.options["oracle"].failure < TINY
    options = {**case.options, "oracle": case.options["oracle"] if oracle == "stochastic" else oracle, "max_iter": 200}
    assert list(faults(replace(case, options=options))) == []


def test_the_rounding_of_a_start_is_counted():
    """Ax of a given x is a sum of two hundred terms of one sign, and of two hundred that cancel them."""
    rng = np.random.default_rng(0)
    A = 1.0 + 1e-3 * rng.standard_normal((5, 400))
    x0 = 1e6 * np.repeat([1.0, -1.0], 200) * rng.random(400)
    options = {"rule": "u-ascd", "oracle": "norm", "x0": x0, "max_iter": 1, "tol": 0.0, "rng": 0}
    case = Case(
        "steps", A, A @ x0 + rng.standard_normal(5), penalty="L1", parameters={"strength": 1.0}, options=options
    )
    assert list(faults(case)) == []


@pytest.mark.parametrize("seed", [2101000050975, 2101000945550, 2102000597479, 2103000125546])
def test_numbers_at_the_ends_of_float64(seed):
    """Huber's first scale; ½·Σb² = 1.4e308; a square before its weight; samples weighed by C, which lose a column."""
    assert judge(draw(seed, False, "single"))[1] == []


def test_the_point_of_row_chunks_is_the_one_that_is_certified():
    """Newton's steps on row chunks gave up; the loop went on, and the point where they began was returned as proved."""
    assert judge(draw(44001000014259))[1] == []


def test_an_exponential_of_rounding_may_be_infinite():
    """Products of 2e25 that cancel: where a run on a problem without a minimum ended after 385 passes."""
    truth = truth_of(draw(2103000753807, False, "single"))
    x = np.array([-0.9084379588925986, 0.0, 0.0, 0.0, 3.13505655073796e16, -2.3897382642093652e16])
    for objective, kinds in ((math.inf, []), (1.0, ["objective"])):
        assert [each.kind for each in check_answer(Answer(truth, x, 0.0, math.inf, objective, "stalled"))] == kinds


def test_an_objective_that_is_next_to_nothing_beside_its_constant():
    """P = σ·Σs + (2/σ)·F with F = 3e-173: what P is beside its constant is rounding, and a little more is wrong."""
    case = draw(202000013617)
    (answer,) = CALLS["HuberRegressor"](case)
    assert check_answer(answer) == []
    wrong = replace(answer, objective=answer.objective + 1e3 * answer.rounding)
    assert [violation.kind for violation in check_answer(wrong)] == ["objective"]


def test_an_overflow_is_seen_though_its_sample_does_not_count(interpreted):
    """Σ s·a² is 0·inf there, nan where it is compiled; Σ a² tells."""
    with pytest.raises(ValueError, match="squared norm overflows float64: rescale A"):
        ascd.Problem([[1.6e157], [1.6e157]], [2.0, 0.0], "poisson", sample_weight=[2.0, 0.0])
    with pytest.raises(ValueError, match="squared norm overflows float64: rescale A"):
        ascd.Problem([[1.9e157]], [1.9e157], "huber", sample_weight=[0.0])


def test_a_sum_of_squares_beyond_float64_is_no_violation(interpreted):
    """½·b² = 9.8e307 is a number, b² is none."""
    assert judge(Case("solve", np.array([[0.0]]), np.array([1.4e154])))[1] == []


def test_a_square_that_underflows_is_not_lost(compiled):
    """½·l2·x² is 4e-116 and x² is below float64; compiled, because reordered products are what lost it."""
    penalty = ascd.L1L2(l1=[1.0, 1.0], l2=[8e210, 8e210])
    box = ascd.BoundedL1L2(l1=1.0, l2=8e210, lower=-1.0, upper=1.0)
    for each in (penalty, box):
        with debugging(True):
            problem = ascd.Problem([[0.0, 0.0]], [0.0], penalty=each)
        assert problem.objective([1e-163, 0.0]) == pytest.approx(4e-116, rel=1e-12)


def test_targets_whose_squares_overflow_are_named(interpreted):
    """Each fit for a scale starts where the one before ended, where the objective may be infinite: not x0's fault."""
    X, y = [[9.9999998e7], [1.00000002e8]], [8.5e156, -6.3e155]
    model = ascd.HuberRegressor(fit_intercept=False, alpha=7.5, max_iter=5)
    with pytest.raises(ValueError, match="y most likely, contain large values"):
        model.fit(X, y, sample_weight=[4e-5, 1.3e6])


@pytest.mark.parametrize("max_iter", [0, 1, 3])
@pytest.mark.parametrize("penalty", [None, ascd.L21(0.0)])
def test_constants_that_cancel_twice_leave_the_image(interpreted, penalty, max_iter):
    """The mean of 0.08480574264207916 three times is off by a last place: 1e-17 hides coefficients of 1e-134 too."""
    A, b, x0 = np.array([[0.1144941], [1.11854595], [2.41957137]]), np.zeros(3), [1.68930901e-134]
    start = {"x0": x0, "intercept": True, "intercept0": 0.08480574264207916}
    solution = ascd.solve(ascd.Problem(A, b, penalty=penalty), **start, tol=0.0, max_iter=max_iter)
    image = A @ np.ravel(solution.x) + np.ravel(solution.intercept)
    assert solution.objective == pytest.approx(0.5 * float(image @ image), rel=1e-9, abs=0.0)


def test_curvatures_of_blocks_that_overflow_are_no_eigenvalues(interpreted):
    """exp of 1e14 at x0: products of columns are infinite, and no matrix for LAPACK."""
    A = 1e64 * np.array([[0.6, 0.9, 2.6, -0.4], [2.2, 0.8, -1.0, -3.0], [-0.1, 1.1, 0.3, 0.0], [0.8, 1.9, 0.9, -0.7]])
    penalty = ascd.SparseGroup(l1=1.0, l2=4.3e64, groups=[[0], [1, 2, 3]])
    problem = ascd.Problem(A, [0.8, 0.2, 1.1, 0.7], "poisson", penalty)
    solution = ascd.solve(problem, x0=[1.4e-50, 2.4e-49, -6.3e-49, -3.0e-49], intercept=True, max_iter=3)
    assert math.isfinite(solution.objective)


def test_a_cost_that_overflows_at_the_nearest_point_is_named(interpreted):
    """½·1e212·(1e75)² at the bound nearest to zero."""
    upper = np.array([0.0, -1e75])
    box = {"l2": 1e212, "lower": -3e75, "upper": upper}
    for family in ("solve", "path"):
        assert judge(Case(family, np.zeros((1, 2)), np.zeros(1), penalty="Box", parameters=box))[1] == []
    with pytest.raises(ValueError, match=r"cost\(0, 1\) is not finite, nor is it at -1e\+75, .* it overflows there"):
        ascd.solve(ascd.Problem(np.zeros((1, 2)), np.zeros(1), penalty=ascd.Box(**box)))


def test_a_linear_term_too_small_for_a_program(interpreted):
    """5e-324 over the length of its column is 0, and so was what the costs were divided by."""
    problem = ascd.Problem(np.full((2, 2), 3.0), [0.6, 0.2], penalty=ascd.L1(0.0, linear=5e-324))
    solution = ascd.solve(problem, intercept=True)  # it falls for ever, by 5e-324: no bound from below
    assert (solution.gap, solution.objective) == (math.inf, pytest.approx(0.04))


def test_an_automatic_grid_does_not_ask_for_smaller_alphas(interpreted):
    problem = ascd.Problem([[2e133]], [-1.0], "squared_hinge", ascd.L1L2(l1=1.0, l2=3e266))
    with pytest.raises(ValueError, match="alphas must be given: with 4e\\+133 the penalty overflows"):
        ascd.path(problem)


@pytest.mark.parametrize("penalty", [ascd.L1, ascd.L2, partial(ascd.L1L2, 0.0), partial(ascd.BoundedL1L2, 0.0)])
def test_strengths_that_overflow_with_their_weights_are_refused(interpreted, penalty):
    """Zero coefficients cost inf·0 = nan."""
    with pytest.raises(
        ValueError, match=r"weights times (strength|l2) must be finite; they are up to 1e\+11 and 1e\+300"
    ):
        ascd.Problem(np.eye(2), [1.0, 1.0], penalty=penalty(1e300, weights=1e11))
    fitting = ascd.Problem(np.eye(2), [1.0, 1.0], penalty=penalty(1e290, weights=1e11))
    with pytest.raises(ValueError, match="alphas must be smaller: with 1e\\+10 the penalty overflows"):
        ascd.path(fitting, alphas=[1e10])


def test_scores_of_coefficients_whose_squares_overflow(interpreted):
    rng = np.random.default_rng(0)
    X, Y = 1e-77 * rng.standard_normal((12, 2)), 1e148 * rng.standard_normal((12, 2))
    model = ascd.MultiTaskLassoCV(fit_intercept=False, alphas=3, cv=3, max_iter=5).fit(X, Y)  # warnings are errors
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("name", ["LassoCV", "MultiTaskLassoCV", "GroupLassoCV"])
def test_held_out_squares_that_overflow_are_named(interpreted, name):
    y = np.array([0.0, 1e156, 0.0])
    more = {"groups": [[0]]} if "Group" in name else {}
    model = getattr(ascd, name)(alphas=1, cv=3, **more)
    with pytest.raises(ValueError, match=r"y must not hold such large values: .* the largest is (1e\+156|5e\+155)"):
        model.fit(np.zeros((3, 1)), y[:, None] if "Task" in name else y)


def test_a_kink_that_overflows_at_the_nearest_point_is_a_reason(interpreted):
    strong = {"l1": 1e220, "upper": np.array([0.0, -1e100])}
    assert judge(Case("path", np.zeros((1, 2)), np.zeros(1), penalty="BoundedL1L2", parameters=strong))[1] == []
