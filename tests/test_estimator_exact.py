"""Ridge regression is exact: against scikit-learn's singular values, and against rational arithmetic where they err."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from pairs import in_pairs
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge as Theirs

from ascd import estimators as ours

RNG = np.random.default_rng(0)
WIDE, TALL = RNG.standard_normal((20, 100)), RNG.standard_normal((60, 8)) + 0.5
SHAPES = {"wide": WIDE, "tall": TALL, "square": WIDE[:, :20], "one sample": WIDE[:1, :5], "one feature": TALL[:, :1]}


def target(X, seed=1):
    return X[:, 0] + np.random.default_rng(seed).standard_normal(len(X)) + 3.0


def error(found, expected):
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300)


def with_column(X, values):
    changed = X.copy()
    changed[:, -1] = values
    return changed


FORMS = {
    "plain": lambda X: X,
    "large": lambda X: 1000.0 * X,
    "small": lambda X: 1e-6 * X,
    "moved": lambda X: X + 1e3,
    "constant column": lambda X: with_column(X, 2.5),
    "zero column": lambda X: with_column(X, 0.0),
}


@in_pairs(shape=SHAPES, form=FORMS, alpha=[1.0, 1e9, 1e-9, 1e-3])
def test_coefficients_are_those_of_singular_values(shape, form, alpha):
    X, fit_intercept = FORMS[form](SHAPES[shape]), (list(FORMS).index(form) + list(SHAPES).index(shape)) // 2 % 2 == 0
    y = target(X)
    mine = ours.Ridge(alpha, fit_intercept=fit_intercept).fit(X, y)
    theirs = Theirs(alpha, fit_intercept=fit_intercept, solver="svd").fit(X, y)
    assert error(mine.coef_, theirs.coef_) < 1e-8
    assert mine.intercept_ == pytest.approx(theirs.intercept_, rel=1e-8)
    assert mine.certificate_.converged
    assert mine.certificate_.gap <= mine.certificate_.tolerance


def rational(X, y, mu, intercept):
    """The minimum without any rounding."""
    rows, right = [[Fraction(value) for value in row] for row in X.tolist()], [Fraction(value) for value in y.tolist()]
    n, d = X.shape
    if intercept:
        means = [sum(row[j] for row in rows) / n for j in range(d)]
        rows, right = (
            [[a - m for a, m in zip(row, means, strict=True)] for row in rows],
            [b - sum(right) / n for b in right],
        )
    system = [
        [sum(row[i] * row[j] for row in rows) + (Fraction(mu[i]) if i == j else 0) for j in range(d)]
        + [sum(row[i] * b for row, b in zip(rows, right, strict=True))]
        for i in range(d)
    ]
    for i in range(d):
        pivot = system[i][i]
        system[i] = [value / pivot for value in system[i]]
        for k in range(d):
            if k != i:
                factor = system[k][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    return np.array([float(row[d]) for row in system])


@pytest.mark.parametrize("fit_intercept", [False, True])
@in_pairs(shape=[(8, 5), (5, 8), (6, 6), (2, 3), (1, 4)], alpha=[1.0, 1e9, 1e-9], scale=[1.0, 1e8, 1e-8])
def test_collinear_columns_with_a_weak_penalty(shape, alpha, scale, fit_intercept):
    """scikit-learn counts singular values that are rounding errors here: its answer is up to 1e10 times too large."""
    X = scale * np.random.default_rng(2).standard_normal(shape)
    X[:, 1], X[:, 2] = X[:, 0], 2.0 * X[:, 0]
    y = target(X / scale)
    is_provable = alpha > 1e-9 or scale < 1e8  # else rounding errors of the gradient, squared, over alpha
    with warnings.catch_warnings():
        warnings.simplefilter("error" if is_provable else "ignore", ConvergenceWarning)
        model = ours.Ridge(alpha, fit_intercept=fit_intercept).fit(X, y)
    assert error(model.coef_, rational(X, y, [alpha] * shape[1], fit_intercept)) < 1e-8
    assert model.certificate_.converged or not is_provable


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_without_a_penalty_it_is_the_shortest_answer(shape, fit_intercept):
    X = SHAPES[shape]
    y = target(X)
    model = ours.Ridge(0.0, fit_intercept=fit_intercept).fit(X, y)
    moved = (X - X.mean(axis=0), y - y.mean()) if fit_intercept else (X, y)
    assert error(model.coef_, np.linalg.lstsq(*moved, rcond=None)[0]) < 1e-8
    assert model.certificate_.converged


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_samples_weigh_and_targets_have_penalties_of_their_own(storage):
    X, weight = np.where(np.abs(TALL) > 0.7, TALL, 0.0), np.arange(60) % 4 * 0.5
    Y = np.c_[target(TALL), -2.0 * target(TALL, 2), target(TALL, 3)]
    data = sparse.csr_array(X) if storage == "sparse" else X
    alphas = np.array([0.1, 5.0, 0.1])
    model = ours.Ridge(alphas).fit(data, Y, sample_weight=weight)
    theirs = Theirs(alphas, solver="svd").fit(X, Y, sample_weight=weight)
    assert error(model.coef_, theirs.coef_) < 1e-8
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=1e-8)


def test_the_gap_is_computed_where_the_coefficients_lie():
    import ascd

    model = ours.Ridge(0.5, fit_intercept=False).fit(TALL, target(TALL))
    problem = ascd.Problem(TALL, target(TALL), penalty=ascd.L1L2(0.0, 0.5))
    assert model.certificate_.objective == pytest.approx(2.0 * problem.objective(model.coef_), rel=1e-12)
    assert model.certificate_.gap == pytest.approx(2.0 * problem.gap(model.coef_), abs=1e-12)
    assert model.certificate_.tolerance == pytest.approx(1e-6 * target(TALL) @ target(TALL))
