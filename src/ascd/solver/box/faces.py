"""Newton steps on the coordinates strictly inside their box, by conjugate gradients.

On those the problem is smooth: AᵀHA·Δ = −g on the face.  Where the step leaves the box, the coordinates that leave stop
at their ends, and the next face is without them.  The step as a whole is kept if the objective has fallen; sweeps find
the right face, so a step that failed only means that it was too early.

Reading a face once for each side of a product is all that this costs: the caller gives it so many reads as it has spent
on sweeps, and waits longer after every failure.
"""

from __future__ import annotations

from typing import Any

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd.matrix.columns import dot
from ascd.solver.column_model import move_slope
from ascd.solver.tuning import FACE_ACCURACY, FACE_LEFT, FEWEST_FACE_STEPS


@kernel
def free_of(penalty: Any, x: Array, order: Array, awake: int, free: Array) -> int:
    """List the coordinates awake that are strictly inside their box."""
    count = 0
    for a in range(awake):
        j = wide(order[a])
        free[count] = j
        count += at(penalty.lower, j) < x[j] < at(penalty.upper, j)
    return count


@kernel
def descend_faces(
    penalty: Any, matrix: Any, lipschitz: Array, weight: Any, slope: Array, x: Array, face: Array, work: Array,
    image: Array, budget: int,
) -> int:  # fmt: skip
    """Conjugate gradients on smaller and smaller faces, at most ``budget`` reads of them; the columns read.

    The face shrinks where it stands; ``work`` and ``image`` are room for what is needed meanwhile.
    """
    size, reads, steps, first = face.size, 0, 0, -1.0
    change, left, way = work[0], work[1], work[2]
    while steps < budget and size > 0:
        length = begin(penalty, matrix, lipschitz, slope, x, face, size, change, left, way)
        first = length if first < 0.0 else first
        steps, reads, out, done = steps + 1, reads + size, 0, 0
        while steps < budget and length > FACE_ACCURACY * first:
            image[:] = 0.0
            bend = 0.0
            for i in range(size):
                j = wide(face[i])
                move_slope(matrix, j, way[i], weight, image)
                bend += at(penalty.l2, j) * way[i] * way[i]
            for k in range(image.size):
                bend += image[k] * image[k] / at(weight, k) if image[k] != 0.0 else 0.0
            if not bend > 0.0:
                break
            t, length_before, length, out = length / bend, length, 0.0, 0
            for k in range(image.size):
                slope[k] += t * image[k]
            for i in range(size):
                j = wide(face[i])
                left[i] -= t * (dot(matrix, j, image) + at(penalty.l2, j) * way[i])
                change[i] += t * way[i]
                out += not (at(penalty.lower, j) < x[j] + change[i] < at(penalty.upper, j))
            for i in range(size):
                length += left[i] * left[i] / lipschitz[face[i]]
            for i in range(size):
                way[i] = left[i] / lipschitz[face[i]] + length / length_before * way[i]
            steps, reads, done = steps + 2, reads + 2 * size, done + 1
            if out > FACE_LEFT * size and done >= FEWEST_FACE_STEPS:
                break
        size = stop_at_ends(penalty, matrix, weight, slope, x, face, size, change)
        if out == 0:
            break
    return reads


@helper
def begin(
    penalty: Any, matrix: Any, lipschitz: Array, slope: Array, x: Array, face: Array, size: int, change: Array,
    left: Array, way: Array,
) -> float:  # fmt: skip
    """The residuals −g on a face, the first direction, and the residuals' length in the norm of the preconditioner."""
    length = 0.0
    for i in range(size):
        j = wide(face[i])
        change[i] = 0.0
        left[i] = -(dot(matrix, j, slope) + at(penalty.linear, j) + at(penalty.l2, j) * x[j])
        way[i] = left[i] / lipschitz[j]
    for i in range(size):
        length += left[i] * way[i]
    return length


@helper
def stop_at_ends(
    penalty: Any, matrix: Any, weight: Any, slope: Array, x: Array, face: Array, size: int, change: Array
) -> int:
    """Move x; those that leave the box stop at its ends, and the slope follows.  How many are left on the face."""
    kept = 0
    for i in range(size):
        j = wide(face[i])
        there = x[j] + change[i]
        inside = max(at(penalty.lower, j), min(at(penalty.upper, j), there))
        if inside != there:
            move_slope(matrix, j, inside - there, weight, slope)
        x[j] = inside
        face[kept] = j
        kept += at(penalty.lower, j) < inside < at(penalty.upper, j)
    return kept


@kernel
def objective_rises(
    penalty: Any, weight: Any, before: Array, slope: Array, x: Array, free: Array, start: Array
) -> bool:
    """Has ½‖v‖² (in the norm of 1/H) plus the penalty not fallen?"""
    change = 0.0
    for k in range(slope.size):
        if slope[k] != before[k]:
            change += 0.5 * (slope[k] - before[k]) * (slope[k] + before[k]) / at(weight, k)
    for i in range(free.size):
        change += penalty.cost(x[free[i]], free[i]) - penalty.cost(start[i], free[i])
    return not change < 0.0
