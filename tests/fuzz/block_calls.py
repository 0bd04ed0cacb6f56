"""What the library answers to a case of blocks: ``solve_blocks`` and ``path_blocks``.

The case's ``parameters`` hold the ``groups`` as lists of columns; ``b`` has a column an output, is flat for one target,
or holds the classes of the softmax.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import ascd

from .block_truth import BlockTruth, block_arrays
from .calls import Answer, arguments_of, call, loss_of
from .cases import Array, Case
from .truth import Long
from .twists import twisted

BLOCK_FAMILIES = ("solve_blocks", "path_blocks")


def blocks_of(case: Case) -> tuple[tuple[int, ...], ...]:
    given = case.parameters.get("groups")
    lists = [[j] for j in range(case.shape[1])] if given is None else given
    return tuple(tuple(int(j) for j in columns) for columns in lists)


def outputs_of(case: Case) -> int:
    if case.loss == "softmax":
        return max(2, int(case.b.max()) + 1)
    return 1 if case.b.ndim == 1 else case.b.shape[1]


def block_truth(case: Case, factor: float = 1.0) -> BlockTruth:
    blocks = blocks_of(case)
    arrays = block_arrays(case.penalty, case.parameters, [len(columns) for columns in blocks], factor)
    return truth_with(case, blocks, arrays, bool(case.options.get("intercept", False)))


def truth_with(
    case: Case, blocks: tuple[tuple[int, ...], ...], arrays: dict[str, Array], constants: bool
) -> BlockTruth:
    """The case's data with these blocks and these three numbers each."""
    s = np.ones(len(case.b)) if case.weight is None else np.asarray(case.weight, dtype=Long)
    b = case.b.astype(np.int64) if case.loss == "softmax" else np.asarray(case.b).reshape(len(case.b), -1)
    positive = bool(case.parameters.get("positive", case.options.get("positive", False)))
    return BlockTruth(
        np.asarray(case.A, dtype=float), b, s, case.loss, float(case.threshold), blocks, **arrays, positive=positive,
        has_constants=constants, outputs=outputs_of(case),
    )  # fmt: skip


def flat(x: Any, constants: Any, truth: BlockTruth) -> Array:
    """A point of the judge's: coefficients row by row, and constants where there are some."""
    rows = np.asarray(x, dtype=float).ravel()
    added = np.broadcast_to(np.asarray(constants, dtype=float).ravel(), truth.outputs)
    return np.concatenate([rows, added]) if truth.has_constants else rows


def block_problem(case: Case) -> Any:
    penalty = None if case.penalty == "None" else getattr(ascd, case.penalty)(**case.parameters)
    loss = case.loss if case.loss == "softmax" else loss_of(case)
    b = case.b.astype(np.int64) if case.loss == "softmax" else case.b
    return ascd.Problem(case.matrix(), b, loss, penalty, sample_weight=case.weight)


def _starts(case: Case, truth: BlockTruth) -> tuple[tuple[Array, float], ...]:
    if "x0" not in case.options:
        return ()
    return ((flat(case.options["x0"], case.options.get("intercept0", 0.0), truth), 0.0),)


@call("solve_blocks")
def solve_blocks_case(case: Case) -> Iterator[Answer]:
    first = _solved(case)
    if not case.twist:
        yield first
        return
    other, back = twisted(case)
    second = _solved(other)
    second = replace(second, truth=first.truth, x=back(second.x), again=case.twist == "again")
    yield replace(first, starts=(*first.starts, (second.x, 0.0)))
    yield replace(second, starts=(*first.starts, (first.x, 0.0)))


def _solved(case: Case) -> Answer:
    solution, truth = ascd.solve(block_problem(case), **arguments_of(case)), block_truth(case)
    return Answer(
        truth, flat(solution.x, solution.intercept, truth), 0.0, solution.gap, solution.objective, str(solution.status),
        case.options.get("tol", 1e-6) * solution.zero_objective, solution.zero_objective, starts=_starts(case, truth),
        trace=solution.trace,
    )  # fmt: skip


@call("path_blocks")
def path_blocks_case(case: Case) -> Iterator[Answer]:
    found = ascd.path(block_problem(case), **arguments_of(case))
    tolerance = case.options.get("tol", 1e-6) * found.zero_objective
    for i, alpha in enumerate(found.alphas):
        truth = block_truth(case, float(alpha))
        yield Answer(
            truth, flat(found.coefs[..., i], found.intercepts[..., i], truth), 0.0, float(found.gaps[i]),
            float(found.objectives[i]), str(found.status), tolerance, starts=_starts(case, truth),
        )  # fmt: skip
