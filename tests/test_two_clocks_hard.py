"""Two clocks where numbers are no longer exact: moves too short to be seen, no direction, rounding of all sizes."""

from __future__ import annotations

import numpy as np
import pytest
from lockstep import assemble
from selection import bounds_of, check_draw, listed_in, sparse_matrix, watch
from two_clocks import RULES, asleep_in, both, hard

import ascd
from ascd.engine.oracles.reference import ACROSS, ALONG, LENGTH
from ascd.engine.rules.clock_queues import ClockQueues
from ascd.engine.rules.two_clocks import BY_PLANE, STEEPEST, Clocks
from ascd.engine.tuning import PLANE_KINDS
from ascd.problem.tuning import NO_LIMIT

pytestmark = pytest.mark.usefixtures("interpreted", "lazy_everywhere")


def test_many_moves_too_short_to_be_seen_in_a_clock_count_together():
    lazy, _ = both(hard("plain"), "a-ascd", 1e6, steepness="gsl-s")
    watch(lazy, 4)
    intervals, clocks = lazy.point.intervals, lazy.rule.clocks
    place, k = intervals.extra.place, PLANE_KINDS + PLANE_KINDS - 1
    for place[ALONG], place[ACROSS] in ((1.0, 0.0), (0.0, 0.0)):  # those not known to fall with s
        clocks.advance(intervals)
    before, lower, step, moves = clocks.shift[BY_PLANE + k], clocks.lower_shift[k], 2.0**-55, 6000
    assert before + clocks.limit[k, STEEPEST] * place[LENGTH] * step == before
    for _ in range(moves):
        place[ALONG] += step
        clocks.advance(intervals)
    risen = moves * clocks.limit[k, STEEPEST] * place[LENGTH] * step
    assert risen > 5 * clocks.rounding_of_plane()
    assert (clocks.shift[BY_PLANE + k] - before) / risen == pytest.approx(1.0, rel=0.1)
    assert (clocks.lower_shift[k] - lower) / risen == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("rule", RULES)
def test_picks_where_the_reference_is_no_direction(rule):
    """All margins are wide: v stays 0 for some steps, and nobody knows what ‖e‖ is; then it is a number again."""
    rng = np.random.default_rng(5)
    A, x = sparse_matrix(rng, 25, 40), rng.standard_normal(40)
    labels, penalty = np.sign(A @ x), ascd.L1(1.0, weights=rng.uniform(0.2, 3.0, 40))
    problem = ascd.Problem(A, labels, "squared_hinge", penalty)
    lazy = assemble(problem, RULES[rule](), ascd.Reference(1e6), x0=1.5 * x / np.abs(A @ x).min())
    across = []

    def look(point, pick):
        upper = bounds_of(point)[1]
        across.append(point.intervals.extra.place[ACROSS])
        if rule == "a-ascd":
            check_draw(lazy.rule, point, pick, asleep_in(lazy.rule))
        else:
            assert upper[pick] >= upper.max() - 1e-11 * (upper.max() + point.intervals.clock[0])

    watch(lazy, 150, look)
    assert lazy.point.intervals.extra.place[LENGTH] == 0.0
    is_known = np.array(across[2:]) < NO_LIMIT
    assert np.any(~is_known[:-1] & is_known[1:])


def test_a_ascd_where_little_is_left_of_v():
    """‖e‖ is what its rounding may be, and grows while v hardly moves: lower bounds by the path fall far less."""
    rng = np.random.default_rng(0)
    problem = ascd.Problem(rng.standard_normal((2, 40)), rng.standard_normal(2))
    lazy = assemble(problem, "a-ascd", ascd.Reference(1e6), step="fixed", seed=0)
    watch(lazy, 200, lambda point, pick: check_draw(lazy.rule, point, pick, asleep_in(lazy.rule)))


@pytest.mark.parametrize("kind", ["plain", "zero columns", "duplicates", "scales"])
def test_nobody_is_lost_where_keys_are_rounded_in_two_ways(kind, monkeypatch):
    """A compiler may round one expression differently at every place: here by so much that it soon matters."""
    rng = np.random.default_rng(3)
    plain = ClockQueues.top_bound
    monkeypatch.setattr(ClockQueues, "top_bound", lambda *args: plain(*args) * rng.choice([0.99, 1.0, 1.01]))
    for patience in (0.25, 1e6):
        lazy, _ = both(hard(kind), "u-ascd", patience, steepness="gsl-s")
        watch(lazy, 100, lambda point, pick, rule=lazy.rule: check_all_there(rule, pick))


def check_all_there(rule, pick):
    assert sorted([pick, *asleep_in(rule)]) == list(range(40))


def test_a_coordinate_that_goes_to_and_fro_is_taken_in_the_end(monkeypatch):
    """The other clock always seems better: without a limit the search would not end."""
    lazy, _ = both(hard("plain"), "u-ascd", 1e6)
    watch(lazy, 3)
    asked = []

    def other_clock(clocks, which, left, other):
        asked.append(left)
        assert len(asked) < 2000
        return lazy.rule.queues.on_top()[0] != which

    monkeypatch.setattr(Clocks, "prefers_plane", other_clock)
    monkeypatch.setattr(Clocks, "rounding", lambda *_: -1e-9)
    watch(lazy, 3, lambda point, pick: check_all_there(lazy.rule, pick))


def test_all_wake_where_the_clock_has_no_number(monkeypatch):
    """Rounding beyond all bounds: everybody comes in, and nobody after the last."""
    lazy, _ = both(hard("plain"), "a-ascd", 1e6)
    watch(lazy, 3)
    monkeypatch.setattr(Clocks, "rounding", lambda self: np.inf)
    lazy.rule.wake_those_above(1.0, 3)
    assert sorted(listed_in(lazy.rule.awake)) == list(range(40))
    assert not asleep_in(lazy.rule)
