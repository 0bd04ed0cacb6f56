"""Every number that the engine was tuned by, in one place.

``python benchmarks/engine.py`` prints what a step costs with each rule, ``python benchmarks/selection.py`` what a
choice costs and saves; both compare side by side in one run.  None of these changes what a rule selects, but those of
"look-ahead" and "adaptive" do.
"""

from __future__ import annotations

import numpy as np

# ---- runs

#: Steps for each coordinate, where the user sets no limit.
DEFAULT_EPOCHS = 1000
#: Seconds that a piece of the loop should take: Ctrl-C is heard between pieces.
SHORTEST_PIECE, LONGEST_PIECE = 0.05, 0.2
#: A piece that was far too short is followed by one so many times as long: after each the bounds are looked at.
PIECE_GROWTH = 16
#: The bounds are asked for convergence this many times in an epoch, but not after fewer steps than this.
CHECKS_AN_EPOCH, FEWEST_STEPS = 4, 64
#: v is measured so often that it costs so many samples a step; they are a nanosecond each.
SUMS_A_STEP = 4
#: Where the bounds do not certify convergence, all columns are read once in this many epochs to see.
EPOCHS_A_LOOK = 10
#: Line search: bisection alone halves the bracket to nothing in this many rounds; Newton's steps need about five.
MOST_BISECTIONS = 100
#: Newton's steps take at least this share of L_i as curvature (a loss may be flat there); a step this small beside x is
#: rounding: an ulp is 2.2e-16.
LEAST_CURVATURE, STEP_ROUNDING = 1e-3, 1e-15
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
#: What one step's known products may add wrongly to ‖v − v_ref‖² and ⟨v − v_ref, v_ref⟩, in lengths of the step times
#: ε: twice two entries that are wrong by ε‖a_i‖ each, and a few operations; and one entry, and as few.
STRAY_ROUNDING, TURN_ROUNDING = 8.0, 2.0
#: A radius may be below 0 by this share of the numbers whose difference it is; an exact gradient entry may lie outside
#: its interval by this share of its column.  Sums of a million terms are that good; a wrong one is off by far more.
RADIUS_ROUNDING, VIOLATION_ROUNDING = 1e-9, 1e-9
#: What a penalty's cost bends by is a difference of three terms: below this share of them it is their rounding.
BEND_ROUNDING = 1e-15

# ---- selection

#: Values between the smallest and the largest upper bound are sorted into this many buckets to find the active set.
BUCKETS = 256
#: Averages and bucket edges are computed in floating point: a coordinate this close to the edge stays in the set.
EDGE_SAFETY = 1e-12
#: A pick counts members block by block, which the compiler vectorises, before it looks for one of them.
PICK_BLOCK = 256
#: Thresholds that "adaptive" compares.
LEVELS = 64
#: "look-ahead": a set should last for n/64 to n/8 steps, and begins with this share of the coordinates.
LASTS_AT_LEAST, LASTS_AT_MOST, FIRST_SHARE = 64, 8, 0.01
#: "awake": nanoseconds to look at the bounds of one coordinate, and to measure one sample (``data.prices`` has those of
#: reading a column); looks without a move after which a coordinate sleeps.
BOUNDS_LOOK, SAMPLE_LOOK, LOOKS_AWAKE = 11.0, 1.0, 2
#: Those whose rate is below this share of their sweep's are left aside; short sweeps over the others may cost this many
#: times as much as a sweep over those aside.  Of a half, a quarter and 1, 2, 4, 8 and no limit these were the best or
#: within 2 % of it in the geometric mean of 34 Lasso, elastic-net and SVM problems, counted in entries touched.
SLOW_SHARE, SHORT_SWEEPS = 0.25, 4.0
#: The reference is not refreshed before the sweeps since the last time have cost this many times a refresh.
SWEEPS_A_REFRESH = 1.0
#: After a look the steepest come first, by halves of the largest upper bound, down to this many.
STEEP_BUCKETS = 12

# ---- lazy selection

#: Below this many coordinates a scan costs less than compiling the heaps is worth.
SMALLEST_LAZY = 1500
#: Keys that fell by less than this share of what the clock has added have not fallen: it is rounding.
KEY_ROUNDING = 1e-14
#: Children of a node in a heap: eight keys lie in one line of the cache.
CHILDREN = 8
#: Queues: about so many keys are kept in a heap, the others in levels so many times as long as all before (4, 8 and 16
#: cost the same within 4 % in ten cases of ``benchmarks/selection.py --only iteration``); the edges of levels come from
#: so many keys; a level is divided by blocks of so many.
FRONT, LEVEL_GROWTH, LEVEL_SAMPLE, LOOK_BLOCK = 64, 8, 16, 256
#: a-ASCD: those asleep stand in this many levels (a power of two), each so many times as wide as the one before, in
#: chunks of this many; a waking that looks at more than this many for each that wakes is counted as in vain.
SLEEP_LEVELS, SLEEP_GROWTH, CHUNK, LOOKS_A_WAKING = 8, 4, 64, 8
#: Those wake early that would wake while this share of the list is drawn; after this many draws in vain in turn the
#: list is gone through.  In five cases of ``benchmarks/selection.py --only iteration`` an eighth was within 5 % of the
#: best of a quarter, an eighth and a 16th.
EARLY_SHARE, DRAWS_IN_VAIN = 0.125, 16
#: Two clocks: kinds of columns by correlation, each up to half of the one before.  On dorothea "u-ascd" looks at 8
#: keys a step instead of 44 with one clock for all; of 2, 4, 6 and 8, and of 8 equally wide, 4 was as fast as any.
PLANE_KINDS = 4
#: Lower bounds whose keys are true and yet too large are set aside while the largest is looked for, so many at least.
ROOM_FOR_LOWER = 256

# ---- oracles

#: "reference" is refreshed when this many times its price was read in vain: of 1/4, 1/2, 1 and 2 the first was the
#: fastest for "u-ascd" and "block" (``benchmarks/references.py --patience``).  With 1 instead of 1/4, rules that draw
#: at random read 0.75 ("a-ascd") and 0.5 ("look-ahead") of the columns, in 1.15 and 0.96 of the time on ARM, 0.99 and
#: 0.90 on x86 (geometric means of 14 Lasso problems).
LITTLE_PATIENCE, MUCH_PATIENCE = 0.25, 1.0

#: A Gram matrix above this many bytes is refused: it is no longer "accessible without extra cost".
LARGEST_EXACT = 2 * 2**30
#: "sketch", "stochastic": the least probability of failure and the least relative error; what is divided by shares of
#: the one or the square of the other stays in range.
LEAST_FAILURE, LEAST_EPSILON = 1e-200, 1e-100
#: "stochastic": a sample has at least this many rows; an anchored run reads the whole gradient anew when reads that
#: moved nothing come to this share of its price, as the reference oracle does.
FEWEST_ROWS, ANCHOR_WASTE = 64, 0.25
