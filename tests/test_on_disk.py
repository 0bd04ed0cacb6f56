"""Data that stay on their disk: the answers of the array, few bytes read, and errors that say what is wrong."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

import ascd
from ascd.data import prices
from ascd.data.distant import Distant
from ascd.data.filed import Filed
from ascd.data.local import as_block
from ascd.files import convert, open_data
from ascd.files.npy import NpyReader
from ascd.solver.subproblem import Subproblem
from ascd.solver.tuning import LARGEST_SET

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


@pytest.mark.parametrize("columns_allowed", [2, 6, 14, 40])
def test_columns_in_memory_stay_within_what_is_allowed(columns_allowed, tmp_path, monkeypatch):
    memory = columns_allowed * 50 * 8.0 / prices.FILE_ROOM
    design = Distant(Filed(NpyReader(npy(tmp_path, "F")), memory))
    most, fetch = [], design.source.fetch

    def watched(columns):
        held = 0 if design._held is None else design._held.held.size
        most.append(held + columns.size)
        return fetch(columns)

    monkeypatch.setattr(design.source, "fetch", watched)
    for columns in ([0, 1], [1, 2, 3], [5, 0], [7, 8, 9, 10, 11], [3], np.arange(12), [4, 7]):
        local, places = design.local(np.array(columns))
        np.testing.assert_array_equal(as_block(local.take(places), 50), 3.0 * A[:, columns])
        np.testing.assert_allclose(design.dots(np.array(columns), VECTOR), 3.0 * VECTOR @ A[:, columns])
        if len(columns) <= columns_allowed:  # more are fetched alone, once nothing else is there
            assert most[-1] <= columns_allowed
    assert max(most) <= max(12, columns_allowed)


def test_working_sets_are_no_larger_than_what_comes_near(tmp_path, monkeypatch, compiled):
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.standard_normal((40, 3000)))
    y = X[:, :30] @ rng.standard_normal(30)
    np.save(tmp_path / "wide.npy", X)
    design = Distant(Filed(NpyReader(tmp_path / "wide.npy"), 250 * 40 * 8.0 / prices.FILE_NEAR))
    assert design.most_near == 250
    whole = ascd.solve(ascd.Problem(X, y, penalty=ascd.L1(2.0)), tol=1e-8)
    improve = Subproblem.improve

    def watched(self, task, left):
        assert task.columns.size <= max(250, np.count_nonzero(self.fit.x) + LARGEST_SET)
        improve(self, task, left)

    monkeypatch.setattr(Subproblem, "improve", watched)
    found = ascd.solve(ascd.Problem(design, y, penalty=ascd.L1(2.0)), tol=1e-8)
    assert found.converged
    assert found.objective == pytest.approx(whole.objective, rel=1e-7)


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
