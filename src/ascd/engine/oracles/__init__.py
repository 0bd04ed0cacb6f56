"""Gradient oracles: how the intervals of the other gradient entries change with a step of coordinate i.

==============  ============================  =======================  ================================
name            estimate of ⟨a_i, a_j⟩        its error                cost of a step
==============  ============================  =======================  ================================
exact (g¹)      ⟨a_i, a_j⟩                    0                        O(n) dense, rows of a_i sparse
sketch (g²)     ⟨S a_i, S a_j⟩, clipped       ε‖a_i‖‖a_j‖              O(n·m), m = O(log n / ε²)
simulated       ⟨a_i, a_j⟩ + error within ε   ε‖a_i‖‖a_j‖              one pass over the data
norm (g³)       0                             ‖a_i‖‖a_j‖               O(1): one number for all
random (g⁴)     uniform in ±‖a_i‖‖a_j‖        ‖a_i‖‖a_j‖ + |p_ij|      O(n)
cached          exact for cached columns      0 there                  O(n), another oracle otherwise
reference       (intervals from an angle)     (see its module)         O(entries of a_i)
stochastic      (from a sample of the rows)   (likely, not certain)    O(1), and O(d) a sample
==============  ============================  =======================  ================================

``products`` has the oracles that estimate products, ``reference`` and ``stochastic`` one each.  An oracle is a
NamedTuple with the compiled method ``update(point, i, change, rng)``.  A plain ``prepare(parts, rng)`` returns the form
that is compiled, with its work arrays.
"""

from __future__ import annotations

from typing import Any

from ascd.engine.guards import as_part
from ascd.engine.oracles.products import Cached, Exact, Norm, Random, Simulated, Sketch
from ascd.engine.oracles.reference import Reference
from ascd.engine.oracles.stochastic import Stochastic
from ascd.protocols import Oracle

__all__ = [
    "ORACLES",
    "Cached",
    "Exact",
    "Norm",
    "Random",
    "Reference",
    "Simulated",
    "Sketch",
    "Stochastic",
    "as_oracle",
]

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


def as_oracle(oracle: Any, parts: Any, rng: Any) -> Any:
    """Return the compiled oracle for a name or a part, ours or the user's own."""
    return as_part(oracle, ORACLES, "oracle", Oracle, parts, rng)
