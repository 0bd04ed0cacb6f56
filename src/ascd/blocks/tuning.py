"""Every number of the block solver that it does not share with the other one (``solver.tuning``).

BLOCK_OVERHEAD was chosen among 0, 3e5, 1e6 and 2e6, FIRST_SET among 50 and 100, BLOCK_SHARE among 0.03, 0.1 and 0.3 on
three cases of ``benchmarks/race/block_tasks.py``; the others are first guesses.  Numbers under "rounding" follow from
what is said beside them.
"""

from __future__ import annotations

# ---- intervals and working sets

#: Slopes remembered; one has as many numbers as samples times outputs.  The last is for reads of few blocks: of at
#: most this share of those that refer to any other slope.
BLOCK_SLOTS, FEW_BLOCKS = 4, 0.25
#: Blocks in the first working set, at most; fewer where they are so wide that these have more columns than that, but
#: not fewer than the last.
FIRST_SET, FIRST_COLUMNS, FEWEST_FIRST = 50, 300, 10
#: More blocks for least squares on so many entries, where a pass costs more than a larger model: easy sparse with 10
#: targets (``benchmarks/solver.py``) takes 0.15 s instead of 0.20, with 100 targets 1.0 instead of 1.4.
LARGE_FIRST, MANY_ENTRIES = 100, 900_000
#: Violations that a working set may keep for quadratic losses, as a share of the largest one anywhere.
BLOCK_SHARE = 0.1

# ---- certificates

#: Columns without a penalty that are gathered at a time, to see what they could gain.
COLUMNS_TAKEN = 64
#: A gap of more than so many times what is asked for is not worth a second look, while there is progress.
FAR_FROM_ENOUGH = 1e3
#: No certificate is looked for where one step of one block is known to lower F by so many times what is asked for.
SURELY_FAR = 2.0

# ---- models

#: A Gram matrix may have this many columns, and so many times as many as there are samples, with one output and with
#: several; more are read anew in every sweep.
LARGEST_GRAM, WIDE, WIDE_SEVERAL = 2500, 2, 8
#: Up to so many columns have one in any case where an intercept leaves this share of a column, in squares, or less:
#: 5 x 200 normal numbers plus 1e3 or 1e5 take 1 to 4 rounds, and had a gap of 0.2 to 0.9 of F at 0 after 40 rounds of
#: sweeps (the last test of tests/test_blocks_wide.py).
OFF_CENTRE_COLUMNS, OFF_CENTRE = 1000, 1e-2
#: Where outputs meet, all coefficients of a working set have one matrix of products if they are at most so many.
LARGEST_COUPLED = 1000
#: Such a matrix is summed up row by row from sparse columns with at most this share of entries (both ways take the
#: same time at 0.65 to 0.9, for 10 to 100 columns and 3 to 20 outputs), else from dense rows, with so many numbers at
#: a time.
SPARSE_COUPLED, COUPLED_AT_ONCE = 0.6, 300_000
#: The numbers of a pair of columns are filled up to a multiple of this, for vector registers.
LANES = 4
#: Sweeps over a model, all in all, and before a Newton step.  With 100 of these, not 40, fits of 100 × 50 numbers to
#: 1e-10 need none: 2.3 to 2.6 ms instead of 3.0 to 3.2 (groups of 5).
MOST_BLOCK_SWEEPS, MOST_BETWEEN_STEPS = 400, 100
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
#: Columns that outnumber the samples are solved for by a matrix of these, if it has at most so many entries; where
#: the penalty has no curvature, it gets this share of the losses' own.
LARGEST_WIDE, WIDE_SHIFT = 3e7, 1e-9
#: Sweeps that bring the violation below this share of what it was need no Newton step after them.
FAST_FALL = 0.3
#: Newton steps in a row that end where coefficients become 0.
MOST_CUTS = 30
#: Where the loss is not quadratic, the share of the violation that each model may keep.
BLOCK_MODEL_SHARE = 0.1
#: A model by one matrix of all coefficients keeps this share of what another may: the matrix costs more than sweeps
#: over it.  Of 1, 0.1 and 0.01 the best or near it on tasks "multinomial l1" of riboflavin, golub, tiny and a9a.
COUPLED_MODEL_SHARE = 0.1
#: With fewer coefficients than this models and steps take little time: the goal is a smaller share of the tolerance,
#: so that fits which differ in the order of their sums agree in their digits.
FEW_COEFFICIENTS, FINE_SHARE = 500, 1e-8

# ---- small problems

#: Least squares on at most so many columns and entries (of columns, and of targets) is one model from the start, if the
#: user allows it so many seconds.
SMALL_COLUMNS, SMALL_ENTRIES, SMALL_SECONDS = 100, 50_000, 1.0
#: A column whose part beside the intercept is this share of it, in squares, is constant but for rounding: not small.
NEARLY_CONSTANT = 1e-10

# ---- line search, intercepts, paths

#: A step is halved at most so often.
MOST_HALVINGS = 30
#: Newton steps for the intercepts of a softmax loss.
MOST_BALANCING_STEPS = 50
#: Before a path, unpenalised blocks are fitted so often at most, and to this share of F at zero.
MOST_FIRST_FITS, FINE_FIT = 20, 1e-12
#: A factor above every alpha that float64's gradients can need, and halvings that find the largest to its last digit.
WIDEST_ALPHA, ALPHA_HALVINGS = 2.0**1000, 900

# ---- the engine on blocks

#: Steps of length 1/L_b in which the minimum over a block is looked for, and the share of the violation it may keep.
MOST_INSIDE, LEFT_INSIDE = 1000, 1e-12
#: The depth of a gradient in a subdifferential: powers of 2 that are tried either way, and halvings that refine it.
DEPTH_SCALES, DEPTH_HALVINGS = 60, 3

# ---- rounding

#: A step this small beside the block is rounding.
INSIDE_ROUNDING = 1e-15

#: F is a sum with rounding errors: it cannot tell whether a step was good that promises less than this share of it.
UNSEEN_FALL = 1e-13
#: Halvings that find the scale of a dual point for two norms at once: all digits of a float64 and some more.
SCALE_HALVINGS = 60
#: Where the share of a probability that a dual point may be off is larger, it may leave the simplex.
LARGEST_SHARE = 0.25
#: A class whose curvatures add up to less has no unit of its own: products of two units would underflow.
SMALLEST_SHARE = 1e-280
#: A step of the constants of classes: exp(−1000) is 0 already.
LONGEST_CONSTANT_STEP = 1e3
#: Classes are numbered without gaps: a larger number is a label, not a class.
MOST_CLASSES = 1_000_000

# ---- smooth problems

#: Newton's steps on all coefficients take the place of L-BFGS where the square of their number is at most so many times
#: that of samples (a factorisation beside ten passes over dense data), and their number times the square of the share
#: of entries that are stored is at most the other (products of rows beside the same passes).  a9a with five classes
#: (12 and 8 of these): 0.63 s instead of 0.96 to 1.16 with C = 1, 0.72 instead of 1.85 to 2.54 with C = 100.
TALL_FOR_NEWTON, PAIRS_FOR_NEWTON = 75.0, 25.0

#: Nanoseconds of an entry of a softmax: an exponential, most of all.
SOFTMAX_ENTRY = 10.0
#: L-BFGS goes on until the gap seems to be this share of the tolerance, and this many times less where that was not
#: enough; at most so many steps at a time, with so many pairs remembered.
SMOOTH_SHARE, SMOOTH_AGAIN, SMOOTH_STEPS, SMOOTH_MEMORY = 0.5, 0.1, 500, 10
#: Of vectors with at least so many numbers it remembers more pairs.  News20 with 20 classes and C = 100: after 64 s the
#: gap is 0.05 with 40 pairs, and 0.2 to 3 with 10.  Tiny fits are a tenth slower with 30.
LONG_VECTOR, LONG_MEMORY = 100_000, 30
#: Lengths of a step: at most so many are tried; F must fall by this share of what its slope promises, and the slope to
#: this share; too short a step becomes so many times as long, others stay this share of the interval from its ends.
MOST_LENGTHS, LEAST_FALL, FLAT_ENOUGH, LONGER, LINE_MARGIN = 25, 1e-4, 0.9, 4.0, 0.1
#: A step along which the slope has changed by less than this share of it tells nothing of curvature but rounding.
STRAIGHT = 1e-3
#: Vectors of samples replace coefficients where there are so many times as many of these: three products with the data
#: a step instead of two, and shorter vectors.
SPAN_SIDE = 1.5
#: Preconditioned variables cost a Gram matrix: they pay where the short side of A is at most so many times the outputs
#: (two products with A and all outputs for each of some fifty steps).  Directions of the samples below this share of
#: the largest are left out.
SHORT_SIDE, LEAST_RANK = 40, 1e-13
