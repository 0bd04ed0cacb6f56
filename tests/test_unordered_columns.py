"""Sparse columns whose rows are not sorted answer as if they were."""

from __future__ import annotations

import numpy as np
import pytest
from ascd.matrix.unordered import Unordered, as_they_lie
from scipy import sparse

import ascd
from ascd._core.threads import crew
from ascd.matrix.base import as_block
from ascd.matrix.open import as_local, open_design

RNG = np.random.default_rng(3)


def shuffled(A):
    """The same matrix with the rows of every column in another order."""
    mixed = A.copy()
    for j in range(A.shape[1]):
        span = slice(A.indptr[j], A.indptr[j + 1])
        order = RNG.permutation(span.stop - span.start)
        mixed.indices[span], mixed.data[span] = A.indices[span][order], A.data[span][order]
    return sparse.csc_array((mixed.data, mixed.indices, mixed.indptr), shape=A.shape)


SORTED = sparse.csc_array(sparse.random(70, 40, 0.3, format="csc", random_state=1))
MIXED = shuffled(SORTED)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_question_has_the_same_answer(threads, monkeypatch):
    monkeypatch.setattr("ascd._core.tuning.WORTH_A_THREAD", 1.0)
    plain, loose = as_local(SORTED), open_design(as_they_lie(MIXED))
    assert isinstance(loose, Unordered)
    columns, factors, several = np.arange(0, 40, 2), RNG.standard_normal(20), RNG.standard_normal((20, 3))
    vector, vectors = RNG.standard_normal(70), RNG.standard_normal((70, 3))

    def answers(design):
        image, images, products = np.zeros(70), np.zeros((70, 3)), np.zeros((20, 20), order="F")
        design.add(columns, factors, image)
        design.add_several(columns, several, images)
        places = np.arange(20)
        design.multiplier(False).fill(products, columns, places, places, np.ones(70), None)
        survey = design.survey(1.0, np.empty((0, 70)))
        yield from (image, images, products, survey.square, design.dots(columns, vector))
        yield from (design.dots_with_several(columns, vectors), as_block(design.take(columns), 70))
        yield as_block(design.beside(as_local(SORTED)).take(np.arange(80)), 70)

    with crew(threads):
        for mine, theirs in zip(answers(loose), answers(plain), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_sorted_columns_rows_that_come_twice_and_other_numbers_are_left_to_the_usual_way():
    assert as_they_lie(SORTED) is SORTED
    twice = sparse.csc_array((np.ones(3), np.array([2, 0, 2]), np.array([0, 3])), shape=(3, 1))
    assert as_they_lie(twice) is twice
    single = MIXED.astype(np.float32)
    assert as_they_lie(single) is single
    rows = MIXED.tocsr()
    assert as_they_lie(rows) is rows


@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_support_vector_machine_is_fitted_to_unsorted_rows(C, n_jobs):
    X = sparse.csr_array(sparse.random(300, 20, 0.4, format="csr", random_state=2))
    y = np.where(X @ np.arange(-10.0, 10.0) + RNG.standard_normal(300) > 0.0, 1.0, -1.0)
    mixed = sparse.csr_array(shuffled(sparse.csc_array(X.T)).T)
    assert not mixed.has_sorted_indices
    before = mixed.indices.copy()
    fits = [ascd.LinearSVC(loss="hinge", C=C, tol=1e-9, n_jobs=n_jobs).fit(each, y) for each in (X, mixed)]
    assert fits[1].certificate_.converged
    np.testing.assert_allclose(fits[1].coef_, fits[0].coef_, atol=1e-3 * np.abs(fits[0].coef_).max())
    np.testing.assert_array_equal(mixed.indices, before)


def test_what_is_not_finite_is_named_in_unsorted_rows_too():
    mixed = sparse.csr_array(MIXED.T.copy())
    mixed.data[3] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        ascd.LinearSVC(loss="hinge", fit_intercept=False).fit(mixed, np.where(np.arange(40) % 2, 1.0, -1.0))
