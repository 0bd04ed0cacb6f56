"""What of Dask's is no matrix of numbers: errors that name X, what was given, what is allowed; and lazy predictions."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from dask_clusters import as_chunks, local_cluster

import ascd

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
import dask.array as da  # noqa: E402

pytestmark = pytest.mark.usefixtures("plain_python")
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


def wrong_chunks(block):
    return block[:, :-1]


BAD = {
    "object": (lambda: da.from_array(X.astype(object), chunks=30), TypeError, "real numbers.*dtype object"),
    "complex": (lambda: da.from_array(X * 1j), TypeError, "real numbers.*dtype complex"),
    "object chunks": (
        lambda: da.from_array(X, chunks=(30, 8)).map_blocks(np.ndarray.astype, object, dtype=float),
        TypeError,
        "real numbers.*dtype object",
    ),
    "one dimension": (lambda: da.from_array(SIGNAL), ValueError, "two-dimensional"),
    "three dimensions": (lambda: da.zeros((3, 3, 3)), ValueError, "two-dimensional"),
    "no rows": (lambda: da.zeros((0, 3)), ValueError, "at least one sample"),
    "no columns": (lambda: da.zeros((3, 0)), ValueError, "at least one sample"),
    "other shapes": (
        lambda: da.from_array(X, chunks=(30, 8)).map_blocks(wrong_chunks, dtype=float, chunks=((30, 30, 30), (8,))),
        ValueError,
        r"chunk of shape \(30, 7\) where the collection says \(30, 8\)",
    ),
    "text": (lambda: as_chunks(X, "frame").assign(town="Zug"), TypeError, "real numbers.*'town'"),
    "bag": (lambda: pytest.importorskip("dask.bag").from_sequence([1, 2]), TypeError, "an array or a DataFrame.*Bag"),
    "nan": (lambda: da.from_array(np.where(X.max() == X, np.nan, X), chunks=30), ValueError, "finite; it has 1 nan"),
    "missing": (lambda: missing(), ValueError, "finite; it has 1 nan"),
    "masked": (lambda: da.ma.masked_greater(da.from_array(X, chunks=30), 1.0), ValueError, "must be finite; it has"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(client, name):
    make, kind, words = BAD[name]
    with pytest.raises(kind, match=rf"[AX] (must|has).*{words}|{words}"):
        ascd.Problem(make(), SIGNAL)
    with pytest.raises(kind, match=rf"^X .*{words}|{words}"):
        ascd.Lasso().fit(make(), SIGNAL)


def other_chunks(kind):
    """Chunks that are not what the array says of them: the second of three."""
    blocks = [da.from_array(part) for part in np.split(X, 3)]
    blocks[1] = blocks[1].map_blocks(np.ndarray.astype, kind, dtype=float, meta=np.empty((0, 0)))
    return da.concatenate(blocks)


@pytest.mark.parametrize("kind", ["U5", complex, "M8[s]"])
def test_the_chunk_that_is_not_what_the_array_says_is_named(client, kind):
    words = r"X must hold real numbers.*; a chunk \(the one at \(1, 0\), counted from 0\) has dtype"
    for fit in (ascd.Lasso(0.1).fit, ascd.Lasso(0.1, standardize=True).fit, ascd.lasso_path):
        with pytest.raises(TypeError, match=f"^{words}"):
            fit(other_chunks(kind), SIGNAL)
    lazy = ascd.Lasso(0.1).fit(X, SIGNAL).predict(other_chunks(kind))
    with pytest.raises(TypeError, match=r"^X must hold real numbers.*; a chunk has dtype"):
        lazy.compute()


def no_matrices():
    """Things of Dask's, and what is said of them."""
    frame = as_chunks(X, "frame")
    yield frame["x0"], ValueError, r"two-dimensional.*got dask's Series: its to_frame\(\) is a DataFrame"
    yield frame.index, ValueError, r"two-dimensional.*got dask's Index"
    yield dask.delayed(X), TypeError, r"an array or a DataFrame; got dask's Delayed: dask\.array\.from_delayed\(it,"
    yield dask.delayed(np.asarray)(X), TypeError, "an array or a DataFrame; got dask's Delayed"
    yield frame["x0"].sum(), TypeError, "an array or a DataFrame; got dask's Scalar"
    yield da.from_array(SIGNAL), ValueError, r"two-dimensional.*got shape \(90,\); reshape\(-1, 1\)"
    yield da.from_array(X).sum(), ValueError, r"two-dimensional.*got shape \(\)"
    yield da.from_array(X).astype("U5"), TypeError, "real numbers.*dtype <U5"
    yield frame.assign(town="Zug"), TypeError, "real numbers.*'town'"


def test_what_is_no_matrix_is_refused_by_fits_and_predictions(client):
    model, odds = ascd.Lasso(0.1).fit(X, SIGNAL), ascd.LogisticRegression().fit(X, SIGNAL > 0.0)
    asked = [lambda given: ascd.Lasso().fit(given, SIGNAL), lambda given: ascd.lasso_path(given, SIGNAL)]
    asked += [model.predict, odds.predict, odds.predict_proba, odds.decision_function]
    future = client.scatter(X)
    said = r"an array or a DataFrame; got dask's Future: dask\.array\.from_delayed\(dask\.delayed\(it\)"
    for given, kind, words in [*no_matrices(), (future, TypeError, said)]:
        for ask in asked:
            with pytest.raises(kind, match=f"^X must .*{words}"):
                ask(given)
        with pytest.raises(kind, match=f"^A must .*{words}"):
            ascd.Problem(given, SIGNAL)


def test_vectors_may_be_futures_and_delayed(client):
    expected = ascd.Lasso(0.1).fit(X, SIGNAL, sample_weight=SIGNAL**2).coef_
    found = ascd.Lasso(0.1).fit(
        as_chunks(X, "rows"), client.scatter(SIGNAL), sample_weight=dask.delayed(np.square)(SIGNAL)
    )
    np.testing.assert_allclose(found.coef_, expected, atol=1e-6)


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
