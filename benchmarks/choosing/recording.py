"""The picks of a rule, written down."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from common.stepping import stepper

from ascd.engine.oracles import as_oracle, oracle_part
from ascd.engine.rules import as_rule, rule_part
from ascd.engine.steepness import as_steepness
from choosing.data import SEED


class Recorder(NamedTuple):
    """A rule, the picks it made, and which of them moved."""

    inner: Any
    picks: Any
    before: Any  # x of each pick
    did_move: Any

    def select(self, point, t, rng):
        if t > 0:
            self.did_move[t - 1] = point.x[self.picks[t - 1]] != self.before[t - 1]
        self.picks[t] = self.inner.select(point, t, rng)
        self.before[t] = point.x[self.picks[t]]
        return self.picks[t]


def recorded(problem, rule, oracle, steps):
    """The oracle as the rule has it, the picks of the first steps, and which of them moved; scores GSL-s."""
    suited = oracle_part(oracle, rule_part(rule))
    compiled_oracle = as_oracle(suited, problem.parts, np.random.default_rng(SEED))
    compiled = as_rule(rule, problem.parts, compiled_oracle, as_steepness("gsl-s", problem.parts))
    picks, did_move = np.zeros(steps, dtype=np.int64), np.zeros(steps, dtype=np.bool_)
    stepper(problem, Recorder(compiled, picks, np.zeros(steps), did_move), suited, steepness="gsl-s")(steps)
    return suited, picks, did_move
