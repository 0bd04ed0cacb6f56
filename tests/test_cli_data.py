"""Data files on the command line: findings are shown, doubts are questioned, nothing is overwritten."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

from ascd.cli import ERROR, USAGE  # noqa: E402
from ascd.cli.models import load_model  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def flats(tmp_path):
    """Semicolons, decimal commas, a text column, gaps: as a spreadsheet writes it."""
    rng = np.random.default_rng(0)
    n = 40
    frame = pandas.DataFrame(
        {
            "rooms": rng.integers(1, 6, n).astype(float),
            "area": (20.0 + 80.0 * rng.random(n)).round(1),
            "town": rng.choice(["Basel", "Bern", "Genf"], n),
        }
    )
    frame["rent"] = (300.0 * frame["rooms"] + 12.5 * frame["area"] + 200.0 * (frame["town"] == "Bern")).round(1)
    frame.loc[3, "area"] = np.nan
    path = tmp_path / "flats.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False)
    return path


def test_what_was_found_out_and_done_is_shown(capsys, flats, tmp_path):
    code, out, _ = run(capsys, "fit", flats, "--drop", "--alpha", 0.1, "--out", tmp_path / "m.npz")
    assert code == 0
    assert out.splitlines()[:4] == [
        "read flats.csv: 39 rows, 5 features, target 'rent'",
        "  separator ';', decimal comma, header",
        "  text column 'town' as 3 columns of 0 and 1: town=Basel, town=Bern, town=Genf",
        "  1 of 40 rows left out: a value is missing",
    ]
    _, out, _ = run(capsys, "fit", flats, "--drop", "--alpha", 0.1, "--out", tmp_path / "n.npz", "--json")
    assert json.loads(out)["data"]["reading"][0] == "separator ';', decimal comma, header"


def test_gaps_are_refused_with_the_options_that_mend_them(capsys, flats, tmp_path):
    for command in (["fit", flats, "--out", tmp_path / "m.npz"], ["path", flats], ["race", flats]):
        code, out, error = run(capsys, *command)
        assert (code, out) == (ERROR, "")
        assert "1 missing or infinite value, the first in feature 'area', row 4: --drop leaves out their rows" in error
        assert "--impute mean fills them" in error


def test_a_model_treats_new_data_as_it_was_fitted(capsys, flats, tmp_path):
    model = tmp_path / "m.npz"
    run(capsys, "fit", flats, "--impute", "mean", "--alpha", 0.01, "--out", model)
    new = tmp_path / "new.csv"
    new.write_text("town,area,rooms,id\nBern,50,2,a\nBern,,2,b\nMauve,50,2,c\n")
    code, out, error = run(capsys, "predict", model, new)
    assert code == 0
    bern, filled, mauve = (float(line) for line in out.splitlines()[1:])
    loaded = load_model(model)
    weights = dict(zip(loaded.names, loaded.coef[0], strict=True))
    fills = loaded.header["data"]["recipe"]["fills"]
    assert filled - bern == pytest.approx(weights["area"] * (fills["area"] - 50.0), rel=1e-6)
    assert bern - mauve == pytest.approx(weights["town=Bern"], rel=1e-6)
    assert "not seen count as none: Mauve" in error


def test_a_gap_that_the_model_cannot_fill_is_refused(capsys, flats, tmp_path):
    run(capsys, "fit", flats, "--drop", "--alpha", 0.1, "--out", tmp_path / "m.npz")
    code, _, error = run(capsys, "predict", tmp_path / "m.npz", flats)
    assert code == ERROR
    assert "a model that was fitted with --impute fills them" in error


def test_a_numeric_header_is_questioned(capsys, tmp_path):
    path, model = tmp_path / "plain.csv", tmp_path / "m.npz"
    np.savetxt(path, np.random.default_rng(0).standard_normal((20, 4)), delimiter=",")
    code, _, error = run(capsys, "fit", path, "--out", model)
    assert code == ERROR
    assert "is it data, or names that are numbers? --no-header reads it as data, --header as names" in error
    for option, rows in (("--no-header", 20), ("--header", 19)):
        code, out, _ = run(capsys, "fit", path, option, "--out", model, "--force", "--json")
        assert (code, json.loads(out)["data"]["samples"]) == (0, rows)


def test_the_wrong_separator_is_told_with_the_right_one(capsys, flats, tmp_path):
    code, _, error = run(capsys, "fit", flats, "--sep", ",", "--decimal", ".", "--out", tmp_path / "m.npz")
    assert code == ERROR
    assert "flats.csv has 40 samples and 0 features" in error
    assert "name the separator with --sep ';'" in error


def test_words_for_separators_and_columns_to_leave_out(capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id\ta\ty\n" + "".join(f"n{k}\t{k}\t{2 * k}\n" for k in range(30)))
    code, _, error = run(capsys, "fit", path, "--out", tmp_path / "m.npz")
    assert code == ERROR
    assert "text column 'id' has 30 different values, more than 20: --levels 30" in error
    options = ("--sep", "tab", "--without", "id", "--alpha", 0.01, "--out", tmp_path / "m.npz")
    assert run(capsys, "fit", path, *options)[0] == 0
    assert load_model(tmp_path / "m.npz").names.tolist() == ["a"]


def test_a_file_without_rows_says_so(capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n")
    code, _, error = run(capsys, "fit", path, "--out", tmp_path / "m.npz")
    assert code == ERROR
    assert "t.csv has a header of 3 columns and no rows" in error


def test_a_missing_file_has_the_same_exit_code_everywhere(capsys, houses, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    absent = tmp_path / "absent.csv"
    run(capsys, "fit", houses, "--alpha", 0.1, "--out", "m.npz")
    for command in (
        ["fit", absent, "--out", "n.npz"],
        ["path", absent],
        ["race", absent],
        ["predict", "m.npz", absent],
        ["predict", absent, houses],
        ["reproduce", "3a", "--data", absent],
        ["reproduce", "--only-publish"],
        ["fit", houses, "--out", "absent/m.npz"],
        ["race", houses, "--out", "absent/race"],
        ["path", houses, "--out", "absent/path"],
        ["demo", "--out", "absent/demo"],
    ):
        code, out, error = run(capsys, *command)
        assert (code, out) == (USAGE, ""), command
        assert "no such f" in error
        assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["houses.csv", "m.npz"], "no folder was made"


def test_an_existing_model_is_not_overwritten_without_force(capsys, houses, tmp_path):
    model = tmp_path / "m.npz"
    assert run(capsys, "fit", houses, "--alpha", 0.1, "--out", model)[0] == 0
    before = model.read_bytes()
    code, _, error = run(capsys, "fit", "absent.csv", "--alpha", 0.5, "--out", model)
    assert code == USAGE
    assert f"{model} exists: --force overwrites it" in error
    assert model.read_bytes() == before
    assert run(capsys, "fit", houses, "--alpha", 0.5, "--out", model, "--force")[0] == 0
    assert model.read_bytes() != before
    predictions = tmp_path / "p.csv"
    assert run(capsys, "predict", model, houses, "--out", predictions)[0] == 0
    assert run(capsys, "predict", model, houses, "--out", predictions)[0] == USAGE
    assert run(capsys, "predict", model, houses, "--out", predictions, "--force")[0] == 0


def test_new_folders_are_told(capsys, houses, tmp_path):
    folder = tmp_path / "p"
    _, out, _ = run(capsys, "path", houses, "--points", 3, "--out", folder)
    assert f"created the folder {folder}" in out
    _, out, _ = run(capsys, "path", houses, "--points", 3, "--out", folder)
    assert "created" not in out


@pytest.mark.parametrize("content", ["pickle", "objects", "text"])
def test_nobody_is_advised_to_unpickle(capsys, houses, tmp_path, content):
    path = tmp_path / "other.npz"
    if content == "pickle":
        path.write_bytes(pickle.dumps({"coef": [1, 2]}))
    elif content == "objects":
        np.savez(path, header=np.array({"a": 1}, dtype=object), X=np.array([None]), y=np.ones(1))
    else:
        path.write_text("coef = 1")
    for command in (["predict", path, houses], ["fit", path, "--out", tmp_path / "m.npz"]):
        code, _, error = run(capsys, *command)
        assert code == ERROR
        assert "pickle" not in error.lower()


def test_a_quantity_given_to_a_classifier_is_questioned(capsys, houses, tmp_path):
    for model in ("logistic", "svm"):
        code, _, error = run(capsys, "fit", houses, "--model", model, "--out", tmp_path / "m.npz")
        assert code == ERROR
        assert "the target 'price' has 40 different numbers in 40 samples" in error
        assert "is it a quantity? --model lasso fits one; --classes takes each number for a class" in error
    path = tmp_path / "grades.csv"
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": rng.standard_normal(40), "grade": rng.choice([1.5, 2.5], 40)})
    frame.to_csv(path, index=False)
    assert run(capsys, "fit", path, "--model", "logistic", "--out", tmp_path / "m.npz")[0] == 0, (
        "two values are classes"
    )
    frame["grade"] = rng.choice([1.5, 2.0, 2.5], 40)
    frame.to_csv(path, index=False)
    assert run(capsys, "fit", path, "--model", "logistic", "--out", tmp_path / "n.npz")[0] == ERROR
    assert run(capsys, "fit", path, "--model", "logistic", "--classes", "--out", tmp_path / "n.npz")[0] == 0
    _, out, error = run(capsys, "predict", tmp_path / "n.npz", path)
    assert set(out.split()[1:]) <= {"1.5", "2", "2.5"}
    assert 0.2 < float(error.split()[1]) <= 1.0, "compared as the classes they are"


def test_every_class_has_its_table(capsys, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    kind = np.array(["ant", "bee", "cat"])[X.argmax(axis=1)]
    path = tmp_path / "zoo.csv"
    pandas.DataFrame(X, columns=list("xyz")).assign(kind=kind).to_csv(path, index=False)
    _, out, _ = run(capsys, "fit", path, "--target", "kind", "--model", "logistic", "--out", tmp_path / "m.npz")
    loaded = load_model(tmp_path / "m.npz")
    for number, name in enumerate(["ant", "bee", "cat"]):
        part = out.split(f"class {name}")[1].split("intercept")[0]
        largest = int(np.abs(loaded.coef[number]).argmax())
        assert part.split()[3:5] == ["xyz"[largest], f"{loaded.coef[number, largest]:+.6g}"]


def test_a_path_is_the_estimators_own(capsys, houses, tmp_path):
    from ascd.estimators import Lasso

    run(capsys, "path", houses, "--points", 4, "--out", tmp_path / "p")
    frame = pandas.read_csv(houses)
    X, y = frame.drop(columns="price"), frame["price"]
    with np.load(tmp_path / "p" / "path.npz") as held:
        strengths, coefs = held["strengths"], held["coefs"]
    for alpha, coef in zip(strengths[1:], coefs.T[1:], strict=True):
        np.testing.assert_allclose(coef, Lasso(alpha=alpha).fit(X, y).coef_, atol=1e-4)


def test_a_file_is_converted_and_fitted_piece_by_piece(capsys, houses, tmp_path):
    folder, how = tmp_path / "groups", ("--alpha", 0.1, "--force", "--out", tmp_path / "m.npz")
    notes = ["separator ',', header"]
    code, out, _ = run(capsys, "convert", houses, folder, "--target", "price", "--json")
    facts = {"samples": 40, "features": 6, "bytes": 1920, "folder": str(folder), "reading": notes}
    assert (code, json.loads(out)) == (0, facts)
    whole = json.loads(run(capsys, "fit", houses, "--target", "price", *how, "--json")[1])
    _, out, _ = run(capsys, "fit", folder, "--memory", "2MB", *how)
    assert re.search(r"read [\d.]+ times the data", out)
    assert "40 rows, 6 features" in out
    found = json.loads(run(capsys, "fit", folder, "--memory", "2MB", *how, "--json")[1])
    assert found["score"] == pytest.approx(whole["score"], rel=1e-4)
    assert found["bytes_read"] > 0
    assert run(capsys, "path", folder, "--memory", "2MB", "--out", tmp_path / "path")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--memory", "2MB", "--drop"], "--drop needs the data in memory"),
        (["--memory", "2MB", "--explain"], "--explain fits half-samples"),
        (["--memory", "much"], "memory must be at least 1 MiB"),
    ],
)
def test_what_needs_memory_says_so(capsys, houses, tmp_path, arguments, words):
    run(capsys, "convert", houses, tmp_path / "groups", "--target", "price")
    code, _, error = run(capsys, "fit", tmp_path / "groups", *arguments, "--out", tmp_path / "m.npz")
    assert code == USAGE
    assert words in error


def test_a_long_fit_tells_how_often_the_data_were_read(houses, tmp_path):
    from rich.console import Console

    from ascd.cli.console import Telling
    from ascd.cli.watching import asked
    from ascd.files import convert

    data = convert(houses, tmp_path / "groups", target="price")
    said = Telling(lambda: asked(data, None))
    shown = []
    for _ in range(2):
        console = Console(record=True, width=80)
        console.print(said)
        shown.append(console.export_text().strip())
        data.as_design().check_finite()
    assert shown == ["0.0 times the data read", "1.0 times the data read"]
