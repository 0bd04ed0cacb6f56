"""Huber regression with a fitted scale: its formulas against brute force, its gap against the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import in_pairs
from scipy.optimize import minimize_scalar

import ascd
from ascd.estimators._solving import Settings, minimize_problem
from ascd.estimators.huber import derivative_in_scale, dual, fit_with_scale, primal, scale_of
from ascd.results import Status

RNG = np.random.default_rng(0)
RESIDUALS = {
    "normal": RNG.standard_normal(40),
    "outliers": np.r_[0.1 * RNG.standard_normal(30), 50.0 * RNG.standard_normal(10)],
    "ties": np.repeat([0.5, 1.0, 4.0], 10),
}
WEIGHT = RNG.integers(0, 4, 40).astype(float)


def joint(residuals, weight, sigma, epsilon):
    """Σ s·(σ + σ·H(r/σ)), from the definition."""
    t = np.abs(residuals) / sigma
    return float(weight @ (sigma + sigma * np.where(t <= epsilon, t**2, 2.0 * epsilon * t - epsilon**2)))


@pytest.mark.parametrize("epsilon", [1.05, 1.35, 3.0])
@pytest.mark.parametrize("name", RESIDUALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_scale_minimises_for_fixed_residuals(name, epsilon, weighted):
    r = RESIDUALS[name]
    weight = WEIGHT[: r.size] if weighted else np.ones(r.size)
    sigma = scale_of(r, weight, epsilon)
    best = minimize_scalar(lambda log: joint(r, weight, np.exp(log), epsilon), bounds=(-12, 8), method="bounded")
    assert joint(r, weight, sigma, epsilon) <= best.fun * (1.0 + 1e-9)
    assert derivative_in_scale(r, weight, sigma, epsilon) == pytest.approx(0.0, abs=1e-9 * weight.sum())


def make(alpha=0.1, bounds=None, weight=None, intercept=True, n=30, outliers=3):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((n, 4))
    y = A @ [1.0, -2.0, 0.0, 0.5] + 0.2 * rng.standard_normal(n) + 1.0
    y[:outliers] += 20.0

    def problem_at(sigma):
        penalty = ascd.BoundedL1L2(0.0, alpha * sigma, *(bounds or (-np.inf, np.inf)))
        return ascd.Problem(A, y, ascd.Huber(1.35 * sigma), penalty, weight)

    def solve_at(problem, x0, intercept0, tol=1e-9, rounds=None):
        how = {
            "tol": min(tol, 1e-9),
            "max_iter": 20 * (rounds or 100),
            "intercept": intercept,
            "x0": x0,
            "intercept0": intercept0 or 0.0,
        }
        settings = Settings(how["tol"], how["max_iter"], solver={"rule": "cyclic"}, random_state=0)
        return minimize_problem(problem, settings, **how)

    return A, y, problem_at, solve_at


@in_pairs(intercept=[False, True], weighted=[False, True], bounds=[None, (-1.0, 0.8)])
def test_the_joint_fit_is_optimal_in_coefficients_and_scale(intercept, weighted, bounds):
    weight = np.arange(30) % 3 + 0.5 if weighted else None
    A, y, problem_at, solve_at = make(bounds=bounds, weight=weight, intercept=intercept)
    fit = fit_with_scale(problem_at, solve_at, 1.35, intercept, 1e-6)
    s = np.ones(30) if weight is None else weight
    assert fit.status is Status.CONVERGED
    assert fit.gap <= 1e-6 * fit.zero_objective

    def value(x, constant, sigma):
        return joint(y - A @ x - constant, s, sigma, 1.35) + 0.1 * x @ x

    assert value(fit.x, fit.intercept, fit.scale) == pytest.approx(fit.objective, rel=1e-12)
    rng = np.random.default_rng(2)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(40):
            x = fit.x + size * rng.standard_normal(4)
            x = np.clip(x, *bounds) if bounds else x
            other = value(x, fit.intercept + size * rng.standard_normal() * intercept, fit.scale * np.exp(size))
            assert other >= fit.objective - fit.gap - 1e-12


def test_the_gap_bounds_the_distance_at_any_scale():
    A, y, problem_at, solve_at = make()
    best = fit_with_scale(problem_at, solve_at, 1.35, True, 1e-10)
    for sigma in (0.3 * best.scale, best.scale, 3.0 * best.scale):
        problem = problem_at(sigma)
        solution = solve_at(problem, None, None)
        residuals = y - A @ solution.x - solution.intercept
        scale = scale_of(residuals, np.ones(30), 1.35)
        value = primal(residuals, np.ones(30), scale, 1.35) + 0.1 * solution.x @ solution.x
        assert value == pytest.approx(joint(residuals, np.ones(30), scale, 1.35) + 0.1 * solution.x @ solution.x)
        assert value <= sigma * 30 + 2.0 / sigma * solution.objective + 1e-12
        bound, error = dual(problem, residuals, np.ones(30), sigma, 1.35, True, solution.intercept)
        assert error <= 1e-11
        assert bound - error <= best.objective
        if sigma == best.scale:
            assert value - bound <= 1e-6 * value


def test_without_a_penalty_the_gap_of_the_fit_proves_the_scale_too():
    _, _, problem_at, solve_at = make(alpha=0.0)
    fit = fit_with_scale(problem_at, solve_at, 1.35, True, 1e-8)
    assert fit.gap <= 1e-8 * fit.zero_objective
    assert fit.status is Status.CONVERGED
    assert derivative_in_scale(fit.residuals, np.ones(30), fit.scale, 1.35) == pytest.approx(0.0, abs=1e-4)
