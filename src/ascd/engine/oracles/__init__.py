"""Gradient oracles: how the intervals of the other gradient entries change with a step of coordinate i.

``products`` has the oracles that estimate products of columns, ``reference`` and ``stochastic`` one each;
``docs/paper.md`` compares them.  An oracle is a NamedTuple with the compiled method ``update(point, i, change, rng)``.
A plain ``prepare(parts, rng)`` returns the form that is compiled, with its work arrays.
"""

from __future__ import annotations

from typing import Any

from ascd.engine.oracles.products import Cached, Exact, Norm, Random, Simulated, Sketch
from ascd.engine.oracles.reference import Reference
from ascd.engine.oracles.stochastic import Stochastic

ORACLES: dict[str, Any] = {
    "exact": Exact,
    "sketch": Sketch,
    "simulated": Simulated,
    "norm": Norm,
    "random": Random,
    "cached": Cached,
    "reference": Reference,
    "stochastic": Stochastic,
}
