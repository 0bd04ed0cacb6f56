"""Working sets: the blocks that are free to move and the worst violations (Johnson, Guestrin 2015; Massias 2018).

A set has room for twice as many blocks as are free or nonzero, so that few rounds are needed, and for four times as
many where they nearly fill the last set; only blocks that are free or may violate optimality enter.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.solver import tuning
from ascd.solver.check import OptimalityCheck
from ascd.solver.state import State


class WorkingSet:
    """Some blocks, which are the ``rows`` of x and these ``columns`` of the matrix.

    ``target`` is the violation that the set may keep.
    """

    def __init__(self, problem: Any, blocks: Array, target: float = 0.0) -> None:
        self.problem, self.blocks, self.target = problem, blocks, target
        self.groups, self.is_by_coordinate = problem.groups, problem.is_by_coordinate

    @cached_property
    def rows(self) -> Array:
        return self.blocks if self.is_by_coordinate else self.groups.columns(self.blocks)

    @cached_property
    def columns(self) -> Array:
        """Columns of the matrix."""
        return self.blocks if self.is_by_coordinate else self.groups.order[self.rows]

    @cached_property
    def starts(self) -> Array:
        """Where the rows of each block begin among these, and the end."""
        return np.concatenate([[0], np.cumsum(self.groups.sizes[self.blocks])]).astype(np.int64)


class Chooser:
    """Chooses working sets for one penalty.

    Sets grow fast where Gram matrices cost little beside a round; one that ``takes_all`` holds every block.
    """

    def __init__(self, state: State, check: OptimalityCheck, grows_fast: bool, takes_all: bool) -> None:
        self.state, self.check, self.grows_fast = state, check, grows_fast
        self.count = check.bounds.count
        # fewer columns than this are one set
        self.always = state.n if takes_all else max(tuning.LARGEST_SET, state.matrix.at_once)
        self.size = min(max(self.count // 10, tuning.SMALLEST_SET), self.always)
        if not state.terms.is_by_coordinate:
            narrow = 300 * self.count // state.n  # so many blocks have 300 columns
            self.size = min(max(self.size, tuning.LARGEST_SET // 2), max(narrow, tuning.SMALLEST_SET))

    def choose(self, tolerance: float, is_idle: bool) -> WorkingSet:
        """Return the next working set, with its target: what the tolerance needs, or a share of the violation."""
        state, report = self.state, self.check.report
        working = WorkingSet(state.problem, self._blocks())
        if is_idle:  # columns of other scales have small gradients: a share of the largest violation would leave them
            return working
        share = self._share(working)
        # at x = 0 a length that F allows: F over the largest violation
        spread = float(np.abs(state.x[state.support]).sum()) or report.objective / max(report.violation, 1e-300)
        goal = tuning.ENOUGH * tolerance / max(spread, 1e-300)
        is_few = not state.terms.is_by_coordinate and state.x.size < tuning.FEW_COEFFICIENTS
        if is_few and state.loss.is_quadratic:  # sweeps cost little: fits that differ in the order of sums agree
            goal, share = tuning.FINE_SHARE * goal, 0.0
        working.target = max(min(goal, tuning.ENOUGH * report.violation), share * report.violation)
        return working

    def _blocks(self) -> Array:
        state, score = self.state, self.state.terms.score
        if state.n <= self.always:
            self.size = self.count
            return np.arange(self.count)
        blocks = self.check.candidates[score[self.check.candidates] > 0.0]
        is_nonzero = np.isinf(score[blocks])
        if state.terms.is_by_coordinate:
            is_nonzero |= state.x[blocks, 0] != 0.0
        nonzero = int(np.count_nonzero(is_nonzero))
        is_fast = self.grows_fast or nonzero > 0.9 * self.size
        growth = 4 if is_fast else 2
        self.size = min(self.count, max(self.size, growth * nonzero))
        # where columns must be cached, no more than there is memory for, beside the nonzero ones
        self.size = int(min(self.size, max(state.matrix.most_near, nonzero + tuning.LARGEST_SET)))
        if blocks.size > self.size:
            blocks = blocks[np.argpartition(-score[blocks], self.size - 1)[: self.size]]
            blocks.sort()
        if state.matrix.brings_columns and state.terms.is_by_coordinate:
            is_cached, joining = state.matrix.are_near(blocks), state.x[blocks, 0] == 0.0
            # where most of the columns that join are cached, the others are left to the next round
            if 2 * np.count_nonzero(is_cached & joining) >= np.count_nonzero(joining):
                blocks = blocks[is_cached | ~joining]
        return blocks

    def _share(self, working: WorkingSet) -> float:
        """Return the share of the largest violation that the set may keep."""
        state, held = self.state, working.blocks.size
        if not state.loss.is_quadratic:
            return 0.1
        if held == self.count:
            return 0.0
        if state.matrix.brings_columns:  # a round costs more than sweeps
            return tuning.LAST_SHARE
        size = working.rows.size * state.outputs
        # twenty Newton steps that cost less than another pass
        steps = 20.0 * float(size) ** 3 / (3.0 * tuning.BLOCKED_GAIN) + tuning.OVERHEAD
        is_cheap = steps <= state.matrix.entries() * state.outputs
        return tuning.LAST_SHARE if is_cheap and held < self.size else tuning.SHARE
