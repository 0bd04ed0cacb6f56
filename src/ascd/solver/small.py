"""Small problems in one compiled call.

A small table is solved in less time than the Python code between kernels would take.  So the rounds of a problem by
coordinate run without it:

repeat
    gradient   of all coordinates, and an estimate of the gap: the end where it is small enough
    model      sweeps over the coordinates that violate optimality, Newton steps on those that are free to move
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
from ascd.problem.arithmetic import norm, violation_of
from ascd.problem.penalties import piece
from ascd.problem.samples import Curvature, begin_search, best_constant, fill_gradients, sample_gap
from ascd.problem.terms import positive_part, term_between
from ascd.solver.state import Evaluation, State
from ascd.solver.sweeps import curvatures_in, move_gradient, sweep_blocks
from ascd.solver.tuning import (
    CANCELS,
    CONSTANT,
    ENOUGH_FALL,
    OBJECTIVE_ROUNDING,
    ROUNDING_FLOOR,
    SHORTEST_STEP,
    SMALL_BLOCK_SWEEPS,
    SMALL_COLUMNS,
    SMALL_CUTS,
    SMALL_CYCLES,
    SMALL_ENTRIES,
    SMALL_EXACT,
    SMALL_FINE,
    SMALL_FREE,
    SMALL_NEWTON_STEPS,
    SMALL_PRODUCTS,
    SMALL_ROUGH,
    SMALL_ROUNDS,
    SMALL_SWEEP_PRODUCTS,
    SMALL_SWEEPS,
    SMALL_WIDTH,
)


class Found(NamedTuple):
    """What the compiled call has done: rounds, columns read, the sum of losses, the largest violation and the gap."""

    rounds: int
    reads: int
    value: float
    cost: float
    violation: float
    gap: float


def is_small(problem: Any) -> bool:
    """Return whether a problem is in memory, has few entries, and is by coordinate or least squares on few columns."""
    design = problem.design
    if design.matrix is None or design.entries() > SMALL_ENTRIES:
        return False
    if problem.is_by_coordinate:
        return problem.n_features <= SMALL_WIDTH
    return bool(problem.loss.is_quadratic and problem.n_features <= SMALL_COLUMNS)


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
            state.matrix.matrix, loss.sample, loss.loss, state.penalty, parts.norm, x, constant, state.intercept,
            loss.most, predictor, gradient, curvature, products, seen.value, tolerance, min(most_rounds, SMALL_ROUNDS),
            parts.offset, *make_room(state.n, state.d),
        )
    )  # fmt: skip
    state.reads += found.reads
    if found.gap > tolerance and not loss.is_quadratic:  # little curvature, say: the loop begins where this call did
        return found._replace(rounds=0, gap=math.inf), products[:, None]
    if found.rounds:
        own = curvature[:, None]
        there = Evaluation(predictor[:, None], found.value, gradient[:, None], Curvature(own, None, curvature))
        has_cancelled = abs(constant[1]) > CANCELS * abs(constant[0])
        state.set(x[:, None], constant[:1].copy(), there, not has_cancelled)
    return found, products[:, None]


def _minimise_blocks(state: State, tolerance: float) -> tuple[Found, Array]:
    """Minimise least squares over all blocks by sweeps on their Gram matrix, unless the point is good enough."""
    problem, outputs, n, seen = state.problem, state.outputs, state.n, state.seen
    blocks, starts = np.arange(problem.groups.count), problem.groups.starts
    columns = as_block(problem.design.take(state.order), state.d)
    gradient, x, radius = columns.T @ seen.raw_gradient, state.x.copy(), np.zeros(blocks.size)
    state.reads += n
    now = state.terms.measure(x, gradient, radius, blocks)
    gap = state.terms.quick_gap(x, gradient, radius, blocks, now.scale)[0] + now.infeasible
    gap += state.loss.gap(seen.predictor, seen.raw_gradient, np.empty(0), now.scale)
    if gap <= tolerance:
        return Found(0, n, seen.value, now.cost, now.violation, gap), gradient
    weight, means = np.ascontiguousarray(seen.curvature.own[:, 0]), np.zeros(n)
    if state.intercept and weight.any():
        means = weight @ columns / weight.sum()
    scaled = np.sqrt(weight)[:, None] * (columns - means)
    gram = scaled.T @ scaled
    rounding = ROUNDING_FLOOR * norm(seen.raw_gradient) * float(problem.block_norm.max())
    most = int(min(max(SMALL_SWEEP_PRODUCTS / (n * n * outputs), 10), SMALL_BLOCK_SWEEPS))
    target = max(SMALL_FINE * now.violation, rounding)
    sweep_blocks(
        state.penalty, gram, gradient.ravel(), x.ravel(), starts, blocks, curvatures_in(gram, starts),
        np.empty(state.terms.longest), outputs, target, most,
    )  # fmt: skip
    start = state.constant - means @ (x - state.x)
    there, moved = state.evaluate_at(columns @ x + (start + problem.offset))
    state.reads += 2 * n
    if not there.value + state.terms.cost(x) <= seen.value + now.cost:
        return Found(0, 3 * n, seen.value, now.cost, now.violation, math.inf), gradient
    has_cancelled = bool(np.any(np.abs(start) > CANCELS * np.abs(start + moved)))
    state.set(x, start + moved, there, not has_cancelled)
    gradient = columns.T @ there.raw_gradient
    now = state.terms.measure(x, gradient, radius, blocks)
    return Found(1, 3 * n, there.value, now.cost, now.violation, 0.0), gradient


def make_room(n: int, d: int) -> tuple[Array, ...]:
    """Return the work space of a compiled call: compiled code allocates nothing."""
    most = int(min(n, SMALL_FREE, math.sqrt(SMALL_PRODUCTS / d) + 1.0))
    whole = np.empty(n, dtype=np.int64), np.empty(2 * most, dtype=np.int64), np.full(n, -1), np.zeros(1, dtype=np.int64)
    by_column, by_sample, search = np.empty((4, n)), np.zeros((6, d)), np.empty(5)
    return *whole, by_column, by_sample, np.empty((most, most + 1)), np.empty((most + 3, most)), search


@helper
def measure(
    sample: Any, loss: Any, penalty: Any, norm: Array, x: Array, products: Array, predictor: Array, gradient: Array
) -> tuple[float, float, float]:
    """Return the cost, the largest violation and the gap, as ``OptimalityCheck`` estimates it."""
    scale, worst, cost, gap = 1.0, 0.0, 0.0, 0.0
    for number in range(x.size):
        j = wide(number)
        low, high = penalty.subgradient(x[j], j)
        violation = violation_of(low, high, products[j])
        worst = max(worst, violation)
        cost += penalty.cost(x[j], j)
        if violation > 0.0:
            fits = penalty.dual_scale(-products[j], j)
            if fits > 0.0:
                scale = min(scale, fits)
            else:
                gap += violation * (abs(x[j]) + violation / max(norm[j] * norm[j], 1e-300))
    for number in range(x.size):
        j = wide(number)
        term = term_between(penalty, x[j], j, scale * products[j], scale * products[j])
        gap += positive_part(term) if term < math.inf else 0.0
    return cost, worst, gap + sample_gap(sample, loss, predictor, gradient, gradient[:0], scale, 0, predictor.size)


@helper
def prepare_columns(
    matrix: Any, columns: Array, weight: Array, intercept: bool, lipschitz: Array, means: Array
) -> float:
    """Fill in curvatures and means of columns, weighted; return the sum of the weights (0 without an intercept)."""
    total = 0.0
    if intercept:
        for k in range(weight.size):
            total += weight[k]
    for i in range(columns.size):
        j, square, first = wide(columns[i]), 0.0, 0.0
        for p in range(matrix.start(j), matrix.stop(j)):
            entry = matrix.entry(p, j)
            weighted = weight[matrix.row(p)] * entry
            square += weighted * entry
            first += weighted
        means[i] = first / total if total > 0.0 else 0.0
        varying = square - total * means[i] * means[i]
        lipschitz[i] = varying if varying > CONSTANT * square else square
        lipschitz[i] = lipschitz[i] if lipschitz[i] > 1e-300 else 1.0
    return total


@helper
def sweep_small(
    matrix: Any, penalty: Any, columns: Array, count: int, lipschitz: Array, means: Array, total: float, weight: Array,
    residual: Array, offset: float, x: Array, target: float, before: float,
) -> tuple[float, float, int]:  # fmt: skip
    """Go through the first ``count`` columns once.

    Those further inside their rest than any violation ``before`` are left out of the sweeps to come.  Returns the
    largest violation met, how far the constant has moved in all, and how many columns are left.
    """
    worst, left = 0.0, 0
    for i in range(count):
        j, mean = wide(columns[i]), means[i]
        g = dot(matrix, j, residual) + offset * total * mean
        low, high = penalty.subgradient(x[j], j)
        violation = violation_of(low, high, g)
        if violation > 0.1 * target:
            worst = max(worst, violation)
            new = penalty.prox(x[j] - g / lipschitz[i], 1.0 / lipschitz[i], j)
            change = new - x[j]
            if change != 0.0:
                x[j] = new
                move_gradient(matrix, j, change, weight, residual)
                offset -= change * mean
        columns[left], lipschitz[left], means[left] = j, lipschitz[i], mean
        left += 0 if violation < -before else 1
    return worst, offset, left


@helper
def solve_by_cholesky(system: Array, right: Array) -> bool:
    """Solve system·z = right in place, for a positive definite matrix in its lower half; False where it is not."""
    size = right.size
    for i in range(size):
        for j in range(i + 1):
            rest = system[i, j]
            for k in range(j):
                rest -= system[i, k] * system[j, k]
            if i == j:
                if not rest > 1e-14 * system[i, i]:
                    return False
                system[i, i] = math.sqrt(rest)
            else:
                system[i, j] = rest / system[j, j]
    for i in range(size):
        rest = right[i]
        for k in range(i):
            rest -= system[i, k] * right[k]
        right[i] = rest / system[i, i]
    for i in range(size - 1, -1, -1):
        rest = right[i]
        for k in range(i + 1, size):
            rest -= system[k, i] * right[k]
        right[i] = rest / system[i, i]
    return True


@helper
def add_gram_row(
    matrix: Any, j: int, mean: float, total: float, weight: Array, members: Array, size: int, gram: Array, room: Array
) -> None:
    """Fill in row ``size`` of the Gram matrix: the products of column j with the members, and with itself."""
    members[size], last = j, gram.shape[1] - 1
    gram[size, last] = mean
    scatter(matrix, j, weight, room)
    for b in range(size + 1):
        gram[size, b] = dot(matrix, wide(members[b]), room) - total * mean * gram[b, last]
    clear(matrix, j, room)


@helper
def newton_small(
    matrix: Any, penalty: Any, columns: Array, count: int, means: Array, total: float, weight: Array, residual: Array,
    offset: float, x: Array, free: Array, slot: Array, known: Array, gram: Array, system: Array, room: Array,
) -> tuple[int, float, int]:  # fmt: skip
    """Take a Newton step on the free coordinates as far as all stay inside their pieces.

    Returns what became of it (0: taken whole, 1: cut at the end of a piece, 2: too many are free), how far the constant
    has moved in all, and the columns read.  ``known`` counts the columns whose products are in ``gram``.
    """
    most, size, reads = system.shape[1], 0, 0
    for i in range(count):
        j = wide(columns[i])
        _, low, high = piece(penalty, x[j], j)
        if low < high:
            if size == most or (slot[j] < 0 and known[0] == most):
                return 2, offset, reads
            if slot[j] < 0:
                slot[j] = known[0]
                add_gram_row(matrix, j, means[i], total, weight, free[most:], known[0], gram, room)
                known[0] += 1
                reads += 1
            free[size] = j
            size += 1
    if size == 0:
        return 0, offset, reads
    right, lowest, highest = system[most, :size], system[most + 1], system[most + 2]
    for a in range(size):
        j = wide(free[a])
        mean = gram[slot[j], most]
        curvature, lowest[a], highest[a] = piece(penalty, x[j], j)
        derivative, _ = penalty.subgradient(x[j], j)
        right[a] = -(dot(matrix, j, residual) + offset * total * mean + derivative)
        for b in range(a + 1):
            one, other = slot[j], slot[wide(free[b])]
            system[a, b] = gram[max(one, other), min(one, other)]
        system[a, a] += curvature
    if not solve_by_cholesky(system, right):
        return 0, offset, reads + size
    step, first = 1.0, -1
    for a in range(size):
        here = x[wide(free[a])]
        end = highest[a] if right[a] > 0.0 else lowest[a]
        if not abs(right[a]) < math.inf:
            return 0, offset, reads + size
        if (right[a] > 0.0 and here + step * right[a] > end) or (right[a] < 0.0 and here + step * right[a] < end):
            step, first = (end - here) / right[a], a
    for a in range(size):
        j = wide(free[a])
        there = highest[a] if right[a] > 0.0 else lowest[a]
        there = there if a == first else min(max(x[j] + step * right[a], lowest[a]), highest[a])
        change = there - x[j]
        x[j] = there
        move_gradient(matrix, j, change, weight, residual)
        offset -= change * gram[slot[j], most]
    return 1 if first >= 0 else 0, offset, reads + 2 * size


@helper
def minimise_model(
    matrix: Any, penalty: Any, columns: Array, weight: Array, intercept: bool, residual: Array, x: Array, target: float,
    lipschitz: Array, means: Array, free: Array, slot: Array, known: Array, gram: Array, system: Array, room: Array,
) -> tuple[float, int, bool]:  # fmt: skip
    """Minimise the quadratic model on these columns.

    Returns the change of the constant, the columns read, and whether that takes more than these few steps.
    """
    total = prepare_columns(matrix, columns, weight, intercept, lipschitz, means)
    offset, reads, count, worst = 0.0, columns.size, columns.size, math.inf
    for _ in range(SMALL_CYCLES):
        for _ in range(SMALL_SWEEPS):
            reads += count
            worst, offset, count = sweep_small(
                matrix, penalty, columns, count, lipschitz, means, total, weight, residual, offset, x, target, worst
            )
            if worst <= target:
                return offset, reads, False
        for _ in range(SMALL_NEWTON_STEPS):
            end, offset, read = newton_small(
                matrix, penalty, columns, count, means, total, weight, residual, offset, x, free, slot, known, gram,
                system, room,
            )  # fmt: skip
            reads += read
            if end == 2:
                return offset, reads, True
            if end == 0:
                break
    return offset, reads, True


@helper
def copy(source: Array, target: Array) -> None:  # an assignment of arrays would allocate
    for i in range(target.size):
        target[i] = source[i]


@helper
def list_violations(penalty: Any, x: Array, products: Array, columns: Array) -> int:
    """List the coordinates that violate optimality or are free to move; return their number."""
    count = 0
    for j in range(x.size):
        low, high = penalty.subgradient(x[j], j)
        if low == high or violation_of(low, high, products[j]) > 0.0:
            columns[count] = j
            count += 1
    return count


@helper
def predict(matrix: Any, penalty: Any, x: Array, constant: float, offset: Array, predictor: Array) -> tuple[float, int]:
    """Fill in o + Ax + c; return the cost of x, and the columns read."""
    cost, reads = 0.0, 0
    predictor[:] = constant
    for k in range(offset.size):
        predictor[k] += offset[k]
    for number in range(x.size):
        j = wide(number)
        cost += penalty.cost(x[j], j)
        if x[j] != 0.0:
            reads += 1
            for p in range(matrix.start(j), matrix.stop(j)):
                predictor[matrix.row(p)] += x[j] * matrix.entry(p, j)
    return cost, reads


@kernel
def minimise_compiled(
    matrix: Any, sample: Any, loss: Any, penalty: Any, norm: Array, x: Array, constant: Array, intercept: bool,
    most: float, predictor: Array, gradient: Array, curvature: Array, products: Array, value: float, tolerance: float,
    rounds: int, offset: Array, columns: Array, free: Array, slot: Array, known: Array, by_column: Array,
    by_sample: Array, gram: Array, system: Array, search: Array,
) -> tuple[int, int, float, float, float, float]:  # fmt: skip
    """Fill in x, the constant and what follows from them; see ``Found`` for what is returned."""
    n, d, is_exact = x.size, predictor.size, loss.is_quadratic()
    lipschitz, means, old, new = by_column[0], by_column[1], by_column[2], by_column[3]
    weight, residual, there = by_sample[0], by_sample[1], by_sample[2]
    steep, bent, room = by_sample[3], by_sample[4], by_sample[5]
    damping, done, reads, cuts, cost, worst, gap = 0.0, 0, 0, 0, 0.0, 0.0, math.inf
    typical, share_left = most / d if most < math.inf else 1.0, SMALL_EXACT if is_exact else SMALL_ROUGH
    while True:
        for j in range(n):
            products[j] = dot(matrix, wide(j), gradient)
        reads += n
        cost, worst, gap = measure(sample, loss, penalty, norm, x, products, predictor, gradient)
        if gap <= tolerance or done >= rounds or not worst < math.inf:
            break
        count = list_violations(penalty, x, products, columns)
        copy(x, old)
        copy(x, new)
        copy(gradient, residual)
        for k in range(d):
            weight[k] = curvature[k] + damping * typical
        if not is_exact:  # other curvatures, other products
            slot[:] = -1
            known[0] = 0
        shift, read, is_hard = minimise_model(
            matrix, penalty, columns[:count], weight, intercept, residual, new, share_left * worst, lipschitz, means,
            free, slot, known, gram, system, room,
        )  # fmt: skip
        reads += read
        t, predicted, noise = 1.0, 0.0, 4.0 * OBJECTIVE_ROUNDING * (abs(value) + abs(cost))
        done += 1
        while True:
            for j in range(n):
                x[j] = new[j] if t == 1.0 else old[j] + t * (new[j] - old[j])
            start, further = constant[0] + t * shift, 0.0
            after, read = predict(matrix, penalty, x, start, offset, there)
            reads += read
            if t == 1.0:
                predicted = after - cost
                for k in range(d):
                    predicted += gradient[k] * (there[k] - predictor[k])
            if intercept:
                begin_search(search, 0.0)
                total = best_constant(sample, loss, there, steep, bent, most, search)
                further = search[0]
            else:
                total, _, _, _ = fill_gradients(sample, loss, there, 0.0, steep, bent, 0, d)
            decrease = total + after - value - cost
            if decrease <= (0.0 if is_exact else ENOUGH_FALL * t * predicted) or abs(decrease) <= noise:
                break
            t *= 0.5
            if t < SHORTEST_STEP:
                copy(old, x)
                return done, reads, value, cost, worst, gap
        constant[0], constant[1], value = start + further, start, total
        copy(there, predictor)
        copy(steep, gradient)
        copy(bent, curvature)
        cuts += t < 1.0
        damping = 0.25 * damping if t == 1.0 else max(4.0 * damping, 1e-3)
        is_rounding = abs(decrease) <= noise and is_exact and done > 3
        if is_hard or cuts > SMALL_CUTS or is_rounding:
            rounds = done
    return done, reads, value, cost, worst, gap
