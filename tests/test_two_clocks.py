"""u-ASCD and a-ASCD with a reference, without scanning: the picks and sets of the scan, and few looks."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from lockstep import assemble
from pairs import in_pairs
from selection import bounds_of, check_draw, follows, redraws, regression, watch
from two_clocks import RULES, asleep_in, both, hard, sleeping

from ascd.engine.descent import descend
from ascd.engine.oracles.reference import ACROSS, ALONG, LENGTH
from ascd.engine.rules.two_clock_lower import lower_key
from ascd.engine.rules.two_clocks import BY_PLANE, FLATTEST, NARROWEST, STEEPEST, TRAVELLED, WIDEST, Clocks
from ascd.engine.tuning import CHILDREN, PLANE_KINDS

pytestmark = pytest.mark.usefixtures("interpreted", "lazy_everywhere")

#: refreshed often, as by default, never
PATIENCE = (0.05, 0.25, 1e6)
WEIGHTS = np.linspace(0.2, 3.0, 25)


CASES = [regression(25, 40, "squared", seed=11), regression(25, 40, "logistic", seed=13)]
CASES += [regression(25, 40, "huber", seed=3, weights=WEIGHTS), hard("l2"), hard("plain")]


@in_pairs(number=range(len(CASES)), steepness=["gs-s", "gsl-s"], patience=PATIENCE)
def test_u_ascd_picks_as_the_scan(number, steepness, patience):
    """Pick for pick, as long as the largest and the next differ by more than rounding."""
    lazy, scan = both(CASES[number], "u-ascd", patience, steepness=steepness)
    decided = []

    def look(point, pick):
        second, first = np.sort(bounds_of(point)[1])[-2:]
        decided.append(first - second > 1e-11 * (first + point.intervals.clock[0]))

    picks = watch(scan, 200, look)
    until = decided.index(False) if False in decided else 200
    assert until > 30
    assert watch(lazy, until) == picks[:until]


def clocks_of(rule):
    return rule.queues.clocks if hasattr(rule, "queues") else rule.clocks


@in_pairs(
    kind=["plain", "zero columns", "duplicates", "scales", "l2", "box"],
    how=[("fixed", "gs-s", "gradient"), ("coordinate", "gsl-s", "none")],
    patience=PATIENCE,
)
def test_a_ascd_draws_from_the_scans_set(kind, how, patience):
    lazy, _ = both(hard(kind), "a-ascd", patience, **dict(zip(("step", "steepness", "init"), how, strict=True)))
    sizes = []
    watch(lazy, 150, lambda point, pick: sizes.append(check_draw(lazy.rule, point, pick, asleep_in(lazy.rule))))
    assert min(sizes) < max(sizes)


@pytest.mark.parametrize("kind", ["zero columns", "duplicates", "scales", "box"])
def test_u_ascd_attains_the_largest_bound_on_hard_data(kind):
    for patience in PATIENCE:
        lazy, _ = both(hard(kind), "u-ascd", patience, steepness="gsl-s", init="none")

        def look(point, pick, lazy=lazy):
            assert sorted([pick, *asleep_in(lazy.rule)]) == list(range(40))
            upper = bounds_of(point)[1]
            slack = 1e-11 * (upper.max() + point.intervals.clock[0])
            assert upper[pick] == upper.max() or upper[pick] >= upper.max() - slack

        watch(lazy, 150, look)


@pytest.mark.parametrize("steps", [0, 5, 60])
def test_a_ascd_is_uniform_on_its_set(steps):
    for patience in PATIENCE[1:] if steps else PATIENCE[1:2]:  # before the first step nobody has been patient
        lazy, _ = both(hard("plain"), "a-ascd", patience, step="fixed", seed=steps)
        watch(lazy, steps)
        lazy.descend(0, 0, descend.py_func)
        lower, upper = bounds_of(lazy.point)
        active = np.isin(np.arange(upper.size), ref.active_set("a-ascd", upper, lower))
        draws = 1500 if steps else 600  # the first selection divides all: it costs more, and its set is large
        assert follows(redraws(lazy, draws, seed=steps), active / active.sum())


@in_pairs(kind=["plain", "zero columns", "scales", "l2", "box"], steepness=["gs-s", "gsl-s"], away=[0.0, 0.7])
def test_the_clocks_of_the_plane_are_never_behind(kind, steepness, away):
    """Wherever s and ‖e‖ go, also forth and back and below 0: bounds move by no more than the clock of their class."""
    case, rng = hard(kind), np.random.default_rng(7)
    x0 = None if kind == "box" else rng.choice([0.0, 0.1], 40, p=[1.0 - away, away])
    lazy, _ = both(case, "a-ascd", 1e6, steepness=steepness, x0=x0)
    watch(lazy, 4)
    point, clocks = lazy.point, lazy.rule.clocks
    intervals, place = point.intervals, point.intervals.extra.place
    intervals.offset[:] = np.inf  # nothing is known but by the reference
    clocks.advance(intervals)
    upper = [(clocks.upper_bounds(intervals, j)[1], BY_PLANE + clocks.class_now(intervals, j)) for j in range(40)]
    lower = [lower_key(intervals, clocks, j) for j in range(40)]
    before = clocks.shift.copy()
    for move in rng.standard_normal((150, 2)):
        place[ALONG], place[ACROSS] = place[ALONG] + 0.4 * move[0], abs(place[ACROSS] + move[1])
        clocks.advance(intervals)
        room = 1e-11 * (1.0 + clocks.state[TRAVELLED])
        for j in np.flatnonzero(intervals.reach > 0.0):
            (bound, which), (k, key) = upper[j], lower[j]
            assert clocks.upper_bounds(intervals, j)[1] <= bound + clocks.shift[which] - before[which] + room
            now, its_key = lower_key(intervals, clocks, j)
            assert its_key + clocks.lower_shift[now] <= key + clocks.lower_shift[k] + room


def test_the_clocks_of_the_plane_go_back():
    """Where s and ‖e‖ return, so do the clocks of zeros, up to how much the columns of a class differ."""
    lazy, _ = both(hard("plain"), "u-ascd", 1e6, steepness="gsl-s")
    watch(lazy, 1)
    clocks, place = lazy.rule.queues.clocks, lazy.point.intervals.extra.place
    place[ALONG], place[ACROSS] = 1.0, 1.0
    clocks.advance(lazy.point.intervals)
    before, limit, length = clocks.shift.copy(), clocks.limit, place[LENGTH]
    for _ in range(3):
        for place[ALONG], place[ACROSS] in ((0.5, 3.0), (1.0, 1.0)):
            clocks.advance(lazy.point.intervals)
    gone = clocks.shift[BY_PLANE:] - before[BY_PLANE:]
    apart = limit[:, STEEPEST] - limit[:, FLATTEST], limit[:, WIDEST] - limit[:, NARROWEST]
    assert gone == pytest.approx(3 * (0.5 * length * apart[0] + 2.0 * apart[1]), rel=1e-9, abs=1e-9)
    assert gone[1] < gone[PLANE_KINDS + 1] / 4  # where σ is known to fall with s, and where it is not


@pytest.mark.parametrize("rule", RULES)
def test_keys_are_never_too_small(rule):
    """Whatever s and ‖e‖ do, no bound of those asleep is above its key; lower bounds are not above theirs either."""
    weighted = regression(25, 40, "squared", seed=4, weights=np.logspace(-3, 3, 25))
    for number, case in enumerate([*CASES, hard("zero columns"), hard("scales"), weighted]):
        lazy, _ = both(case, rule, 1e6, steepness=("gs-s", "gsl-s")[number % 2])

        def look(point, pick, lazy=lazy):
            clocks, intervals = clocks_of(lazy.rule), point.intervals
            for keys, shift in zip(sleeping(lazy.rule), clocks.shift, strict=True):
                for j, key in keys.items():
                    bound = max(intervals.signed_upper_at(j), 0.0)
                    assert bound <= max(key + shift, 0.0) + 1e-11 * (1.0 + abs(shift))
            if hasattr(lazy.rule, "floor"):
                check_lower_keys(lazy.rule.floor, intervals, clocks)

        watch(lazy, 120, look)


def check_lower_keys(floor, intervals, clocks):
    """Everybody is in the heap of one class, and no lower bound is above its key."""
    found = []
    for k, shift in enumerate(clocks.lower_shift):
        heap = floor.heap_of(clocks, k)
        assert all(heap.key[(p - 1) // CHILDREN] >= heap.key[p] for p in range(1, heap.key.size))
        for position, (j, key) in enumerate(zip(heap.order.tolist(), heap.key, strict=True)):
            found.append(j)
            assert (floor.home[j], floor.position[j]) == (k, position)
            assert intervals.bounds_at(j)[0] <= max(key + shift, 0.0) + 1e-11 * (1.0 + abs(shift))
    assert sorted(found) == list(range(intervals.x.size))


@pytest.mark.parametrize("rule", RULES)
def test_few_bounds_are_looked_at(rule, monkeypatch):
    case, looks, plain = regression(120, 400, seed=5), [0], Clocks.upper_bounds
    problem = case.library("sparse")

    def counted(clocks, intervals, j):
        looks[0] += 1
        return plain(clocks, intervals, j)

    monkeypatch.setattr(Clocks, "upper_bounds", counted)
    assembly = assemble(problem, rule, "reference", "gsl-s")
    watch(assembly, 1200)
    refreshes = assembly.point.intervals.extra.place[4] + 1
    assert looks[0] - 400 * refreshes < 0.1 * 1200 * 400


def test_other_scores_are_scanned():
    """GS-r and GS-q have no signed slack."""
    for steepness in ("gs-r", "gsl-q"):
        rule = assemble(CASES[0].library("sparse"), "u-ascd", "reference", steepness).rule
        assert type(rule).__name__ == "LevelSet"
