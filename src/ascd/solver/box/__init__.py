"""Quadratic problems in a box, min ½‖Aβ − b‖² + Σ_j (½μ_j β_j² + λ_j β_j) over l ≤ β ≤ u: duals of SVMs.

- kinds: which problems are such
- ahead: the descent first, then the production solver
- descent: shuffled sweeps over what may move, and what is done where those take long
- sweeps: the compiled sweeps, and the gap term of a coordinate
- drift: the few coordinates that sweeps move a short way each time, minimised over with their products
- faces: Newton steps by conjugate gradients on coordinates strictly inside their box, for long columns
- barrier: an interior point method with d × d systems, for short columns
"""
