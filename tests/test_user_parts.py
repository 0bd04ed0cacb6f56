"""Parts of one's own run compiled, find the right minimum, and are told what they lack."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from compilations import compilations_of, only_loops_compiled
from scipy import optimize
from user_parts.my_parts import Asymmetric, Backwards, Frozen, Generous, LeastVisited, Partway, SmoothAbsolute

import ascd
from ascd.engine.descent import descend
from ascd.protocols import Loss, Oracle, Penalty, Rule, Step

D, N = 25, 6
RNG = np.random.default_rng(2)
A = RNG.standard_normal((D, N))
B = 3.0 * RNG.standard_normal(D) + 2.0 * A[:, 0]
UP, DOWN = 2.0, 0.5
WIDTH = 0.7


def smooth_absolute(z):
    return np.sum(WIDTH**2 * (np.sqrt(1.0 + ((z - B) / WIDTH) ** 2) - 1.0))


def squared(z):
    return 0.5 * np.sum((z - B) ** 2)


SLOPES = {smooth_absolute: lambda z: (z - B) / np.sqrt(1.0 + ((z - B) / WIDTH) ** 2), squared: lambda z: z - B}


def minimum(loss, up, down):
    """min loss(Ax) + up·Σx⁺ + down·Σx⁻ by SciPy on x = p − q."""

    def value(p):
        return loss(A @ (p[:N] - p[N:])) + up * p[:N].sum() + down * p[N:].sum()

    def slope(p):
        g = A.T @ SLOPES[loss](A @ (p[:N] - p[N:]))
        return np.r_[g + up, down - g]

    options = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 10_000}
    bounds = [(0.0, None)] * (2 * N)
    return optimize.minimize(value, np.zeros(2 * N), jac=slope, method="L-BFGS-B", bounds=bounds, options=options).fun


MINE = {"rule": LeastVisited(), "step": Partway(0.7), "oracle": Generous(1.5)}
# problem's parts, run's parts, the minimum
ALONE = {
    "loss": ({"loss": SmoothAbsolute(WIDTH), "penalty": ascd.L1(1.0)}, {}, (smooth_absolute, 1.0, 1.0)),
    "penalty": ({"penalty": Asymmetric(UP, DOWN)}, {}, (squared, UP, DOWN)),
    "penalty of arrays": ({"penalty": Asymmetric(np.full(N, UP), np.full(N, DOWN))}, {}, (squared, UP, DOWN)),
    "rule": ({"penalty": ascd.L1(1.0)}, {"rule": LeastVisited()}, (squared, 1.0, 1.0)),
    "rule that does not count": ({"penalty": ascd.L1(1.0)}, {"rule": Backwards()}, (squared, 1.0, 1.0)),
    "step": ({"penalty": ascd.L1(1.0)}, {"step": Partway(0.5)}, (squared, 1.0, 1.0)),
    "oracle": ({"penalty": ascd.L1(1.0)}, {"oracle": Generous(2.0)}, (squared, 1.0, 1.0)),
}
TOGETHER = {"loss": SmoothAbsolute(WIDTH), "penalty": Asymmetric(UP, DOWN)}, MINE, (smooth_absolute, UP, DOWN)


def solve(parts, options):
    solution = ascd.minimize(ascd.Problem(A, B, **parts), rng=0, tol=1e-8, **options)
    assert solution.converged
    return solution


@pytest.mark.parametrize(("parts", "options", "expected"), ALONE.values(), ids=ALONE)
def test_one_part_of_ones_own_finds_the_minimum(parts, options, expected):
    solution = solve(parts, options)
    assert solution.objective == pytest.approx(minimum(*expected), rel=1e-9)
    assert 0.0 <= solution.gap <= 1e-8 * solution.objective


def test_compiled_parts_do_what_the_interpreted_ones_do():
    """All at once: each of them alone, with the library's others, runs as plain Python above."""
    parts, options, expected = TOGETHER
    with compilations_of(descend) as compilations, only_loops_compiled():
        solution = solve(parts, options)
    assert solution.objective == pytest.approx(minimum(*expected), rel=1e-9)
    assert 0.0 <= solution.gap <= 1e-8 * solution.objective
    assert compilations.kept == [False]
    plain = solve(parts, options)
    assert plain.n_iter == solution.n_iter
    np.testing.assert_allclose(plain.x, solution.x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(plain.trace.objective, solution.trace.objective, rtol=1e-10)
    np.testing.assert_array_equal(plain.trace.active, solution.trace.active)


def test_an_oracle_that_is_not_safe_certifies_nothing():
    problem = ascd.Problem(A, B, penalty=ascd.L1(1.0))
    solution = ascd.minimize(problem, rule="cyclic", oracle=Frozen(), tol=1e-6, record=1)
    g = A.T @ (A @ solution.x - B)
    steep = np.where(solution.x != 0, np.abs(g + np.sign(solution.x)), np.maximum(np.abs(g) - 1.0, 0.0))
    assert solution.converged
    assert steep.max() <= 1e-6
    assert solution.trace.violations.max() > 0


CONTRACTS = {"loss": Loss, "penalty": Penalty, "rule": Rule, "step": Step, "oracle": Oracle}
EXAMPLES = {
    "loss": SmoothAbsolute(),
    "penalty": Asymmetric(1.0, 1.0),
    "rule": Backwards(),
    "step": Partway(0.5),
    "oracle": Generous(1.0),
}


def spoiled(part, **changes):
    """The same part from a class with some attributes changed or (None) removed."""
    kind = type(part)
    attributes = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
    fresh = NamedTuple(kind.__name__, [(field, Any) for field in kind._fields])
    for name, value in {**attributes, **changes}.items():
        if value is not None and name not in kind._fields:
            setattr(fresh, name, value)
    return fresh(*part)


def use(role, part):
    if role in ("loss", "penalty"):
        ascd.Problem(A, B, **{role: part})
    else:
        ascd.minimize(ascd.Problem(A, B), **{role: part})


ROLES = [
    (role, method) for role, contract in CONTRACTS.items() for method in vars(contract) if not method.startswith("_")
]


@pytest.mark.parametrize(("role", "method"), ROLES)
def test_a_missing_method_is_named(role, method):
    part = spoiled(EXAMPLES[role], **{method: None})
    with pytest.raises(TypeError, match=rf"{role} {type(part).__name__} lacks the method {method}\(self"):
        use(role, part)


class NoFields(NamedTuple):
    def select(self, point, t, rng):
        return 0


class Clash(NamedTuple):
    score: float = 1.0

    def select(self, point, t, rng):
        return 0


class Allocating(NamedTuple):
    unit: float = 1.0

    def select(self, point, t, rng):
        return int(np.zeros(3)[0])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (NoFields(), ["rule NoFields needs at least one field", "unit: float = 1.0"]),
        (Clash(), ["rule Clash", "rename the field 'score'"]),
        (lambda point: 0, ["rule must be a name or a NamedTuple", "select"]),
        (Backwards, ["rule must be a name or a NamedTuple", "got <class", "Backwards"]),
        (Allocating(), ["part of your own could not be compiled", "must not make new arrays", "ascd.helper"]),
    ],
)
def test_what_cannot_be_compiled_is_explained(rule, words, compiled):
    with pytest.raises(TypeError) as caught:
        use("rule", rule)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_the_error_for_a_loss_that_is_no_part_lists_all_that_it_needs():
    with pytest.raises(TypeError, match=r"methods value, derivative, .*, is_quadratic, curvature_bound; got 3$"):
        ascd.Problem(np.eye(3), np.ones(3), 3)


@pytest.mark.parametrize(
    ("bound", "error", "words"),
    [
        (None, TypeError, ["SmoothAbsolute", "lacks the method curvature_bound(self)"]),
        (lambda self: 0.0, ValueError, ["SmoothAbsolute.curvature_bound()", "(0", "0.0"]),
        (lambda self: -1.0, ValueError, ["SmoothAbsolute.curvature_bound()", "-1.0"]),
        (lambda self: "one", TypeError, ["SmoothAbsolute.curvature_bound()", "'one'"]),
    ],
)
def test_a_loss_must_know_its_curvature(bound, error, words):
    with pytest.raises(error) as caught:
        use("loss", spoiled(SmoothAbsolute(), curvature_bound=bound))
    assert all(word in str(caught.value) for word in words), str(caught.value)
