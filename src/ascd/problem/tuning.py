"""The numbers of the problem and its certificates that more than one formula uses, each with its unit.

Those under "rounding" follow from the error analysis beside each: smaller would be wrong, larger only makes
certificates wider.  ``python -m tests.fuzz`` searches for a certificate that is too small.
"""

from __future__ import annotations

from ascd.matrix.columns import UNIT

# ---- the range of input: squares and products of a few such numbers are ordinary numbers of float64

#: Norms of columns, targets, offsets and finite bounds are at most this in size; norms and the largest target that are
#: not 0 are at least its inverse.
LARGEST = 1e60
#: Weights of samples, and their inverse: a loss below 1e-308, which float64 loses, stays below 1e-290 and counts as 0.
LARGEST_WEIGHT = 1e20
#: Strengths of penalties, times their weights, and linear terms.
LARGEST_STRENGTH = 1e150

# ---- rounding

#: Relative: a dual point leaves the domain of a conjugate by the rounding of a product and a quotient, and a few more.
DOMAIN_ROUNDING = 8.0 * 2.0**-52
#: Relative error of the functions in ``elementary`` (6 ulps, see tests/test_losses.py) and of divergences.
FEW_UNITS = 16.0 * 2.0**-52
#: Relative error of a sum or difference of a few terms, each rounded to half a unit in the last place of the largest.
LAST_PLACES = 8.0 * 2.0**-53
#: Relative error of the square of a length, a sum of d terms: enough for 9,000 terms at their worst.
SQUARE_ROUNDING = 1e-12
#: Sums of squares below this have lost digits, or their share ``SQUARE_ROUNDING``² has.
LEAST_SUM_OF_SQUARES = 1e-280
#: Sums of squares above this may overflow in what follows.
MOST_SUM_OF_SQUARES = 1e300
#: Relative error of sums of terms that are not negative: enough for nine million terms.
RELATIVE = 1e-9
#: Shares by which the scale of a dual point below 1 is made smaller: its own rounding, and more if that was not enough.
MARGINS = (8.0 * UNIT, 1e-12)
#: Factor on distances that were computed from singular values above ``SMALLEST_SINGULAR``.
SAFETY = 1.0 + 1e-6
#: Lengths of columns below this may have lost digits, as squares that they are sums of have.
SMALLEST_COLUMN = 1e-140
#: Singular values below this share of the largest belong to dependent columns; their own error is 1e-6 of this.
SMALLEST_SINGULAR = 1e-10

# ---- work

#: Products are computed with compensated sums where that can lower the gap to this share, or to what is asked for.
WORTHWHILE = 0.9
#: Raw gradients sum to zero when their sum is this share of their sizes, times √d.
BALANCED = 1e-15
#: Curvatures below this share of their bound do not define a Newton step for the intercept.
SMALL = 1e-9
#: Newton steps for an intercept; data of one class has no finite one.
MOST_NEWTON_STEPS = 100
#: Samples in a part of a sum, for sums that do not depend on the number of threads; their arrays fit into a cache.
SAMPLES_A_PART = 1 << 14
