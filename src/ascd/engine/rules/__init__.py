"""Selection rules: the choice of the next coordinate; ``docs/paper.md`` has a table.

A rule is a NamedTuple with the compiled method ``select(point, t, rng)`` that returns a coordinate.  A plain
``prepare(parts, oracle, steepness)`` may return another one with its work arrays, and ``active_count(point)``
tells the trace how many coordinates it chooses from.  The picks of a user's rule are checked (``guards``).
"""

from __future__ import annotations

from typing import Any

from ascd.engine.guards import as_part
from ascd.engine.rules.ascd import ASCD
from ascd.engine.rules.largest import Block, HeuristicASCD, LowerASCD, Steepest, UpperASCD
from ascd.engine.rules.oblivious import Cyclic, Importance, Uniform
from ascd.engine.rules.working_set import WorkingSetSweeps
from ascd.protocols import Rule

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
