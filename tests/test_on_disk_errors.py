"""Data on a disk with which something is wrong: errors that name the file and the column."""

from __future__ import annotations

import errno

import numpy as np
import pytest
from on_disk import A, B, npy, parquet, zarr

import ascd
from ascd.io import open_data, whole_file
from ascd.io.opening import as_bytes

pytestmark = pytest.mark.usefixtures("plain_python")


def write_parquet(path, **columns):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    import pyarrow.parquet as pq

    path.parent.mkdir(exist_ok=True)
    pq.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictions_refuse_what_is_not_finite_in_columns_that_they_read(bad, tmp_path):
    given = np.asfortranarray(A)
    given[4, 7], given[5, 1] = bad, bad
    np.save(tmp_path / "bad.npy", given)
    data, good = open_data(tmp_path / "bad.npy"), open_data(npy(tmp_path, "F"))
    for model in (ascd.Lasso(0.3).fit(good, B), ascd.LogisticRegression(l1_ratio=1.0, C=0.3).fit(good, B > 0.0)):
        with pytest.raises(
            ValueError, match=rf"X must be finite; .* the first is {bad}; the first column with such is 1"
        ):
            model.predict(data)
        model.coef_[..., [1, 7]] = 0.0  # now none of these columns is read
        assert np.isfinite(model.decision_function(data) if hasattr(model, "classes_") else model.predict(data)).all()


def spoil(path):
    """Bytes in the middle of a file are others, while it looks as it was."""
    held = bytearray(path.read_bytes())
    held[len(held) // 4 : len(held) // 2] = b"\xff" * (len(held) // 2 - len(held) // 4)
    path.write_bytes(held)


def test_damaged_parquet_files_are_named(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", **{f"x{j}": A[:, j] for j in range(12)})
    spoil(path)
    with pytest.raises(OSError, match=r"a\.parquet is damaged, or can no longer be read: "):
        ascd.Lasso(0.1).fit(open_data(path), B)


def test_damaged_targets_of_parquet_files_are_named(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", y=B)
    spoil(path)
    with pytest.raises(OSError, match=r"a\.parquet is damaged, or can no longer be read: "):
        open_data(path, target="y")


def test_damaged_zarr_arrays_are_named(tmp_path):
    path = zarr(tmp_path)
    for chunk in (one for one in path.rglob("*") if one.is_file() and one.name not in ("zarr.json", ".zarray")):
        chunk.write_bytes(b"\x01" * 40)
    with pytest.raises(OSError, match=r"A\.zarr is damaged, or can no longer be read: "):
        ascd.Lasso(0.1).fit(open_data(path), B)


def test_a_folder_is_no_npy_file(tmp_path):
    (tmp_path / "d.npy").mkdir()
    with pytest.raises(ValueError, match=r"d\.npy is a folder, not a \.npy file"):
        open_data(tmp_path / "d.npy")


def test_a_file_that_vanishes_after_it_was_looked_at_is_named(tmp_path, monkeypatch):
    path = npy(tmp_path)
    data = open_data(path)
    monkeypatch.setattr("ascd.io.readers.Seal.check", lambda _: path.unlink())
    with pytest.raises(OSError, match=r"C-float64\.npy is damaged, or can no longer be read: .*No such file"):
        ascd.Lasso(0.1).fit(data, B)


@pytest.mark.parametrize("target", [None, "y"])
def test_a_folder_without_parquet_files_is_named(target, tmp_path):
    with pytest.raises(ValueError, match=r"is empty: no Parquet file, no Zarr array, and no finished conversion"):
        open_data(tmp_path, target=target)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"holds no Parquet file .* was not written by `ascd convert`$"):
        open_data(tmp_path, target=target)
    write_parquet(tmp_path / "k=1" / "a.parquet", x=B, y=B)
    with pytest.raises(ValueError, match=r"holds no Parquet file .*; folders in it, such as k=1, are not looked into"):
        open_data(tmp_path, target=target)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("acb", "the same in another order, column 1 is 'c' and not 'b'"),
        ("ab", "it lacks 'c'"),
        ("abcd", "it has 'd' besides"),
        ("abd", "it lacks 'c', and it has 'd' besides"),
    ],
)
def test_columns_that_differ_between_parquet_files_are_named(names, words, tmp_path):
    first = write_parquet(tmp_path / "0.parquet", **dict.fromkeys("abc", B))
    other = write_parquet(tmp_path / "1.parquet", **dict.fromkeys(names, B))
    with pytest.raises(ValueError, match=rf"1\.parquet has other columns than .*0\.parquet: {words}$"):
        open_data([first, other])


def big_endian(folder):
    np.save(folder / "big.npy", np.asfortranarray(A).astype(">f4", order="F"))
    return folder / "big.npy"


def float32_zarr(folder):
    zarr = pytest.importorskip("zarr", reason="the extra 'zarr' is not installed")
    array = zarr.open(str(folder / "A.zarr"), mode="w", shape=A.shape, chunks=(20, 5), dtype="f4")
    array[:] = A.astype(np.float32)
    return folder / "A.zarr"


def float32_parquet(folder):
    return write_parquet(folder / "a.parquet", **{f"x{j}": A[:, j].astype(np.float32) for j in range(12)})


@pytest.mark.parametrize("make", [big_endian, float32_zarr, float32_parquet])
def test_float32_on_a_disk_gives_float32_coefficients(make, tmp_path):
    found = ascd.Lasso(0.05).fit(open_data(make(tmp_path)), B)
    assert found.coef_.dtype == np.float32
    assert found.certificate_.converged


@pytest.mark.parametrize("make", [parquet, zarr])
def test_float64_on_a_disk_gives_float64_coefficients(make, tmp_path):
    data = open_data(make(tmp_path), target="price" if make is parquet else None)
    assert ascd.Lasso(0.05).fit(data, B).coef_.dtype == np.float64


def test_parquet_files_of_both_kinds_give_float64(tmp_path):
    write_parquet(tmp_path / "0.parquet", a=B.astype(np.float32), b=B.astype(np.float32))
    write_parquet(tmp_path / "1.parquet", a=B.astype(np.float32), b=B)
    data = open_data(tmp_path)
    assert ascd.Lasso(0.05).fit(data, np.append(B, B)).coef_.dtype == np.float64


def test_capitals_are_read_too(tmp_path):
    assert as_bytes("1E9") == as_bytes("1e9") == as_bytes("1 gb") == 1e9
    np.save(tmp_path / "a.npy", A)
    (tmp_path / "a.npy").rename(tmp_path / "A.NPY")
    assert open_data(tmp_path / "A.NPY", memory="1E9").shape == A.shape
    write_parquet(tmp_path / "B.PARQUET", x=B)
    assert open_data(tmp_path / "B.PARQUET").shape == open_data(tmp_path).shape == (50, 1)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    path = tmp_path / "model.npz"
    with pytest.raises(OSError, match=r"File too large: '.*model\.npz'"), whole_file(path):
        raise OSError(errno.EFBIG, "File too large")
    with pytest.raises(OSError, match=r"^gone$"), whole_file(path):
        raise OSError("gone")
    assert list(tmp_path.iterdir()) == []
