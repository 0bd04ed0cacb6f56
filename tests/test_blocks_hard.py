"""Groups, several targets and several classes: hard problems and wrong input."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from blocks import CLASSES, PROBLEMS, A, Y, target_of

import ascd
from ascd.solver import tuning
from ascd.solver.state import State


@pytest.mark.parametrize("unit", [1e-100, 1e-50, 1e50, 1e100])
@pytest.mark.parametrize("name", ["group", "rows"])
def test_units_do_not_matter(name, unit):
    plain, (target, _) = PROBLEMS[name](), target_of(name)
    scaled = ascd.Problem(A, unit * target, penalty=plain.penalty.scaled(unit), groups=plain.groups)
    other = ascd.Problem(unit * A, target, penalty=plain.penalty.scaled(unit), groups=plain.groups)
    expected = ascd.solve(plain, tol=1e-10, intercept=True)
    for problem, factor, size in ((scaled, unit, unit**2), (other, 1.0 / unit, 1.0)):
        found = ascd.solve(problem, tol=1e-10, intercept=True)
        assert found.converged
        np.testing.assert_allclose(found.x / factor, expected.x, atol=1e-4)
        assert found.objective / size == pytest.approx(expected.objective, rel=1e-8)


def test_duplicated_columns_inside_a_group():
    doubled = np.c_[A, A]
    penalty = ascd.GroupL2(5.0, groups=[[j, j + 40] for j in range(40)])
    found = ascd.solve(ascd.Problem(doubled, Y[:, 0], penalty=penalty), tol=1e-12, intercept=True)
    single = ascd.solve(ascd.Problem(A, Y[:, 0], penalty=ascd.L1(5.0 / math.sqrt(2.0))), tol=1e-12, intercept=True)
    assert found.converged
    assert found.objective == pytest.approx(single.objective, rel=1e-10)
    np.testing.assert_allclose(found.x[:40], found.x[40:], atol=1e-8)


@pytest.mark.parametrize("value", [0.0, 0.1, 3.7, 1e6 + 0.1])
def test_a_constant_target_is_the_intercept(value):
    for penalty, target in ((ascd.GroupL2(1.0, 5), np.full(60, value)), (ascd.L21(1.0), np.full((60, 2), value))):
        found = ascd.solve(ascd.Problem(A, target, penalty=penalty), intercept=True)
        assert found.converged
        np.testing.assert_array_equal(found.x, 0.0)
        np.testing.assert_allclose(found.intercept, value, rtol=1e-12)


def test_the_rounding_of_residuals_is_counted():
    """The constant is off by a unit in its last place: residuals sum to 0 all the same, and the gap was 0."""
    A, b = np.full((2, 1), 1e8), np.array([4.769455629722350e37, -4.518131716391591e37])
    problem = ascd.Problem(A, b, penalty=ascd.GroupL2(8e61, groups=1))
    found = ascd.solve(problem, x0=[-2.2550998472607794e29], intercept=True, max_iter=3)
    above = Fraction(found.intercept) - (Fraction(b[0]) + Fraction(b[1])) / 2
    assert found.x == 0.0
    assert above != 0  # F is above²·(2/2) above its minimum
    assert above**2 <= found.gap <= 1e-20 * found.objective


def test_columns_of_zeros_get_nothing():
    holes = A.copy()
    holes[:, [0, 7, 8, 9]] = 0.0
    start = np.full(40, 0.1)
    problem = ascd.Problem(holes, Y[:, 0], penalty=ascd.GroupL2(3.0, 5))
    found = ascd.solve(problem, tol=1e-10, x0=start, intercept=True)
    assert found.converged
    np.testing.assert_allclose(found.x[[0, 7, 8, 9]], 0.0, atol=1e-7)


def test_no_penalty_is_least_squares_and_its_proof():
    for penalty in (None, ascd.GroupL2(0.0, 5)):
        found = ascd.solve(ascd.Problem(A, Y[:, 0], penalty=penalty), tol=1e-12, intercept=True)
        expected = np.linalg.lstsq(np.c_[A, np.ones(60)], Y[:, 0], rcond=None)[0]
        assert found.converged
        np.testing.assert_allclose(found.x, expected[:-1], atol=1e-6)
    few = ascd.solve(ascd.Problem(A[:20], Y[:20], penalty=None), tol=1e-9)
    assert few.converged
    assert few.objective <= 1e-9 * few.zero_objective


def test_a_large_penalty_gives_zero_at_once():
    result = ascd.path(PROBLEMS["group"](), n_alphas=1, intercept=True)
    problem = PROBLEMS["group"]()
    above, below = (
        ascd.solve(problem.replace(penalty=problem.penalty.scaled(f * result.alphas[0])), intercept=True)
        for f in (1.0 + 1e-9, 0.99)
    )
    assert not above.x.any()
    assert above.converged
    assert above.n_iter == 0
    assert below.x.any()


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        ([[0, 1], [1, 2, 3]], ValueError, "must not overlap: column 1 is in group 0 and in group 1"),
        ([[0, 0], [1, 2, 3]], ValueError, "group 0 has column 0 more than once"),
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
        ascd.Problem(np.eye(4), np.ones(4), penalty=ascd.GroupL2(1.0, groups))


def test_labels_from_zero_that_add_up_to_the_columns_are_labels():
    """Sizes are at least 1: three groups of any one size, numbered from 0, can only be labels."""
    problem = ascd.Problem(np.eye(6), np.ones(6), penalty=ascd.GroupL2(1.0, [0, 1, 2, 0, 1, 2]))
    assert problem.groups.order.tolist() == [0, 3, 1, 4, 2, 5]
    assert problem.groups.sizes.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(-1.0, 5)), ValueError, "strength must be in"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.L21(np.inf)), ValueError, "strength must be in .*; got inf"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.L21(1.0, ridge=np.inf)), ValueError, "ridge must be in"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.SparseGroup(np.inf, 1.0, 5)), ValueError, "l1 must be in"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(1e308, 5, 10.0)), ValueError, "10 times 1e[+]308 is not"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(1.0, 5, [1.0])), ValueError, "weights must have length 8"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(1.0, 5, "root")), ValueError, "'sqrt' or None"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(0.0, 5, positive=True)), ValueError, "group 0 has none"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(1.0, 5), groups=5), ValueError, "leave groups=None"),
        (lambda: ascd.Problem(A, Y[:9], penalty=ascd.L21(1.0)), ValueError, "b must have|length"),
        (lambda: ascd.Problem(A, Y + np.nan), ValueError, "b must be finite"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.L1(1.0), groups=5), ValueError, "L1 is one by coordinate"),
        (lambda: ascd.Problem(A, Y, penalty="l1"), TypeError, "must be an object such as ascd.L1"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.L21), TypeError, "must be made with its parameters, as L21"),
        (lambda: ascd.Problem(A, CLASSES, "softmax", offset=Y[:, 0]), ValueError, "the softmax loss takes none"),
        (lambda: ascd.Problem(A, Y, offset=Y[:, :2]), ValueError, "offset must have the shape"),
        (lambda: ascd.Problem(A, Y[:, 0], "softmax"), ValueError, "classes 0, 1, 2, ... as integers"),
        (lambda: ascd.solve(A), TypeError, "must be an ascd.Problem"),
        (lambda: ascd.solve(PROBLEMS["rows"](), x0=np.ones(40)), ValueError, "x0 must have the shape"),
        (lambda: ascd.solve(PROBLEMS["positive"](), x0=-np.ones(40)), ValueError, "x0 must have a finite cost"),
        (lambda: ascd.solve(PROBLEMS["rows"](), intercept0=1.0), ValueError, "intercept0 must be 0"),
        (lambda: ascd.path(PROBLEMS["rows"](), alphas=[-1.0]), ValueError, "alphas must be finite"),
        (lambda: ascd.path(PROBLEMS["softmax l2"]()), ValueError, "no kink at zero"),
    ],
)
def test_wrong_input_is_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("loss", ["squared", "softmax", ascd.Huber(1.0)])
def test_a_start_whose_squares_are_no_numbers_has_no_proof(monkeypatch, loss):
    """Compiled for softmax, which takes thousands of sweeps before it gives up; a second round would begin at zero."""
    monkeypatch.setattr("ascd._core.jit.is_interpreted", loss != "softmax")
    rng = np.random.default_rng(0)
    target = np.arange(20) % 3 if loss == "softmax" else rng.standard_normal((20, 3))
    problem = ascd.Problem(rng.standard_normal((20, 4)), target, loss, penalty=ascd.L21(1.0))
    found = ascd.solve(problem, x0=1e170 * rng.standard_normal((4, 3)), max_iter=1)
    assert not found.converged
    assert found.gap == np.inf


def test_constants_that_are_nothing_but_rounding_do_not_alternate_for_ever(monkeypatch):
    """One output's constant rises where another's falls: neither is a large one that cancels."""
    rng = np.random.default_rng(0)
    problem = ascd.Problem(rng.standard_normal((8, 3)), rng.standard_normal((8, 2)), penalty=ascd.L21(0.1))
    state, seen = State(problem, np.zeros((3, 2)), True, np.zeros(2)), []

    def evaluate(state, predictor):
        seen.append(state.constant)
        assert len(seen) < 10
        state.constant = np.array([1e-17, 1e-20])[:: 1 if len(seen) % 2 else -1]

    monkeypatch.setattr(State, "_evaluate", evaluate)
    state.constant = np.ones(2)
    state.recompute()
    assert len(seen) > 1


@pytest.mark.parametrize("mean", [1e8, 1e12])
def test_columns_with_large_means_are_not_stationary_where_they_could_gain_much(mean):
    """Their lengths are those of their means: steps of that size once seemed to gain nothing at F(0)."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 4))
    classes = np.argmax(A[:, :3] + rng.gumbel(size=(30, 3)), axis=1)
    near = ascd.solve(ascd.Problem(A, classes, "softmax"), intercept=True)
    far = ascd.solve(ascd.Problem(A + mean, classes, "softmax"), intercept=True)
    assert near.status is ascd.Status.STATIONARY
    assert far.objective > near.objective + 1.0
    assert not far.status.is_answer


@pytest.mark.parametrize("value", [1.0, 3.7, 1e5 + 0.1])
def test_a_constant_column_beside_the_intercept_has_nothing_to_gain(value):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 3))
    classes = np.argmax(A + rng.gumbel(size=(30, 3)), axis=1)
    one = ascd.solve(ascd.Problem(A, classes, "softmax"), intercept=True)
    other = ascd.solve(ascd.Problem(np.c_[A, np.full(30, value)], classes, "softmax"), intercept=True)
    assert other.status is ascd.Status.STATIONARY
    assert other.objective == pytest.approx(one.objective, rel=1e-6)


# ------------------------------------------------------------------------------------------ far starts


@pytest.mark.parametrize("start", [1e3, 1e8, 1e12])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_saturated_softmax_does_not_stall_the_solver(start, intercept):
    """It once stalled a thousand times and more above F(0)."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 6))
    problem = ascd.Problem(A, np.arange(20) % 3, loss="softmax", penalty=ascd.GroupL2(1.0, groups=2))
    near = ascd.solve(problem, tol=1e-10, intercept=intercept)
    far = ascd.solve(problem, tol=1e-10, x0=start * rng.standard_normal((6, 3)), intercept=intercept)
    assert far.converged
    assert abs(far.objective - near.objective) <= far.gap + near.gap + 1e-12


@pytest.mark.parametrize("loss", ["logistic", "huber"])
@pytest.mark.parametrize("intercept", [False, True])
def test_steps_of_a_bounded_length_do_not_go_all_the_way(loss, intercept):
    """From 10⁸ they would take millions: a thousand rounds ended far above F(0)."""
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((30, 8)), np.sign(rng.standard_normal(30))
    problem = ascd.Problem(A, b, loss=loss, penalty=ascd.GroupL2(1.0, groups=2))
    near = ascd.solve(problem, tol=1e-10, intercept=intercept)
    far = ascd.solve(problem, tol=1e-10, x0=1e8 * rng.standard_normal(8), intercept=intercept, max_iter=60)
    assert far.converged
    assert abs(far.objective - near.objective) <= far.gap + near.gap + 1e-12


# ----------------------------------------------------------------------------- groups and working sets


def test_the_first_working_set_has_few_columns_where_blocks_are_wide():
    X, widths = np.random.default_rng(0).standard_normal((30, 1200)), []
    problem = ascd.Problem(X, X[:, 0], penalty=ascd.GroupL2(2.0, 60))
    ascd.solve(problem, tol=1e-8, callback=lambda snapshot: widths.append(np.count_nonzero(snapshot.x)))
    assert max(widths[:2]) <= max(tuning.FIRST_COLUMNS, tuning.SMALLEST_SET * 60)


@pytest.mark.parametrize(("groups", "outputs"), [(1, 1), (10, 1), (1, 2)])
def test_columns_far_from_zero_are_no_harder_with_an_intercept(groups, outputs):
    """Few samples of many columns, far off their centre: sweeps took turns with the intercept, and hardly moved."""
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((5, 200))
    target = columns[:, :outputs] + columns[:, 2:3]
    runs = [
        ascd.solve(
            ascd.Problem(columns + far, target, penalty=ascd.GroupL2(0.25, groups=groups)), intercept=True, max_iter=40
        )
        for far in (0.0, 1e3, 1e5)
    ]
    assert [run.status.value for run in runs] == ["converged"] * 3
    for run in runs[1:]:
        assert abs(run.objective - runs[0].objective) <= run.gap + runs[0].gap + 1e-9 * runs[0].zero_objective


def test_lists_and_arrays_of_columns_are_the_same_groups():
    lists = [[0, 5, 7], [1], [2, 3, 4, 6], list(range(8, 20))]
    for other in ([np.array(part) for part in lists], [tuple(part) for part in lists]):
        one, two = (
            ascd.Problem(A[:, :20], Y[:, 0], penalty=ascd.GroupL2(1.0, groups=given)) for given in (lists, other)
        )
        assert one.groups.order.tolist() == two.groups.order.tolist()
        assert one.groups.starts.tolist() == two.groups.starts.tolist()


@pytest.mark.parametrize("wrong", [[[0, 1], [1]], [[0], []], [[0, 2], [1]], [[0, 1.0]], [[True, False]], [[0]]])
def test_lists_that_are_no_partition_are_errors(wrong):
    with pytest.raises((TypeError, ValueError), match="group"):
        ascd.Problem(np.eye(2), [1.0, 2.0], penalty=ascd.GroupL2(1.0, groups=wrong))
