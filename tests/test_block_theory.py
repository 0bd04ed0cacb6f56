"""The theorems' block forms (docs/theory.md): Lipschitz scores, safe oracles, the sandwich, the steepest inside."""

from __future__ import annotations

import block_lockstep as lock
import numpy as np
import pytest
import reference as ref
from pairs import in_pairs
from reference import blocks as naive

import ascd
from ascd.blocks.engine.descent import descend_blocks
from ascd.blocks.engine.parts import block_parts
from ascd.blocks.engine.run import assemble_blocks
from ascd.blocks.engine.scores import as_block_steepness, block_slack
from ascd.engine.oracles import ORACLES
from ascd.engine.steepness import STEEPNESS

pytestmark = pytest.mark.usefixtures("interpreted")
SCORES = [name for name, row in STEEPNESS.items() if not row[2]]
OF_BLOCKS = [name for name in ORACLES if name != "stochastic"]  # which estimates single entries
SAFE = [*OF_BLOCKS, ascd.Blind([1], "exact"), ascd.Cached(3), ascd.Sketch(0.9)]


def exact_scores(problem, steepness, X):
    gradient = problem.gradient(X)
    return np.array([
        max(0.0, naive.block_score(problem, steepness, X[g], gradient[g], b)) for b, g in enumerate(problem.groups)
    ])  # fmt: skip


@pytest.mark.parametrize("steepness", SCORES)
@pytest.mark.parametrize("positive", [False, True])
def test_block_scores_are_lipschitz(steepness, positive):
    """|score(g) − score(g')| ≤ rate·‖g − g'‖, with the sign: also across the boundary of the subdifferential."""
    rng = np.random.default_rng(1)
    penalty = ascd.SparseGroup(0.4, 0.7, lock.GROUPS, ridge=0.2, positive=positive)
    problem = ascd.BlockProblem(lock.A, lock.Y, penalty=penalty)
    parts = block_parts(problem, problem.design.matrix)
    steep = as_block_steepness(steepness, parts)
    crossed = 0
    for trial in range(400):
        b = trial % 4
        size = parts.ends[b + 1] - parts.ends[b]
        x = np.abs(rng.standard_normal(size)) * (rng.random(size) < 0.5) * (trial % 3 > 0)
        g = rng.standard_normal(size) * rng.choice([0.1, 0.4, 2.0])
        other = g + rng.standard_normal(size) * rng.choice([1e-3, 0.1, 1.0])
        here, there = (steep.scorer.block_score(parts.penalty, b, x, v) for v in (g, other))
        crossed += here * there < 0.0
        # gs-q is the root of a difference of costs
        rounding = 1e-6 if steepness.endswith("q") else 1e-12
        assert abs(here - there) <= steep.rate[b] * np.linalg.norm(g - other) * (1.0 + 1e-9) + rounding
    assert crossed > 5


def test_the_slack_of_a_penalty_that_does_not_tell_is_found():
    """At least 4/5 of the true depth, and never more; the distance outside."""
    rng = np.random.default_rng(2)

    class Plain:
        def __init__(self, inner):
            for name in ("block_cost", "block_distance", "block_conjugate"):
                setattr(self, name, getattr(inner, name))

    inner = ascd.BlockProblem(lock.A, lock.Y[:, 0], penalty=ascd.GroupL2(1.0, 3)).penalty
    for _ in range(100):
        g, x = rng.standard_normal(3) * rng.choice([1e-9, 0.1, 0.3, 3.0]), np.zeros(3)
        kept = g.copy()
        depth, true = block_slack(Plain(inner), x, g, 0), inner.block_slack(x, g, 0)
        assert np.array_equal(g, kept)
        assert depth == true if true > 0.0 else true <= depth <= 0.8 * true
    assert block_slack(Plain(inner), np.zeros(3), np.zeros(3), 0) == pytest.approx(-1.0)
    moved = np.array([1.0, 0.0, 0.0])
    assert block_slack(Plain(inner), moved, -moved, 0) == 0.0


@pytest.mark.parametrize("oracle", SAFE, ids=str)
@pytest.mark.parametrize("name", lock.CASES)
def test_oracles_are_safe_on_blocks(oracle, name):
    """After every step every gradient is in its ball, and every score within its bounds."""
    case = lock.CASES[name]
    problem, steepness = case.reference(), SCORES[len(name) % len(SCORES)]
    history = lock.record(
        case.library(), 25, rule="uniform", oracle=oracle, steepness=steepness, step="coordinate", rng=4
    )  # fmt: skip
    for t in range(26):
        X, gradient = history.x[t], problem.gradient(history.x[t])
        allowed = 1e-9 * lock.scale_of(problem, X)
        for b, g in enumerate(problem.groups):
            assert np.linalg.norm(gradient[g] - history.gradient[t][g]) <= history.radius[t][b] + allowed
        scores = exact_scores(problem, steepness, X)
        loose = 1e-6 if steepness.endswith("q") else allowed
        assert np.all(history.lower[t] <= scores + loose)
        assert np.all(scores <= history.upper[t] + loose)


def test_the_printed_radius_of_random_products_is_not_safe():
    """Columns that are nearly the same: a guess can be off by twice their product."""
    A = np.ones((6, 3)) + 0.01 * np.random.default_rng(0).standard_normal((6, 3))
    problem = ascd.BlockProblem(A, A[:, :1] - 0.5, penalty=ascd.L21(0.1))
    found = [
        ascd.minimize(problem, "cyclic", ascd.Random(printed=printed), rng=0, max_iter=5, tol=0.0, record=1).trace
        for printed in (True, False)
    ]
    assert max(found[0].violations) > 0
    assert np.isnan(found[1].violations).all()  # safe ones are not counted


@in_pairs(name=lock.CASES, oracle=["norm", "exact", "measured", "simulated"], rule=["ascd", "look-ahead", "a-ascd"])
def test_block_sandwich(name, oracle, rule):
    """mean score² over all blocks ≤ over ASCD's set ≤ the largest, which is inside; for a-ASCD it is inside, too."""
    case = lock.CASES[name]
    problem, smaller = case.reference(), 0
    history = lock.record(case.library(), 20, rule=rule, oracle=oracle, rng=5)
    for t in range(20):
        scores, lower, upper = exact_scores(problem, "gs-s", history.x[t]), history.lower[t], history.upper[t]
        active = ref.active_set("a-ascd" if rule == "a-ascd" else "ascd", upper, lower)
        smaller += len(active) < scores.size
        slack = 1e-9 * (1.0 + scores.max())
        if rule != "a-ascd" and lower.max() > 0.0:
            assert np.mean(scores**2) <= np.mean(scores[active] ** 2) + slack
        assert np.mean(scores[active] ** 2) <= scores.max() ** 2 + slack
        assert scores[active].max() >= scores.max() - slack
    assert smaller > 0


def test_the_set_of_the_look_ahead_rule_is_valid_at_every_step():
    """Also between its builds: the pick is uniform on a set whose mean score² is no less than that of all."""
    case = lock.CASES["rows"]
    problem, made = case.reference(), assemble_blocks(case.library(), "look-ahead", "norm", rng=6)
    descend, smaller = descend_blocks.py_func, 0
    descend(made.point, made.rule, made.oracle, made.step, made.unread, 0, 0, made.rng)
    for t in range(40):
        before = made.point.coefficients.reshape(problem.n, problem.T).copy()
        descend(made.point, made.rule, made.oracle, made.step, False, t, t + 1, made.rng)
        members = made.rule.members[: made.rule.whole[1]]
        smaller += members.size < len(problem.groups)
        assert made.rule.whole[0] in members
        scores = exact_scores(problem, "gs-s", before)
        assert np.mean(scores[members] ** 2) >= np.mean(scores**2) - 1e-9
    assert smaller > 0


@pytest.mark.parametrize("name", ["group", "several targets", "softmax", "logistic"])
def test_a_block_step_gains_what_the_score_says(name):
    """F falls by at least score²/2 with gsl-q and the step 1/L_b; by no less with the minimum over the block."""
    case = lock.CASES[name]
    problem = case.reference()
    for step in ("coordinate", "line-search"):
        history = lock.record(case.library(), 10, rule="uniform", steepness="gsl-q", step=step, rng=7)
        for t, i in enumerate(history.picks):
            X, g = history.x[t], problem.groups[i]
            score = naive.block_score(problem, "gsl-q", X[g], problem.gradient(X)[g], i)
            fall = problem.value(X) - problem.value(history.x[t + 1])
            assert fall >= 0.5 * max(score, 0.0) ** 2 - 1e-9
