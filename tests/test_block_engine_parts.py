"""``ascd.minimize`` on blocks: end to end, with parts of one's own, and with what is refused."""

from __future__ import annotations

import block_lockstep as lock
import numpy as np
import pytest
from compilations import compilations_of, only_loops_compiled
from scipy import sparse
from user_parts.my_blocks import (
    Backwards,
    Cautious,
    ColumnOracle,
    ColumnStep,
    Distance,
    HalfStep,
    NoSlope,
    OwnNorm,
    WrongStep,
)

import ascd
from ascd._core.jit import Kernel
from ascd.blocks.engine.descent import descend_blocks
from ascd.blocks.engine.point import length_of, move, read_block, wipe
from ascd.blocks.engine.run import assemble_blocks


def optimum(problem):
    return ascd.solve_blocks(problem, tol=1e-13).objective


def take(point, step, i, x, g):
    return step.take_block(point, i, x, g)


def follow(point, i, x, change):
    return move(point, i, x, change)


def update(point, oracle, i, change, rng):
    oracle.update_block(point, i, change, rng)
    wipe(point.trail, point.problem.matrix.outputs)


def bounds(point, out):
    for b in range(point.x.size):
        out[b, 0], out[b, 1] = point.intervals.bounds_at(b)


STEP = (take, follow, update, bounds)
#: Problem, storage and parts: where nothing is asked for, and others of every kind; what of a step is compiled of them:
#: no part is compiled for the same kinds of others again.
DEFAULT = ("several targets", "dense", {"rng": 0})
REFERENCED = (
    "logistic", "dense", {"rule": "steepest", "oracle": "reference", "steepness": "gsl-r", "step": "fixed"},
)  # fmt: skip
ROWS = [
    ("group", "dense", {"rule": "ascd", "oracle": "norm", "rng": 0}, (update,)),
    ("softmax", "sparse", {"steepness": "gsl-q", "step": "line-search", "oracle": "exact", "rng": 0}, STEP),
    (*REFERENCED, (take, update, bounds)),
]
#: The same parts; in plain Python a line search on several outputs takes its time.
OPTIMA = [
    DEFAULT, ROWS[0][:3], ("softmax", "sparse", {"steepness": "gsl-q", "oracle": "exact", "rng": 0}),
    (*REFERENCED[:2], {**REFERENCED[2], "step": "line-search"}),
    REFERENCED,
]  # fmt: skip


def one_step(made, i, run_take, run_follow, run_update, run_bounds):
    """What a step of block i leaves behind; each of its parts is run as it is given here."""
    point, (low, high) = made.point, made.point.problem.ends[i : i + 2]
    x, g, change = point.coefficients[low:high].copy(), np.empty(high - low), np.empty(high - low)
    read_block(point.problem.matrix, i, point.slope, g)
    error = run_take(point, made.step, i, x, g)
    if run_follow(point, i, x, change):
        run_update(point, made.oracle, i, change, made.rng)
    out = np.empty((point.x.size, 2))
    run_bounds(point, out)
    return [np.array([error]), g, change, out, point.coefficients, point.image, point.slope]


@pytest.mark.parametrize(("name", "storage", "how", "chosen"), ROWS)
def test_compiled_parts_do_what_plain_python_does(name, storage, how, chosen, interpreted):
    """Part by part: the loop around them takes ten seconds to compile for each combination."""
    compiled, plain = (assemble_blocks(lock.CASES[name].library(storage), **how) for _ in range(2))
    for made in (compiled, plain):
        descend_blocks.py_func(made.point, made.rule, made.oracle, made.step, made.unread, 0, 3, made.rng)
    kernels = {each: Kernel(each).stored for each in chosen}
    functions = [kernels.get(each, each) for each in STEP]
    for i in (2, 0, 3):
        for found, expected in zip(one_step(compiled, i, *functions), one_step(plain, i, *STEP), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    assert all(each.signatures for each in kernels.values())


@pytest.mark.parametrize(("name", "storage", "how"), OPTIMA)
def test_the_optimum_is_the_solvers(name, storage, how, monkeypatch):
    """What runs where nothing is asked for is compiled, from one end of the engine to the other."""
    monkeypatch.setattr("ascd._core.jit.is_interpreted", name != DEFAULT[0])
    problem = lock.CASES[name].library(storage)
    solution = ascd.minimize(problem, tol=1e-9, **how)
    assert solution.status is ascd.Status.CONVERGED
    assert solution.x.shape == ((9,) if problem.loss.is_flat else (9, 3))
    assert problem.objective(solution.x) == pytest.approx(solution.objective, rel=1e-12)
    monkeypatch.setattr("ascd._core.jit.is_interpreted", True)
    assert abs(solution.objective - optimum(problem)) <= 1e-8


def test_parts_of_ones_own_are_compiled(monkeypatch):
    """The loop, which holds them all; a penalty of one's own is compiled for the gap in test_blocks."""
    problem = ascd.BlockProblem(lock.A, lock.Y, penalty=OwnNorm(0.9), groups=3)
    with compilations_of(descend_blocks) as compilations, only_loops_compiled():
        own = ascd.minimize(problem, Backwards(), Cautious(), Distance(), HalfStep(), tol=1e-7)
    assert compilations.kept == [False]
    monkeypatch.setattr("ascd._core.jit.is_interpreted", True)
    assert own.objective - own_optimum() <= 1e-7
    assert own.chosen == {"rule": "Backwards", "oracle": "Cautious", "steepness": "Distance", "step": "HalfStep"}


def own_optimum():
    return optimum(ascd.BlockProblem(lock.A, lock.Y, penalty=ascd.GroupL2(0.9, 3)))


@pytest.mark.usefixtures("interpreted")
class TestInterpreted:
    """What needs no compiling."""

    @pytest.mark.parametrize("change", [np.ascontiguousarray, sparse.csr_array, sparse.coo_array, np.float32])
    def test_every_storage(self, change):
        expected = ascd.minimize(ascd.BlockProblem(lock.A, lock.Y, penalty=ascd.L21(1.0)), max_iter=60, tol=0.0)
        found = ascd.minimize(ascd.BlockProblem(change(lock.A), lock.Y, penalty=ascd.L21(1.0)), max_iter=60, tol=0.0)
        assert found.objective == pytest.approx(expected.objective, rel=1e-6)

    def test_a_penalty_of_ones_own_and_the_librarys_parts(self):
        problem = ascd.BlockProblem(lock.A, lock.Y, penalty=OwnNorm(0.9), groups=3)
        plain = ascd.minimize(problem, "ascd", tol=1e-7, rng=0)
        assert plain.converged
        assert plain.objective - own_optimum() <= 1e-7

    def test_a_resting_block_of_a_penalty_without_slack_is_certain(self):
        """The upper bound of a block far inside its subdifferential is 0 though its radius is not."""
        problem = ascd.BlockProblem(lock.A, lock.Y[:, 0], penalty=OwnNorm(50.0), groups=3)
        made = lock.record(problem, 1, rule="cyclic", oracle="norm").assembly
        made.point.intervals.widen(0.1)
        assert all(made.point.intervals.bounds_at(b) == (0.0, 0.0) for b in range(3))

    def test_where_it_starts(self):
        problem = lock.CASES["several targets"].library()
        x0 = np.random.default_rng(0).standard_normal((9, 3))
        solution = ascd.minimize(problem, x0=x0, max_iter=1, tol=0.0, record=1)
        assert solution.trace.objective[0] == pytest.approx(problem.objective(x0), rel=1e-12)
        for init in ("none", (np.zeros((9, 3)), np.full(4, np.inf))):
            found = ascd.minimize(problem, "ascd", init=init, x0=x0, max_iter=300, tol=1e-6, rng=0)
            assert found.objective - optimum(problem) <= 1e-6

    def test_a_known_gradient_is_used(self):
        problem, twin = lock.CASES["group"].library(), lock.CASES["group"].reference()
        gradient = twin.gradient(np.zeros((9, 1)))
        known = ascd.minimize(problem, "steepest", "exact", init=(gradient, np.zeros(4)), max_iter=5, tol=0.0)
        read = ascd.minimize(problem, "steepest", "exact", max_iter=5, tol=0.0)
        np.testing.assert_allclose(known.x, read.x, atol=1e-12)
        assert read.reads - known.reads == 9

    def test_reads_count_columns(self):
        problem = lock.CASES["group"].library()
        solution = ascd.minimize(problem, "cyclic", max_iter=4, tol=0.0)
        assert solution.reads == 9 + 9

    def test_the_callback_sees_the_coefficients(self):
        problem, seen = lock.CASES["several targets"].library(), []
        ascd.minimize(problem, max_iter=8, tol=0.0, record=4, callback=lambda snap: seen.append(snap.x.shape))
        assert seen == [(9, 3), (9, 3)]

    def test_the_gap_is_recorded(self):
        trace = ascd.minimize(lock.CASES["softmax"].library(), max_iter=40, tol=0.0, record_gap=True, record=20).trace
        assert trace.gap[0] > trace.gap[-1] > 0.0

    @pytest.mark.parametrize("groups", [[list(range(9))], 1])
    def test_one_block_and_all_single(self, groups):
        problem = ascd.BlockProblem(lock.A, lock.Y, penalty=ascd.GroupL2(1.0, groups))
        solution = ascd.minimize(problem, "ascd", rng=0, tol=1e-7, max_iter=2000)
        assert solution.objective - optimum(problem) <= 1e-6

    def test_columns_of_zeros_and_duplicates(self):
        data = np.hstack([lock.A[:, :4], lock.A[:, :1], np.zeros((lock.ROWS, 4))])
        for rule in ("ascd", "awake", "importance"):
            problem = ascd.BlockProblem(data, lock.Y, penalty=ascd.GroupL2(1.0, [[0, 4], [1, 2, 3], [5, 6], [7, 8]]))
            solution = ascd.minimize(problem, rule, step="line-search", rng=0, tol=1e-7, max_iter=300)
            assert solution.objective - optimum(problem) <= 1e-6
            assert not solution.x[5:].any()

    def test_nothing_but_zeros(self):
        problem = ascd.BlockProblem(np.zeros((5, 4)), np.zeros((5, 2)), penalty=ascd.GroupL2(1.0, 2))
        solution = ascd.minimize(problem, "ascd", tol=1e-9, rng=0)
        assert solution.n_iter <= 64
        assert not solution.x.any()

    def test_unpenalised_and_positive_blocks(self):
        for penalty in (
            ascd.GroupL2(1.0, lock.GROUPS, [0, 1, 1, 1]), ascd.GroupL2(0.5, lock.GROUPS, positive=True), None,
        ):  # fmt: skip
            problem = ascd.BlockProblem(lock.A, lock.Y[:, 0], penalty=penalty)
            solution = ascd.minimize(problem, rng=0, max_iter=4000, tol=1e-7)
            assert solution.objective - optimum(problem) <= 1e-6

    def test_lengths_of_steps(self):
        """From one point the minimum over a block leads lower than the step 1/L_b, and that one lower than 1/L."""
        problem = lock.CASES["group"].library()
        falls = [ascd.minimize(problem, "cyclic", step=step, max_iter=1, tol=0.0).objective
                 for step in ("line-search", "coordinate", "fixed")]  # fmt: skip
        assert falls[0] < falls[1] < falls[2]

    @pytest.mark.parametrize(
        ("how", "error", "words"),
        [
            ({"oracle": ColumnOracle()}, TypeError, r"oracle ColumnOracle lacks the method update_block\(self, point"),
            ({"step": ColumnStep()}, TypeError, r"step ColumnStep lacks the method take_block"),
            ({"steepness": NoSlope()}, ValueError, "block_rate must be positive"),
            ({"steepness": "gs"}, ValueError, "smooth .none, or a ridge alone.*gs-s"),
            ({"steepness": "gsx"}, ValueError, "steepness"),
            ({"step": "exact"}, ValueError, "step"),
            ({"oracle": "exactly"}, ValueError, "oracle"),
            ({"rule": "steep"}, ValueError, "rule"),
            ({"init": "gradients"}, ValueError, "init"),
            ({"init": 3}, TypeError, "init must be"),
            ({"init": (np.zeros((9, 3)), np.zeros(9))}, ValueError, "init radius"),
            ({"init": (np.zeros(9), np.zeros(4))}, ValueError, "init estimate must have the shape"),
            ({"init": (np.zeros((9, 3)), -np.ones(4))}, ValueError, "init radius"),
            ({"x0": np.zeros(9)}, ValueError, "x0 must have the shape"),
            ({"x0": np.full((9, 3), np.nan)}, ValueError, "x0"),
            ({"step": WrongStep()}, ValueError, "step WrongStep: take_block left .* error -1 for block"),
            ({"oracle": ascd.Blind([4], "norm")}, ValueError, r"0 .. 3"),
            ({"oracle": ascd.Cached(0)}, ValueError, "Cached capacity"),
            ({"oracle": ascd.Reference(-1.0)}, ValueError, "Reference patience"),
        ],
    )
    def test_what_is_refused(self, how, error, words):
        with pytest.raises(error, match=words):
            ascd.minimize(lock.CASES["several targets"].library(), **how, max_iter=3)

    def test_losses_without_bounded_curvature_are_refused(self):
        problem = ascd.BlockProblem(lock.A, np.abs(lock.Y), "poisson", ascd.L21(1.0))
        with pytest.raises(ValueError, match=r"Poisson has none: use ascd.solve_blocks"):
            ascd.minimize(problem)

    def test_problems_of_other_kinds_are_refused(self):
        with pytest.raises(TypeError, match=r"ascd.Problem or an ascd.BlockProblem; got dict"):
            ascd.minimize({})

    def test_blocks_too_wide_for_their_products_are_refused(self, monkeypatch):
        monkeypatch.setattr("ascd.blocks.engine.parts.LARGEST_EXACT", 100)
        with pytest.raises(ValueError, match=r"blocks of up to 3 columns.*solve_blocks"):
            ascd.minimize(lock.CASES["group"].library())

    def test_products_that_overflow_are_refused(self):
        A = np.full((4, 4), 6e153)
        with pytest.raises(ValueError, match="overflow"):
            ascd.minimize(ascd.BlockProblem(A, np.zeros(4), penalty=ascd.GroupL2(1.0, 4)))

    def test_smooth_block_problems_take_the_plain_steepness(self):
        for steepness in ("gs", "gsl"):
            problem = ascd.BlockProblem(lock.A, lock.Y, penalty=ascd.GroupL2(0.0, lock.GROUPS, ridge=1.0))
            solution = ascd.minimize(problem, "steepest", steepness=steepness, tol=1e-7, max_iter=400)
            assert solution.objective - optimum(problem) <= 1e-8


def test_length_of_is_the_norm():
    assert length_of(np.array([3.0, 4.0])) == 5.0
