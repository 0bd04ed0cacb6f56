"""Duals of support vector machines: min ½‖Aβ − b‖² + Σ_j (½μ_j β_j² + λ_j β_j) over l ≤ β ≤ u, one column a sample.

1. **Sweeps** of coordinate descent over the active coordinates, in random order, with shrinking (Hsieh et al. 2008).
   Dozens of them are enough with a small C; with a large one there would be tens of thousands.
2. **Free-set models.**  Hundreds of sweeps go into a few groups of nearly parallel columns (in texts: documents that
   occur twice).  The coordinates strictly inside their box that moved most since the last round are minimised over with
   their Gram matrix, by sweeps and Newton steps (``models``).
3. **Interior point** (Mehrotra 1992) where columns are short: some twenty d × d systems whatever C is.  It takes over
   when sweeps have cost, or will cost, as much.

The result is a point, not a proof: the caller certifies it.

**Gap.**  The duality gap is a sum of non-negative terms.  With g = ⟨a_j, v⟩, v = H(Aβ − b) the raw gradient, and the
minimiser β̂ of (g + λ)β + ½μβ² over the box,

    term_j = (g + λ + μβ̂)·(β − β̂) + ½μ(β − β̂)².

A sweep reads every g and adds the terms up: an estimate, because v moves meanwhile and shrunk coordinates are not read.
Where it is small enough, a pass over all columns gives the gap itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd.matrix.columns import dot
from ascd.matrix.dense import Local
from ascd.problem.optimality import violation_of
from ascd.problem.penalties import Box
from ascd.problem.problem import Parts, Problem
from ascd.results.limits import Limits
from ascd.solver import tuning
from ascd.solver.loop import Solver
from ascd.solver.models import GramModel, KnownGram
from ascd.solver.sweeps import close_gaps, move_gradient, shuffle, shuffle_runs
from ascd.solver.tuning import RUN, SHRINKS

#: The gap asked for, as a function of the raw gradient.
Goal = Callable[[Array], float]

# ---- which problems, and their place in ``solve``


def is_box_problem(problem: Problem) -> bool:
    """Return True if the loss is quadratic, the penalty a box that bounds every coordinate, and A in memory."""
    penalty, parts = problem.parts.penalty, problem.parts
    if not (isinstance(penalty, Box) and isinstance(problem.design, Local) and parts.loss.is_quadratic()):
        return False
    is_finite = np.isfinite(penalty.lower) & np.isfinite(penalty.upper)
    return bool(np.all(is_finite | (np.asarray(penalty.l2) > 0.0)) and np.all(np.asarray(parts.sample.weight) > 0.0))


def is_for_descent(problem: Problem, tol: float, limits: Limits) -> bool:
    """Return True if ``solve`` should begin with ``BoxDescent``: an SVM dual, not small, without a time limit."""
    if (
        not problem.is_by_coordinate
        or tol < tuning.FINEST_IN_BOX
        or limits.max_iter <= 1
        or math.isfinite(limits.max_time)
    ):
        return False
    return problem.n_features > tuning.FEW_IN_BOX and is_box_problem(problem) and not problem.parts.sample.target.any()


def solver_after_descent(problem: Problem, solver: Solver, enough: float, limits: Limits) -> tuple[Solver, BoxResult]:
    """Return a solver at the point that ``BoxDescent`` finds in half of the rounds at most, with its work counted."""
    x = solver.x[:, 0].copy()
    found = BoxDescent(problem, x).minimise(lambda _: tuning.UNDER_GOAL * enough, limits.max_iter // 2)
    after = Solver(problem, found.x[:, None].copy(), False, np.zeros(1))
    after.n_iter = found.n_iter
    after.state.reads += solver.reads + found.reads
    return after, found


# ---- the method


class BoxResult(NamedTuple):
    """A point, its gap up to rounding (infinite if the last round did not compute it), the goal, and the work done."""

    x: Array
    gap: float
    goal: float
    n_iter: int
    reads: int
    is_interrupted: bool


class BoxDescent:
    """Minimisation from ``x``; x and ``raw_gradient`` = H(Ax − b) move together.

    ``order`` lists the ``n_active`` coordinates that sweeps visit.  Costs are in nanoseconds.
    """

    def __init__(self, problem: Problem, x: Array) -> None:
        if not isinstance(problem.design, Local):
            raise TypeError(f"the columns must be in memory; got {type(problem.design).__name__}")
        self.design, self.parts = problem.design, problem.parts
        self.x, self.raw_gradient = x, problem.evaluate(x)[2]
        n = x.size
        self.order, self.n_active = np.arange(n), n
        self.turn, self.seed = np.empty(n // RUN + 1, dtype=np.int64), np.ones(1, dtype=np.int64)
        self.violation, self.gap, self.n_iter, self.reads = math.inf, math.inf, 0, 0
        self.before, self.model_cost = x.copy(), 0.0
        self.sweep_cost, self.since_interior, self.last_cost = 0.0, 0.0, 0.0
        self.visit_cost = self.design.sweep_cost(self.order) / n + tuning.BOX_VISIT
        self.counts = self.design.counts.astype(np.float64)
        self.has_interior, self.interior_cost = self._is_short(), math.inf

    def minimise(self, goal: Goal, most: int) -> BoxResult:
        """Return the point where the gap is at most the goal, or after ``most`` rounds, or without more progress."""
        is_interrupted = True
        with suppress(KeyboardInterrupt):
            self._minimise(goal, most)
            is_interrupted = False
        return BoxResult(self.x, self.gap, goal(self.raw_gradient), self.n_iter, self.reads, is_interrupted)

    def _minimise(self, goal: Goal, most: int) -> None:
        estimate, lowest, idle = math.inf, math.inf, 0
        while self.n_iter < most and idle < tuning.MOST_IDLE_ROUNDS:
            wanted = goal(self.raw_gradient)
            before, estimate = estimate, self._sweep(wanted, self._sweeps_a_round())
            self.n_iter += 1
            idle = 0 if estimate < lowest else idle + 1
            lowest = min(lowest, estimate)
            if estimate > wanted and self.n_active:
                if not (self.has_interior and self._is_interior_cheaper(before, estimate, wanted)):
                    self._improve_free()
                    continue
                self._interior(wanted)
            self._check_all()
            if self.gap <= goal(self.raw_gradient) or self.n_active == 0:
                return
            estimate = lowest = math.inf

    def _sweeps_a_round(self) -> int:
        """Return 1 at first (weights of 0 have no goal), then more where sweeps are cheap beside calls."""
        if not self.n_iter:
            return 1
        return max(tuning.SWEEPS_A_ROUND, int(tuning.ROUND_LENGTH / (self.visit_cost * max(self.n_active, 1))))

    def _sweep(self, wanted: float, most: int) -> float:
        parts, self.gap = self.parts, math.inf
        estimate, self.violation, self.n_active, reads = sweep_box(
            parts.penalty, parts.matrix, parts.norm, parts.lipschitz, parts.sample.weight, self.raw_gradient, self.x,
            self.order, self.n_active, self.turn, self.seed, self.violation, wanted, most,
        )  # fmt: skip
        self.reads += int(reads)
        self.last_cost = reads * self.visit_cost
        self.since_interior += self.last_cost
        self.sweep_cost += self.last_cost
        return float(estimate)

    def _check_all(self) -> None:
        """Compute the gap; all coordinates that may move are active again."""
        products = self.design.dots(np.arange(self.x.size), self.raw_gradient)
        self.gap, self.n_active = activate(
            self.parts.penalty, self.parts.norm, products, self.x, self.violation, self.order
        )
        self.violation = math.inf if self.n_active else 0.0
        self.reads += self.x.size

    # ---- free-set models

    def _improve_free(self) -> None:
        """Minimise over the free coordinates that moved most, for a share of what sweeps have cost."""
        if self.has_interior and self.n_active > self.raw_gradient.size:
            return
        if self.n_iter > 1:  # one sweep does not show which coordinates are slow
            size = largest_affordable(self.design, tuning.FREE_SHARE * self.sweep_cost - self.model_cost)
            if size == 0:
                return
            columns = self._most_moved(size)
            if columns.size:
                cost = minimise_over(self.design, self.parts, self.raw_gradient, self.x, columns, self.violation)
                self.model_cost += cost
                self.since_interior += cost
                self.reads += 3 * columns.size
                self.violation *= tuning.WIDER
        self.before[:] = self.x

    def _most_moved(self, most: int) -> Array:
        """Return the free coordinates that moved most since the last model, in units of 1/‖a_j‖, ascending."""
        free, penalty, n = self.order[: self.n_active], self.parts.penalty, self.x.size
        lower, upper = (np.broadcast_to(end, n)[free] for end in (penalty.lower, penalty.upper))
        moved = np.abs(self.x[free] - self.before[free]) * self.parts.norm[free]
        is_free = (lower < self.x[free]) & (self.x[free] < upper) & (moved > 0.0)
        free, moved = free[is_free], moved[is_free]
        if free.size > most:
            free = free[np.argpartition(moved, free.size - most)[free.size - most :]]
        return np.sort(free)

    # ---- interior point

    def _is_short(self) -> bool:
        """Return True if d × d systems fit into memory, all boxes are finite and μ = 0."""
        d, penalty = self.design.shape[0], self.parts.penalty
        is_finite = np.all(np.isfinite(penalty.lower) & np.isfinite(penalty.upper))
        return bool(is_finite and not np.any(penalty.l2) and 8 * d * d <= max(tuning.GRAM_FLOOR, self.design.nbytes))

    def _is_interior_cheaper(self, before: float, estimate: float, wanted: float) -> bool:
        """Return True if sweeps will cost more at the rate of the last round, or have cost more already.

        While shrinking makes the interior point method much cheaper from round to round, waiting pays.
        """
        cost, was = self._interior_cost(), self.interior_cost
        self.interior_cost = cost
        if self.since_interior > tuning.INTERIOR_LATEST * cost:
            return True
        if self.since_interior < tuning.INTERIOR_WAIT * cost or cost < tuning.INTERIOR_FALLS * was:
            return False
        fall = math.log(before / estimate) if 0.0 < estimate < before < math.inf else 0.0
        left = math.log(estimate / wanted) if wanted > 0.0 else math.inf
        return not (fall > 0.0 and self.last_cost * left / fall <= cost)

    def _interior_cost(self) -> float:
        """Return the cost of the interior point method on the active coordinates."""
        columns = self.order[: self.n_active]
        counts = self.counts[columns]
        systems = tuning.INTERIOR_PRODUCT * float(counts @ counts)
        systems += tuning.INTERIOR_CUBE * float(self.raw_gradient.size) ** 3
        passes = tuning.INTERIOR_PASSES * self.design.pass_cost(columns) + tuning.INTERIOR_VISIT * columns.size
        return tuning.INTERIOR_STEPS * (systems + passes + tuning.INTERIOR_CALLS)

    def _interior(self, wanted: float) -> None:
        """Run the interior point method on the active coordinates; the others keep their values."""
        columns = np.sort(self.order[: self.n_active])
        method = InteriorPoint(self.design, self.parts.sample.weight, self.parts.penalty, columns)
        goal = tuning.INTERIOR_SHARE * wanted
        self.x[columns], self.raw_gradient = method.minimise(
            self.x[columns], self.raw_gradient, goal, tuning.MOST_INTERIOR_STEPS
        )
        self.reads += method.reads
        self.since_interior = 0.0


# ---- sweeps


@helper
def gap_term(penalty: Any, x: float, g: float, j: int) -> float:
    """Return the term of coordinate j in the duality gap.

    Examples
    --------
    >>> import ascd
    >>> from ascd.solver.svm import gap_term
    >>> gap_term(ascd.Box(0.0, 1.0), 0.25, 2.0, 0), gap_term(ascd.Box(0.0, 1.0), 0.25, -2.0, 0)
    (0.5, 1.5)
    """
    tilt, curvature = g + at(penalty.linear, j), at(penalty.l2, j)
    best = at(penalty.lower, j) if tilt > 0.0 else at(penalty.upper, j)
    if curvature > 0.0:
        best = max(at(penalty.lower, j), min(at(penalty.upper, j), -tilt / curvature))
    ahead = x - best
    return (tilt + curvature * (best + 0.5 * ahead)) * ahead


@kernel
def sweep_box(
    penalty: Any, matrix: Any, norm: Array, lipschitz: Array, weight: Any, raw_gradient: Array, x: Array, order: Array,
    n_active: int, turn: Array, seed: Array, worst: float, goal: float, most: int,
) -> tuple[float, float, int, int]:  # fmt: skip
    """Sweep over order[:n_active] until the estimated gap is at most ``goal``, at most ``most`` times.

    A coordinate is dropped that is further inside its optimality condition than the violations of the sweep before,
    ``worst``, let expect: g moves by ‖a_j‖ times what v moves, so violations are divided by ‖a_j‖.  Columns come in
    runs of neighbours, whose memory lies together.

    Returns the estimate, the largest violation over ‖a_j‖ of the last sweep, how many are active, and columns read.
    """
    reads, sweeps, estimate = 0, 0, math.inf
    while sweeps < most and n_active > 0:
        before, worst, estimate = worst, 0.0, 0.0
        runs = shuffle_runs(turn, n_active, seed)
        for b in range(runs):
            first = RUN * wide(turn[b])
            last = min(first + RUN, n_active)
            shuffle(order, first, last, seed)
            if b + 1 < runs:
                following = RUN * wide(turn[b + 1])
                for a in range(following, min(following + RUN, n_active)):
                    matrix.ahead(wide(order[a]))
            for a in range(first, last):
                j = wide(order[a])
                g = dot(matrix, j, raw_gradient)
                low, high = penalty.subgradient(x[j], j)
                violation = violation_of(low, high, g)
                if violation < -SHRINKS * before * norm[j]:
                    order[a] = -1
                    continue
                estimate += gap_term(penalty, x[j], g, j)
                if violation > 0.0:
                    worst = max(worst, violation / norm[j]) if norm[j] > 0.0 else worst
                    new = penalty.prox(x[j] - g / lipschitz[j], 1.0 / lipschitz[j], j)
                    change = new - x[j]
                    if change != 0.0:
                        x[j] = new
                        move_gradient(matrix, j, change, weight, raw_gradient)
        sweeps += 1
        reads += n_active
        n_active = close_gaps(order, n_active)
        if estimate <= goal:
            break
    return estimate, worst, n_active, reads


@kernel
def activate(penalty: Any, norm: Array, products: Array, x: Array, worst: float, order: Array) -> tuple[float, int]:
    """Return the gap and the number of coordinates that may move, which are listed in ``order``."""
    gap, count = 0.0, 0
    for j in range(x.size):
        gap += gap_term(penalty, x[j], products[j], j)
        low, high = penalty.subgradient(x[j], j)
        order[count] = j
        count += violation_of(low, high, products[j]) >= -worst * norm[j]
    return gap, count


# ---- free-set models


def largest_affordable(design: Local, budget: float) -> int:
    """Return how many coordinates a model may have for so many nanoseconds; 0 where even few cost more."""
    entries = design.entries() / design.shape[1]
    size, best = tuning.FEWEST_FREE, 0
    while size <= tuning.MOST_FREE:
        cost = model_cost(size, tuning.FREE_SWEEPS, tuning.FREE_NEWTONS)
        if design.cost_of_products(size, int(size * entries)) + cost > budget:
            break
        size, best = 2 * size, size
    return best


def model_cost(size: int, sweeps: float, newtons: float) -> float:
    """Return the nanoseconds of sweeps and Newton steps on a Gram matrix of this size."""
    newton = tuning.FREE_CUBE * float(size) ** 3 + tuning.FREE_CALLS
    return sweeps * tuning.FREE_PRODUCT * size**2 + newtons * newton


def minimise_over(
    design: Local, parts: Parts, raw_gradient: Array, x: Array, columns: Array, violation: float
) -> float:
    """Minimise over these columns, with their Gram matrix; x and the raw gradient move.  Returns the nanoseconds.

    ``violation`` is the largest one over ‖a_j‖; a share of it may stay.
    """
    size, d = columns.size, design.shape[0]
    weight = np.full(d, parts.sample.weight) if np.ndim(parts.sample.weight) == 0 else parts.sample.weight
    gram, places = np.empty((size, size), order="F"), np.arange(size)
    design.multiplier(False).fill(gram, columns, places, places, weight, None)
    values, predictor = x[columns], np.zeros(d)
    known = KnownGram(columns, gram, np.ones(size, dtype=np.bool_))
    model = GramModel(parts.penalty, known, design.dots(columns, raw_gradient), values)
    target = tuning.FREE_LEFT * violation * float(parts.norm[columns].min())
    model.minimise(target, tuning.MOST_FREE_SWEEPS)
    design.add(columns, values - x[columns], predictor)
    x[columns] = values
    raw_gradient += weight * predictor
    return design.products_cost(columns) + model_cost(size, model.sweeps, model.newtons)


# ---- interior point

#: Rows of the state and of a step: distances to both ends, and their multipliers.
BELOW, ABOVE, LOWER, UPPER = range(4)


class InteriorPoint:
    """Mehrotra's predictor-corrector method on some columns with finite boxes and μ = 0.

    With p = β − l, q = u − β and multipliers s, t ≥ 0 of the two ends, optimality reads ∇ = Aᵀv + λ = s − t, p·s = 0,
    q·t = 0.  Newton's step for p·s = q·t = τ has the matrix AᵀHA + D, D = s/p + t/q diagonal, and with h = 1/D

        (AᵀHA + D)⁻¹  =  h − h·Aᵀ (H⁻¹ + A h Aᵀ)⁻¹ A·h.

    It starts at the given point moved inside: at an end with gradient entry ∇ the distance becomes τ/|∇|, inside the
    box the multipliers become τ/p and τ/q, with τ the gap there, a share for each end.
    """

    def __init__(self, design: Local, weight: Any, penalty: Any, columns: Array) -> None:
        self.design, self.columns, self.reads = design, columns, 0
        d, n = design.shape
        self.weight = np.broadcast_to(np.asarray(weight, dtype=np.float64), d)
        ends = (penalty.lower, penalty.upper, penalty.linear)
        self.low, self.high, self.linear = (
            np.broadcast_to(np.asarray(end, dtype=np.float64), n)[columns] for end in ends
        )
        self.squares = design.squares(1.0, columns)

    def minimise(self, x: Array, raw_gradient: Array, goal: float, most: int) -> tuple[Array, Array]:
        """Return the best point found and its raw gradient: steps end at a gap of ``goal``, or after ``most``."""
        gradient = self._gradient(raw_gradient)
        gap = self._gap(x, gradient)
        best, state = (x, raw_gradient, gap), self._start(x, gradient, gap)
        here = self._inside(self.low + state[BELOW])
        raw_gradient = raw_gradient + self.weight * self._predictor(here - x)
        for _ in range(most):
            gradient = self._gradient(raw_gradient)
            gap = self._gap(here, gradient)
            if gap < best[2]:
                best = here, raw_gradient, gap
            move = self._step(state, gradient) if goal < gap < math.inf else None
            if move is None:
                break
            here = self._inside(here + move)
            raw_gradient = raw_gradient + self.weight * self._predictor(move)
        return best[0], best[1]

    def _gradient(self, raw_gradient: Array) -> Array:
        self.reads += self.columns.size
        return self.design.dots(self.columns, raw_gradient) + self.linear

    def _predictor(self, factors: Array) -> Array:
        out = np.zeros(self.weight.size)
        self.design.add(self.columns, factors, out)
        self.reads += self.columns.size
        return out

    def _gap(self, x: Array, gradient: Array) -> float:
        """Return Σ ``gap_term`` for μ = 0."""
        return float((np.where(gradient > 0.0, x - self.low, x - self.high) * gradient).sum())

    def _inside(self, x: Array) -> Array:
        """Return x inside the box: distances to the ends are kept by themselves, and x may be rounded to beyond one."""
        return np.clip(x, self.low, self.high)

    def _start(self, x: Array, gradient: Array, gap: float) -> Array:
        share = max(gap, 1e-300) / (2.0 * x.size)
        width = np.maximum(self.high - self.low, 1e-300)
        pull = np.minimum(share / np.maximum(np.abs(gradient), tuning.INTERIOR_SMALL), 0.5 * width)
        below = np.clip(x - self.low, pull, width - pull)
        above = width - below
        return np.stack([below, above, np.maximum(gradient, share / below), np.maximum(-gradient, share / above)])

    def _step(self, state: Array, gradient: Array) -> Array | None:
        """Advance the state by a predictor and corrector step; return the move of x, or None where there is none."""
        h = 1.0 / (state[LOWER] / state[BELOW] + state[UPPER] / state[ABOVE])
        factor = self._factor(h)
        if factor is None:
            return None
        step, share = np.zeros_like(state), complementarity(state)
        aim, length = 0.0, 0.0
        for _ in range(2):
            first, second = aim - step[BELOW] * step[LOWER], aim - step[ABOVE] * step[UPPER]
            move = self._solve(factor, h, first / state[BELOW] - second / state[ABOVE] - gradient)
            step[BELOW], step[ABOVE] = move, -move
            step[LOWER] = (first - state[LOWER] * move) / state[BELOW] - state[LOWER]
            step[UPPER] = (second + state[UPPER] * move) / state[ABOVE] - state[UPPER]
            falls = step < 0.0
            length = float(np.min(state[falls] / -step[falls], initial=1.0))
            rest = max(complementarity(state + length * step), 0.0) / share if share > 0.0 else 0.0
            aim = share * rest * rest * rest  # no power: one that overflows is an error in Python
        length = min(1.0, tuning.INTERIOR_BACK * length)
        if not (0.0 < length <= 1.0 and np.isfinite(step[BELOW]).all()):
            return None
        state += length * step
        return length * step[BELOW]

    def _factor(self, h: Array) -> Array | None:
        """Return the Cholesky factor of H⁻¹ + A h Aᵀ, or None.

        Columns at an end have a tiny h: those that change the matrix by at most 1e-3 of H⁻¹ together are left out.
        """
        from scipy.linalg.lapack import dpotrf  # here, so that importing ascd stays cheap

        counts = h * self.squares * self.weight.max() > tuning.INTERIOR_TINY / h.size
        columns, h = self.columns[counts], h[counts]
        self.reads += columns.size
        if hasattr(self.design.matrix, "values"):
            block = self.design.matrix.values[:, columns] * np.sqrt(h)
            matrix = np.asfortranarray(block @ block.T)
        else:
            part, matrix = self.design.take(columns), np.zeros((self.weight.size, self.weight.size), order="F")
            add_outer_products(part.matrix, part.places, h, matrix)
        matrix[np.diag_indices(self.weight.size)] += 1.0 / self.weight
        factor, trouble = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
        return factor if trouble == 0 else None

    def _solve(self, factor: Array, h: Array, right: Array) -> Array:
        from scipy.linalg.lapack import dpotrs

        first = h * right
        middle, _ = dpotrs(factor, self._predictor(first), lower=1)
        self.reads += self.columns.size
        return first - h * self.design.dots(self.columns, middle)


def complementarity(state: Array) -> float:
    """Return the mean of p·s and q·t."""
    return float((state[BELOW] * state[LOWER] + state[ABOVE] * state[UPPER]).mean()) / 2.0


@kernel
def add_outer_products(matrix: Any, columns: Array, factors: Array, out: Array) -> None:
    """Add Σ_i factors_i·a_i a_iᵀ to the lower triangle of ``out``; rows ascend within a column."""
    for i in range(columns.size):
        j, factor = wide(columns[i]), factors[i]
        for p in range(matrix.start(j), matrix.stop(j)):
            k, entry = matrix.row(p), factor * matrix.entry(p, j)
            for q in range(p, matrix.stop(j)):
                out[matrix.row(q), k] += entry * matrix.entry(q, j)
