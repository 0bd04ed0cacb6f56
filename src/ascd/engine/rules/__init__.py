"""Selection rules: the choice of the next coordinate.

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
block           the best k by their upper bounds, one after the other
working-set     sweeps over coordinates that may move; a scan of all bounds when it has been paid for
==============  =======================================================================================

A rule is a NamedTuple with the compiled method ``select(point, t, rng)`` that returns a coordinate.  A plain
``prepare(parts, oracle, steepness)`` may return another one with its work arrays, and ``active_count(point)``
tells the trace how many coordinates it chooses from.  The picks of a user's rule are checked (``guards``).

``oblivious`` has the first three, ``ascd`` Algorithm 1, ``largest`` those by the largest
bound or score and blocks, ``working_set`` the default.
"""

from __future__ import annotations

from typing import Any

from ascd.engine.guards import as_part
from ascd.engine.rules.ascd import ASCD
from ascd.engine.rules.largest import Block, HeuristicASCD, LowerASCD, Steepest, UpperASCD
from ascd.engine.rules.oblivious import Cyclic, Importance, Uniform
from ascd.engine.rules.working_set import WorkingSetSweeps
from ascd.protocols import Rule

__all__ = [
    "ASCD",
    "RULES",
    "Block",
    "Cyclic",
    "HeuristicASCD",
    "Importance",
    "LowerASCD",
    "Steepest",
    "Uniform",
    "UpperASCD",
    "WorkingSetSweeps",
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
    "block": Block,
    "working-set": WorkingSetSweeps,
}


def as_rule(rule: Any, parts: Any, oracle: Any, steepness: Any = None) -> Any:
    """Return the compiled rule for a name or a part, ours or the user's own."""
    return as_part(rule, RULES, "rule", Rule, parts, oracle, steepness)
