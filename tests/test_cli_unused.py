"""Options that change nothing are refused, for every command: all pairs of options and models, or kinds of data."""

from __future__ import annotations

import re

import numpy as np
import pytest

click = pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from ascd.cli.unused import GENERATED, ON_DISK, USED  # noqa: E402
from command_line import run  # noqa: E402

from ascd.cli import USAGE  # noqa: E402
from ascd.cli.estimators import COMMON, MODELS, make_estimator  # noqa: E402
from ascd.cli.fit import command as fit_command  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")
#: Options of `ascd fit` that speak of the model, with a value each; what each model takes stands in MODELS.
OF_MODELS = {
    "alpha": 0.5, "l1_ratio": 0.5, "C": 2.0, "loss": "hinge", "groups": 1, "weights": "sqrt", "epsilon": 1.5,
    "positive": True, "standardize": True, "tol": 1e-3, "max_iter": 7, "fit_intercept": False,
}  # fmt: skip
#: Options of `ascd fit` that speak of the data, with arguments that are right by themselves.
OF_DATA = {
    "format": ["--format", "csv"], "sep": ["--sep", ","], "decimal": ["--decimal", "."], "header": ["--no-header"],
    "na": ["--na", "x"], "target": ["--target", "y"], "without": ["--without", "a"], "drop": ["--drop"],
    "impute": ["--impute", "mean"], "levels": ["--levels", "20"], "memory": ["--memory", "1GB"],
}  # fmt: skip
#: All other options of `ascd fit`: where they are looked at.
OTHERS = {"data", "more", "scheduler", "workers", "model", "cv", "classes", "explained", "resamples", "out", "force"}


def test_every_option_of_a_fit_stands_in_a_table():
    known = {*OF_MODELS, *OF_DATA, *OTHERS}
    assert {option.name for option in fit_command.params if option.expose_value} == known


@pytest.mark.parametrize("model", MODELS)
def test_a_model_uses_an_option_or_refuses_it(model):
    needed = {"groups": 2} if "groups" in MODELS[model].options else {}
    for folds in (None, 3) if MODELS[model].cross_validated else (None,):
        for name, value in OF_MODELS.items():
            takes = name in MODELS[model].options | COMMON
            chosen = folds is not None and name in ("alpha", "C")
            if takes and not chosen:
                made = make_estimator(model, folds, {**needed, name: value}).get_params()
                found = made["l1_ratios"][0] if "l1_ratios" in made and name == "l1_ratio" else made[name]
                assert found == value, f"{model} loses {name}"
            else:
                with pytest.raises(ValueError, match=re.escape(f"--{name.replace('_', '-')}")):
                    make_estimator(model, folds, {**needed, name: value})


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The same table in every format, and as a folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((12, 2)), columns=["a", "b"]).assign(y=np.arange(12.0))
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    np.savez("t.npz", X=frame[["a", "b"]].to_numpy(), y=frame["y"].to_numpy())
    lines = [f"{row.y} 1:{row.a} 2:{row.b}" for row in frame.itertuples()]
    (tmp_path / "t.svm").write_text("\n".join(lines), encoding="utf-8")
    return {
        "csv files": "t.csv", "parquet files": "t.parquet", "npz files": "t.npz", "libsvm files": "t.svm",
        GENERATED: "synthetic",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["csv files", "parquet files", "npz files", "libsvm files", GENERATED])
@pytest.mark.parametrize("command", ["fit", "path", "race"])
def test_every_option_about_data_is_used_or_refused(capsys, files, command, kind):
    """Options that are used may still be wrong for the file; those that are not are told as such."""
    pytest.importorskip("pyarrow", reason="parquet files need it")
    for name, given in OF_DATA.items():
        if name == "memory" or name in USED[kind]:
            continue
        code, out, error = run(capsys, command, files[kind], *given, "--out", "made")
        assert (code, out) == (USAGE, ""), (name, error)
        assert f"{given[0]} has no effect on {kind} ({files[kind]}): it is for csv files" in error
        assert "; leave it out" in error


def test_what_is_read_piece_by_piece_refuses_what_it_does_not_read(capsys, files, tmp_path):
    assert run(capsys, "convert", "t.csv", "folder")[0] == 0
    for name in sorted(set(OF_DATA) - USED[ON_DISK]):
        code, _, error = run(capsys, "fit", "folder", *OF_DATA[name], "--out", "m.npz")
        assert code == USAGE, name
        assert f"{OF_DATA[name][0]} has no effect on data that are read piece by piece (folder)" in error
    assert not (tmp_path / "m.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "t.csv", "--classes"], "--classes has no effect without a classifier (--model logistic or svm)"),
        (["fit", "t.csv", "--resamples", 9], "--resamples has no effect without --explain"),
        (["fit", "t.csv", "--drop", "--impute", "mean"], "--drop and --impute mean exclude each other"),
        (["path", "t.csv", "--drop", "--impute", "zero"], "--drop and --impute zero exclude each other"),
        (["path", "t.csv", "--l1-ratio", 0.3], "--l1-ratio has no effect without --model elastic-net"),
        (["race", "t.csv", "--rule", "uniform", "--oracle", "exact"], "--oracle has no effect without a rule that"),
        (["race", "t.csv", "--rule", "cyclic", "--steepness", "gs-r"], "--steepness has no effect without a rule"),
        (["race", "t.csv", "--rule", "uniform", "--init", "none"], "--init has no effect without a rule that looks"),
        (["predict", "m.npz", "t.csv", "--force"], "--force has no effect without --out"),
        (["predict", "m.npz", "t.npz", "--sep", ";"], "--sep has no effect on npz files (t.npz)"),
        (["convert", "t.svm", "folder", "--target", "y"], "--target has no effect on libsvm files (t.svm)"),
        (["reproduce", "--only-publish", "--jobs", 1], "--jobs has no effect without runs"),
        (["reproduce", "2b", "--data", "rcv1"], "--data has no effect without a panel of figure 3"),
    ],
)
def test_options_that_need_another(capsys, files, tmp_path, arguments, sentence):
    if arguments[0] == "predict":
        assert run(capsys, "fit", "t.csv", "--alpha", 0.1, "--out", "m.npz")[0] == 0
    code, out, error = run(capsys, *arguments)
    assert (code, out) == (USAGE, "")
    assert sentence in error
    assert error.count("\n") == 1
    assert not (tmp_path / "folder").exists()


def test_a_switch_that_is_off_is_seen_on_a_cluster(capsys, files):
    code, _, error = run(capsys, "fit", "t.parquet", "--workers", 1, "--no-header", "--out", "m.npz")
    assert code == USAGE
    assert "--no-header has no effect on parquet files on a cluster" in error


def test_a_format_that_is_given_is_used_to_convert(capsys, files, tmp_path):
    (tmp_path / "table.dat").write_text("a;b;y\n4.311;1;2\n5.123;2;3\n", encoding="utf-8")
    code, out, _ = run(capsys, "convert", "table.dat", "folder", "--format", "csv", "--decimal", ",")
    assert code == 0
    assert "table.dat: separator ';', decimal comma, '.' between thousands, header" in out
    code, out, _ = run(capsys, "convert", "table.dat", "other", "--format", "csv")
    assert "4.311 is read as 4.311, not as 4311" in out
