"""Every number of the estimators that is not part of a formula, in one place.

Defaults of parameters (``tol=1e-6``) are scikit-learn's or stand with their estimators.  None of these numbers changes
what is promised: a gap is computed for what comes out, and a fit that misses its tolerance says so.  tests/fuzz draws
estimators with all of their parameters (``python -m tests.fuzz``) and holds what they promise against exact sums.
"""

from __future__ import annotations

import numpy as np

#: The rounding of one operation, twice.
EPS = float(np.finfo(np.float64).eps)

# ---- coefficients (_solving, cross_validation)

#: For the coefficients' sake a gap is asked to be as small as this, relative to F at zero, and no smaller: F itself has
#: rounding errors of about 1e-16 for each of its terms.  Each attempt asks for so much less than the one before.
FINEST, FALL = 1e-14, 1e-3
#: The steepness asked of the engine, relative to the start's, from one run to the next: the gap is about its square.
FALLING = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14)
#: The last fit's tolerance after cross-validation, as a share of the folds': there is one of it, warm-started, and its
#: coefficients are those that are kept.
LAST_FIT = 1e-3

# ---- cross-validation

#: Log-odds by which the intercept of a class that a fold lacks is below the others': its probability is 1e-44.
MISSING_CLASS = 100.0
#: Alphas for penalties that have no largest useful one.
DECADES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)

# ---- Huber's scale (huber)

#: The smallest scale, relative to that of the target: a perfect fit has none.  P is computed with σ and 1/σ: its digits
#: last for squares of this number (√ of the rounding 1e-16).
SMALLEST_SCALE = 1e-8
#: Fits for one scale each, at most: halving a bracket to a relative width of 1e-13 alone would take 43.
MOST_SCALE_FITS = 60
#: Tolerance of a fit for one scale, as a share of the whole one's.
SCALE_SHARE = 0.1

# ---- standardised features (_data)

#: Entries that are looked at together: their squares are the only copy there is.
SQUARES_AT_A_TIME = 2**20
#: A variance that is less than this share of the mean square has lost half its digits in their difference.
CANCELLED = 1e-6
