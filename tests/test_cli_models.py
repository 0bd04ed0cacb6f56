"""Models from the command line: fit, predict, path, and the files they write."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

from ascd.cli import ERROR, UNCONVERGED, USAGE  # noqa: E402
from ascd.io.models import load as load_model  # noqa: E402

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
    words = [one.decode() if isinstance(one, bytes) else f"{one} 00:00:00" for one in labels.tolist()]
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
