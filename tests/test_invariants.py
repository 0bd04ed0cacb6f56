"""What must hold on every problem, after every step, whatever the parts."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from combinations import ORACLE_NAMES, RULE_NAMES, STORAGES, library_oracle, library_rule
from hypothesis import given, settings
from hypothesis import strategies as st
from lockstep import assemble, close, gradient_scale, record, score_tolerance
from penalty_table import BOUNDED_BELOW
from problems import CASES, build

from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.engine.rules.ascd import smallest_set_threshold
from ascd.engine.steepness import STEEPNESS, as_steepness
from ascd.engine.steps import STEPS
from ascd.engine.tuning import BUCKETS

pytestmark = pytest.mark.usefixtures("lazy_everywhere")

N_ITER = 15
#: Rules that read entries which they do not move.
READING_RULES = ("steepest",)
LOSSES = ("squared", "logistic", "huber", "squared_hinge")


def holds(max_examples):
    return settings(deadline=None, derandomize=True, max_examples=max_examples, database=None)


@st.composite
def cases(draw, losses=LOSSES):
    """Random problems of every loss and penalty that is bounded below on all data."""
    d, n, density = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.sampled_from([0.4, 1.0]))
    spread = draw(st.sampled_from([0.0, 1.0, 3.0]))

    def matrix(rng):
        return rng.standard_normal((d, n)) * (rng.random((d, n)) < density) * 10.0 ** rng.uniform(-spread, spread, n)

    penalty = draw(st.sampled_from(BOUNDED_BELOW))
    words = draw(st.sampled_from(["", "weights", "start", "weights start"]))
    return build(draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from(losses)), matrix, penalty, words)


def one_of(names):
    return st.sampled_from(tuple(names))


COMPOSITE = [name for name in STEEPNESS if name not in ("gs", "gsl")]
RUNS = st.fixed_dictionaries(
    {
        "rule": one_of(RULE_NAMES),
        "oracle": one_of(ORACLE_NAMES),
        "steepness": one_of(COMPOSITE),
        "step": one_of(STEPS),
        "init": one_of(("gradient", "none")),
        "storage": one_of(STORAGES),
        "seed": st.integers(0, 1000),
        "lazy": st.booleans(),
    }
)


def run(case, rule, oracle, steepness, step, init, storage, seed, lazy):
    part = rule if lazy else library_rule(rule)
    oracle = library_oracle(oracle)
    return record(assemble(case.library(storage), part, oracle, steepness, step, init, case.x0, seed), N_ITER)


def check_containment(case, history, steepness):
    """Gradients are in their intervals, scores between their bounds."""
    problem = case.reference()
    for t in range(len(history.x)):
        x, lower, upper = history.x[t], history.lower[t], history.upper[t]
        gradient = problem.gradient(x)
        rounding = 1e-9 * (gradient_scale(problem, x) + np.abs(gradient))
        assert np.all(np.abs(gradient - history.estimate[t]) <= history.radius[t] + rounding)
        scores = ref.scores(problem, steepness, x, gradient)
        slack = 10 * score_tolerance(problem, steepness, x, gradient)
        assert np.all(lower <= scores + slack)
        assert np.all(scores <= upper + slack)


def check_descent(case, history, moves_one):
    """The objective never rises; other radii never shrink where a step reads the entry of its coordinate alone."""
    problem = case.reference()
    values = [problem.value(x) for x in history.x]
    for t, i in enumerate(history.picks):
        size = abs(values[0]) + abs(values[t]) + np.abs(history.x[t]) @ np.abs(problem.penalty.linear)
        assert values[t + 1] <= values[t] + 1e-10 * size
        if moves_one:
            before, after = np.delete(history.radius[t], i), np.delete(history.radius[t + 1], i)
            assert np.all(after >= before - 1e-9 * gradient_scale(problem, history.x[t]).max())
    assert np.isfinite(values).all()


def check_active_sets(case, history, steepness):
    """The steepest is active, and progress is sandwiched: for any bounds that hold, whoever picked."""
    problem = case.reference()
    for x, lower, upper in zip(history.x, history.lower, history.upper, strict=True):
        gradient = problem.gradient(x)
        scores, slack = (f(problem, steepness, x, gradient) for f in (ref.scores, score_tolerance))
        rounding = 40 * slack.max() * scores.max() / problem.L
        for rule in ("ascd", "a-ascd"):
            active = library_active_set(rule, lower, upper)
            assert scores.max() - scores[active].max() <= 20 * slack.max()
            ucd, scd = ref.tau_ucd(scores, problem.L), ref.tau_scd(scores, problem.L)
            middle = ref.tau_ascd(scores, active, problem.L)
            assert middle <= scd + rounding
            if rule == "ascd":  # the theorem is about ascd's set
                assert ucd <= middle + rounding


@holds(300)
@given(cases(), RUNS, st.sampled_from([*ORACLES]), st.sampled_from([*RULES]))
def test_what_holds_after_every_step(case, options, oracle, rule):
    """Also with the library's own rules and oracles, which the reference does not know."""
    options |= {"oracle": oracle, "rule": rule}
    history = run(case, **options)
    check_containment(case, history, options["steepness"])
    check_descent(case, history, oracle in ORACLE_NAMES and rule not in READING_RULES)
    check_active_sets(case, history, options["steepness"])


@pytest.mark.parametrize("oracle", ORACLE_NAMES)
@holds(15)
@given(data=st.data())
def test_the_oracle_contract(oracle, data):
    """(E2) the change of every other entry lies within |γ|δ of γg, whichever coordinate moves."""
    case, storage = data.draw(cases()), data.draw(one_of(STORAGES))
    zero, oracle = np.zeros(case.n), library_oracle(oracle)
    start = assemble(case.library(storage), "uniform", oracle, init=(zero, zero), x0=case.start)
    for i in range(case.n):
        gamma = data.draw(st.sampled_from([-2.0, -0.1, 1e-3, 0.5, 3.0]))
        for moves in (1, 2):  # the second move of a column is the one that is cached
            start.point.intervals.estimate[:], start.point.intervals.offset[:], start.point.intervals.lengths[:] = (
                0,
                0,
                0,
            )
            start.oracle.update(start.point, i, gamma, start.rng)
            estimate, radius = start.state()[1:3]
            tolerance = 1e-10 * gradient_scale(case.reference(), case.start + abs(gamma)).max() * moves
            assert ref.check_oracle_contract(
                case.reference(), case.start, i, gamma, estimate / gamma, radius / abs(gamma), tolerance
            )


def library_active_set(rule, lower, upper):
    largest = lower.max()
    if rule == "ascd":
        room = np.empty((BUCKETS, 2)), np.empty(lower.size, dtype=np.int32)
        largest = smallest_set_threshold(lower, upper, largest, *room)
    return np.flatnonzero(upper >= largest)


BOUNDS = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from([0, 0, 1, 2, 5, np.inf])).map(lambda p: (p[0], p[0] + p[1])),
    min_size=1, max_size=12,
)  # fmt: skip


@holds(60)
@given(BOUNDS, st.sampled_from([1.0, 0.1, 1e-150, 1e150]))
def test_the_active_set_is_the_smallest_of_all_subsets(pairs, unit):
    lower, upper = unit * np.array(pairs, dtype=float).T
    expected = ref.smallest_active_set_bruteforce(*np.array(pairs, dtype=float).T[::-1])
    assert list(library_active_set("ascd", lower, upper)) == expected


@pytest.mark.parametrize("steepness", COMPOSITE)
@pytest.mark.parametrize("storage", STORAGES)
def test_with_exact_products_ascd_takes_the_steepest(steepness, storage):
    """δ = 0 and exact initialisation: every interval is a point."""
    for case in (case for case in CASES.values() if case.loss == "squared"):
        history = record(assemble(case.library(storage), "ascd", "exact", steepness, x0=case.x0), N_ITER)
        for x, i in zip(history.x, history.picks, strict=False):
            gradient = case.reference().gradient(x)
            scores, slack = (f(case.reference(), steepness, x, gradient) for f in (ref.scores, score_tolerance))
            assert scores[i] >= scores.max() - 10 * slack.max()
        assert history.radius.max() == 0.0


@holds(130)
@given(st.data())
def test_bounds_contain_the_score_at_every_point_of_the_interval(data):
    case, name = data.draw(cases()), data.draw(one_of(COMPOSITE))
    steepness = as_steepness(name, case.library().parts)
    for j in range(case.n):
        check_an_interval(data, case, name, steepness, j)


def check_an_interval(data, case, name, steepness, j):
    """Some interval of coordinate j, and some point of it."""
    parts, problem, number = case.library().parts, case.reference(), st.floats(-5, 5)
    x = float(np.clip(data.draw(number), problem.penalty.lower[j], problem.penalty.upper[j]))
    size = max(problem.norms[j], 1.0)
    g, r = size * data.draw(number), size * data.draw(st.sampled_from([0.0, 1e-3, 0.5, 3.0, np.inf]))
    share = data.draw(st.floats(-1, 1))
    inside = g + share * min(r, 50.0 * size)
    lower, upper = steepness.bounds(parts.penalty, j, x, g, r)
    at_x, at_g = np.full(case.n, x), np.full(case.n, abs(inside) + abs(g))
    slack = 10 * score_tolerance(problem, name, at_x, at_g)[j]
    assert 0.0 <= lower <= upper
    score = steepness.score(parts.penalty, j, x, inside)
    assert close(score, ref.score_one(problem, name, x, inside, j), slack)
    assert lower - slack <= score <= upper + slack
    if r == 0.0:
        assert upper - lower <= slack
