"""Exit codes, a table over all commands: 2 for what a command names or gives wrongly, 1 for work that fails.

Files of every kind are there, so that what is wrong is the one thing that the row says.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

from ascd.cli import ERROR, USAGE, main  # noqa: E402
from ascd.cli.app import COMMANDS  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture(scope="module")
def files(plain_python, tmp_path_factory):
    """A folder with a table, one with a gap, one that is text alone, a model and a folder of ``ascd convert``."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2)).round(3)
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(y=(X @ [1.0, -2.0]).round(3))
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "noext", index=False)
    frame.mask(frame == frame["a"][3]).to_csv(folder / "gap.csv", index=False)
    frame.assign(y="one").to_csv(folder / "same.csv", index=False)
    (folder / "ragged.csv").write_text("a,b,y\n1,2,3\n4,5,6,7\n", encoding="utf-8")
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "other.npz").write_text("no model", encoding="utf-8")
    (folder / "badgroups").write_text("{broken", encoding="utf-8")
    assert main(["fit", str(folder / "t.csv"), "--alpha", "0.1", "--out", str(folder / "m.npz")]) == 0
    assert main(["convert", str(folder / "t.csv"), str(folder / "folder")]) == 0
    return folder


@pytest.fixture
def place(files, tmp_path, monkeypatch):
    """A folder of one's own with all that; it is the present one."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


MISUSED = [
    "nonsense",
    *(f"{command} --nonsense" for command in COMMANDS),
    # a file, a folder or a name that is not there
    "fit absent.csv",
    "fit folder --target absent",
    "fit folder --target absent --memory 2GB",
    "path absent.csv",
    "race absent.csv",
    "convert absent.csv new",
    "predict m.npz absent.csv",
    "predict absent.npz t.csv",
    "fit absent.csv other.csv --workers 1",
    "fit t.csv --model group-lasso --groups absent",
    "reproduce 3a --data absent.svm",
    "reproduce --only-publish",
    "fit t.csv --out absent/m2.npz",
    "predict m.npz t.csv --out absent/p.csv",
    "path t.csv --out absent/path",
    "race t.csv --out absent/race",
    "convert t.csv absent/new",
    "demo --out absent/demo",
    "reproduce 4 --out absent/runs",
    "fit t.csv --target absent",
    "fit t.csv --without absent",
    "path t.csv --target absent",
    "race t.csv --without absent",
    "convert t.csv new --target absent",
    "predict m.npz t.csv --target absent",
    # missing arguments
    "fit",
    "path",
    "race",
    "convert t.csv",
    "predict m.npz",
    # values that are not allowed
    "fit t.csv --alpha -1",
    "fit t.csv --alpha much",
    "fit t.csv --tol -1",
    "fit t.csv --cv 1",
    "fit t.csv --cv 21",
    "fit t.csv --max-iter 0",
    "fit t.csv --model elastic-net --l1-ratio 2",
    "fit t.csv --model huber --epsilon 0.5",
    "fit t.csv --model logistic --C -1",
    "fit t.csv --model svm --C 0",
    "fit t.csv --model absent",
    "fit t.csv --sep ::",
    "fit t.csv --decimal ;",
    "fit t.csv --impute some",
    "fit t.csv --levels 0",
    "fit folder --memory much",
    "fit t.csv --workers 0",
    "fit noext",
    "path t.csv --points 1",
    "path t.csv --eps 2",
    "path t.csv --tol -1",
    "path t.csv --tol nan",
    "path t.csv --eps nan",
    "fit t.csv --alpha nan",
    "race t.csv --accuracy nan",
    "path t.csv --sep ::",
    "race t.csv --strength some",
    "race t.csv --strength max/0",
    "race t.csv --problem ridge --strength max/20",
    "race t.csv --accuracy 2",
    "race t.csv --epochs 0",
    "race t.csv --rule absent",
    "race t.csv --rule block(length=2)",
    "race t.csv --oracle norm(",
    "race t.csv --step local(1,2,3)",
    "convert t.csv new --memory much",
    "convert t.csv new --sep ::",
    "convert m.npz new",
    "predict m.npz t.csv --sep ::",
    "predict m.npz noext",
    "demo --epochs 0",
    "reproduce 9",
    "reproduce 4 --jobs 0",
    # what would be overwritten
    "fit t.csv --out m.npz",
    "fit t.csv --out t.csv --force",
    "fit t.csv --out folder",
    "predict m.npz t.csv --out t.csv",
    "predict m.npz t.csv --out m.npz --force",
    "convert t.csv folder",
    "path t.csv --out t.csv",
    "race t.csv --out t.csv",
    "demo --out t.csv",
    # what does not go together
    "fit t.csv --alpha 1 --cv 3",
    "fit t.csv --C 1",
    "fit t.csv --drop --impute mean",
    "fit t.csv --target a --target b",
    "fit t.csv gap.csv",
    "fit t.csv --memory 2GB",
    "fit folder --explain",
    "fit t.csv --workers 1 --drop",
    "fit t.csv --workers 1 --scheduler tcp://nowhere:1",
    "path t.csv --l1-ratio 0.5",
    "race folder",
    "race t.csv --rule uniform --oracle exact",
    "predict m.npz folder",
    "predict m.npz t.csv --force",
    "convert folder new",
    "reproduce 4 --only-publish",
]

FAILING = [
    "fit gap.csv --out n.npz",
    "path gap.csv",
    "race gap.csv",
    "convert gap.csv new",
    "predict m.npz gap.csv",
    *(f"{command} ragged.csv" for command in ("fit", "path", "race", "predict m.npz")),
    *(f"{command} empty.csv" for command in ("fit", "path", "race", "predict m.npz")),
    "convert ragged.csv new",
    "convert empty.csv new",
    "predict other.npz t.csv",
    "predict m.npz t.csv --probabilities",
    "fit other.npz --out n.npz",
    "fit same.csv --out n.npz",
    "fit same.csv --model logistic --out n.npz",
    "fit t.csv --model logistic --out n.npz",
    "fit t.csv --model group-lasso --groups badgroups --out n.npz",
    "path t.csv --model logistic",
    "race t.csv --problem svm",
]


@pytest.mark.parametrize("line", MISUSED)
def test_what_is_wrong_with_the_command_is_2(capsys, place, line):
    refused(capsys, place, line, USAGE)


@pytest.mark.parametrize("line", FAILING)
def test_what_is_wrong_with_the_data_is_1(capsys, place, line):
    refused(capsys, place, line, ERROR)


def refused(capsys, place, line, expected):
    before = sorted(path.relative_to(place) for path in place.rglob("*"))
    code, out, error = run(capsys, *line.split())
    assert (code, out) == (expected, ""), error
    assert "error: " in error
    assert error.count("\n") == 1
    assert sorted(path.relative_to(place) for path in place.rglob("*")) == before


def test_a_thread_that_is_half_started_does_not_change_the_code():
    half_started = "threading.enumerate = lambda: [threading.main_thread(), threading.Thread()]"
    code = f"import threading; from ascd.cli.interrupts import leave; {half_started}; leave(143)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (143, "")
