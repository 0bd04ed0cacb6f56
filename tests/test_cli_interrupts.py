"""Commands as processes: progress on a terminal; Ctrl-C gives code 130, SIGTERM 143, and nothing is half written."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import TELLING, on_a_terminal, press_ctrl_c, run, start, start_afresh
from copies import LEAVE, OTHERS, Copy, can_copy
from sklearn.datasets import dump_svmlight_file

import ascd
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
        ("ascd.estimators._folds:follow:0", ["fit", "text.svm", "--cv", 500, "--tol", 1e-13]),
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
        ("ascd.cli.fit:read_data", ["fit", "houses.csv"]),
        ("ascd.cli.path:read_data", ["path", "houses.csv"]),
        ("ascd.io.tables:label", ["convert", "houses.csv", "houses.parquet"]),
        ("ascd.cli.predict:load", ["predict", "model.npz", "houses.csv", "--out", "p.csv"]),
        ("ascd.reproduction.demo:fits", ["demo"]),
        ("ascd.cli.commands:facts", ["info"]),
        ("ascd.reproduction.reproduce:text_source", ["reproduce", "3a"]),
    ],
)
def test_a_command_that_waits_stops_at_once(tmp_path, houses, where, arguments):
    interrupted(tmp_path, f"{where}:{LONG}", *arguments, after=A_MOMENT)


#: A command that sleeps while it imports a module.
IMPORTING = """
import sys, time

wanted = sys.argv.pop(1)

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            print("running", flush=True)
            time.sleep(300)

sys.meta_path.insert(0, Slow())
from ascd.cli import main
sys.exit(main())
"""


def importing(module, folder):
    """What takes a second to import before the module is there already, where processes can be copied."""
    if module not in ("numba", "pandas") or not can_copy:
        return start_afresh(IMPORTING, module, "fit", "houses.csv", folder=folder)
    without = f"import sys\ndel sys.modules[{module!r}]\n{IMPORTING}"
    search = {"PYTHONPATH": str(Path(ascd.__file__).parents[1])}
    return Copy(without, [module, "fit", "houses.csv"], folder, {**os.environ, **search}, OTHERS)


@pytest.mark.parametrize("module", ["click", "ascd.cli.fit", "numba", "pandas"])
def test_a_command_that_is_still_importing_stops_in_one_line(tmp_path, houses, module):
    child = importing(module, tmp_path)
    assert "running\n" in iter(child.stdout.readline, ""), "it did not get there"
    code, out, error = press_ctrl_c(child)
    assert (code, out, error.strip()) == (INTERRUPTED, "", "ascd: interrupted")


SWALLOWING = """
import sys, time
from ascd.cli import commands, main

def swallowing():
    sys.unraisablehook(type("Report", (), {"exc_value": KeyboardInterrupt()})())
    for _ in range(500):  # the repetition arrives between two bytecodes
        time.sleep(0.01)

commands.facts = swallowing
sys.exit(main())
"""


def test_an_interrupt_that_compiled_code_swallows_is_repeated(tmp_path):
    """LLVM's callbacks drop exceptions; Python's hook for these repeats the interrupt."""
    child = start(SWALLOWING, "info", folder=tmp_path)
    _, error = child.communicate(timeout=120)
    assert (child.returncode, error.strip()) == (INTERRUPTED, "ascd: interrupted")


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


def test_later_figures_join_those_that_are_there(tmp_path):
    def index_after(*figures):
        child = start(
            SLOW_RUNS, TINY, 0.0, "reproduce", *figures, "--jobs", 1, "--no-pictures",
            folder=tmp_path, NUMBA_DISABLE_JIT="1",
        )  # fmt: skip
        _, error = child.communicate(timeout=300)
        assert child.returncode == 0, error
        folder = tmp_path / "reproduction" / "quick"
        page = (folder / "report.html").read_text()
        index = json.loads((folder / "results.json").read_text())["index"]
        assert all(f'id="chart-{name}"' in page for name in index)
        return list(index)

    assert index_after("2b") == ["2b"]
    assert index_after("3d", "2a") == ["2a", "2b", "3d"], "what was there is not lost, and keeps its place"


def test_workers_of_a_reproduction_end_with_it(tmp_path):
    """Many runs, each a moment long for the workers, who are processes of their own: the first is soon stored."""
    child = start(
        SLOW_RUNS, "16x20x8x4", 0.0, "reproduce", "2", "--jobs", 2, folder=tmp_path, NUMBA_DISABLE_JIT="1",
    )  # fmt: skip
    while not stored(tmp_path) and child.poll() is None:
        time.sleep(0.02)
    code, out, error = press_ctrl_c(child)
    assert (code, out) == (INTERRUPTED, "")
    assert "the same command continues from there" in error
    for path in (tmp_path / "reproduction" / "quick" / "runs").glob("*.json"):
        assert json.loads(path.read_text())["result"]
    assert is_soon_gone(child.pid)


def is_soon_gone(group):
    """Does the last process of a group end within ten seconds?"""
    for _ in range(500):
        if not lives(group):
            return True
        time.sleep(0.02)
    return False


def lives(group):
    """Does a process of the group live?  Those that have ended may be listed until somebody asks for their codes."""
    if not can_copy:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        return True
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, number = path.read_text().rpartition(")")[2].split()[:3]
            if int(number) == group and state not in "ZX":
                return True
    return False


@pytest.mark.parametrize("arguments", [["fit", "houses.csv", "--cv", "2"], ["path", "houses.csv", "--points", "30"]])
def test_a_terminal_shows_progress_with_the_time_that_is_left(tmp_path, houses, arguments):
    code, shown = on_a_terminal(*arguments, folder=tmp_path)
    assert code == 0, shown
    assert re.search(r"\d+%", shown)
    assert re.search(r"\d:\d\d:\d\d|-:--:--", shown), "the time that is left"


def test_a_fit_from_a_disk_shows_passes_and_gap(tmp_path, houses, capsys):
    assert run(capsys, "convert", houses, tmp_path / "houses.parquet", "--target", "price")[0] == 0
    code, shown = on_a_terminal("fit", "houses.parquet", "--memory", "2MB", "--tol", "1e-9", folder=tmp_path)
    assert code == 0, shown
    assert re.search(r"fitting lasso: [\d.]+ times the data read, (gap [\d.e+-]+|no gap known yet)", shown)
