"""Conversions that look at a part of a file first: what comes later must not be lost, nor read in another way."""

from __future__ import annotations

import numpy as np
import pytest
from on_disk import write

from ascd.io import convert, read_table

pytestmark = pytest.mark.usefixtures("plain_python")


def lines(row, count=40):
    return "".join(f"{row(i)}\n" for i in range(count))


@pytest.fixture
def in_portions(monkeypatch):
    """A few rows at a time."""
    monkeypatch.setattr("ascd.io.converting.PORTION", 5e-4)
    monkeypatch.setattr("ascd.files.portions.FIRST_ROWS", 10)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a,,y\n" + lines(lambda i: f"{i * 0.5},{'' if i < 35 else i},{i % 7}"),
            "has no value before row 36, and has 35",
        ),
        (
            ",a,y\n" + lines(lambda i: f"{i if i < 30 else 9},{i * 0.5},{i % 7}"),
            "counts the rows before row 31, and has 9",
        ),
    ],
)
def test_a_column_that_the_first_rows_leave_out_is_not_lost(text, words, tmp_path, in_portions):
    source = write(tmp_path / "t.csv", text)
    with pytest.raises(ValueError, match=f"a column without a name .* {words}"):
        convert(source, tmp_path / "out", memory=1 << 20)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a,,y\n" + lines(lambda i: f"{i * 0.5},,{i % 7}"), "1 column without name and values left out"),
        (",a,y\n" + lines(lambda i: f"{i},{i * 0.5},{i % 7}"), "the first column counts the rows: left out"),
    ],
)
def test_what_is_left_out_is_told(text, note, tmp_path, in_portions):
    told = []
    made = convert(write(tmp_path / "t.csv", text), tmp_path / "out", memory=1 << 20, noted=told.append)
    assert note in told
    assert made.shape == (40, 1)
    assert len(made.reader.ends) > 2


@pytest.mark.parametrize(
    "text",
    [
        "# index 0: none\n1 1:2 3:4\n-1 2:1\n",
        "1 1:2 3:4 # at 0:5\n-1 2:1\n",
        "1 1:2 3:4\n-1 +0:1 2:1\n",
        "1 qid:3 0:2\n",
    ],
)
def test_indices_count_from_where_they_do_in_memory(text, tmp_path):
    source = write(tmp_path / "t.svm", text)
    made, table = convert(source, tmp_path / "out"), read_table(source)
    assert made.shape == table.X.shape
    np.testing.assert_array_equal(made.reader.read(slice(0, made.shape[0]), None).toarray(), table.X.toarray())


def test_an_index_beyond_integers_is_named(tmp_path):
    source = write(tmp_path / "t.svm", "1 1:1 99999999999:2\n")
    for use in (read_table, lambda path: convert(path, tmp_path / "out")):
        with pytest.raises(ValueError, match=r"t\.svm is not a LIBSVM file.*too large"):
            use(source)


@pytest.mark.parametrize("text", ["a,y\n1,2\n1e300,4\n", "1 1:2\n2 1:1e300\n"])
def test_numbers_that_float32_cannot_hold_are_named(text, tmp_path):
    source = write(tmp_path / ("t.csv" if "," in text else "t.svm"), text)
    with pytest.raises(ValueError, match=r"holds 1e\+300, too large for float32"):
        convert(source, tmp_path / "out", dtype="float32")


def test_names_that_spaces_tell_apart_are_numbered(tmp_path):
    source = write(tmp_path / "t.csv", "a ,a,a.1,y\n1,2,3,4\n5,6,7,9\n")
    made, table = convert(source, tmp_path / "out"), read_table(source)
    assert made.feature_names == table.names == ["a", "a.2", "a.1"]
    np.testing.assert_array_equal(table.X, [[1, 2, 3], [5, 6, 7]])


def test_letters_of_windows_far_below_are_read_as_in_memory(tmp_path):
    source = tmp_path / "t.csv"
    rows = lines(lambda i: f"{i * 0.5},{i % 7},w{i % 3}", 40_000).encode()
    source.write_bytes(b"a,b,y\n" + rows + b"1,2,caf\xe9\n")
    assert convert(source, tmp_path / "out").y[-1] == read_table(source).y[-1] == "café"


def test_separators_at_the_ends_of_all_lines_but_the_header_are_questioned(tmp_path):
    source = write(tmp_path / "t.csv", "a,b,y\n" + lines(lambda i: f"{i},{i % 5},{i % 7},"))
    for use in (read_table, lambda path: convert(path, tmp_path / "out")):
        with pytest.raises(ValueError, match=r"every line but the first ends with a separator, ','"):
            use(source)
