"""Small problems in one compiled call.

A small table is solved in less time than the Python code between kernels would take.  So the rounds of a problem by
coordinate run without it:

repeat
    gradient   of all coordinates, and an estimate of the gap: the end where it is small enough
    model      sweeps over the coordinates that are not zero or violate optimality, Newton steps on the free ones
    step       as far as the objective decreases

Least squares with groups of columns or several targets take one round: sweeps over the Gram matrix of all columns.
The certificate proves what comes out, as for every other run; where it does not, the loop goes on from there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.matrix.base import as_block
from ascd.matrix.columns import clear, dot, scatter
from ascd.problem.arithmetic import lengths_of_blocks, norm
from ascd.problem.penalties import piece
from ascd.problem.samples import Curvature, best_constant, fill_gradients, sample_gap, sum_of_losses
from ascd.problem.terms import ByCoordinate, measured, positive_part, term_between
from ascd.solver import sweeps, tuning
from ascd.solver.state import Evaluation, State

#: What becomes of a Newton step: whole (or none is found), cut at the end of a piece, none as too many would move.
WHOLE, CUT, CROWDED = range(3)


class Found(NamedTuple):
    """What the call has done, and where it ended: sum of losses, penalty, largest violation, estimated gap."""

    rounds: int
    reads: int
    value: float
    cost: float
    violation: float
    gap: float


def is_small(problem: Any) -> bool:
    """Return whether a problem is in memory, has few entries, and is by coordinate or least squares on few columns."""
    design = problem.design
    if design.matrix is None or design.entries() > tuning.SMALL_ENTRIES:
        return False
    if problem.is_by_coordinate:
        return problem.n_features <= tuning.SMALL_WIDTH
    return bool(problem.loss.is_quadratic and problem.n_features <= tuning.SMALL_COLUMNS)


def minimise_small(state: State, tolerance: float, most_rounds: int) -> tuple[Found, Array]:
    """Move the state to where the gap is estimated to be at most ``tolerance``, or as near as few rounds lead.

    Returns what was done, and the gradient there, of shape (n_features, n_outputs) in the order of the blocks.
    """
    if not state.terms.is_by_coordinate:
        return _minimise_blocks(state, tolerance)
    parts, loss, seen = state.problem.parts, state.loss, state.seen
    x, predictor, products = state.x.ravel().copy(), seen.predictor.ravel().copy(), np.empty(state.n)
    gradient, curvature = seen.raw_gradient.ravel().copy(), seen.curvature.own.ravel().copy()
    constant = np.full(2, state.constant[0])  # and the constant that the predictor was computed with
    found = Found(
        *minimise_compiled(
            state.matrix.matrix, loss.sample, loss.loss, ByCoordinate(state.penalty), parts.norm, parts.offset, x,
            constant, state.intercept, loss.most, predictor, gradient, curvature, products, seen.value, tolerance,
            min(most_rounds, tuning.SMALL_ROUNDS), make_room(state.n, state.d),
        )
    )  # fmt: skip
    state.reads += found.reads
    if found.gap > tolerance and not loss.is_quadratic:  # little curvature, say: the loop begins where this call did
        return found._replace(rounds=0, gap=math.inf), products[:, None]
    if found.rounds:
        own = curvature[:, None]
        there = Evaluation(predictor[:, None], found.value, gradient[:, None], Curvature(own, None, curvature))
        state.set(x[:, None], constant[:1].copy(), there, True, constant[1:])
    return found, products[:, None]


def _minimise_blocks(state: State, tolerance: float) -> tuple[Found, Array]:
    """Minimise least squares over all blocks on their Gram matrix: violations v add about v·Σ‖x_b‖ to the gap."""
    problem, n, seen, terms = state.problem, state.n, state.seen, state.terms
    blocks, starts = np.arange(problem.groups.count), problem.groups.starts
    columns = as_block(problem.design.take(state.order), state.d)
    gradient, x, cost = columns.T @ seen.raw_gradient, state.x.copy(), terms.cost(state.x)
    violation = terms.violation_on(blocks, x, gradient)
    rounding = tuning.ROUNDING_FLOOR * norm(seen.raw_gradient) * float(problem.block_norm.max())
    if violation <= rounding:
        state.reads += n
        return Found(0, n, seen.value, cost, violation, 0.0), gradient
    weight, means = np.ascontiguousarray(seen.curvature.own[:, 0]), np.zeros(n)
    if state.intercept and weight.any():
        means = weight @ columns / weight.sum()
    scaled = np.sqrt(weight)[:, None] * (columns - means)
    gram = scaled.T @ scaled
    target, lipschitz = tuning.SMALL_ROUGH * violation, sweeps.block_curvatures(sweeps.fill_curvatures, starts, gram)
    for _ in range(2):
        sweeps.sweep_blocks(
            state.penalty, gram, gradient.ravel(), x.ravel(), starts, blocks, lipschitz,
            np.empty(terms.longest), state.outputs, max(target, rounding), tuning.MOST_BLOCK_SWEEPS,
        )  # fmt: skip
        target = tuning.ENOUGH * tolerance / max(float(lengths_of_blocks(x, terms.ends).sum()), 1e-300)
    start = state.constant - means @ (x - state.x)
    there, moved = state.evaluate_at(columns @ x + (start + problem.offset))
    state.reads += 3 * n
    if not there.value + terms.cost(x) <= seen.value + cost:
        return Found(0, 3 * n, seen.value, cost, violation, math.inf), gradient
    state.set(x, start + moved, there, True, start)
    gradient = columns.T @ there.raw_gradient
    return Found(1, 3 * n, there.value, terms.cost(x), terms.violation_on(blocks, x, gradient), 0.0), gradient


class Room(NamedTuple):
    """The work space of a compiled call: compiled code allocates nothing.

    ``columns`` are those that the model is on, with their ``lipschitz``, ``means`` and coefficients ``x``;
    ``before`` has the coefficients of all before, and ``residual`` the raw gradient at x.  Row ``slot`` of ``gram`` has
    the products of a coordinate with the ``members`` before, ``known`` in all, and last its mean.
    """

    columns: Array
    order: Array
    all: Array
    slot: Array
    free: Array
    members: Array
    known: Array
    x: Array
    before: Array
    lipschitz: Array
    means: Array
    scores: Array
    radius: Array
    weight: Array
    residual: Array
    trial_predictor: Array
    trial_gradient: Array
    trial_curvature: Array
    column: Array
    gram: Array
    system: Array
    search: Array


def make_room(n: int, d: int) -> Room:
    most = int(min(n, tuning.SMALL_FREE, math.sqrt(tuning.SMALL_PRODUCTS / d) + 1.0))
    return Room(  # type: ignore[call-arg]
        *np.tile(np.arange(n), (3, 1)), np.full(n, -1), *np.zeros((2, most), dtype=np.int64),
        np.zeros(1, dtype=np.int64), *np.zeros((6, n)), *np.zeros((6, d)), np.empty((most, most + 1)),
        np.empty((most + 3, most)), np.empty(5),
    )  # fmt: skip


@helper
def solve_by_cholesky(system: Array, size: int) -> bool:
    """Solve system·z = row ``size`` of it in place, for a positive definite matrix in the lower half of the first rows.

    Returns False where it is not.
    """
    for i in range(size + 1):
        for j in range(min(i + 1, size)):
            rest = system[i, j]
            for k in range(j):
                rest -= system[i, k] * system[j, k]
            if i != j:
                system[i, j] = rest / system[j, j]
            elif rest > 1e-14 * system[i, i]:
                system[i, i] = math.sqrt(rest)
            else:
                return False
    right = system[size]
    for i in range(size - 1, -1, -1):
        rest = right[i]
        for k in range(i + 1, size):
            rest -= system[k, i] * right[k]
        right[i] = rest / system[i, i]
    return True


@helper
def add_gram_row(matrix: Any, j: int, mean: float, total: float, room: Room) -> None:
    """Fill in the products of column j with the members, and with itself."""
    size, gram, last = room.known[0], room.gram, room.gram.shape[1] - 1
    room.slot[j], room.members[size], gram[size, last] = size, j, mean
    scatter(matrix, j, room.weight, room.column)
    for b in range(size + 1):
        gram[size, b] = dot(matrix, wide(room.members[b]), room.column) - total * mean * gram[b, last]
    clear(matrix, j, room.column)
    room.known[0] += 1


@helper
def newton_small(matrix: Any, penalty: Any, count: int, total: float, room: Room) -> tuple[int, int]:
    """Take a Newton step on the free coordinates as far as all stay inside their pieces.

    Returns what became of it, and the columns read.
    """
    x, free, system, slot, most = room.x, room.free, room.system, room.slot, room.system.shape[1]
    lowest, highest, size, reads, offset = system[most + 1], system[most + 2], 0, 0, 0.0
    for i in range(count):
        j = wide(room.columns[i])
        curvature, low, high = piece(penalty, x[i], j)
        if low < high:
            if size == most or (slot[j] < 0 and room.known[0] == most):
                return CROWDED, reads
            if slot[j] < 0:
                add_gram_row(matrix, j, room.means[i], total, room)
                reads += 1
            for b in range(size):
                other = slot[room.columns[free[b]]]
                system[size, b] = room.gram[max(slot[j], other), min(slot[j], other)]
            system[size, size] = room.gram[slot[j], slot[j]] + curvature
            free[size], lowest[size], highest[size] = i, low, high
            size += 1
    for a in range(size):
        j = wide(room.columns[free[a]])
        system[size, a] = -(dot(matrix, j, room.residual) + penalty.subgradient(x[free[a]], j)[0])
    reads += size
    if size == 0 or not solve_by_cholesky(system, size):
        return WHOLE, reads
    change, step, first = system[size], 1.0, -1
    for a in range(size):
        here, end = x[free[a]], highest[a] if change[a] > 0.0 else lowest[a]
        if not abs(change[a]) < math.inf:
            return WHOLE, reads
        if (change[a] > 0.0 and here + step * change[a] > end) or (change[a] < 0.0 and here + step * change[a] < end):
            step, first = (end - here) / change[a], a
    for a in range(size):
        i = wide(free[a])
        there = highest[a] if change[a] > 0.0 else lowest[a]
        there = there if a == first else min(max(x[i] + step * change[a], lowest[a]), highest[a])
        sweeps.move_gradient(matrix, wide(room.columns[i]), there - x[i], room.weight, room.residual)
        offset -= (there - x[i]) * room.means[i]
        x[i] = there
    for k in range(room.weight.size):
        room.residual[k] += offset * room.weight[k]
    return CUT if first >= 0 else WHOLE, reads + size


@helper
def minimise_model(
    matrix: Any, penalty: Any, count: int, intercept: bool, target: float, room: Room
) -> tuple[float, int, bool]:
    """Minimise the quadratic model on the first ``count`` columns.

    Returns the change of the constant, the columns read, and whether that takes more than these few steps.
    """
    columns, x, means, lipschitz = room.columns[:count], room.x[:count], room.means[:count], room.lipschitz[:count]
    total, shift, reads, worst, end = 0.0, 0.0, count, math.inf, WHOLE
    if intercept:
        for k in range(room.weight.size):
            total += room.weight[k]
    for i in range(count):
        j = wide(columns[i])
        x[i], means[i] = room.before[j], dot(matrix, j, room.weight) / total if total > 0.0 else 0.0
    sweeps.curvatures_of_columns(matrix, columns, room.weight, means, total, lipschitz)
    for _ in range(tuning.SMALL_CYCLES):
        worst, _, read = sweeps.sweep_over_columns(
            penalty, matrix, columns, columns, lipschitz, room.weight, means, total, room.residual, x, room.order,
            target, tuning.SMALL_SWEEPS,
        )  # fmt: skip
        reads += read
        for _ in range(tuning.SMALL_SWEEPS if worst > target else 0):
            end, read = newton_small(matrix, penalty, count, total, room)
            reads += read
            if end != CUT:
                break
        if worst <= target or end == CROWDED:
            break
    for i in range(count):
        shift += means[i] * (room.before[wide(columns[i])] - x[i])
    return shift, reads, worst > target


@helper
def copy(source: Array, target: Array) -> None:  # an assignment of arrays would allocate
    for i in range(target.size):
        target[i] = source[i]


@kernel
def minimise_compiled(
    matrix: Any, sample: Any, loss: Any, parts: Any, norm: Array, offset: Array, x: Array, constant: Array,
    intercept: bool, most: float, predictor: Array, gradient: Array, curvature: Array, products: Array, value: float,
    tolerance: float, rounds: int, room: Room,
) -> tuple[int, int, float, float, float, float]:  # fmt: skip
    """Fill in x, the constant and what follows from them; see ``Found`` for what is returned."""
    n, d, is_exact, penalty = x.size, predictor.size, loss.is_quadratic(), parts.penalty
    damping, done, reads = 0.0, 0, 0
    typical, share_left = most / d if most < math.inf else 1.0, tuning.SMALL_EXACT if is_exact else tuning.SMALL_ROUGH
    while True:
        for j in range(n):
            products[j] = dot(matrix, wide(j), gradient)
        reads += n
        scale, worst, cost, gap = measured(parts, x, products, room.radius, norm, room.all, room.scores)
        for j in range(n):
            term = term_between(penalty, x[j], wide(j), scale * products[j], scale * products[j])
            gap += positive_part(term) if term < math.inf else 0.0
        gap += sample_gap(sample, loss, predictor, gradient, gradient[:0], scale, 0, d)
        if gap <= tolerance or done >= rounds or not worst < math.inf:
            break
        count = 0
        for j in range(n):
            if room.scores[j] > 0.0:  # free to move, or not optimal
                room.columns[count] = j
                count += 1
        copy(x, room.before)
        for k in range(d):
            room.residual[k], room.weight[k] = gradient[k], curvature[k] + damping * typical
        if not is_exact:  # other curvatures, other products
            room.slot[:] = -1
            room.known[0] = 0
        shift, read, is_hard = minimise_model(matrix, penalty, count, intercept, share_left * worst, room)
        reads += read
        t, predicted, noise = 1.0, 0.0, 4.0 * tuning.OBJECTIVE_ROUNDING * (abs(value) + abs(cost))
        done += 1
        while True:
            start, further, after = constant[0] + t * shift, 0.0, 0.0
            for i in range(count):
                j = wide(room.columns[i])
                x[j] = room.x[i] if t == 1.0 else room.before[j] + t * (room.x[i] - room.before[j])
            for k in range(d):
                room.trial_predictor[k] = start + (offset[k] if offset.size > 0 else 0.0)
            for number in range(n):
                j = wide(number)
                after += penalty.cost(x[j], j)
                if x[j] != 0.0:
                    reads += 1
                    for p in range(matrix.start(j), matrix.stop(j)):
                        room.trial_predictor[matrix.row(p)] += x[j] * matrix.entry(p, j)
            if t == 1.0:
                predicted = after - cost
                for k in range(d):
                    predicted += gradient[k] * (room.trial_predictor[k] - predictor[k])
            if intercept:
                total = best_constant(
                    sample, loss, room.trial_predictor, room.trial_gradient, room.trial_curvature, most, room.search
                )
                further = room.search[0]
            else:
                fill_gradients(sample, loss, room.trial_predictor, 0.0, room.trial_gradient, room.trial_curvature, 0, d)
                total = sum_of_losses(sample, loss, room.trial_predictor, 0.0, 0, d)
            decrease = total + after - value - cost
            if decrease <= (0.0 if is_exact else tuning.ENOUGH_FALL * t * predicted) or abs(decrease) <= noise:
                break
            t *= 0.5
            if t < tuning.SHORTEST_STEP:
                copy(room.before, x)
                return done, reads, value, cost, worst, gap
        constant[0], constant[1], value = start + further, start, total
        copy(room.trial_predictor, predictor)
        copy(room.trial_gradient, gradient)
        copy(room.trial_curvature, curvature)
        damping = 0.25 * damping if t == 1.0 else max(4.0 * damping, 1e-3)
        if is_hard or (abs(decrease) <= noise and is_exact and done > 3):
            rounds = done
    return done, reads, value, cost, worst, gap
