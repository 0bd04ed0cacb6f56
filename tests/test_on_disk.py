"""Data that stay on their disk: the answers of the array, few bytes read, and errors that say what is wrong."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

import ascd
from ascd.data import prices
from ascd.data.filed import Filed
from ascd.data.local import as_block
from ascd.estimators._deviations import deviations
from ascd.files import convert, open_data
from ascd.files.npy import NpyReader

pytestmark = pytest.mark.usefixtures("plain_python")
RNG = np.random.default_rng(0)
A = RNG.standard_normal((50, 12)) * (RNG.random((50, 12)) < 0.5)
B = A[:, 0] - 2.0 * A[:, 7] + 0.1 * RNG.standard_normal(50)
VECTOR, WEIGHT = RNG.standard_normal(50), RNG.random(50)
COLUMNS = np.array([7, 8, 0, 3])


def npy(folder, order="C", dtype=np.float64):
    path = folder / f"{order}-{np.dtype(dtype).name}.npy"
    np.save(path, np.asarray(A > 0.0 if dtype is bool else 3.0 * A, order=order).astype(dtype, order=order))
    return path


def parquet(folder):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    import pyarrow.parquet as pq

    (folder / "parts").mkdir(exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(50), 2)):
        columns = {f"x{j}": A[rows, j] for j in range(12)}
        pq.write_table(
            pyarrow.table({**columns, "price": B[rows]}), folder / "parts" / f"{number}.parquet", row_group_size=9
        )
    return folder / "parts"


def zarr(folder, chunks=(20, 5)):
    zarr = pytest.importorskip("zarr", reason="the extra 'zarr' is not installed")
    array = zarr.open(str(folder / "A.zarr"), mode="w", shape=A.shape, chunks=chunks, dtype="f8")
    array[:] = A
    return folder / "A.zarr"


def csv(folder):
    rows = "\n".join(",".join(map(repr, (*row.tolist(), float(y)))) for row, y in zip(A, B, strict=True))
    (folder / "table.csv").write_text(",".join([*(f"x{j}" for j in range(12)), "price"]) + "\n" + rows + "\n")
    return folder / "table.csv"


def libsvm(folder):
    lines = (
        f"{y!r} " + " ".join(f"{j + 1}:{float(row[j])!r}" for j in np.flatnonzero(row))
        for row, y in zip(A, B.tolist(), strict=True)
    )
    (folder / "table.svm").write_text("\n".join(lines) + "\n")
    return folder / "table.svm"


def converted(folder, make, monkeypatch):
    """In groups of a few rows."""
    monkeypatch.setattr("ascd.files.converting.PORTION", 2e-3 if make is csv else 5e-4)
    convert(make(folder), folder / "groups", memory="1MiB")
    return folder / "groups"


FORMS = ["C", "F", "float32", "int8", "bool", "parquet", "zarr", "zarr rows", "csv", "libsvm"]


def opened(form, folder, monkeypatch):
    """The data as the form has them on a disk, and as an array."""
    if form in ("C", "F"):
        return open_data(npy(folder, form)), 3.0 * A
    if form in ("float32", "int8", "bool"):
        path = npy(folder, "C" if form == "int8" else "F", {"bool": bool}.get(form, form))
        return open_data(path), np.load(path).astype(float)
    if form == "parquet":
        return open_data(parquet(folder), target="price"), A
    if form.startswith("zarr"):
        return open_data(zarr(folder, (20, 5) if form == "zarr" else (20, 12))), A
    return open_data(converted(folder, csv if form == "csv" else libsvm, monkeypatch)), A


@pytest.mark.parametrize("piece", [200, 10**6])
@pytest.mark.parametrize("form", FORMS)
def test_answers_equal_numpys(form, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(prices, "BLOCK_BYTES", piece)
    data, expected = opened(form, tmp_path, monkeypatch)
    design = data.as_design()
    assert data.shape == design.shape == expected.shape
    survey = design.survey(WEIGHT, np.stack([VECTOR, WEIGHT]))
    np.testing.assert_allclose(survey.square, WEIGHT @ expected**2)
    np.testing.assert_allclose(survey.plain, (expected**2).sum(axis=0))
    np.testing.assert_allclose(survey.total, expected.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(survey.products, np.stack([VECTOR, WEIGHT]) @ expected, atol=1e-12)
    np.testing.assert_allclose(design.survey(2.0, VECTOR[None]).square, 2.0 * (expected**2).sum(axis=0))
    source, every = design.source, np.arange(12)
    for columns in (COLUMNS, every):
        for answering in (source, design):
            np.testing.assert_allclose(answering.dots(columns, VECTOR), VECTOR @ expected[:, columns], atol=1e-12)
            image = WEIGHT.copy()
            answering.add(columns, np.arange(columns.size) - 1.0, image)
            np.testing.assert_allclose(image, WEIGHT + expected[:, columns] @ (np.arange(columns.size) - 1.0))
        np.testing.assert_array_equal(as_block(design.take(columns), 50), expected[:, columns])
    design.check_finite()
    assert design.entries() == (np.count_nonzero(A) if form == "libsvm" else A.size)


@pytest.mark.parametrize("form", FORMS)
def test_fits_equal_those_of_the_array(form, tmp_path, monkeypatch):
    data, expected = opened(form, tmp_path, monkeypatch)
    plain = ascd.Lasso(0.05, tol=1e-9).fit(expected, B)
    found = ascd.Lasso(0.05, tol=1e-9).fit(data, B)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_allclose(found.predict(data), plain.predict(expected), atol=1e-4)
    problem = ascd.Problem(data, B, penalty=ascd.L1(1.0))
    assert ascd.path(problem, n_alphas=4).objectives[-1] > 0.0
    if form in ("parquet", "csv", "libsvm"):
        np.testing.assert_allclose(data.y, B)
    if form in ("parquet", "csv"):
        assert data.feature_names == [f"x{j}" for j in range(12)]


@pytest.mark.parametrize(("form", "least"), [("F", 4 * 50 * 8), ("C", 50 * 12 * 8), ("zarr", 2 * 50 * 5 * 8)])
def test_columns_that_nobody_asks_for_are_not_read(form, least, tmp_path, monkeypatch):
    data, _ = opened(form, tmp_path, monkeypatch)
    source = data.as_design().source
    before = data.bytes_read
    source.dots(COLUMNS, VECTOR)
    assert data.bytes_read - before == least
    assert isinstance(source, Filed)
    assert data.size == 12 * 50 * 8


def test_a_fit_reads_less_than_its_passes(tmp_path):
    rng = np.random.default_rng(1)
    wide = np.asfortranarray(rng.standard_normal((100, 2000)))
    np.save(tmp_path / "wide.npy", wide)
    data = open_data(tmp_path / "wide.npy", memory="1MiB")  # the data are 1.6 MB
    y = wide[:, :5].sum(axis=1) + rng.standard_normal(100)
    largest = np.abs(wide.T @ (y - y.mean())).max() / 100
    model = ascd.Lasso(0.3 * largest).fit(data, y)
    assert model.certificate_.converged
    assert data.bytes_read <= 4 * data.size


def test_a_file_that_becomes_shorter_is_an_error_with_a_sentence(tmp_path):
    path = npy(tmp_path, "F")
    data = open_data(path)
    problem = ascd.Problem(data, B, penalty=ascd.L1(0.1))
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(OSError, match="has become shorter than it was"):
        ascd.solve(problem, tol=1e-9)
    with pytest.raises(ValueError, match=r"is incomplete: [\d,]+ of 4,800 bytes"):
        open_data(path)


def test_ctrl_c_returns_the_best_point(tmp_path, monkeypatch):
    data = open_data(npy(tmp_path, "F"))
    problem = ascd.Problem(data, B, penalty=ascd.L1(0.01))
    calls, really = [], NpyReader.read

    def read(self, rows, columns):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return really(self, rows, columns)

    monkeypatch.setattr(NpyReader, "read", read)
    found = ascd.solve(problem, tol=1e-12)
    assert calls
    assert str(found.status) == "interrupted"
    assert np.isfinite(found.objective)


def test_nothing_is_left_of_a_conversion_that_fails(tmp_path, monkeypatch):
    source = csv(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ascd.files.converting.np.save", full)
    with pytest.raises(OSError, match="No space left"):
        convert(source, tmp_path / "groups")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


def test_conversion_by_portions_equals_the_whole(tmp_path, monkeypatch):
    for make in (csv, libsvm):
        folder = tmp_path / make.__name__
        folder.mkdir()
        groups = converted(folder, make, monkeypatch)
        index = json.loads((groups / "index.json").read_text())
        assert len(index["ends"]) > 3
        assert index["ends"][-1] == 50
        assert index["sparse"] == (make is libsvm)
        reader = open_data(groups).reader
        rows = [reader.read(slice(a, b), None) for a, b in zip(reader.ends[:-1], reader.ends[1:], strict=True)]
        whole = np.vstack([block.toarray() if sp.issparse(block) else block for block in rows])
        np.testing.assert_array_equal(whole, A)


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


def write(path, text):
    path.write_text(text)
    return path


def zip_other(folder):
    import pyarrow
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.table({"z": [1.0]}), folder / "other.parquet")
    return [folder / "other.parquet"]


@pytest.mark.parametrize(("make", "error", "words"), BAD)
def test_wrong_input_is_named(make, error, words, tmp_path):
    with pytest.raises(error, match=words):
        make(tmp_path)


# -------------------------------------------------------------------------------- what was found by trying to break it


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
        data.as_design().source.check_finite()


def test_indices_from_zero_are_so_in_every_portion(tmp_path, monkeypatch):
    monkeypatch.setattr("ascd.files.converting.PORTION", 2e-4)
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
    monkeypatch.setattr("ascd.files.converting.PORTION", 2e-3)
    folder = tmp_path / "groups"
    before = convert(csv(tmp_path), folder, memory="1MiB")
    (folder / "rows-of-mine.npy").write_text("mine")
    with pytest.raises(ValueError, match="holds text"):
        convert(write(tmp_path / "t.csv", "a,b,y\n1,x,2\n3,z,4\n"), folder, force=True)
    np.testing.assert_array_equal(
        open_data(folder).reader.read(slice(0, 5), None), before.reader.read(slice(0, 5), None)
    )
    convert(write(tmp_path / "t.csv", "a,y\n1,2\n3,4\n"), folder, force=True)
    names = {path.name for path in folder.iterdir()}
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
        (lambda f: convert(write(f / "t.csv", "y\n1\n2\n"), f / "o"), ValueError, "no features"),
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
