"""Conversions of LIBSVM files to folders: as the file is read in memory, or nothing."""

from __future__ import annotations

import os

import numpy as np
import pytest
from on_disk import A, B, csv, libsvm, npy, write

import ascd
from ascd.io import Choices, convert, open_data, read_table


@pytest.fixture
def in_portions(monkeypatch):
    """A few rows at a time."""
    monkeypatch.setattr("ascd.io.converting.PORTION", 5e-4)


def values(data):
    reader = data.reader
    rows = [reader.read(slice(a, b), None) for a, b in zip(reader.ends[:-1], reader.ends[1:], strict=True)]
    return np.vstack([block.toarray() if hasattr(block, "toarray") else block for block in rows])


def test_portions_equal_the_whole(tmp_path, in_portions):
    data = convert(libsvm(tmp_path), tmp_path / "out", memory="1MiB")
    assert len(data.reader.ends) > 3
    np.testing.assert_array_equal(values(data), A)
    np.testing.assert_array_equal(data.y, B)
    np.testing.assert_array_equal(read_table(tmp_path / "table.svm").y, B)


@pytest.mark.parametrize(
    ("text", "drop", "shape", "target"),
    [
        ("1 1:2 3:4\n-1 2:1\n0 1:nan\n", True, (2, 3), [1, -1]),
        ("# index 0: none\n1 1:2 3:4\n-1 2:1\n", False, (2, 3), [1, -1]),
        ("1 1:2 3:4\n-1 +0:1 2:1\n", False, (2, 4), [1, -1]),
        ("1 qid:3 0:2\n", False, (1, 1), [1, 1]),
    ],
)
def test_what_comes_later_counts_too(text, drop, shape, target, tmp_path, in_portions):
    """First indices hold for all portions, and are those of the file read as a whole."""
    source = write(tmp_path / "t.svm", text)
    data = convert(source, tmp_path / "o", memory="1MiB", drop=drop)
    assert data.shape == shape
    assert [data.y[0], data.y[-1]] == target
    np.testing.assert_allclose(values(data), read_table(source, choices=Choices(drop=drop)).X.toarray())


WRONG = [
    (lambda f, o: convert(f / "none.svm", o), FileNotFoundError, "no such file"),
    (lambda f, o: convert(csv(f), o), ValueError, "is a table: LIBSVM files are converted"),
    (lambda f, o: convert(libsvm(f), f), FileExistsError, "exists; name another place, or allow it to be replaced"),
    (lambda f, o: convert(libsvm(f), f, force=True), FileExistsError, "is nothing that `ascd convert` wrote"),
    (lambda f, o: convert(libsvm(f), f / "table.svm", force=True), FileExistsError, "is nothing that"),
    (lambda f, o: convert(npy(f), o), ValueError, "is not a LIBSVM file"),
    (lambda f, o: convert(write(f / "t.svm", "1 1:2\nhello\n"), o), ValueError, "is not a LIBSVM file"),
    (lambda f, o: convert(write(f / "t.svm", "1 1:2\n0 1:inf\n"), o), ValueError, "row 2 has a value or a label that"),
    (lambda f, o: convert(write(f / "t.svm", "1\n-1\n"), o), ValueError, "rows and no features"),
    (lambda f, o: convert(write(f / "t.svm", "# none\n"), o), ValueError, "has no rows"),
]


@pytest.mark.parametrize(("make", "error", "words"), WRONG)
def test_wrong_input_is_named_and_nothing_is_left(make, error, words, tmp_path):
    out = tmp_path / "out"
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
