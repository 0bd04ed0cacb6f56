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


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("limit", [0, 10**6], ids=["read in place", "converted"])
@pytest.mark.parametrize(("A", "words"), BROKEN.values(), ids=BROKEN)
def test_problems_fits_and_predictions_refuse_them(A, words, limit, monkeypatch):
    monkeypatch.setattr(costs, "SMALL_DATA", limit)
    model = ascd.Lasso(0.1).fit(GOOD.toarray(), Y)
    ways = [lambda: ascd.Problem(A, Y), lambda: ascd.Problem(A, Y[:, None]), lambda: ascd.lasso_path(A, Y)]
    ways += [lambda: ascd.Lasso(0.1).fit(A, Y), lambda: ascd.LinearSVC().fit(A, Y > 0.0), lambda: model.predict(A)]
    for number, way in enumerate(ways):
        with pytest.raises(ValueError, match=r"[AX] must have (row|column|offsets)") as caught:
            way()
        assert words.format("AX"[number > 1]) in str(caught.value)


def test_files_with_such_are_named(tmp_path):
    A = broken("csr")
    np.savez(tmp_path / "X.npz", data=A.data, indices=A.indices, indptr=A.indptr, shape=A.shape, format=b"csr", y=Y)
    with pytest.raises(ValueError, match=r"X\.npz is damaged, .*indices\[5\] is -4"):
        read_table(tmp_path / "X.npz")


def test_matrices_that_are_in_order_pass():
    for form in ("csc", "csr", "coo", "bsr", "lil", "dok", "dia"):
        check_places(GOOD.asformat(form))
    check_places(sp.csr_array((3, 0)))
    check_places(np.eye(3))
    blocks = sp.bsr_array(GOOD.toarray(), blocksize=(2, 2))
    blocks.indices[0] = 9
    with pytest.raises(ValueError, match=r"column indices from 0 to 5; A\.indices\[0\] is 9"):
        check_places(blocks)
