"""What is proved about a fit, in the user's units, and the warnings about fits that ended early.

The solver minimises F, a sum over the samples.  An estimator's objective is F times ``unit`` (1/n for the Lasso, 2 for
ridge regression); gap, tolerance and objective are in that unit.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ascd.results.html import facts, number
from ascd.results.solution import Status


@dataclass(frozen=True)
class Certificate:
    """What is proved about a fit, in the units of the estimator's objective.

    - ``gap``: the duality gap; the objective is at most this far above its minimum (inf where no dual point is known)
    - ``tolerance``: what the gap had to reach: ``tol`` times the objective at zero coefficients, intercept fitted
    - ``objective``: the value of the estimator's objective
    - ``status``: why the solver stopped; "converged" means that the gap is within the tolerance, "stationary" that
      first-order conditions are while no dual point was found that proves it
    - ``columns_read``: how many columns of the data were read (rows, for the dual of a support vector machine)
    - ``n_iter``: iterations of the solver
    - ``seconds``: time inside the solver
    - ``compile_seconds``: time that compiling took, or loading compiled code, which a first fit needs once

    Where several problems are solved in one fit (classes, targets), numbers are sums over them, ``n_iter`` is the
    largest, and ``status`` is that of all together.

    Examples
    --------
    >>> from ascd import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0]], [0.0, 1.0, 2.0])
    >>> model.certificate_.gap <= model.certificate_.tolerance
    True
    """

    gap: float
    tolerance: float
    objective: float
    status: Status
    columns_read: int
    n_iter: int
    seconds: float
    compile_seconds: float = 0.0

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED

    def _repr_html_(self) -> str:
        rows = [
            ("status", self.status.sentence),
            ("objective", f"{self.objective:.10g}"),
            ("above the minimum by", f"at most {number(self.gap)} (duality gap)"),
            ("tolerance", number(self.tolerance)),
            ("iterations", number(self.n_iter)),
            ("columns read", number(self.columns_read)),
            ("seconds", f"{number(self.seconds)}, and {number(self.compile_seconds)} for compiling"),
        ]
        return facts("Certificate", rows)


#: The certificate of a model for which no fit to all samples was made.
UNPROVED = Certificate(math.inf, math.nan, math.nan, Status.UNREACHABLE, columns_read=0, n_iter=0, seconds=0.0)


def certificate_of(solutions: Sequence[Any], tol: float, unit: float) -> Certificate:
    """Return one certificate for the solutions of a fit; it refers to the user's tolerance, not to a smaller one."""
    gap = float(unit * sum(solution.gap for solution in solutions))
    zero = unit * sum(solution.zero_objective for solution in solutions)
    if not math.isfinite(zero):
        raise ValueError(
            "the objective at zero coefficients is not finite in float64. The input data, y most likely, contain large "
            "values and need to be preprocessed: rescale them"
        )
    tolerance = tol * zero
    return Certificate(
        gap=gap,
        tolerance=tolerance,
        objective=unit * sum(solution.objective for solution in solutions),
        status=Status.CONVERGED if gap <= tolerance else Status.of_all(solution.status for solution in solutions),
        columns_read=sum(solution.reads for solution in solutions),
        n_iter=max(solution.n_iter for solution in solutions),
        seconds=sum(solution.seconds for solution in solutions),
        compile_seconds=sum(solution.compile_seconds for solution in solutions),
    )


#: Advice about a fit that ended early.
ADVICE = {
    Status.ITERATION_LIMIT: "Increase max_iter, or increase tol if such a gap is good enough.",
    Status.TIME_LIMIT: "Allow more time, or increase tol if such a gap is good enough.",
    Status.INTERRUPTED: "Fit again to finish; warm_start=True continues from here where the estimator has it.",
    Status.STALLED: "Increase tol: what is left cannot be told from rounding errors; rescaling the features may help.",
    Status.UNREACHABLE: "Fit again where the data can be reached; warm_start=True continues from here where it exists.",
    Status.DIVERGED: "The objective has no minimum that can be reached: add a penalty or rescale the features.",
}


def warn_unless_converged(estimator: Any, certificate: Certificate) -> None:
    """Issue a ``ConvergenceWarning`` with gap and tolerance in the user's units, and advice.

    First-order conditions are what other libraries stop at: a fit that meets them is not warned about.  An interrupted
    fit raises ``KeyboardInterrupt`` instead.
    """
    if certificate.status.is_answer or certificate.status is Status.INTERRUPTED:
        return
    gap = f"the duality gap is {certificate.gap:.3g}" if certificate.gap < math.inf else "no duality gap is known"
    warn_of_convergence(
        f"{type(estimator).__name__} stopped early ({certificate.status}): {gap}, the tolerance is "
        f"{certificate.tolerance:.3g} (tol times the objective at zero coefficients), for an objective of "
        f"{certificate.objective:.6g}, all in the units of the objective. {ADVICE[certificate.status]}"
    )


def warn_of_convergence(message: str) -> None:
    """Issue a ``ConvergenceWarning`` that points at the user's own line."""
    warnings.warn(message, ConvergenceWarning, stacklevel=frames_to_the_user())


def frames_to_the_user() -> int:
    """Return the ``stacklevel`` at which a warning, made by the caller, points at the user's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("ascd", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level


def check_finite_model(name: str, *values: Any) -> None:
    """Raise a ValueError for coefficients that are not finite."""
    if not all(np.isfinite(value).all() for value in values):
        raise ValueError(
            f"{name} ended with coefficients that are not finite. The input data may contain large values and need "
            "to be preprocessed."
        )
