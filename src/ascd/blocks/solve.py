"""The solver for problems of blocks: groups of columns, several outputs, several classes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.clock import Stopwatch
from ascd._core.threads import quiet
from ascd.blocks.bounds import GradientBounds
from ascd.blocks.certificate import prove
from ascd.blocks.fit import Fit
from ascd.blocks.small import Small, is_small
from ascd.blocks.solver import Solver
from ascd.matrix.design import DataGone
from ascd.problem.problem import Problem
from ascd.results.limits import Limits
from ascd.results.lost import tell_of_loss
from ascd.results.progress import progress_bar
from ascd.results.solution import Solution, Status
from ascd.solver.solve import Watch, as_reference


def solve_blocks(
    problem: Problem, start: tuple[Array, bool, Array], is_given: bool, tol: float, limits: Limits, threads: Any,
    callback: Any, progress: bool,
) -> Solution:  # fmt: skip
    """Minimise F from a start (x in the order of the blocks, intercept, constants); arguments are checked by ``solve``.

    ``is_given`` says that the user chose the start.
    """
    entries = problem.n_samples * problem.n_features
    with quiet(threads, entries, library=threads), progress_bar(progress, limits.max_iter) as show:
        clock, is_interrupted = Stopwatch(), False
        if not is_given and callback is None and is_small(problem, limits):
            small = Small(problem, start[1])
            watch = Watch(small, None, show, clock, tol * small.reference)  # type: ignore[arg-type]
            try:
                if small.minimise(tol, watch):
                    return solution_of(small, Status.CONVERGED, small.reference, clock, watch)
            except KeyboardInterrupt:
                is_interrupted, start = True, small.start()
        return _run(problem, start, tol, limits, is_interrupted, callback, show, clock)


def _run(
    problem: Problem, start: tuple[Array, bool, Array], tol: float, limits: Limits, is_interrupted: bool,
    callback: Any, show: Any, clock: Stopwatch,
) -> Solution:  # fmt: skip
    """From a start to a solution; no further than that where the run was interrupted before."""
    solver = Solver(problem, *start)
    reference = as_reference(problem, solver.fit)
    watch: Any = Watch(solver, callback, show, clock, tol * reference)  # type: ignore[arg-type]
    status = Status.INTERRUPTED
    try:
        with suppress(KeyboardInterrupt):
            if not is_interrupted:
                status = solver.minimise(problem.penalty, tol * reference, limits, watch)
        if not status.is_answer:
            solver.settle(tol * reference)
            if status is Status.ITERATION_LIMIT and solver.standing.gap <= tol * reference:
                status = Status.CONVERGED
    except DataGone as error:
        status = solver.give_up()
        tell_of_loss(error, stacklevel=4)
    return solution_of(solver, status, reference, clock, watch)


def solution_of(solver: Any, status: Status, reference: float, clock: Stopwatch, watch: Watch) -> Solution:
    """What a run has come to."""
    watch.finish()
    problem, standing, constant = solver.problem, solver.standing, solver.fit.constant
    return Solution(
        x=problem.as_given(solver.fit.x), objective=float(standing.objective), status=status,
        n_iter=solver.n_iter, gap=float(standing.gap), steepness=float(standing.violation), reads=int(solver.reads),
        seconds=clock.seconds, compile_seconds=clock.compile_seconds, trace=watch.trace,
        intercept=float(constant[0]) if problem.loss.is_flat else constant, zero_objective=reference,
    )  # fmt: skip


def gap_at(problem: Problem, point: Array) -> float:
    """Return the duality gap at coefficients in the order of the blocks, without an intercept."""
    fit, bounds = Fit(problem, point, False, np.zeros(problem.n_outputs)), GradientBounds(problem, False)
    bounds.read_all(fit.slope)
    bounds.show(np.arange(problem.groups.count))
    return prove(fit, bounds, 0.0, True).gap
