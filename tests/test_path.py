"""``path``: each of its points is the one ``solve`` finds, for far fewer columns read."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import in_pairs
from penalty_table import some_weights
from solving import LOSSES, make_case

import ascd

Status = ascd.Status
pytestmark = pytest.mark.usefixtures("long_way")


def problem_for(loss="squared", penalty=None, seed=0, shape=(18, 5)):
    case = make_case(loss, "none", seed=seed, shape=shape)
    return ascd.Problem(case.A, case.b, loss, penalty or ascd.L1(1.0))


KINKED = [ascd.L1(1.0), ascd.L1L2(0.8, 0.2), ascd.L1(1.0, some_weights(5)), ascd.L1(0.5, 1.0, [0.2, -0.1] * 2 + [0.0])]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("number", range(len(KINKED)))
def test_every_point_is_the_one_that_solve_finds(loss, number):
    """Every loss with every penalty; each with an intercept and without."""
    penalty, intercept = KINKED[number], bool((list(LOSSES).index(loss) + number) % 2)
    problem = problem_for(loss, penalty)
    result = ascd.path(problem, n_alphas=4, eps=0.05, tol=1e-10, intercept=intercept, early_stop=False)
    assert result.status is Status.CONVERGED
    assert np.all(result.gaps <= 1e-10 * result.zero_objective)
    for i, alpha in enumerate(result.alphas):
        one = ascd.Problem(
            problem.parts.matrix.values, problem.parts.sample.target, loss, problem.parts.penalty.scaled(float(alpha))
        )
        alone = ascd.solve(one, tol=1e-10, intercept=intercept)
        assert result.objectives[i] == pytest.approx(alone.objective, rel=1e-9)
        assert value_of(one, result.coefs[:, i], result.intercepts[i]) == pytest.approx(result.objectives[i], rel=1e-10)
        assert result.zero_objective == pytest.approx(alone.zero_objective)
    losses = [
        value_of(problem_for(loss, ascd.L1(0.0)), *pair) for pair in zip(result.coefs.T, result.intercepts, strict=True)
    ]
    np.testing.assert_allclose(result.deviance_ratio, 1.0 - np.array(losses) / result.zero_objective, atol=1e-9)


def value_of(problem, x, c):
    """F(x) with a constant."""
    parts, z = problem.parts, problem.linear_predictor(x) + c
    losses = sum(parts.loss.value(y, point) for y, point in zip(parts.sample.target, z, strict=True))
    return losses + sum(parts.penalty.cost(value, j) for j, value in enumerate(x))


@in_pairs(
    loss=LOSSES,
    intercept=[False, True],
    penalty=[ascd.L1(1.0), ascd.L1(0.5, [1.0, 2.0, 3.0, 1.0, 1.0]), ascd.L1L2(0.5, 0.5)],
)
def test_the_grid_starts_where_all_coefficients_are_zero(loss, intercept, penalty):
    result = ascd.path(problem_for(loss, penalty), n_alphas=5, eps=0.2, intercept=intercept, early_stop=False, tol=1e-9)
    np.testing.assert_allclose(result.alphas, result.alphas[0] * np.geomspace(1.0, 0.2, 5))
    assert not result.coefs[:, 0].any()
    assert result.coefs[:, 1].any()
    below = ascd.path(problem_for(loss, penalty), [result.alphas[0] * (1.0 - 1e-4)], intercept=intercept, tol=1e-13)
    assert below.coefs.any()


def test_unpenalised_coordinates_are_fitted_first():
    problem = problem_for("squared", ascd.L1(1.0, some_weights(5)), shape=(40, 5))
    A, b, free = problem.parts.matrix.values, problem.parts.sample.target, some_weights(5) == 0.0
    result = ascd.path(problem, n_alphas=4, eps=0.3, tol=1e-10, early_stop=False)
    fitted = np.linalg.lstsq(A[:, free], b, rcond=None)[0]
    np.testing.assert_allclose(result.coefs[free, 0], fitted, rtol=1e-5)
    assert not result.coefs[~free, 0].any()
    pull = np.abs(A.T @ (b - A[:, free] @ fitted))[~free] / some_weights(5)[~free]
    assert result.alphas[0] == pytest.approx(pull.max(), rel=1e-6)


def test_alphas_are_sorted_and_may_end_at_zero():
    result = ascd.path(problem_for(), [0.0, 5.0, 1.0], tol=1e-9)
    assert result.alphas.tolist() == [5.0, 1.0, 0.0]
    A, b = problem_for().parts.matrix.values, problem_for().parts.sample.target
    np.testing.assert_allclose(result.coefs[:, -1], np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-4)


def wide_problem():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 400))
    return ascd.Problem(A, A[:, :5] @ [3.0, -2.0, 2.0, 1.0, -1.0] + 0.1 * rng.standard_normal(40), penalty=ascd.L1(1.0))


def test_what_was_learned_is_carried_along(compiled):
    problem = wide_problem()
    result = ascd.path(problem, n_alphas=12, eps=0.1, tol=1e-6, early_stop=False)
    alone = [
        ascd.solve(
            ascd.Problem(problem.parts.matrix.values, problem.parts.sample.target, penalty=ascd.L1(float(alpha)))
        )
        for alpha in result.alphas
    ]
    assert result.reads < 0.6 * sum(solution.reads for solution in alone)
    assert result.n_iters.sum() <= sum(solution.n_iter for solution in alone)


def test_it_stops_early_where_everything_is_explained(compiled):
    problem = ascd.Problem(np.eye(30)[:, :10], np.r_[np.ones(10), np.zeros(20)], penalty=ascd.L1(1.0))
    stopped = ascd.path(problem, n_alphas=50, eps=1e-4)
    whole = ascd.path(problem, n_alphas=50, eps=1e-4, early_stop=False)
    assert stopped.status is Status.CONVERGED
    assert 5 <= stopped.alphas.size < 50 == whole.alphas.size
    assert stopped.deviance_ratio[-1] > 0.999
    assert np.all(stopped.deviance_ratio[:-1] <= 0.999)
    np.testing.assert_array_equal(stopped.coefs, whole.coefs[:, : stopped.alphas.size])
    given = ascd.path(problem, whole.alphas)
    assert given.alphas.size == 50  # chosen by the user: all of them


def test_an_early_stop_is_confirmed_like_the_end(monkeypatch, compiled):
    """The last point has had an exact pass, whatever ended the path; gaps before it are bounds from intervals."""
    from ascd.solver.check import OptimalityCheck

    confirmed, confirm = [], OptimalityCheck.confirm

    def counted(self, tolerance, reads_all):
        if reads_all:
            confirmed.append(self.state.x[:, 0].copy())
        return confirm(self, tolerance, reads_all)

    monkeypatch.setattr(OptimalityCheck, "confirm", counted)
    A = np.random.default_rng(0).standard_normal((30, 120))
    problem = ascd.Problem(A, A[:, :3] @ np.ones(3), penalty=ascd.L1(1.0))
    stopped = ascd.path(problem, tol=1e-4)
    assert 5 <= stopped.alphas.size < 100
    np.testing.assert_array_equal(confirmed[-1], stopped.coefs[:, -1])
    for i, alpha in enumerate(stopped.alphas):
        exact = problem.replace(penalty=ascd.L1(float(alpha))).gap(stopped.coefs[:, i])
        assert exact <= stopped.gaps[i] * (1.0 + 1e-9) + 1e-12
    assert stopped.gaps[-1] == pytest.approx(exact, rel=1e-9)


def test_limits_and_interruptions(compiled):
    problem = wide_problem()
    assert ascd.path(problem, n_alphas=5, max_time=0.0).status is Status.TIME_LIMIT
    short = ascd.path(problem, n_alphas=5, eps=0.1, tol=1e-9, max_iter=1, early_stop=False)
    assert short.status is Status.ITERATION_LIMIT
    assert short.alphas.size == 5
    assert np.all(short.n_iters <= 1)
    minima = ascd.path(problem, short.alphas, tol=1e-11).objectives
    assert np.all(short.objectives - minima <= short.gaps + 1e-9)

    stopped = ascd.path(problem, n_alphas=5, eps=0.1, callback=lambda snapshot: snapshot.x.any())
    assert stopped.status is Status.INTERRUPTED
    assert stopped.coefs.shape == (400, stopped.alphas.size)

    def interrupt(snapshot):
        if np.count_nonzero(snapshot.x) > 3:
            raise KeyboardInterrupt

    broken = ascd.path(problem, n_alphas=9, eps=0.01, callback=interrupt)
    assert broken.status is Status.INTERRUPTED
    assert 0 < broken.alphas.size < 9
    assert broken.coefs.shape == (400, broken.alphas.size)


BAD = {
    "negative alphas": ({"alphas": [1.0, -1.0]}, ValueError, ["alphas must be finite and at least 0", "-1.0"]),
    "no alphas": ({"alphas": []}, ValueError, ["alphas", "one or more"]),
    "nan alphas": ({"alphas": [np.nan]}, ValueError, ["alphas must be finite"]),
    "2-D alphas": ({"alphas": [[1.0]]}, ValueError, ["alphas must be one-dimensional", "(1, 1)"]),
    "n_alphas 0": ({"n_alphas": 0}, ValueError, ["n_alphas must be at least 1", "got 0"]),
    "n_alphas 2.5": ({"n_alphas": 2.5}, TypeError, ["n_alphas must be an integer", "2.5"]),
    "eps 0": ({"eps": 0.0}, ValueError, ["eps must be in (0", "got 0.0"]),
    "eps 2": ({"eps": 2.0}, ValueError, ["eps must be in (0", "1]", "got 2.0"]),
    "tol": ({"tol": -1.0}, ValueError, ["tol must be in [0", "-1.0"]),
    "max_iter": ({"max_iter": -1}, ValueError, ["max_iter must be at least 0", "-1"]),
    "x0": ({"x0": np.ones(5)}, ValueError, ["alphas must be given", "x0"]),
    "callback": ({"callback": 1}, TypeError, ["callback", "got 1"]),
}


@pytest.mark.parametrize(("options", "error", "words"), BAD.values(), ids=BAD)
def test_bad_input(options, error, words):
    with pytest.raises(error) as caught:
        ascd.path(problem_for(), **options)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_one_sided_kinks_count():
    """A non-negative lasso: only a pull upwards needs a penalty."""
    problem = problem_for("squared", ascd.BoundedL1L2(1.0, 0.0, lower=0.0))
    result = ascd.path(problem, n_alphas=3, eps=0.2, early_stop=False)
    assert result.alphas[0] == pytest.approx((-problem.gradient(np.zeros(5))).max())
    assert not result.coefs[:, 0].any()
    assert result.coefs[:, 1:].any()
    assert result.coefs.min() == 0.0


def test_products_that_are_required_leave_no_scale_to_the_others():
    """Two linear terms outweigh their kinks: their products are given, and a scaled dual point misses them."""
    problem = problem_for("logistic", ascd.L1(0.5, 1.0, [0.2, -0.1] * 2 + [0.0]))
    result = ascd.path(problem, alphas=[0.47783079, 0.26246303], tol=1e-10)
    assert result.status is Status.CONVERGED
    assert np.all(result.gaps <= 1e-10 * result.zero_objective)
