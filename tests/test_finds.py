"""What was found wrong once, by the fuzzer or by hand: each failed before it was fixed.

``finds.txt`` has a line for every find: what it was, how it must end (converged, or with any status), and the case as
the fuzzer prints it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from fuzz.cases import Case
from fuzz.checks import judge
from fuzz.steps import faults

import ascd
from ascd._core.jit import debugging

FINDS = [line.split(" | ", 2) for line in (Path(__file__).parent / "finds.txt").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("name", "ended", "text"), FINDS, ids=[find[0] for find in FINDS])
def test_no_find_comes_back(long_way, name, ended, text):
    outcome, violations = judge(eval(text, {"Case": Case, "np": np}))
    assert violations == []
    assert outcome.error is None
    assert ended != "converged" or outcome.answers[-1].status == "converged"


def test_the_rounding_of_a_start_is_counted():
    """Ax of a given x is a sum of two hundred terms of one sign, and of two hundred that cancel them."""
    rng = np.random.default_rng(0)
    A = 1.0 + 1e-3 * rng.standard_normal((5, 400))
    x0 = 1e6 * np.repeat([1.0, -1.0], 200) * rng.random(400)
    options = {"rule": "u-ascd", "oracle": "norm", "x0": x0, "max_iter": 1, "tol": 0.0, "rng": 0}
    b = A @ x0 + rng.standard_normal(5)
    assert list(faults(Case("steps", A, b, penalty="L1", parameters={"strength": 1.0}, options=options))) == []


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_an_intercept_that_is_off_by_its_last_digit_has_a_gap(loss):
    """Rounded residuals may sum to 0 where the exact ones do not: then the gap was 0."""
    rng, uneven = np.random.default_rng(0), 0
    for rounds in [0, 1, 2, 3] * 15:
        b, start = 0.5 * rng.standard_normal(2), rng.standard_normal(1)
        problem = ascd.Problem(np.ones((2, 1)), b, loss, ascd.L1(1e3))
        found = ascd.solve(problem, x0=start, intercept=True, max_iter=rounds)
        if found.x[0] == 0.0:
            above = (Fraction(found.intercept) - (Fraction(b[0]) + Fraction(b[1])) / 2) ** 2
            uneven += above > 0
            assert above <= found.gap
    assert uneven > 3


def test_a_square_that_underflows_is_not_lost(compiled):
    """½·l2·x² is 4e-186 and x² is below float64; compiled, because reordered products are what lost it."""
    penalty = ascd.L1L2(l1=[0.0, 0.0], l2=[8e140, 8e140])
    box = ascd.BoundedL1L2(l1=0.0, l2=8e140, lower=-1.0, upper=1.0)
    for each in (penalty, box):
        with debugging(True):
            problem = ascd.Problem([[0.0, 0.0]], [0.0], penalty=each)
        assert problem.objective([1e-163, 0.0]) == pytest.approx(4e-186, rel=1e-12, abs=0.0)


# ------------------------------------------------------------------------------------------- errors

EYE, Y = np.eye(3), np.ones((3, 2))


def solve(**options):
    return ascd.solve(ascd.Problem(EYE, Y, penalty=ascd.L21(0.1)), **options)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ascd.Problem([[1.6e157]], [0.0], sample_weight=[0.0]), "norm is above 1e.60: rescale A"),
        (lambda: ascd.Problem(EYE, 3.0), "b must have the shape"),
        (lambda: ascd.Problem(EYE, None), "b must have the shape"),
        (lambda: ascd.Problem(EYE, Y, penalty=ascd.L21), r"as L21\(...\); got <function"),
        (lambda: ascd.Problem(EYE, [0, 1, 10**12], "softmax"), "the largest is 1000000000000: number"),
        (lambda: ascd.Problem(EYE, Y, groups=[np.nan, 1.0, 2.0]), "the label of column 0 is nan"),
        (lambda: solve(x0="a"), "x0 must hold real numbers"),
        (lambda: solve(intercept=True, intercept0="a"), "intercept0 must hold real"),
        (lambda: solve(intercept=True, intercept0=[1, 2, 3]), "for each of 2; got 3"),
    ],
)
def test_input_that_cannot_be_is_named(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


@pytest.mark.parametrize("penalty", [ascd.L1, ascd.L2, partial(ascd.L1L2, 0.0), partial(ascd.BoundedL1L2, 0.0)])
def test_strengths_that_overflow_with_their_weights_are_refused(penalty):
    with pytest.raises(ValueError, match=r"l[12] must be at most 1e\+150 with its weights; got 1e\+151"):
        ascd.Problem(np.eye(2), [1.0, 1.0], penalty=penalty(1e140, weights=1e11))
    fitting = ascd.Problem(np.eye(2), [1.0, 1.0], penalty=penalty(1e130, weights=1e11))
    with pytest.raises(ValueError, match="alphas must be smaller: with 1e\\+10 the penalty overflows"):
        ascd.path(fitting, alphas=[1e10])
