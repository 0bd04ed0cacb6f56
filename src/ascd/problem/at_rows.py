"""What a part of the rows tells of a step, where it lies: losses, slopes, products and curvatures in one answer.

A step leads from x to x' (and from c to c'); its lengths t are tried all at once.  At z = Ax + c, z' = Ax' + c' and

    z_t = z + t·(z' − z),    v_t = ∇f(z_t),    H_t = diag f''(z_t)

a part answers with Σ f_k(z_t), Σ v_t and Aᵀv_t for every t, and with AᵀH_t1 and the moments A_WᵀH_tA_W of one t: the
one that is best for its own rows.  Parts of shuffled data agree on it; where they do not, the sum is still a curvature
between two.  W are columns that may move next.  For t = 1 it tells what a certificate needs (``proof_from_sums``).
Only x, x' and these answers travel: no vector of length d does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unlocked
from ascd.matrix.requests import Moments, add_moments, moments
from ascd.problem.at_samples import evaluate_samples
from ascd.problem.dual_samples import dual_length, unweighted
from ascd.problem.losses.shifted import Shifted
from ascd.problem.precise_gaps import precise_gaps_at
from ascd.problem.problem import Sample


class Rows(NamedTuple):
    """The samples of some rows."""

    sample: Sample
    loss: Any


class Step(NamedTuple):
    """From ``before`` to ``end``, with the ``constants`` c at both; lengths to try (the first is 1) and their costs.

    ``costs`` are the penalties' at each length, for one row: a part of the rows bears its share.  ``scales`` are those
    that a dual point may have.  ``columns`` are those whose moments are asked for, if any; ``by_sign`` asks for dual
    points that sum to zero.
    """

    before: Array
    end: Array
    constants: Array
    lengths: Array
    costs: Array
    scales: Array
    columns: Array
    by_sign: bool


class Look(NamedTuple):
    """What rows tell of a step: for every length the losses, the slopes' sum and products; the moments of one.

    Beside moments of some columns stand the sums of all, weighted by the same curvatures.

    At its end: Σ v²/s, the largest f''; and for all slopes, or for the positive ones and the others, what their sizes
    sum to, their products with the columns, and the samples' part of the gap for every scale.
    """

    losses: Array
    totals: Array
    products: Array
    moments: Moments | None
    sums: Array
    square: float
    most_curved: float
    sizes: Array
    split: Array
    gaps: Array

    @staticmethod
    def together(answers: Sequence[Look]) -> Look:
        found = [one.moments for one in answers if one.moments is not None]
        fields = {name: reduce(add, (getattr(one, name) for one in answers)) for name in ADDED}
        return answers[0]._replace(
            moments=add_moments(found) if found else None, most_curved=max(one.most_curved for one in answers), **fields
        )


#: Fields that add up.
ADDED = ("losses", "totals", "products", "sums", "square", "sizes", "split", "gaps")


def rows_of(sample: Sample, loss: Any, rows: slice) -> Rows:
    """The samples of these rows, to be kept beside their part."""
    weight = sample.weight if np.ndim(sample.weight) == 0 else sample.weight[rows]
    if isinstance(loss, Shifted):  # its targets are numbers of samples
        size = loss.target[rows].size
        return Rows(
            Sample(np.arange(float(size)), weight), loss._replace(target=loss.target[rows], offset=loss.offset[rows])
        )
    return Rows(Sample(sample.target[rows], weight), loss)


def look_at_rows(part: Any, rows: Rows, *given: Any) -> Look:
    """The answer of a part; ``given`` are the fields of a ``Step``."""
    step, (sample, loss) = Step(*given), _writable(rows)
    d, count = part.shape[0], step.lengths.size
    image = _image(part, step.end) + step.constants[1]
    start = _image(part, step.before) + step.constants[0] if count > 1 else image
    losses, slopes, curvatures = np.empty(count), np.empty((count, d)), np.empty((count, d))
    for number, t in enumerate(step.lengths.tolist()):
        there = image if t == 1.0 else start + t * (image - start)
        losses[number] = evaluate_samples(sample, loss, there, slopes[number], curvatures[number], None)[0]
    own = np.nan_to_num(losses + d * step.costs, nan=np.inf)
    curvature = curvatures[int(np.argmin(own))]
    groups = [slopes[0] > 0.0, ~(slopes[0] > 0.0)] if step.by_sign else [np.ones(d, dtype=np.bool_)]
    split = np.array([np.where(group, slopes[0], 0.0) for group in groups])
    weighed, parted = [curvature[None]] * (step.columns.size > 0), [split] * step.by_sign
    products = _dots(part, np.concatenate([slopes, *weighed, *parted]))
    sums = products[count] if weighed else np.zeros(0)
    found = moments(part, step.columns, curvature, sums[step.columns]) if weighed else None
    return Look(
        losses,
        slopes.sum(axis=1),
        products[:count],
        found,
        sums,
        dual_length(slopes[0], sample.weight) ** 2,
        float(unweighted(curvatures[0], sample.weight).max()),
        np.abs(split).sum(axis=1),
        products[-2:] if step.by_sign else products[:1],
        np.array([_gaps(sample, loss, image, slopes[0], group, step.scales) for group in groups]),
    )


def _writable(rows: Rows) -> Rows:
    """Arrays that have travelled may be locked."""
    sample, loss = rows
    weight = sample.weight if np.ndim(sample.weight) == 0 else unlocked(sample.weight)
    if isinstance(loss, Shifted):
        loss = loss._replace(target=unlocked(loss.target), offset=unlocked(loss.offset))
    return Rows(Sample(unlocked(sample.target), weight), loss)


def _image(part: Any, x: Array) -> Array:
    """A·x on the rows of the part."""
    moved, out = np.flatnonzero(x), np.zeros(part.shape[0])
    part.add(moved, x[moved], out)
    return out


def _dots(part: Any, vectors: Array) -> Array:
    """Products of all columns with several vectors, one a row."""
    return np.ascontiguousarray(part.dots_with_several(np.arange(part.shape[1]), vectors.T).T)


def _gaps(sample: Sample, loss: Any, image: Array, slope: Array, group: Array, scales: Array) -> Array:
    """The part that some samples have in the gap, for every scale of the slope."""
    if not group.all():
        weight = sample.weight if np.ndim(sample.weight) == 0 else sample.weight[group]
        sample, image, slope = Sample(sample.target[group], weight), image[group], slope[group]
    return precise_gaps_at(sample, loss, image, slope, scales)
