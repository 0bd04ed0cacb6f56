"""Every number that the block solver was tuned by; what it shares with the other solver is in ``solver.tuning``."""

from __future__ import annotations

#: Blocks in the first working set; later ones hold at least so many times the blocks that have moved.
FIRST_SET, GROWTH = 50, 2
#: Violations that a working set may keep, as a share of the largest one anywhere; for losses that are not quadratic.
SHARE, NEWTON_SHARE = 0.1, 0.1
#: A violation of this share of tolerance/Σ‖x_b‖ is enough: the gap is at most about their product.
ENOUGH = 0.3
#: A Gram matrix may have this many columns; more are read anew in every sweep.
LARGEST_GRAM = 2500
#: Sweeps over a model between Newton steps, at least and at most, and all in all.
FEWEST_SWEEPS, MOST_BETWEEN, MOST_SWEEPS = 4, 40, 400
#: The work of a factor is done this much faster than that of a sweep.
BLOCKED_GAIN = 24.0
#: Steps inside a block of several columns before its neighbours are looked at.
STEPS_INSIDE = 8
#: A singular matrix is made regular by this share of its diagonal; the next if the one before was too little.
SHIFTS = (0.0, 1e-12, 1e-9, 1e-6)
#: Lengths of a Newton step that are tried where the whole one, and those at which the first coefficients (of these
#: numbers) change their sign, do not lower Q.
LENGTHS, CROSSINGS = (0.5, 0.25, 0.0625), (0, 1, 3, 7, 15, 31, 63)
#: Newton steps, sweeps after each, that may fail to lower the violation: then rounding errors are all that is left;
#: and for models that are read from columns, whose steps cost more.
MOST_STALE, MOST_STALE_COLUMNS = 20, 3
#: F is a sum with rounding errors: it cannot tell whether a step was good that promises less than this share of it.
HARDLY_SEEN = 1e-13
#: Conjugate gradients: steps at most, and the share of the residual they stop at.
MOST_CG_STEPS, CG_ACCURACY = 60, 1e-3
#: Free coefficients whose Newton system is one dense matrix, at most, and the work that it may take.
LARGEST_DENSE, MOST_DENSE_WORK = 3000, 3e10
#: Newton steps in a row that end where coefficients become 0.
MOST_CUTS = 30
#: Models on a working set where the loss is not quadratic, and the share of the violation that each may keep.
MOST_MODELS, MODEL_SHARE = 8, 0.1
#: A step must keep this share of the fall that the model promised; it is halved at most so often.
ENOUGH_FALL, MOST_HALVINGS = 1e-4, 30
#: Where no violation is outside the working set, it may be the last: such a share is kept.
LAST_SHARE = 1e-5
