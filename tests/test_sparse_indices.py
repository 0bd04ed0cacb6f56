"""Indices of sparse matrices that lead outside of them: refused by name, before anybody follows them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import ascd
from ascd._core.checks import check_places
from ascd.io import read_table
from ascd.matrix import costs

D, N = 40, 12
GOOD = sp.random_array((D, N), density=0.4, random_state=0, format="csc")
Y = np.random.default_rng(0).standard_normal(D)
LABELS = np.where(Y > 0.0, 1, -1)


def broken(form, place=5, index=-4, field="indices"):
    A = GOOD.asformat(form).copy()
    getattr(A, field)[place] = index
    return A


BROKEN = {
    "negative row": (broken("csc"), "must have row indices from 0 to 39; {}.indices[5] is -4"),
    "row beyond": (broken("csc", index=D), "must have row indices from 0 to 39; {}.indices[5] is 40"),
    "column beyond": (broken("csr", index=57), "must have column indices from 0 to 11; {}.indices[5] is 57"),
    "negative column": (broken("csr", index=-(2**31)), "column indices from 0 to 11; {}.indices[5] is -2147483648"),
    "row of coo": (broken("coo", index=D, field="row"), "must have row indices from 0 to 39; {}.row[5] is 40"),
    "column of coo": (broken("coo", field="col"), "must have column indices from 0 to 11; {}.col[5] is -4"),
    "falling offsets": (broken("csc", 5, 0, "indptr"), "must have offsets that begin with 0, never fall and end at"),
    "offset beyond": (broken("csr", D, 10**6, "indptr"), "{}.indptr[40] is 1000000"),
    "first offset": (broken("csr", 0, -1, "indptr"), "{}.indptr[0] is -1"),
}
broken_ones = pytest.mark.parametrize(("A", "words"), BROKEN.values(), ids=BROKEN)


@pytest.fixture(params=["small", "large"])
def size(request, monkeypatch):
    """Converted, and read in place."""
    monkeypatch.setattr(costs, "SMALL_DATA", 0 if request.param == "large" else 10**6)


@broken_ones
def test_problems_refuse_them(A, words, size):
    with pytest.raises(ValueError, match="A must have") as caught:
        ascd.Problem(A, Y)
    assert words.format("A") in str(caught.value)
    with pytest.raises(ValueError, match=r"A must have (row|column|offsets)"):
        ascd.Problem(A, Y[:, None])


@broken_ones
def test_estimators_refuse_them_in_fits_and_predictions(A, words, size):
    for model, target in ((ascd.Lasso(0.1), Y), (ascd.LinearSVC(), LABELS), (ascd.Ridge(), Y)):
        with pytest.raises(ValueError, match="X must have") as caught:
            model.fit(A, target)
        assert words.format("X") in str(caught.value)
    with pytest.raises(ValueError, match="X must have"):
        ascd.lasso_path(A, Y)


@pytest.mark.parametrize("classifier", [False, True])
def test_predictions_refuse_them(classifier):
    model = ascd.LogisticRegression() if classifier else ascd.Lasso(0.1)
    model.fit(GOOD, LABELS if classifier else Y)
    for A, _ in BROKEN.values():
        with pytest.raises(ValueError, match="X must have"):
            model.predict(A)


def test_files_with_such_are_named(tmp_path):
    A = broken("csr")
    np.savez(tmp_path / "X.npz", data=A.data, indices=A.indices, indptr=A.indptr, shape=A.shape, format=b"csr", y=Y)
    with pytest.raises(ValueError, match=r"X\.npz is damaged, .*indices\[5\] is -4"):
        read_table(tmp_path / "X.npz")


def test_matrices_that_are_in_order_pass():
    for form in ("csc", "csr", "coo", "bsr", "lil", "dok", "dia"):
        check_places(GOOD.asformat(form))
    wide = sp.csr_array(GOOD)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    check_places(wide)
    check_places(sp.csr_array((3, 0)))
    check_places(np.eye(3))
    blocks = sp.bsr_array(GOOD.toarray(), blocksize=(2, 2))
    blocks.indices[0] = 9
    with pytest.raises(ValueError, match=r"column indices from 0 to 5; A\.indices\[0\] is 9"):
        check_places(blocks)
