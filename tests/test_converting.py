"""Conversions of CSV files to Parquet and of LIBSVM files to folders: as the file is read in memory, or nothing."""

from __future__ import annotations

import os

import numpy as np
import pytest
from on_disk import A, B, csv, libsvm, npy, write

import ascd
from ascd.io import Choices, Dialect, convert, open_data, read_table

pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")


@pytest.fixture
def in_portions(monkeypatch):
    """A few rows at a time."""
    monkeypatch.setattr("ascd.io.converting.PORTION", 5e-4)


def values(data):
    reader = data.reader
    rows = [reader.read(slice(a, b), None) for a, b in zip(reader.ends[:-1], reader.ends[1:], strict=True)]
    return np.vstack([block.toarray() if hasattr(block, "toarray") else block for block in rows])


@pytest.mark.parametrize("make", [csv, libsvm])
def test_portions_equal_the_whole(make, tmp_path, in_portions):
    data = convert(make(tmp_path), tmp_path / "out.parquet", memory="1MiB")
    assert len(data.reader.ends) > 3
    np.testing.assert_array_equal(values(data), A)
    np.testing.assert_array_equal(data.y, B)
    np.testing.assert_array_equal(read_table(tmp_path / f"table.{'csv' if make is csv else 'svm'}").y, B)


def lines(row, count=40):
    return "".join(f"{row(i)}\n" for i in range(count))


@pytest.mark.parametrize(
    ("text", "options", "shape", "target"),
    [
        ("a,b,y\n" + lines(lambda i: f"{i},{i % 7},{'07' if i < 35 else 'x'}"), {}, (40, 2), ["07", "x"]),
        ("a,b,y\n" + lines(lambda i: f"{i},{i % 7},{i if i < 35 else i + 0.5}"), {}, (40, 2), [0.0, 39.5]),
        ("a;b;y\n" + lines(lambda i: f"{i},5;{i % 7};{i},25"), {}, (40, 2), [0.25, 39.25]),
        (lines(lambda i: f"{i},{i % 7},{i}"), {"header": False, "target": "1"}, (40, 2), [0, 39]),
        (",a,y\n" + lines(lambda i: f"{i},{i % 7},{i}"), {}, (40, 1), [0, 39]),
        ("a,b,y\n" + lines(lambda i: f"{i if i % 4 else ''},{i},{i}"), {"drop": True}, (30, 2), [1, 39]),
        ("a,b,y\n" + lines(lambda i: f"{i},TRUE,{i if i < 39 else ''}"), {"drop": True}, (39, 2), [0, 38]),
        ("1 1:2 3:4\n-1 2:1\n0 1:nan\n", {"drop": True}, (2, 3), [1, -1]),
        ("# index 0: none\n1 1:2 3:4\n-1 2:1\n", {}, (2, 3), [1, -1]),
        ("1 1:2 3:4\n-1 +0:1 2:1\n", {}, (2, 4), [1, -1]),
        ("1 qid:3 0:2\n", {}, (1, 1), [1, 1]),
    ],
)
def test_what_comes_later_counts_too(text, options, shape, target, tmp_path, in_portions):
    """Types and first indices hold for all portions, and are those of the file read as a whole."""
    is_csv = "," in text
    source = write(tmp_path / ("t.csv" if is_csv else "t.svm"), text)
    dialect = Dialect(header=options.pop("header", None))
    data = convert(source, tmp_path / ("o.parquet" if is_csv else "o"), memory="1MiB", dialect=dialect, **options)
    assert data.shape == shape
    assert [data.y[0], data.y[-1]] == target
    without = tuple(options.get("without", ()))
    choices = Choices(without, options.get("drop", False))
    whole = read_table(source, options.get("target"), dialect=dialect, choices=choices)
    np.testing.assert_allclose(values(data), whole.X.toarray() if hasattr(whole.X, "toarray") else whole.X)


WRONG = [
    (lambda f, o: convert(f / "none.csv", o), FileNotFoundError, "no such file"),
    (lambda f, o: convert(csv(f), f / "folder"), ValueError, "a CSV file becomes a Parquet file"),
    (lambda f, o: convert(libsvm(f), f), FileExistsError, "exists; name another place, or allow it to be replaced"),
    (lambda f, o: convert(libsvm(f), f, force=True), FileExistsError, "is nothing that `ascd convert` wrote"),
    (lambda f, o: convert(csv(f), f / "table.svm"), ValueError, "becomes a Parquet file"),
    (lambda f, o: convert(libsvm(f), f / "table.svm", force=True), FileExistsError, "is nothing that"),
    (lambda f, o: convert(csv(f), o, target="prize"), ValueError, "prize.*price"),
    (lambda f, o: convert(csv(f), o, without=["x99"]), ValueError, "x99"),
    (lambda f, o: convert(npy(f), o), ValueError, "format"),
    (lambda f, o: convert(write(f / "t.csv", "a,b,y\n1,x,2\n3,z,4\n"), o), ValueError, "'b' must be numbers"),
    (lambda f, o: convert(write(f / "t.csv", "a,b,y\n1,2,2\n3,,4\n"), o), ValueError, "feature 'b', row 2: --d"),
    (lambda f, o: convert(write(f / "t.csv", "a,b,y\n1,2,2\n3,inf,4\n"), o), ValueError, "feature 'b', row 2"),
    (lambda f, o: convert(write(f / "t.csv", "a,b,y\n1,2,\n3,3,4\n"), o), ValueError, "1 sample without a target"),
    (lambda f, o: convert(write(f / "t.csv", "a,b,y\n1,2,3\n3,3,4,5\n"), o), ValueError, "3 fields in line 3, saw 4"),
    (lambda f, o: convert(write(f / "t.csv", "a,b,y\n,2,3\n"), o, drop=True), ValueError, "leave out all rows"),
    (lambda f, o: convert(write(f / "t.csv", "a,b\n"), o), ValueError, "no rows"),
    (lambda f, o: convert(write(f / "t.csv", "y\n1\n2\n"), o), ValueError, "0 features"),
    (lambda f, o: convert(write(f / "t.svm", "1 1:2\nhello\n"), o), ValueError, "is not a LIBSVM file"),
    (lambda f, o: convert(write(f / "t.svm", "1 1:2\n0 1:inf\n"), o), ValueError, "row 2 has a value or a label that"),
    (lambda f, o: convert(write(f / "t.svm", "1\n-1\n"), o), ValueError, "rows and no features"),
    (lambda f, o: convert(write(f / "t.svm", "# none\n"), o), ValueError, "has no rows"),
]


@pytest.mark.parametrize(("make", "error", "words"), WRONG)
def test_wrong_input_is_named_and_nothing_is_left(make, error, words, tmp_path):
    out = tmp_path / "out.parquet"
    with pytest.raises(error, match=words):
        make(tmp_path, out)
    assert not [path for path in tmp_path.iterdir() if path == out or path.name.startswith(".ascd")]


def folder_of(tmp_path):
    convert(libsvm(tmp_path), tmp_path / "groups")
    return tmp_path / "groups"


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("indices", 3, 50, "from 0 to 49; .* is 50.*ascd convert again"),
        ("indices", 3, -1, "from 0 to 49; .* is -1"),
        ("indices", 1, 0, "has rows of a column twice, or not in their order"),
        ("indptr", 0, 1, "has columns that begin before"),
        ("indptr", 2, 1 << 40, "has columns that begin before"),
    ],
)
def test_indices_outside_of_a_sparse_group_are_not_followed(name, place, value, words, tmp_path):
    path = folder_of(tmp_path) / f"rows-00000.{name}.npy"
    found = np.load(path)
    found[place] = value
    np.save(path, found)
    with pytest.raises(ValueError, match=rf"rows-00000\.{name}\.npy.*{words}"):
        ascd.Lasso(alpha=0.01).fit(open_data(path.parent), B)


@pytest.mark.parametrize("name", ["rows-00000.target", "rows-00000.indptr", "rows-00000.data"])
def test_files_that_are_cut_off_or_gone_are_named(name, tmp_path):
    folder = folder_of(tmp_path)
    path = folder / f"{name}.npy"
    content = path.read_bytes()
    for damaged in (content[:0], content[:1], content[:61], content[:140], content.replace(b"(", b"{", 1)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"is damaged: .*{name}.npy is not a complete"):
            open_data(folder)
    np.save(path, np.ones(3))
    with pytest.raises(ValueError, match=r"its groups of rows end at|has not the|begin before"):
        open_data(folder)
    os.remove(path)
    with pytest.raises(ValueError, match=r"is damaged: .*No such file.*\. Run ascd convert again"):
        open_data(folder)
