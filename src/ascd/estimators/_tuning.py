"""Every number of the estimators that is not part of a formula, in one place.

Defaults of parameters (``tol=1e-6``) are scikit-learn's or stand with their estimators.  None of these numbers changes
what is promised: a gap is computed for what comes out, and a fit that misses its tolerance says so.  tests/fuzz draws
estimators with all of their parameters (``python -m tests.fuzz``) and holds what they promise against exact sums.
"""

from __future__ import annotations

import numpy as np

# ---- coefficients (_solving, logistic_cv)

#: For the coefficients' sake a gap is asked to be as small as this, relative to F at zero, and no smaller: F itself has
#: rounding errors of about 1e-16 for each of its terms.  Each attempt may take so many rounds, and asks for so much
#: less than the one before where the coefficients are not known yet.
FINEST, ROUNDS, FALL = 1e-14, 25, 1e-3
#: The steepness asked of the engine, relative to the start's, from one run to the next: the gap is about its square.
FALLING = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14)
#: The last fit's tolerance after cross-validation, as a share of the folds': there is one of it, warm-started, and its
#: coefficients are those that are kept.
LAST_FIT = 1e-3

#: Log-odds by which the intercept of a class that a fold lacks is below the others': its probability is 1e-44.
MISSING_CLASS = 100.0

# ---- folds (_folds)

#: Samples of all folds at work, at most, whose vectors (8 bytes a sample) stay in the cache that threads share.  With
#: 500,000 samples two folds side by side took 1.24 times less than one after the other on one thread, two threads on
#: each fold in turn 1.48 (``benchmarks/reach.py --only threads --fits LassoCV``, 2 cores).
MOST_IN_CACHE = 400_000

# ---- Huber's scale (_scale)

#: The smallest scale, relative to that of the target: a perfect fit has none.  P is computed with σ and 1/σ: its digits
#: last for squares of this number (√ of the rounding 1e-16).
SMALLEST_SCALE = 1e-8
#: Fits for one scale each, at most: halving a bracket to ``NARROW`` alone would take 43.
MOST_SCALE_FITS = 60
#: A bracket of the scale that is this narrow, relatively, cannot be improved: rounding errors of the
#: derivative are of that size.
NARROW = 1e-13
#: The longest step in log σ: beyond it secants are not trusted, and small scales make hard problems.  Where most
#: samples are fitted perfectly the derivative hardly changes, and the smallest scale is reached in a few of these.
LONGEST_STEP = 3.0
#: Tolerance of a fit for one scale, as a share of the whole one's.  When the scale is found, some more rounds are spent
#: on all the precision there is: with hardly any penalty, coefficients are known far less well than the objective.
SCALE_SHARE, POLISH, POLISHING = 0.1, 1e-20, 10
#: The relative error allowed in P at zero coefficients, to which the tolerance refers; smaller costs sorts of y.
REFERENCE = 1e-3
#: Those rounds end where one moves no coefficient by more than this part of it.
LAST_DIGITS = 1e-14

# ---- normal equations (_normal_equations)

#: The rounding of one operation, twice.
EPS = float(np.finfo(np.float64).eps)
#: The most equations, and the most entries of B, for Cholesky's method (1 GiB); for sparse data, which would be made
#: dense, the most multiplications.  Each is about a second of a core's linear algebra.
MOST_EQUATIONS, MOST_ENTRIES, MOST_PRODUCTS = 4000, 2**27, 1e10
#: Corrections: how many, how small the last one must be relative to the answer, and when none is needed any more (some
#: roundings of the answer).  Each gains at least a factor of 4, or they end.
CORRECTIONS, SMALL_CORRECTION, NO_CORRECTION = 6, 1e-10, 1e-15
#: Squared pivots, relative to a diagonal of ones, that are zero up to rounding: so many times the rounding errors of
#: Cholesky's method, n·ε, whose constant is not known better than that.
NO_PIVOT = 100.0
#: LSMR: relative precision of the equations, some tens of roundings, and its most steps.
PRECISE, MOST_STEPS = 1e-14, 20_000

# ---- standardised features (_data)

#: Entries that are looked at together: their squares are the only copy there is.
SQUARES_AT_A_TIME = 2**20
#: A variance that is less than this share of the mean square has lost half its digits in their difference.
CANCELLED = 1e-6

# ---- paths and pictures (paths, _folds)

#: What scikit-learn calls zero among strengths of penalties.
ZERO_STRENGTH = float(np.finfo(np.float64).resolution)
#: Coefficients drawn at most, the largest ones.
MOST_LINES = 50
#: Alphas for penalties that have no largest useful one.
DECADES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
