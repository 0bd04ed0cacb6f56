"""Models from the command line: fit, predict, path, and the files they write."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

import ascd  # noqa: E402
from ascd.cli import ERROR, UNCONVERGED, USAGE  # noqa: E402
from ascd.io import load as load_model  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")


class TestModels:
    """Commands that need the estimators."""

    @pytest.fixture(autouse=True)
    def estimators(self):
        pytest.importorskip("ascd.estimators", reason="this build has no estimators")

    def test_fit_then_predict(self, capsys, houses, tmp_path):
        model = tmp_path / "m.npz"
        code, out, _ = run(capsys, "fit", houses, "--target", "price", "--alpha", 0.05, "--out", model)
        assert code == 0
        assert "converged" in out
        assert "above optimal" in out
        loaded = load_model(model)
        assert list(loaded.names) == list("abcdef")
        assert loaded.header["certificate"]["gap"] <= loaded.header["certificate"]["tolerance"]
        code, out, error = run(capsys, "predict", model, houses, "--target", "price")
        assert (code, out.splitlines()[0], len(out.splitlines())) == (0, "prediction", 41)
        assert float(error.split()[1]) > 0.9

    def test_predictions_are_the_estimators_own(self, capsys, houses, tmp_path):
        from ascd.estimators import Lasso

        frame = pandas.read_csv(houses)
        X, y = frame.drop(columns="price"), frame["price"]
        run(capsys, "fit", houses, "--target", "price", "--alpha", 0.1, "--out", tmp_path / "m.npz")
        shuffled = tmp_path / "shuffled.csv"
        frame[[*"fedcba"]].to_csv(shuffled, index=False)  # matched by name, not by position; no target
        _, out, _ = run(capsys, "predict", tmp_path / "m.npz", shuffled, "--json")
        found = json.loads(out)
        np.testing.assert_allclose(found["predictions"], Lasso(alpha=0.1).fit(X, y).predict(X), rtol=1e-9)
        assert found["score"] is None

    def test_missing_features_are_named(self, capsys, houses, tmp_path):
        run(capsys, "fit", houses, "--target", "price", "--alpha", 0.1, "--out", tmp_path / "m.npz")
        few = tmp_path / "few.csv"
        pandas.read_csv(houses)[["a", "b"]].to_csv(few, index=False)
        code, _, error = run(capsys, "predict", tmp_path / "m.npz", few)
        assert code == ERROR
        assert "lacks 4 of 6 features: c, d, e, f" in error

    def test_classifiers_keep_their_classes(self, capsys, letters, tmp_path):
        model = tmp_path / "m.npz"
        code, _, _ = run(capsys, "fit", letters, "--model", "logistic", "--C", 10, "--out", model)
        assert code == 0
        _, out, error = run(capsys, "predict", model, letters)
        assert set(out.split()[1:]) == {"-1", "1"}
        assert float(error.split()[1]) > 0.9
        _, out, _ = run(capsys, "predict", model, letters, "--probabilities", "--json")
        np.testing.assert_allclose(np.sum(json.loads(out)["predictions"], axis=1), 1.0)

    def test_classes_may_be_words(self, capsys, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((60, 3))
        kind = np.array(["ant", "bee", "cat"])[X.argmax(axis=1)]
        path, model = tmp_path / "zoo.csv", tmp_path / "m.npz"
        pandas.DataFrame(X, columns=list("xyz")).assign(kind=kind).to_csv(path, index=False)
        assert run(capsys, "fit", path, "--model", "logistic", "--target", "kind", "--out", model)[0] == 0
        code, out, error = run(capsys, "predict", model, path, "--target", "kind")
        assert (code, set(out.split()[1:])) == (0, {"ant", "bee", "cat"})
        assert float(error.split()[1]) > 0.9
        _, out, _ = run(capsys, "predict", model, path, "--target", "kind", "--probabilities")
        assert out.splitlines()[0] == "P(ant),P(bee),P(cat)"

    def test_short_of_the_tolerance_is_code_3_with_a_model(self, capsys, houses, tmp_path):
        model = tmp_path / "m.npz"
        arguments = ("--target", "price", "--alpha", 0.001, "--tol", 0.0, "--max-iter", 1, "--out", model)
        code, _, _ = run(capsys, "fit", houses, *arguments)
        assert code == UNCONVERGED
        assert not load_model(model).header["certificate"]["converged"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--model", "lasso", "--C", 1), "model 'lasso' takes no --C; it takes --alpha, --positive"),
            (("--model", "ridge", "--cv", 3), "model 'ridge' has no cross-validation"),
            (("--cv", 3, "--alpha", 1), "--alpha and --cv exclude each other"),
        ],
    )
    def test_options_that_do_not_fit_are_named_before_reading(self, capsys, houses, arguments, message):
        code, _, error = run(capsys, "fit", houses, *arguments, "--out", houses.with_name("m.npz"))
        assert code == USAGE
        assert message in error

    def test_a_path_is_a_table_a_page_and_numbers(self, capsys, houses, tmp_path):
        arguments = ("--target", "price", "--points", 5, "--out", tmp_path / "p", "--json")
        code, out, _ = run(capsys, "path", houses, *arguments)
        found = json.loads(out)
        assert code == 0
        assert found["nonzero"][0] == 0
        assert found["nonzero"][-1] >= 2
        with np.load(tmp_path / "p" / "path.npz") as held:
            assert held["coefs"].shape == (6, 5)
        assert (tmp_path / "p" / "path.html").exists()

    def test_a_file_that_is_no_model_is_refused(self, capsys, houses, tmp_path):
        np.savez(tmp_path / "other.npz", X=np.zeros(3))
        code, _, error = run(capsys, "predict", tmp_path / "other.npz", houses)
        assert code == ERROR
        assert "is not a model file" in error


def test_damaged_model_files_are_named(capsys, houses, tmp_path):
    model = tmp_path / "m.npz"
    run(capsys, "fit", houses, "--target", "price", "--alpha", 0.1, "--out", model)
    content = model.read_bytes()
    for place in range(0, len(content), len(content) // 40):
        model.write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        code, _, error = run(capsys, "predict", model, houses)
        assert code == 0 or "m.npz is not a model file" in error


def test_a_model_knows_its_target_and_leaves_foreign_columns_out(capsys, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 0] > 0, "yes", "no"))
    train, later, model = tmp_path / "train.csv", tmp_path / "later.csv", tmp_path / "model.npz"
    frame.to_csv(train, index=False)
    frame[["kind", "c", "b", "a"]].assign(note="words").to_csv(later, index=False)
    assert run(capsys, "fit", train, "--model", "logistic", "--C", "10", "--out", model)[0] == 0
    code, out, error = run(capsys, "predict", model, later)
    assert code == 0
    assert error.startswith("accuracy ")
    assert float(error.split()[1]) > 0.9
    assert out.splitlines()[0] == "prediction"
    assert set(out.splitlines()[1:]) == {"yes", "no"}
    code, _, error = run(capsys, "predict", model, later, "--target", "sort")
    assert code == USAGE
    assert "no column 'sort'" in error


@pytest.mark.parametrize("labels", [np.array([b"no", b"yes"]), np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")])
def test_classes_of_arrays_are_words(capsys, tmp_path, labels):
    X = np.random.default_rng(0).standard_normal((20, 2))
    np.savez(tmp_path / "t.npz", X=X, y=labels[(X[:, 0] > 0).astype(int)])
    command = ("fit", tmp_path / "t.npz", "--model", "logistic", "--out", tmp_path / "m.npz", "--json")
    code, out, error = run(capsys, *command)
    assert code == 0, error
    words = [one.decode() if isinstance(one, bytes) else str(one) for one in labels.tolist()]
    assert json.loads(out)["classes"] == words
    code, out, error = run(capsys, "predict", tmp_path / "m.npz", tmp_path / "t.npz", "--json")
    assert code == 0, error
    assert json.loads(out)["score"]["accuracy"] > 0.9


def _rows(cells):
    """A table of a number, a cell that tells the target, and the target."""
    lines = (f"{place % 7},{cell},{target}" for place, (cell, target) in enumerate(cells))
    return "\n".join(["a,b,y", *lines])


def test_truths_beside_gaps_are_those_of_a_full_column(capsys, tmp_path):
    full = [("TRUE", 3), ("FALSE", 0)] * 10
    (tmp_path / "full.csv").write_text(_rows(full))
    (tmp_path / "gap.csv").write_text(_rows([*full[:-1], ("", 1)]))
    found = []
    for fitted in ("full", "gap"):
        model = tmp_path / f"{fitted}.npz"
        command = ("fit", tmp_path / f"{fitted}.csv", "--impute", "mean", "--alpha", 0.01, "--out", model)
        assert run(capsys, *command)[0] == 0
        assert list(load_model(model).names) == ["a", "b"]
        for told in ("full", "gap"):
            code, out, error = run(capsys, "predict", model, tmp_path / f"{told}.csv", "--json")
            assert code == 0, error
            found.append(json.loads(out)["predictions"][:19])
    np.testing.assert_allclose(found, [[3, 0] * 9 + [3]] * 4, atol=0.3)


@pytest.mark.parametrize(
    ("fitted", "told"),
    [
        (["TRUE", "FALSE"], ["TRUE", "FALSE", ""]),
        (["TRUE", "FALSE", ""], ["TRUE", "FALSE"]),
        (["TRUE", "FALSE", ""], ["1", "0"]),
        (["1", "0"], ["True", "False", ""]),
        (["1", "2", "2.5"], ["1", "2"]),
        (["12345678901.25", "12345678901.5"], ["12345678901.25", "12345678901.5"]),
        (["12345678901", "12345678902", ""], ["12345678901", "12345678902"]),
    ],
)
def test_classes_are_the_same_ones_in_files_with_others(capsys, tmp_path, fitted, told):
    train, later, model = tmp_path / "train.csv", tmp_path / "later.csv", tmp_path / "m.npz"
    for path, labels in ((train, fitted), (later, told)):
        path.write_text(_rows(list(enumerate(labels)) * 9))
    code, _, error = run(capsys, "fit", train, "--model", "logistic", "--C", 1e4, "--drop", "--classes", "--out", model)
    assert code == 0, error
    code, out, error = run(capsys, "predict", model, later)
    assert code == 0, error
    assert "accuracy 1.0000" in error
    if told[0] == fitted[0] and told[0] != "TRUE":
        assert out.split()[1:3] == told[:2]


@pytest.mark.parametrize(("header", "new"), [(",a,b,y", "1,5,6"), ("a,b,,y", "5,6,")])
def test_a_column_without_a_name_that_a_model_knows(capsys, tmp_path, header, new):
    train, later, model = tmp_path / "train.csv", tmp_path / "later.csv", tmp_path / "m.npz"
    lines = [f"{(7 * j) % 11 + 3},{j % 5},{j % 3 if j else ''},{j % 7}" for j in range(30)]
    train.write_text("\n".join([header, *lines]))
    later.write_text(f"{header[:-2]}\n{new}\n")
    assert run(capsys, "fit", train, "--impute", "mean", "--alpha", 0.01, "--out", model)[0] == 0
    code, out, error = run(capsys, "predict", model, later, "--json")
    assert code == 0, error
    held = load_model(model)
    cells = [float(cell) if cell else held.header["data"]["recipe"]["fills"]["Unnamed: 2"] for cell in new.split(",")]
    np.testing.assert_allclose(json.loads(out)["predictions"], held.coef @ cells + held.intercept)


def predictions(capsys, *arguments):
    code, out, error = run(capsys, "predict", *arguments)
    assert code == 0, error
    return [round(float(line)) for line in out.splitlines()[1:]], error


EFFECTS = {"07": 5.0, "08": -5.0, "A": 2.0, "B": 0.0, "C": 1.0}


@pytest.fixture
def words(capsys, tmp_path, monkeypatch):
    """A model whose first column is text, with words that are numbers among others."""
    monkeypatch.chdir(tmp_path)
    codes = [*EFFECTS] * 8
    pandas.DataFrame({"code": codes, "y": [EFFECTS[code] for code in codes]}).to_csv("train.csv", index=False)
    assert run(capsys, "fit", "train.csv", "--alpha", 1e-6, "--out", "m.npz")[0] == 0
    return "m.npz"


def test_words_that_are_numbers_are_predicted_as_words(capsys, words, tmp_path):
    pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    new = pandas.DataFrame({"code": ["07", "08", "07"]})  # numbers only
    new.to_csv("new.csv", index=False)
    new.to_parquet("new.parquet")
    for path in ("new.csv", "new.parquet"):
        found, error = predictions(capsys, words, path)
        assert (found, "not seen" in error) == ([5, -5, 5], False)
    loaded = ascd.load(words)
    assert loaded.predict(new).round().tolist() == [5, -5, 5]
    assert loaded.predict(new.assign(other=1)[["other", "code"]]).round().tolist() == [5, -5, 5]
    with pytest.raises(ValueError, match="X lacks 1 of 1 features: code"):
        loaded.predict(pandas.DataFrame({"cod": ["07"]}))


def test_columns_of_a_file_without_a_header(capsys, words, tmp_path):
    (tmp_path / "bare.csv").write_text("B\nC\nD\n08\n", encoding="utf-8")
    found, error = predictions(capsys, words, "bare.csv", "--no-header")
    assert found[:2] + found[3:] == [0, 1, -5]
    assert "values of 'code' that the model has not seen count as none: D" in error
    (tmp_path / "bare.csv").write_text("5,07\n2,A\n", encoding="utf-8")
    found, error = predictions(capsys, words, "bare.csv", "--no-header", "--target", 1)
    assert (found, "R² 1.0000" in error) == ([5, 2], True)
    code, _, error = run(capsys, "predict", words, "bare.csv", "--no-header")
    assert code == ERROR
    assert "the model has 1 column; without a header the data must have as many, and have 2" in error


def test_a_model_reads_new_files_safely(capsys, write, tmp_path):
    """What a file does not show is as in the fit; marks that contradict the fit are an error, never other numbers."""
    rows = "\n".join(f"{k},5;{k % 3};{2 * k + k % 3 + 1}" for k in range(1, 30))
    model = tmp_path / "m.npz"
    assert run(capsys, "fit", write(f"a;b;y\n{rows}"), "--alpha", 1e-4, "--out", model)[0] == 0
    assert load_model(model).header["data"]["recipe"]["written"]["decimal"] == ","
    for content, expected in (("a;b\n4,5;2\n", [11]), ("a,b\n4.5,2\n", [11]), ("b;a\n2;4\n", [10]),
                              ("a;b\n4,250;2\n", [10]), ("b\ta\tz\n2\t4,5\tx\n", [11])):  # fmt: skip
        assert predictions(capsys, model, write(content, "new.csv"))[0] == expected
    code, _, error = run(capsys, "predict", model, write("a;b\n4.250;2\n", "new.csv"))
    assert code == ERROR
    assert "column 'a' must be numbers, as in the model's data; row 1 has '4.250'" in error
    assert predictions(capsys, model, tmp_path / "new.csv", "--decimal", ".")[0] == [10], "an option decides"
    assert predictions(capsys, model, tmp_path / "new.csv", "--thousands", ".")[0] == [8502]


def test_names_by_position_where_the_model_has_none(capsys, write, tmp_path):
    model, rows = tmp_path / "m.npz", [f"{k};{k % 3};{2 * k + k % 3}" for k in range(1, 30)]
    train = write("\n".join(rows), "train.csv")
    assert run(capsys, "fit", train, "--no-header", "--alpha", 1e-4, "--out", model)[0] == 0
    bare, error = predictions(capsys, model, train)
    assert "R² 1.0000" in error
    found, error = predictions(capsys, model, write("a;b;y\n" + "\n".join(rows), "named.csv"))
    assert (found, "R² 1.0000" in error) == (bare, True)


def test_a_separator_inside_words_and_texts_for_missing_values(capsys, write, tmp_path):
    model = tmp_path / "m.npz"
    rows = [f"k;{k % 2},{k},{2 * k}" for k in range(12)]
    train = write("\n".join(["kind;of,a,y", *rows, "k;1,-999,3"]), "train.csv")
    options = ("--sep", ",", "--na", "-999", "--impute", "mean", "--alpha", 0.01)
    assert run(capsys, "fit", train, *options, "--out", model)[0] == 0
    found, _ = predictions(capsys, model, train)
    assert len(found) == 13
    assert abs(found[-1] - 11) <= 1, "the text for a missing value is remembered"


@pytest.mark.parametrize("is_converted", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_features_of_libsvm_files_are_counted_as_the_model_does(capsys, tmp_path, monkeypatch, first, is_converted):
    """A file whose samples lack feature 0 looks like one that counts from 1."""
    monkeypatch.chdir(tmp_path)
    rows, data = ["1 {}:1", "10 {}:1", "22 {}:2 {}:2", "11 {}:1 {}:1"], "train.svm"
    places = [(first,), (first + 1,), (first, first + 1), (first, first + 1)]
    (tmp_path / data).write_text("\n".join(row.format(*at) for row, at in zip(rows, places, strict=True)))
    (tmp_path / "new.svm").write_text(f"10 {first + 1}:1\n")
    if is_converted:
        data = "folder"
        assert run(capsys, "convert", "train.svm", data)[0] == 0
    assert run(capsys, "fit", data, "--alpha", 1e-9, "--no-intercept", "--out", "m.npz")[0] == 0
    assert predictions(capsys, "m.npz", "new.svm")[0] == [10]
    (tmp_path / "other.svm").write_text("10 0:1\n")
    code, _, error = run(capsys, "predict", "m.npz", "other.svm")
    assert code == (ERROR if first else 0)
    assert not first or "other.svm has an index 0; the model's data count features from 1" in error


MODELS = [
    ("lasso", "--alpha", 0.05), ("ridge",), ("huber",), ("lasso", "--cv", 2), ("poisson", "--alpha", 0.05),
    ("group-lasso", "--alpha", 0.05, "--groups", 1), ("multi-task-lasso", "--alpha", 0.05), ("logistic",), ("svm",),
]  # fmt: skip


@pytest.mark.parametrize("options", MODELS, ids=lambda options: "-".join(map(str, options)))
def test_a_model_of_words_is_the_model_of_their_columns(capsys, tmp_path, options, compiled):
    rng = np.random.default_rng(3)
    town, sure = rng.choice(["Basel", "Bern", "Chur"], 30), rng.choice(["no", "yes"], 30)
    rooms = rng.integers(1, 6, 30).astype(float)
    y = (3.0 * rooms + 2.0 * (town == "Bern") - (sure == "yes") + rng.normal(size=30)).round(2)
    y = y > 9.0 if options[0] in ("logistic", "svm") else (y - y.min()).round() if options[0] == "poisson" else y
    plain = {"rooms": rooms, **{f"town={name}": (town == name) * 1.0 for name in ("Basel", "Bern", "Chur")}}
    pandas.DataFrame({"rooms": rooms, "town": town, "sure": sure, "y": y}).to_csv(tmp_path / "w.csv", index=False)
    pandas.DataFrame({**plain, "sure=yes": (sure == "yes") * 1.0, "y": y}).to_csv(tmp_path / "p.csv", index=False)
    for name in "wp":
        shared = ("--model", *options, "--tol", 1e-9, "--out", tmp_path / f"{name}.npz")
        code, out, error = run(capsys, "fit", tmp_path / f"{name}.csv", *shared)
        assert code == 0, out + error
    ours, theirs = load_model(tmp_path / "w.npz"), load_model(tmp_path / "p.npz")
    assert ours.names.tolist() == theirs.names.tolist()
    np.testing.assert_allclose(ours.coef, theirs.coef, atol=2e-3)
    frames = [pandas.read_csv(tmp_path / f"{name}.csv") for name in "wp"]
    np.testing.assert_allclose(ours.decision(frames[0]), theirs.decision(frames[1]), atol=2e-2)


@pytest.mark.parametrize("model", ["lasso", "elastic-net", "logistic"])
def test_the_cross_validation_error_is_shown(capsys, houses, tmp_path, compiled, model):
    frame = pandas.read_csv(houses)
    if model == "logistic":
        frame.assign(price=np.where(frame.price > 0, "high", "low")).to_csv(houses, index=False)
    found = []
    for choose in ("best", "1se"):
        options = ("--model", model, "--cv", 4, "--choose", choose, "--out", tmp_path / "m.npz", "--force")
        found.append(json.loads(run(capsys, "fit", houses, *options, "--json")[1]))
    error = found[0]["cv_error"]
    assert error["name"] == ("accuracy" if model == "logistic" else "mean squared error")
    assert (error["folds"], error["standard_error"] >= 0.0, np.isfinite(error["mean"])) == (4, True, True)
    name = "C_" if model == "logistic" else "alpha_"
    assert (found[1]["chosen"][name] <= found[0]["chosen"][name]) == (model == "logistic") or found[0] == found[1]
    out = run(capsys, "fit", houses, "--model", model, "--cv", 4, "--out", tmp_path / "m.npz", "--force")[1]
    assert f"{error['name']} over 4 folds: {error['mean']:.4g} ± {error['standard_error']:.2g}" in out


def test_dates_and_missing_words_are_predicted_as_they_were_fitted(capsys, tmp_path):
    days = pandas.date_range("2026-01-01", periods=30)
    towns = ["Ulm"] * 20 + ["Bern"] * 9 + [None]
    frame = pandas.DataFrame({"day": days, "town": towns, "y": np.arange(30.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ("--dates", "days", "--impute", "mean", "--alpha", 1e-4, "--out", tmp_path / "m.npz")
    assert run(capsys, "fit", tmp_path / "t.csv", *options)[0] == 0
    loaded = load_model(tmp_path / "m.npz")
    new = pandas.DataFrame({"town": ["Ulm", None, "Rome"], "day": ["2026-01-03", "2026-01-03", "2026-01-03"]})
    found = loaded.predict(new)
    assert found[0] == found[1] == pytest.approx(2.0, abs=0.5), "a missing word is the most frequent one"
    assert loaded.predict(new.assign(day=pandas.Timestamp("2026-01-03")))[0] == found[0]
    with pytest.raises(ValueError, match="column 'day' must be dates"):
        loaded.predict(new.assign(day="soon"))


def test_parquet_gives_the_same_model_in_memory_and_on_disk(capsys, tmp_path):
    pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    X = np.random.default_rng(0).standard_normal((40, 2))
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(price=2.0 * X[:, 0] - X[:, 1])
    labels = {"lasso": frame.price, "logistic": np.where(X[:, 0] > 0, "07", "8")}
    for model, target in labels.items():
        some = frame.assign(price=target)[frame.a > -0.5]  # the rest has an index that pandas stores
        some.rename_axis("customer").to_parquet(tmp_path / "t.parquet")
        found = []
        for memory in ((), ("--memory", "100MB")):
            how = ("--model", model, "--tol", 1e-10, "--force", "--out", tmp_path / "m.npz")
            code, _, error = run(capsys, "fit", tmp_path / "t.parquet", *how, *memory)
            assert code == 0, error
            found.append(load_model(tmp_path / "m.npz"))
        assert found[0].names.tolist() == found[1].names.tolist() == ["a", "b"]
        assert found[0].classes.tolist() == found[1].classes.tolist()
        np.testing.assert_allclose(found[0].coef, found[1].coef, atol=1e-5)
    frame.assign(price=[*frame.price[:-1], np.inf]).to_parquet(tmp_path / "t.parquet")
    code, _, error = run(capsys, "fit", tmp_path / "t.parquet", "--memory", "100MB", "--out", tmp_path / "n.npz")
    assert (code, "1 sample without a target, or with an infinite one" in error) == (ERROR, True)


def test_labels_with_commas_and_targets_that_cannot_be_scored_by(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    A = np.random.default_rng(0).standard_normal((24, 2))
    frame = pandas.DataFrame(A, columns=["a", "b"]).assign(kind=np.where(A[:, 0] > 0, "red, or so", "blue"))
    frame.to_csv("t.csv", index=False)
    assert run(capsys, "fit", "t.csv", "--model", "logistic", "--C", 100, "--out", "n.npz")[0] == 0
    assert set(run(capsys, "predict", "n.npz", "t.csv")[1].splitlines()[1:]) == {'"red, or so"', "blue"}
    frame.assign(kind=A[:, 1]).to_csv("t.csv", index=False)
    assert run(capsys, "fit", "t.csv", "--alpha", 0.01, "--out", "m.npz")[0] == 0
    for targets in (["text"] * 24, [1.0] + [None] * 23, [*A[:-1, 1], np.inf]):
        frame.assign(kind=targets).to_csv("new.csv", index=False)
        code, out, error = run(capsys, "predict", "m.npz", "new.csv")
        assert (code, len(out.splitlines()), "R²" in error) == (0, 25, targets[1] is not None and targets[0] != "text")
