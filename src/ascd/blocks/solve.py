"""``solve_blocks``: the solver for one block problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_flag, as_number, as_vector, finite_values
from ascd._core.clock import Stopwatch
from ascd._core.threads import as_n_jobs, quiet
from ascd.blocks.norm import BlockNorm
from ascd.blocks.problem import BlockProblem
from ascd.blocks.small import Small, is_small
from ascd.blocks.solver import Solver
from ascd.blocks.terms import total_cost
from ascd.matrix.base import DataGone
from ascd.results.limits import Limits, as_limits
from ascd.results.lost import tell_of_loss
from ascd.results.progress import progress_bar
from ascd.results.solution import Snapshot, Solution, Status, check_callback
from ascd.solver.solve import Watch
from ascd.solver.tuning import DEFAULT_ROUNDS, FEW_ULPS


@dataclass(frozen=True)
class BlockSolution(Solution):
    """A ``Solution`` with ``x`` of shape (n_features, n_outputs) and an ``intercept`` with one number an output.

    Both are as for a plain problem where the target is one-dimensional.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.BlockProblem(np.eye(3), [[3.0, 4.0], [0.3, 0.4], [0.0, 1.0]], penalty=ascd.L21(1.0))
    >>> solution = ascd.solve_blocks(problem)
    >>> solution.x.round(6).tolist(), round(solution.objective, 6), solution.converged
    ([[2.4, 3.2], [0.0, 0.0], [0.0, 0.0]], 5.125, True)
    """

    intercept: Any = 0.0


def solve_blocks(
    problem: BlockProblem,
    tol: float = 1e-6,
    x0: Any = None,
    intercept: bool = False,
    intercept0: Any = None,
    max_iter: int = DEFAULT_ROUNDS,
    max_time: float | None = None,
    n_jobs: int | None = None,
    callback: Callable[[Snapshot], Any] | None = None,
    progress: bool = False,
) -> BlockSolution:
    """Minimise F(X, c) = f(AX + 1cᵀ) + Σ_b Ψ_b(X_b) to a certified duality gap.

    Parameters
    ----------
    problem : BlockProblem
    intercept : bool
        Fit an unpenalised constant for every output.
    x0, intercept0 : where to start
    tol, max_iter, max_time, n_jobs, callback, progress : as in ``solve``

    Returns
    -------
    BlockSolution

    Examples
    --------
    >>> import numpy as np, ascd
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((50, 200))
    >>> B = A[:, :2] @ rng.standard_normal((2, 3)) + [1.0, 2.0, 3.0]
    >>> solution = ascd.solve_blocks(ascd.BlockProblem(A, B, penalty=ascd.L21(5.0)), tol=1e-10, intercept=True)
    >>> solution.converged, solution.x.shape, np.flatnonzero(solution.x.any(axis=1)).tolist()
    (True, (200, 3), [0, 1])
    """
    limits, start = check_block_run(problem, x0, intercept, intercept0, max_iter, max_time, callback)
    tol, threads = as_number(tol, "tol", low=0.0), as_n_jobs(n_jobs)
    entries = problem.n_samples * problem.n_features
    with quiet(threads, entries, library=threads), progress_bar(progress, limits.max_iter) as show:
        clock, is_interrupted = Stopwatch(), False
        if x0 is None and intercept0 is None and callback is None and is_small(problem, limits):
            small = Small(problem, bool(intercept))
            watch = Watch(small, None, show, clock, tol * small.reference)  # type: ignore[arg-type]
            try:
                if small.minimise(tol, watch):
                    return solution_of(small, Status.CONVERGED, small.reference, clock, watch)
            except KeyboardInterrupt:
                is_interrupted, start = True, small.start()
        return _run(problem, start, tol, limits, is_interrupted, callback, show, clock)


def _run(
    problem: BlockProblem, start: tuple[Array, bool, Array], tol: float, limits: Limits, is_interrupted: bool,
    callback: Any, show: Any, clock: Stopwatch,
) -> BlockSolution:  # fmt: skip
    """From a start to a solution; no further than that where the run was interrupted before."""
    solver = Solver(problem, *start)
    reference = as_reference(solver)
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


def solution_of(solver: Any, status: Status, reference: float, clock: Stopwatch, watch: Watch) -> BlockSolution:
    """What a run has come to."""
    watch.finish()
    problem, standing, constant = solver.problem, solver.standing, solver.fit.constant
    return BlockSolution(
        x=problem.as_given(solver.fit.x), objective=float(standing.objective), status=status,
        n_iter=solver.n_iter, gap=float(standing.gap), steepness=float(standing.violation), reads=int(solver.reads),
        seconds=clock.seconds, compile_seconds=clock.compile_seconds, trace=watch.trace,
        intercept=float(constant[0]) if problem.loss.is_flat else constant, zero_objective=reference,
    )  # fmt: skip


def check_block_run(
    problem: Any, x0: Any, intercept: bool, intercept0: Any, max_iter: Any, max_time: Any, callback: Any
) -> tuple[Limits, tuple[Array, bool, Array]]:
    """The limits of a run and where it begins, after a look at what was passed."""
    if not isinstance(problem, BlockProblem):
        raise TypeError(f"problem must be an ascd.BlockProblem; got {type(problem).__name__}")
    check_callback(callback)
    intercept = as_flag(intercept, "intercept")
    x = np.zeros((problem.n_features, problem.n_outputs)) if x0 is None else problem.as_point(x0, "x0")
    is_free = x0 is None and isinstance(problem.penalty, BlockNorm)  # these cost nothing at 0
    if not is_free and not math.isfinite(total_cost(problem.penalty, x.ravel(), problem.ends)):
        raise ValueError("x0 must have a finite cost" if x0 is not None else "the penalty must allow zero coefficients")
    constant = np.zeros(problem.n_outputs)
    if intercept0 is not None:
        given = as_vector(np.ravel(intercept0), "intercept0")
        if given.size not in (1, constant.size):
            raise ValueError(f"intercept0 must be one number, or one for each of {constant.size}; got {given.size}")
        constant = constant + given
        finite_values(constant, "intercept0")
        if constant.any() and not intercept:
            raise ValueError(f"intercept0 must be 0 or None where intercept=False; got {intercept0!r}")
    return as_limits(max_iter, max_time), (x, intercept, constant)


def as_reference(solver: Solver) -> float:
    """What the tolerance is a share of: F at zero coefficients, with the best intercepts where they are fitted.

    Where intercepts alone fit the target up to rounding, F there says nothing: then it is F at zero without them.
    """
    fit, problem = solver.fit, solver.problem
    value = float(fit.zero_objective)
    if fit.intercept and value <= 0.0:
        value = float(problem.loss.look(np.zeros(fit.image.shape)).value)
    elif fit.intercept and not problem.loss.is_coupled:
        image = np.zeros(fit.image.shape) + fit.zero_constant
        seen = problem.loss.look(image)
        size = np.maximum(problem.weight[:, None] * np.abs(problem.loss.target), np.abs(seen.curvature.own * image))
        if bool(np.all(np.abs(seen.slope) <= FEW_ULPS * size)):
            value = float(problem.loss.look(np.zeros(fit.image.shape)).value)
    return value if value > 0.0 else 1.0
