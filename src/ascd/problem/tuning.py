"""Every number of the problem and its certificates that is not part of a formula, in one place.

Those under "rounding" follow from the error analysis that is named beside each: smaller would be wrong, larger only
makes certificates wider.  ``python -m tests.fuzz`` looks for a certificate that is too small.  Those under "work" bound
what a proof may cost.
"""

from __future__ import annotations

from ascd.matrix.columns import UNIT

# ---- rounding: losses and penalties

#: A dual point s·loss'/s may leave the conjugate's domain by rounding of its own last digit: a product and a quotient,
#: each within an ulp of 2⁻⁵², of numbers that took a few more.  So many ulps are forgiven.
DOMAIN_ROUNDING = 8.0 * 2.0**-52
#: Relative errors of the functions in ``elementary`` (6 ulps at most, see tests/test_elementary.py), and of what
#: divergences do with them.
FEW_UNITS = 16.0 * 2.0**-52
#: The least ordinary number of float64.  A result below it is wrong by 2⁻¹⁰⁷⁵ at most, whatever its size; a few of them
#: in turn, and halves of them, by less than the second number: nothing, but in a sample that weighs 1e190.
LEAST_ORDINARY, UNDERFLOW = 2.0**-1022, 2.0**-1072
#: Twice the relative rounding error of a sum of two numbers.
OF_A_SUM = 2.0**-52
#: A sum or a difference of a few terms, each rounded to half a unit in the last place of the largest.
LAST_PLACES = 8.0 * 2.0**-53
#: So near to zero nothing but the slope is left of a penalty, not even the square of its rounding errors: (2⁻⁵⁰⁰)² is
#: still an ordinary number, and 2⁻⁵⁰⁰ of any ordinary square is not seen beside a slope.
BESIDE_ZERO = 2.0**-500
#: argmin_z ½z² + step·Ψ(z) is the allowed point nearest to 0 in the limit of short steps.  A penalty whose domain is
#: open there, such as −log x, has none: then the first of these steps that leads to a finite cost decides.
SHORT_STEPS = (1e-300, 1e-100, 1e-30, 1e-10, 1e-3, 1.0)

# ---- rounding: columns and certificates

#: Squares of columns below this have lost digits, or all of them: ordinary numbers end at 2.2e-308.
SMALLEST_SQUARE = 1e-300
#: Squares of lengths are sums of d terms with relative errors of d·2⁻⁵³ at most: they are taken this much longer, which
#: is enough for 9,000 terms at their worst, and for far more in fact: errors of both signs add up as a root.
SQUARE_ROUNDING = 1e-12
#: A sum of squares outside of these has lost digits, or its share ``SQUARE_ROUNDING``² has: blocks take it again,
#: relative to the largest entry; a slope of such a length is no reference.
LEAST_SUM_OF_SQUARES, MOST_SUM_OF_SQUARES = 1e-280, 1e300
#: A length above all others that still is a number: times that of an empty column it is 0.
NO_LIMIT = 1.7e308
#: Relative errors of sums of terms that are not negative: (terms)·2⁻⁵³, enough for nine million of each kind.
RELATIVE = 1e-9
#: Where the scale of a dual point is below 1 it is made smaller by the first number, the rounding of its own product;
#: by the next if that was not enough.
MARGINS = (8.0 * UNIT, 1e-12)
#: A dual point that must fit products other than 0 is first scaled by less than 1 by this share, about ten roundings;
#: by so many times as much in every further attempt.
FIRST_SHRINK, MORE_SHRINK = 1e-15, 10.0
#: Distances are computed in floating point, from singular values above ``SMALLEST_SINGULAR``: they are taken this much
#: longer.
SAFETY = 1.0 + 1e-6
#: Singular values below this share of the largest belong to columns that depend on others, or nearly: their own
#: rounding errors are about 1e-16 of the largest, 1e-6 of these (see ``SAFETY``).
SMALLEST_SINGULAR = 1e-10
#: Columns below this are not seen: their products are no ordinary float64 numbers.
SHORTEST_COLUMN = 1e-290
#: Integers whose sums and products are exact: float64 holds those up to 2⁵³.
LARGEST_INTEGER = 2.0**50
#: Factors of columns that depend on each other are looked for among fractions with denominators up to this one, near
#: computed ones that are off by 1e-16/``SMALLEST_SINGULAR`` at most.  What is found is then checked exactly.
LARGEST_DENOMINATOR, NEARLY_WHOLE = 12, 1e-6
#: A dual point is not moved where the end of its domain is nearer than this share of its size and the typical one.
NEAR_END = 1e-9

# ---- rounding: recession

#: Where slopes at infinity are looked at: the square root of what float64 holds is 1e154, so that squares there are
#: finite.
FAR = 1e100
#: Derivatives this large at ``FAR`` belong to terms that grow faster than linearly, √FAR or more.
INFINITE = 1e50
#: A coordinate that is led this far and stays below the second number has a bound.
FARTHEST, BEYOND_BOUNDS = 1e300, 1e250
#: The minimum of a linear program over the unit box is 0, or of the size of its costs: it counts as negative below this
#: share of the largest one.
NEGATIVE = 1e-9

# ---- work

#: Rounds of fitting the dual point: what fits some coordinates may push others over their end.
MOST_DUAL_FITS = 4
#: How often a dual point is looked for that is scaled and yet fits products other than 0.
MOST_SCALES = 8
#: Products are computed with care where that can lower the gap to this share, or to what is asked for.
WORTHWHILE = 0.9
#: Fitting costs O(d k²) for k columns: beyond this many, and beyond this many operations (about a second), it is
#: not tried.
FEW_COLUMNS, MOST_OPERATIONS = 200, 4e9
#: Entries of A above which the linear program of ``recession`` is not solved: it would take longer than the run.
LARGEST_PROGRAM = 4_000_000
#: Steps of the simplex method for each of its variables (a few are usual), and seconds, before it is given up.
PIVOTS_A_VARIABLE, LONGEST_PROGRAM = 100, 20.0

#: Entries of A up to which another pass costs less than finding out, before the first, what it could be spared by.
QUICK_PASS = 200_000

# ---- samples (compiled)

#: The slopes sum to zero when their sum is this small beside their sizes, times √d, or a step beside the image.
BALANCED = 1e-15
#: Where the slopes hardly bend (a Huber loss far out), steps longer and longer by a factor look for the place where
#: they do.
SMALL, LONGER_STRIDE = 1e-9, 4.0
#: Data of one class has no finite intercept: the search ends somewhere out there.
MOST_NEWTON_STEPS = 100
#: Samples in a part, for sums that do not depend on the number of threads; their arrays fit into a core's cache.
SAMPLES_A_PART = 1 << 14

# ---- softmax and block norms

#: Newton steps for the intercepts of a softmax loss.
MOST_BALANCING_STEPS = 50
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
#: Nanoseconds of an entry of a softmax: an exponential, most of all.
SOFTMAX_ENTRY = 10.0
