"""What comes back from ``path``: a fit for each of a falling sequence of penalties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_count
from ascd.results.solution import Status, facts, number


@dataclass(frozen=True)
class Path:
    """The result of ``path``; one entry for each alpha, along the last axis of ``coefs`` and ``intercepts``.

    Attributes
    ----------
    alphas : factors of the penalty, falling
    coefs : array of shape (n_features, n_alphas), or (n_features, n_outputs, n_alphas) for a target with two
        dimensions or classes
    intercepts : array of shape (n_alphas,), or (n_outputs, n_alphas)
    objectives, n_iters : per alpha
    gaps : duality gaps, upper bounds on F − min F with all rounding errors counted; from intervals but for the last,
        which comes from an exact pass
    deviance_ratio : share of the loss at zero coefficients that is explained
    reads : columns read in the whole path
    status : why the path ended
    zero_objective : F at zero coefficients, which the tolerance refers to
    seconds : time spent, compiling left out

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> found = ascd.path(problem, alphas=[2.0, 1.0])
    >>> found.coefs.T.tolist(), found.objectives.tolist(), str(found.status)
    ([[1.0, 0.0, 0.0], [2.0, 0.0, -1.0]], [6.5, 4.5], 'converged')
    """

    alphas: Array
    coefs: Array = field(repr=False)
    intercepts: Array = field(repr=False)
    objectives: Array = field(repr=False)
    gaps: Array = field(repr=False)
    n_iters: Array = field(repr=False)
    deviance_ratio: Array = field(repr=False)
    reads: int
    status: Status
    zero_objective: float
    seconds: float

    def plot(self, ax: Any = None, most: int = 50, names: Sequence[str] | None = None) -> Any:
        """Draw the coefficients against alpha (extra ``plot``).

        Parameters
        ----------
        ax : matplotlib axes, optional
        most : how many coefficients to draw at most, the largest ones
        names : names of the features; the largest coefficients are named in a legend

        Returns
        -------
        the axes
        """
        from ascd.plotting import plot_coefficients

        return plot_coefficients(self.alphas, self._flat, ax, as_count(most, "most"), names)

    @property
    def _flat(self) -> Array:
        """All coefficients, one a row."""
        return self.coefs.reshape(math.prod(self.coefs.shape[:-1]), self.coefs.shape[-1])

    def _repr_html_(self) -> str:
        coefs, last = self._flat, self.alphas.size - 1
        counts = np.count_nonzero(coefs, axis=0)
        if last < 0:
            return facts("Path", [("status", self.status.sentence)])
        rows = [
            ("status", self.status.sentence),
            ("alphas", f"{last + 1}, from {number(self.alphas[0])} to {number(self.alphas[last])}"),
            ("coefficients", f"{number(counts[0])} to {number(counts[last])} of {number(len(coefs))} are not zero"),
            ("above the minimum by", f"at most {number(self.gaps.max())} (the largest duality gap)"),
            ("explained", f"{self.deviance_ratio[last]:.1%} of the loss at zero coefficients"),
            ("columns read", number(self.reads)),
            ("seconds", number(self.seconds)),
        ]
        return facts("Path", rows)
