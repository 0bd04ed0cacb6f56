"""Groups, several targets and several classes: hard problems and wrong input."""

from __future__ import annotations

import numpy as np
import pytest
from blocks import CLASSES, PROBLEMS, A, Y, target_of

import ascd
from ascd.solver import tuning
from ascd.solver.newton import PenaltyPieces, wide_newton


@pytest.mark.parametrize("unit", [1e-50, 1e50])
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


def test_no_penalty_is_least_squares_and_its_proof():
    for penalty in (None, ascd.GroupL2(0.0, 5)):
        found = ascd.solve(ascd.Problem(A, Y[:, 0], penalty=penalty), tol=1e-12, intercept=True)
        expected = np.linalg.lstsq(np.c_[A, np.ones(60)], Y[:, 0], rcond=None)[0]
        assert found.converged
        np.testing.assert_allclose(found.x, expected[:-1], atol=1e-6)
    few = ascd.solve(ascd.Problem(A[:20], Y[:20], penalty=None), tol=1e-9)
    assert few.converged
    assert few.objective <= 1e-9 * few.zero_objective


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
        ([[0, 1.0], [2, 3]], (TypeError, ValueError), "group"),
        ([[True, False], [2, 3]], (TypeError, ValueError), "group"),
    ],
)
def test_groups_that_are_wrong_are_named(groups, error, words):
    with pytest.raises(error, match=words):
        ascd.Problem(np.eye(4), np.ones(4), penalty=ascd.GroupL2(1.0, groups))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(-1.0, 5)), ValueError, "strength must be in"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.L21(np.inf)), ValueError, "strength must be in .*; got inf"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.L21(1.0, ridge=np.inf)), ValueError, "ridge must be in"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.SparseGroup(np.inf, 1.0, 5)), ValueError, "l1 must be in"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(1e150, 5, 10.0)), ValueError, "must be at most 1e[+]150"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(1.0, 5, [1.0])), ValueError, "weights must have length 8"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(1.0, 5, "root")), ValueError, "'sqrt' or None"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(0.0, 5, positive=True)), ValueError, "group 0 has none"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.GroupL2(1.0, 5), groups=5), ValueError, "leave groups=None"),
        (lambda: ascd.Problem(A, Y[:9], penalty=ascd.L21(1.0)), ValueError, "b must have|length"),
        (lambda: ascd.Problem(A, Y + np.nan), ValueError, "b must be finite"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.L1(1.0), groups=5), ValueError, "this one is by coordinate"),
        (lambda: ascd.Problem(A, Y, penalty="l1"), TypeError, "must be an object such as ascd.L1"),
        (lambda: ascd.Problem(A, Y, penalty=ascd.L21), TypeError, "must be made with its parameters, as L21"),
        (lambda: ascd.Problem(A, CLASSES, "softmax", offset=Y[:, 0]), ValueError, "the softmax loss takes none"),
        (lambda: ascd.Problem(A, Y, offset=Y[:, :2]), ValueError, "offset must have the shape"),
        (lambda: ascd.Problem(A, Y[:, 0], "softmax"), ValueError, "classes 0, 1, 2, ... as integers"),
        (lambda: ascd.solve(A), TypeError, "must be an ascd.Problem"),
        (lambda: ascd.solve(PROBLEMS["rows"](), x0=np.ones(40)), ValueError, "x0 must have the shape"),
        (lambda: ascd.solve(PROBLEMS["positive"](), x0=-np.ones(40)), ValueError, "x0 must have a finite objective"),
        (lambda: ascd.solve(PROBLEMS["rows"](), intercept0=1.0), ValueError, "intercept0 must be 0"),
        (lambda: ascd.path(PROBLEMS["rows"](), alphas=[-1.0]), ValueError, "alphas must be finite"),
        (lambda: ascd.path(PROBLEMS["softmax l2"]()), ValueError, "no kink at zero"),
    ],
)
def test_wrong_input_is_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("loss", ["squared", "softmax", ascd.Huber(1.0)])
def test_a_start_whose_squares_are_no_numbers_is_refused(loss):
    rng = np.random.default_rng(0)
    target = np.arange(20) % 3 if loss == "softmax" else rng.standard_normal((20, 3))
    problem = ascd.Problem(rng.standard_normal((20, 4)), target, loss, penalty=ascd.L21(1.0))
    with pytest.raises(ValueError, match="x0 must have a finite objective"):
        ascd.solve(problem, x0=1e170 * rng.standard_normal((4, 3)))


@pytest.mark.usefixtures("compiled")
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


# ------------------------------------------------------------------------------------------ far starts


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("start", [1e3, 1e12])
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


@pytest.mark.usefixtures("compiled")
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


# ----------------------------------------------------------------------------- classes and targets


class TestClasses:
    """Of the multinomial loss."""

    @pytest.mark.parametrize("labels", [[0.5] * 60, [-1] + [0] * 59, ["a"] * 60])
    def test_labels_that_are_no_classes(self, labels):
        with pytest.raises(ValueError, match="classes 0, 1, 2"):
            ascd.Problem(A, labels, "softmax", ascd.L21(1.0))


def test_newton_step_of_wide_groups_solves_the_system_of_all_columns() -> None:
    rng = np.random.default_rng(3)
    d, sizes = 7, np.array([3, 5, 2, 6])
    starts = np.repeat(np.arange(4), sizes)
    unit = rng.standard_normal((16, 1))
    unit /= np.sqrt(np.add.reduceat(unit**2, [0, 3, 8, 10]))[starts]
    kappa, ridge = np.array([0.5, 0.0, 2.0, 1.0])[starts], np.array([0.1, 0.3, 0.0, 0.0])[starts]
    found = PenaltyPieces(np.ones((16, 1), dtype=bool), np.zeros((16, 1)), unit, kappa, ridge, starts)
    block, weight, right = rng.standard_normal((d, 16)), rng.random(d), rng.standard_normal((16, 1))
    hessian = block.T @ (weight[:, None] * block) + np.diag(kappa + ridge)
    hessian -= (starts[:, None] == starts) * kappa[:, None] * (unit @ unit.T)
    step = wide_newton(block, weight, found, right)
    assert step is not None
    np.testing.assert_allclose(hessian @ step, right, atol=1e-6)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("loss", "groups"), [("squared", 3), ("logistic", 3), ("squared", [2, 5, 1] * 30)])
def test_sweeps_over_columns_and_wide_newton_steps_prove_the_same_minimum(loss, groups, intercept, monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 240)) + rng.standard_normal((30, 1))
    y = np.sign(X[:, :9].sum(axis=1)) if loss == "logistic" else X[:, :9].sum(axis=1) + rng.standard_normal(30)
    problem = ascd.Problem(X, y, loss, ascd.GroupL2(0.2 if loss == "logistic" else 1.0, groups))
    expected = ascd.solve(problem, tol=1e-10, intercept=intercept)
    monkeypatch.setattr(tuning, "BLOCK_GRAM_FLOOR", 8 * 6**2)
    monkeypatch.setattr(tuning, "GRAM_SHARE", 0.0)
    found = ascd.solve(problem, tol=1e-10, intercept=intercept)
    assert found.converged
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-8)
