"""``ascd.minimize`` on blocks: every step is the reference's, and groups of one column are single coordinates."""

from __future__ import annotations

import itertools
from functools import cache

import block_lockstep as lock
import numpy as np
import pytest
from lockstep import assemble
from lockstep import record as record_columns
from pairs import in_pairs
from reference import blocks as naive

import ascd
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.engine.steepness import STEEPNESS

N_ITER = 14
SCORES = [name for name, row in STEEPNESS.items() if not row[2]]
STEPS = ("fixed", "coordinate")


def combinations():
    """Rule × oracle, the rest in turn: every pair with steepness, step, storage and problem is met somewhere."""
    others = itertools.cycle(itertools.product(lock.CASES, SCORES, STEPS, ("dense", "sparse")))
    for rule, oracle in itertools.product(lock.RULES, lock.ORACLES):
        for _ in range(2):
            for _ in range(17):
                case, steepness, step, storage = next(others)
            yield rule, oracle, case, steepness, step, storage


RUNS = list(combinations())


def cache_of(slots, patience):
    """The reference's exact oracle for the blocks that moved ``patience`` times, as many as fit; "norm" for others."""
    held, moves = [], {}

    def change(problem, i, D, rng):
        moves[i] = moves.get(i, 0) + 1
        if i not in held and moves[i] >= patience:
            if len(held) == slots:
                moves[held.pop(0)] = 0
            held.append(i)
        if i not in held:
            return naive.oracle_norm()(problem, i, D, rng)
        held.append(held.pop(held.index(i)))
        return naive.oracle_exact()(problem, i, D, rng)

    return change


@pytest.mark.usefixtures("interpreted")
class TestReference:
    """Interpreted: picks, coefficients, estimated gradients and radii, step by step."""

    @pytest.mark.parametrize("rule", lock.RULES)
    def test_every_step_is_the_references(self, rule):
        for seed, (_, oracle, name, steepness, step, storage) in enumerate(run for run in RUNS if run[0] == rule):
            case, (twin, part) = lock.CASES[name], lock.ORACLES[oracle]
            chosen = ascd.Importance(1.0) if rule == "importance" else rule
            problem = case.library(storage)
            history = lock.record(
                problem, N_ITER, rule=chosen, oracle=part, steepness=steepness, step=step, rng=seed
            )  # fmt: skip
            try:
                lock.replay(case, history, rule, twin(history.assembly.oracle), steepness, step)
            except AssertionError as error:
                raise AssertionError(f"{rule}, {oracle}, {name}, {steepness}, {step}, {storage}: {error}") from error

    def test_every_two_of_them_meet(self):
        factors = (lock.RULES, lock.ORACLES, lock.CASES, SCORES, STEPS, ("dense", "sparse"))
        for (i, ours), (j, theirs) in itertools.combinations(enumerate(factors), 2):
            assert {(run[i], run[j]) for run in RUNS} == set(itertools.product(ours, theirs)), (i, j)

    @pytest.mark.parametrize("name", lock.CASES)
    def test_the_minimum_over_a_block(self, name):
        case = lock.CASES[name]
        history = lock.record(case.library(), 2, rule="cyclic", step="line-search")
        lock.replay(case, history, "cyclic", naive.oracle_norm(), "gs-s", "line-search")
        problem, X = case.reference(), history.x[-1]
        g = problem.groups[history.picks[-1]]
        assert problem.slack_of(X[g], problem.gradient(X)[g], history.picks[-1]) <= 1e-8

    def test_a_sketch_that_is_smaller_than_the_data(self):
        rng = np.random.default_rng(0)
        A = rng.standard_normal((300, 4))
        problem = ascd.BlockProblem(A, A[:, :2] + 0.1, penalty=ascd.GroupL2(3.0, 2))
        history = lock.record(problem, 6, rule="ascd", oracle=ascd.Sketch(0.9), rng=0)
        embedded = history.assembly.oracle
        assert embedded.images.shape[0] < 300
        assert embedded.epsilon == 0.9
        twin = naive.BlockProblem(A, A[:, :2] + 0.1, [[0, 1], [2, 3]], lam=3.0)
        X, i = history.x[0], history.picks[0]
        D = history.x[1][twin.groups[i]] - X[twin.groups[i]]
        P, e = naive.oracle_sketch(embedded.images, 0.9)(twin, i, D, None)
        true = naive.exact_change(twin, i, D)
        for b, g in enumerate(twin.groups):
            assert np.linalg.norm(P[g] - true[g]) <= e[b]
        estimate, radius = naive.move_balls(twin, history.gradient[0], history.radius[0], i, D, P, e)
        other = 1 - i
        np.testing.assert_allclose(history.gradient[1][twin.groups[other]], estimate[twin.groups[other]], atol=1e-9)
        np.testing.assert_allclose(history.radius[1][other], radius[other], rtol=1e-9)

    @pytest.mark.parametrize("capacity", [3, 6, 100])
    @pytest.mark.parametrize("name", ["group", "several targets", "softmax"])
    def test_a_cache_forgets_the_block_used_longest_ago(self, name, capacity):
        case = lock.CASES[name]
        history = lock.record(case.library(), 40, rule="uniform", oracle=ascd.Cached(capacity, patience=2), rng=2)
        twin = cache_of(max(1, capacity // 3), patience=2)  # the widest block has three columns
        lock.replay(case, history, "uniform", twin, "gs-s", "coordinate")

    @pytest.mark.parametrize("rule", ["ascd", "a-ascd", "steepest"])
    def test_whole_runs_agree(self, rule):
        case = lock.CASES["several targets"]
        history = lock.record(case.library(), 40, rule=rule, oracle="exact", rng=3)
        picks, X, values = naive.descend_blocks(case.reference(), rule, n_iter=40, rng=np.random.default_rng(3))
        assert list(history.picks) == picks
        np.testing.assert_allclose(history.x[-1], X, atol=1e-10)
        assert values[-1] < values[0]


@pytest.mark.usefixtures("interpreted")
class TestSingleColumns:
    """A block of one column with one output is a coordinate: the same picks, points and bounds."""

    # "reference" intersects intervals of scores here and of gradient entries there, which may be narrower
    @in_pairs(rule=RULES, oracle=["exact", "norm", "cached", "measured", "sketch"], loss=["squared", "logistic"])
    def test_groups_of_one_column_are_coordinates(self, rule, oracle, loss):
        target = lock.Y[:, 0] if loss == "squared" else np.sign(lock.Y[:, 0])
        plain = ascd.Problem(lock.A, target, loss, ascd.L1(0.8), sample_weight=lock.WEIGHT)
        block = ascd.BlockProblem(lock.A, target, loss, ascd.GroupL2(0.8, 1), sample_weight=lock.WEIGHT)
        expected = record_columns(assemble(plain, rule, oracle, seed=5), 20)
        found = lock.record(block, 20, rule=rule, oracle=oracle, rng=5)
        assert list(found.picks) == list(expected.picks)
        np.testing.assert_allclose(found.x[:, :, 0], expected.x, atol=1e-10)
        np.testing.assert_allclose(found.lower, expected.lower, atol=1e-9)
        np.testing.assert_allclose(found.upper, expected.upper, atol=1e-9)

    @pytest.mark.parametrize("steepness", STEEPNESS)
    def test_exact_scores_are_those_of_coordinates(self, steepness):
        plain_penalty, penalty = (
            (ascd.L2(0.5), ascd.L21(0.0, ridge=0.5)) if STEEPNESS[steepness][2]
            else (ascd.L1L2(0.8, 0.5), ascd.GroupL2(0.8, 1, ridge=0.5))
        )  # fmt: skip
        plain = ascd.Problem(lock.A, lock.Y[:, 0], penalty=plain_penalty)
        block = ascd.BlockProblem(lock.A, lock.Y[:, 0], penalty=penalty)
        expected = record_columns(assemble(plain, "steepest", "exact", steepness), 12)
        found = lock.record(block, 12, rule="steepest", oracle="exact", steepness=steepness)
        assert list(found.picks) == list(expected.picks)
        np.testing.assert_allclose(found.lower, expected.lower, atol=1e-6)
        np.testing.assert_allclose(found.upper, expected.upper, atol=1e-6)


@cache
def minimum(name):
    return ascd.solve_blocks(lock.CASES[name].library(), tol=1e-12).objective


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("rule", RULES)
def test_lazy_selection_is_the_scan(rule, lazy_everywhere):
    """With "norm" heaps replace the scan; both end where the solver does."""
    problem, best = lock.CASES["rows"].library(), minimum("rows")
    solution = ascd.minimize(problem, rule, "norm", rng=0, max_iter=500, tol=1e-5)
    assert solution.objective - best <= 1e-4


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("oracle", [*sorted({*ORACLES} - {"stochastic"}), ascd.Blind([0], "measured")], ids=str)
@pytest.mark.parametrize("rule", ["awake", "block", "look-ahead", "adaptive"])
def test_the_rules_beyond_the_paper_with_every_oracle(rule, oracle):
    """Every rule and every oracle with one of the problems."""
    name = ("group", "softmax", "group")[(len(rule) + len(str(oracle))) % 3]
    problem, best = lock.CASES[name].library("sparse"), minimum(name)
    solution = ascd.minimize(problem, rule, oracle, rng=1, max_iter=150, tol=1e-4)
    assert -1e-9 <= solution.objective - best <= 1e-3
