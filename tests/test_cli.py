"""The command line: help, exit codes, options, what people and machines read; models are in test_cli_models."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
from command_line import run  # noqa: E402

from ascd import estimators  # noqa: E402
from ascd.cli import ERROR, USAGE, main  # noqa: E402
from ascd.cli.models import MODELS, make_estimator  # noqa: E402

COMMANDS = ["convert", "demo", "fit", "info", "path", "predict", "reproduce"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a table in every format, tables with something wrong, a model, and data of ``ascd convert``."""
    folder = tmp_path_factory.mktemp("files")
    X = np.random.default_rng(0).standard_normal((20, 2)).round(3)
    y = (X @ [1.0, -2.0]).round(3)
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(y=y)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "noext", index=False)
    frame.to_parquet(folder / "t.parquet")
    (folder / "t.svm").write_text("\n".join(f"{t} 1:{a} 2:{b}" for (a, b), t in zip(X, y, strict=True)))
    frame.mask(frame == frame["a"][3]).to_csv(folder / "gap.csv", index=False)
    frame.assign(y="one").to_csv(folder / "same.csv", index=False)
    frame.assign(empty=np.nan)[["empty", "a", "y"]].to_csv(folder / "hollow.csv", index=False)
    frame.assign(y=3.0).to_csv(folder / "flat.csv", index=False)
    frame.assign(id=[f"n{k}" for k in range(20)])[["id", "a", "y"]].to_csv(folder / "many.csv", index=False)
    frame.assign(kind=["yes", "no"] * 10).to_csv(folder / "words.csv", index=False)
    (folder / "ragged.csv").write_text("a,b,y\n1,2,3\n4,5,6,7\n", encoding="utf-8")
    (folder / "numbers.csv").write_text("1,2,3\n4,5,6\n7,8,9\n", encoding="utf-8")
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "other.npz").write_text("no model", encoding="utf-8")
    assert main(["fit", str(folder / "t.csv"), "--alpha", "0.1", "--out", str(folder / "m.npz")]) == 0
    assert main(["convert", str(folder / "t.csv"), str(folder / "c.parquet")]) == 0
    assert main(["convert", str(folder / "t.svm"), str(folder / "folder")]) == 0
    return folder


@pytest.fixture
def place(files, tmp_path, monkeypatch):
    """A folder of one's own with all that; it is the present one."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


MISUSED = [
    ("nonsense", "No such command 'nonsense'"),
    *((f"{command} --nonsense", "No such option") for command in COMMANDS),
    # a file, a folder or a name that is not there
    *((f"{command} absent.csv", "Path 'absent.csv' does not exist") for command in ("fit", "path", "predict m.npz")),
    ("convert absent.csv new.parquet", "Path 'absent.csv' does not exist"),
    ("fit folder --target absent", "must be left out for"),
    ("fit c.parquet --target absent --memory 2GB", "unknown target 'absent'"),
    ("predict m.npz t.csv --out absent/p.csv", "no such folder: absent"),
    ("convert t.csv absent/new.parquet", "no such folder: absent"),
    ("fit t.csv --target absent", "unknown target 'absent'"),
    ("fit t.csv --without absent", "unknown column 'absent'"),
    ("fit t.csv --target y --without y", "--target y is left out by --without y"),
    ("fit t.csv --without a --without a", "column 'a' is named twice"),
    # missing arguments
    *((command, "Missing argument") for command in ("fit", "path", "convert t.csv", "predict m.npz")),
    # values that are not allowed
    ("fit t.csv --alpha -1", "alpha"),
    ("fit t.csv --alpha nan", "alpha"),
    ("fit t.csv --cv 1", "1 is not in the range x>=2"),
    ("fit t.csv --cv 21", "--cv must be at most the number of samples, 20; got 21"),
    ("fit t.csv --model elastic-net --l1-ratio 2", "l1_ratio"),
    ("fit t.csv --model logistic --C -1", "C"),
    ("fit t.csv --model lasso --C 1", "model 'lasso' takes no --C; it takes --alpha, --positive"),
    ("fit t.csv --model nnls --cv 3", "model 'nnls' has no cross-validation"),
    ("fit t.csv --model laso", "'laso' is not one of 'lasso'"),
    *((f"{command} --sep ::", "sep (--sep) must be one character") for command in ("fit t.csv", "predict m.npz t.csv")),
    ("fit folder --memory much", "memory must be at least 1 MiB"),
    ("fit noext", "does not show the file's format"),
    ("path t.csv --eps 2.0", "2.0 is not in the range 0<x<1"),
    ("path t.csv --tol -1", "is not in the range x>=0"),
    ("convert t.csv new", "a CSV file becomes a Parquet file"),
    ("reproduce 9", "unknown figure '9'"),
    ("reproduce 2z", "Did you mean '2'"),
    # what would be overwritten
    ("fit t.csv --out m.npz", "m.npz exists: --force overwrites it"),
    ("fit t.csv --out t.csv --force", "is a file that is read"),
    ("predict m.npz t.csv --out m.npz --force", "is a file that is read"),
    ("convert t.csv c.parquet", "(force=True, --force)"),
    ("path t.csv --out t.csv", "is a file"),
    # what does not go together, or has no effect
    ("fit t.csv --alpha 1 --cv 3", "--alpha and --cv exclude each other"),
    ("fit t.csv --choose 1se", "--choose needs --cv"),
    ("fit t.csv --drop --impute mean", "--drop and --impute mean exclude each other"),
    ("fit t.csv --memory 2GB", "cannot be read piece by piece"),
    ("fit folder --explain", "--explain fits half-samples"),
    ("fit c.parquet --memory 2GB --drop", "--drop and --impute need the data in memory; ascd convert has --drop"),
    ("predict m.npz folder", "is no file; fit and path read folders"),
    *((f"fit t.svm --{option} y --out n.npz", "have no names") for option in ("target", "without")),
]  # fmt: skip

GAP = "1 missing or infinite value, the first in feature 'a', row 4"
FAILING = [
    *((f"{command} gap.csv", GAP) for command in ("fit", "path", "predict m.npz")),
    ("convert gap.csv new.parquet", f"{GAP}: --drop leaves out such rows"),
    ("convert many.csv new.parquet", "'id' must be numbers; the first that is none is 'n0' in row 1: correct it, name"),
    *((f"{command} ragged.csv", "Expected 3 fields in line 3, saw 4") for command in ("fit", "predict m.npz")),
    *((f"{command} empty.csv", "empty.csv is empty") for command in ("fit", "path", "predict m.npz")),
    ("fit numbers.csv", "is it data, or names that are numbers? --no-header reads it as data, --header as names"),
    ("fit hollow.csv", "20 missing or infinite values, the first in feature 'empty', row 1"),
    ("path hollow.csv --drop", "--drop would leave out all 20 rows: every one lacks a value"),
    ("fit many.csv", "text column 'id' has 20 different values, more than 5: --levels 20"),
    (
        "path words.csv --target kind",
        "the target 'kind' must be numbers here, its first value is 'yes'; classes need logistic or svm",
    ),
    ("path flat.csv", "the target 'y' is constant: there is no path"),
    ("predict other.npz t.csv", "other.npz is not a model file of `ascd fit`"),
    ("predict m.npz t.csv --probabilities", "Lasso has no probabilities; logistic regression has"),
    ("fit other.npz --format parquet", "other.npz is not a parquet file"),
    ("fit same.csv", "the target 'y' must be numbers here"),
    ("fit t.csv --model logistic", "the target 'y' has numbers such as"),
    ("fit t.csv --model svm", "is it a quantity? --model lasso fits one; classes are words or whole numbers"),
    ("path same.csv --model logistic", "a logistic path needs two classes; the target has"),
]


@pytest.mark.parametrize(("line", "words"), MISUSED, ids=lambda text: text[:40])
def test_what_is_wrong_with_the_command_is_2(capsys, place, line, words):
    refused(capsys, place, line, words, USAGE)


@pytest.mark.parametrize(("line", "words"), FAILING, ids=lambda text: text[:40])
def test_what_is_wrong_with_the_data_is_1(capsys, place, line, words):
    more = " --levels 5" if "fit many.csv" in line else ""
    out = " --out n.npz" if line.startswith("fit") else ""
    refused(capsys, place, f"{line}{more}{out}", words, ERROR)


def refused(capsys, place, line, words, expected):
    """One line on standard error, and nothing is written."""
    before = sorted(path.relative_to(place) for path in place.rglob("*"))
    code, out, error = run(capsys, *line.split())
    assert (code, out) == (expected, ""), error
    assert words in error
    assert "error: " in error
    assert "pickle" not in error
    assert error.count("\n") == 1
    assert sorted(path.relative_to(place) for path in place.rglob("*")) == before


def test_help_names_every_command(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert all(name in out for name in COMMANDS)
    assert "_ASCD_COMPLETE" in out
    for name in COMMANDS:
        code, out, _ = run(capsys, name, "--help")
        assert code == 0
        assert "--json" in out
        assert ("\nCross-validation:\n" in out) == (name == "fit")


def test_a_missing_file_is_reported_before_heavy_imports(tmp_path):
    script = "import sys; from ascd.cli import main; main(['fit', 'none.csv']); "
    script += "print({'numba', 'scipy', 'sklearn', 'pandas'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert found.stdout == "set()\n"
    assert "Path 'none.csv' does not exist" in found.stderr


#: Options of `ascd fit` about the model, with a value each; MODELS says which model takes them.
OF_MODELS = {
    "alpha": 0.5, "l1_ratio": 0.5, "C": 2.0, "loss": "hinge", "epsilon": 1.5,
    "positive": True, "standardize": True, "tol": 1e-3, "max_iter": 7, "fit_intercept": False,
}  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_a_model_uses_an_option_or_refuses_it(model):
    taken = getattr(estimators, MODELS[model])().get_params()
    for folds in (None, 3) if hasattr(estimators, f"{MODELS[model]}CV") else (None,):
        for name, value in OF_MODELS.items():
            if name in taken and not (folds and name in ("alpha", "C")):
                made = make_estimator(model, folds, {name: value}).get_params()
                found = made["l1_ratios"][0] if "l1_ratios" in made and name == "l1_ratio" else made[name]
                assert found == value, f"{model} loses {name}"
            else:
                flag = name.replace("fit_", "").replace("_", "-")
                with pytest.raises(ValueError, match=re.escape(f"--{flag}")):
                    make_estimator(model, folds, {name: value})


def test_what_was_found_and_done_is_shown(capsys, place):
    rows = [f"{k % 5};{k},5;{'Bern' if k % 3 else 'Ulm'};{3 * k},1" for k in range(40)]
    (place / "flats.csv").write_text("\n".join(["rooms;area;town;rent", *rows, ";1,5;Bern;2"]), encoding="utf-8")
    code, out, _ = run(capsys, "fit", "flats.csv", "--drop", "--alpha", 0.1, "--out", "n.npz")
    assert code == 0
    assert out.splitlines()[:4] == [
        "read flats.csv: 40 rows, 3 features, target 'rent'",
        "  separator ';', decimal comma, header",
        "  text column 'town' as 1 column of 0 and 1: town=Ulm",
        "  1 of 41 rows left out: a value is missing",
    ]
    _, out, _ = run(capsys, "fit", "flats.csv", "--drop", "--alpha", 0.1, "--out", "n.npz", "--json", "--force")
    assert json.loads(out)["data"]["reading"][0] == "separator ';', decimal comma, header"


@pytest.mark.parametrize("source", ["t.csv", "t.svm"])
def test_a_file_is_converted_and_fitted_chunk_by_chunk(capsys, place, source):
    out = "new.parquet" if source == "t.csv" else "new"
    how = ("--alpha", 0.1, "--force", "--out", "n.npz", "--json")
    code, said, _ = run(capsys, "convert", source, out, "--json")
    found = json.loads(said)
    assert (code, found["samples"], found["features"], found["out"]) == (0, 20, 2, out)
    whole = json.loads(run(capsys, "fit", source, *how)[1])
    parts = json.loads(run(capsys, "fit", out, "--memory", "2MB", *how)[1])
    assert parts["score"] == pytest.approx(whole["score"], rel=1e-4)
    assert parts["bytes_read"] > 0
    assert re.search(r"read [\d.]+ times the data", run(capsys, "fit", out, "--memory", "2MB", *how[:-1])[1])
    assert run(capsys, "path", out, "--memory", "2MB", "--out", "path")[0] == 0
    assert run(capsys, "predict", "n.npz", source)[0] == 0


def test_paths_are_those_of_the_estimators(capsys, place):
    from ascd.estimators import ElasticNet, Lasso

    frame = pandas.read_csv("t.csv")
    X, y = frame[["a", "b"]] * [1.0, 20.0], frame["y"]
    X.assign(y=y).to_csv("scaled.csv", index=False)
    for more, model in (((), Lasso()), (("--standardize",), Lasso(standardize=True)),
                        (("--model", "elastic-net", "--standardize"), ElasticNet(standardize=True))):  # fmt: skip
        code, out, error = run(capsys, "path", "scaled.csv", "--points", 4, *more, "--out", "p", "--json")
        assert code == 0, error
        with np.load("p/path.npz") as stored:
            strengths, coefs = stored["strengths"], stored["coefs"]
        assert json.loads(out)["nonzero"][0] == 0
        for alpha, coef in zip(strengths[1:], coefs.T[1:], strict=True):
            np.testing.assert_allclose(coef, model.set_params(alpha=alpha).fit(X, y).coef_, atol=1e-4)


def test_names_cannot_steer_a_terminal(capsys, place):
    text = (place / "t.csv").read_text().replace("a,b", f"\x1b[31mred,{'long' * 2000}", 1)
    (place / "t.csv").write_text(text, encoding="utf-8")
    for command in (["fit", "t.csv", "--alpha", 0.01, "--out", "n.npz"], ["path", "t.csv", "--points", 3]):
        code, out, error = run(capsys, *command)
        assert (code, error) == (0, "")
        assert "\x1b" not in out
        assert max(map(len, out.splitlines())) < 300
    assert "\x1b" not in run(capsys, "fit", "t.csv", "--without", "\x1b[31", "--force")[2]


def test_info_and_reproduce_for_machines(capsys, tmp_path):
    found = json.loads(run(capsys, "info", "--json")[1])
    assert found["threads"]["processors"] >= 1
    assert "numba" in found["versions"]
    code, out, _ = run(capsys, "reproduce", "4", "1", "--out", tmp_path, "--jobs", 1, "--no-pictures", "--json")
    found = json.loads(out)
    assert code == 0
    assert {claim["verdict"] for claim in found["claims"] if claim["where"].startswith("Fig. 4")} == {"holds"}
    assert (tmp_path / "quick" / "report.html").exists()
