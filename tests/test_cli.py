"""The command line: what people and machines read, exit codes, errors in one line; models are in test_cli_models."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time

import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run, start  # noqa: E402

from ascd.cli import ERROR, INTERRUPTED, USAGE, main  # noqa: E402
from ascd.cli.app import COMMANDS  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")


def test_help_names_every_command_and_how_to_complete(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert all(name in out for name in COMMANDS)
    assert "_ASCD_COMPLETE" in out
    for name in COMMANDS:
        code, out, _ = run(capsys, name, "--help")
        assert code == 0
        assert "--json" in out


def test_a_wrong_command_gets_the_nearest_name_and_code_2(capsys):
    code, _, error = run(capsys, "rase")
    assert code == USAGE
    assert "Did you mean 'race'" in error


def test_errors_are_one_line_and_debug_shows_where(capsys, tmp_path):
    code, _, error = run(capsys, "race", tmp_path / "absent.csv")
    assert (code, error.count("\n")) == (USAGE, 1)
    assert "no such file" in error
    with pytest.raises(FileNotFoundError):
        main(["race", str(tmp_path / "absent.csv"), "--debug"])


def test_info_for_machines(capsys):
    code, out, _ = run(capsys, "info", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["threads"]["processors"] >= 1
    assert "numba" in found["versions"]


def test_race_runs_every_combination_once_and_writes_its_files(capsys, houses, tmp_path):
    arguments = ["--rule", "uniform", "--rule", "ascd", "--oracle", "norm", "--oracle", "simulated(0.1)", "--epochs", 3]
    code, out, _ = run(capsys, "race", houses, *arguments, "--out", tmp_path / "r", "--json")
    found = json.loads(out)
    assert code == 0
    assert list(found["runs"]) == ["uniform", "ascd norm", "ascd simulated(0.1)"]
    assert all(0.0 <= one["suboptimality"] <= 1.0 for one in found["runs"].values())
    assert {"race.html", "race.json"} <= {path.name for path in (tmp_path / "r").iterdir()}


def test_race_refuses_unknown_parts_before_reading(capsys, houses):
    code, _, error = run(capsys, "race", houses, "--oracle", "simulatd(1)")
    assert code == USAGE
    assert "Did you mean 'simulated'" in error


def test_reproduce_makes_report_and_claims(capsys, tmp_path):
    code, out, _ = run(capsys, "reproduce", "4", "1", "--out", tmp_path, "--jobs", 1, "--no-pictures", "--json")
    found = json.loads(out)
    assert code == 0
    assert {claim["verdict"] for claim in found["claims"] if claim["where"].startswith("Fig. 4")} == {"holds"}
    assert (tmp_path / "quick" / "report.html").exists()
    code, out, _ = run(capsys, "reproduce", "--out", tmp_path, "--only-publish", "--no-pictures")
    assert code == 0
    assert "report.html" in out


def test_reproduce_refuses_unknown_figures(capsys, tmp_path):
    code, _, error = run(capsys, "reproduce", "9", "--out", tmp_path)
    assert code == USAGE
    assert "unknown figure '9'" in error


def test_completion_of_parts_and_figures():
    from ascd.cli.options import Named
    from ascd.cli.reproduce import Figure

    rules = [item.value for item in Named("rule").shell_complete(None, None, "a")]
    assert rules == ["ascd", "a-ascd", "adaptive", "working-set"]
    assert [item.value for item in Figure().shell_complete(None, None, "2")] == ["2", "2a", "2b", "2c", "2d"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["race", "x.csv", "--rule", "ascdd"], "unknown rule 'ascdd'. Did you mean 'ascd'"),
        (["fit", "x.csv", "--model", "laso"], "'laso' is not one of 'lasso'"),
        (["path", "x.csv", "--eps", "2"], "2.0 is not in the range 0<x<1"),
        (["reproduce", "2z"], "unknown figure '2z'. Did you mean '2'"),
    ],
)
def test_wrong_usage_is_one_line_with_code_2(capsys, arguments, told):
    code, out, error = run(capsys, *arguments)
    assert code == USAGE
    assert out == ""
    assert told in error
    assert error.startswith(f"ascd {arguments[0]}: error: ")
    assert error.count("\n") == 1


def test_data_that_cannot_be_used_are_told_in_one_line(capsys, houses, tmp_path):
    text = houses.read_text().splitlines()
    hole, words = tmp_path / "hole.csv", tmp_path / "words.csv"
    hole.write_text("\n".join([text[0], "1,,3,4,5,6,7", *text[2:]]))
    words.write_text("a,b,kind\n1,2,yes\n3,4,no\n")
    for arguments, told in (
        (["fit", hole], "1 missing or infinite value, the first in feature 'b', row 1: --drop leaves"),
        (["race", hole], "1 missing or infinite value, the first in feature 'b', row 1: --drop leaves"),
        (["path", words], "the target 'kind' must be numbers here, its first value is 'yes'"),
        (["fit", words, "--out", tmp_path / "m.npz"], "classes need logistic or svm"),
    ):
        code, out, error = run(capsys, *arguments)
        assert (code, out) == (ERROR, "")
        assert told in error
        assert error.count("\n") == 1
    assert not (tmp_path / "m.npz").exists()


def test_an_interrupt_that_compiled_code_swallows_is_repeated(monkeypatch, capsys):
    """LLVM's callbacks drop exceptions; the hook for these brings the interrupt back."""
    from ascd.cli import info
    from ascd.cli.interrupts import Stopped

    def swallowing():
        sys.unraisablehook(type("Report", (), {"exc_value": Stopped()})())
        for _ in range(500):  # what is repeated is heard between two bytecodes
            time.sleep(0.01)

    monkeypatch.setattr(info, "facts", swallowing)
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    code, _, error = run(capsys, "info")
    assert code == INTERRUPTED
    assert error == "ascd: interrupted\n"
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before
    assert threading.active_count() == 1 or all(not isinstance(one, threading.Timer) for one in threading.enumerate())


def test_output_that_knows_few_letters(houses, tmp_path):
    houses.write_text(houses.read_text(encoding="utf-8").replace("a,", "größe≤,", 1), encoding="utf-8")
    script = """
import sys
from ascd.cli import main
sys.stdout = open(1, "w", encoding="ascii", closefd=False)  # as PYTHONIOENCODING=ascii has it
sys.exit(main())
"""
    arguments = ("fit", houses, "--alpha", 0.01, "--out", "m.npz")
    child = start(script, *arguments, folder=tmp_path, NUMBA_DISABLE_JIT="1")
    out, error = child.communicate(timeout=120)
    assert (child.returncode, error) == (0, "")
    assert "\\u2264" in out
