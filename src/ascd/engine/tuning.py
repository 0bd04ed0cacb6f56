"""All tuning constants of the engine; ``benchmarks/engine.py`` and ``benchmarks/selection.py`` measure what they do."""

from __future__ import annotations

import numpy as np

# ---- runs
#: Steps for each coordinate, where the user sets no limit.
DEFAULT_EPOCHS = 1000
#: Seconds that a piece of the loop should take, up to a factor of 2: Ctrl-C is handled between pieces.
PIECE_SECONDS = 0.1
#: Convergence is tested this many times in an epoch, but not after fewer steps than this.
CHECKS_AN_EPOCH, FEWEST_STEPS = 4, 64
#: v is measured so often that it costs so many samples a step; they are a nanosecond each.
SUMS_A_STEP = 4
#: Where the bounds do not certify convergence, all columns are read once in this many epochs.
EPOCHS_A_LOOK = 10
#: Line search: bisection alone halves the bracket to nothing in this many rounds; Newton's steps need about five.
MOST_BISECTIONS = 100
#: Newton's steps take at least this share of L_i as curvature (a loss may be flat there).
LEAST_CURVATURE = 1e-3
#: Steps by the local curvature: where e^z − z − 1 is a difference of rounded numbers its series is used; where it is
#: this large, no step is taken by it.
SMALL_GROWTH, LARGEST_GROWTH = 0.02, 30.0

# ---- rounding
#: Relative size of a difference that is nothing but rounding: eight ulps, for the handful of operations of a bound.
INTERVAL_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
#: The same of one sum: an ulp is twice what it can be wrong.
SUM_ROUNDING = float(np.finfo(np.float64).eps)
#: And of one sum at a time, of all steps: half an ulp of the result, and a little for the products of such errors.
ADDITION_ROUNDING = 0.5 * float(np.finfo(np.float64).eps) * (1.0 + 1e-6)
#: A radius may be below 0 by this share of the numbers whose difference it is, an exact gradient entry outside its
#: interval by this share of its column; a wrong one is off by far more.
OUTSIDE_ROUNDING = 1e-9
#: A step this small beside x, and an excess of a penalty's cost over its tangent this small beside the terms whose
#: difference it is, are rounding: an ulp is 2.2e-16.
ROUNDING_SHARE = 1e-15

# ---- selection
#: Values between the smallest and the largest upper bound are sorted into this many buckets to find the active set.
BUCKETS = 256
#: Averages and bucket edges are computed in floating point: a coordinate this close to the edge stays in the set.
EDGE_SAFETY = 1e-12
#: A pick counts members block by block, which the compiler vectorises, before it searches one block.
PICK_BLOCK = 256
#: "working-set": nanoseconds to compute the bounds of one coordinate; to read one sample in a measurement takes one
#: (``matrix.costs`` has those of reading a column).  Visits without a move after which a coordinate leaves the set.
BOUNDS_COST, IDLE_VISITS = 11.0, 2
#: Coordinates whose rate is below this share of their sweep's are set aside; short sweeps over the others may cost this
#: many times as much as a sweep over those aside: the best or within 2 % of it on 34 problems, in entries touched.
SLOW_SHARE, SHORT_SWEEPS = 0.25, 4.0
#: After a scan the steepest come first, by halves of the largest upper bound, down to this many.
STEEP_BUCKETS = 12

# ---- selection without scanning
#: Below this many coordinates a scan costs less than compiling the heaps is worth.
SMALLEST_LAZY = 1500
#: Keys that fell by less than this share of what G has added have not fallen: it is rounding.
KEY_ROUNDING = 1e-14
#: Children of a node in a heap: eight keys lie in one line of the cache.
CHILDREN = 8
#: "a-ascd": a rejected draw costs as much as the bounds of so many coordinates in a scan; the list is made to last for
#: this many times as many steps where scans cost more than rejected draws.
DRAW_COST, HORIZON_GROWTH = 8, 4.0

# ---- oracles
#: "reference" is refreshed, and an anchored "stochastic" reads the whole gradient anew, when this many times its cost
#: was read without a move: of 1/4, 1/2, 1 and 2 the first was the fastest for "u-ascd" and "block" (14 Lasso problems).
LITTLE_PATIENCE = 0.25
#: A Gram matrix above this many bytes is an error: it is no longer "accessible without extra cost".
LARGEST_EXACT = 2 * 2**30
#: "sketch", "stochastic": the least probability of failure and the least relative error; what is divided by shares of
#: the one or the square of the other stays in range.
LEAST_FAILURE, LEAST_EPSILON = 1e-200, 1e-100
#: "stochastic": a sample has at least this many rows.
FEWEST_ROWS = 64
