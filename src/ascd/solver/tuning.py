"""Every number that the solver was tuned by, in one place.

tests/test_golden.py holds the columns read, and ``python benchmarks/before_after.py`` compares two checkouts.
"""

from __future__ import annotations

# ---- solve

#: Rounds, where the user sets no limit.
DEFAULT_ROUNDS = 1000

# ---- gradient bounds and state

#: References: raw gradients remembered.
SLOTS = 4
#: An intercept that falls to less than one of so many of itself has cancelled: the predictor is computed again.
CANCELS = 16.0

# ---- working sets

#: The first working set is a tenth of all, within these numbers; later ones have room for twice the coordinates
#: that are not zero.  Where all are no more than the larger number they are all in it; so many columns are read, or
#: swept over, at little cost.
SMALLEST_SET, LARGEST_SET = 20, 100
#: Sweeps over a working set, at most: hard models end by Newton steps long before.
MOST_SWEEPS = 1000
#: Violations that a working set may keep, as a share of the largest one anywhere; and where the set may be the last,
#: because no violation is outside.
SHARE, LAST_SHARE = 0.03, 1e-5
#: In memory the smaller share is for sets on which twenty Newton steps cost less than a pass: products of a Cholesky
#: factorisation in the time of reading an entry, and the cost of all else in a round, in entries read.
BLOCKED_GAIN, OVERHEAD = 24.0, 200_000.0
#: A violation of this share of tolerance/‖x‖₁ is enough: the gap is at most about their product.
ENOUGH = 0.3

# ---- paths over data whose passes are expensive

#: Penalties that share a pass, at most; what they would read otherwise, in passes, at least.  A path of 100 over a file
#: takes 1.8 times as many passes without.
MOST_WARM_STARTS, WORTH_A_PASS = 16, 1.0
#: A warm start is good where at most this share of the columns is read to prove it; the share of the data's memory that
#: warm starts may take.
GOOD_START, WARM_MEMORY = 0.2, 0.2

# ---- remote rows

#: Moments of columns that come with a round trip: of those that may move, and of ``SMALLEST_SET`` and this share more.
#: Rounds of tall logistic fits are those with moments of all columns (``benchmarks/reach.py --only dask --figures
#: rounds``: 5, 5, 6), and what comes back is 0.4 to 0.6 of it.
NEXT_SHARE = 0.25

# ---- stopping

#: Rounds without progress before the solver gives up: rounding errors leave nothing to gain.
MOST_IDLE = 10
#: Rounds in which a dual point is looked for that cannot be fitted, before first-order conditions decide.
MOST_ATTEMPTS = 3
#: F is a sum with rounding errors.  Where a model predicts less than those, F cannot tell whether the step was good.
OBJECTIVE_ROUNDING = 1e-15

# ---- subproblems

#: A Gram matrix may take this share of the input's memory, and always this many bytes, or the last for blocks.
GRAM_SHARE, GRAM_FLOOR, BLOCK_GRAM_FLOOR = 0.08, 8_000_000, 50_000_000

# ---- models on Gram matrices

#: Sweeps between Newton steps, for single coordinates and for blocks.
SWEEPS_BETWEEN, BLOCK_SWEEPS_BETWEEN = 10, 25
#: G is factorised with its diagonal raised by the first share, and by the next where that leaves it singular; matrices
#: of blocks are first tried as they are.
SHIFTS = (1e-12, 1e-9, 1e-6)

# ---- models on a device

#: Working sets of more columns than this are solved where the data are: their products are then not fetched.
LARGEST_HOST_MODEL = 600

# ---- SVM duals

#: With more coordinates than this, duals of support vector machines are descended in their box first, to this share of
#: the gap: rounding errors are added to what it finds.
#: For few the production solver takes a few ms, and finds more digits than were asked for: scikit-learn's checks of
#: sample weights, with some 30 samples, compare seven of them.
FEW_IN_BOX, UNDER_GOAL = 50, 0.98
#: Sweeps in a round, after which what was spent is looked at, and nanoseconds that it lasts at least: the calls around
#: it take some 60,000; rounds without a smaller gap, after which rounding errors are all that is left.
SWEEPS_A_ROUND, ROUND_LENGTH, MOST_IDLE_ROUNDS = 10, 2e5, 500
#: Coordinates of a free-set model, and its cost in nanoseconds for each pair of them beside their products.
MOST_FREE, MODEL_STEPS = 400, 150.0
#: Costs in nanoseconds: a product of two numbers in outer products of columns, one in a Cholesky factor, and the calls
#: of a Newton step; sweeps go before an interior point method until they have cost this share of it.
BOX_PRODUCT, BOX_CUBE, BOX_CALLS, INTERIOR_WAIT = 0.5, 0.1, 1e5, 0.5

# ---- line search

#: A step must keep this share of the decrease that the model predicts.
ENOUGH_FALL = 1e-4
#: Damping: at first; the factor after a step that failed and its least value then.
DAMPING, MORE_DAMPING, LEAST_AFTER_FAILURE = 0.5, 10.0, 0.1

# ---- sweeps

#: A coordinate is visited in a sweep where its violation exceeds this share of the target.
VISITED = 0.1
#: Neighbours visited one after the other in a sweep: their memory lies together.
RUN = 8
#: In SVM duals a coordinate is shrunk that is this share of the largest violation (over ‖a_j‖) of the sweep before
#: inside its optimality condition.
SHRINKS = 0.5

# ---- blocks

#: Sweeps over a model, at most; over a small Gram matrix more, some 10 ms.
MOST_BLOCK_SWEEPS = 400
#: The gradient of a block is known to this share of the lengths of its columns and of the raw gradient: models of
#: blocks stop there.  Without it a stalled softmax sweeps 2,200 times a step over rounding errors.
ROUNDING_FLOOR = 2.0**-51
#: Lengths of a Newton step that are tried where the whole one, and those at which the first coefficients change their
#: sign, do not lower Q.
LENGTHS = (0.5, 0.25, 0.0625)
#: With fewer coefficients than this models and steps take little time: the goal is a smaller share of the tolerance,
#: so that fits which differ in the order of their sums agree in their digits.
FEW_COEFFICIENTS, FINE_SHARE = 500, 1e-8

# ---- smooth problems

#: Newton's steps on all coefficients take the place of L-BFGS where the square of their number is at most so many times
#: that of samples (a factorisation beside ten passes over dense data), and their number times the square of the share
#: of entries that are stored is at most the other (products of rows beside the same passes).  a9a with five classes
#: (12 and 8 of these): 0.63 s instead of 0.96 to 1.16 with C = 1, 0.72 instead of 1.85 to 2.54 with C = 100.
TALL_FOR_NEWTON, PAIRS_FOR_NEWTON = 75.0, 25.0
#: Better variables cost a matrix of products: they pay where the smaller side of A is at most so many times the outputs
#: (two products with A and all outputs for each of some fifty steps).
SHORT_SIDE = 40

# ---- small problems, in one compiled call

#: Entries of A up to which a problem is small; with five times as many the loop is faster on wide data.
SMALL_ENTRIES = 200_000
#: Columns up to which it is small: the call reads all of them in every round, where the loop reads few.
SMALL_WIDTH = 1_000
#: Rounds, then the loop takes over: it has more to offer where this one is slow.
SMALL_ROUNDS = 30
#: Sweeps, then as many Newton steps while they are cut, and cycles of both on one model, at most.
SMALL_SWEEPS, SMALL_CYCLES = 20, 6
#: Free coordinates k up to which Newton steps are taken, and k²·d: their matrix costs k²·d/2 operations, its factors
#: k³/6.  Beyond, the library's linear algebra is faster, and the loop takes over.
SMALL_FREE, SMALL_PRODUCTS = 120, 3e6
#: The violation left on a model, as a share of the first: of one that is the objective itself, and of another.
SMALL_EXACT, SMALL_ROUGH = 1e-4, 0.03
#: Columns of a problem with blocks whose Gram matrix is made at once.
SMALL_COLUMNS = 300
#: A step that is halved further leads nowhere.
SHORTEST_STEP = 0.01
