"""u-ASCD and a-ASCD with a reference, without scanning: the picks and sets of the scan, and few looks."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from lockstep import assemble
from pairs import in_pairs
from problems import Case
from selection import bounds_of, check_draw, follows, held_by, listed_in, redraws, regression, sparse_matrix, watch

import ascd
from ascd.engine.descent import descend
from ascd.engine.oracles.reference import ACROSS, ALONG, LENGTH
from ascd.engine.rules.clock_queues import ClockQueues
from ascd.engine.rules.two_clock_lower import lower_key
from ascd.engine.rules.two_clocks import BY_PLANE, CLOCKS, FLATTEST, NARROWEST, STEEPEST, TRAVELLED, WIDEST, Clocks
from ascd.engine.tuning import CHILDREN, PLANE_KINDS
from ascd.problem.tuning import NO_LIMIT

pytestmark = pytest.mark.usefixtures("interpreted", "lazy_everywhere")

RULES = {"u-ascd": ascd.UpperASCD, "a-ascd": ascd.HeuristicASCD}
#: refreshed often, as by default, never
PATIENCE = (0.05, 0.25, 1e6)
WEIGHTS = np.linspace(0.2, 3.0, 25)


def both(case, rule, patience, **options):
    """The run with two clocks and the scanning one."""
    oracle = ascd.Reference(patience)
    lazy, scan = (assemble(case.library("sparse"), RULES[rule](scan=each), oracle, **options) for each in (False, True))
    assert type(lazy.rule).__name__.startswith("TwoClock")
    assert type(scan.rule).__name__ == "LevelSet"
    return lazy, scan


def hard(kind, seed=12):
    """Data on which bounds tie, stand still, or differ by orders."""
    rng = np.random.default_rng(seed)
    A = sparse_matrix(rng, 25, 40)
    if kind == "zero columns":
        A[:, ::4] = 0.0
    elif kind == "duplicates":
        A[:, 20:] = A[:, :20] * (-1.0) ** np.arange(20)
    elif kind == "scales":
        A = A / np.linalg.norm(A, axis=0) * np.logspace(-3, 3, 40)[rng.permutation(40)]
    b = A @ (rng.standard_normal(40) / np.maximum(np.abs(A).sum(axis=0), 1e-9)) + 0.1 * rng.standard_normal(25)
    if kind == "l2":
        return Case(kind, A, b, "squared", ascd.L2(0.5), ref.L2(np.full(40, 0.5)))
    if kind == "box":
        low, high = np.full(40, -0.2), np.where(np.arange(40) % 3, 0.3, -0.2)
        return Case(kind, A, b, "squared", ascd.Box(low, high), ref.Box(low, high))
    strength = 0.1 * np.abs(A.T @ b).max() if kind != "scales" else 1e-3
    return Case(kind, A, b, "squared", ascd.L1(strength), ref.L1(np.full(40, strength)))


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


def sleeping(rule):
    """Those who sleep by each clock, with their keys."""
    if hasattr(rule, "queues"):
        queues = [rule.queues.queue_of(which) for which in range(CLOCKS)]
        return [dict(zip(each.order[: each.queued()].tolist(), each.key, strict=False)) for each in queues]
    return [held_by(rule.asleep.room_of(which)) for which in range(CLOCKS)]


def asleep_in(rule):
    return [j for each in sleeping(rule) for j in each]


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


@pytest.mark.parametrize("kind", ["plain", "zero columns", "duplicates", "scales"])
def test_nobody_is_lost_where_keys_are_rounded_in_two_ways(kind, monkeypatch):
    """A compiler may round one expression differently at every place: here by so much that it soon matters."""
    rng = np.random.default_rng(3)
    plain = ClockQueues.top_bound
    monkeypatch.setattr(ClockQueues, "top_bound", lambda *args: plain(*args) * rng.choice([0.99, 1.0, 1.01]))
    for patience in PATIENCE[1:]:
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
