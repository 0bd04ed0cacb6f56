"""Selection rules: which coordinate next?

==============  =======================================================================================
name            choice
==============  =======================================================================================
cyclic          0, 1, …, n − 1, 0, …
uniform         uniformly at random (UCD)
importance      at random with probability ∝ L_i^power
steepest        the largest score, all scores known exactly (SCD)
ascd            uniformly from the smallest active set I with u_j² < mean_{i∈I} ℓ_i² for all j ∉ I
u-ascd          uniformly from the coordinates with the largest upper bound
l-ascd          uniformly from the coordinates with the largest lower bound
a-ascd          uniformly from {j : u_j ≥ max_i ℓ_i}
look-ahead      as ascd, on a set that stays valid while the descent travels a given distance
adaptive        from ascd's set, chances moved from coordinates that cannot be steep to those that are
block           the best k by their upper bounds, one after the other
awake           sweeps over those that may move; a scan of all bounds when it has been paid for
==============  =======================================================================================

A rule is a NamedTuple with the compiled method ``select(point, t, rng)`` that returns a coordinate.  A plain
``prepare(parts, oracle, steepness)`` may return another one with its work arrays, and ``active_count(point)``
tells the trace how many coordinates it chooses from.  The picks of a rule from elsewhere are checked
(``guards``).

What a rule is stands in the file of its name, or in ``heuristic`` (u-, l- and a-ascd) and ``oblivious`` (the first
three).  How it is done without scanning: ``lazy`` (the argument), ``lazy_rules`` and ``lazy_draws`` with the oracle
"norm", ``two_clocks``, the ``two_clock_…`` and ``clock_queues`` with "reference".  These keep coordinates in ``heap``,
``queue``, ``sleepers`` and ``draw_list``; ``scan`` and ``order`` are what scanning rules share.
"""

from __future__ import annotations

from typing import Any

from ascd._core.checks import unknown_name
from ascd._core.contracts import prepared
from ascd.engine.guards import guarded_rule
from ascd.engine.rules.adaptive import Adaptive
from ascd.engine.rules.ascd import ASCD
from ascd.engine.rules.awake import Awake
from ascd.engine.rules.block import Block
from ascd.engine.rules.heuristic import HeuristicASCD, LowerASCD, UpperASCD
from ascd.engine.rules.lookahead import LookAhead
from ascd.engine.rules.oblivious import Cyclic, Importance, Uncounted, Uniform
from ascd.engine.rules.steepest import Steepest
from ascd.protocols import Rule

__all__ = [
    "ASCD",
    "RULES",
    "Adaptive",
    "Awake",
    "Block",
    "Cyclic",
    "HeuristicASCD",
    "Importance",
    "LookAhead",
    "LowerASCD",
    "Steepest",
    "Uniform",
    "UpperASCD",
    "as_rule",
]

RULES: dict[str, Any] = {
    "cyclic": Cyclic,
    "uniform": Uniform,
    "importance": Importance,
    "steepest": Steepest,
    "ascd": ASCD,
    "u-ascd": UpperASCD,
    "l-ascd": LowerASCD,
    "a-ascd": HeuristicASCD,
    "look-ahead": LookAhead,
    "adaptive": Adaptive,
    "block": Block,
    "awake": Awake,
}


def rule_part(rule: Any) -> Any:
    """The rule of a name with its usual options, or the part itself."""
    if isinstance(rule, str):
        if rule not in RULES:
            raise unknown_name(rule, "rule", RULES)
        return RULES[rule]()
    return rule


def as_rule(rule: Any, parts: Any, oracle: Any, steepness: Any = None) -> Any:
    """The compiled rule for a name or a part, ours or the user's own; without a steepness it scans."""
    rule = prepared(rule_part(rule), Rule, "rule", parts, oracle, steepness)
    counting = rule if hasattr(rule, "active_count") else Uncounted(rule)
    return guarded_rule(counting)
