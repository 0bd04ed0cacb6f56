"""Data on a disk that are strange, damaged, or change while they are read: errors that name the file and the column."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from on_disk import COLUMNS, VECTOR, WEIGHT, A, B, csv, npy, parquet, write, write_parquet, zarr

import ascd
from ascd.estimators._data import deviations
from ascd.io import open_data
from ascd.io.opening import as_bytes
from ascd.matrix import costs
from ascd.matrix.base import as_block

pytestmark = pytest.mark.usefixtures("plain_python")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [">f4", ">f8", "<f2", "g", "<i8", "?"])
def test_numbers_of_any_kind_are_read_as_what_they_are(kind, order, tmp_path):
    given = np.asarray(np.round(4.0 * A), order=order).astype(kind, order=order)
    design = open_data(save(tmp_path, given)).as_design()
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


@pytest.mark.parametrize("order", ["F", "C"])
def test_a_file_that_changes_while_it_is_read_is_an_error(order, tmp_path, monkeypatch):
    path = npy(tmp_path, order)
    data, problem = open_data(path), ascd.Problem(open_data(path), B, penalty=ascd.L1(0.1))
    ascd.Lasso(0.1).fit(data, B)
    later = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))
    with pytest.raises(OSError, match="has changed since it was opened"):
        ascd.Lasso(0.1).fit(data, B)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(OSError, match="has changed since it was opened"):
        ascd.solve(problem, tol=1e-9)
    with pytest.raises(ValueError, match=r"is not a complete .npy file of numbers"):
        open_data(path)
    path.unlink()
    with pytest.raises(OSError, match="can no longer be read"):
        data.as_design().check_finite()
    state = data.reader.numbers.state
    monkeypatch.setattr("ascd.io.opening.state_of", lambda _: state)  # it vanishes after it was looked at
    with pytest.raises(OSError, match=r"npy is damaged, or can no longer be read: .*No such file"):
        data.as_design().check_finite()


def test_a_zarr_array_of_another_shape_is_an_error(tmp_path):
    data = open_data(zarr(tmp_path))
    zarr(tmp_path, dtype="f4")
    with pytest.raises(OSError, match="has changed since it was opened"):
        data.as_design().dots(np.arange(3), VECTOR)


def test_parquet_files_serve_several_threads_and_processes(tmp_path):
    data = open_data(parquet(tmp_path), target="price", memory="1MiB")
    expected = ascd.LassoCV(alphas=4, cv=3).fit(A, B)
    found = ascd.LassoCV(alphas=4, cv=3, n_jobs=3).fit(data, B)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.reader.read(slice(0, 9), None), data.reader.read(slice(0, 9), None))


def test_standardised_features_far_from_zero(tmp_path):
    far = A + 1e8
    found = deviations(open_data(save(tmp_path, far)), WEIGHT)
    np.testing.assert_allclose(found, deviations(far, WEIGHT), rtol=1e-6)
    np.testing.assert_allclose(found, deviations(A, WEIGHT), rtol=1e-6)


def test_sums_over_pieces_that_overflow_are_told_by_name(tmp_path):
    """Each piece is finite, their sum is not; warnings are errors here."""
    with pytest.raises(ValueError, match="A has columns whose squared norm overflows float64: rescale A"):
        ascd.Problem(open_data(save(tmp_path, np.full((400, 300), 9e152)), memory="1MiB"), np.ones(400))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictions_refuse_what_is_not_finite_in_columns_that_they_read(bad, tmp_path):
    given = np.asfortranarray(A)
    given[4, 7], given[5, 1] = bad, bad
    data, good = open_data(save(tmp_path, given)), open_data(npy(tmp_path, "F"))
    for model in (ascd.Lasso(0.3).fit(good, B), ascd.LogisticRegression(l1_ratio=1.0, C=0.3).fit(good, B > 0.0)):
        with pytest.raises(
            ValueError, match=rf"X must be finite; .* the first is {bad}; the first column with such is 1"
        ):
            model.predict(data)
        model.coef_[..., [1, 7]] = 0.0  # now none of these columns is read
        assert np.isfinite(model.decision_function(data) if hasattr(model, "classes_") else model.predict(data)).all()


@pytest.mark.parametrize("make", [parquet, zarr])
def test_damaged_files_are_named(make, tmp_path):
    path = make(tmp_path)
    data = open_data(path, target="price" if make is parquet else None)
    for one in (one for one in path.rglob("*") if one.is_file() and one.name not in ("zarr.json", ".zarray")):
        state, content = one.stat(), one.read_bytes()
        end = len(content) - 1500 if make is parquet else len(content)  # the description at its end stays
        one.write_bytes(b"\xff" * end + content[end:])
        os.utime(one, ns=(state.st_mtime_ns, state.st_mtime_ns))
    with pytest.raises(OSError, match=r"is damaged, or can no longer be read: "):
        ascd.Lasso(0.1).fit(data, B)


SMALL = {"a": B.astype(np.float32), "b": B.astype(np.float32)}
FLOATS = {
    "big endian": (lambda f: save(f, np.asfortranarray(A).astype(">f4", order="F")), np.float32),
    "float32 zarr": (lambda f: zarr(f, dtype="f4"), np.float32),
    "float32 parquet": (lambda f: write_parquet(f / "a.parquet", **SMALL), np.float32),
    "mixed parquet": (lambda f: write_parquet(f / "a.parquet", **{**SMALL, "b": B[::-1]}), np.float64),
    "zarr": (zarr, np.float64),
}


@pytest.mark.parametrize(("make", "dtype"), FLOATS.values(), ids=FLOATS)
def test_coefficients_have_the_type_of_the_data(make, dtype, tmp_path):
    found = ascd.Lasso(0.05).fit(open_data(make(tmp_path)), B)
    assert (found.coef_.dtype, found.certificate_.converged) == (dtype, True)


def test_capitals_are_read_too(tmp_path):
    assert as_bytes("1E9") == as_bytes("1e9") == as_bytes("1 gb") == 1e9
    save(tmp_path, A).rename(tmp_path / "A.NPY")
    assert open_data(tmp_path / "A.NPY", memory="1E9").shape == A.shape
    write_parquet(tmp_path / "B.PARQUET", x=B)
    assert open_data(tmp_path / "B.PARQUET").shape == open_data(tmp_path).shape == (50, 1)


def save(folder, array):
    np.save(folder / "odd.npy", array)
    return folder / "odd.npy"


def two(folder, **columns):
    """Two Parquet files, the second with these columns."""
    first = write_parquet(folder / "0.parquet", a=B, b=B, c=B)
    return [first, write_parquet(folder / "1.parquet", **columns)]


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
    (lambda f: open_data(two(f, a=B, c=B, b=B)), ValueError, r"1\.parquet has other columns.*, or the same in another"),
    (lambda f: open_data(two(f, a=B, b=B)), ValueError, r"1\.parquet has other columns than .*0\.parquet"),
    (lambda f: open_data(two(f, a=B, b=B, c=["x"] * 50)), TypeError, r"1\.parquet: column 'c' must hold numbers; it"),
    (
        lambda f: open_data(two(f, a=B, b=B, c=["x"] * 50), target="c"),
        TypeError,
        "the target 'c' has not the same type in all of",
    ),
    (lambda f: open_data(save(f, np.ones(3))), ValueError, "two-dimensional array of numbers; it is 1-dimensional"),
    (lambda f: open_data(save(f, np.array([["a"]]))), ValueError, "two-dimensional array of numbers; it is 2-dim"),
    (lambda f: open_data(save(f, np.array([[None]]))), ValueError, "is not a complete .npy file of numbers"),
    (lambda f: open_data(write(f / "x.npy", "hello")), ValueError, "is not a complete .npy file"),
    (lambda f: open_data(write(f / "x.parquet", "hello")), ValueError, "is not a Parquet file"),
    (lambda f: open_data(write(f / "index.json", "{}").parent), ValueError, "is damaged: .* Run ascd convert again"),
    (lambda f: open_data(f), ValueError, "cannot be read piece by piece: .* folders that `ascd convert` writes"),
]


@pytest.mark.parametrize(("make", "error", "words"), BAD)
def test_wrong_input_is_named(make, error, words, tmp_path):
    with pytest.raises(error, match=words):
        make(tmp_path)


def test_columns_are_left_out_and_the_target_is_no_feature(tmp_path):
    data = open_data(parquet(tmp_path), target="price", without=["x0", "x3"])
    assert data.feature_names == [f"x{j}" for j in range(12) if j not in (0, 3)]
    np.testing.assert_array_equal(data.y, B)
