"""Tables of numbers, sparse blocks and categories: the same answers as one array of them all."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from matrix_answers import check_answers

import ascd
from ascd._core.threads import use_threads
from ascd.matrix.base import as_block

pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
RNG = np.random.default_rng(0)
D = 80
TOWNS = RNG.choice(["Ulm", "Bern", "Basel", None], D)
TEXT = sp.random_array((D, 6), density=0.3, random_state=1, format="csr")


def frame():
    return pandas.DataFrame(
        {
            "age": RNG.uniform(20.0, 60.0, D),
            "height": np.arange(D, dtype=np.float32),
            "weight": np.arange(D, dtype=np.float32) % 7,
            "town": pandas.Categorical(TOWNS),
            "child": np.arange(D) % 3 == 0,
            "grade": pandas.Categorical(np.arange(D) % 5, categories=[4, 3, 2, 1, 0, 9]),
            "visits": pandas.array([None if k == 4 else k % 9 for k in range(D)], dtype="Int64"),
        }
    )


def dense(data):
    """What pandas makes of it, a column a level."""
    return pandas.get_dummies(data, dtype=float, prefix_sep="=").reindex(columns=ascd.Table(data).feature_names)


def whole():
    data = frame().drop(columns="visits")
    blocks = ascd.Table({"frame": data, "text": TEXT, "last": np.arange(D) / D})
    return blocks, np.column_stack([dense(data).to_numpy(float), TEXT.toarray(), np.arange(D) / D])


def test_a_frame_is_one_column_a_number_and_one_a_level():
    data = frame().drop(columns="visits")
    table = ascd.Table(data)
    assert table.feature_names == [
        "age", "height", "weight", "town=Basel", "town=Bern", "town=Ulm", "child",
        "grade=4", "grade=3", "grade=2", "grade=1", "grade=0", "grade=9",
    ]  # fmt: skip
    assert table.shape == (D, 13)
    assert len(table) == D
    assert table.levels == {"town": ["Basel", "Bern", "Ulm"], "grade": [4, 3, 2, 1, 0, 9]}
    np.testing.assert_array_equal(as_block(table.as_design().take(np.arange(13)), D), dense(data).to_numpy(float))
    assert repr(table) == "Table(80 x 13: dense, dense, sparse, dense, sparse)"
    assert ascd.Table(data.astype({"town": object})).levels == table.levels  # text is a category


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_answers_equal_numpys(n_jobs, monkeypatch):
    monkeypatch.setattr("ascd._core.threads.WORTH_A_THREAD", 1e-9)
    table, A = whole()
    design = table.as_design()
    with use_threads(n_jobs):
        check_answers(design, A, np.array([4, 0, 3, 8, 15]))
        check_answers(table._columns[2].part, A[:, 3:6])  # a category by itself
    assert design.entries(np.array([3, 4, 5])) == np.count_nonzero(A[:, 3:6])


def test_fits_equal_those_of_an_array(monkeypatch):
    table, A = whole()
    y = A[:, 0] / 20.0 + 2.0 * A[:, 3] - A[:, 8] + RNG.standard_normal(D)
    plain, found = ascd.Lasso(0.05, tol=1e-9).fit(A, y), ascd.Lasso(0.05, tol=1e-9).fit(table, y)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(found.predict(table), plain.predict(A), atol=1e-3)
    assert list(found.feature_names_in_) == table.feature_names
    assert found.certificate_.gap <= found.certificate_.tolerance
    problem = ascd.Problem(table, y, penalty=ascd.L1(3.0))
    assert ascd.solve(problem).objective == pytest.approx(ascd.solve(problem.replace()).objective)
    found = ascd.solve(problem)
    assert ascd.minimize(problem, tol=1e-8).objective == pytest.approx(found.objective, rel=1e-5)


def test_new_data_get_the_levels_of_the_fit():
    data = frame().drop(columns="visits")
    table = ascd.Table(data)
    new = pandas.DataFrame({**data.iloc[:3], "town": ["Ulm", "Chur", None], "grade": [9, 0, 7]})
    like = ascd.Table(new, like=table)
    assert like.feature_names == table.feature_names
    block = as_block(like.as_design().take(np.arange(13)), 3)
    np.testing.assert_array_equal(block[:, 3:6], [[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(block[:, 7:], [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0]])
    model = ascd.Lasso(0.1).fit(table, np.arange(D) + RNG.random(D))
    assert model.predict(like).shape == (3,)
    with pytest.raises(ValueError, match=r"feature 3 was 'town=Basel', here it is 'town=Bern'|X has \d+ features"):
        model.predict(ascd.Table(new.assign(town=new["town"].astype("category"), grade=pandas.Categorical([4, 4, 4]))))


BAD = [
    (lambda: ascd.Table(frame().assign(day=pandas.Timestamp(0))), TypeError, "column 'day' .* for dates, as days"),
    (lambda: ascd.Table([np.ones((3, 1)), np.ones((4, 2))]), ValueError, r"of rows; got '0': 3, '1\[0\]': 4"),
    (lambda: ascd.Table([]), ValueError, "at least one column"),
    (lambda: ascd.Table(frame()[["age", "age"]]), ValueError, "'age' is there twice"),
    (lambda: ascd.Table(frame(), like=3), TypeError, "like must be an ascd.Table; got int"),
    (lambda: ascd.Table(frame()[["age"]], like=ascd.Table(frame())), ValueError, "lacks 'height'"),
    (lambda: ascd.Table(frame()[["age"]], like=ascd.Table(frame()[["weight"]])), ValueError, "has 'age' besides"),
    (lambda: ascd.Table(frame()[["age", "child"]], like=ascd.Table(frame()[["child", "age"]])), ValueError, "order"),
    (lambda: ascd.Table(pandas.DataFrame({"c": pandas.Categorical([None, None])})), ValueError, "'c' has no level"),
    (
        lambda: ascd.Problem(ascd.Table(frame()), np.ones(D)),
        ValueError,
        "A must be finite; it has 1 nan.*column.*'visits'",
    ),
    (lambda: ascd.Table([[1.0, "x"]]), TypeError, "block '0' must be an array.* of real numbers; got list of dtype <U"),
    (lambda: ascd.Table(None), TypeError, "block '0' must be an array, a sparse matrix, .*; got NoneType$"),
    (lambda: ascd.Table([np.ones((3, 1)), "abc"]), TypeError, "block '1' must be .*; got str of dtype <U3"),
    (lambda: ascd.Table({"w": np.ones((2, 3, 4))}), ValueError, r"blocks: block 'w' must be two-dim.* \(2, 3, 4\)"),
    (
        lambda: ascd.Table([ascd.Problem(np.eye(2), np.ones(2))]),
        TypeError,
        "block '0' must be an array.*; got Problem$",
    ),
]


@pytest.mark.parametrize(("make", "error", "words"), BAD)
def test_wrong_input_is_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("name", ["Lasso", "LogisticRegression"])
def test_a_model_of_a_table_predicts_from_a_frame(name):
    """Columns by their names, categories by their values; what the fit has not seen belongs to no level."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"age": rng.standard_normal(20), "town": pandas.Categorical(np.arange(20) % 3 + 5)})
    y = (frame["age"] + frame["town"].astype(int) > 6.0).to_numpy() * 1.0
    table = ascd.Table({"people": frame})
    model = getattr(ascd, name)(**({"alpha": 0.01} if name == "Lasso" else {})).fit(table, y)
    new = pandas.DataFrame({"other": 1.0, "town": [6, 7, 99], "age": [0.5, -0.5, 1.0]})
    expected = model.predict(ascd.Table({"people": new[["age", "town"]]}, like=table))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(new), expected)
    assert len(pickle.dumps(model)) < 5000
    with pytest.raises(ValueError, match="X lacks 1 columns of the table that was fitted, the first 'age'"):
        model.predict(new.drop(columns="age"))
    assert model.fit(frame[["age"]], y)._table is None
