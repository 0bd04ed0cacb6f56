"""Active sets and selection."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

from reference.steepness import bounds, scores


def _exact_squares(*arrays):
    """The squares of all entries as integers, multiples of one unit: they compare as exactly; infinity stays."""
    squares = [[np.inf if v == np.inf else Fraction(float(v)) ** 2 for v in values] for values in arrays]
    unit = max((v.denominator for values in squares for v in values if v != np.inf), default=1)  # powers of 2
    return [[v if v == np.inf else int(v * unit) for v in values] for values in squares]


def _valid(upper, lower, active):
    """u_j^2 < av(I) = mean of l_i^2 over I, for all j outside I; upper and lower are squares."""
    total, inside = sum(lower[i] for i in active), set(active)
    return all(u * len(active) < total for j, u in enumerate(upper) if j not in inside)


def smallest_active_set(upper, lower):
    """(E5) the first valid prefix of the coordinates sorted by decreasing upper bound."""
    order = [int(j) for j in np.argsort(-np.asarray(upper), kind="stable")]
    upper, lower = _exact_squares(upper, lower)
    for k in range(1, len(order) + 1):
        if _valid(upper, lower, order[:k]):
            return sorted(order[:k])


def smallest_active_set_bruteforce(upper, lower):
    """A valid set of minimum size, by trying all nonempty subsets in order of size."""
    upper, lower = _exact_squares(upper, lower)
    for k in range(1, len(upper) + 1):
        for active in combinations(range(len(upper)), k):
            if _valid(upper, lower, active):
                return list(active)


def active_set_by_peeling(upper, lower):
    """(E5, wrong) from the full set, drop the smallest u while the rest stays valid."""
    active, squares = list(range(len(upper))), _exact_squares(upper, lower)
    while len(active) > 1:
        rest = [j for j in active if j != min(active, key=lambda i: upper[i])]
        if not _valid(*squares, rest):
            break
        active = rest
    return active


def argmax_set(values, candidates=None):
    candidates = range(len(values)) if candidates is None else candidates
    best = max(values[i] for i in candidates)
    return [i for i in candidates if values[i] == best]


def active_set(rule, upper, lower):
    """The sorted active set I_t of ascd and of its heuristic variants.

    Where all lower bounds are 0, ascd's and a-ascd's leave out what is at its minimum for certain (u = 0): a definition
    of the library's, not of the paper, whose set is then everything.
    """
    if rule in ("ascd", "a-ascd") and max(lower) == 0.0 < max(upper):
        return [i for i in range(len(upper)) if upper[i] > 0.0]
    if rule == "ascd":
        return smallest_active_set(upper, lower)
    if rule == "u-ascd":
        return argmax_set(upper)
    if rule == "l-ascd":
        return argmax_set(lower)
    if rule == "a-ascd":
        largest = max(lower)
        return [i for i in range(len(upper)) if upper[i] >= largest]
    raise ValueError(rule)


def uniform_pick(candidates, rng):
    """One draw, also from a single candidate."""
    return candidates[int(rng.random() * len(candidates))]


def select(problem, rule, t, x, estimate, radius, steepness, rng, pick="uniform", power=1.0):
    """(active set, picked coordinate); pick = "largest-lower" is the printed pick (E3)."""
    n = problem.n
    everything = list(range(n))
    if rule == "cyclic":
        return everything, t % n
    if rule == "uniform":
        return everything, uniform_pick(everything, rng)
    if rule == "importance":
        total = np.cumsum(problem.Lj**power)
        i = np.searchsorted(total, rng.random() * total[-1], side="right")
        return everything, min(int(i), n - 1)
    if rule == "steepest":
        return everything, int(np.argmax(scores(problem, steepness, x, problem.gradient(x))))
    lower, upper = bounds(problem, steepness, x, estimate, radius)
    active = active_set(rule, upper, lower)
    return active, uniform_pick(argmax_set(lower, active) if pick != "uniform" else active, rng)
