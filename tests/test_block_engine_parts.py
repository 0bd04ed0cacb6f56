"""``ascd.minimize`` on blocks: end to end, with parts of one's own, and with what is refused."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import block_lockstep as lock
import numpy as np
import pytest
from scipy import sparse

import ascd
from ascd.blocks.engine.point import length_of


@ascd.helper
def norm_of(v):
    total = 0.0
    for i in range(v.size):
        total += v[i] * v[i]
    return math.sqrt(total)


class OwnNorm(NamedTuple):
    """The smallest contract: no slack, no piece."""

    strength: float

    def block_cost(self, x, b):
        return self.strength * norm_of(x)

    def block_prox(self, v, step, b):
        size = norm_of(v)
        share = max(0.0, 1.0 - step * self.strength / size) if size > 0.0 else 0.0
        for i in range(v.size):
            v[i] *= share

    def block_distance(self, x, g, b):
        size, total = norm_of(x), 0.0
        if size == 0.0:
            return max(0.0, norm_of(g) - self.strength)
        for i in range(x.size):
            total += (g[i] + self.strength * x[i] / size) ** 2
        return math.sqrt(total)

    def block_conjugate(self, u, radius, b):
        return 0.0 if norm_of(u) + radius <= self.strength else math.inf

    def block_scale(self, u, radius, b):
        return min(1.0, self.strength / max(norm_of(u) + radius, 1e-300))


class Backwards(NamedTuple):
    """A rule of one's own needs nothing for blocks."""

    unit: float = 1.0

    def select(self, point: Any, t: int, rng: Any) -> int:
        return point.x.size - 1 - t % point.x.size


class Cautious(NamedTuple):
    """An oracle of one's own: twice the clock of "norm"."""

    factor: float = 2.0

    def update_block(self, point: Any, i: int, change: Any, rng: Any) -> None:
        length = norm_of(change) * point.problem.norm[i] * (point.problem.gain + point.problem.slack)
        point.intervals.widen(self.factor * length)


class Distance(NamedTuple):
    """A steepness of one's own: the plain distance."""

    unit: float = 1.0

    def block_score(self, penalty: Any, b: int, x: Any, g: Any) -> float:
        return penalty.block_distance(x, g, b)

    def block_rate(self, b: int) -> float:
        return 1.0


class HalfStep(NamedTuple):
    """A step of one's own: half as long as 1/L_b, and its gradient is said to be anywhere within a ball."""

    factor: float = 0.5

    def take_block(self, point: Any, i: int, x: Any, g: Any) -> float:
        lipschitz, moved = point.problem.lipschitz[i] / self.factor, 0.0
        for p in range(x.size):
            x[p] -= g[p] / lipschitz
        point.problem.penalty.block_prox(x, 1.0 / lipschitz, i)
        first = point.problem.ends[i]
        for p in range(x.size):
            moved += (x[p] - point.coefficients[first + p]) ** 2
        return point.problem.lipschitz[i] * math.sqrt(moved)


class WrongStep(NamedTuple):
    unit: float = 1.0

    def take_block(self, point: Any, i: int, x: Any, g: Any) -> float:
        return -1.0


class ColumnOracle(NamedTuple):
    """For single coordinates only."""

    unit: float = 1.0

    def update(self, point: Any, i: int, change: float, rng: Any) -> None:
        pass


class ColumnStep(NamedTuple):
    unit: float = 1.0

    def take(self, point: Any, i: int, g: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.0


class NoSlope(NamedTuple):
    unit: float = 1.0

    def block_score(self, penalty: Any, b: int, x: Any, g: Any) -> float:
        return 0.0

    def block_rate(self, b: int) -> float:
        return 0.0


def optimum(problem):
    return ascd.solve_blocks(problem, tol=1e-13).objective


@pytest.mark.usefixtures("compiled")
class TestCompiled:
    """A few combinations compiled, from one end to the other."""

    @pytest.mark.parametrize(
        ("name", "how"),
        [
            ("group", {"rule": "ascd", "oracle": "norm", "rng": 0}),
            ("several targets", {}),
            ("softmax", {"steepness": "gsl-q", "step": "line-search", "oracle": "exact"}),
            ("logistic", {"rule": "steepest", "oracle": "reference", "steepness": "gsl-r", "step": "fixed"}),
        ],
    )
    def test_the_optimum_is_the_solvers(self, name, how):
        problem = lock.CASES[name].library("sparse" if name == "softmax" else "dense")
        solution = ascd.minimize(problem, tol=1e-9, **how)
        assert solution.status is ascd.Status.CONVERGED
        assert abs(solution.objective - optimum(problem)) <= 1e-8
        assert solution.x.shape == (() if problem.loss.is_flat else (9, 3)) or solution.x.shape == (9,)
        assert problem.objective(solution.x) == pytest.approx(solution.objective, rel=1e-12)

    def test_parts_of_ones_own(self):
        problem = ascd.BlockProblem(lock.A, lock.Y, penalty=OwnNorm(0.9), groups=3)
        best = optimum(ascd.BlockProblem(lock.A, lock.Y, penalty=ascd.GroupL2(0.9, 3)))
        own = ascd.minimize(problem, Backwards(), Cautious(), Distance(), HalfStep(), tol=1e-7)
        assert own.objective - best <= 1e-7
        assert own.chosen == {"rule": "Backwards", "oracle": "Cautious", "steepness": "Distance", "step": "HalfStep"}
        plain = ascd.minimize(problem, "ascd", tol=1e-7, rng=0)
        assert plain.converged
        assert plain.objective - best <= 1e-7


@pytest.mark.usefixtures("interpreted")
class TestInterpreted:
    """What needs no compiling."""

    @pytest.mark.parametrize("change", [np.ascontiguousarray, sparse.csr_array, sparse.coo_array, np.float32])
    def test_every_storage(self, change):
        expected = ascd.minimize(ascd.BlockProblem(lock.A, lock.Y, penalty=ascd.L21(1.0)), max_iter=60, tol=0.0)
        found = ascd.minimize(ascd.BlockProblem(change(lock.A), lock.Y, penalty=ascd.L21(1.0)), max_iter=60, tol=0.0)
        assert found.objective == pytest.approx(expected.objective, rel=1e-6)

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
        data = np.hstack([lock.A[:, :4], lock.A[:, :1], np.zeros((14, 4))])
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
        """One minimum over a block is worth many steps of length 1/L_b, and none is shorter than 1/L."""
        problem = lock.CASES["group"].library()
        falls = [ascd.minimize(problem, "cyclic", step=step, max_iter=4, tol=0.0).objective
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
