"""Folders of ``ascd convert`` hold one conversion, whenever it ends; those that do not are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from ended_conversions import BEFORE, HOW, as_version_1
from on_disk import A, B, csv, libsvm, write

from ascd.files import convert, open_data
from ascd.matrix.base import as_block

pytestmark = pytest.mark.usefixtures("plain_python")
STEPS_OF = Path(__file__).with_name("ended_conversions.py")


@pytest.fixture(scope="module")
def after_steps(tmp_path_factory):
    """What folders hold after each step, of all ways to end, from one process."""
    arguments = [sys.executable, str(STEPS_OF), str(tmp_path_factory.mktemp("steps"))]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {(how, before): words for how, before, words in map(json.loads, done.stdout.splitlines())}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every step needs a process that may be killed")
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("how", HOW)
def test_a_conversion_that_ends_at_any_step_leaves_the_old_one_or_the_new(how, before, after_steps):
    words = after_steps[how, before]
    assert len(words) > 20
    in_turn = [word for word, _ in groupby(words)]
    if before != "nothing":
        assert in_turn == ["old", "new"]
        return
    assert in_turn[-1] == "new"
    for word in in_turn[:-1]:
        assert "no such file" in word or (how == "kill" and ("cut short" in word or "is empty" in word))


@pytest.mark.parametrize("make", [csv, libsvm])
def test_folders_of_version_1_are_read(make, tmp_path):
    convert(make(tmp_path), tmp_path / "groups")
    as_version_1(tmp_path / "groups")
    data = open_data(tmp_path / "groups")
    np.testing.assert_array_equal(as_block(data.as_design().take(np.arange(12)), 50), A)
    np.testing.assert_array_equal(data.y, B)


def other(values):
    return lambda path: np.save(path, values)


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize(
    ("make", "name", "change", "words"),
    [
        (csv, "rows-00000.npy", other(A[:40]), r"has shape \(40, 12\), not \(50, 12\)"),
        (csv, "rows-00000.npy", other(A[:, 1:]), r"has shape \(50, 11\), not \(50, 12\)"),
        (csv, "rows-00000.npy", Path.unlink, "rows-00000.npy is missing"),
        (csv, "target.npy", other(B[1:]), r"target.npy has shape \(49,\), not \(50,\)"),
        (csv, "target.npy", Path.unlink, "target.npy is missing"),
        (libsvm, "rows-00000.indptr.npy", other(np.arange(9)), r"has shape \(9,\), not \(13,\)"),
        (libsvm, "rows-00000.data.npy", other(np.ones(3)), r"data.npy has shape \(3,\), not \(\d+,\)"),
        (libsvm, "rows-00000.indices.npy", other(np.ones(3)), r"indices.npy has shape \(3,\), not \(\d+,\)"),
    ],
)
def test_numbers_that_are_not_those_of_the_index_are_refused(make, name, change, words, is_first, tmp_path):
    folder = tmp_path / "groups"
    convert(make(tmp_path), folder)
    if is_first:
        as_version_1(folder)
    (found,) = folder.rglob(name)
    change(found)
    with pytest.raises(ValueError, match=rf"groups is not what its index.json says: .*{words}. Run ascd convert again"):
        open_data(folder)


def test_an_index_of_another_conversion_is_refused(tmp_path):
    for name in ("one", "two"):
        convert(csv(tmp_path), tmp_path / name)
    (tmp_path / "one" / "index.json").replace(tmp_path / "two" / "index.json")
    with pytest.raises(ValueError, match=r"two is not what its index.json says: .* is missing"):
        open_data(tmp_path / "two")


def test_a_damaged_index_is_replaced(tmp_path):
    folder = tmp_path / "groups"
    convert(csv(tmp_path), folder)
    write(folder / "index.json", json.dumps([1]))
    with pytest.raises(ValueError, match="is not an index that this version of ascd knows"):
        open_data(folder)
    assert convert(csv(tmp_path), folder, force=True).shape == (50, 12)
    assert len(list(folder.iterdir())) == 2


def test_files_of_others_stay_with_force(tmp_path):
    mine = {"rows-00000.npy", "target.npy", "groups-of-mine", "table.csv"}
    for name in mine - {"table.csv"}:
        write(tmp_path / name, "mine")
    for _ in range(2):
        convert(csv(tmp_path), tmp_path, force=True)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == mine | {"index.json", open_data(tmp_path).reader.index["data"]}


def test_numbers_that_cannot_be_removed_are_no_error_of_the_new_ones(tmp_path, monkeypatch):
    folder, really = tmp_path / "groups", os.rmdir
    old = convert(csv(tmp_path), folder).reader.place.name

    def refused(path, **where):
        if old in os.fsdecode(path):
            raise PermissionError(13, "Permission denied")
        really(path, **where)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", refused)
        assert convert(csv(tmp_path), folder, force=True).reader.place.name != old
    assert (folder / old).is_dir()
    convert(csv(tmp_path), folder, force=True)
    assert not (folder / old).exists()
