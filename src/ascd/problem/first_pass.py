"""The first pass over the data: norms, sums and the first products of all columns, at once.

Every run begins with ‖a_j‖, with the means of the columns (for an intercept) and with the gradient at zero.  Where
reading is dear, three passes are two too many.  The slopes at zero coefficients depend on targets and weights alone, so
they are known before the first column is read: one without an intercept, and one with the best.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.cache import may_be_stored
from ascd._core.checks import Array
from ascd.matrix.base import Design, Survey
from ascd.problem.at_samples import evaluate_samples, most_curvature
from ascd.problem.losses.squared import Squared


class FirstPass(NamedTuple):
    """What the first pass brought, and the slopes, one a row, that its products belong to."""

    survey: Survey
    slopes: Array

    def products_at(self, slope: Array) -> Array | None:
        """Products of all columns with this slope, if it is one of those, or zero."""
        for products, known in zip(self.survey.products, self.slopes, strict=True):
            if np.array_equal(known, slope):
                return products
        return None if slope.any() else np.zeros(self.survey.square.size)

    def without_products(self) -> FirstPass:
        """For other targets: norms and sums stay."""
        return FirstPass(self.survey._replace(products=self.survey.products[:0]), self.slopes[:0])


def read_first(design: Design, sample: Any, loss: Any) -> FirstPass:
    """One pass over all columns."""
    slopes = _slopes_at_zero(sample, loss)
    return FirstPass(design.survey(sample.weight, slopes), slopes)


def _slopes_at_zero(sample: Any, loss: Any) -> Array:
    """Without an intercept, and with the best, where they differ and are not zero.

    None for a user's loss, which would be compiled for this alone, nor for squares of nothing, as duals have them.
    """
    size = sample.target.size
    found: list[Array] = []
    if may_be_stored(loss) and not (isinstance(loss, Squared) and not sample.target.any()):
        with np.errstate(all="ignore"):  # exp may overflow on the way to an intercept
            for most in (None, most_curvature(sample, loss)):
                slope = np.empty(size)
                evaluate_samples(sample, loss, np.zeros(size), slope, np.empty(size), most)
                if slope.any() and not any(np.array_equal(slope, other) for other in found):
                    found.append(slope)
    return np.array(found).reshape(len(found), size)
