"""What a new user of the command line can lose or get wrong: files that are read, devices, names, marks of numbers."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run

from ascd.cli import ERROR, USAGE
from ascd.io import Dialect, read_table, write_text

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def plain(tmp_path):
    """y = 3a + 5b, in a file without a header and in one with."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 2)).round(3)
    rows = [f"{a},{b},{3 * a + 5 * b:.6g}" for a, b in A]
    (tmp_path / "named.csv").write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    (tmp_path / "bare.csv").write_text("\n".join(f"{a},{b}" for a, b in A), encoding="utf-8")
    return tmp_path


def test_what_is_read_is_not_overwritten(capsys, plain):
    data, model = plain / "named.csv", plain / "m.npz"
    before = data.read_text(encoding="utf-8")
    code, _, error = run(capsys, "fit", data, "--alpha", 0.1, "--out", data, "--force")
    assert code == USAGE
    assert "is a file that is read" in error
    assert data.read_text(encoding="utf-8") == before
    assert run(capsys, "fit", data, "--alpha", 0.1, "--out", model)[0] == 0
    assert run(capsys, "predict", model, data, "--out", model, "--force")[0] == USAGE
    assert run(capsys, "predict", model, data)[0] == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only POSIX has such files")
def test_what_is_no_file_is_not_replaced(capsys, plain):
    pipe = plain / "pipe.npz"
    os.mkfifo(pipe)
    code, _, error = run(capsys, "fit", plain / "named.csv", "--alpha", 0.1, "--out", pipe, "--force")
    assert code == USAGE
    assert "is not a file that can be replaced" in error
    with pytest.raises(ValueError, match="is not a file that can be replaced"):
        write_text(pipe, "text")
    assert pipe.is_fifo()


def test_a_link_stays_and_leads_to_what_is_new(tmp_path):
    write_text(tmp_path / "target.txt", "old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "target.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_text(encoding="utf-8") == "new"


def test_a_file_without_a_header_is_matched_by_position(capsys, plain):
    run(capsys, "fit", plain / "named.csv", "--alpha", 0.001, "--out", plain / "m.npz")
    code, named, _ = run(capsys, "predict", plain / "m.npz", plain / "named.csv")
    assert code == 0
    assert run(capsys, "predict", plain / "m.npz", plain / "bare.csv", "--no-header")[:2] == (0, named)


@pytest.mark.parametrize("targets", [["text"] * 30, ["1.0"] + [""] * 29])
def test_targets_that_cannot_be_scored_by_are_no_error(capsys, plain, targets):
    run(capsys, "fit", plain / "named.csv", "--alpha", 0.001, "--out", plain / "m.npz")
    rows = (plain / "bare.csv").read_text(encoding="utf-8").split()
    lines = ["a,b,y", *(f"{row},{target}" for row, target in zip(rows, targets, strict=True))]
    (plain / "new.csv").write_text("\n".join(lines), encoding="utf-8")
    code, out, error = run(capsys, "predict", plain / "m.npz", plain / "new.csv")
    assert (code, len(out.splitlines()), "R²" in error) == (0, 31, False)


def test_a_class_of_one_sample_cannot_be_explained(capsys, plain):
    rows = (plain / "bare.csv").read_text(encoding="utf-8").split()
    lines = ["a,b,y", *(f"{row},{'one' if k == 0 else 'red' if k % 2 else 'blue'}" for k, row in enumerate(rows))]
    (plain / "classes.csv").write_text("\n".join(lines), encoding="utf-8")
    code, _, error = run(capsys, "fit", plain / "classes.csv", "--model", "logistic", "--explain",
                         "--out", plain / "c.npz")  # fmt: skip
    assert code == ERROR
    assert "at least 4 samples a class; class one has 1" in error


def test_a_decimal_mark_that_is_given_leaves_the_other_to_thousands(tmp_path):
    (tmp_path / "points.csv").write_text("a;b;y\n4.311;379;14.828\n4.655;464;16.285\n", encoding="utf-8")
    table = read_table(tmp_path / "points.csv", dialect=Dialect(decimal=","))
    assert np.asarray(table.X).tolist() == [[4311.0, 379.0], [4655.0, 464.0]]
    (tmp_path / "commas.csv").write_text("a;b;y\n4,311;379;14,828\n4,655;464;16,285\n", encoding="utf-8")
    table = read_table(tmp_path / "commas.csv", dialect=Dialect(decimal="."))
    assert np.asarray(table.X).tolist() == [[4311.0, 379.0], [4655.0, 464.0]]


def test_names_are_read_without_spaces_around_them_and_targets_in_capitals(tmp_path):
    (tmp_path / "spaces.csv").write_text("y , a , b\n1,2,3\n4,5,7\n", encoding="utf-8")
    table = read_table(tmp_path / "spaces.csv")
    assert (table.target, table.names) == ("y", ["a", "b"])
    (tmp_path / "capitals.csv").write_text("Y,a,b\n1,2,3\n4,5,7\n", encoding="utf-8")
    assert read_table(tmp_path / "capitals.csv").target == "Y"


def test_a_mark_of_bytes_alone_is_an_empty_file(tmp_path):
    (tmp_path / "mark.csv").write_bytes(b"\xef\xbb\xbf\n")
    with pytest.raises(ValueError, match=r"mark\.csv is empty"):
        read_table(tmp_path / "mark.csv")
