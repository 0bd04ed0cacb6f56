"""The new rules and oracles: what they say to bad input, the minima they reach, and the memory they take."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from selection import regression
from sklearn.linear_model import Lasso

import ascd
from ascd.engine.rules import RULES
from ascd.reproduction.panels import named_part

pytestmark = pytest.mark.usefixtures("lazy_everywhere")

# ------------------------------------------------------------------------------------------- bad input

BAD = [
    ({"rule": ascd.Block(size=0)}, ValueError, "Block size must be at least 1; got 0"),
    ({"rule": ascd.Block(size=2.5)}, TypeError, "Block size must be an integer; got 2.5"),
    ({"rule": ascd.Block(share=0.0)}, ValueError, r"Block share must be in \(0, 1\]; got 0.0"),
    ({"rule": ascd.Block(share=1.5)}, ValueError, r"Block share must be in \(0, 1\]; got 1.5"),
    ({"rule": ascd.Block(share="half")}, TypeError, "Block share must be a number; got 'half'"),
    ({"oracle": ascd.Reference(0.0)}, ValueError, "Reference patience must be in .*; got 0.0"),
    ({"oracle": ascd.Reference(math.inf)}, ValueError, "Reference patience must be in .*; got inf"),
    ({"oracle": ascd.Reference("long")}, TypeError, "Reference patience must be a number; got 'long'"),
    ({"rule": "working"}, ValueError, "unknown rule 'working'.*mean 'working-set'"),
    ({"oracle": "references"}, ValueError, "unknown oracle 'references'.*mean 'reference'"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD)
def test_bad_input_is_named(options, error, message):
    with pytest.raises(error, match=message):
        ascd.minimize(ascd.Problem(np.eye(3), np.ones(3)), **options)


# ----------------------------------------------------------------------------------- minima and memory

#: not l-ascd: lazy or not, it may stay for ever with a coordinate whose lower bound is positive by rounding alone
NEW_RULES = ("block", "u-ascd", "a-ascd", "steepest")
#: Every rule with every oracle and every loss;
MINIMA = [
    (rule, oracle, ("squared", "logistic")[(number + second) % 2])
    for number, rule in enumerate(NEW_RULES)
    for second, oracle in enumerate(("norm", "reference"))
]


SIZE = 16, 8


@cache
def minimum(loss):
    case = regression(*SIZE, loss, seed=13)
    if loss != "squared":
        return ascd.minimize(case.library(), "cyclic", tol=1e-12, step="line-search").objective
    model = Lasso(alpha=case.penalty.l1 / SIZE[0], fit_intercept=False, tol=1e-14, max_iter=100_000)
    return case.library().objective(model.fit(case.A, case.b).coef_)


def check_minimum(rule, oracle, loss):
    case = regression(*SIZE, loss, seed=13)
    solution = ascd.minimize(case.library("sparse"), rule, oracle, tol=1e-8, rng=0)
    assert solution.converged
    assert solution.objective == pytest.approx(minimum(loss), rel=1e-8)


@pytest.mark.parametrize(("rule", "oracle", "loss"), MINIMA)
def test_new_parts_reach_the_minimum(rule, oracle, loss):
    check_minimum(rule, oracle, loss)


# --- Rules and oracles by their names, with literal arguments in parentheses


def test_literals_are_taken():
    assert named_part("ascd(pick='largest-lower')", RULES).pick == "largest-lower"
