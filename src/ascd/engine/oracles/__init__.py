"""Gradient oracles: what is known of the other gradient entries after a step of coordinate i.

An oracle estimates the product ⟨a_i, a_j⟩ by p_ij with an error of at most e_ij (inner products and norms are
weighted by the samples).  From these follow the paper's g and δ for every loss (see ``ascd.problem``):

    g_ij = gain·p_ij,       δ_ij = gain·e_ij + slack·‖a_i‖‖a_j‖,

and after a step by γ the estimates move by γ·g_ij and the radii grow by |γ|·δ_ij, never by γ·δ_ij.

==============  ============================  =======================  ================================
name            p_ij                          e_ij                     cost of a step
==============  ============================  =======================  ================================
exact (g¹)      ⟨a_i, a_j⟩                    0                        O(n) dense, rows of a_i sparse
sketch (g²)     ⟨S a_i, S a_j⟩, clipped       ε‖a_i‖‖a_j‖              O(n·m), m = O(log n / ε²)
simulated       ⟨a_i, a_j⟩ + error within ε   ε‖a_i‖‖a_j‖              one pass over the data
norm (g³)       0                             ‖a_i‖‖a_j‖               O(1): one clock for all
random (g⁴)     uniform in ±‖a_i‖‖a_j‖        ‖a_i‖‖a_j‖ + |p_ij|      O(n)
cached          exact for cached columns      0 there                  O(n), another oracle elsewhere
reference       (intervals from an angle)     (see its module)         O(entries of a_i)
measured        (the same, where asked for)   (see its module)         O(1), and O(d) a measurement
stochastic      (from a sample of the rows)   (likely, not certain)    O(1), and O(d) a sample
==============  ============================  =======================  ================================

An oracle is a NamedTuple with the compiled method ``update(point, i, change, rng)``.  What it needs of a problem
is built by a plain ``prepare(parts, rng)`` that returns the compiled form.
"""

from __future__ import annotations

from ascd.engine.oracles.blind import Blind
from ascd.engine.oracles.cached import Cached
from ascd.engine.oracles.exact import Exact
from ascd.engine.oracles.known import ORACLES, as_oracle, oracle_part
from ascd.engine.oracles.measured import Measured
from ascd.engine.oracles.norm import Norm
from ascd.engine.oracles.random import Random
from ascd.engine.oracles.reference import Reference
from ascd.engine.oracles.simulated import Simulated
from ascd.engine.oracles.sketch import Sketch
from ascd.engine.oracles.stochastic import Stochastic

__all__ = [
    "ORACLES",
    "Blind",
    "Cached",
    "Exact",
    "Measured",
    "Norm",
    "Random",
    "Reference",
    "Simulated",
    "Sketch",
    "Stochastic",
    "as_oracle",
    "oracle_part",
]

ORACLES.update(
    exact=Exact,
    sketch=Sketch,
    simulated=Simulated,
    norm=Norm,
    random=Random,
    cached=Cached,
    reference=Reference,
    measured=Measured,
    stochastic=Stochastic,
)
