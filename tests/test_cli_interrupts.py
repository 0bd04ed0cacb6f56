"""Commands as processes: progress on a terminal; Ctrl-C gives code 130, SIGTERM 143, and nothing is half written."""

from __future__ import annotations

import os
import re
import signal
import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import TELLING, press_ctrl_c, run, start
from copies import LEAVE
from sklearn.datasets import dump_svmlight_file

from ascd.cli import INTERRUPTED, TERMINATED
from ascd.reproduction.datasets import make_text_like

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are sent as POSIX has them")
#: Seconds that a sleeping command would take, and that one that sleeps or computes is given to get into it.
LONG, A_MOMENT, A_WHILE = 300, 0.05, 0.25


def interrupted(folder, where, *arguments, after, **switches):
    """Standard error of a command that is interrupted some seconds after it called a function."""
    before = sorted(path.name for path in folder.iterdir())
    child = start(TELLING, where, *arguments, folder=folder, **switches)
    first = child.stdout.readline()
    if first != "running\n":
        pytest.fail(f"it did not get there: {first}{child.communicate()[1]}")
    time.sleep(after)
    code, _, error = press_ctrl_c(child)
    assert code == INTERRUPTED, error
    assert error.strip().endswith("ascd: interrupted")
    assert "Traceback" not in error
    assert sorted(path.name for path in folder.iterdir()) == before, "something half done is left"
    return error


@pytest.mark.parametrize(
    ("where", "arguments"),
    [
        ("ascd.estimators._solving:follow:0", ["fit", "text.svm", "--cv", 500, "--tol", 1e-13]),
        ("ascd.solver:path:0", ["path", "text.svm", "--points", 10**6, "--eps", 1e-9, "--tol", 1e-13]),
        ("ascd.cli.explain:_resampled:0", ["fit", "text.svm", "--alpha", 0.1, "--explain", "--resamples", 10**6]),
    ],
)
def test_a_command_that_computes_stops_at_once(tmp_path, where, arguments):
    made = make_text_like(1000, 2000, rng=0)
    rows = csr_matrix(made.A.tocsr())
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    dump_svmlight_file(rows, made.b, str(tmp_path / "text.svm"))
    interrupted(tmp_path, where, *arguments, after=A_WHILE)


@pytest.mark.parametrize(
    ("where", "arguments"),
    [
        ("ascd.cli.models:read_data", ["fit", "houses.csv"]),
        ("ascd.cli.models:read_data", ["path", "houses.csv"]),
        ("ascd.io.tables:label", ["convert", "houses.csv", "houses.parquet"]),
        ("ascd.cli.models:load", ["predict", "houses.csv", "houses.csv", "--out", "p.csv"]),
        ("ascd.reproduction.demo:fits", ["demo"]),
        ("ascd.cli.commands:facts", ["info"]),
        ("ascd.reproduction.panels:text_source", ["reproduce", "3a"]),
    ],
)
def test_a_command_that_waits_stops_at_once(tmp_path, houses, where, arguments):
    interrupted(tmp_path, f"{where}:{LONG}", *arguments, after=A_MOMENT)


def test_a_process_that_is_ended_or_killed_leaves_the_old_file(tmp_path, houses, capsys):
    arguments, out = ("convert", houses, tmp_path / "houses.parquet", "--force"), tmp_path / "houses.parquet"
    assert run(capsys, *arguments)[0] == 0
    before = sorted(path.name for path in tmp_path.iterdir()), out.read_bytes()
    for number in (signal.SIGTERM, signal.SIGKILL):
        child = start(TELLING, f"ascd.io.tables:label:{LONG}", *arguments, folder=tmp_path)
        assert child.stdout.readline() == "running\n"
        child.send_signal(number)
        _, error = child.communicate(timeout=120)
        if number == signal.SIGTERM:
            assert (child.returncode, error.strip()) == (TERMINATED, "ascd: terminated")
            assert (sorted(path.name for path in tmp_path.iterdir()), out.read_bytes()) == before
    assert out.read_bytes() == before[1]
    assert run(capsys, *arguments)[0] == 0


SLOW_RUNS = f"""
import sys, time
from ascd.reproduction import datasets, panels, reproduce

size = panels.Size(*map(int, sys.argv.pop(1).split("x")))
panels.PANELS = {{name: panel._replace(quick=size) for name, panel in panels.PANELS.items()}}
panels.SEARCH_SECONDS, datasets.GENERATED = {{"quick": 0.02}}, {{"quick": (40, 60)}}
measure, nap = reproduce.measure, float(sys.argv.pop(1))

def slow(*arguments):
    time.sleep(nap)
    return measure(*arguments)

reproduce.measure = slow
from ascd.cli import main
code = main()
{LEAVE.format("code")}
"""


#: Samples, features, epochs and seeds of every panel.
TINY = "12x15x2x2"


def stored(folder):
    return {path.name: path.stat().st_mtime_ns for path in (folder / "reproduction" / "quick" / "runs").glob("*.json")}


def test_an_interrupted_reproduction_goes_on_where_it_stopped_and_logs(tmp_path):
    command = ["reproduce", "2b", "--jobs", 1, "--no-pictures"]
    child = start(SLOW_RUNS, TINY, 0.3, *command, folder=tmp_path, NUMBA_DISABLE_JIT="1")
    lines = [child.stderr.readline() for _ in range(3)]
    assert lines[0] == "creating the folder reproduction/quick\n"
    assert all(re.match(r"\[ *\d+/\d+\] (lasso n = 15, .*|minimum)\n", one) for one in lines[1:])
    code, out, error = press_ctrl_c(child)
    assert (code, out) == (INTERRUPTED, "")
    kept = stored(tmp_path)
    assert len(kept) >= 2
    assert f"ascd: {len(kept)} finished runs are kept: the same command continues from there" in error
    again = start(SLOW_RUNS, TINY, 0.0, *command, folder=tmp_path, NUMBA_DISABLE_JIT="1")
    out, error = again.communicate(timeout=300)
    assert again.returncode == 0, error
    assert f"{len(kept)} of " in error.splitlines()[0]
    assert "runs are there already" in error.splitlines()[0]
    assert kept.items() <= stored(tmp_path).items(), "what was done is not done again"
    assert len(stored(tmp_path)) > len(kept)
