"""Ends before the end: limits, a start at the optimum, Ctrl-C."""

from __future__ import annotations

import numpy as np
import pytest
from blocks import PROBLEMS
from solving import LOSSES, make_case

import ascd
from ascd.problem.certificate import certify
from ascd.solver.bounds import GradientBounds
from ascd.solver.models import BlockGramModel, GramModel, minimise_on_columns
from ascd.solver.state import State
from ascd.solver.subproblem import Backtracking, ModelStep, Subproblem
from ascd.solver.working_set import WorkingSet

pytestmark = pytest.mark.usefixtures("long_way")


@pytest.mark.parametrize(("limits", "status"), [
    ({"max_iter": 0}, ascd.Status.ITERATION_LIMIT), ({"max_iter": 1}, ascd.Status.ITERATION_LIMIT),
    ({"max_time": 0.0}, ascd.Status.TIME_LIMIT), ({"callback": lambda snapshot: True}, ascd.Status.INTERRUPTED),
])  # fmt: skip
def test_limits(limits, status):
    case = make_case("logistic", "l1, some free", True, seed=3)
    solution = ascd.solve(case.problem(), tol=1e-12, intercept=True, **limits)
    assert solution.status is status
    assert solution.n_iter == limits.get("max_iter", 0)
    assert solution.objective - case.minimum() <= solution.gap
    assert len(solution.trace) == solution.n_iter + 1


def test_a_warm_start_at_the_optimum_stays_there():
    for loss in LOSSES:
        case = make_case(loss, "elastic net", True, seed=3)
        first = ascd.solve(case.problem(), tol=1e-12, intercept=True)
        again = ascd.solve(case.problem(), tol=1e-10, intercept=True, x0=first.x, intercept0=first.intercept)
        assert again.converged
        assert again.n_iter <= 1
        assert again.intercept == pytest.approx(first.intercept, rel=1e-6)
        assert again.zero_objective == first.zero_objective


def test_large_targets_do_not_make_a_bounded_gradient_rounding():
    """Huber's gradient is at most its threshold, which passed for rounding beside targets of 1e15."""
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((60, 12)), 1e3 * rng.standard_normal(60)
    near, far = (ascd.Problem(X, 1e4 * X[:, 0] + noise + offset, "huber", ascd.L1(1.0)) for offset in (0.0, 1e15))
    expected, found = ascd.solve(near, intercept=True), ascd.solve(far, intercept=True)
    assert expected.converged
    assert found.zero_objective == pytest.approx(expected.zero_objective, rel=1e-3)


def test_a_step_of_a_spoilt_model_does_not_make_the_objective_rise():
    """Rounding errors in a model may lead it far off: then it promises a rise, and a share of that is one as well."""
    rng = np.random.default_rng(0)
    problem = ascd.Problem(rng.standard_normal((20, 5)), 2 * (np.arange(20) % 2) - 1, "logistic", ascd.L2(1.0))
    state = State(problem, np.zeros((5, 1)), False, np.zeros(1))
    before, rows = state.seen.value + state.terms.cost(state.x), np.arange(5)
    Backtracking(state).take(ModelStep(WorkingSet(state.problem, rows), np.full((5, 1), 1e12), np.zeros(1)))
    assert state.seen.value + state.terms.cost(state.x) <= before


# ------------------------------------------------------------------------------------- interruptions


class CtrlC:
    """A callback that interrupts, again and again, from round ``start`` on."""

    def __init__(self, start):
        self.start, self.calls = start, 0

    def __call__(self, snapshot):
        self.calls += 1
        if snapshot.iteration >= self.start:
            raise KeyboardInterrupt


@pytest.mark.parametrize(("loss", "start"), [("squared", 0), ("logistic", 0), ("logistic", 1), ("poisson", 1)])
def test_ctrl_c_in_a_callback(loss, start):
    case, callback = make_case(loss, "l1", True, seed=3), CtrlC(start)
    solution = ascd.solve(case.problem(), tol=1e-13, intercept=True, callback=callback)
    assert solution.status is ascd.Status.INTERRUPTED
    assert callback.calls == start + 1
    assert solution.objective == pytest.approx(case.objective(solution.x, solution.intercept), rel=1e-12)
    assert solution.objective - case.minimum() <= solution.gap


@pytest.mark.parametrize("on_columns", [True, False])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_ctrl_c_inside_a_round_never_leaves_a_worse_point(loss, on_columns, monkeypatch):
    case, minimise = make_case(loss, "l1", True, seed=3), GramModel.minimise

    def interrupted(*given):
        x = given[6] if on_columns else given[0].x
        (minimise_on_columns if on_columns else minimise)(*given)
        x *= 1.0 if case.loss == "squared" else 50.0  # a model's minimum may be anywhere
        raise KeyboardInterrupt

    if on_columns:
        monkeypatch.setattr("ascd.solver.models.minimise_on_columns", interrupted)
    else:
        monkeypatch.setattr(GramModel, "minimise", interrupted)
    monkeypatch.setattr(Subproblem, "_sweeps_over_columns", lambda *_: 60 if on_columns else 0)
    solution = ascd.solve(case.problem(), tol=1e-13, intercept=True)
    assert solution.status is ascd.Status.INTERRUPTED
    assert solution.objective <= solution.zero_objective
    assert solution.objective == pytest.approx(case.objective(solution.x, solution.intercept), rel=1e-12)
    assert solution.objective - case.minimum() <= solution.gap + 1e-12
    assert solution.gap <= 2.0 * solution.zero_objective


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["GradientBounds.update", "State.set", "Backtracking.take"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_ctrl_c_at_any_time_leaves_a_true_gap(loss, name, when, monkeypatch):
    """Products that were read at another point are no proof for this one."""
    case, (owner, method) = make_case(loss, "l1", False, seed=3), name.split(".")
    owner = {"GradientBounds": GradientBounds, "State": State, "Backtracking": Backtracking}[owner]
    original, calls = getattr(owner, method), []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 1 and when == "before":
            raise KeyboardInterrupt
        found = original(self, *arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return found

    def checked(problem, terms, point, estimate, radius, read, enough):
        error = np.abs(case.A.T @ point.raw_gradient - estimate)[:, 0]
        assert np.all(error <= radius + 1e-12)
        return certify(problem, terms, point, estimate, radius, read, enough)

    monkeypatch.setattr(owner, method, interrupted)
    monkeypatch.setattr("ascd.solver.check.certify", checked)
    solution = ascd.solve(case.problem(), tol=1e-13)
    assert solution.status is ascd.Status.INTERRUPTED
    assert solution.objective == pytest.approx(case.objective(solution.x), rel=1e-12)
    assert solution.objective - case.minimum() <= solution.gap + 1e-12


@pytest.mark.parametrize("name", ["group", "rows", "logistic", "softmax rows", "softmax l1"])
def test_ctrl_c_inside_a_round_of_blocks_never_leaves_a_worse_point(name, monkeypatch):
    problem, minimise = PROBLEMS[name](), BlockGramModel.minimise

    def interrupted(self, *arguments):
        minimise(self, *arguments)
        self.x *= 1.0 if problem.loss.is_quadratic else 50.0
        raise KeyboardInterrupt

    monkeypatch.setattr(BlockGramModel, "minimise", interrupted)
    solution = ascd.solve(problem, tol=1e-12, intercept=True)
    assert solution.status is ascd.Status.INTERRUPTED
    assert solution.objective <= solution.zero_objective
    assert solution.objective == pytest.approx(problem.objective(solution.x, solution.intercept), rel=1e-12)
    assert np.isfinite(solution.gap)
