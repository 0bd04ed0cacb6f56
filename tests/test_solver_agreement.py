"""``solve`` finds the minima that SciPy finds, for every loss and penalty, and says truly how good they are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from penalty_table import BOUNDED_BELOW
from solving import LOSSES, make_case
from user_parts.my_parts import Asymmetric, SmoothAbsolute

import ascd
from ascd.solver import tuning

SETTINGS = list(product((False, True), (False, True), ("dense", "sparse")))  # intercept, weights, storage


def settings_of(loss, penalty):
    """Two of the eight settings; every loss and every penalty meets all of them."""
    turn = list(LOSSES).index(loss) + 3 * BOUNDED_BELOW.index(penalty)
    return [SETTINGS[turn % 8], SETTINGS[(turn + 5) % 8]]


ROWS = [(loss, penalty, *row) for loss in LOSSES for penalty in BOUNDED_BELOW for row in settings_of(loss, penalty)]


def small_working_sets(monkeypatch):
    """On problems so small all columns would be in the working set from the start."""
    monkeypatch.setattr(tuning, "SMALLEST_SET", 2)
    monkeypatch.setattr(tuning, "LARGEST_SET", 2)


def check_solution(solution, problem, scale, intercept):
    """What every answer promises, whatever the problem."""
    assert solution.reads >= problem.n_features
    assert np.all(np.diff(solution.trace.objective) <= 1e-13 * scale)
    assert np.all(np.diff(solution.trace.iteration) > 0)
    assert np.all(np.diff(solution.trace.reads) >= 0)
    assert solution.trace.objective[-1] == solution.objective
    assert solution.intercept == 0.0 or intercept


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("loss", "penalty", "intercept", "weighted", "storage"), ROWS)
def test_every_loss_and_penalty_agrees_with_scipy(loss, penalty, intercept, weighted, storage, monkeypatch):
    number = ROWS.index((loss, penalty, intercept, weighted, storage))
    if number % 4:  # the others are solved in one compiled call
        monkeypatch.setattr("ascd.solver.small.SMALL_ENTRIES", 0)
    if number % 2:
        small_working_sets(monkeypatch)
    monkeypatch.setattr(tuning, "MOST_TRIED", (60, 0, 3)[number % 3])  # columns, products, or one after the other
    monkeypatch.setattr(tuning, "FEW_ENTRIES", 1e9)
    case = make_case(loss, penalty, intercept, weighted, seed=number)
    problem = case.problem(storage)
    solution = ascd.solve(problem, tol=1e-11, intercept=intercept)
    scale, minimum = max(1.0, abs(solution.zero_objective)), case.minimum()
    assert solution.converged
    assert solution.objective == pytest.approx(case.objective(solution.x, solution.intercept), rel=1e-12, abs=1e-12)
    assert solution.zero_objective == pytest.approx(case.at_zero(), rel=1e-9)
    assert abs(solution.objective - minimum) <= 1e-9 * scale
    assert solution.gap <= 1e-11 * scale
    check_solution(solution, problem, scale, intercept)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("parts", ["penalty", "loss", "both"])
def test_parts_of_ones_own(parts, intercept):
    """``Asymmetric`` tells no pieces: it gets sweeps alone."""
    case = make_case("huber", "l1", seed=4, shape=(16, 7))
    penalty = ascd.L1(1.0) if parts == "loss" else Asymmetric(0.5, np.linspace(0.5, 2.0, 7))
    problem = ascd.Problem(case.A, case.b, "huber" if parts == "penalty" else SmoothAbsolute(0.8), penalty)
    solution = ascd.solve(problem, tol=1e-11, intercept=intercept)
    design = np.c_[case.A, np.ones(16)] if intercept else case.A
    free = [0.0] if intercept else []
    wide = ascd.L1(1.0, np.r_[np.ones(7), free]) if parts == "loss" else None
    wide = wide or Asymmetric(np.r_[np.full(7, 0.5), free], np.r_[np.linspace(0.5, 2.0, 7), free])
    engine = ascd.Problem(design, case.b, problem.parts.loss, wide)
    expected = ascd.minimize(engine, rule="cyclic", step="coordinate", tol=1e-9, max_iter=8000)
    assert solution.converged
    assert solution.objective == pytest.approx(expected.objective, rel=1e-9)
    assert solution.objective - expected.objective <= solution.gap + 1e-13


ROOMS = ("l1", "elastic net, some free", "box", "none")


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ROOMS)
def test_without_room_for_a_gram_matrix(loss, penalty, monkeypatch):
    """Sweeps over columns and Newton steps by conjugate gradients; with some room, after a Gram matrix was full.

    Every two of loss, penalty, intercept and room meet.
    """
    number, turn = list(LOSSES).index(loss), ROOMS.index(penalty)
    intercept, largest = (number + turn) % 2 == 0, (0, 4)[(number + turn // 2) % 2]
    monkeypatch.setattr(tuning, "GRAM_FLOOR", 8 * largest**2)
    monkeypatch.setattr(tuning, "GRAM_SHARE", 0.0)
    small_working_sets(monkeypatch)
    case = make_case(loss, penalty, intercept, weighted=True, seed=7)
    solution = ascd.solve(case.problem("sparse" if largest else "dense"), tol=1e-11, intercept=intercept)
    assert solution.converged
    assert abs(solution.objective - case.minimum()) <= 1e-9 * max(1.0, solution.zero_objective)
    check_solution(solution, case.problem(), max(1.0, solution.zero_objective), intercept)
