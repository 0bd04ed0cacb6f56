"""A matrix in chunks: every partition of every problem gives the answer of the whole."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from matrix_answers import check_answers
from solving import LOSSES, make_case

import ascd
from ascd.matrix import costs
from ascd.matrix.chunked import InTurn, WideChunks, add_carefully, add_moments, chunked, moments
from ascd.matrix.dense import Dense, Local, entry_cost
from ascd.matrix.open import open_design
from ascd.matrix.sparse import CSC

RNG = np.random.default_rng(1)
A = RNG.standard_normal((20, 9)) * (RNG.random((20, 9)) < 0.6)
WEIGHT, VECTORS = RNG.random(20), RNG.standard_normal((2, 20))
#: name → where row parts and column parts end, as shares of all
PARTITIONS = {"rows": ([0.3, 0.7], []), "columns": ([], [0.2, 0.5]), "both": ([0.4], [0.3, 0.8]), "whole": ([], [])}
partitions = pytest.mark.parametrize("partition", PARTITIONS)


def cut(A, partition, storage="dense"):
    """A in parts; "mixed" has sparse and dense columns side by side."""
    rows, columns = (
        np.array([0, *(int(share * size) for share in shares), size])
        for shares, size in zip(PARTITIONS[partition], A.shape, strict=True)
    )
    parts = []
    for top, bottom in pairwise(rows):
        for number, (left, right) in enumerate(pairwise(columns)):
            block = A[top:bottom, left:right]
            is_sparse = storage == "sparse" or (storage == "mixed" and number % 2 == 0)
            parts.append(open_design(sp.csr_array(block) if is_sparse else block))
    return chunked(InTurn(parts), rows, columns)


@partitions
@pytest.mark.parametrize("storage", ["dense", "sparse", "mixed"])
@pytest.mark.parametrize("at_once", [0, 2000])
def test_answers_equal_numpys(partition, storage, at_once, monkeypatch):
    """Where row chunks give products of columns, and where columns are fetched."""
    monkeypatch.setattr(costs, "AT_ONCE", at_once)
    check_answers(cut(A, partition, storage), A, np.array([7, 0, 3, 8]))


@partitions
@pytest.mark.parametrize("loss", LOSSES)
def test_every_partition_gives_the_answer_of_the_whole(partition, loss):
    """Every two of partition, loss and penalty meet."""
    turn = (list(PARTITIONS).index(partition) + list(LOSSES).index(loss)) % 4
    penalty, intercept = (("l1", True), ("none", False), ("box", True), ("elastic net, some free", False))[turn]
    case = make_case(loss, penalty, intercept, seed=4)
    expected = ascd.solve(case.problem(), tol=1e-9, intercept=intercept)
    problem = case.problem(cut(case.A, partition, "mixed"))
    found = ascd.solve(problem, tol=1e-9, intercept=intercept)
    assert str(found.status) == str(expected.status)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9, abs=1e-12)
    assert problem.gap(found.x) < np.inf


@pytest.mark.parametrize("scale", [1.0, 1e16])
def test_the_bound_of_a_careful_sum_holds(scale):
    """Products that cancel: the sum of row parts is as good as its bound says."""
    rng = np.random.default_rng(2)
    terms = rng.standard_normal((5, 8)) * scale
    terms[-1] = -terms[:-1].sum(axis=0) + rng.standard_normal(8)
    total, error = add_carefully([(row, np.zeros(8)) for row in terms])
    for j in range(8):
        exact = sum((Fraction(float(value)) for value in terms[:, j]), Fraction(0))
        assert abs(Fraction(float(total[j])) - exact) <= Fraction(float(error[j]))
    assert np.all(error <= 1e-14 * np.abs(total) + 1e-15 * scale)
    bounds = rng.random((5, 8))
    assert np.all(add_carefully([*zip(terms, bounds, strict=True)])[1] >= bounds.sum(axis=0))


def test_moments_of_row_parts_are_those_of_the_whole():
    """Parts whose means differ much, and whose samples do not all count."""
    rng, columns = np.random.default_rng(0), np.arange(3)
    X, weight = rng.standard_normal((30, 3)) + np.repeat([5.0, -3.0, 0.0], 10)[:, None], rng.random(30).round()
    parts = [moments(open_design(X[k : k + 10]), columns, weight[k : k + 10]) for k in (0, 10, 20)]
    found, centred = add_moments(parts), X - np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(found.means, np.average(X, axis=0, weights=weight), rtol=1e-12)
    np.testing.assert_allclose(found.products, centred.T @ (weight[:, None] * centred), rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_named(bad):
    broken = A.copy()
    broken[3, 4] = bad
    with pytest.raises(ValueError, match=r"A must be finite; it has 1 nan or inf"):
        ascd.Problem(cut(broken, "both"), VECTORS[0])


LEFT, RIGHT = open_design(A[:, :5]), open_design(A[:, 5:])
RISE = "the ends of chunks must be integers that rise from 0; got"
UNFIT = {
    "columns short": ([LEFT, RIGHT], [0, 20], [0, 5, 8], "executor: chunk 1 must be a Matrix (see open_design)"),
    "rows long": ([LEFT, RIGHT], [0, 21], [0, 5, 9], "of shape (21, 5); got LocalDense of shape (20, 5)"),
    "a chunk missing": ([LEFT], [0, 20], [0, 5, 9], "the ends of rows and columns ask for 2 chunks; got 1"),
    "an array": ([A], [0, 20], [0, 9], "of shape (20, 9); got ndarray of shape (20, 9)"),
    "foreign memory": ([Local(Dense(A), (20, 12))], [0, 20], [0, 12], "chunk 0: Dense does not fit the shape (20, 12)"),
    "ends not from 0": ([LEFT, RIGHT], [0, 20], [5, 9], f"columns: {RISE} [5, 9]"),
    "fractions": ([LEFT], [0, 20.0], [0, 5], f"rows: {RISE} [0, 20.0]"),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_chunks_that_do_not_fit_are_named(kind):
    chunks, rows, columns, message = UNFIT[kind]
    with pytest.raises(ValueError, match=re.escape(message)):
        chunked(InTurn(chunks), rows, columns)


class Lists(NamedTuple):
    """A sparse storage of one's own: only what is compiled."""

    data: Any
    indices: Any
    indptr: Any
    start, stop, row, entry = CSC.start, CSC.stop, CSC.row, CSC.entry


class LocalLists(Local):
    is_sparse = True


def test_a_sparse_storage_of_ones_own_stands_in_wide_chunks(monkeypatch):
    own = LocalLists(Lists(*open_design(sp.csc_array(A[:, :5])).matrix), (20, 5))
    check_answers(own, A[:, :5])
    assert own.pass_cost() == entry_cost(own.matrix) * 100
    monkeypatch.setattr(costs, "AT_ONCE", 0)
    design = chunked(InTurn([own, RIGHT]), [0, 20], [0, 5, 9])
    assert isinstance(design, WideChunks)
    check_answers(design, A, np.array([7, 0, 3, 8]))
