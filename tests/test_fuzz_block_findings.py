"""What the fuzzer found on blocks and on data in other places, made small; each failed before it was mended."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.cases import Case
from fuzz.checks import judge

import ascd

#: Models that take ten thousands of sweeps.
pytestmark = pytest.mark.usefixtures("compiled_sweeps")

FINDINGS = {
    # constants were 0/0 where no sample counts
    "no weights": Case(
        "solve_blocks", np.array([[0.0]]), np.array([[0.0]]), weight=np.array([0.0]), options={"intercept": True}
    ),
    # NumPy's error about the largest of no numbers
    "no weights of classes": Case(
        "solve_blocks", np.array([[1.0], [2.0]]), np.array([0, 1]), "softmax", penalty="L21",
        parameters={"strength": 0.1}, weight=np.zeros(2),
    ),
    # the intercept fits one sample: the tolerance referred to 1, which is more than F at zero
    "one sample": Case("solve_blocks", np.array([[0.0]]), np.array([0]), "softmax", options={"intercept": True}),
    # without a penalty classes were centred, below zero
    "positive without a penalty": Case(
        "path_blocks", np.array([[1.0], [-1.0], [2.0]]), np.array([0, 1, 2]), "softmax", penalty="GroupL2",
        parameters={"strength": 0.1, "groups": [[0]], "positive": True}, options={"alphas": np.array([1.0, 0.0])},
    ),
    # probabilities of 0 and 1: a step of the constants was a quotient of rounding errors, 1e62, and then no number
    "classes without samples": Case(
        "solve_blocks",
        np.array([
            [0.0977019272866384, 1.388652528449754, 0.7691724879076306],
            [2.350344117775249, -0.5754029489093986, -0.3411779041240195],
            [3.0196401713598062, 1.4083718785288784, 1.1086499260658476],
            [1.2351514183455703, 1.4102975841216194, -0.4054917550433126],
        ]),
        np.array([12, 13, 11, 12]), "softmax", penalty="GroupL2",
        parameters={
            "strength": 0.02061023856771769, "groups": [[0], [1], [2]],
            "weights": np.array([0.0002609043338837952, 366742.81637876754, 1.3334551669256613e-06]),
        },
        weight=np.array([0.40006835292770193, 0.7463200374613284, 0.6580982383817309, 0.577516459334068]),
        storage="csc", options={"tol": 1e-10, "max_iter": 3, "intercept": True},
    ),
    # squares of a gradient of 1e-240 are 0: zero coefficients were called optimal
    "a small gradient": Case(
        "solve_blocks", np.array([[1e-140]]), np.array([1e-100]), penalty="GroupL2",
        parameters={"strength": 1e-245, "groups": [[0]]},
    ),
    "a small gradient and a ridge": Case(
        "solve_blocks", np.array([[1e-140]]), np.array([1e-100]), penalty="GroupL2",
        parameters={"strength": 1e-245, "groups": [[0]], "ridge": 1e-285},
    ),
}  # fmt: skip


@pytest.mark.parametrize("scale", [1e-170, 1e-40, 1e40])
def test_a_block_is_solved_where_squares_leave_the_range(scale):
    """Coefficients of 1e-170, whose squares are 0, and gradients of 1e240, whose squares are not finite."""
    A, b = np.array([[1.0, 0.1], [0.5, 2.0]]), np.array([1.0, 3.0])
    unit, target = {1e-170: (1e150, 1e-20), 1e-40: (1e140, 1e100), 1e40: (1e-140, 1e-100)}[scale]
    penalty = ascd.SparseGroup(0.1 * unit * target, 0.2 * unit * target, [[0, 1]])
    found = ascd.solve(ascd.Problem(unit * A, target * b, penalty=penalty), tol=1e-10)
    plain = ascd.solve(ascd.Problem(A, b, penalty=ascd.SparseGroup(0.1, 0.2, [[0, 1]])), tol=1e-10)
    assert found.converged
    np.testing.assert_allclose(found.x / scale, plain.x, rtol=1e-4)


@pytest.mark.parametrize("name", FINDINGS)
def test_what_was_found_is_mended(name):
    assert judge(FINDINGS[name])[1] == []


def test_the_largest_alpha_may_be_beyond_any_bound_but_float64s():
    """A gradient of 1e202: the factor 2^400 seemed to show that no alpha makes the coefficients zero."""
    A, Y = np.array([[1.0], [-2.0], [4.0]]), np.array([[1.0, 2.0], [0.5, -1.0], [1.0, 1.0]])
    found = ascd.path(ascd.Problem(1e79 * A, 1e123 * Y, penalty=ascd.L21(1.0)), n_alphas=3)
    assert found.alphas[0] == pytest.approx(1e202 * np.linalg.norm(A.T @ Y), rel=1e-9)
    assert not found.coefs[..., 0].any()


@pytest.mark.parametrize("unit", [1.0, 2.0**490])
def test_a_block_whose_squared_norm_overflows_proves_nothing_false(unit):
    """Each column's square is a number, their sum is not: the radius was nan, and a gap of 0 "proved"."""
    A, b = unit * np.array([[7.509, 7.514], [7.51, 7.4998], [7.507, 7.5156]]), np.array([134.0, -169.0, 83.0])
    weight, penalty = np.array([2e11, 1e-12, 6e-11]), ascd.SparseGroup(3.5e11 * unit, 3.1e10 * unit, [[0, 1]])
    problem = ascd.Problem(A, b, "huber", penalty, sample_weight=weight)
    found = ascd.solve(problem, tol=1e-4)
    best = ascd.solve(problem, tol=1e-9, x0=np.array([[0.0], [17.8 / unit]]))
    assert found.objective - best.objective <= found.gap
    assert found.converged


@pytest.mark.parametrize("outputs", [1, 3])
def test_targets_far_from_zero_do_not_stop_hubers_loss(outputs):
    """No sample has a curvature at zero coefficients: the model had no minimum, and the run stalled at the start."""
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((40, 12)), rng.standard_normal((12, outputs))
    problem = ascd.Problem(A, 1000.0 * A @ x, "huber", ascd.GroupL2(5.0, groups=3))
    found = ascd.solve(problem, tol=1e-8)
    assert found.converged
    assert found.objective < 0.5 * found.zero_objective


A, Y = np.eye(3), np.ones((3, 2))


def solve_problem(**options):
    ascd.solve(ascd.Problem(A, Y, penalty=ascd.L21(0.1)), **options)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ascd.Problem(A, 3.0), ValueError, "b must have the shape"),
        (lambda: ascd.Problem(A, None), ValueError, "b must have the shape"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.L21), TypeError, r"as L21\(...\); got the class itself"),
        (lambda: ascd.Problem(A, [0, 1, 10**12], "softmax"), ValueError, "the largest is 1000000000000: number"),
        (lambda: ascd.Problem(A, Y, groups=[np.nan, 1.0, 2.0]), ValueError, "the label of column 0 is nan"),
        (lambda: solve_problem(x0="a"), TypeError, "x0 must hold real numbers"),
        (lambda: solve_problem(intercept=True, intercept0="a"), TypeError, "intercept0 must hold real"),
        (lambda: solve_problem(intercept=True, intercept0=[1, 2, 3]), ValueError, "for each of 2; got 3"),
    ],
)
def test_wrong_input_of_blocks_is_named(make, error, words):
    with pytest.raises(error, match=words):
        make()
