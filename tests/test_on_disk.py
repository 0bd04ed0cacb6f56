"""Data that stay on their disk: the answers of the array, few bytes read, and no more memory than is allowed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from matrix_answers import check_answers
from on_disk import COLUMNS, VECTOR, WEIGHT, A, B, converted, csv, libsvm, npy, parquet, zarr
from pairs import in_pairs

import ascd
from ascd.io import open_data
from ascd.io.opening import NpyReader, ParquetReader, ZarrReader
from ascd.matrix import costs
from ascd.matrix.base import as_block
from ascd.matrix.files import FileMatrix
from ascd.solver.subproblem import Subproblem
from ascd.solver.tuning import LARGEST_SET

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


@pytest.mark.parametrize(("form", "least"), [("F", 4 * 50 * 8), ("C", 50 * 12 * 8), ("zarr", 2 * 50 * 5 * 8)])
def test_columns_that_nobody_asks_for_are_not_read(form, least, tmp_path, monkeypatch):
    data, _ = opened(form, tmp_path, monkeypatch)
    source = data.as_design()
    before = data.bytes_read
    source.dots(COLUMNS, VECTOR)
    assert data.bytes_read - before == least
    assert isinstance(source, FileMatrix)
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
    design = FileMatrix(NpyReader(tmp_path / "wide.npy"), 250 * 40 * 8.0 / costs.FILE_NEAR)
    assert design.most_near == 250
    whole = ascd.solve(ascd.Problem(X, y, penalty=ascd.L1(2.0)), tol=1e-8)
    improve = Subproblem.improve

    def watched(self, working, violation):
        assert working.columns.size <= max(250, np.count_nonzero(self.state.x) + LARGEST_SET)
        improve(self, working, violation)

    monkeypatch.setattr(Subproblem, "improve", watched)
    found = ascd.solve(ascd.Problem(design, y, penalty=ascd.L1(2.0)), tol=1e-8)
    assert found.converged
    assert found.objective == pytest.approx(whole.objective, rel=1e-7)


# --------------------------------------------------- formats that decode whole chunks: each one once a pass

EVERY, MIXED = np.arange(12), np.array([11, 0, 6, 1, 10, 5, 2])
#: Bytes of the largest chunk: a column of nine rows, and 20 rows of five columns or of all.
CHUNKS = {"parquet": 9 * 8, "zarr": 20 * 5 * 8, "zarr rows": 20 * 12 * 8}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The file of a form, written where it is first asked for."""

    @cache
    def path(form):
        folder = tmp_path_factory.mktemp("data")
        return parquet(folder) if form == "parquet" else zarr(folder, (20, 5) if form == "zarr" else (20, 12))

    return path


@pytest.fixture
def reader_of(written):
    """A reader of its own of the file of a form."""

    def open_one(form):
        path = written(form)
        return ParquetReader(sorted(path.iterdir()), ["price"]) if form == "parquet" else ZarrReader(path)

    return open_one


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
    "check": lambda source, _: source.check_finite(),
}
ABOUT_COLUMNS = ("dots", "several", "add", "fetch")


@pytest.mark.parametrize("chunks_allowed", [1, 3, 200])
@pytest.mark.parametrize("form", CHUNKS)
def test_a_pass_decodes_every_chunk_once(form, chunks_allowed, reader_of):
    """A piece is a thirty-second of the memory: less than a chunk, one, or several."""
    reader = reader_of(form)
    source = FileMatrix(reader, CHUNKS[form] * chunks_allowed)
    for columns in (EVERY, COLUMNS, MIXED):
        expected = stored(reader, columns)
        for name in QUESTIONS if columns is EVERY else ABOUT_COLUMNS:
            before = reader.bytes_read
            QUESTIONS[name](source, columns)
            assert reader.bytes_read - before == expected, name


@in_pairs(form=CHUNKS, memory=[0.05, 0.5, 1, 3, 40, 200], order=["every", "some", "mixed", "backward"])
def test_answers_are_numpys_in_any_order_of_columns(form, memory, order, reader_of):
    source = FileMatrix(reader_of(form), CHUNKS[form] * memory)
    columns = {"every": EVERY, "some": COLUMNS, "mixed": MIXED, "backward": MIXED[::-1]}[order]
    out, factors = np.zeros(50), np.arange(columns.size) - 1.0
    source.read_add(columns, factors, out)
    np.testing.assert_allclose(out, A[:, columns] @ factors, atol=1e-12)
    np.testing.assert_allclose(source.read_dots(columns, VECTOR), VECTOR @ A[:, columns], atol=1e-12)
    np.testing.assert_array_equal(source.fetch(columns).matrix.values, A[:, columns])


@pytest.mark.parametrize("columns_allowed", [2, 5])
def test_a_fit_takes_the_passes_of_a_plain_file(columns_allowed, reader_of, tmp_path):
    memory = columns_allowed * 50 * 8.0 / costs.FILE_NEAR
    readers = NpyReader(npy(tmp_path, "F")), reader_of("parquet")
    for reader, scale in zip(readers, (3.0, 1.0), strict=True):
        found = ascd.solve(ascd.Problem(FileMatrix(reader, memory), B, penalty=ascd.L1(scale)), tol=1e-8)
        assert found.converged
    plain, packed = (reader.bytes_read / stored(reader, EVERY) for reader in readers)
    assert packed <= 1.1 * plain + 0.1
