"""``path_blocks``: the same block problem for a falling sequence of penalties, each started from the one before."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_count, as_number
from ascd._core.clock import Stopwatch
from ascd._core.threads import as_n_jobs, quiet
from ascd.blocks.problem import BlockProblem
from ascd.blocks.solve import as_reference, check_block_run
from ascd.blocks.solver import Solver
from ascd.blocks.terms import fill_distances
from ascd.blocks.tuning import ALPHA_HALVINGS, FINE_FIT, MOST_FIRST_FITS, WIDEST_ALPHA
from ascd.matrix.base import DataGone
from ascd.results.limits import Limits
from ascd.results.lost import tell_of_loss
from ascd.results.progress import progress_bar
from ascd.results.solution import Snapshot, Status
from ascd.solver.path import as_alphas
from ascd.solver.solve import Watch
from ascd.solver.tuning import DEFAULT_ROUNDS


@dataclass(frozen=True)
class BlockPath:
    """The result of ``path_blocks``; the last axis of ``coefs`` and ``intercepts`` has one entry an alpha.

    Attributes
    ----------
    alphas : factors of the penalty, falling
    coefs : array of shape (n_features, n_outputs, n_alphas), without the middle axis for a one-dimensional target
    intercepts : array of shape (n_outputs, n_alphas), or (n_alphas,)
    objectives, gaps, n_iters : per alpha; gaps are upper bounds on F − min F with rounding errors counted
    reads : columns read in the whole path
    status : why the path ended
    zero_objective : F at zero coefficients, which the tolerance refers to
    seconds : time spent, compiling left out

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.BlockProblem(np.eye(3), [[3.0, 4.0], [0.3, 0.4], [0.0, 1.0]], penalty=ascd.L21(1.0))
    >>> found = ascd.path_blocks(problem, alphas=[2.0, 1.0])
    >>> found.coefs.shape, found.coefs[0].T.round(6).tolist(), found.objectives.round(6).tolist()
    ((3, 2, 2), [[1.8, 2.4], [2.4, 3.2]], [8.625, 5.125])
    """

    alphas: Array
    coefs: Array = field(repr=False)
    intercepts: Array = field(repr=False)
    objectives: Array = field(repr=False)
    gaps: Array = field(repr=False)
    n_iters: Array = field(repr=False)
    reads: int
    status: Status
    zero_objective: float
    seconds: float


def path_blocks(
    problem: BlockProblem,
    alphas: Any = None,
    n_alphas: int = 100,
    eps: float = 1e-3,
    tol: float = 1e-6,
    x0: Any = None,
    intercept: bool = False,
    max_iter: int = DEFAULT_ROUNDS,
    max_time: float | None = None,
    n_jobs: int | None = None,
    callback: Callable[[Snapshot], Any] | None = None,
    progress: bool = False,
) -> BlockPath:
    """Minimise f(AX + 1cᵀ) + alpha·Σ_b Ψ_b(X_b) for a falling sequence of alphas.

    Parameters
    ----------
    problem : BlockProblem
        Its penalty is what the alphas multiply.
    alphas : array, optional
        Positive factors; by default ``n_alphas`` of them from the smallest that makes all penalised blocks zero down to
        ``eps`` times it.
    tol : gap allowed at each alpha, relative to F at zero coefficients

    The other parameters are those of ``solve_blocks``; ``max_iter`` is for each alpha, ``max_time`` for all.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((50, 20))
    >>> problem = ascd.BlockProblem(A, A[:, 0], penalty=ascd.GroupL2(1.0, groups=5))
    >>> result = ascd.path_blocks(problem, n_alphas=4, eps=0.1)
    >>> [int(count) for count in (result.coefs != 0).sum(axis=0)]
    [0, 5, 5, 5]
    """
    limits, start = check_block_run(problem, x0, intercept, None, max_iter, max_time, callback)
    if not hasattr(problem.penalty, "scaled"):
        raise TypeError(f"path_blocks needs a penalty with a method scaled(factor); {problem.penalty!r} has none")
    tol, eps = as_number(tol, "tol", low=0.0), as_number(eps, "eps", low=0.0, high=1.0, strict=True)
    factors, count, threads = as_alphas(alphas), as_count(n_alphas, "n_alphas"), as_n_jobs(n_jobs)
    clock = Stopwatch()
    with quiet(threads, problem.n_samples * problem.n_features, library=threads):
        solver = Solver(problem, *start)
        reference = as_reference(solver)
        if factors is None:
            largest = largest_alpha(solver, problem.penalty, reference, limits)
            factors = largest * np.geomspace(1.0, eps, count)
        watch: Any = Watch(solver, callback, lambda *_: None, clock)  # type: ignore[arg-type]
        with progress_bar(progress, factors.size) as show:
            return _walk(solver, problem, factors, tol * reference, reference, limits, watch, show, clock)


def _walk(
    solver: Solver, problem: BlockProblem, factors: Array, tolerance: float, reference: float, limits: Limits,
    watch: Any, show: Any, clock: Stopwatch,
) -> BlockPath:  # fmt: skip
    coefs, constants, rows, statuses = [], [], [], []
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
            tell_of_loss(error, stacklevel=3)
            break
        standing = solver.standing
        coefs.append(problem.as_given(solver.fit.x))
        constants.append(solver.fit.constant[0] if problem.loss.is_flat else solver.fit.constant)
        rows.append((standing.objective, standing.gap, solver.n_iter - before))
        statuses.append(status)
        show(number + 1, standing.objective)
        if status in (Status.TIME_LIMIT, Status.INTERRUPTED, Status.DIVERGED):
            break
    table = np.array(rows).reshape(len(rows), 3).T
    return BlockPath(
        alphas=factors[: len(rows)], coefs=_stacked(coefs, problem.as_given(solver.fit.x).shape),
        intercepts=_stacked(constants, () if problem.loss.is_flat else (problem.n_outputs,)),
        objectives=table[0], gaps=table[1], n_iters=table[2].astype(np.int64), reads=int(solver.reads),
        status=Status.of_all(statuses), zero_objective=reference, seconds=clock.seconds,
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
