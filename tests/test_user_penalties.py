"""A penalty of one's own gets the library's answers whatever its fields are called; optional methods are checked."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from test_user_parts import spoiled
from user_parts.my_penalties import Between, Concave, Threshold, Tilted

import ascd
from ascd.problem.penalties import nearest_allowed
from ascd.solver.loop import Solver

D, N = 30, 8
RNG = np.random.default_rng(11)
A = RNG.standard_normal((D, N)) * (RNG.random((D, N)) < 0.7)
B = A @ np.linspace(-2.0, 3.0, N) + RNG.standard_normal(D)
STRENGTH = 0.2 * np.abs(A.T @ B).max()
# mine, the library's
TWINS = {
    "box [1, 2]": (Between(1.0, 2.0), ascd.Box(1.0, 2.0)),
    "box below 0": (Between(np.full(N, -2.0), np.linspace(-1.5, -0.1, N)), ascd.Box(-2.0, np.linspace(-1.5, -0.1, N))),
    "box around 0": (Between(-0.5, 0.5), ascd.Box(-0.5, 0.5)),
    "l1": (Threshold(STRENGTH), ascd.L1(STRENGTH)),
    "l1 of arrays": (Threshold(np.linspace(0.5, 1.5, N) * STRENGTH), ascd.L1(STRENGTH, np.linspace(0.5, 1.5, N))),
}
STORAGES = {"dense": lambda A: A, "sparse": sp.csc_array}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", TWINS)
def test_solve_minimize_and_path_give_the_librarys_answers(name, storage):
    pair = [ascd.Problem(STORAGES[storage](A), B, penalty=penalty) for penalty in TWINS[name]]
    for intercept in (False, True):
        mine, theirs = (ascd.solve(problem, tol=1e-10, intercept=intercept) for problem in pair)
        assert mine.converged
        assert mine.zero_objective == pytest.approx(theirs.zero_objective, rel=1e-12)
        assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
        np.testing.assert_allclose(mine.x, theirs.x, atol=1e-4)
        assert 0.0 <= mine.gap <= 1e-10 * mine.zero_objective
    mine, theirs = (ascd.minimize(problem, "a-ascd", tol=1e-8, rng=0) for problem in pair)
    assert mine.converged
    assert mine.n_iter == theirs.n_iter
    np.testing.assert_allclose(mine.x, theirs.x, rtol=1e-9, atol=1e-12)
    alphas = None if name.startswith("l1") else [1.0, 0.5]
    mine, theirs = (ascd.path(problem, alphas, n_alphas=5, tol=1e-10, early_stop=False) for problem in pair)
    assert mine.status is ascd.Status.CONVERGED
    np.testing.assert_allclose(mine.alphas, theirs.alphas, rtol=1e-9)
    np.testing.assert_allclose(mine.objectives, theirs.objectives, rtol=1e-9)
    np.testing.assert_allclose(mine.coefs, theirs.coefs, atol=1e-4)


@pytest.mark.parametrize("name", TWINS)
def test_five_methods_are_enough(name):
    mine, theirs = TWINS[name]
    bare = spoiled(mine, scaled=None)
    assert not hasattr(bare, "scaled")
    solutions = [ascd.solve(ascd.Problem(A, B, penalty=penalty), tol=1e-10) for penalty in (bare, theirs)]
    assert solutions[0].converged
    assert solutions[0].objective == pytest.approx(solutions[1].objective, rel=1e-9)
    with pytest.raises(TypeError, match=r"path needs a penalty with a method scaled\(factor\)"):
        ascd.path(ascd.Problem(A, B, penalty=bare))


# --------------------------------------------------------------------- what follows from the five methods


@pytest.mark.parametrize(
    ("penalty", "expected"),
    [
        (ascd.L1(2.0, linear=1e6), 0.0),
        (ascd.Zero(-3.0), 0.0),
        (ascd.Box(1.0, 2.0, l2=1e8, linear=-1e9), 1.0),
        (ascd.Box(-5.0, -3.0, linear=1e9), -3.0),
        (ascd.BoundedL1L2(1e9, 1e9, 0.5, 0.6), 0.5),
        (ascd.Box(-1.0, 1.0, linear=5.0), 0.0),
        (Between(1.0, 2.0), 1.0),
        (Threshold(3.0), 0.0),
        (Tilted(1.0), 0.0),
    ],
)
def test_the_nearest_allowed_point(penalty, expected):
    assert nearest_allowed(penalty, 3).tolist() == [expected] * 3


# ------------------------------------------------------------------------------------- optional methods

RIGHT = {
    "piece": "piece(self, x, j)",
    "scaled": "scaled(self, factor)",
    "check": "check(self, n)",
    "is_smooth": "is_smooth(self)",
    "with_free": "with_free(self, n)",
}


@pytest.mark.parametrize(("method", "form"), RIGHT.items())
@pytest.mark.parametrize("wrong", [lambda self, something, other: 0.0, lambda: 0.0, 3.0], ids=["two", "none", "value"])
def test_optional_methods_have_one_form(method, form, wrong):
    penalty = spoiled(Threshold(1.0), **{method: wrong})
    with pytest.raises(TypeError) as caught:
        ascd.Problem(A, B, penalty=penalty)
    assert str(caught.value) == f"penalty Threshold: {method} must be written {form}"


# ------------------------------------------------------------------------------------------- intercepts


def test_arrays_that_are_too_short_are_named():
    """Compiled code would read beyond their end."""

    class Short(NamedTuple):
        strength: Any

        def cost(self, x, j):
            return self.strength[j] * abs(x)

        def prox(self, v, step, j):
            return 0.0

        def subgradient(self, x, j):
            return -self.strength[j], self.strength[j]

        def cost_conjugate(self, u, j):
            return 0.0

        def dual_scale(self, u, j):
            return 1.0

    with pytest.raises(ValueError, match=r"penalty Short: there is no coordinate 11 .*12 coordinates"):
        ascd.Problem(np.eye(12), np.ones(12), penalty=Short(np.ones(3)))


def test_a_conjugate_that_contradicts_the_prox_is_an_error():
    """Its gap at zero is 0, while a step of its prox lowers the objective."""

    class Contradictory(NamedTuple):
        strength: float

        def cost(self, x, j):
            return self.strength * abs(x)

        def prox(self, v, step, j):
            return math.copysign(max(0.0, abs(v) - step * self.strength), v)

        def subgradient(self, x, j):
            return (-self.strength if x <= 0.0 else self.strength), (self.strength if x >= 0.0 else -self.strength)

        def cost_conjugate(self, u, j):
            return 0.0

        def dual_scale(self, u, j):
            return 1.0

    with pytest.raises(ValueError, match="penalty Contradictory contradicts itself"):
        ascd.solve(ascd.Problem(np.eye(12), np.arange(12.0), penalty=Contradictory(0.5)))


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "poisson"])
@pytest.mark.parametrize("strength", [1e-3, 0.3, 1.0])
@pytest.mark.parametrize("width", [0.1, 3.0])
def test_a_penalty_that_is_not_convex_ends_stationary(loss, strength, width):
    """At zero, where all coordinates rest, and on the flat part, where a term of the gap is the whole penalty."""
    b = {"logistic": np.where(np.arange(D) % 5, np.sign(B), -np.sign(B)), "poisson": np.round(np.abs(B))}.get(loss, B)
    intercept = width > 1.0
    top = strength * 2.0 * np.abs(ascd.Problem(A, b, loss).gradient(np.zeros(N))).max()
    problem = ascd.Problem(A, b, loss, Concave(top, width / top))
    found = ascd.solve(problem, tol=1e-8, intercept=intercept)
    assert found.status is ascd.Status.STATIONARY
    assert found.x.any() if strength == 1e-3 else strength < 1.0 or not found.x.any()
    V = problem.evaluate(found.x, found.intercept)[2]
    ends = np.array([problem.penalty.subgradient(x, j) for j, x in enumerate(found.x)]).T
    assert np.all(A.T @ V + ends[0] <= 1e-3 * top)
    assert np.all(A.T @ V + ends[1] >= -1e-3 * top)
    free = ascd.solve(problem.replace(penalty=ascd.Zero()), intercept=intercept)
    assert found.gap >= found.objective - free.objective


class SaysSo(Concave):
    def is_nonconvex(self):
        return True


def test_a_penalty_that_says_that_it_is_not_convex_ends_in_few_rounds_at_the_same_point():
    rng = np.random.default_rng(0)
    tall = rng.standard_normal((150, 10))
    target = tall[:, :5].sum(axis=1) + rng.standard_normal(150)
    silent, said = (ascd.solve(ascd.Problem(tall, target, penalty=kind(20.0, 3.0))) for kind in (Concave, SaysSo))
    assert said.status is silent.status is ascd.Status.STATIONARY
    assert said.objective == pytest.approx(silent.objective, rel=1e-12)
    assert said.n_iter < 0.5 * silent.n_iter


def test_a_coordinate_on_the_flat_part_with_a_gradient_of_exactly_zero_is_stationary():
    found = ascd.solve(ascd.Problem(np.eye(3), [3.0, 0.1, -2.0], penalty=Concave(1.0, 0.5)))
    assert found.status is ascd.Status.STATIONARY
    np.testing.assert_array_equal(found.x, [3.0, 0.0, -2.0])


def test_a_point_that_is_not_stationary_is_not_called_so():
    """The Newton step of one coordinate gains more than the tolerance."""
    problem = ascd.Problem(np.eye(3), [3.0, 0.1, -2.0], penalty=Concave(1.0, 0.5))
    for second, answer in ((0.0, True), (1e-3, False)):
        solver = Solver(problem, np.array([[3.0], [second], [-2.0]]), False, np.zeros(1))
        solver.state.use(problem.penalty)
        solver.settle(0.0)
        assert solver.check.is_stationary(1e-6) is answer
