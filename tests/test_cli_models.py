"""Models from the command line: fit, predict, explain, and the files they write; right or refused, never wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

import ascd  # noqa: E402
from ascd.cli import ERROR, UNCONVERGED  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
ZOO = pandas.DataFrame(X, columns=list("uvw")).assign(kind=np.array(["ant", "bee", "cat"])[X.argmax(axis=1)])


@pytest.fixture
def fit(capsys, tmp_path, monkeypatch):
    """Fit a model to a frame or a file in a folder of its own: what is printed, or the object of --json."""
    monkeypatch.chdir(tmp_path)

    def fitted(data, *options, name="m.npz"):
        if hasattr(data, "to_csv"):
            data.to_csv("train.csv", index=False)
            data = "train.csv"
        code, out, error = run(capsys, "fit", data, *options, "--out", name, "--force")
        assert code == 0, out + error
        return json.loads(out) if "--json" in options else out

    return fitted


@pytest.fixture
def predict(capsys, tmp_path):
    """Predict for a frame, a text or a file: the lines that are printed, and what is said beside them."""

    def predicted(data, *options, model="m.npz"):
        if hasattr(data, "to_csv"):
            data.to_csv("new.csv", index=False)
        elif "\n" in str(data):
            (tmp_path / "new.csv").write_text(data)
        path = "new.csv" if hasattr(data, "to_csv") or "\n" in str(data) else data
        code, out, error = run(capsys, "predict", model, path, *options)
        assert code == 0, error
        return out.splitlines(), error

    return predicted


def rounded(found):
    """Predictions as whole numbers."""
    return [round(float(line)) for line in found[0][1:]]


def test_predictions_are_the_estimators_own_by_name(fit, predict, capsys, houses):
    frame = pandas.read_csv(houses)
    out = fit(frame, "--target", "price", "--alpha", 0.1)
    assert "converged" in out
    assert "above optimal" in out
    loaded = ascd.load("m.npz")
    assert loaded.header["certificate"]["gap"] <= loaded.header["certificate"]["tolerance"]
    features = frame.drop(columns="price")
    expected = ascd.Lasso(alpha=0.1).fit(features, frame.price)
    for data in (frame[[*"fedcba"]], frame[[*"fedcba"]].assign(note="words")):
        found, error = predict(data)
        np.testing.assert_allclose(np.array(found[1:], float), expected.predict(features), rtol=1e-9)
        assert (found[0], error) == ("prediction", "")
    found, error = predict(frame)
    assert float(error.removeprefix("R² ")) == pytest.approx(expected.score(features, frame.price), abs=1e-4)
    frame[["price"]].to_csv("few.csv", index=False)
    code, _, error = run(capsys, "predict", "m.npz", "few.csv")
    assert (code, "lacks 6 of 6 features: a, b, c, d, e, ..." in error) == (ERROR, True)


def test_classes_are_named_and_have_probabilities(fit, predict, letters):
    out = fit(ZOO, "--model", "logistic", "--C", 100)
    assert all(f"class {name}" in out for name in ("ant", "bee", "cat"))
    found, error = predict(ZOO)
    assert (set(found[1:]), float(error.removeprefix("accuracy ")) > 0.9) == ({"ant", "bee", "cat"}, True)
    shares = predict(ZOO, "--probabilities")[0]
    assert shares[0] == "P(ant),P(bee),P(cat)"
    np.testing.assert_allclose(np.array([line.split(",") for line in shares[1:]], float).sum(axis=1), 1.0)
    fit(letters, "--model", "logistic", "--C", 10)
    assert set(predict(letters)[0][1:]) == {"-1", "1"}
    fit(ZOO.assign(kind=np.where(X[:, 0] > 0, "red, or so", "blue")), "--model", "logistic")
    assert set(predict(ZOO)[0][1:]) == {'"red, or so"', "blue"}


def test_short_of_the_tolerance_is_code_3_with_a_model(capsys, houses, tmp_path):
    arguments = ("--alpha", 0.001, "--tol", 0.0, "--max-iter", 1, "--out", tmp_path / "m.npz")
    assert run(capsys, "fit", houses, *arguments)[0] == UNCONVERGED
    assert not ascd.load(tmp_path / "m.npz").header["certificate"]["converged"]


def test_damaged_model_files_are_named(fit, capsys, houses, tmp_path):
    fit(houses, "--alpha", 0.1)
    model, content = tmp_path / "m.npz", (tmp_path / "m.npz").read_bytes()
    for place in range(0, len(content), len(content) // 40):
        model.write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        code, _, error = run(capsys, "predict", model, houses)
        assert code == 0 or "m.npz is not a model file" in error


EFFECTS = {"07": 5.0, "08": -5.0, "A": 2.0, "B": 0.0, "C": 1.0}


def test_words_that_are_numbers_are_predicted_as_words(fit, predict, capsys):
    codes = [*EFFECTS] * 8
    fit(pandas.DataFrame({"code": codes, "y": [EFFECTS[code] for code in codes]}), "--alpha", 1e-6)
    new = pandas.DataFrame({"code": ["07", "08", "07"]})  # numbers only
    found = predict(new)
    assert (rounded(found), found[1]) == ([5, -5, 5], "")
    model = ascd.load("m.npz")
    assert model.predict(new.assign(other=1)[["other", "code"]]).round().tolist() == [5, -5, 5]
    with pytest.raises(ValueError, match="X lacks 1 of 1 features: code"):
        model.predict(pandas.DataFrame({"cod": ["07"]}))
    found = predict("code\nB\nC\nD\n08\n")
    assert rounded(found)[:2] + rounded(found)[3:] == [0, 1, -5]
    assert "values of 'code' that the model has not seen count as none: D" in found[1]
    code, _, error = run(capsys, "predict", "m.npz", "new.csv", "--no-header")
    assert (code, "new.csv lacks 1 of 1 features: code" in error) == (ERROR, True)
    pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    new.to_parquet("new.parquet")
    assert rounded(predict("new.parquet")) == [5, -5, 5]


def test_a_model_reads_new_files_safely(fit, predict, capsys, write):
    """What a file does not show is as in the fit; marks that contradict the fit are an error, never other numbers."""
    rows = "\n".join(f"{k},5;{k % 3};{2 * k + k % 3 + 1}" for k in range(1, 30))
    fit(write(f"a;b;y\n{rows}"), "--alpha", 1e-4)
    for content, expected in (("a;b\n4,5;2\n", 11), ("a,b\n4.5,2\n", 11), ("b;a\n2;4\n", 10), ("a;b\n4,250;2\n", 10),
                              ("b\ta\tz\n2\t4,5\tx\n", 11)):  # fmt: skip
        assert rounded(predict(content)) == [expected]
    code, _, error = run(capsys, "predict", "m.npz", write("a;b\n4.250;2\n", "new.csv"))
    assert code == ERROR
    assert "column 'a' must be numbers, as in the model's data; the first that is none is '4.250' in row 1" in error
    assert rounded(predict("new.csv", "--decimal", ".")) == [10], "an option decides"


@pytest.mark.parametrize("is_converted", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_features_of_libsvm_files_are_counted_as_the_model_does(fit, predict, capsys, tmp_path, first, is_converted):
    """A file whose samples lack feature 0 looks like one that counts from 1."""
    a, b, data = first, first + 1, "train.svm"
    (tmp_path / data).write_text(f"1 {a}:1\n10 {b}:1\n22 {a}:2 {b}:2\n11 {a}:1 {b}:1")
    if is_converted:
        assert run(capsys, "convert", data, "folder")[0] == 0
        data = "folder"
    fit(data, "--alpha", 1e-9, "--no-intercept")
    (tmp_path / "new.svm").write_text(f"10 {b}:1\n")
    assert rounded(predict("new.svm")) == [10]
    (tmp_path / "other.svm").write_text("10 0:1\n")
    code, _, error = run(capsys, "predict", "m.npz", "other.svm")
    assert code == (ERROR if first else 0)
    assert not first or "other.svm has an index 0; the model's data count features from 1" in error


CV = {"lasso": "mean squared error", "logistic": "accuracy", "poisson": "half the mean deviance"}


@pytest.mark.parametrize(("model", "measure"), CV.items())
def test_the_cross_validation_error_is_shown(fit, houses, model, measure):
    frame = pandas.read_csv(houses)
    if model == "logistic":
        frame = frame.assign(price=np.where(frame.price > 0, "high", "low"))
    if model == "poisson":
        frame = frame.assign(price=np.exp(0.3 * frame.price).round())
    best, strong = (fit(frame, "--model", model, "--cv", 2, "--choose", how, "--json") for how in ("best", "1se"))
    error = best["cv_error"]
    assert error["name"] == measure
    assert (error["folds"], error["standard_error"] >= 0.0, np.isfinite(error["mean"])) == (2, True, True)
    name = "C_" if model == "logistic" else "alpha_"
    ratio = strong["chosen"][name] / best["chosen"][name]
    assert (ratio <= 1.0) if model == "logistic" else (ratio >= 1.0)
    assert model != "poisson" or (ascd.load("m.npz").predict(frame) > 0.0).all()
    parameters = ascd.load("m.npz").header["parameters"]
    assert parameters.get("l1_ratio", 0.0) == 0.0, "as without --cv"
    assert ("l1_ratio" in parameters) == (model != "lasso")
    shown = f"{error['name']} over 2 folds: {error['mean']:.4g} ± {error['standard_error']:.2g}"
    assert shown in fit(frame, "--model", model, "--cv", 2)


def test_parquet_gives_the_same_model_in_memory_and_on_disk(fit, capsys, tmp_path):
    pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    frame = pandas.DataFrame(X[:, :2], columns=["a", "b"]).assign(price=2.0 * X[:, 0] - X[:, 1])
    for model, target in (("lasso", frame.price), ("logistic", np.where(X[:, 0] > 0, "07", "8"))):
        some = frame.assign(price=target)[frame.a > -0.5]  # the rest has an index that pandas stores
        some.rename_axis("customer").to_parquet(tmp_path / "t.parquet")
        found = []
        for memory in ((), ("--memory", "100MB")):
            fit("t.parquet", "--model", model, "--tol", 1e-10, *memory)
            found.append(ascd.load("m.npz"))
        assert found[0].names.tolist() == found[1].names.tolist() == ["a", "b"]
        assert found[0].classes.tolist() == found[1].classes.tolist()
        np.testing.assert_allclose(found[0].coef, found[1].coef, atol=1e-5)
    frame.assign(price=[*frame.price[:-1], np.inf]).to_parquet(tmp_path / "t.parquet")
    code, _, error = run(capsys, "fit", "t.parquet", "--memory", "100MB", "--out", "n.npz")
    assert (code, "1 sample without a target, or with an infinite one" in error) == (ERROR, True)


# ------------------------------------------------------------------------------------------------ --explain


def test_classes_are_explained_one_by_one(fit, tmp_path):
    found = fit(ZOO, "--model", "logistic", "--explain", "--resamples", 5, "--json")["explained"]
    page = (tmp_path / "m-explained.html").read_text()
    for name, feature in zip(["class ant", "class bee", "class cat"], "uvw", strict=True):
        largest = max(found[name], key=lambda row: abs(row["effect"]))
        assert (largest["name"], largest["share"]) == (feature, 1.0)
        assert f"Which features, {name}" in page
        assert f"In numbers, {name}" in page
