"""Answers of scikit-learn, SciPy, celer and skglm; compiled and plain Python; one thread and two."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from peers import plain_skglm
from penalty_table import BOUNDED_BELOW
from scipy import optimize
from sklearn import linear_model
from sklearn.svm import LinearSVC
from solving import LOSSES, make_case
from user_parts.my_parts import Asymmetric, SmoothAbsolute

import ascd
from ascd.solver import tuning
from ascd.solver.subproblem import Subproblem

D = 60


def regression(shape=(D, 30), seed=0, shift=0.5):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal(shape) + shift
    return A, A[:, :4] @ [2.0, -1.0, 1.0, 0.5] + rng.standard_normal(shape[0]) + 3.0, 0.2 + rng.random(shape[0])


def objective(problem, x, c=0.0):
    parts, z = problem.parts, problem.linear_predictor(x) + c
    weights = np.broadcast_to(parts.sample.weight, z.shape)
    losses = [parts.loss.value(y, point) for y, point in zip(parts.sample.target, z, strict=True)]
    return weights @ losses + sum(parts.penalty.cost(value, j) for j, value in enumerate(x))


TIGHT = {"tol": 1e-14, "max_iter": 100_000}
NEWTON = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
#: name → loss, penalty, and scikit-learn's model for weights of this sum
PEERS = {
    "lasso": ("squared", ascd.L1(5.0), lambda s: linear_model.Lasso(5.0 / s, **TIGHT)),
    "non-negative lasso": (
        "squared", ascd.Box(linear=5.0), lambda s: linear_model.Lasso(5.0 / s, positive=True, **TIGHT)
    ),
    "elastic net": (
        "squared", ascd.L1L2(5.0, 3.0), lambda s: linear_model.ElasticNet(8.0 / s, l1_ratio=0.625, **TIGHT)
    ),
    "ridge": ("squared", ascd.L2(2.0), lambda s: linear_model.Ridge(2.0, solver="cholesky")),
    "poisson": ("poisson", ascd.L2(2.0), lambda s: linear_model.PoissonRegressor(alpha=2.0 / s, **NEWTON)),
    "logistic": ("logistic", ascd.L2(2.0), lambda s: linear_model.LogisticRegression(C=0.5, **NEWTON)),
}  # fmt: skip


@pytest.mark.parametrize("name", PEERS)
def test_scikit_learn_with_intercept_and_sample_weights(name):
    storage = ("dense", "sparse")[list(PEERS).index(name) % 2]
    loss, penalty, model = PEERS[name]
    A, b, s = regression()
    target = {"poisson": np.round(np.abs(b)), "logistic": np.sign(b - b.mean())}.get(loss, b)
    problem = ascd.Problem(sp.csc_array(A) if storage == "sparse" else A, target, loss, penalty, s)
    solution, peer = ascd.solve(problem, tol=1e-12, intercept=True), model(s.sum()).fit(A, target, s)
    theirs = objective(problem, peer.coef_.ravel(), float(np.ravel(peer.intercept_)[0]))
    assert solution.converged
    assert solution.objective == pytest.approx(theirs, rel=1e-8)
    assert solution.objective <= theirs + 1e-11 * solution.zero_objective


def test_scipys_bounded_least_squares():
    A, b, _ = regression()
    bounded = ascd.solve(ascd.Problem(A, b, penalty=ascd.Box(-0.1, 0.4)), tol=1e-12)
    exact = np.clip(optimize.lsq_linear(A, b, (-0.1, 0.4), method="bvls", tol=1e-15).x, -0.1, 0.4)
    assert bounded.objective == pytest.approx(0.5 * np.sum((A @ exact - b) ** 2), rel=1e-9)
    positive = ascd.solve(ascd.Problem(A, b, penalty=ascd.Box()), tol=1e-12)
    np.testing.assert_allclose(positive.x, optimize.nnls(A, b)[0], atol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_liblinears_support_vectors(loss, storage):
    A, b, _ = regression((D, 8), shift=0.0)
    y = np.sign(b - np.median(b))
    svm = ascd.DualSVM(sp.csr_array(A) if storage == "sparse" else A, y, C=0.7, loss=loss)
    solution = ascd.solve(svm, tol=1e-10)
    peer = LinearSVC(C=0.7, loss=loss, fit_intercept=False, tol=1e-10, max_iter=1_000_000, random_state=0).fit(A, y)
    weights = svm.weights(solution.x)
    assert solution.converged
    assert svm.primal_objective(weights) == pytest.approx(svm.primal_objective(peer.coef_[0]), rel=1e-7)
    assert solution.gap == pytest.approx(svm.primal_objective(weights) + solution.objective, abs=1e-8)
    np.testing.assert_allclose(weights, peer.coef_[0], atol=1e-3)


# -------------------------------------------------------------------------------------- compiled


def wide(n=5000, density=0.05):
    rng = np.random.default_rng(0)
    A = sp.random_array((80, n), density=density, rng=rng, format="csc")
    return A, A[:, :10] @ np.linspace(1.0, 3.0, 10) + 0.1 * rng.standard_normal(80) + 1.0


@pytest.mark.usefixtures("compiled")
def test_threads_give_the_same_answer(monkeypatch):
    A, b = wide()
    monkeypatch.setattr("ascd._core.threads.WORTH_A_THREAD", 1e-9)
    problem = ascd.Problem(A, b, penalty=ascd.L1(0.3))
    one, again, two, all_of_them = (
        ascd.solve(problem, tol=1e-9, intercept=True, n_jobs=n_jobs) for n_jobs in (1, None, 2, -1)
    )
    assert one.converged
    for other in (again, two, all_of_them):
        assert np.array_equal(one.x, other.x)
        assert (one.intercept, one.gap, one.n_iter, one.reads) == (
            other.intercept,
            other.gap,
            other.n_iter,
            other.reads,
        )
    assert np.array_equal(one.trace.objective, two.trace.objective)


def check_beside(problem, ours, model):
    """Our objective is that of a fitted peer, or lower."""
    theirs = objective(problem, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))
    assert ours.objective == pytest.approx(theirs, rel=1e-7)
    assert ours.objective <= theirs + 1e-11 * ours.zero_objective


@pytest.mark.usefixtures("compiled")
def test_celer():
    celer = pytest.importorskip("celer", reason="celer is not installed (extra 'bench')")
    A, b = wide()
    problem = ascd.Problem(A, b, penalty=ascd.L1(0.3))
    ours = ascd.solve(problem, tol=1e-12, intercept=True)
    check_beside(problem, ours, celer.Lasso(0.3 / 80, tol=1e-14).fit(sp.csc_matrix(A), b))
    assert ours.reads < 10 * problem.n_features


def test_skglm():
    A, b = wide(300, 0.2)
    problem = ascd.Problem(A, b, penalty=ascd.L1(0.3))
    with plain_skglm() as skglm:
        model = skglm.Lasso(0.3 / 80, tol=1e-10).fit(sp.csc_matrix(A), b)
    check_beside(problem, ascd.solve(problem, tol=1e-12, intercept=True), model)


@pytest.mark.parametrize(
    ("loss", "storage", "weighted"),
    [("squared", "sparse", False), ("squared", "dense", True), ("poisson", "dense", False)],
)
def test_compiled_is_interpreted(loss, storage, weighted, monkeypatch):
    """Of combinations that are compiled elsewhere, too."""
    case = make_case(loss, "elastic net", True, weighted=weighted, seed=9)
    solutions = []
    for setting in (False, True):
        monkeypatch.setattr("ascd._core.jit.is_interpreted", setting)
        solutions.append(ascd.solve(case.problem(storage), tol=1e-10, intercept=True))
    compiled, plain = solutions
    assert compiled.converged
    assert (compiled.n_iter, compiled.reads) == (plain.n_iter, plain.reads)
    np.testing.assert_allclose(compiled.x, plain.x, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(compiled.trace.objective, plain.trace.objective, rtol=1e-11)
    assert compiled.intercept == pytest.approx(plain.intercept, rel=1e-7)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("loss", "target", "intercept"), [
    ("huber", 3.7, 3.7), ("huber", -1e6, -1e6), ("poisson", 1e6, np.log(1e6)), ("logistic", 1.0, None),
])  # fmt: skip
def test_compiled_searches_for_an_intercept_far_away_end(loss, target, intercept):
    """Compiled code may reorder sums, so that a test for infinity by subtraction fails there and nowhere else."""
    solution = ascd.solve(ascd.Problem(np.eye(7, 2), np.full(7, target), loss, ascd.L1L2(0.1, 0.0)), intercept=True)
    assert solution.converged
    assert solution.n_iter == 0
    assert np.isfinite(solution.intercept)
    assert intercept is None or solution.intercept == pytest.approx(intercept, rel=1e-12)


FORKED = """
import os, numpy as np
from ascd._core.threads import use_threads, share
done = []
with use_threads(2):
    share(1e9, 5000, lambda start, stop: done.append(stop - start))
assert len(done) > 1
child = os.fork()
if child == 0:
    done.clear()
    with use_threads(2):
        share(1e9, 5000, lambda start, stop: done.append(stop - start))
    os._exit(0 if sum(done) == 5000 else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_threads_work_in_a_forked_process():
    """Threads do not survive a fork; a pool made before it must not be used after it."""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], timeout=60, check=False).returncode == 0


# --- ``solve`` finds the minima that SciPy finds, for every loss and penalty, and says truly how good they are


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


@pytest.mark.parametrize(("loss", "penalty", "intercept", "weighted", "storage"), ROWS)
def test_every_loss_and_penalty_agrees_with_scipy(loss, penalty, intercept, weighted, storage, monkeypatch):
    number = ROWS.index((loss, penalty, intercept, weighted, storage))
    if number % 4:  # the others are solved in one compiled call
        monkeypatch.setattr("ascd.solver.tuning.SMALL_ENTRIES", 0)
    if number % 2:
        small_working_sets(monkeypatch)
    # columns, products, or (where products do not serve the whole run) one after the other
    sweeps = (tuning.MOST_SWEEPS, 0)[number % 2] if loss == "squared" else (60, 0, 3)[number % 3]
    monkeypatch.setattr(Subproblem, "_sweeps_over_columns", lambda *_: sweeps)
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
