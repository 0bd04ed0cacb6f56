"""Data on a disk that are strange, damaged, or change while they are read: errors that name the file and the column."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from on_disk import COLUMNS, VECTOR, WEIGHT, A, B, csv, npy, parquet, write, zarr

import ascd
from ascd.estimators._data import deviations
from ascd.io import open_data
from ascd.io.opening import as_bytes
from ascd.matrix import costs
from ascd.matrix.base import as_block

pytestmark = pytest.mark.usefixtures("plain_python")


def write_parquet(path, **columns):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    import pyarrow.parquet as pq

    path.parent.mkdir(exist_ok=True)
    pq.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [">f4", ">f8", "<f2", "g", "<i8", "?"])
def test_numbers_of_any_kind_are_read_as_what_they_are(kind, order, tmp_path):
    given = np.asarray(np.round(4.0 * A), order=order).astype(kind, order=order)
    np.save(tmp_path / "odd.npy", given)
    design = open_data(tmp_path / "odd.npy").as_design()
    expected = given.astype(np.float64)
    np.testing.assert_allclose(design.dots(COLUMNS, VECTOR), VECTOR @ expected[:, COLUMNS], atol=1e-12)
    np.testing.assert_array_equal(as_block(design.take(COLUMNS), 50), expected[:, COLUMNS])


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("scale", [1e25, 1e-25])
def test_squares_of_float32_rows_are_those_of_float64(scale, monkeypatch):
    """float() of a float32 number is float32 in compiled code: squares overflow, and have seven digits."""
    monkeypatch.setattr(costs, "SMALL_DATA", 0)
    rows = np.ascontiguousarray(scale * A, dtype=np.float32)
    found = ascd.Problem(rows, B).first.column_stats
    np.testing.assert_allclose(found.square, (rows.astype(float) ** 2).sum(axis=0), rtol=1e-14)


def test_a_file_that_is_written_anew_is_an_error(tmp_path):
    path = npy(tmp_path, "F")
    data = open_data(path)
    ascd.Lasso(0.1).fit(data, B)
    later = path.stat().st_mtime_ns + 10**9
    np.save(path, np.asfortranarray(-A))
    os.utime(path, ns=(later, later))
    with pytest.raises(OSError, match="has changed since it was opened"):
        ascd.Lasso(0.1).fit(data, B)
    path.unlink()
    with pytest.raises(OSError, match="can no longer be read"):
        data.as_design().check_finite()


ZARRS = [{"zarr_format": 2}, {"zarr_format": 3}, {"zarr_format": 3, "shards": (40, 10)}]


@pytest.mark.parametrize("form", ZARRS, ids=["2", "3", "3 in shards"])
def test_a_zarr_array_that_is_written_to_is_an_error(form, tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3", reason="the extra 'zarr' is not installed, or is zarr 2")
    path = tmp_path / "A.zarr"
    array = zarr.create_array(str(path), shape=A.shape, chunks=(20, 5), dtype="f8", fill_value=0.0, **form)
    array[:, :8] = A[:, :8]  # nothing is stored of the last chunks
    data = open_data(path)
    first = data.as_design().dots(np.arange(3), VECTOR)
    array[25, 11] = 7.0
    np.testing.assert_allclose(data.as_design().dots(np.arange(3), VECTOR), first)  # of chunks that are the same
    with pytest.raises(OSError, match=r"A\.zarr has changed since it was opened: open it again"):
        data.as_design().dots(np.array([11]), VECTOR)
    again = open_data(path)
    assert again.as_design().dots(np.array([11]), VECTOR) == pytest.approx(7.0 * VECTOR[25])
    array.resize((60, 12))
    with pytest.raises(OSError, match="has changed since it was opened"):
        again.as_design().dots(np.arange(3), VECTOR)


def test_parquet_files_serve_several_threads_and_processes(tmp_path):
    data = open_data(parquet(tmp_path), target="price", memory="1MiB")
    expected = ascd.LassoCV(alphas=4, cv=3).fit(A, B)
    found = ascd.LassoCV(alphas=4, cv=3, n_jobs=3).fit(data, B)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.reader.read(slice(0, 9), None), data.reader.read(slice(0, 9), None))


def test_standardised_features_far_from_zero(tmp_path):
    far = A + 1e8
    np.save(tmp_path / "far.npy", far)
    found = deviations(open_data(tmp_path / "far.npy"), WEIGHT)
    np.testing.assert_allclose(found, deviations(far, WEIGHT), rtol=1e-6)
    np.testing.assert_allclose(found, deviations(A, WEIGHT), rtol=1e-6)


def test_every_parquet_file_is_looked_at(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.table({"a": [1.0, 2.0], "y": [1.0, 2.0]}), tmp_path / "0.parquet")
    pq.write_table(pyarrow.table({"a": ["1.5", "x"], "y": [1.0, 2.0]}), tmp_path / "1.parquet")
    with pytest.raises(TypeError, match=r"1\.parquet: column 'a' must hold numbers; it holds string"):
        open_data(tmp_path, target="y")
    pq.write_table(pyarrow.table({"a": [1.0, 2.0], "y": ["1", "2"]}), tmp_path / "1.parquet")
    with pytest.raises(TypeError, match=r"the target 'y' holds string, in .*0\.parquet it holds double"):
        open_data(tmp_path, target="y")


def test_sums_over_pieces_that_overflow_are_told_by_name(tmp_path):
    """Each piece is finite, their sum is not; warnings are errors here."""
    np.save(tmp_path / "large.npy", np.full((400, 300), 9e152))
    with pytest.raises(ValueError, match="A has columns whose squared norm overflows float64: rescale A"):
        ascd.Problem(open_data(tmp_path / "large.npy", memory="1MiB"), np.ones(400))


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
    return path


@pytest.mark.parametrize("target", [None, "y"])
def test_damaged_parquet_files_are_named(target, tmp_path):
    path = write_parquet(tmp_path / "a.parquet", **{f"x{j}": A[:, j] for j in range(12)}, y=B)
    spoil(path)
    with pytest.raises(OSError, match=r"a\.parquet is damaged, or can no longer be read: "):
        ascd.Lasso(0.1).fit(open_data(path, target=target), B)


def test_damaged_zarr_arrays_are_named(tmp_path):
    path = zarr(tmp_path)
    for chunk in (one for one in path.rglob("*") if one.is_file() and one.name not in ("zarr.json", ".zarray")):
        chunk.write_bytes(b"\x01" * 40)
    with pytest.raises(OSError, match=r"A\.zarr is damaged, or can no longer be read: "):
        ascd.Lasso(0.1).fit(open_data(path), B)


def test_a_file_that_vanishes_after_it_was_looked_at_is_named(tmp_path, monkeypatch):
    path = npy(tmp_path)
    data = open_data(path)
    monkeypatch.setattr("ascd.io.readers.check_same", lambda *_: path.unlink())
    with pytest.raises(OSError, match=r"C-float64\.npy is damaged, or can no longer be read: .*No such file"):
        ascd.Lasso(0.1).fit(data, B)


@pytest.mark.parametrize("order", ["F", "C"])
def test_a_file_that_becomes_shorter_is_an_error_with_a_sentence(order, tmp_path):
    path = npy(tmp_path, order)
    problem = ascd.Problem(open_data(path), B, penalty=ascd.L1(0.1))
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(OSError, match="has become shorter than it was"):
        ascd.solve(problem, tol=1e-9)
    with pytest.raises(ValueError, match=r"is not a complete .npy file of numbers"):
        open_data(path)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("acb", "the same in another order"),
        ("ab", "'c' is in one of them only"),
        ("abcd", "'d' is in one of them only"),
        ("abd", "'c' is in one of them only"),
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


def save(folder, array):
    np.save(folder / "odd.npy", array)
    return folder / "odd.npy"


def other_parquet(folder):
    return write_parquet(folder / "other.parquet", z=[1.0])


BAD = [
    (lambda f: open_data(f / "none.npy"), FileNotFoundError, "no such file or folder"),
    (lambda f: open_data(csv(f)), ValueError, "cannot be read piece by piece.*ascd convert"),
    (lambda f: open_data(npy(f), target="y"), ValueError, "target must be left out for"),
    (lambda f: open_data(npy(f), without=["y"]), ValueError, "without must be left out for"),
    (lambda f: open_data(npy(f), memory="3 apples"), ValueError, "memory must be at least 1 MiB.*'3 apples'"),
    (lambda f: open_data(npy(f), memory=10), ValueError, "memory must be at least 1 MiB.*got 10"),
    (lambda f: open_data([npy(f), npy(f, "F")]), ValueError, "list of Parquet files only"),
    (lambda f: open_data([]), ValueError, "at least one file"),
    (lambda f: open_data(save(f, np.empty((3, 0)))), ValueError, "is not a complete|3 rows and 0 features"),
    (lambda f: open_data(parquet(f), target="prize"), ValueError, "target.*prize.*price"),
    (lambda f: open_data(parquet(f), without=["prize"]), ValueError, "column.*prize.*price"),
    (lambda f: open_data([*parquet(f).iterdir(), other_parquet(f)]), ValueError, "has other columns than"),
    (lambda f: open_data(save(f, np.ones(3))), ValueError, "two-dimensional array of numbers; it is 1-dimensional"),
    (lambda f: open_data(save(f, np.array([["a"]]))), ValueError, "two-dimensional array of numbers; it is 2-dim"),
    (lambda f: open_data(save(f, np.array([[None]]))), ValueError, "is not a complete .npy file of numbers"),
    (lambda f: open_data(write(f / "x.npy", "hello")), ValueError, "is not a complete .npy file"),
    (lambda f: open_data(write(f / "x.parquet", "hello")), ValueError, "is not a Parquet file"),
    (lambda f: open_data(write(f / "index.json", "{}").parent), ValueError, "not an index that this version"),
    (lambda f: open_data(f), ValueError, r"holds no Parquet file .* was not written by `ascd convert`$"),
    (lambda f: open_data(write_parquet(f / "k=1" / "a.parquet", x=B).parents[1]), ValueError, "such as k=1, are not"),
]


@pytest.mark.parametrize(("make", "error", "words"), BAD)
def test_wrong_input_is_named(make, error, words, tmp_path):
    with pytest.raises(error, match=words):
        make(tmp_path)


def test_columns_are_left_out_and_the_target_is_no_feature(tmp_path):
    data = open_data(parquet(tmp_path), target="price", without=["x0", "x3"])
    assert data.feature_names == [f"x{j}" for j in range(12) if j not in (0, 3)]
    np.testing.assert_array_equal(data.y, B)
