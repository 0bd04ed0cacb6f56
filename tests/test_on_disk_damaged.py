"""Folders of ``ascd convert`` whose files are damaged: an error that names the file, never a fit to other memory."""

from __future__ import annotations

import json

import numpy as np
import pytest
from on_disk import csv, libsvm

import ascd
from ascd.io import convert, open_data, read_table

pytestmark = pytest.mark.usefixtures("plain_python")


def folder_of(tmp_path, make=libsvm):
    convert(make(tmp_path), tmp_path / "groups")
    return tmp_path / "groups"


def save_sparse(path, X, y):
    from scipy.sparse import csc_array

    found = csc_array(X)
    np.savez_compressed(
        path, format="csc", shape=X.shape, data=found.data, indices=found.indices, indptr=found.indptr, y=y
    )


def numbers(folder, name):
    return next(folder.glob(f"groups-*/rows-00000{name}.npy"))


def change(path, place, value):
    found = np.load(path)
    found[place] = value
    np.save(path, found)


@pytest.mark.parametrize(
    ("value", "words"), [(50, "from 0 to 49; .* is 50"), (1 << 24, "from 0 to 49"), (-1, "from 0 to 49; .* is -1")]
)
def test_rows_outside_of_a_sparse_group_are_not_followed(value, words, tmp_path):
    folder = folder_of(tmp_path)
    change(numbers(folder, ".indices"), 3, value)
    data = open_data(folder)
    with pytest.raises(ValueError, match=f"rows-00000.indices.npy: .*{words}.*ascd convert again"):
        ascd.Lasso(alpha=0.01).fit(data, data.y)


def test_a_row_that_is_there_twice_is_named(tmp_path):
    folder = folder_of(tmp_path)
    path = numbers(folder, ".indices")
    change(path, 1, np.load(path)[0])
    data = open_data(folder)
    with pytest.raises(ValueError, match=r"rows-00000.indices.npy has rows of a column twice"):
        ascd.Lasso(alpha=0.01).fit(data, data.y)


@pytest.mark.parametrize(("place", "value"), [(0, 1), (2, 1 << 40), (2, -5)])
def test_columns_that_begin_elsewhere_are_named(place, value, tmp_path):
    folder = folder_of(tmp_path)
    change(numbers(folder, ".indptr"), place, value)
    with pytest.raises(ValueError, match=r"rows-00000.indptr.npy has columns that begin before"):
        open_data(folder)


@pytest.mark.parametrize("name", [".indices", ".indptr"])
def test_places_must_be_whole_numbers(name, tmp_path):
    folder = folder_of(tmp_path)
    path = numbers(folder, name)
    np.save(path, np.load(path).astype(float))
    with pytest.raises(ValueError, match="holds no whole numbers"):
        open_data(folder)


@pytest.mark.parametrize("make", [csv, libsvm])
@pytest.mark.parametrize("ends", [[0, 20], [0, 30, 20, 50], [10, 50], [0, 50, 50]])
def test_groups_that_do_not_make_up_the_rows_are_refused(make, ends, tmp_path):
    folder = folder_of(tmp_path, make)
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps({**index, "ends": ends}))
    with pytest.raises(ValueError, match=r"is not what its index\.json says: its groups of rows end at"):
        open_data(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [50]},
        {"shape": [50.0, 12.0]},
        {"shape": None},
        {"ends": []},
        {"ends": 5},
        {"data": None},
        {"names": ["a"]},
    ],
)
def test_an_index_of_other_kinds_is_refused(change, tmp_path):
    folder = folder_of(tmp_path)
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps({**index, **change}))
    with pytest.raises(ValueError, match=r"index\.json is not an index that this version of ascd knows"):
        open_data(folder)


@pytest.mark.parametrize("left", [0, 1, 61, 140])
@pytest.mark.parametrize("name", ["target", "rows-00000.indptr", "rows-00000.data"])
def test_files_that_are_cut_off_are_named(name, left, tmp_path):
    folder = folder_of(tmp_path)
    path = next(folder.glob(f"groups-*/{name}.npy"))
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(ValueError, match=f"{name}.npy is (damaged|not a .npy file|incomplete)"):
        open_data(folder)


@pytest.mark.parametrize("name", ["target", "rows-00000.indptr", "rows-00000.data"])
def test_damaged_headers_are_named(name, tmp_path):
    folder = folder_of(tmp_path)
    path = next(folder.glob(f"groups-*/{name}.npy"))
    path.write_bytes(path.read_bytes().replace(b"(", b"{", 1).replace(b",)", b",(", 1))
    with pytest.raises(ValueError, match=f"{name}.npy is (damaged|not a .npy file)"):
        open_data(folder)


@pytest.mark.parametrize(
    ("shape", "words"),
    [(b"(-5, 12)", "is not a .npy file: its shape is"), (b"(4294967296, 4294967296)", "is incomplete")],
)
def test_shapes_that_no_file_has_are_refused(shape, words, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.ones((50, 12)))
    head, rest = path.read_bytes()[:128], path.read_bytes()[128:]
    path.write_bytes(head.replace(b"(50, 12)", shape)[:127].ljust(127) + b"\n" + rest)
    with pytest.raises(ValueError, match=words):
        open_data(path)


@pytest.mark.parametrize("save", [np.savez_compressed, save_sparse])
def test_damaged_archives_of_arrays_are_named(save, tmp_path):
    path = tmp_path / "x.npz"
    save(path, X=np.random.default_rng(0).random((50, 12)), y=np.ones(50))
    content = path.read_bytes()
    for place in range(0, len(content), len(content) // 60):
        path.write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        try:
            read_table(path)
        except (ValueError, FileNotFoundError) as error:
            assert "x.npz" in str(error)  # noqa: PT017  most places are noticed, some say nothing of the numbers
