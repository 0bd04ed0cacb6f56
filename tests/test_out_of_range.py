"""Numbers near the ends of the range of float64: what they lose is covered by the gap, or refused.

With a weight of 4·10¹⁹⁰ a residual of 10⁻¹⁶⁷ would count 10⁻¹⁴³; its square alone is 0, and so were F and its share of
the gap.  Weights are 10²⁰ at most: then what is lost stays below 10⁻²⁹⁰, which counts as 0.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from fuzz.cases import Case
from fuzz.steps import faults
from pairs import in_pairs

import ascd
from ascd.problem.arithmetic import length_across, share_along, width_across
from ascd.problem.samples import dual_length
from ascd.problem.terms import Terms

#: What counts as 0.
SMALLEST = Fraction(1, 10**290)
LOSSES = {"squared": ascd.Squared(), "huber": ascd.Huber(1.0), "huber of 1e-200": ascd.Huber(1e-200)}


def exact(loss, weight, residual):
    """weight·loss in fractions."""
    size, weight = abs(Fraction(residual)), Fraction(weight)
    threshold = Fraction(getattr(loss, "threshold", 1e300))
    return weight * (size * size / 2 if size <= threshold else threshold * (size - threshold / 2))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weight", [1e-300, 1.0, 1e20])
@pytest.mark.parametrize("x", [3e-167, 1e-180, 1e-200, 1e-160, 3e-120])
def test_gaps_cover_squares_that_underflow(name, weight, x):
    problem = ascd.Problem([[1.5]], [0.0], LOSSES[name], sample_weight=[weight])
    value = exact(LOSSES[name], weight, 1.5 * x)
    assert Fraction(problem.gap([x])) >= value * (1 - Fraction(1, 10**9)) - SMALLEST
    assert float(problem.objective([x])) == pytest.approx(float(value), rel=1e-12, abs=1e-290)


@pytest.mark.parametrize(("loss", "x", "target"), [("logistic", 740.0, 1.0), ("poisson", -740.0, 0.0)])
def test_gaps_cover_exponentials_that_underflow(loss, x, target):
    problem = ascd.Problem([[1.0]], [target], loss, sample_weight=[1e20])
    assert Fraction(problem.gap([x])) >= Fraction(np.exp(-740.0 + 20.0 * np.log(10.0))) - SMALLEST


@pytest.mark.parametrize("loss", [ascd.Squared(), ascd.Huber(1e250)])
def test_squares_that_overflow_are_infinite(loss):
    problem = ascd.Problem([[1.0]], [1e200], loss, sample_weight=[1e-300])
    assert problem.objective([0.0]) == problem.gap([0.0]) == math.inf


@pytest.mark.parametrize("weight", [1.1e20, 4e190])
def test_weights_that_no_data_have_are_refused(weight):
    with pytest.raises(ValueError, match="sample_weight must be at most 1e\\+20; the largest entry is"):
        ascd.Problem(np.eye(2), [1.0, 1.0], sample_weight=[1.0, weight])


# --- Raw gradients whose squares, or the squares of whose products, leave float64's range: they prove nothing


SCALES = (1e-300, 1e-170, 1e-155, 1e-140, 1e-20, 1e20)


def lasso(d=12, n=24):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((d, n))
    return A, A[:, :5].sum(axis=1) + rng.standard_normal(d)


@pytest.mark.parametrize("scale", SCALES)
def test_gaps_of_a_path_are_those_of_the_same_problem_with_other_weights(scale):
    A, b = lasso(6, 12)
    alphas = np.abs(A.T @ b).max() * np.geomspace(1.0, 0.05, 3)
    path = ascd.path(
        ascd.Problem(A, b, penalty=ascd.L1(1.0), sample_weight=np.full(6, scale)), alphas * scale, tol=1e-3
    )
    usual = ascd.path(ascd.Problem(A, b, penalty=ascd.L1(1.0)), alphas, tol=1e-9)
    assert np.all(path.objectives - path.gaps <= usual.objectives * scale * (1.0 + 1e-12))
    assert path.status == "converged"


@in_pairs(scale=SCALES, oracle=["norm", "reference"], rule=["ascd", "u-ascd", "block", "working-set"])
def test_intervals_hold_with_every_weight(scale, oracle, rule):
    A, b = lasso(6, 4)
    penalty = {"strength": 0.05 * scale * np.abs(A.T @ b).max()}
    options = {"rule": rule, "oracle": oracle, "max_iter": 60, "tol": 0.0, "rng": 0}
    case = Case("steps", A, b, penalty="L1", parameters=penalty, weight=np.full(6, scale), options=options)
    assert list(faults(case)) == []


def test_widths_across_a_raw_gradient():
    assert width_across(1e300, 6e149 * 1e10, 1e20) == pytest.approx(8e149)
    assert width_across(1e300, 6e199, 1e100) == pytest.approx(8e149)
    assert width_across(25.0, 3e-170, 1e-340) == pytest.approx(5.0)
    assert width_across(25.0, 3e170, np.inf) == pytest.approx(5.0)


@pytest.mark.parametrize("scale", [1e-170, 1e-10, 1e170])
def test_compiled_lengths_divide_by_the_weight_first(compiled, scale):
    """θ²/s of θ = s·r is r²·s; the fuzzer's seed 9951000000019 of the family weighed had a reach of 0."""
    residual, weight = np.arange(1.0, 41.0), np.full(40, scale)
    assert dual_length(residual * weight, weight) == pytest.approx(np.sqrt(scale * np.sum(residual**2)))


def test_what_a_raw_gradient_out_of_range_tells():
    for square in (0.0, 1e-300, 1e305, np.inf, np.nan):
        assert share_along(1.0, square) == 0.0
        assert length_across(0.0, 0.0, square) > 1e300
        assert 0.0 * length_across(0.0, 0.0, square) == 0.0, "an empty column has an entry of 0"
    assert share_along(3.0, 2.0) == 1.5
    assert length_across(3.0, 1.0, 5.0) == 2.0
    for lost in (math.inf, math.nan):
        assert 0.0 * length_across(3.0, lost, 5.0) == 0.0


def test_a_product_that_is_no_number_is_not_at_rest():
    estimate, radius = np.array([[np.nan], [0.5], [0.5], [2.0]]), np.array([0.0, 0.0, np.nan, 0.0])
    terms = Terms(ascd.L1(1.0).check(4), np.ones(4))
    assert terms.undecided(np.zeros((4, 1)), estimate, radius).tolist() == [0, 2, 3]
