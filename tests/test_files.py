"""Reading tables in four formats, and writing files whole or not at all."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from ascd.engine.naming import named_part
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES
from ascd.io import convert, guess_format, read_table, whole_file, whole_folder, write_text
from ascd.io.writing import _prefix


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def write_half() -> None:
        with whole_file(path) as draft:
            draft.write_text("ne")
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_belong_together_appear_together(tmp_path):
    folder = tmp_path / "deep" / "results"

    def write(fails):
        with whole_folder(folder) as drafts:
            (drafts / "first.txt").write_text(f"fails: {fails}")
            (drafts / "figures").mkdir()
            (drafts / "figures" / "second.txt").touch()
            if fails:
                raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        write(fails=True)
    assert list(tmp_path.iterdir()) == []
    write(fails=False)
    with pytest.raises(RuntimeError, match="halfway"):
        write(fails=True)
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert found == ["figures/second.txt", "first.txt"]
    assert (folder / "first.txt").read_text() == "fails: False"
    assert [path.name for path in tmp_path.rglob(".*")] == []


@pytest.mark.skipif(os.name != "posix", reason="only there a process can be asked whether it lives")
def test_drafts_of_others_stay_unless_their_owner_has_ended(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    machine = _prefix("").split("-")[2]
    names = {
        f".ascd-draft-{machine}-{gone.pid}-x.npz": False,
        f".ascd-draft-{machine}-{os.getpid()}-x.npz": True,
        f".ascd-draft-another_machine-{gone.pid}-x.npz": True,
        f".ascd-draft-{machine}-notes.txt": True,
        ".profile": True,
    }
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / f".ascd-draft-{machine}-{gone.pid}-y").mkdir()
    write_text(tmp_path / "new.txt", "new")
    assert {path.name for path in tmp_path.iterdir()} == {"new.txt", *(name for name, stays in names.items() if stays)}


def test_libsvm_csv_parquet_and_npz_hold_the_same_table(tmp_path):
    pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
    X, y = np.array([[1.0, 0.0, 2.5], [0.0, 3.0, 0.0]]), np.array([1.0, -1.0])
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(label=y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    np.savez(tmp_path / "t.npz", X=X, y=y)
    (tmp_path / "t.svm").write_text("1 1:1 3:2.5\n-1 2:3\n")
    paths = [tmp_path / f"t.{ending}" for ending in ("csv", "npz", "svm")]
    try:
        frame.to_parquet(tmp_path / "t.parquet")
        paths.append(tmp_path / "t.parquet")
    except ImportError:
        pass  # without pyarrow parquet is not part of the installation
    for path in paths:
        table = read_table(path)
        dense = table.X.toarray() if sparse.issparse(table.X) else table.X
        np.testing.assert_array_equal(dense, X)
        np.testing.assert_array_equal(table.y, y)
    assert read_table(tmp_path / "t.csv").names == ["a", "b", "c"]
    assert read_table(tmp_path / "t.csv", target="b").names == ["a", "c", "label"]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("t.csv", "a,b\n1,2\n", {"target": "bb"}, r"unknown target 'bb'\. Did you mean 'b'"),
        ("t.csv", "a,b\nx,2\n", {}, "columns that are not numbers: a"),
        ("t.csv", "", {}, "t.csv is empty"),
        ("t.svm", "1 a:b\n", {}, "is not a LIBSVM file"),
        ("t.dat", "1", {}, "the name 't.dat' does not show the file's format"),
        ("t.csv", "a,b\n1,2\n", {"format": "cvs"}, "unknown format 'cvs'. Did you mean 'csv'"),
    ],
)
def test_bad_files_are_told_in_words(tmp_path, name, content, options, message):
    pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name, **options)


def test_an_npz_without_a_table_says_what_it_has(tmp_path):
    np.savez(tmp_path / "t.npz", Z=np.zeros(3))
    with pytest.raises(ValueError, match=r"must hold X .* it has \['Z'\]"):
        read_table(tmp_path / "t.npz")


def test_formats_are_told_by_name():
    assert [guess_format(name) for name in ("a.SVM", "b.tsv.gz", "c.pq", "d.bz2")] == [
        "libsvm",
        "csv",
        "parquet",
        "libsvm",
    ]


@pytest.mark.parametrize("name", ["a.svm.gz", "a.SVM.GZ", "a.CSV.GZ"])
def test_files_are_unpacked_in_small_letters_and_capitals(tmp_path, name):
    text = "1 1:2 2:3\n-1 1:5\n" if "svm" in name.lower() else "a,b,y\n2,3,1\n5,0,-1\n"
    (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    table, stored = read_table(tmp_path / name), convert(tmp_path / name, tmp_path / "groups")
    X = table.X.toarray() if hasattr(table.X, "toarray") else table.X
    assert X.tolist() == [[2.0, 3.0], [5.0, 0.0]]
    assert table.y.tolist() == stored.y.tolist() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("simulatd(0.1)", "unknown oracle 'simulatd'. Did you mean 'simulated'"),
        ("simulated(0.1", r"must be a name or name\(arguments\)"),
        ("simulated(open('x'))", "must be literals"),
        ("simulated(size=3)", "arguments that 'simulated' does not take"),
    ],
)
def test_parts_by_name_refuse_what_is_no_part(text, message):
    with pytest.raises(ValueError, match=message):
        named_part(text, ORACLES, "oracle")


def test_parts_by_name_take_literals():
    assert named_part("ascd(pick='largest-lower')", RULES, "rule").pick == "largest-lower"
