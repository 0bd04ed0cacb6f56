"""What selecting costs: an iteration beside ``uniform``'s and beside its own steps replayed, growth with n, memory."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from common.stepping import interleaved, stepper

import ascd
from ascd.engine.oracles import as_oracle
from ascd.engine.rules import as_rule
from ascd.engine.steepness import as_steepness
from choosing.data import SEED, cases


class Replay(NamedTuple):
    """Picks made before: the same steps without any selection."""

    picks: Any

    def select(self, point, t, rng):
        return self.picks[t]


class Recorder(NamedTuple):
    """A rule and the picks that it made."""

    inner: Any
    picks: Any

    def select(self, point, t, rng):
        self.picks[t] = self.inner.select(point, t, rng)
        return self.picks[t]


def recorded(problem, rule, steps):
    """The picks of a rule's first steps with the oracle "norm" and scores GSL-s."""
    steepness = as_steepness("gsl-s", problem.parts)
    compiled = as_rule(rule, problem.parts, as_oracle("norm", problem.parts, None), steepness)
    picks = np.zeros(steps, dtype=np.int64)
    stepper(problem, Recorder(compiled, picks), "norm", steepness="gsl-s")(steps)
    return picks


def iteration(folder, quick, wanted=""):
    """Each rule's first 3n steps: as they are, and replayed."""
    for name, (A, y) in cases(folder, quick, wanted):
        largest = np.abs(A.T @ y).max()
        for part in (20, 100):
            problem = ascd.Problem(A, y, penalty=ascd.L1(largest / part))
            for row in iteration_rows(problem, 2 if quick else 5):
                yield {"case": name, "part": part, **row}


RULES = ("a-ascd", "u-ascd", "look-ahead", "block")


def iteration_rows(problem, repeats):
    n, counts = problem.n_features, problem.design.counts
    runs, entries = {"uniform": "uniform"}, {}
    for rule in RULES:
        picks = recorded(problem, rule, 3 * n)
        runs |= {rule: rule, f"{rule} replayed": Replay(picks)}
        entries[rule] = float(counts[picks].mean() / counts.mean())

    def seconds(rule):
        return stepper(problem, rule, "norm", steepness="gsl-s")(3 * n)

    best = interleaved({name: partial(seconds, rule) for name, rule in runs.items()}, repeats)
    for rule in RULES:
        times = {"seconds": best[rule], "uniform": best["uniform"], "replayed": best[f"{rule} replayed"]}
        yield {"rule": rule, **times, "entries": entries[rule]}


def growth(folder, quick):
    """Seconds of a step as n grows, beside the growth of uniform's."""
    first = {}
    for n in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        rng, d = np.random.default_rng(SEED), 10_000
        A = sp.csc_array((rng.standard_normal(30 * n), rng.integers(0, d, 30 * n), 30 * np.arange(n + 1)), shape=(d, n))
        A.sum_duplicates()
        b = A[:, :100] @ rng.standard_normal(100) + rng.standard_normal(d)
        problem = ascd.Problem(A, b, penalty=ascd.L1(0.05 * np.abs(A.T @ b).max()))
        rules = ("uniform", "a-ascd", "u-ascd")
        best = interleaved({rule: partial(first_steps, problem, rule) for rule in rules}, 3)
        first = first or best
        for rule in rules[1:]:
            grown = {"grown": best[rule] / first[rule], "uniform_grown": best["uniform"] / first["uniform"]}
            yield {"features": n, "rule": rule, "seconds": best[rule], **grown}


def first_steps(problem, rule):
    """Seconds a step in the same phase of the descent whatever n is: 50,000 steps after 5,000."""
    advance = stepper(problem, rule, steepness="gsl-s")
    advance(5_000)
    return advance(50_000)


def memory(folder, quick):
    """Arrays of rule and oracle, in float64 vectors of length n."""
    A = sp.random(50, 20_000, density=0.02, format="csc", random_state=SEED)
    problem = ascd.Problem(A, np.ones(50), penalty=ascd.L1(0.1))
    steepness = as_steepness("gsl-s", problem.parts)
    for rule in ("uniform", "a-ascd", "u-ascd", "l-ascd", "steepest", "ascd", "look-ahead", "adaptive", "block"):
        row = {"rule": rule}
        for oracle in ("norm", "reference"):
            compiled = as_oracle(oracle, problem.parts, np.random.default_rng(SEED))
            size = bytes_beside(problem.parts, compiled, as_rule(rule, problem.parts, compiled, steepness))
            row[oracle] = size / 8 / problem.n_features
        yield row


def bytes_beside(parts, *others):
    """The memory of all arrays inside the others, each once, without those of the problem's parts."""
    found = {id(array): array.nbytes for array in _arrays(others)}
    return sum(size for number, size in found.items() if number not in {id(array) for array in _arrays(parts)})


def _arrays(part):
    if isinstance(part, tuple):
        return [array for each in part for array in _arrays(each)]
    return [part] if isinstance(part, np.ndarray) else []
