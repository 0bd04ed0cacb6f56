"""Errors that a new user meets: one sentence that names what is wrong, what is allowed and what to do."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

from ascd.cli import ERROR, USAGE, main  # noqa: E402
from ascd.io import Dialect, convert, read_table  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3)).round(3)
    return pandas.DataFrame(X, columns=list("abc")).assign(y=(X @ [1.0, 2.0, 0.0]).round(3))


@pytest.fixture
def refused(capsys, tmp_path):
    """The error of a command, one line; nothing is written."""

    def ask(*arguments, expected=ERROR):
        before = sorted(tmp_path.iterdir())
        code, _, error = run(capsys, *arguments, "--out", tmp_path / "made")
        assert code == expected, error
        assert error.count("\n") == 1
        assert sorted(tmp_path.iterdir()) == before
        return error

    return ask


@pytest.mark.parametrize("sep", ["::", "", '"', "tabulator"])
def test_a_separator_is_one_character(refused, frame, tmp_path, sep):
    frame.to_csv(tmp_path / "t.csv", index=False)
    error = refused("fit", tmp_path / "t.csv", "--sep", sep, expected=USAGE)
    assert "sep (--sep) must be one character other than a quote, or one of the words tab, space, comma" in error
    assert f"got {sep!r}: replace it in the file by one character" in error


def test_words_for_separators(frame, tmp_path, capsys):
    frame.to_csv(tmp_path / "t.csv", index=False, sep="|")
    assert run(capsys, "fit", tmp_path / "t.csv", "--sep", "pipe", "--alpha", 0.1, "--out", tmp_path / "m.npz")[0] == 0


def test_a_column_without_values_is_named(refused, frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.assign(empty=np.nan)[["a", "empty", "b", "y"]].to_csv(path, index=False)
    assert "t.csv: column 'empty' has no value at all: --without 'empty' leaves it out" in refused("fit", path)
    error = refused("path", path, "--drop")
    assert "--drop would leave out all 30 rows, as column 'empty' has no value at all: --without 'empty'" in error
    assert "column 'empty' has no value at all: leave it out (--without 'empty')" in refused(
        "fit", path, "--impute", "mean"
    )


def test_gaps_in_every_row(refused, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,,3\n,2,4\n", encoding="utf-8")
    error = refused("fit", tmp_path / "t.csv", "--drop")
    assert "--drop would leave out all 2 rows, as every row lacks a value: --impute mean fills them" in error


def test_a_path_needs_a_target_that_varies(refused, frame, tmp_path):
    frame.assign(y=3.0).to_csv(tmp_path / "t.csv", index=False)
    error = refused("path", tmp_path / "t.csv", "--points", 5)
    assert "the target 'y' is constant, or no feature varies with it" in error
    assert "name another column with --target" in error


def test_names_are_not_read_as_data(refused, frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    error = refused("fit", tmp_path / "t.csv", "--no-header")
    assert "the first line of t.csv has words (a, b, c) above columns of numbers" in error
    assert "leave that option out, or delete the line" in error
    (tmp_path / "gap.csv").write_text("NA,2\n3,4\n5,6\n", encoding="utf-8")
    assert read_table(tmp_path / "gap.csv", dialect=Dialect(header=False)).X.shape == (3, 1), "a gap is no name"


def test_counts_are_not_negative(refused, frame, tmp_path):
    frame.assign(y=[4, -3, *range(28)]).to_csv(tmp_path / "t.csv", index=False)
    error = refused("fit", tmp_path / "t.csv", "--model", "poisson")
    assert "the target 'y' must be 0 or more for model 'poisson', which fits counts; row 2 has -3" in error


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.bz2", "t.svm.gz", "t.svm.bz2"])
def test_what_is_not_compressed_as_its_name_says(refused, tmp_path, name):
    (tmp_path / name).write_text("a,b,y\n1,2,3\n4,5,6\n", encoding="utf-8")
    error = refused("fit", tmp_path / name)
    assert f"{name} cannot be unpacked as its ending {(tmp_path / name).suffix} says" in error
    assert "rename it without that ending if it is not compressed, or copy it again if it is cut off" in error
    with pytest.raises(ValueError, match="cannot be unpacked as its ending"):
        convert(tmp_path / name, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_file_that_is_cut_off_is_no_interrupt(refused, tmp_path):
    rows = "".join(f"{k},{k * k % 17},{k % 5}\n" for k in range(90_000))
    packed = gzip.compress(f"a,b,y\n{rows}".encode())
    for share in (0.001, 0.9):
        (tmp_path / "t.csv.gz").write_bytes(packed[: int(share * len(packed))])
        assert "t.csv.gz cannot be unpacked" in refused("fit", tmp_path / "t.csv.gz")


def test_errors_go_nowhere_where_standard_error_is_closed(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    code = main(["predict", str(tmp_path / "no.npz"), str(tmp_path / "no.csv")])
    sys.stderr.close()
    assert (code, capsys.readouterr().out) == (USAGE, "")
