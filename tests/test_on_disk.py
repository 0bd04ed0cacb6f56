"""Data that stay on their disk: the answers of the array, few bytes read, and no more memory than is allowed."""

from __future__ import annotations

import os

import numpy as np
import pytest
from matrix_answers import check_answers
from on_disk import COLUMNS, VECTOR, WEIGHT, A, B, converted, csv, libsvm, npy, parquet, write, write_parquet

import ascd
from ascd.io import open_data
from ascd.io.opening import NpyReader, ParquetReader
from ascd.matrix import costs
from ascd.matrix.base import as_block
from ascd.matrix.cached import FileMatrix

FORMS = ["C", "F", "float32", "int8", "bool", "parquet", "csv", "libsvm"]


def opened(form, folder, monkeypatch):
    """The data as the form has them on a disk, and as an array."""
    if form in ("C", "F"):
        return open_data(npy(folder, form)), 3.0 * A
    if form in ("float32", "int8", "bool"):
        path = npy(folder, "C" if form == "int8" else "F", {"bool": bool}.get(form, form))
        return open_data(path), np.load(path).astype(float)
    if form == "parquet":
        return open_data(parquet(folder), target="price"), A
    return open_data(converted(folder, csv if form == "csv" else libsvm, monkeypatch)), A


@pytest.mark.parametrize("piece", [200, 10**6])
@pytest.mark.parametrize("form", FORMS)
def test_answers_equal_numpys(form, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "BLOCK_BYTES", piece)
    data, expected = opened(form, tmp_path, monkeypatch)
    design = data.as_design()
    check_answers(design, expected, COLUMNS)
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


@pytest.mark.parametrize(("form", "least"), [("F", 4 * 50 * 8), ("C", 50 * 12 * 8)])
def test_columns_that_nobody_asks_for_are_not_read(form, least, tmp_path, monkeypatch):
    data, _ = opened(form, tmp_path, monkeypatch)
    source = data.as_design()
    before = data.bytes_read
    source.dots(COLUMNS, VECTOR)
    assert data.bytes_read - before == least
    assert isinstance(source, FileMatrix)
    assert data.size == 12 * 50 * 8


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


@pytest.mark.parametrize("columns_allowed", [2, 6, 14, 40])
def test_columns_in_memory_stay_within_what_is_allowed(columns_allowed, tmp_path, monkeypatch):
    memory = columns_allowed * 50 * 8.0 / costs.FILE_ROOM
    design = FileMatrix(NpyReader(npy(tmp_path, "F")), memory)
    most, fetch = [], design.fetch

    def watched(columns):
        cached = 0 if design._cache is None else design._cache.columns.size
        most.append(cached + columns.size)
        return fetch(columns)

    monkeypatch.setattr(design, "fetch", watched)
    for columns in ([0, 1], [1, 2, 3], [5, 0], [7, 8, 9, 10, 11], [3], np.arange(12), [4, 7]):
        np.testing.assert_array_equal(as_block(design.take(np.array(columns)), 50), 3.0 * A[:, columns])
        np.testing.assert_allclose(design.dots(np.array(columns), VECTOR), 3.0 * VECTOR @ A[:, columns])
        if len(columns) <= columns_allowed:  # more are fetched alone, once nothing else is there
            assert most[-1] <= columns_allowed
    assert max(most) <= max(12, columns_allowed)


# --------------------------------------------------- Parquet decodes whole chunks: each one once a pass

EVERY, MIXED = np.arange(12), np.array([11, 0, 6, 1, 10, 5, 2])
#: Bytes of the largest chunk: a column of nine rows.
CHUNK = 9 * 8


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return parquet(tmp_path_factory.mktemp("data"))


@pytest.fixture
def reader(written):
    return ParquetReader(sorted(written.iterdir()), ["price"])


def stored(reader, columns):
    """Bytes of the chunks that hold these columns: those that reading all at once decodes."""
    before = reader.bytes_read
    for start, stop in zip(reader.ends[:-1], reader.ends[1:], strict=True):
        reader.read(slice(int(start), int(stop)), columns)
    return reader.bytes_read - before


QUESTIONS = {
    "column_stats": lambda source, _: source.column_stats(WEIGHT, np.stack([VECTOR, WEIGHT])).products,
    "dots": lambda source, columns: source.read_dots(columns, VECTOR),
    "several": lambda source, columns: source.read_dots(columns, np.stack([VECTOR, WEIGHT], axis=1)),
    "add": lambda source, columns: source.read_add(columns, np.ones(columns.size), np.zeros(50)),
    "fetch": lambda source, columns: source.fetch(columns),
}
ABOUT_COLUMNS = ("dots", "several", "add", "fetch")


@pytest.mark.parametrize("chunks_allowed", [1, 3, 200])
def test_a_pass_decodes_every_chunk_once(chunks_allowed, reader):
    """A piece is a thirty-second of the memory: less than a chunk, one, or several."""
    source = FileMatrix(reader, CHUNK * chunks_allowed)
    for columns in (EVERY, COLUMNS, MIXED):
        expected = stored(reader, columns)
        for name in QUESTIONS if columns is EVERY else ABOUT_COLUMNS:
            before = reader.bytes_read
            QUESTIONS[name](source, columns)
            assert reader.bytes_read - before == expected, name


@pytest.mark.parametrize("memory", [0.05, 1, 3, 200])
@pytest.mark.parametrize("order", ["every", "some", "mixed", "backward"])
def test_answers_are_numpys_in_any_order_of_columns(memory, order, reader):
    source = FileMatrix(reader, CHUNK * memory)
    columns = {"every": EVERY, "some": COLUMNS, "mixed": MIXED, "backward": MIXED[::-1]}[order]
    out, factors = np.zeros(50), np.arange(columns.size) - 1.0
    source.read_add(columns, factors, out)
    np.testing.assert_allclose(out, A[:, columns] @ factors, atol=1e-12)
    np.testing.assert_allclose(source.read_dots(columns, VECTOR), VECTOR @ A[:, columns], atol=1e-12)
    np.testing.assert_array_equal(source.fetch(columns).matrix.values, A[:, columns])


# --- Data on a disk that are strange, damaged, or change while they are read: errors that name the file and the column


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("scale", [1e25, 1e-25])
def test_squares_of_float32_rows_are_those_of_float64(scale, monkeypatch):
    """float() of a float32 number is float32 in compiled code: squares overflow, and have seven digits."""
    monkeypatch.setattr(costs, "SMALL_DATA", 0)
    rows = np.ascontiguousarray(scale * A, dtype=np.float32)
    found = ascd.Problem(rows, B).column_stats
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
        data.as_design().fetch(np.arange(1))
    state = data.reader.numbers.state
    monkeypatch.setattr("ascd.io.opening.state_of", lambda _: state)  # it vanishes after it was looked at
    with pytest.raises(OSError, match=r"npy is damaged, or can no longer be read: .*No such file"):
        data.as_design().fetch(np.arange(1))


def test_sums_over_pieces_that_overflow_are_told_by_name(tmp_path):
    """Each piece is finite, their sum is not; warnings are errors here."""
    with pytest.raises(ValueError, match=r"A has columns whose norm is above 1e\+60: rescale A"):
        ascd.Problem(open_data(save(tmp_path, np.full((400, 300), 9e152)), memory="1MiB"), np.ones(400))


def test_damaged_files_are_named(tmp_path):
    path = parquet(tmp_path)
    data = open_data(path, target="price")
    for one in path.iterdir():
        state, content = one.stat(), one.read_bytes()
        end = len(content) - 1500  # the description at its end stays
        one.write_bytes(b"\xff" * end + content[end:])
        os.utime(one, ns=(state.st_mtime_ns, state.st_mtime_ns))
    with pytest.raises(OSError, match=r"is damaged, or can no longer be read: "):
        ascd.Lasso(0.1).fit(data, B)


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
    (lambda f: open_data(npy(f), target="y"), ValueError, "must be left out for"),
    (lambda f: open_data(npy(f), without=["y"]), ValueError, "must be left out for"),
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
