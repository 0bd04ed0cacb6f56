"""What of Dask's is no matrix of numbers: errors that name X, what was given, what is allowed; and lazy predictions."""

from __future__ import annotations

import logging
from functools import partial

import numpy as np
import pytest
from dask_clusters import as_chunks, local_cluster

import ascd

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
import dask.array as da  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 8)) * (RNG.random((90, 8)) < 0.7)
SIGNAL = X[:, 0] - 2.0 * X[:, 3] + 0.3 * RNG.standard_normal(90)


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


def missing():
    import dask.dataframe as dd
    import pandas

    return dd.from_pandas(pandas.DataFrame({"a": [None, *range(89)], "b": 1}, dtype="Int64"), npartitions=2)


def changed(change):
    """Chunks that are not what the array says of them: the second of three."""
    blocks = [da.from_array(part) for part in np.split(X, 3)]
    blocks[1] = blocks[1].map_blocks(change, dtype=float, meta=np.empty((0, 0)))
    return da.concatenate(blocks)


def frame():
    return as_chunks(X, "frame")


NUMBERS, TWO, KIND = "must hold real numbers", "must be two-dimensional", "must be an array or a DataFrame; got dask's"
CHUNK = r"a chunk \(the one at \(1, 0\), counted from 0\) has dtype"
#: What is seen of the collection; what only chunks show; and what only the numbers do.
BAD = {
    "object": (lambda _: da.from_array(X.astype(object), chunks=30), TypeError, f"{NUMBERS}.*dtype object"),
    "complex": (lambda _: da.from_array(X * 1j), TypeError, f"{NUMBERS}.*dtype complex"),
    "text": (lambda _: da.from_array(X).astype("U5"), TypeError, f"{NUMBERS}.*dtype <U5"),
    "text in a frame": (lambda _: frame().assign(town="Zug"), TypeError, f"{NUMBERS}.*'town'"),
    "a vector": (lambda _: da.from_array(SIGNAL), ValueError, rf"{TWO}.*got shape \(90,\); reshape\(-1, 1\)"),
    "a number": (lambda _: da.from_array(X).sum(), ValueError, rf"{TWO}.*got shape \(\)"),
    "series": (lambda _: frame()["x0"], TypeError, rf"{KIND} Series: .*to_frame\(\) make one"),
    "index": (lambda _: frame().index, TypeError, f"{KIND} Index"),
    "scalar": (lambda _: frame()["x0"].sum(), TypeError, f"{KIND} Scalar"),
    "delayed": (lambda _: dask.delayed(X), TypeError, rf"{KIND} Delayed.*: dask\.array\.from_delayed"),
    "future": (lambda client: client.scatter(X), TypeError, rf"{KIND} Future: dask\.array\.from_delayed"),
    "bag": (lambda _: pytest.importorskip("dask.bag").from_sequence([1, 2]), TypeError, f"{KIND} Bag"),
}
BAD_CHUNKS = {
    "no rows": (lambda: da.zeros((0, 3)), ValueError, "must have at least one sample"),
    "no columns": (lambda: da.zeros((3, 0)), ValueError, "must have at least one sample"),
    "other shapes": (
        lambda: changed(lambda block: block[:, :-1]),
        ValueError,
        r"has a chunk of shape \(30, 7\) where the collection says \(30, 8\)",
    ),
    "text": (lambda: changed(lambda block: block.astype("U5")), TypeError, f"{NUMBERS}.*; {CHUNK}"),
    "complex": (lambda: changed(lambda block: block.astype(complex)), TypeError, f"{NUMBERS}.*; {CHUNK}"),
    "dates": (lambda: changed(lambda block: block.astype("M8[s]")), TypeError, f"{NUMBERS}.*; {CHUNK}"),
    "nan": (
        lambda: da.from_array(np.where(X.max() == X, np.nan, X), chunks=30),
        ValueError,
        "must be finite; it has 1",
    ),
    "missing": (lambda: missing(), ValueError, "must be finite; it has 1 nan"),
    "masked": (lambda: da.ma.masked_greater(da.from_array(X, chunks=30), 1.0), ValueError, "must be finite; it has"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_matrix_is_refused_by_fits_and_predictions(client, name):
    model, odds = ascd.Lasso(0.1).fit(X, SIGNAL), ascd.LogisticRegression().fit(X, SIGNAL > 0.0)
    make, kind, words = BAD[name]
    given = make(client)
    ways = [lambda: ascd.Lasso().fit(given, SIGNAL), lambda: ascd.lasso_path(given, SIGNAL)]
    ways += [partial(way, given) for way in (model.predict, odds.predict, odds.predict_proba, odds.decision_function)]
    for way in ways:
        with pytest.raises(kind, match=f"^X {words}"):
            way()
    with pytest.raises(kind, match=f"^A {words}"):
        ascd.Problem(given, SIGNAL)


@pytest.mark.parametrize("name", BAD_CHUNKS)
def test_bad_chunks_are_named(client, name):
    make, kind, words = BAD_CHUNKS[name]
    for fit in (ascd.Lasso(0.1).fit, ascd.Lasso(0.1, standardize=True).fit, ascd.lasso_path):
        with pytest.raises(kind, match=f"^X {words}"):
            fit(make(), SIGNAL)
    if name in ("text", "complex", "dates"):
        with pytest.raises(TypeError, match=rf"^X {NUMBERS}.*; a chunk has dtype"):
            ascd.Lasso(0.1).fit(X, SIGNAL).predict(make()).compute()


def shifted(block, block_info=None):
    return block + block_info[0]["chunk-location"][0]


@pytest.mark.parametrize("width", [8, 3])
def test_a_fit_leaves_the_keys_of_the_chunks_alone(client, width, caplog):
    """Dask joins tasks as it needs them: under the same key others would come back, and it would warn."""
    data = da.from_array(X, chunks=(30, width)).map_blocks(shifted, dtype=float)
    with caplog.at_level(logging.WARNING, "distributed.scheduler"):
        model, problem = ascd.Lasso(0.05).fit(data, SIGNAL), ascd.Problem(data, SIGNAL)
        expected = data.compute() @ model.coef_ + model.intercept_
        np.testing.assert_allclose(model.predict(data).compute(), expected)
        data.mean(axis=0).compute()
        (data @ np.ones(8) - model.predict(data)).sum().compute()
    assert problem.design.executor.chunks
    assert not [one for one in caplog.messages if "run_spec" in one]
