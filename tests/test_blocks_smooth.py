"""Block problems without a kink: L-BFGS on all blocks, proved as every other point, and what happens where it fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ascd.blocks.smooth import Smooth
from ascd.blocks.solver import Solver
from ascd.blocks.variables import Coefficients, Rounded, Span, variables_of
from scipy import sparse

import ascd
from ascd.blocks import smooth as smooth_module


def classes(d=60, n=12, count=4, ridge=0.5, **penalty):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((d, n))
    labels = np.argmax(A @ rng.standard_normal((n, count)) + rng.gumbel(size=(d, count)), axis=1)
    return ascd.Problem(A, labels, "softmax", ascd.GroupL2(**{"strength": 0.0, "ridge": ridge, **penalty}))


def smooth(problem):
    return Smooth(Solver(problem, np.zeros((problem.n_features, problem.n_outputs)), False, np.zeros(1)).fit)


def test_it_is_for_problems_without_a_kink():
    A, y = np.eye(4), np.arange(4.0)
    assert smooth(classes()).applies()
    assert smooth(ascd.Problem(A, y, "huber", ascd.GroupL2(0.0, ridge=1.0))).applies()
    for other in (
        classes(strength=0.1), classes(ridge=0.0), classes(positive=True),
        ascd.Problem(A, y, "squared", ascd.GroupL2(0.0, ridge=1.0)),
        ascd.Problem(A, y, "poisson", ascd.GroupL2(0.0, ridge=1.0)),
    ):  # fmt: skip
        assert not smooth(other).applies()


def test_few_coefficients_are_found_to_more_digits(monkeypatch):
    gaps = []
    for most in (48, 49):  # 12 columns, 4 classes
        monkeypatch.setattr("ascd.blocks.tuning.FEW_COEFFICIENTS", most)
        gaps.append(ascd.solve(classes(), tol=1e-4).gap)
    assert gaps[1] < 1e-5 * gaps[0]


def without_bfgs(patch):
    patch.setattr(Smooth, "applies", lambda self: False)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["softmax", "huber", "logistic"])
def test_both_ways_lead_to_one_answer(monkeypatch, loss, intercept):
    rng = np.random.default_rng(4)
    A, b = rng.standard_normal((50, 9)), rng.standard_normal((50, 3))
    target = {"softmax": np.argmax(b, axis=1), "huber": 10.0 * b, "logistic": np.sign(b)}[loss]
    problem = ascd.Problem(A, target, loss, ascd.GroupL2(0.0, groups=3, ridge=0.7))
    found = ascd.solve(problem, tol=1e-10, intercept=intercept)
    with monkeypatch.context() as patch:
        without_bfgs(patch)
        other = ascd.solve(problem, tol=1e-10, intercept=intercept)
    assert found.converged
    assert other.converged
    np.testing.assert_allclose(found.x, other.x, atol=1e-3)  # √(2·gap/ridge)
    assert abs(found.objective - other.objective) <= found.gap + other.gap


@pytest.mark.parametrize("intercept", [False, True])
def test_few_coefficients_on_many_sparse_samples_have_newton_steps(monkeypatch, intercept):
    rng = np.random.default_rng(8)
    A = sparse.random_array((400, 10), density=0.3, format="csc", rng=rng)
    labels = np.argmax(A @ rng.standard_normal((10, 3)) + rng.gumbel(size=(400, 3)), axis=1)
    problem = ascd.Problem(A, labels, "softmax", ascd.GroupL2(0.0, ridge=0.7))
    other = ascd.solve(problem, tol=1e-10, intercept=intercept)
    assert smooth(problem).applies()
    monkeypatch.setattr("ascd.blocks.tuning.FEW_COEFFICIENTS", 30)  # all of them
    assert not smooth(problem).applies()
    assert smooth(problem).takes_all()
    assert not smooth(ascd.Problem(A, labels, "softmax", ascd.L21(1.0))).takes_all()
    assert smooth(ascd.Problem(A.toarray(), labels, "softmax", ascd.GroupL2(0.0, ridge=0.7))).applies()
    found = ascd.solve(problem, tol=1e-10, intercept=intercept)
    assert found.converged
    assert found.n_iter <= 5
    assert abs(found.objective - other.objective) <= found.gap + other.gap
    assert found.objective == pytest.approx(problem.objective(found.x, found.intercept), rel=1e-12)


def cost(variables, x):
    return 0.5 * np.vdot(x, variables.bend(x))


@pytest.mark.parametrize("shape", [(60, 12), (9, 30)])
def test_better_variables_are_the_same_problem(shape):
    """Images, costs and gaps agree at points of which both know; the gradient is that of F."""
    problem, rng = classes(*shape), np.random.default_rng(5)
    fit = Solver(problem, 0.1 * rng.standard_normal((shape[1], 4)), True, rng.standard_normal(4)).fit
    plain, better = Coefficients(fit), Rounded(fit)
    if shape[0] > shape[1]:
        np.testing.assert_allclose(better.coefficients(better.start), fit.x, atol=1e-12)
    else:  # of those with the same image the one of the least cost
        assert cost(better, better.start) < cost(plain, plain.start)
    np.testing.assert_allclose(better.image(better.start), plain.image(plain.start), atol=1e-10)
    w = rng.standard_normal(better.start.shape)
    x, slope = better.coefficients(w), rng.standard_normal(fit.slope.shape)
    np.testing.assert_allclose(better.image(w), plain.image(x), atol=1e-10)
    assert cost(better, w) == pytest.approx(cost(plain, x), rel=1e-10)
    gradients = better.pull(slope, better.bend(w)), plain.pull(slope, plain.bend(x))
    gaps = [one.gap_of(gradient, gradient) for one, gradient in zip((better, plain), gradients, strict=True)]
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-9)
    step = 1e-3 * rng.standard_normal(w.shape)
    moved = np.vdot(gradients[0], step)
    assert moved == pytest.approx(np.vdot(gradients[1], better.coefficients(step)), rel=1e-8)


def test_vectors_of_samples_stand_for_coefficients():
    """X = D⁻¹AᵀB: products with a dual are those of the coefficients in units of their ridges."""
    problem, rng = classes(9, 30), np.random.default_rng(6)
    fit = Solver(problem, np.zeros((30, 4)), False, np.zeros(4)).fit
    plain, span = Coefficients(fit), Span(fit)
    b, c, slope = rng.standard_normal((3, 9, 4))
    x, other = span.coefficients(b), span.coefficients(c)
    np.testing.assert_allclose(span.dual(b), plain.image(x), atol=1e-12)
    assert np.vdot(span.dual(b), c) == pytest.approx(np.vdot(x, plain.ridge * other))
    assert 0.5 * np.vdot(span.dual(b), span.bend(b)) == pytest.approx(cost(plain, x))
    gradient = span.pull(slope, span.bend(b))
    np.testing.assert_allclose(plain.ridge * span.coefficients(gradient), plain.pull(slope, plain.bend(x)), atol=1e-12)
    whole = plain.pull(slope, plain.bend(x))
    assert span.gap_of(gradient, span.dual(gradient)) == pytest.approx(plain.gap_of(whole, whole))


def test_which_variables(monkeypatch):
    def chosen(start, d, n):
        x = np.full((n, 4), start)
        return type(variables_of(Solver(classes(d, n), x, False, np.zeros(4)).fit))

    assert chosen(0.0, 20, 30) is Rounded
    monkeypatch.setattr("ascd.blocks.tuning.ROUNDED_SIDE", 0)
    assert chosen(0.0, 20, 30) is Span
    assert chosen(0.0, 21, 30) is Coefficients  # not so many more columns than samples
    assert chosen(0.1, 20, 30) is Coefficients  # no combination of samples, perhaps


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(60, 12), (9, 30)])
def test_all_variables_lead_to_one_answer(monkeypatch, shape, intercept):
    problem = classes(*shape)
    found = ascd.solve(problem, tol=1e-10, intercept=intercept)
    monkeypatch.setattr("ascd.blocks.tuning.ROUNDED_SIDE", 0)
    other = ascd.solve(problem, tol=1e-10, intercept=intercept)
    assert found.converged
    assert other.converged
    assert abs(found.objective - other.objective) <= found.gap + other.gap
    np.testing.assert_allclose(found.x, other.x, atol=1e-3)


@pytest.mark.parametrize("unit", [1e-140, 1e150])
def test_numbers_near_the_ends_of_the_range_are_solved_for(unit):
    with np.errstate(all="ignore"):
        problem = ascd.Problem(unit * np.eye(3), [0, 1, 2], "softmax", ascd.GroupL2(0.0, ridge=1.0))
    assert 0.0 <= ascd.solve(problem, tol=1e-6).gap < math.inf


def test_a_path_begins_afresh_with_every_penalty():
    found = ascd.path(classes(), alphas=[10.0, 1.0, 0.1], tol=1e-8)
    for k, alpha in enumerate(found.alphas):
        alone = ascd.solve(classes(ridge=0.5 * alpha), tol=1e-8)
        np.testing.assert_allclose(found.coefs[..., k], alone.x, atol=1e-3)
        assert found.gaps[k] <= 1e-8 * found.zero_objective


@pytest.mark.parametrize("lasting", [True, False])
def test_where_no_length_helps_it_begins_afresh_and_then_the_usual_steps_go_on(monkeypatch, lasting):
    real, count = smooth_module.search, []

    def fail(at, start, length):
        count.append(length)
        return None if len(count) == 4 or lasting else real(at, start, length)

    monkeypatch.setattr(smooth_module, "search", fail)
    assert ascd.solve(classes(), tol=1e-8).converged
    assert len(count) == 1 if lasting else len(count) > 4


def test_an_interrupt_keeps_the_lowest_point(monkeypatch):
    problem = classes()
    look, count = problem.loss.value_and_slope, []

    def interrupt(image):
        count.append(1)
        if len(count) == 9:
            raise KeyboardInterrupt
        return look(image)

    monkeypatch.setattr(problem.loss, "value_and_slope", interrupt)
    found = ascd.solve(problem, tol=1e-12)
    assert found.status is ascd.Status.INTERRUPTED
    assert found.objective < 0.9 * found.zero_objective
    assert found.objective - ascd.solve(classes(), tol=1e-12).objective <= found.gap < math.inf


def test_a_time_limit_is_kept():
    found = ascd.solve(classes(), tol=1e-12, max_time=0.0)
    assert found.status is ascd.Status.TIME_LIMIT
    assert 0.0 <= found.gap < math.inf
