"""The quadratic model on the working set, minimised by coordinate sweeps and Newton steps.

At the present point the objective on the columns W is, exactly for a quadratic loss and to second order for others,

    Q(Δ) = gᵀΔ + ½ ΔᵀGΔ + Σ_{j∈W} Ψ_j(x_j + Δ_j),        G = A_Wᵀ H A_W.

**Sweeps** minimise it one coordinate at a time; they settle which coordinates stand at a kink of their penalty (zero,
a bound) and on which piece the others are.  On those pieces Ψ is quadratic, so Q is smooth in the free coordinates, and
a **Newton step** goes straight to their minimum.  Where it would leave a piece it is cut off: every coordinate at its
own end, or all where the first one meets its end, whichever is lower (the second always lowers Q).  Coordinates cut
off are at a kink now, and the next Newton step is on a smaller face.  A penalty that does not tell its pieces gets
sweeps alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel
from ascd._core.threads import library_helps
from ascd.problem.optimality import violation_of
from ascd.solver import tuning
from ascd.solver.gram import Gram
from ascd.solver.tuning import VISITED


class Outcome(NamedTuple):
    """The largest violation left, and the sweeps and Newton steps it took."""

    violation: float
    sweeps: int
    newtons: int


class Known(NamedTuple):
    """Products of all columns, as they came: a ``Gram`` that has nothing to learn."""

    columns: Array
    store: Array
    known: Array

    def learn(self, positions: Array) -> None:
        """All are known."""


class GramModel:
    """Q on the columns of a ``Gram``; ``x`` is the solver's own vector and moves."""

    def __init__(self, penalty: Any, gram: Gram | Known, gradient: Array, x: Array) -> None:
        self.penalty, self.gram, self.gradient, self.x = penalty, gram, gradient, x
        self.columns = gram.columns
        self.has_pieces = hasattr(penalty, "piece")
        size = self.columns.size
        self.wanted = np.zeros(size, dtype=np.bool_)
        self.free, self.work = np.empty(size, dtype=np.int64), np.empty((8, size))

    def minimise(self, target: float, most_sweeps: int) -> Outcome:
        """Until no coordinate of W violates its optimality condition by more than ``target``."""
        sweeps = newtons = cycles = stale = 0
        budget, lowest = tuning.FEWEST_SWEEPS, math.inf
        while True:
            violation, done = sweep_gram(
                self.penalty, self.columns, self.gram.store, self.gram.known, self.wanted, self.gradient, self.x,
                target, min(budget, most_sweeps - sweeps),
            )  # fmt: skip
            sweeps += done
            if self.wanted.any():
                self.gram.learn(np.flatnonzero(self.wanted))
                self.wanted[:] = False
                continue
            stale = 0 if violation < lowest else stale + 1
            lowest = min(lowest, violation)
            if violation <= target or sweeps >= most_sweeps or stale > tuning.MOST_STALE:
                return Outcome(violation, sweeps, newtons)
            if self.has_pieces:
                steps, size = self._descend_faces(1 + cycles // 2)
                cycles += 1
                newtons += steps
                sweeps_worth = min(tuning.MOST_SWEEPS_BETWEEN, int(self._newton_cost(size)))
                budget = max(tuning.FEWEST_SWEEPS, sweeps_worth)

    def _newton_cost(self, size: int) -> float:
        """A Newton step on so many free coordinates, in sweeps over them."""
        return (size**2 / tuning.BLOCKED_GAIN + tuning.OVERHEAD / max(size, 1)) / self.columns.size

    def _descend_faces(self, allowed: int) -> tuple[int, int]:
        """Newton steps on smaller and smaller faces, while they are cut off and cheaper than sweeps."""
        steps = size = 0
        # a step that is cut off takes a coordinate out of the face, unless the step is too small to move it
        for steps in range(1, self.columns.size + 2):
            size, cut = self._newton_step()
            if not cut or (steps >= allowed and self._newton_cost(size) > 1.0):
                break
        return steps, size

    def _newton_step(self) -> tuple[int, bool]:
        """The number of free coordinates, and whether the step towards their minimum was cut off."""
        gram, known = self.gram.store, self.gram.known
        count = find_free(self.penalty, self.columns, known, self.gradient, self.x, self.free, self.work)
        if count == 0:
            return 0, False
        free = self.free[:count]
        direction = self._solve(free, -self.work[0, :count])
        if direction is None:
            return count, False
        return count, take_newton_step(gram, self.columns, free, direction, self.work, self.gradient, self.x) == 1

    def _solve(self, free: Array, right: Array) -> Array | None:
        from scipy.linalg.lapack import dpotrf, dpotrs  # here, so that importing ascd stays cheap

        matrix = np.empty((free.size, free.size), order="F")
        for shift in tuning.SHIFTS:
            gather_free(self.gram.store, free, self.work, shift, matrix)
            with library_helps(free.size**3 / 3.0):
                factor, trouble = dpotrf(matrix, lower=0, overwrite_a=1, clean=0)
            if trouble == 0:
                direction, _ = dpotrs(factor, right, lower=0)
                if np.isfinite(direction).all():
                    return direction
        return None


@kernel
def sweep_gram(
    penalty: Any, columns: Array, gram: Array, known: Array, wanted: Array, gradient: Array, x: Array,
    target: float, most: int,
) -> tuple[float, int]:  # fmt: skip
    """Sweeps until the largest violation met in one is at most ``target``; that violation, and their number.

    Coordinates whose products are not known are ``wanted``, not moved; the first sweep that meets one is the last.
    """
    size = columns.size
    worst, done = 0.0, 0
    missing = False
    while done < most and not missing:
        worst = 0.0
        for i in range(size):
            j, g = columns[i], gradient[i]
            low, high = penalty.subgradient(x[j], j)
            violation = violation_of(low, high, g)
            if violation > VISITED * target:
                worst = max(worst, violation)
                if not known[i]:
                    wanted[i] = True
                    missing = True
                    continue
                lipschitz = gram[i, i] if gram[i, i] > 1e-300 else 1.0
                new = penalty.prox(x[j] - g / lipschitz, 1.0 / lipschitz, j)
                change = new - x[j]
                if change != 0.0:
                    x[j] = new
                    for other in range(size):
                        gradient[other] += change * gram[other, i]
        done += 1
        if worst <= target:
            break
    return worst, done


@kernel
def find_free(penalty: Any, columns: Array, known: Array, gradient: Array, x: Array, free: Array, work: Array) -> int:
    """The coordinates inside a piece of their penalty: Q's slope, the penalty's curvature and the piece's ends."""
    count = 0
    for i in range(columns.size):
        j = columns[i]
        curvature, low, high = penalty.piece(x[j], j)
        slope, upper = penalty.subgradient(x[j], j)
        if known[i] and low < high and slope == upper:
            free[count] = i
            work[0, count], work[1, count] = gradient[i] + slope, curvature
            work[2, count], work[3, count] = low, high
            count += 1
    return count


@kernel
def gather_free(gram: Array, free: Array, work: Array, shift: float, out: Array) -> None:
    """The upper triangle of G on the free coordinates, with the penalty's curvature and a shift on the diagonal."""
    for b in range(free.size):
        column = free[b]
        for a in range(b + 1):
            out[a, b] = gram[free[a], column]
        diagonal = out[b, b] + work[1, b]
        out[b, b] = diagonal * (1.0 + shift) if diagonal > 0.0 else 1.0


@kernel
def take_newton_step(
    gram: Array, columns: Array, free: Array, direction: Array, work: Array, gradient: Array, x: Array
) -> int:
    """Move along the direction inside the pieces: 0 if it was taken whole, 1 if cut off, 2 if nothing falls."""
    for a in range(free.size):
        work[6, a] = x[columns[free[a]]]
    cut = clip_step(work[6], direction, work[2], work[3], work[4], work[5])
    gain = change_of_model(gram, columns.size, free, work[4], work, work[6])
    best, moved = work[4], work[6]
    if cut:
        straight = change_of_model(gram, columns.size, free, work[5], work, work[7])
        if straight < gain:
            gain, best, moved = straight, work[5], work[7]
    if not gain < 0.0:
        return 2
    for i in range(columns.size):
        gradient[i] += moved[i]
    for a in range(free.size):
        j = columns[free[a]]
        x[j] = min(max(x[j] + best[a], work[2, a]), work[3, a])  # rounding must not leave the piece
    return 1 if cut else 0


@kernel
def cut_step(here: Array, direction: Array, low: Array, high: Array, whole: Array, straight: Array) -> bool:
    """``clip_step`` for callers that are not compiled."""
    return clip_step(here, direction, low, high, whole, straight)


@helper
def clip_step(here: Array, direction: Array, low: Array, high: Array, whole: Array, straight: Array) -> bool:
    """Is the step cut off?  ``whole`` stops each coordinate at its own end, ``straight`` all at the first end met."""
    t, cut = 1.0, False
    for a in range(direction.size):
        there = here[a] + direction[a]
        whole[a] = min(max(there, low[a]), high[a]) - here[a]
        if there < low[a] or there > high[a]:
            cut = True
            t = min(t, whole[a] / direction[a])
    for a in range(direction.size):
        straight[a] = min(max(here[a] + t * direction[a], low[a]), high[a]) - here[a]
    return cut


@helper
def change_of_model(gram: Array, size: int, free: Array, change: Array, work: Array, moved: Array) -> float:
    """Q's change by a step inside the pieces; ``moved`` takes G·change."""
    for i in range(size):
        moved[i] = 0.0
    for a in range(free.size):
        if change[a] != 0.0:
            column = free[a]
            for i in range(size):
                moved[i] += change[a] * gram[i, column]
    total = 0.0
    for a in range(free.size):
        total += change[a] * (work[0, a] + 0.5 * (moved[free[a]] + work[1, a] * change[a]))
    return total
