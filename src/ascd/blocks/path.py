"""The same problem of blocks for a falling sequence of penalties, each started from the one before."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.clock import Stopwatch
from ascd._core.threads import quiet
from ascd.blocks.solver import Solver
from ascd.blocks.terms import fill_distances
from ascd.blocks.tuning import ALPHA_HALVINGS, FINE_FIT, MOST_FIRST_FITS, WIDEST_ALPHA
from ascd.matrix.design import DataGone
from ascd.problem.problem import Problem
from ascd.results.limits import Limits
from ascd.results.lost import tell_of_loss
from ascd.results.path import Path
from ascd.results.progress import progress_bar
from ascd.results.solution import Status
from ascd.solver.path import hardly_changes
from ascd.solver.solve import Watch, as_reference


def path_blocks(
    problem: Problem, start: tuple[Array, bool, Array], factors: Array | None, grid: tuple[int, float], tol: float,
    limits: Limits, threads: Any, stop_early: bool, callback: Any, progress: bool,
) -> Path:  # fmt: skip
    """Minimise for a falling sequence of factors (``grid`` has their number and range where there are none).

    Arguments are checked by ``path``.
    """
    clock = Stopwatch()
    with quiet(threads, problem.n_samples * problem.n_features, library=threads):
        solver = Solver(problem, *start)
        reference = as_reference(problem, solver.fit)
        if factors is None:
            largest = largest_alpha(solver, problem.penalty, reference, limits)
            factors = largest * np.geomspace(1.0, grid[1], grid[0])
        watch: Any = Watch(solver, callback, lambda *_: None, clock)  # type: ignore[arg-type]
        with progress_bar(progress, factors.size) as show:
            return _walk(solver, problem, factors, tol * reference, reference, limits, watch, show, clock, stop_early)


def _walk(
    solver: Solver, problem: Problem, factors: Array, tolerance: float, reference: float, limits: Limits,
    watch: Any, show: Any, clock: Stopwatch, stop_early: bool,
) -> Path:  # fmt: skip
    coefs, constants, rows, statuses, explained = [], [], [], [], []
    for number, factor in enumerate(factors):
        before = solver.n_iter
        left = limits._replace(max_time=limits.max_time - clock.elapsed)
        try:
            status = Status.INTERRUPTED
            with suppress(KeyboardInterrupt):
                status = solver.minimise(problem.penalty.scaled(float(factor)), tolerance, left, watch)
            if not status.is_answer:
                solver.settle(tolerance)
        except DataGone as error:
            statuses.append(solver.give_up())
            tell_of_loss(error, stacklevel=4)
            break
        standing = solver.standing
        coefs.append(problem.as_given(solver.fit.x))
        constants.append(solver.fit.constant[0] if problem.loss.is_flat else solver.fit.constant)
        rows.append((standing.objective, standing.gap, solver.n_iter - before))
        statuses.append(status)
        show(number + 1, standing.objective)
        at_zero = solver.fit.zero_objective
        explained.append(1.0 - solver.fit.seen.value / at_zero if at_zero > 0.0 else 0.0)
        if status in (Status.TIME_LIMIT, Status.INTERRUPTED, Status.DIVERGED):
            break
        if stop_early and hardly_changes(explained):
            break
    table = np.array(rows).reshape(len(rows), 3).T
    return Path(
        alphas=factors[: len(rows)], coefs=_stacked(coefs, problem.as_given(solver.fit.x).shape),
        intercepts=_stacked(constants, () if problem.loss.is_flat else (problem.n_outputs,)),
        objectives=table[0], gaps=table[1], n_iters=table[2].astype(np.int64),
        deviance_ratio=np.array(explained), reads=int(solver.reads), status=Status.of_all(statuses),
        zero_objective=reference, seconds=clock.seconds,
    )  # fmt: skip


def _stacked(values: list[Any], shape: tuple[int, ...]) -> Array:
    """Values of this shape along a new last axis, of length 0 where there are none."""
    return np.stack(values, axis=-1) if values else np.empty((*shape, 0))


def largest_alpha(solver: Solver, penalty: Any, reference: float, limits: Limits) -> float:
    """The smallest alpha at which every penalised block is zero; unpenalised ones are fitted first."""
    if solver.fit.x.any():
        raise ValueError("alphas must be given where the path does not start at zero (x0)")
    solver.bounds.read_all(solver.fit.slope)
    factor = needed = _alpha_at_zero(solver, penalty)
    for _ in range(MOST_FIRST_FITS):
        solver.minimise(penalty.scaled(factor), FINE_FIT * reference, limits, lambda solver: False)
        solver.bounds.read_all(solver.fit.slope)
        needed = _alpha_at_zero(solver, penalty)
        if needed <= factor * (1.0 + 1e-9):
            break
        factor = needed
    return needed


def _alpha_at_zero(solver: Solver, penalty: Any) -> float:
    """The smallest factor with which no penalised block wants to leave zero, at the present slope."""
    problem = solver.problem
    blocks, room = np.arange(problem.groups.count), np.empty(problem.groups.count)
    zero, gradient = np.zeros(solver.fit.x.size), solver.bounds.product.ravel()

    def is_enough(factor: float) -> bool:
        return float(fill_distances(penalty.scaled(factor), zero, gradient, problem.ends, blocks, room)) == 0.0

    fill_distances(penalty.scaled(WIDEST_ALPHA), zero, gradient, problem.ends, blocks, room)
    blocks = blocks[room <= 0.0]  # the others have no kink at zero
    if blocks.size == 0:
        raise ValueError("alphas must be given: the penalty has no kink at zero, so no alpha makes all blocks zero")
    if is_enough(0.0):
        raise ValueError("alphas must be given: every alpha makes all coefficients zero")
    low, high = 0.0, 1.0
    while not is_enough(high):
        low, high = high, 2.0 * high
    for _ in range(ALPHA_HALVINGS):
        middle = 0.5 * (low + high) if low > 0.25 * high else (math.sqrt(low * high) if low > 0.0 else 0.5 * high)
        if not low < middle < high:
            break
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
