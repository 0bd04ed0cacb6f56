"""Every number that the solver was tuned by, in one place.

tests/test_golden.py holds the columns read, and ``python benchmarks/before_after.py`` compares two checkouts.
"""

from __future__ import annotations

import numpy as np

# ---- front doors

#: Rounds, where the user sets no limit.
DEFAULT_ROUNDS = 1000
#: An intercept to start from may be as large as this: its sums with predictions are still finite.
LARGEST_INTERCEPT = 1e300
#: Rounding errors of a prediction, relative to the target it equals: those of a mean and of a few operations.
FEW_ULPS = 16.0 * float(np.finfo(np.float64).eps)

# ---- paths

#: The path stops early where the explained deviance exceeds the first number or grows by less than the second times
#: itself from one penalty to the next, but not before this many penalties.  These are glmnet's.
ALMOST_ALL, HARDLY_MORE, FEWEST_PENALTIES = 0.999, 1e-5, 5
#: The largest alpha where some coordinates have no penalty: those are fitted this precisely, relative to F at zero,
#: until the factor changes by less than the second number, at most so many times.
PRECISE_START, SAME_FACTOR, MOST_STARTS = 1e-12, 1e-9, 20

# ---- intervals

#: Slopes remembered.
SLOTS = 4

# ---- fits

#: An intercept that falls to less than one of so many of itself has cancelled: the image is computed again.
CANCELS = 16.0

# ---- working sets

#: The first working set is a tenth of all, within these numbers; later ones hold at least twice the coordinates that
#: have moved.  Where all are fewer than the larger number they are all in it.
SMALLEST_SET, LARGEST_SET = 20, 100
#: How many times as many coordinates as have moved a working set may hold; and where nearly all in the last one moved,
#: or products stay on a device (``benchmarks/gpu.py --only peers``: seven rounds and 0.17 s with 2, five and 0.13 s
#: with 4).
GROWTH, FAST_GROWTH, NEARLY_ALL = 2, 4, 0.9
#: Sweeps over a working set, at most: hard models end by Newton steps long before.
MOST_SWEEPS = 1000
#: Violations that a working set may keep, as a share of the largest one anywhere; where the loss is not quadratic;
#: where the support is dense; and where the set may be the last, because no violation is outside, and so many Newton
#: steps cost less than another pass.
SHARE, NEWTON_SHARE, DENSE_SHARE, LAST_SHARE, FEW_STEPS = 0.03, 0.1, 0.1, 1e-5, 20.0
#: A violation of this share of tolerance/‖x‖₁ is enough: the gap is at most about their product.
ENOUGH = 0.3

# ---- dense supports

#: Fewer coordinates than this never count as a dense support: a Gram matrix of them is small.
FEWEST_DENSE = 500
#: Where the support is dense, a round is so many passes over all columns, and so many sweeps at least: then intervals
#: tell who may sleep.  After a round that left this share of the gap the next ones are longer by a factor, in the end
#: long enough for Newton steps.
PASSES, FEWEST_PASS_SWEEPS, SLOW, LONGER_ROUND = 3.0, 3, 0.85, 1.5

# ---- columns that are elsewhere

#: Columns that come near with a look, as a multiple of those that have moved.
MOST_BROUGHT = 2

# ---- rows that are elsewhere

#: Lengths of a step that are tried in one round; the whole step is the first.  First steps of a logistic loss are up to
#: six times too short.
STEP_LENGTHS = (1.0, 0.5, 0.25, 0.05, 2.0, 3.0, 4.0, 6.0)
#: Scales of a dual point that its gap is computed for: 1 − 4⁻ᵏ, and 1.  A chord of a parabola between two of them lies
#: at most 1.6 times above it.
DUAL_SCALES = (*(1.0 - 0.25**k for k in range(13)), 1.0)
#: Products of columns that come with a round: of those that may move, and of so many more beside this share of them;
#: of all, where that is more than this share of the columns.  Rounds of tall logistic fits are those with products of
#: all columns (``benchmarks/reach.py --only dask --figures rounds``: 5, 5, 6), and what comes back is 0.4 to 0.6 of it.
FEWEST_NEXT, NEXT_SHARE, MOST_COLUMNS = 10, 0.25, 0.9
#: A model is solved to this share of the violation that the tolerance needs: a round is dearer than sweeps.
ROUND_SHARE = 0.01
#: Where a model promises less than this share of the tolerance, and the gap is more than so much of the lowest, what is
#: missing is a proof that needs the samples themselves.
HARDLY_FALLS, HALF_THE_GAP = 0.1, 0.5
#: Rounds without a lower F, and rounds at all, before that.
MOST_FAILURES, MOST_ROW_ROUNDS = 4, 100

# ---- ends

#: Rounds without progress before the solver gives up: rounding errors leave nothing to gain.
MOST_IDLE = 10
#: After so many rounds an objective within the tolerance is looked at as its own proof: losses are not negative.
LONG_RUN = 20
#: Progress is a gap or a violation below this share of the best so far.
PROGRESS = 0.9
#: Rounds in which a dual point is looked for that cannot be fitted, before first-order conditions decide.
MOST_ATTEMPTS = 3
#: F is a sum with rounding errors.  Where a model promises less than those, F cannot tell whether the step was good.
OBJECTIVE_ROUNDING = 1e-15

# ---- subproblems

#: Newton models on a working set, for losses that are not quadratic; each may keep this share of the violation that it
#: starts with, and the last a share of what is asked for.
MOST_MODELS, MODEL_SHARE, LAST_MODEL_SHARE = 8, 0.03, 0.3
#: Sweeps over columns that are tried at most before products are computed: very small models have hard ones among them.
MOST_TRIED = 60
#: Products with a quadratic loss are kept for the whole run, and sweeps over them may be cheaper than over columns:
#: these are tried first where they have fewer entries than so many times the products.
FEW_ENTRIES = 2.0
#: Products are kept for so many times as many columns as the working set holds.
MOST_OTHERS = 2
#: A Gram matrix may take this share of the input's memory (and always this many bytes).
GRAM_SHARE, GRAM_FLOOR = 0.08, 8_000_000

# ---- models of products

#: Sweeps between Newton steps, at least and at most.
FEWEST_SWEEPS, MOST_SWEEPS_BETWEEN = 4, 40
#: Newton steps, sweeps after each, that may fail to lower the violation: then rounding errors are all that is left.
MOST_STALE = 20
#: The work of a Cholesky factor is done this much faster than that of a sweep, and what a Newton step costs beside its
#: factor, in products of a sweep.
BLOCKED_GAIN, OVERHEAD = 24.0, 200_000.0
#: A singular G is made regular by this much of its diagonal; the next if the one before was too little.
SHIFTS = (1e-12, 1e-9, 1e-6)

# ---- models of columns

#: Sweeps between Newton steps by conjugate gradients, which cost dozens of them; steps of those at most, and the
#: accuracy they stop at (of the squared length).
SWEEPS_BETWEEN_CG, MOST_CG_STEPS, CG_ACCURACY = 100, 100, 1e-6

# ---- models on a device

#: Working sets of more columns than this are solved where the data are: their products are then not fetched.
LARGEST_HOST_MODEL = 600
#: Accelerated steps between Newton steps, Newton steps on smaller and smaller faces between those, and steps between
#: looks at the violation.  Of 5 to 50 steps and 2 to 8 faces, 20 and 2 took least on an H200, for 3,000 and for 16,000
#: columns (``benchmarks/gpu.py --only peers,fits``).
STEPS_BETWEEN, MOST_FACES, STEPS_A_LOOK = 20, 2, 5
#: Products that estimate the largest eigenvalue, and the factors that it is raised by: for the estimate, and where it
#: has proved too small, by more than rounding.
POWER_STEPS, RAISED, LARGER_BOUND, SAME_BEND = 3, 1.05, 1.5, 1e-9
#: Steps after which a model of at most so many columns counts as hard, because columns have much in common: its exact
#: products are fetched, and swept over.  Models of ``benchmarks/gpu.py`` take 20 to 25 steps.
MOST_STEPS_THERE, LARGEST_FETCHED = 100, 4000
#: With approximate products, the share of its violation that a model is minimised to before its slopes are corrected,
#: and the share that may be left after that: where there is more, exact products are computed.
SHORT_SHARE, SHORT_GAIN = 1e-2, 0.5

# ---- quadratic problems in a box

#: With more coordinates than this, and for gaps not below this share of the one at zero, duals of support vector
#: machines are descended in their box first, to this share of the gap: rounding errors are added to what it finds.
#: For few the production solver takes a few ms, and finds more digits than were asked for: scikit-learn's checks of
#: sample weights, with some 30 samples, compare seven of them.
FEW_IN_BOX, FINEST_IN_BOX, UNDER_GOAL = 50, 1e-12, 0.98
#: What a visit in a sweep costs beside reading its column, for its gap term, in nanoseconds.
BOX_VISIT = 40.0
#: Sweeps in a round, after which what was spent is looked at, and nanoseconds that it lasts at least: the calls around
#: it take some 60,000; rounds without a smaller gap, after which rounding errors are all that is left.
SWEEPS_A_ROUND, ROUND_LENGTH, MOST_IDLE_ROUNDS = 10, 2e5, 500
#: After a free-set model, coordinates are shrunk this many times further inside.
WIDER = 2.0
#: Coordinates in a free-set model; what is spent on such models, as a share of what sweeps have cost.  With shares of
#: 0.25, 0.3, 0.5 and 1, ``BoxDescent.minimise`` to a gap of 1e-6 reads every sample of rcv1_sample 43, 43, 64 and 40
#: times (C = 100; 857 without models), in which models take 0.06, 0.06, 0.13 and 0.13 s of 0.5 to 0.7.
FEWEST_FREE, LARGEST_FREE, FREE_SHARE = 50, 800, 0.3
#: Newton steps and sweeps that such a model takes, roughly, and sweeps that it never exceeds; the share of the largest
#: violation that it may leave.
FREE_NEWTONS, FREE_SWEEPS, MOST_FREE_SWEEPS, FREE_LEFT = 6.0, 40.0, 200, 0.01
#: Costs in nanoseconds: a product of two numbers in a sweep or in outer products of columns, one in a Cholesky factor,
#: and the calls of a Newton step.
BOX_PRODUCT, BOX_CUBE, BOX_CALLS = 0.5, 0.1, 1e5
#: An interior point method takes about so many steps, and never more than the second number.
INTERIOR_STEPS, MOST_INTERIOR_STEPS = 18.0, 80
#: Sweeps cost at least this share of it before, and at most so many times as much; it stops at this share of the gap
#: asked for, because rounding follows.
INTERIOR_WAIT, INTERIOR_LATEST, INTERIOR_SHARE = 0.2, 2.0, 0.5

# ---- line search

#: A step must keep this share of the fall that the model promised.
ENOUGH_FALL = 1e-4
SMALLEST_STEP = 1e-14
#: A step that was too long is shortened by a factor between these.
SHORTEST, LONGEST = 0.1, 0.5
#: Where the model promises a fall that is hardly seen, the slopes at both ends of a step tell it better than the
#: difference of two sums.
HARDLY_SEEN = 1e-9
#: Damping in units of the typical curvature: at first; the factor after a step that failed and its least value then;
#: the factor after a good one and its least value.
DAMPING, MORE_DAMPING, LEAST_AFTER_FAILURE, LESS_DAMPING, LEAST_DAMPING = 1e-6, 4.0, 1e-3, 0.25, 1e-10
#: The model of a quadratic loss is F itself; where F rises by more than this share of it, its products are worthless.
WORTHLESS = 1e-3

# ---- compiled: sweeps, margins

#: A column that varies by less than this share of its square is constant, up to rounding, where means are taken from
#: products: a square is a sum whose relative error is d·2⁻⁵³ at most.
CONSTANT = 1e-12

#: A coordinate is visited in a sweep where its violation exceeds this share of the target.
VISITED = 0.1
#: Neighbours visited one after the other in a sweep: their memory lies together.
RUN = 8

# ---- compiled: quadratic problems in a box

#: A coordinate is shrunk that is this share of the largest violation (over ‖a_j‖) of the sweep before inside its
#: optimality condition.
SHRINKS = 0.5

# ======== blocks

# ---- intervals and working sets

#: Columns in the first working set of blocks, about.
FIRST_COLUMNS = 300

# ---- certificates

#: Columns without a penalty that are gathered at a time, to see what they could gain.
COLUMNS_TAKEN = 64

# ---- models

#: A Gram matrix may have this many columns, and so many times as many as there are samples, with one output and with
#: several; more are read anew in every sweep.
LARGEST_GRAM, WIDE, WIDE_SEVERAL = 2500, 2, 8
#: Up to so many columns have one in any case where an intercept leaves this share of a column, in squares, or less:
#: 5 x 200 normal numbers plus 1e3 or 1e5 take 1 to 4 rounds, and had a gap of 0.2 to 0.9 of F at 0 after 40 rounds of
#: sweeps (tests/test_blocks_hard.py).
OFF_CENTRE_COLUMNS, OFF_CENTRE = 1000, 1e-2
#: Where outputs meet, all coefficients of a working set have one matrix of products if they are at most so many.
LARGEST_COUPLED = 1000
#: Sweeps over a model, all in all, and before a Newton step.  With 100 of these, not 40, fits of 100 × 50 numbers to
#: 1e-10 need none: 2.3 to 2.6 ms instead of 3.0 to 3.2 (groups of 5).
MOST_BLOCK_SWEEPS, MOST_BETWEEN_STEPS = 400, 100
#: The gradient of a block is known to this share of the lengths of its columns and of the raw gradient: models of
#: blocks stop there.  Without it a stalled softmax sweeps 2,200 times a step over rounding errors.
ROUNDING_FLOOR = 2.0**-51
#: Few columns have more, as many as take so many products, some 10 ms: 400 sweeps leave nearly parallel columns far
#: from their minimum (30 columns of 15 different samples, ``check_sample_weight_equivalence_on_sparse_data``).
CHEAP_SWEEPS = 10_000_000
#: What a Newton step costs beside its factors, in products of a sweep.
BLOCK_OVERHEAD = 1e6
#: Entries of columns that are multiplied at once for the curvatures of blocks.
ENTRIES_AT_ONCE = 1_000_000
#: Steps of the power method for the curvature of a block, the factor on what they find, and the share of a bound that
#: is never undercut: more than a half of it.
CURVATURE_STEPS, ABOVE_POWER, ABOVE_HALF = 10, 1.02, 0.505
#: Steps inside a block of several columns before its neighbours are looked at.
STEPS_INSIDE = 8
#: Sweeps whose points are combined to one beyond them; the share of their squares that is added to their matrix; the
#: sizes of factors together, beside their sum: gradients lose as many digits.
PAST_POINTS, PAST_SHIFT, LARGEST_FACTORS = 5, 1e-12, 1e3
#: A singular matrix is made regular by this share of its diagonal; the next if the one before was too little.
BLOCK_SHIFTS = (0.0, 1e-12, 1e-9, 1e-6)
#: Lengths of a Newton step that are tried where the whole one, and those at which the first coefficients (of these
#: numbers) change their sign, do not lower Q.
LENGTHS, CROSSINGS = (0.5, 0.25, 0.0625), (0, 1, 3, 7, 15, 31, 63)
#: A whole step that keeps this share of what it promised is taken without a look at other lengths.
KEPT_PROMISE = 0.9
#: Newton steps that may fail to lower the violation in models that are read from columns, whose steps cost more.
MOST_STALE_COLUMNS = 3
#: Conjugate gradients: steps at most, and the share of the residual they stop at.
MOST_BLOCK_CG_STEPS, BLOCK_CG_ACCURACY = 60, 1e-3
#: Free coefficients whose Newton system is one dense matrix, at most, and the work that it may take.
LARGEST_DENSE, MOST_DENSE_WORK = 3000, 3e10
#: Entries of A up to which smooth problems are solved in variables of their own, which are dense.
LARGEST_WIDE = 3e7
#: Sweeps that bring the violation below this share of what it was need no Newton step after them.
FAST_FALL = 0.3
#: Newton steps in a row that end where coefficients become 0.
MOST_CUTS = 30
#: A model by one matrix of all coefficients keeps this share of what another may: the matrix costs more than sweeps
#: over it.  Of 1, 0.1 and 0.01 the best or near it on tasks "multinomial l1" of riboflavin, golub, tiny and a9a.
COUPLED_MODEL_SHARE = 0.1
#: With fewer coefficients than this models and steps take little time: the goal is a smaller share of the tolerance,
#: so that fits which differ in the order of their sums agree in their digits.
FEW_COEFFICIENTS, FINE_SHARE = 500, 1e-8

# ---- line search, intercepts, paths

#: A factor above every alpha that float64's gradients can need, and halvings that find the largest to its last digit.
WIDEST_ALPHA, ALPHA_HALVINGS = 2.0**1000, 900

# ---- smooth problems

#: Newton's steps on all coefficients take the place of L-BFGS where the square of their number is at most so many times
#: that of samples (a factorisation beside ten passes over dense data), and their number times the square of the share
#: of entries that are stored is at most the other (products of rows beside the same passes).  a9a with five classes
#: (12 and 8 of these): 0.63 s instead of 0.96 to 1.16 with C = 1, 0.72 instead of 1.85 to 2.54 with C = 100.
TALL_FOR_NEWTON, PAIRS_FOR_NEWTON = 75.0, 25.0

#: Better variables cost a matrix of products: they pay where the smaller side of A is at most so many times the outputs
#: (two products with A and all outputs for each of some fifty steps).
SHORT_SIDE = 40

#: The predictor is computed from x itself after a step that moves this share of the support, or more.
FRESH_SHARE = 0.5
#: Curvatures are damped no further than this many times the typical one.
MOST_DAMPING = 16.0

# ---- small problems, in one compiled call

#: Entries of A up to which a problem is small; with five times as many the loop is faster on wide data.
SMALL_ENTRIES = 200_000
#: Columns up to which it is small: the call reads all of them in every round, where the loop reads few.
SMALL_WIDTH = 1_000
#: Rounds, then the loop takes over: it has more to offer where this one is slow.
SMALL_ROUNDS = 30
#: Sweeps, then Newton steps while they are cut, and cycles of both on one model.
SMALL_SWEEPS, SMALL_NEWTON_STEPS, SMALL_CYCLES = 4, 3, 6
#: Free coordinates k up to which Newton steps are taken, and k²·d: their matrix costs k²·d/2 operations, its factors
#: k³/6.  Beyond, the library's linear algebra is faster, and the loop takes over.
SMALL_FREE, SMALL_PRODUCTS = 120, 3e6
#: The violation left on a model, as a share of the first: of one that is the objective itself, and of another.
SMALL_EXACT, SMALL_ROUGH = 1e-4, 0.03
#: Columns of a problem with blocks whose Gram matrix is made at once; multiplications that its sweeps may cost, and
#: their number; the violation left, as a share of the first.
SMALL_COLUMNS, SMALL_SWEEP_PRODUCTS, SMALL_BLOCK_SWEEPS, SMALL_FINE = 300, 3e7, 500, 1e-10
#: A step that is halved further leads nowhere; with more steps than the second number cut, the loop does it all.
SHORTEST_STEP, SMALL_CUTS = 0.01, 3
