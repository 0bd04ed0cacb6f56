"""Remote row chunks: one round trip a step, certificates from sums, and no vector of samples travels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pairs import in_pairs
from solving import LOSSES, make_case

import ascd
from ascd.matrix.base import DataGone
from ascd.matrix.chunked import InTurn, chunked
from ascd.matrix.open import open_design
from ascd.problem.certificate import certify_from_sums
from ascd.solver.rows import SCALES, TRIAL_LENGTHS, rows_of, sums_over_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 6))
SIGNAL = X @ RNG.standard_normal(6) + RNG.standard_normal(90)
LABELS = np.where(SIGNAL > 0.0, 1.0, -1.0)
TARGETS = {
    "squared": SIGNAL,
    "huber": SIGNAL,
    "logistic": LABELS,
    "squared_hinge": LABELS,
    "poisson": np.round(SIGNAL**2),
}


class Remote:
    """Chunks that are remote: what is sent and received is recorded."""

    is_remote = True

    def __init__(self, parts, fails_at=None):
        self.inner, self.questions, self.moved, self.fails_at = InTurn(parts), [], [], fails_at

    def ask(self, calls):
        if len(self.questions) == self.fails_at:
            raise DataGone("gone")
        answers = self.inner.ask(calls)
        self.questions.append(calls[0].request.__name__)
        self.moved.append([size for one in (*(call.arguments for call in calls), answers) for size in sizes(one)])
        return answers

    def keep(self, values):
        return [Beside(value) for value in values]


class Beside(tuple):
    """What is kept with a part does not travel again."""


def sizes(values):
    if isinstance(values, np.ndarray):
        return [values.size]
    if isinstance(values, list | tuple) and not isinstance(values, Beside):
        return [size for value in values for size in sizes(value)]
    return []


def in_parts(A, rows=3, columns=1, fails_at=None):
    ends = [np.linspace(0, size, count + 1).astype(int) for size, count in zip(A.shape, (rows, columns), strict=True)]
    parts = [
        open_design(A[top:bottom, left:right])
        for top, bottom in itertools.pairwise(ends[0])
        for left, right in itertools.pairwise(ends[1])
    ]
    return chunked(Remote(parts, fails_at), *ends)


def stated(A, loss, share, **how):
    gradient = ascd.Problem(X, TARGETS[loss], loss).gradient(np.zeros(6))
    return ascd.Problem(A, TARGETS[loss], loss, ascd.L1(float(np.abs(gradient).max()) / share), **how)


WEIGHTS = {"offset": 0.3 * X[:, 0], "sample_weight": np.where(np.arange(90) % 5, 1.0, 0.0)}


@pytest.mark.parametrize(("loss", "intercept"), [*zip(TARGETS, itertools.cycle([False, True]), strict=False)])
@pytest.mark.parametrize("how", [{}, WEIGHTS], ids=["plain", "offset and weights"])
def test_few_rounds_and_no_vector_of_samples(loss, intercept, how):
    problem = stated(in_parts(X), loss, 100, **how)
    found = ascd.solve(problem, tol=1e-6, intercept=intercept)
    source = problem.design
    assert found.converged
    assert source.rounds <= (2 if loss == "squared" else 9)
    assert source.executor.questions == ["first", *["sums_over_rows"] * (source.rounds - 1)]
    largest = max(max(moved) for moved in source.executor.moved[1:])
    assert largest <= 6 * max(6, TRIAL_LENGTHS.size + 2)  # G, and products
    expected = ascd.solve(stated(X, loss, 100, **how), tol=1e-12, intercept=intercept)
    assert 0.0 <= found.objective - expected.objective + 1e-12 <= found.gap + 1e-11


def sums_at(problem, design, x, constant):
    """What one round trip returns of a point."""
    spans = design.spans
    kept = design.executor.keep([rows_of(problem, span) for span in spans])
    given = x, x, np.array([constant, constant]), np.ones(1), np.zeros(1), np.arange(x.size)
    return design.over_rows(sums_over_rows, kept, *given)


def gap_from(problem, x, constant, sums, intercept):
    return certify_from_sums(problem, problem.terms(), x[:, None], np.array([constant]), sums, SCALES, intercept)


@in_pairs(loss=LOSSES, intercept=[False, True], weighted=[False, True])
def test_a_gap_from_sums_is_never_below_the_truth(loss, intercept, weighted):
    """Near and far from the minimum it is no less than F − min F; without an intercept it is about the usual one."""
    case = make_case(loss, "l1", intercept, weighted, seed=2)
    problem, design = case.problem(), in_parts(case.A)
    best = ascd.solve(problem, tol=1e-13, intercept=intercept)
    seen = 0
    for number, away in enumerate([1e-9, 1e-5, 1e-2, 1.0]):
        rng = np.random.default_rng(number)
        x = best.x * (1.0 + away * rng.standard_normal(5))
        constant = best.intercept * (1.0 + away * rng.standard_normal())
        sums = sums_at(problem, design, x, constant)
        gap = gap_from(problem, x, constant, sums, intercept)
        excess = case.objective(x, constant) - best.objective
        assert gap >= excess - 1e-13 * best.zero_objective
        seen += gap < np.inf
        if not intercept and away < 1.0:
            proved = problem.gap(x)
            assert gap <= 1.7 * proved + 1e-12 * best.zero_objective
    assert seen >= 3
    sums = sums_at(problem, design, best.x, best.intercept)
    assert gap_from(problem, best.x, best.intercept, sums, intercept) <= 1e-9 * best.zero_objective


def test_where_sums_prove_nothing_the_gap_is_infinite():
    """Coordinates that need an exact product; raw gradients of one sign, which cannot be balanced."""
    case = make_case("squared", "none")
    sums = sums_at(case.problem(), in_parts(case.A), np.ones(5), 0.0)
    assert gap_from(case.problem(), np.ones(5), 0.0, sums, False) == np.inf
    problem = ascd.Problem(X, np.ones(90), "logistic", ascd.L1(1.0))
    sums = sums_at(problem, in_parts(X), np.ones(6), 0.0)
    one_sided = sums._replace(sizes=np.array([sums.sizes.sum(), 0.0]))
    assert gap_from(problem, np.ones(6), 0.0, one_sided, True) == np.inf


def test_data_that_are_lost_leave_the_best_point():
    """The gap is the one that sums have certified there."""
    problem = stated(in_parts(X, fails_at=3), "logistic", 20)
    with pytest.warns(RuntimeWarning, match="best point so far"):
        found = ascd.solve(problem, tol=1e-9)
    assert str(found.status) == "unreachable"
    assert found.x.any()
    here = stated(X, "logistic", 20)
    assert found.objective == pytest.approx(here.objective(found.x))
    assert found.gap >= found.objective - ascd.solve(here, tol=1e-12).objective
