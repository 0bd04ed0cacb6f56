"""Files that are not what they should be, and calls that ask too much of them: errors that say what is wrong."""

from __future__ import annotations

import os

import numpy as np
import pytest
from on_disk import B, csv, npy, parquet, write

import ascd
from ascd.io import convert, open_data

pytestmark = pytest.mark.usefixtures("plain_python")


def test_a_file_that_becomes_shorter_is_an_error_with_a_sentence(tmp_path):
    path = npy(tmp_path, "F")
    data = open_data(path)
    problem = ascd.Problem(data, B, penalty=ascd.L1(0.1))
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(OSError, match="has become shorter than it was"):
        ascd.solve(problem, tol=1e-9)
    with pytest.raises(ValueError, match=r"is incomplete: [\d,]+ of 4,800 bytes"):
        open_data(path)


def test_nothing_is_left_of_a_conversion_that_fails(tmp_path, monkeypatch):
    source = csv(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ascd.io.converting.np.save", full)
    with pytest.raises(OSError, match="No space left"):
        convert(source, tmp_path / "groups")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


BAD = [
    (lambda f: open_data(f / "none.npy"), FileNotFoundError, "no such file or folder"),
    (lambda f: open_data(csv(f)), ValueError, "cannot be read piece by piece.*ascd convert"),
    (lambda f: open_data(npy(f), target="y"), ValueError, "target must be None for"),
    (lambda f: open_data(npy(f), memory="3 apples"), ValueError, "memory must be at least 1 MiB.*'3 apples'"),
    (lambda f: open_data(npy(f), memory=10), ValueError, "memory must be at least 1 MiB.*got 10"),
    (lambda f: open_data(parquet(f), target="prize"), ValueError, "target.*prize.*price"),
    (lambda f: open_data([*parquet(f).iterdir(), *zip_other(f)]), ValueError, "has other columns than"),
    (lambda f: open_data(save(f, np.ones(3))), ValueError, "two-dimensional array of numbers; it is 1-dimensional"),
    (lambda f: open_data(save(f, np.array([["a"]]))), ValueError, "two-dimensional array of numbers; it is 2-dim"),
    (lambda f: open_data(write(f / "x.npy", "hello")), ValueError, "is not a .npy file"),
    (lambda f: open_data(write(f / "x.parquet", "hello")), ValueError, "is not a Parquet file"),
    (lambda f: open_data(write(f / "index.json", "{}").parent), ValueError, "not an index that this version"),
    (lambda f: convert(f / "none.csv", f / "out"), FileNotFoundError, "no such file"),
    (lambda f: convert(csv(f), f), FileExistsError, "is not empty"),
    (lambda f: convert(csv(f), f / "table.csv"), FileExistsError, "is a file; name a folder"),
    (lambda f: convert(csv(f), f / "o", dtype="int8"), ValueError, "dtype must be float64 or float32; got 'int8'"),
    (lambda f: convert(csv(f), f / "o", target="prize"), ValueError, "prize.*price"),
    (lambda f: convert(csv(f), f / "o", without=["x99"]), ValueError, "x99"),
    (lambda f: convert(npy(f), f / "o"), ValueError, "format"),
    (lambda f: convert(write(f / "t.csv", "a,b,y\n1,x,2\n3,z,4\n"), f / "o"), ValueError, "column 'b' holds text"),
    (lambda f: convert(write(f / "t.csv", "a,b,y\n1,2,2\n3,,4\n"), f / "o"), ValueError, "'b' has no value in row 2"),
    (lambda f: convert(write(f / "t.svm", "1 1:2\nhello\n"), f / "o"), ValueError, "is not a LIBSVM file"),
]


def save(folder, array):
    np.save(folder / "odd.npy", array)
    return folder / "odd.npy"


def zip_other(folder):
    import pyarrow
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.table({"z": [1.0]}), folder / "other.parquet")
    return [folder / "other.parquet"]


@pytest.mark.parametrize(("make", "error", "words"), BAD)
def test_wrong_input_is_named(make, error, words, tmp_path):
    with pytest.raises(error, match=words):
        make(tmp_path)
