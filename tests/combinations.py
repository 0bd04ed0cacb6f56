"""Every rule × oracle × steepness × step × storage, and which problem and which start each of them is run with."""

from __future__ import annotations

from itertools import product
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
#: The paper's rules and oracles, and our blind and cached ones: those that the reference can follow.
RULE_NAMES = ("cyclic", "uniform", "importance", "steepest", "ascd", "u-ascd", "l-ascd", "a-ascd")
ORACLE_NAMES = ("exact", "sketch", "simulated", "norm", "random", "cached", "blind")


class Combination(NamedTuple):
    rule: str
    oracle: str
    steepness: str
    step: str
    storage: str


def all_combinations():
    return [Combination(*row) for row in product(RULE_NAMES, ORACLE_NAMES, STEEPNESS, STEPS, STORAGES)]


def distribute(combinations):
    """(combination, case, start) for each: cases and starts take turns, separately for every rule and oracle."""
    cases = {smooth: [case for case in CASES.values() if case.is_smooth or not smooth] for smooth in (True, False)}
    turns: dict[Any, int] = {}
    for combination in combinations:
        smooth = STEEPNESS[combination.steepness][2]
        # the offset makes different (rule, oracle) pairs meet a case with different steps and storages
        offset = 5 * RULE_NAMES.index(combination.rule) + 11 * ORACLE_NAMES.index(combination.oracle)
        turn = turns[key] = turns.get(key := (combination.rule, combination.oracle, smooth), offset) + 1
        yield combination, cases[smooth][turn % len(cases[smooth])], STARTS[(turn + offset) % len(STARTS)]


def blind_columns(n):
    return sorted({0, n // 2})


def library_oracle(name, n):
    special = {"blind": ascd.Blind(blind_columns(n), "random"), "simulated": ascd.Simulated(0.3)}
    return special.get(name, name)


def reference_oracle(name, n, prepared):
    """The reference's oracle of that name; ``prepared`` is the library's, for the images of a sketch."""
    if name == "sketch":
        return ref.oracle_sketch(prepared.images, prepared.epsilon)
    return {
        "exact": ref.oracle_exact,
        "simulated": lambda: ref.oracle_simulated(0.3),
        "norm": ref.oracle_norm,
        "random": ref.oracle_random,
        "cached": lambda: reference_cache(ref.oracle_norm(), capacity=n),
        "blind": lambda: ref.oracle_blind(ref.oracle_random(), blind_columns(n)),
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
        library_oracle(combination.oracle, case.n),
        combination.steepness,
        combination.step,
        start_of(case, start),
        case.x0,
        seed,
    )
