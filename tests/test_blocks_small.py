"""Small least squares in one model (``blocks.small``): the solver's minima, gaps that hold, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from ascd.blocks import solve, tuning
from ascd.blocks.largest import largest_values
from ascd.blocks.small import Small, is_small
from pairs import in_pairs

import ascd
from ascd.results.limits import as_limits

NO_LIMITS = as_limits(1000, None)
PENALTIES = {
    "rows": (lambda: ascd.L21(6.0), 5),
    "rows and ridge": (lambda: ascd.L21(6.0, ridge=2.0), 3),
    "groups": (lambda: ascd.GroupL2(8.0, groups=[4, 1, 5, 2, 8]), 1),
    "mixed groups": (lambda: ascd.GroupL2(8.0, groups=[[0, 5, 7], [1, 2, 3, 4, 6], list(range(8, 20))]), 1),
    "groups of targets": (lambda: ascd.GroupL2(8.0, groups=5, weights="sqrt"), 2),
    "sparse groups": (lambda: ascd.SparseGroup(2.0, 5.0, groups=4), 1),
    "positive": (lambda: ascd.GroupL2(8.0, groups=4, positive=True), 1),
    "positive and sparse": (lambda: ascd.SparseGroup(2.0, 3.0, groups=4, positive=True), 1),
}


def problem_of(name, seed=0, shift=0.0):
    rng, (penalty, outputs) = np.random.default_rng(seed), PENALTIES[name]
    A = rng.standard_normal((40, 20)) + shift
    target = A[:, :6] @ rng.standard_normal((6, outputs)) + rng.standard_normal((40, outputs)) + shift
    return ascd.Problem(A, target if outputs > 1 else target[:, 0], penalty=penalty())


def unseen(run):
    return False


@pytest.fixture
def general(monkeypatch):
    """Solve by the general solver."""

    def solved(problem, **how):
        with monkeypatch.context() as patch:
            patch.setattr(tuning, "SMALL_COLUMNS", 0)
            return ascd.solve(problem, **how)

    return solved


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", PENALTIES)
def test_it_finds_the_minimum_of_the_general_solver(name, intercept, general):
    problem = problem_of(name, shift=2.0 * intercept)
    assert is_small(problem, NO_LIMITS)
    found, other = (how(problem, tol=1e-12, intercept=intercept) for how in (ascd.solve, general))
    assert found.converged
    assert found.gap <= 1e-12 * found.zero_objective
    assert found.zero_objective == pytest.approx(other.zero_objective, rel=1e-12)
    assert abs(found.objective - other.objective) <= max(found.gap, other.gap) + 1e-13 * other.objective
    np.testing.assert_allclose(found.x, other.x, atol=1e-5)
    np.testing.assert_allclose(found.intercept, other.intercept, atol=1e-5)
    assert problem.objective(found.x, found.intercept) == pytest.approx(found.objective, rel=1e-13)


@in_pairs(name=PENALTIES, intercept=[False, True], tol=[1e-2, 1e-5, 1e-9])
def test_its_gap_bounds_the_distance_from_the_minimum(name, intercept, tol, general):
    for seed in range(4):
        problem = problem_of(name, seed, shift=5.0 * intercept)
        found, best = ascd.solve(problem, tol=tol, intercept=intercept), general(problem, tol=1e-13)
        if intercept:
            best = general(problem, tol=1e-13, intercept=True)
        assert found.gap <= tol * found.zero_objective
        assert problem.objective(found.x, found.intercept) - best.objective <= found.gap + 1e-13 * best.objective


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", PENALTIES)
def test_its_proof_is_that_of_the_general_solver_at_any_point(name, intercept, monkeypatch):
    """Far from the minimum too, where the dual point is scaled."""
    from ascd.blocks import certificate, small

    problem = problem_of(name, shift=3.0 * intercept)
    run = Small(problem, intercept)
    monkeypatch.setattr(run, "_sweep", lambda gram, gradient, tol: None)
    run.fit.x[:] = np.abs(np.random.default_rng(1).standard_normal(run.fit.x.shape))
    run.fit.x[10:] = 0.0
    run.minimise(1e-6, unseen)
    general = solve.Solver(problem, run.fit.x.copy(), intercept, run.fit.constant)
    general.look(0.0)
    assert small.prove_all is not certificate.prove
    assert run.standing.objective == pytest.approx(general.standing.objective, rel=1e-12)
    assert run.standing.violation == pytest.approx(general.standing.violation, rel=1e-9)
    by_slope = certificate._Proof(general.fit, general.bounds, False)
    point = problem.loss.dual_point(
        problem.design, np.empty(0, dtype=np.int64), intercept, general.fit.seen, general.fit.image
    )
    assert run.standing.gap == pytest.approx(by_slope._by_slope(point, np.inf), rel=1e-6)


@pytest.mark.parametrize("strength", [0.1, 1e3])
def test_the_trace_begins_at_zero_and_ends_at_the_solution(strength):
    """Also where that is one point: its gap is proved."""
    rng = np.random.default_rng(0)
    problem = ascd.Problem(rng.standard_normal((30, 6)), rng.standard_normal(30), penalty=ascd.L21(strength))
    assert is_small(problem, NO_LIMITS)
    found = ascd.solve(problem)
    assert found.n_iter == found.x.any()
    assert found.trace.iteration.tolist() == ([0.0, 1.0] if found.x.any() else [0.0])
    assert found.trace.objective[0] == pytest.approx(problem.objective(np.zeros(6)))
    assert (found.trace.objective[-1], found.trace.gap[-1]) == (found.objective, found.gap)
    assert found.trace.reads[-1] == found.reads


def test_where_the_proof_fails_the_solver_goes_on(monkeypatch):
    problem = problem_of("groups")
    monkeypatch.setattr(Small, "_sweep", lambda self, gram, gradient, tol: None)
    found = ascd.solve(problem, tol=1e-10)
    assert found.converged
    assert found.x.any()


def test_points_that_are_worse_than_zero_are_not_gone_on_from(monkeypatch):
    problem = problem_of("rows")
    run = Small(problem, False)
    run.fit.x[:] = 1e3
    run.standing = run._prove()
    x, _, constant = run.start()
    assert not x.any()
    assert not constant.any()


@pytest.mark.parametrize("what", ["constant column", "constant target", "zero target", "tiny", "huge"])
def test_what_rounding_decides_is_left_to_the_solver(what):
    rng = np.random.default_rng(0)
    A, target = rng.standard_normal((30, 6)), rng.standard_normal(30)
    if what == "constant column":
        A[:, 2] = 3.0
    target *= {"constant target": 0.0, "zero target": 0.0, "tiny": 1e-150, "huge": 3e150}.get(what, 1.0)
    target += 1.0 if what == "constant target" else 0.0
    problem = ascd.Problem(A, target, penalty=ascd.GroupL2(2.0, groups=2))
    assert not Small(problem, True).minimise(1e-8, unseen)
    found = ascd.solve(problem, tol=1e-8, intercept=True)
    assert str(found.status) in ("converged", "stalled", "stationary")


@pytest.mark.parametrize("how", ["weights", "no penalty", "sparse", "float32", "huber", "wide", "time", "rounds"])
def test_what_is_not_small(how):
    from scipy import sparse

    rng = np.random.default_rng(0)
    A, target = rng.standard_normal((30, 6)), rng.standard_normal(30)
    data = {"sparse": sparse.csc_array(A), "wide": rng.standard_normal((30, 102))}.get(how, A)
    weights = [1.0, 0.0, 1.0] if how == "no penalty" else None
    problem = ascd.Problem(
        data, target, ascd.Huber(1.0) if how == "huber" else "squared",
        ascd.GroupL2(2.0, groups=6 if how == "wide" else 2, weights=weights),
        sample_weight=np.arange(30.0) if how == "weights" else None,
    )  # fmt: skip
    limits = as_limits(0 if how == "rounds" else 100, 0.0 if how == "time" else None)
    assert is_small(problem, limits) == (how == "float32")  # which is converted


def test_an_interrupted_run_says_so(monkeypatch):
    def interrupted(self, gram, gradient, tol):
        raise KeyboardInterrupt

    monkeypatch.setattr(Small, "_sweep", interrupted)
    found = ascd.solve(problem_of("groups"), tol=1e-10)
    assert str(found.status) == "interrupted"
    assert np.isfinite(found.objective)


@pytest.mark.parametrize("kind", ["random", "correlated", "equal columns", "diagonal", "zero"])
def test_curvatures_of_steps_are_more_than_half_of_the_largest_eigenvalue(kind):
    rng = np.random.default_rng(3)
    columns = rng.standard_normal((8, 50, 12))
    if kind == "correlated":
        columns += 5.0 * rng.standard_normal((8, 50, 1))
    if kind == "equal columns":
        columns = np.repeat(columns[:, :, :1], 12, axis=2)
    stack = columns.transpose(0, 2, 1) @ columns
    if kind == "diagonal":
        stack = stack * np.eye(12)
    if kind == "zero":
        stack = 0.0 * stack
    exact = np.linalg.eigvalsh(stack)[:, -1]
    found = largest_values(stack)
    assert (found >= 0.505 * exact * (1.0 - 1e-12)).all()
    assert (found <= 1.5 * exact + 1e-300).all()


def test_overflowed_products_have_infinite_curvature():
    stack = np.ones((2, 3, 3))
    stack[1, 0, 1] = stack[1, 1, 0] = np.inf
    assert largest_values(stack).tolist()[1] == np.inf
