"""The block solver: agreement with the plain one and with peers, gaps that are true, and hard input."""

from __future__ import annotations

import math
import re
import sys
import types
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from blocks import LONG, objective
from scipy import sparse
from sklearn.linear_model import MultiTaskElasticNet, MultiTaskLasso

import ascd
from ascd.results.solution import Status

RNG = np.random.default_rng(0)
A = RNG.standard_normal((60, 40))
A[RNG.random(A.shape) < 0.3] = 0.0
SIGNAL = A[:, :6] @ RNG.standard_normal((6, 3))
Y = SIGNAL + 0.3 * RNG.standard_normal(SIGNAL.shape) + [1.0, -2.0, 3.0]
WEIGHT = RNG.integers(0, 4, 60) * 0.5
CLASSES = np.digitize(SIGNAL[:, 0] + RNG.standard_normal(60), [-1.0, 0.5])
GROUPS = [list(range(first, 40, 8)) for first in range(8)]

PROBLEMS = {
    "group": lambda **how: ascd.BlockProblem(A, Y[:, 0], penalty=ascd.GroupL2(8.0, GROUPS), **how),
    "group sqrt": lambda **how: ascd.BlockProblem(A, Y[:, 0], penalty=ascd.GroupL2(4.0, 5, "sqrt"), **how),
    "group ridge": lambda **how: ascd.BlockProblem(A, Y[:, 0], penalty=ascd.GroupL2(4.0, GROUPS, ridge=2.0), **how),
    "positive": lambda **how: ascd.BlockProblem(A, Y[:, 0], penalty=ascd.GroupL2(2.0, GROUPS, positive=True), **how),
    "unpenalised": lambda **how: ascd.BlockProblem(
        A, Y[:, 0], penalty=ascd.GroupL2(6.0, GROUPS, [0, 1, 1, 1, 2, 1, 1, 1]), **how
    ),
    "sparse group": lambda **how: ascd.BlockProblem(A, Y[:, 0], penalty=ascd.SparseGroup(2.0, 4.0, GROUPS), **how),
    "rows": lambda **how: ascd.BlockProblem(A, Y, penalty=ascd.L21(6.0), **how),
    "rows sparse": lambda **how: ascd.BlockProblem(A, Y, penalty=ascd.SparseGroup(0.5, 0.5, GROUPS), **how),
    "rows ridge": lambda **how: ascd.BlockProblem(A, Y, penalty=ascd.L21(6.0, ridge=3.0), **how),
    "rows of groups": lambda **how: ascd.BlockProblem(A, Y, penalty=ascd.GroupL2(6.0, GROUPS), **how),
    "logistic": lambda **how: ascd.BlockProblem(
        A, np.sign(Y[:, 0]), "logistic", penalty=ascd.GroupL2(1.5, GROUPS), **how
    ),
    "softmax rows": lambda **how: ascd.BlockProblem(A, CLASSES, "softmax", penalty=ascd.L21(2.0), **how),
    "softmax l1": lambda **how: ascd.BlockProblem(A, CLASSES, "softmax", penalty=ascd.SparseGroup(1.0, 0.0), **how),
    "softmax l2": lambda **how: ascd.BlockProblem(A, CLASSES, "softmax", penalty=ascd.L21(0.0, ridge=1.0), **how),
}


def target_of(name):
    if name.startswith("softmax"):
        return CLASSES, "softmax"
    if name == "logistic":
        return np.sign(Y[:, 0]), "logistic"
    return (Y, "squared") if name.startswith("rows") else (Y[:, 0], "squared")


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_gap_is_true_and_small(name, intercept):
    """F less its stated gap is no higher than F at a much better point, all recomputed in long double."""
    problem, (target, loss) = PROBLEMS[name](), target_of(name)
    loose, tight = (ascd.solve_blocks(problem, tol=tol, intercept=intercept) for tol in (1e-3, 1e-12))
    assert loose.converged
    assert tight.status in (Status.CONVERGED, Status.STALLED)
    assert tight.gap <= 1e-10 * tight.zero_objective
    best = objective(problem, A, target, tight.x, tight.intercept, loss)
    for solution in (loose, tight):
        value = objective(problem, A, target, solution.x, solution.intercept, loss)
        assert abs(value - LONG(solution.objective)) <= 1e-12 * abs(value)
        assert value - best <= solution.gap
    assert loose.gap <= 1e-3 * loose.zero_objective


@pytest.mark.parametrize("name", PROBLEMS)
def test_weights_are_repeated_samples(name):
    count = (2 * WEIGHT).astype(int)
    weighted = ascd.solve_blocks(PROBLEMS[name](sample_weight=2.0 * WEIGHT), tol=1e-11, intercept=True)
    target, loss = target_of(name)
    problem = PROBLEMS[name]()
    own = ascd.BlockProblem(
        np.repeat(A, count, axis=0), np.repeat(target, count, axis=0), loss, groups=problem.groups,
        penalty=problem.penalty,
    )  # fmt: skip
    repeated = ascd.solve_blocks(own, tol=1e-11, intercept=True)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    np.testing.assert_allclose(weighted.x, repeated.x, atol=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_sparse_storage_gives_the_same(name):
    plain, (target, loss) = PROBLEMS[name](), target_of(name)
    stored = ascd.BlockProblem(sparse.csc_array(A), target, loss, groups=plain.groups, penalty=plain.penalty)
    first, second = (ascd.solve_blocks(one, tol=1e-10, intercept=True) for one in (plain, stored))
    assert first.converged
    assert second.converged
    assert first.objective == pytest.approx(second.objective, abs=2e-10 * first.zero_objective)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_of_one_column_are_the_plain_lasso(loss, intercept):
    target = Y[:, 0] if loss == "squared" else np.sign(Y[:, 0])
    for strength in (0.3, 3.0):
        plain = ascd.solve(ascd.Problem(A, target, loss, ascd.L1(strength)), tol=1e-12, intercept=intercept)
        found = ascd.solve_blocks(
            ascd.BlockProblem(A, target, loss, ascd.GroupL2(strength, 1)), tol=1e-12, intercept=intercept
        )
        assert found.objective == pytest.approx(plain.objective, rel=1e-11)
        np.testing.assert_allclose(found.x, plain.x, atol=1e-5)


@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_scikit_learn_agrees_on_rows(ratio):
    strength = 5.0
    problem = ascd.BlockProblem(A, Y, penalty=ascd.L21(ratio * strength, ridge=(1.0 - ratio) * strength))
    theirs = MultiTaskElasticNet(alpha=strength / 60, l1_ratio=ratio, tol=1e-14, max_iter=100_000).fit(A, Y)
    found = ascd.solve_blocks(problem, tol=1e-12, intercept=True)
    assert found.objective == pytest.approx(problem.objective(theirs.coef_.T, theirs.intercept_), rel=1e-9)
    np.testing.assert_allclose(found.x, theirs.coef_.T, atol=1e-6)


def test_celer_agrees_on_groups():
    celer = pytest.importorskip("celer")
    problem = PROBLEMS["group"]()
    theirs = celer.GroupLasso(groups=GROUPS, alpha=8.0 / 60, tol=1e-13, fit_intercept=True).fit(A, Y[:, 0])
    found = ascd.solve_blocks(problem, tol=1e-12, intercept=True)
    assert found.objective == pytest.approx(problem.objective(theirs.coef_, theirs.intercept_), rel=1e-7)
    assert found.objective <= problem.objective(theirs.coef_, theirs.intercept_) * (1.0 + 1e-12)


def test_more_columns_than_samples():
    rng = np.random.default_rng(1)
    wide = rng.standard_normal((30, 300))
    targets = wide[:, :4] @ rng.standard_normal((4, 5)) + 0.1 * rng.standard_normal((30, 5))
    for strength in (0.5, 5.0, 30.0):
        problem = ascd.BlockProblem(wide, targets, penalty=ascd.L21(strength))
        found = ascd.solve_blocks(problem, tol=1e-10)
        theirs = MultiTaskLasso(alpha=strength / 30, fit_intercept=False, tol=1e-13, max_iter=100_000).fit(
            wide, targets
        )
        assert found.converged
        assert found.objective <= problem.objective(theirs.coef_.T) + 1e-10 * found.zero_objective


def test_settled_blocks_are_not_read_again():
    rng = np.random.default_rng(2)
    wide = rng.standard_normal((200, 2000))
    target = wide[:, :5] @ np.ones(5) + rng.standard_normal(200)
    problem = ascd.BlockProblem(wide, target, penalty=ascd.GroupL2(1.0, 2))
    result = ascd.path_blocks(problem, n_alphas=20, eps=0.3, tol=1e-8)
    assert result.status is Status.CONVERGED
    assert result.reads < 0.5 * 2000 * (20 + result.n_iters.sum())


@pytest.mark.parametrize("unit", [1e-100, 1e-50, 1e50, 1e100])
@pytest.mark.parametrize("name", ["group", "rows"])
def test_units_do_not_matter(name, unit):
    plain, (target, _) = PROBLEMS[name](), target_of(name)
    scaled = ascd.BlockProblem(A, unit * target, penalty=plain.penalty.scaled(unit), groups=plain.groups)
    other = ascd.BlockProblem(unit * A, target, penalty=plain.penalty.scaled(unit), groups=plain.groups)
    expected = ascd.solve_blocks(plain, tol=1e-10, intercept=True)
    for problem, factor, size in ((scaled, unit, unit**2), (other, 1.0 / unit, 1.0)):
        found = ascd.solve_blocks(problem, tol=1e-10, intercept=True)
        assert found.converged
        np.testing.assert_allclose(found.x / factor, expected.x, atol=1e-4)
        assert found.objective / size == pytest.approx(expected.objective, rel=1e-8)


def test_duplicated_columns_inside_a_group():
    doubled = np.c_[A, A]
    penalty = ascd.GroupL2(5.0, groups=[[j, j + 40] for j in range(40)])
    found = ascd.solve_blocks(ascd.BlockProblem(doubled, Y[:, 0], penalty=penalty), tol=1e-12, intercept=True)
    single = ascd.solve(ascd.Problem(A, Y[:, 0], penalty=ascd.L1(5.0 / math.sqrt(2.0))), tol=1e-12, intercept=True)
    assert found.converged
    assert found.objective == pytest.approx(single.objective, rel=1e-10)
    np.testing.assert_allclose(found.x[:40], found.x[40:], atol=1e-8)


@pytest.mark.parametrize("value", [0.0, 0.1, 3.7, 1e6 + 0.1])
def test_a_constant_target_is_the_intercept(value):
    for penalty, target in ((ascd.GroupL2(1.0, 5), np.full(60, value)), (ascd.L21(1.0), np.full((60, 2), value))):
        found = ascd.solve_blocks(ascd.BlockProblem(A, target, penalty=penalty), intercept=True)
        assert found.converged
        np.testing.assert_array_equal(found.x, 0.0)
        np.testing.assert_allclose(found.intercept, value, rtol=1e-12)


def test_columns_of_zeros_get_nothing():
    holes = A.copy()
    holes[:, [0, 7, 8, 9]] = 0.0
    start = np.full(40, 0.1)
    problem = ascd.BlockProblem(holes, Y[:, 0], penalty=ascd.GroupL2(3.0, 5))
    found = ascd.solve_blocks(problem, tol=1e-10, x0=start, intercept=True)
    assert found.converged
    np.testing.assert_allclose(found.x[[0, 7, 8, 9]], 0.0, atol=1e-7)


def test_no_penalty_is_least_squares_and_its_proof():
    for penalty in (None, ascd.GroupL2(0.0, 5)):
        found = ascd.solve_blocks(ascd.BlockProblem(A, Y[:, 0], penalty=penalty), tol=1e-12, intercept=True)
        expected = np.linalg.lstsq(np.c_[A, np.ones(60)], Y[:, 0], rcond=None)[0]
        assert found.converged
        np.testing.assert_allclose(found.x, expected[:-1], atol=1e-6)
    few = ascd.solve_blocks(ascd.BlockProblem(A[:20], Y[:20], penalty=None), tol=1e-9)
    assert few.converged
    assert few.objective <= 1e-9 * few.zero_objective


def test_a_large_penalty_gives_zero_at_once():
    result = ascd.path_blocks(PROBLEMS["group"](), n_alphas=1, intercept=True)
    problem = PROBLEMS["group"]()
    above, below = (
        ascd.solve_blocks(problem.replace(penalty=problem.penalty.scaled(f * result.alphas[0])), intercept=True)
        for f in (1.0 + 1e-9, 0.99)
    )
    assert not above.x.any()
    assert above.converged
    assert above.n_iter == 0
    assert below.x.any()


@pytest.mark.parametrize("name", ["group", "sparse group", "rows", "unpenalised", "logistic", "softmax rows"])
def test_a_path_is_what_solving_each_gives(name):
    problem = PROBLEMS[name]()
    result = ascd.path_blocks(problem, n_alphas=5, eps=0.05, tol=1e-9, intercept=True)
    assert result.status is Status.CONVERGED
    assert (result.gaps <= 1e-9 * result.zero_objective).all()
    for number, alpha in enumerate(result.alphas):
        one = problem.replace(penalty=problem.penalty.scaled(float(alpha)))
        found = ascd.solve_blocks(one, tol=1e-9, intercept=True)
        assert found.objective == pytest.approx(result.objectives[number], abs=2e-9 * result.zero_objective)
        assert one.objective(result.coefs[..., number], result.intercepts[..., number]) == pytest.approx(
            result.objectives[number], rel=1e-9
        )
    penalised = result.coefs[..., 0][GROUPS[1]] if name == "unpenalised" else result.coefs[..., 0]
    assert not penalised.any()


@ascd.helper
def square(v):
    total = 0.0
    for i in range(v.size):
        total += v[i] * v[i]
    return total


class OwnGroup(NamedTuple):
    """The group penalty as a user would write it, without pieces."""

    strength: float

    def block_cost(self, x, b):
        return self.strength * math.sqrt(square(x))

    def block_prox(self, v, step, b):
        length = math.sqrt(square(v))
        share = max(0.0, 1.0 - step * self.strength / length) if length > 0.0 else 0.0
        for i in range(v.size):
            v[i] *= share

    def block_distance(self, x, g, b):
        length, total = math.sqrt(square(x)), 0.0
        if length == 0.0:
            return max(0.0, math.sqrt(square(g)) - self.strength)
        for i in range(x.size):
            total += (g[i] + self.strength * x[i] / length) ** 2
        return math.sqrt(total)

    def block_conjugate(self, u, radius, b):
        return 0.0 if math.sqrt(square(u)) + radius <= self.strength else math.inf

    def block_scale(self, u, radius, b):
        return min(1.0, self.strength / max(math.sqrt(square(u)) + radius, 1e-300))


def test_a_penalty_of_ones_own():
    own = ascd.BlockProblem(A, Y[:, 0], penalty=OwnGroup(8.0), groups=GROUPS)
    first, second = (ascd.solve_blocks(one, tol=1e-10, intercept=True) for one in (own, PROBLEMS["group"]()))
    assert first.converged
    assert first.objective == pytest.approx(second.objective, rel=1e-9)
    with pytest.raises(TypeError, match="path_blocks needs a penalty with a method scaled"):
        ascd.path_blocks(own)


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        ([[0, 1], [1, 2, 3]], ValueError, "must not overlap: column 1 is in group 0 and in group 1"),
        ([[0, 1], [3]], ValueError, "must cover all columns: 1 are in none, the first is column 2"),
        ([[0, 1, 2, 3], []], ValueError, "group 1 is empty"),
        ([[0, 1, 2, 4]], ValueError, "group 0 has column 4, and columns are 0 .. 3"),
        (3, ValueError, "must be positive and divide the number of columns, 4"),
        ([2, 3], ValueError, "got 2 entries that add up to 5"),
        ([4, 0], ValueError, "group 1 is empty"),
        ([1, 1, 1, 1], ValueError, "can be read as 4 labels and as 4 sizes"),
        ("ab", TypeError, "groups must be a number, sizes, labels or lists of columns"),
        ([["a"], [1, 2, 3]], TypeError, "group 0 must list column numbers"),
    ],
)
def test_groups_that_are_wrong_are_named(groups, error, words):
    with pytest.raises(error, match=words):
        ascd.BlockProblem(np.eye(4), np.ones(4), penalty=ascd.GroupL2(1.0, groups))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ascd.BlockProblem(A, Y, penalty=ascd.GroupL2(-1.0, 5)), ValueError, "strength must be in"),
        (
            lambda: ascd.BlockProblem(A, Y, penalty=ascd.GroupL2(1.0, 5, [1.0])),
            ValueError,
            "weights must have length 8",
        ),
        (lambda: ascd.BlockProblem(A, Y, penalty=ascd.GroupL2(1.0, 5, "root")), ValueError, "'sqrt' or None"),
        (lambda: ascd.BlockProblem(A, Y, penalty=ascd.GroupL2(0.0, 5, positive=True)), ValueError, "group 0 has none"),
        (lambda: ascd.BlockProblem(A, Y, penalty=ascd.GroupL2(1.0, 5), groups=5), ValueError, "leave groups=None"),
        (lambda: ascd.BlockProblem(A, Y[:9], penalty=ascd.L21(1.0)), ValueError, "b must have|length"),
        (lambda: ascd.BlockProblem(A, Y + np.nan), ValueError, "b must be finite"),
        (lambda: ascd.BlockProblem(A, Y, penalty=ascd.L1(1.0)), TypeError, "lacks the method block_cost"),
        (lambda: ascd.BlockProblem(A, Y[:, 0], "softmax"), ValueError, "classes 0, 1, 2, ... as integers"),
        (lambda: ascd.solve_blocks(ascd.Problem(A, Y[:, 0])), TypeError, "must be an ascd.BlockProblem"),
        (lambda: ascd.solve_blocks(PROBLEMS["rows"](), x0=np.ones(40)), ValueError, "x0 must have the shape"),
        (lambda: ascd.solve_blocks(PROBLEMS["positive"](), x0=-np.ones(40)), ValueError, "x0 must have a finite cost"),
        (lambda: ascd.solve_blocks(PROBLEMS["rows"](), intercept0=1.0), ValueError, "intercept0 must be 0"),
        (lambda: ascd.path_blocks(PROBLEMS["rows"](), alphas=[-1.0]), ValueError, "alphas must be finite"),
        (lambda: ascd.path_blocks(PROBLEMS["softmax l2"]()), ValueError, "no kink at zero"),
    ],
)
def test_wrong_input_is_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_limits_and_callbacks_end_a_run():
    problem = PROBLEMS["rows"]()
    assert ascd.solve_blocks(problem, tol=1e-12, max_iter=0).status is Status.ITERATION_LIMIT
    stopped = ascd.solve_blocks(problem, tol=1e-12, callback=lambda seen: seen.iteration >= 1)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.n_iter == 1
    assert math.isfinite(stopped.gap)
    warm = ascd.solve_blocks(problem, tol=1e-10, intercept=True)
    again = ascd.solve_blocks(problem, tol=1e-9, x0=warm.x, intercept=True, intercept0=warm.intercept)
    assert again.n_iter == 0


def test_the_examples_of_the_page_run():
    page = Path(__file__).parents[1] / "docs" / "blocks.md"
    if not page.exists():
        pytest.skip("the documentation is not here")
    module = types.ModuleType("blocks_page")  # numba wants classes in a module that can be found
    sys.modules["blocks_page"] = module
    try:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            exec(compile(block, str(page), "exec"), module.__dict__)
    finally:
        del sys.modules["blocks_page"]
    assert module.solution.converged
    assert np.flatnonzero(module.solution.x).tolist() == [0, 1, 2, 3]
