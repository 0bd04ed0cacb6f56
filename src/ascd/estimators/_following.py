"""A falling sequence of penalties, by the production solver or by the engine's parts, and what fell short of tol."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ascd._core.checks import Array
from ascd.estimators._fitting import ADVICE, Settings, frames_to_the_user
from ascd.estimators._solving import solve_problem
from ascd.matrix.base import DataGone
from ascd.problem.problem import Problem
from ascd.results.lost import hearing_of_losses
from ascd.results.solution import Status
from ascd.solver import path


class Followed(NamedTuple):
    """The fits for a sequence of penalties, one a column of ``coefs``, in the solver's units.

    Where the data are ``lost``, there are the fits that were done before.
    """

    coefs: Array
    intercepts: Array
    gaps: Array
    n_iters: Array
    tolerance: float
    status: Status
    lost: DataGone | None = None

    @property
    def is_short(self) -> Array:
        """Which of the fits ended with a gap above the tolerance; none where first-order conditions are met."""
        return (not self.status.is_answer) & ~(self.gaps <= self.tolerance)


def follow(
    problem: Problem, factors: Array, settings: Settings, *, intercept: bool, x0: Array | None = None
) -> Followed:
    """The problem with its penalty times each of the falling factors, each fit started from the one before."""
    steps = _by_the_solver if settings.solver == "ascd" else _by_the_engine
    return followed(partial(steps, problem, factors, settings, intercept, x0), len(factors))


def followed(steps: Callable[[], Followed], count: int) -> Followed:
    """What ``count`` steps have found: nothing half done, but for data that were lost; Ctrl-C is raised again."""
    with hearing_of_losses() as lost:
        found = steps()
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if lost:
        return found._replace(lost=lost[0])
    if found.gaps.size < count or not np.isfinite(found.coefs).all():
        raise ValueError(
            f"the fits ended ({found.status}) before the last penalty or with coefficients that are not finite. The "
            "input data may contain large values and need to be preprocessed."
        )
    return found


def whole(found: Followed) -> Followed:
    """All fits, for those whom a part of them does not help."""
    if found.lost is not None:
        raise found.lost
    return found


def tell_of_part(found: Followed, count: int) -> None:
    """Warn that there are not all fits; raise an error where there are none."""
    if found.lost is None:
        return
    if not found.gaps.size:
        raise found.lost
    warnings.warn(
        f"{found.lost}. The first {found.gaps.size} of {count} fits are returned",
        RuntimeWarning,
        stacklevel=frames_to_the_user(),
    )


def along(path_of: Callable[..., Any], problem: Any, factors: Array, settings: Settings, **options: Any) -> Followed:
    """What a function that follows paths finds for these factors."""
    limits = {"tol": settings.tol, "max_iter": settings.max_iter, "n_jobs": settings.n_jobs}
    found = path_of(problem, alphas=factors, **limits, **options)
    tolerance = settings.tol * found.zero_objective
    return Followed(found.coefs, found.intercepts, found.gaps, found.n_iters, tolerance, found.status)


def _by_the_solver(problem: Problem, factors: Array, settings: Settings, intercept: bool, x0: Array | None) -> Followed:
    return along(path, problem, factors, settings, intercept=intercept, x0=x0, early_stop=False)


def _by_the_engine(problem: Problem, factors: Array, settings: Settings, intercept: bool, x0: Array | None) -> Followed:
    solutions: list[Any] = []
    constant = 0.0
    for factor in factors:
        one = problem.replace(penalty=problem.parts.penalty.scaled(float(factor)))
        solutions.append(solve_problem(one, settings, intercept=intercept, x0=x0, intercept0=constant))
        if solutions[-1].status is Status.INTERRUPTED:
            break
        x0, constant = solutions[-1].x, solutions[-1].intercept
    return Followed(
        coefs=np.stack([solution.x for solution in solutions], axis=1),
        intercepts=np.array([solution.intercept for solution in solutions]),
        gaps=np.array([solution.gap for solution in solutions]),
        n_iters=np.array([solution.n_iter for solution in solutions]),
        tolerance=settings.tol * solutions[0].zero_objective,
        status=Status.of_all(solution.status for solution in solutions),
    )


class Shortfall(NamedTuple):
    """How far the fits of one path stayed from their tolerance, in the user's units."""

    fits: int
    missed: int
    gap: float
    tolerance: float
    status: Status


def shortfall(found: Followed, unit: float = 1.0) -> Shortfall:
    """Count the fits of a path that ended early; their largest gap."""
    short = found.is_short
    gap = unit * float(found.gaps[short].max(initial=0.0))
    return Shortfall(short.size, int(short.sum()), gap, unit * found.tolerance, found.status)


def warn_of_shortfalls(name: str, paths: Sequence[Shortfall], where: str = "") -> None:
    """One ``ConvergenceWarning`` for all paths: how many fits ended early, the worst gap, its tolerance, what to do."""
    missed = sum(one.missed for one in paths)
    if not missed:
        return
    worst = max((one for one in paths if one.missed), key=lambda one: one.gap / max(one.tolerance, 1e-300))
    warnings.warn(
        f"{name}: {missed} of {sum(one.fits for one in paths)} fits{where} stopped early ({worst.status}): the worst "
        f"has a duality gap of {worst.gap:.3g} where the tolerance is {worst.tolerance:.3g} (tol times the objective "
        f"at zero coefficients), both in the units of the objective. {ADVICE[worst.status]}",
        ConvergenceWarning,
        stacklevel=frames_to_the_user(),
    )
