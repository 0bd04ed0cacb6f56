"""Models from the command line: fit, predict, path, and the files they write."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

from ascd.cli import ERROR, UNCONVERGED, USAGE  # noqa: E402
from ascd.cli.models import load_model  # noqa: E402

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
    def test_options_that_do_not_fit_are_told_before_reading(self, capsys, arguments, message):
        code, _, error = run(capsys, "fit", "absent.csv", *arguments)
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
