"""Rules, oracles, steepness, steps, storages, starts and problems: every pair of two of them together in some run."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import reference as ref
from lockstep import assemble
from problems import CASES, Case

import ascd
from ascd.engine.rules import RULES
from ascd.engine.steepness import STEEPNESS
from ascd.engine.steps import STEPS

STORAGES = ("dense", "sparse")
STARTS = ("gradient", "none", "given")
#: The paper's rules and oracles, and our cached one: those that the reference can follow.
RULE_NAMES = ("cyclic", "uniform", "importance", "steepest", "ascd", "u-ascd", "l-ascd", "a-ascd")
ORACLE_NAMES = ("exact", "sketch", "simulated", "norm", "random", "cached")


class Combination(NamedTuple):
    rule: str
    oracle: str
    steepness: str
    step: str
    storage: str


FACTORS: dict[str, tuple[Any, ...]] = {
    "rule": RULE_NAMES,
    "oracle": ORACLE_NAMES,
    "steepness": STEEPNESS,
    "step": tuple(STEPS),
    "storage": STORAGES,
    "case": tuple(CASES),
    "start": STARTS,
}


def is_allowed(row):
    """Some steepness is for smooth penalties only."""
    smooth_only = row.get("steepness") in ("gs", "gsl")
    return not (smooth_only and "case" in row and not CASES[row["case"]].is_smooth)


def all_pairs():
    """Every two values of different factors that go together."""
    return [
        ((one, a), (other, b))
        for one, other in itertools.combinations(FACTORS, 2)
        for a, b in itertools.product(FACTORS[one], FACTORS[other])
        if is_allowed({one: a, other: b})
    ]


def pairs_of(row):
    return set(itertools.combinations(row.items(), 2))


def pairwise():
    """Rows that hold all pairs: each begins with one that is missing, and takes what adds most of the others."""
    missing = dict.fromkeys(all_pairs())
    turn = 0
    while missing:
        begun = dict(next(iter(missing)))
        for factor in FACTORS:
            if factor not in begun:
                turn += 1
                values = [value for value in FACTORS[factor] if is_allowed({**begun, factor: value})]
                shift = turn % len(values)  # of equals another one every time
                values = values[shift:] + values[:shift]
                begun[factor] = max(values, key=lambda value: _gain(begun, factor, value, missing))
        row = {factor: begun[factor] for factor in FACTORS}
        for pair in pairs_of(row):
            missing.pop(pair, None)
        yield row


def _gain(begun, factor, value, missing):
    """How many missing pairs a value would add to a row that has begun."""
    order = list(FACTORS)

    def pair_with(other):
        return tuple(sorted((other, (factor, value)), key=lambda end: order.index(end[0])))

    return sum(pair_with(other) in missing for other in begun.items())


def pairwise_runs():
    """(combination, case, start) for each row."""
    for row in pairwise():
        start, case = row.pop("start"), CASES[row.pop("case")]
        yield Combination(**row), case, start


def library_oracle(name):
    return ascd.Simulated(0.3) if name == "simulated" else name


def reference_oracle(name, n, prepared):
    """The reference's oracle of that name; ``prepared`` is the library's, for the images of a sketch."""
    if name == "sketch":
        return ref.oracle_sketch(prepared.embedded, prepared.epsilon)
    return {
        "exact": ref.oracle_exact,
        "simulated": lambda: ref.oracle_simulated(0.3),
        "norm": ref.oracle_norm,
        "random": ref.oracle_random,
        "cached": lambda: reference_cache(ref.oracle_norm(), capacity=n),
    }[name]()


def reference_cache(fallback, capacity, patience=2):
    """Exact from a column's ``patience``-th move on; beyond ``capacity`` the row used longest ago is forgotten."""
    moves: dict[int, int] = {}
    kept: list[int] = []  # the row used longest ago stands first
    exact = ref.oracle_exact()

    def row(problem, i, rng):
        moves[i] = moves.get(i, 0) + 1
        if i not in kept and moves[i] < patience:
            return fallback(problem, i, rng)
        if i not in kept and len(kept) == capacity:
            moves[kept.pop(0)] = 0
        kept[:] = [j for j in kept if j != i] + [i]
        return exact(problem, i, rng)

    return row


def library_rule(name):
    """Rules that avoid scanning draw random numbers in their own way; the scan draws one, as the reference does."""
    rule = RULES[name]()
    return rule._replace(scan=True) if "scan" in rule._fields else rule


def start_of(case: Case, start):
    """``init`` for a start; "given" is a pair that contains the gradient, off its middle."""
    if start != "given":
        return start
    gradient = case.reference().gradient(case.start)
    off = (0.1 + np.abs(gradient)) * np.cos(np.arange(case.n))
    return gradient + off, np.where(np.arange(case.n) % 3 == 2, np.inf, 1.5 * np.abs(off))


def assemble_combination(combination, case, start, seed=0):
    return assemble(
        case.library(combination.storage),
        library_rule(combination.rule),
        library_oracle(combination.oracle),
        combination.steepness,
        combination.step,
        start_of(case, start),
        case.x0,
        seed,
    )
