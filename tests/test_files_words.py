"""Text columns of data files: codes in memory, and the answers of the 0/1 columns that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
pytest.importorskip("click", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

from ascd.cli.models import load_model  # noqa: E402
from ascd.cli.reading import complete  # noqa: E402
from ascd.estimators._deviations import moments  # noqa: E402
from ascd.files import Choices, Recipe, read_table  # noqa: E402
from ascd.files.mixed import GONE, NONE, Mixed, Numbers, Words, in_order  # noqa: E402
from ascd.matrix.base import as_block  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")
D = 30
TOWNS = ("Basel", "Bern", "Chur", "Genf")


def frames(gaps=False):
    """A table with two text columns, and the same one with columns of 0 and 1 in their places."""
    rng = np.random.default_rng(3)
    town, sure = rng.choice(TOWNS, D).astype(object), rng.choice(["no", "yes"], D).astype(object)
    numbers = {"rooms": rng.integers(1, 6, D).astype(float), "age": rng.normal(size=D).round(2)}
    if gaps:
        town[4], town[9], sure[11], numbers["age"][2] = None, None, None, np.nan
    words = {"rooms": numbers["rooms"], "town": town, "age": numbers["age"], "sure": sure}
    columns = {"rooms": numbers["rooms"]}
    columns |= {f"town={name}": np.where(town == None, np.nan, town == name) for name in TOWNS}  # noqa: E711
    columns |= {"age": numbers["age"], "sure=yes": np.where(sure == None, np.nan, sure == "yes")}  # noqa: E711
    rent = (3.0 * numbers["rooms"] + 2.0 * (town == "Bern") - (sure == "yes") + rng.normal(size=D)).round(2)
    return pandas.DataFrame({**words, "rent": rent}), pandas.DataFrame({**columns, "rent": rent})


@pytest.fixture
def files(tmp_path):
    def write(gaps=False, target=None):
        for name, frame in zip(("words", "plain"), frames(gaps), strict=True):
            frame = frame if target is None else frame.assign(rent=target(frame["rent"]))
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
        return tmp_path / "words.csv", tmp_path / "plain.csv"

    return write


def test_a_text_column_takes_one_small_code_a_row(tmp_path):
    rng = np.random.default_rng(0)
    keys = [f"k{code}" for code in rng.integers(0, 2000, 5000)]
    path = tmp_path / "keys.csv"
    pandas.DataFrame({"size": rng.normal(size=5000), "key": keys, "y": rng.normal(size=5000)}).to_csv(path, index=False)
    table = read_table(path, choices=Choices(levels=2000))
    levels = len(set(keys))
    assert table.X.shape == (5000, 1 + levels)
    assert isinstance(table.X, Mixed)
    numbers, words = table.X.pieces
    assert numbers.values.nbytes + words.codes.nbytes == 5000 * (8 + 2), (
        "a float64 and an int16 a row, not a column a value"
    )
    assert table.X.as_design().nbytes <= 5000 * (8 + 2), "nor when it is fitted"
    assert [words.names[code] for code in words.codes[:9]] == [f"key={key}" for key in keys[:9]]


@pytest.mark.parametrize("impute", ["", "mean", "median", "zero"])
def test_every_answer_is_that_of_the_columns(files, impute):
    words, plain = (read_table(path, choices=Choices(impute=impute, levels=9)) for path in files(gaps=bool(impute)))
    assert words.names == plain.names
    assert words.recipe.fills == plain.recipe.fills
    A = plain.X
    np.testing.assert_array_equal(words.X.to_numpy(), A)
    np.testing.assert_array_equal(as_block(words.X.as_design().take(np.arange(A.shape[1])), len(A)), A)
    np.testing.assert_allclose(np.sqrt(moments(words.X, None)[1]), A.std(axis=0), atol=1e-12)
    coefs = np.random.default_rng(1).normal(size=(A.shape[1], 2))
    np.testing.assert_allclose(words.X @ coefs, A @ coefs, atol=1e-12)
    np.testing.assert_array_equal(words.X.rows(np.array([7, 4, 4])).to_numpy(), A[[7, 4, 4]])


def test_rows_with_gaps_are_left_out_or_refused(files):
    words, plain = (read_table(path, choices=Choices(drop=True, levels=9)) for path in files(gaps=True))
    np.testing.assert_array_equal(words.X.to_numpy(), plain.X)
    assert len(words.X) == len(words.y) == D - 4
    with pytest.raises(ValueError, match=r"4 missing or infinite values, the first in feature 'age', row 3: --drop"):
        complete(read_table(files(gaps=True)[0], choices=Choices(levels=9)), "words.csv")


def test_columns_in_another_order_and_fewer_of_them():
    codes = np.array([0, 2, GONE, NONE, 1], dtype=np.int8)
    mixed = Mixed([Words(["a=x", "a=y", "a=z"], codes), Numbers(["b", "c"], np.arange(10.0).reshape(2, 5).T)])
    found = in_order(mixed.pieces, ["c", "a=z", "b", "a=x"])
    assert [piece.names for piece in found] == [["c"], ["a=z"], ["b"], ["a=x"]]
    assert found[1].codes.tolist() == [NONE, 0, GONE, NONE, NONE]
    assert found[3].codes.tolist() == [0, NONE, GONE, NONE, NONE]


def test_whole_numbers_that_a_gap_made_floats_are_the_words_they_were(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zone,y\n1,2\n,3\n7,4\n")
    table = read_table(path, recipe=Recipe({}, {"zone": ["1", "7", "A"]}), features=["zone=1", "zone=7", "zone=A"])
    assert table.X.pieces[0].codes.tolist() == [0, GONE, 1]


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,a=x,y\nx,1,2\nz,3,4\nw,5,6\n")
    with pytest.raises(ValueError, match="two columns would be called 'a=x'"):
        read_table(path, choices=Choices(levels=9))


MODELS = [
    ("lasso", "--alpha", 0.05), ("elastic-net", "--alpha", 0.05), ("ridge",), ("nnls",), ("huber",),
    ("lasso", "--cv", 2), ("group-lasso", "--alpha", 0.05, "--groups", 1), ("multi-task-lasso", "--alpha", 0.05),
    ("poisson", "--alpha", 0.05), ("logistic",), ("svm",), ("logistic", "--cv", 2),
]  # fmt: skip
TARGETS = {"poisson": lambda y: (y - y.min()).round(), "logistic": lambda y: y > 9.0, "svm": lambda y: y > 9.0}


@pytest.mark.parametrize("options", MODELS, ids=lambda options: "-".join(map(str, options)))
def test_a_model_of_words_is_the_model_of_their_columns(capsys, files, tmp_path, options, compiled):
    model, *others = options
    words, plain = files(gaps=True, target=TARGETS.get(model))
    shared = ("--model", model, *others, "--target", "rent", "--impute", "mean", "--tol", 1e-9)
    for name, path in (("w.npz", words), ("p.npz", plain)):
        code, out, error = run(capsys, "fit", path, *shared, "--out", tmp_path / name)
        assert code == 0, out + error
    ours, theirs = load_model(tmp_path / "w.npz"), load_model(tmp_path / "p.npz")
    assert ours.names.tolist() == theirs.names.tolist()
    np.testing.assert_allclose(ours.coef, theirs.coef, atol=2e-3)
    _, predicted, score = run(capsys, "predict", tmp_path / "w.npz", words)
    _, expected, same = run(capsys, "predict", tmp_path / "p.npz", plain)
    assert score.split()[1] == same.split()[1]
    if model not in ("logistic", "svm"):
        np.testing.assert_allclose(
            *([float(line) for line in text.splitlines()[1:]] for text in (predicted, expected)), atol=2e-2
        )


def test_explained_raced_and_followed_too(capsys, files, tmp_path, monkeypatch):
    monkeypatch.setattr("ascd.cli.path.draw_charts", lambda *given: [])
    monkeypatch.setattr("ascd.cli.race._has_matplotlib", lambda: False)
    words, plain = files()
    for name, path in (("w", words), ("p", plain)):
        shared = (path, "--target", "rent", "--out", tmp_path / f"{name}.npz", "--alpha", 0.05)
        code, out, error = run(capsys, "fit", *shared, "--explain", "--resamples", 5)
        assert code == 0, error
        assert (tmp_path / f"{name}-explained.html").is_file()
        told = [line for line in out.splitlines() if line.startswith("town=Bern") and "%" in line]
        assert len(told) == 1
        code, _, error = run(capsys, "path", path, "--points", 5, "--out", tmp_path / f"{name}-path")
        assert code == 0, error
    ours, theirs = (np.load(tmp_path / f"{name}-path" / "path.npz") for name in "wp")
    np.testing.assert_allclose(ours["coefs"], theirs["coefs"], atol=1e-3)
    code, out, error = run(capsys, "race", words, "--epochs", 5, "--rule", "uniform", "--out", tmp_path / "race")
    assert code == 0, error
    assert "scikit-learn" in out
