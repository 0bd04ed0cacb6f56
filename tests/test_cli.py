"""The command line: what people and machines read, exit codes, model files, errors in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from ascd.cli import ERROR, INTERRUPTED, UNCONVERGED, USAGE, main  # noqa: E402
from ascd.cli.app import COMMANDS  # noqa: E402
from ascd.cli.models import load_model  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def houses(tmp_path):
    """A small regression table with names."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    frame = pandas.DataFrame(X, columns=list("abcdef")).assign(
        price=3.0 * X[:, 0] - X[:, 2] + 0.1 * rng.standard_normal(40)
    )
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def letters(tmp_path):
    """Two classes in LIBSVM's format."""
    rng = np.random.default_rng(0)
    X = (rng.random((40, 5)) < 0.5).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 1.0, 1, -1)
    lines = (f"{label} " + " ".join(f"{j + 1}:1" for j in np.flatnonzero(row)) for label, row in zip(y, X, strict=True))
    path = tmp_path / "letters.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_help_names_every_command_and_how_to_complete(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert all(name in out for name in COMMANDS)
    assert "_ASCD_COMPLETE" in out
    for name in COMMANDS:
        code, out, _ = run(capsys, name, "--help")
        assert code == 0
        assert "--json" in out


def test_a_wrong_command_gets_the_nearest_name_and_code_2(capsys):
    code, _, error = run(capsys, "rase")
    assert code == USAGE
    assert "Did you mean 'race'" in error


def test_errors_are_one_line_and_debug_shows_where(capsys, tmp_path):
    code, _, error = run(capsys, "race", tmp_path / "absent.csv")
    assert (code, error.count("\n")) == (ERROR, 1)
    assert "no such file" in error
    with pytest.raises(FileNotFoundError):
        main(["race", str(tmp_path / "absent.csv"), "--debug"])


def test_info_for_machines(capsys):
    code, out, _ = run(capsys, "info", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["threads"]["processors"] >= 1
    assert "numba" in found["versions"]


def test_race_runs_every_combination_once_and_writes_its_files(capsys, houses, tmp_path):
    arguments = ["--rule", "uniform", "--rule", "ascd", "--oracle", "norm", "--oracle", "simulated(0.1)", "--epochs", 3]
    code, out, _ = run(capsys, "race", houses, *arguments, "--out", tmp_path / "r", "--json")
    found = json.loads(out)
    assert code == 0
    assert list(found["runs"]) == ["uniform", "ascd norm", "ascd simulated(0.1)"]
    assert all(0.0 <= one["suboptimality"] <= 1.0 for one in found["runs"].values())
    assert {"race.html", "race.json"} <= {path.name for path in (tmp_path / "r").iterdir()}


def test_race_refuses_unknown_parts_before_reading(capsys, houses):
    code, _, error = run(capsys, "race", houses, "--oracle", "simulatd(1)")
    assert code == USAGE
    assert "Did you mean 'simulated'" in error


def test_reproduce_makes_report_and_claims(capsys, tmp_path):
    code, out, _ = run(capsys, "reproduce", "4", "1", "--out", tmp_path, "--jobs", 1, "--no-pictures", "--json")
    found = json.loads(out)
    assert code == 0
    assert {claim["verdict"] for claim in found["claims"] if claim["where"].startswith("Fig. 4")} == {"holds"}
    assert (tmp_path / "quick" / "report.html").exists()
    code, out, _ = run(capsys, "reproduce", "--out", tmp_path, "--only-publish", "--no-pictures")
    assert code == 0
    assert "report.html" in out


def test_reproduce_refuses_unknown_figures(capsys, tmp_path):
    code, _, error = run(capsys, "reproduce", "9", "--out", tmp_path)
    assert code == USAGE
    assert "unknown figure '9'" in error


def test_completion_of_parts_and_figures():
    from ascd.cli.options import Named
    from ascd.cli.reproduce import Figure

    assert [item.value for item in Named("rule").shell_complete(None, None, "a")] == ["ascd", "a-ascd", "adaptive"]
    assert [item.value for item in Figure().shell_complete(None, None, "2")] == ["2", "2a", "2b", "2c", "2d"]


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
        assert code == ERROR
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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["race", "x.csv", "--rule", "ascdd"], "unknown rule 'ascdd'. Did you mean 'ascd'"),
        (["fit", "x.csv", "--model", "laso"], "'laso' is not one of 'lasso'"),
        (["path", "x.csv", "--eps", "2"], "2.0 is not in the range 0<x<1"),
        (["reproduce", "2z"], "unknown figure '2z'. Did you mean '2'"),
        (["reproduce", "--only-publish", "--out", "nowhere"], "run without --only-publish first"),
    ],
)
def test_wrong_usage_is_one_line_with_code_2(capsys, arguments, told):
    code, out, error = run(capsys, *arguments)
    assert code == USAGE
    assert out == ""
    assert told in error
    assert error.startswith(f"ascd {arguments[0]}: error: ")
    assert error.count("\n") == 1


def test_data_that_cannot_be_used_are_told_in_one_line(capsys, houses, tmp_path):
    text = houses.read_text().splitlines()
    hole, words = tmp_path / "hole.csv", tmp_path / "words.csv"
    hole.write_text("\n".join([text[0], "1,,3,4,5,6,7", *text[2:]]))
    words.write_text("a,b,kind\n1,2,yes\n3,4,no\n")
    for arguments, told in (
        (["fit", hole], "1 missing or infinite values, the first in feature b"),
        (["race", hole], "1 missing or infinite values, the first in feature b"),
        (["path", words], "the target 'kind' must be numbers here, its first value is 'yes'"),
        (["fit", words, "--out", tmp_path / "m.npz"], "classes need logistic or svm"),
        (["race", houses, "--strength", "some"], "strength must be a positive number"),
        (["race", houses, "--strength", "max/0"], "got 'max/0'"),
        (["fit", houses, "--target", "prize"], "Did you mean 'price'"),
    ):
        code, out, error = run(capsys, *arguments)
        assert (code, out) == (ERROR, "")
        assert told in error
        assert error.count("\n") == 1
    assert not (tmp_path / "m.npz").exists()


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
    assert code == ERROR
    assert "no column 'sort'" in error


TELLING = """
import sys
from ascd import racing
from ascd.cli import main

minimize = racing.minimize

def telling(*arguments, **options):
    print("running", flush=True)
    return minimize(*arguments, **options)

racing.minimize = telling
sys.exit(main())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are sent as POSIX has them")
def test_an_interrupted_race_ends_with_130_and_writes_nothing(tmp_path):
    """Ctrl-C a moment after the first run began; it would take very much longer."""
    race = ["race", "synthetic", "--rule", "ascd", "--epochs", "1000000", "--out", str(tmp_path / "race")]
    child = subprocess.Popen(
        [sys.executable, "-c", TELLING, *race], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "running\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=60)
    assert child.returncode == INTERRUPTED
    assert out == ""
    assert error.strip().endswith("ascd: interrupted")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_that_compiled_code_swallows_is_repeated(monkeypatch, capsys):
    """LLVM's callbacks drop exceptions; the hook for these brings the interrupt back."""
    from ascd.cli import info
    from ascd.cli.interrupts import Stopped

    def swallowing():
        sys.unraisablehook(type("Report", (), {"exc_value": Stopped()})())
        time.sleep(5.0)

    monkeypatch.setattr(info, "facts", swallowing)
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    code, _, error = run(capsys, "info")
    assert code == INTERRUPTED
    assert error == "ascd: interrupted\n"
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before
    assert threading.active_count() == 1 or all(not isinstance(one, threading.Timer) for one in threading.enumerate())
