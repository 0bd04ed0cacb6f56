"""Formats that decode whole chunks: a pass decodes each one once, however little memory is allowed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from on_disk import COLUMNS, VECTOR, WEIGHT, A, B, npy, parquet, zarr
from pairs import in_pairs

import ascd
from ascd.io.readers import NpyReader, ParquetReader, ZarrReader
from ascd.matrix import costs
from ascd.matrix.files import FileMatrix

pytestmark = pytest.mark.usefixtures("plain_python")
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
    "several": lambda source, columns: source.read_dots_with_several(columns, np.stack([VECTOR, WEIGHT], axis=1)),
    "add": lambda source, columns: source.read_add(columns, np.ones(columns.size), np.zeros(50)),
    "fetch": lambda source, columns: source.fetch(columns),
    "check": lambda source, _: source.check_finite(),
}
ABOUT_COLUMNS = ("dots", "several", "add", "fetch")


@pytest.mark.parametrize("chunks_allowed", [1, 3, 40, 200])
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
    image, factors = np.zeros(50), np.arange(columns.size) - 1.0
    source.read_add(columns, factors, image)
    np.testing.assert_allclose(image, A[:, columns] @ factors, atol=1e-12)
    np.testing.assert_allclose(source.read_dots(columns, VECTOR), VECTOR @ A[:, columns], atol=1e-12)
    np.testing.assert_array_equal(source.fetch(columns).matrix.values, A[:, columns])


@pytest.mark.parametrize("form", CHUNKS)
def test_a_chunk_larger_than_the_memory_is_decoded_for_each_part(form, reader_of):
    reader = reader_of(form)
    memory, first = CHUNKS[form] / 2.0, int(reader.ends[1])
    pieces = [piece for piece in FileMatrix(reader, memory).pieces.of(EVERY) if piece.rows.stop <= first]
    assert max(piece.values.nbytes for piece in pieces) <= costs.FILE_PART * memory
    parts = -(-first // int(first / 8))  # eight, but for rows that cannot be cut
    assert len(pieces) == parts * {"parquet": 12, "zarr": 3, "zarr rows": 1}[form]
    assert sum(piece.values.size for piece in pieces) == first * 12


@pytest.mark.parametrize(("chunks_allowed", "ahead"), [(3, 0), (40, 2)])
@pytest.mark.parametrize("form", CHUNKS)
def test_nothing_is_read_ahead_of_a_chunk_larger_than_a_piece(form, chunks_allowed, ahead, reader_of, monkeypatch):
    reader = reader_of(form)
    calls, read = [], reader.read
    monkeypatch.setattr(reader, "read", lambda *what: calls.append(1) or read(*what))
    for number, piece in enumerate(FileMatrix(reader, CHUNKS[form] * chunks_allowed).pieces.of(EVERY), start=1):
        assert number <= len(calls) <= number + ahead
        assert piece.values.nbytes <= CHUNKS[form]


@pytest.mark.parametrize("columns_allowed", [2, 5])
def test_a_fit_takes_the_passes_of_a_plain_file(columns_allowed, reader_of, tmp_path):
    memory = columns_allowed * 50 * 8.0 / costs.FILE_NEAR
    readers = NpyReader(npy(tmp_path, "F")), reader_of("parquet")
    for reader, scale in zip(readers, (3.0, 1.0), strict=True):
        found = ascd.solve(ascd.Problem(FileMatrix(reader, memory), B, penalty=ascd.L1(scale)), tol=1e-8)
        assert found.converged
    plain, packed = (reader.bytes_read / stored(reader, EVERY) for reader in readers)
    assert packed <= 1.1 * plain + 0.1
