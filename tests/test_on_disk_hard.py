"""Data on a disk that are strange, or change under whoever reads them: found by trying to break it."""

from __future__ import annotations

import os

import numpy as np
import pytest
from on_disk import COLUMNS, VECTOR, WEIGHT, A, B, csv, npy, parquet, write

import ascd
from ascd.estimators._deviations import deviations
from ascd.files import convert, open_data
from ascd.matrix import prices
from ascd.matrix.base import as_block

pytestmark = pytest.mark.usefixtures("plain_python")


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
    monkeypatch.setattr(prices, "SMALL_DATA", 0)
    rows = np.ascontiguousarray(scale * A, dtype=np.float32)
    found = ascd.Problem(rows, B).first.survey
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
    first = data.as_design().read_dots(np.arange(3), VECTOR)
    array[25, 11] = 7.0
    np.testing.assert_allclose(data.as_design().read_dots(np.arange(3), VECTOR), first)  # of chunks that are the same
    with pytest.raises(OSError, match=r"A\.zarr has changed since it was opened: open it again"):
        data.as_design().read_dots(np.array([11]), VECTOR)
    again = open_data(path)
    assert again.as_design().read_dots(np.array([11]), VECTOR) == pytest.approx(7.0 * VECTOR[25])
    array.resize((60, 12))
    with pytest.raises(OSError, match="has changed since it was opened"):
        again.as_design().read_dots(np.arange(3), VECTOR)


def test_indices_from_zero_are_so_in_every_portion(tmp_path, monkeypatch):
    monkeypatch.setattr("ascd.files.portions.PORTION", 2e-4)
    lines = [f"{k} 0:{k + 1}.0 3:1.0" if k < 5 else f"{k} 2:{k}.0" for k in range(60)]
    write(tmp_path / "zero.svm", "\n".join(lines) + "\n# the end\n")
    data = convert(tmp_path / "zero.svm", tmp_path / "groups", memory="1MiB")
    assert data.shape == (60, 4)
    assert data.reader.ends.size > 3
    np.testing.assert_array_equal(as_block(data.as_design().take(np.array([2])), 60)[5:, 0], np.arange(5.0, 60.0))


def test_parquet_files_serve_several_threads_and_processes(tmp_path):
    import pickle

    data = open_data(parquet(tmp_path), target="price", memory="1MiB")
    expected = ascd.LassoCV(alphas=4, cv=3).fit(A, B)
    found = ascd.LassoCV(alphas=4, cv=3, n_jobs=3).fit(data, B)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.reader.read(slice(0, 9), None), data.reader.read(slice(0, 9), None))


def test_a_failed_conversion_leaves_the_old_one(tmp_path, monkeypatch):
    monkeypatch.setattr("ascd.files.portions.PORTION", 2e-3)
    folder = tmp_path / "groups"
    before = convert(csv(tmp_path), folder, memory="1MiB")
    (folder / "rows-of-mine.npy").write_text("mine")
    with pytest.raises(ValueError, match="holds text"):
        convert(write(tmp_path / "t.csv", "a,b,y\n1,x,2\n3,z,4\n"), folder, force=True)
    np.testing.assert_array_equal(
        open_data(folder).reader.read(slice(0, 5), None), before.reader.read(slice(0, 5), None)
    )
    convert(write(tmp_path / "t.csv", "a,y\n1,2\n3,4\n"), folder, force=True)
    assert len(list(folder.iterdir())) == 3
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    assert names == {"index.json", "target.npy", "rows-00000.npy", "rows-of-mine.npy"}


def test_standardised_features_far_from_zero(tmp_path):
    far = A + 1e8
    np.save(tmp_path / "far.npy", far)
    found = deviations(open_data(tmp_path / "far.npy"), WEIGHT)
    np.testing.assert_allclose(found, deviations(far, WEIGHT), rtol=1e-6)
    np.testing.assert_allclose(found, deviations(A, WEIGHT), rtol=1e-6)


def test_float32_files_give_float32_coefficients(tmp_path):
    assert ascd.Lasso(0.05).fit(open_data(npy(tmp_path, "F", np.float32)), B).coef_.dtype == np.float32


def nothing(folder, rows, columns):
    np.save(folder / "none.npy", np.empty((rows, columns)))
    return folder / "none.npy"


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda f: open_data([npy(f), npy(f, "F")]), ValueError, "list of Parquet files only"),
        (lambda f: open_data([]), ValueError, "at least one file"),
        (lambda f: open_data(nothing(f, 3, 0)), ValueError, "3 rows and 0 features"),
        (lambda f: open_data(nothing(f, 0, 3)), ValueError, "0 rows and 3 features"),
        (lambda f: convert(write(f / "t.svm", "1\n-1\n"), f / "o"), ValueError, "2 rows and no features"),
        (lambda f: convert(write(f / "t.csv", "a,b\n"), f / "o"), ValueError, "no rows"),
        (lambda f: convert(write(f / "t.csv", "y\n1\n2\n"), f / "o"), ValueError, "0 features"),
        (
            lambda f: open_data(convert(csv(f), f / "o") and f / "o", target="x1"),
            ValueError,
            "must be 'price'.*got 'x1'",
        ),
    ],
)
def test_what_cannot_be_fitted_is_said_at_once(make, error, words, tmp_path):
    with pytest.raises(error, match=words):
        make(tmp_path)


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


def test_columns_that_are_left_out_are_so_in_every_portion(tmp_path, monkeypatch):
    """The count of rows, which pandas writes without a name, does not begin with 0 in later portions."""
    monkeypatch.setattr("ascd.files.portions.PORTION", 1e-3)
    lines = [f"{k},{k % 7},{k % 5}.5,{2 * k}" for k in range(300)]
    write(tmp_path / "counted.csv", ",a,b,y\n" + "\n".join(lines) + "\n")
    data = convert(tmp_path / "counted.csv", tmp_path / "groups", memory="1MiB")
    assert data.reader.ends.size > 2, "several portions"
    assert (data.shape, data.feature_names) == ((300, 2), ["a", "b"])
    expected = [[k % 7, k % 5 + 0.5] for k in range(300)]
    np.testing.assert_array_equal(as_block(data.as_design().take(np.arange(2)), 300), expected)


def test_sums_over_pieces_that_overflow_are_told_by_name(tmp_path):
    """Each piece is finite, their sum is not; warnings are errors here."""
    np.save(tmp_path / "large.npy", np.full((400, 300), 9e152))
    with pytest.raises(ValueError, match="A has columns whose squared norm overflows float64: rescale A"):
        ascd.Problem(open_data(tmp_path / "large.npy", memory="1MiB"), np.ones(400))
