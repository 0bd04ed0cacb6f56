"""What continuous integration runs: it installs a browser where it may, and says what was skipped and why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1] / ".ci"
pytestmark = pytest.mark.skipif(not CI.is_dir(), reason="only the repository has continuous integration")

TESTS = """
import os
import pytest

def test_always():
    pass

@pytest.mark.skipif("SWITCH" not in os.environ, reason="the switch is off")
def test_with_the_switch():
    pass

def test_never():
    pytest.skip("no moon tonight")
"""


def report(folder, name, **switches):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={name}", "test_it.py"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **switches}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


def test_what_no_run_has_run_is_printed_with_its_reason(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    report(tmp_path, "plain.xml")
    report(tmp_path, "switched.xml", SWITCH="1")
    script = [sys.executable, str(CI / "skipped.py")]
    one = subprocess.run([*script, "plain.xml"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert one.splitlines()[0] == "ci: 1 tests ran, 2 were skipped:"
    assert "the switch is off" in one
    both = [*script, "plain.xml", "switched.xml", "absent.xml"]
    out = subprocess.run(both, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == ["ci: 2 tests ran, 1 were skipped:", "ci:      1  no moon tonight"]
    assert subprocess.run([*script, "absent.xml"], cwd=tmp_path, capture_output=True).returncode == 1


@pytest.fixture
def machine(tmp_path):
    """A machine with nothing but a shell, a make that writes down what it is asked for, and what a test adds."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "mktemp", "rm", "cat"):
        (tools / name).symlink_to(shutil.which(name))
    log = tmp_path / "log"

    def install(name, body="exit 0"):
        path = tools / name
        path.write_text(f'#!{shutil.which("bash")}\necho "{name} $*" >> {log}\n{body}\n')
        path.chmod(0o755)

    def run():
        log.write_text("")
        environment = {"PATH": str(tools), "TMPDIR": str(tmp_path)}
        ended = subprocess.run([str(tools / "bash"), str(CI / "run")], env=environment, capture_output=True, text=True)
        return ended.returncode, ended.stdout, log.read_text().splitlines()

    install("make")
    return install, run


pytestmark = [pytestmark, pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")]


def test_the_suite_and_the_array_api_checks_are_run_and_summed_up(machine):
    _, run = machine
    code, out, log = run()
    assert code == 0
    assert "no apt-get to install one: the pages' tests will be skipped" in out
    assert [line.split()[1] for line in log] == ["test", "test-array-api", "skipped"]
    written = [line.split("--junitxml=")[1] for line in log[:2]]
    assert log[2].split("REPORTS=")[1].split() == written


def test_a_failure_is_not_forgotten_by_what_comes_after_it(machine):
    install, run = machine
    install("make", '[ "$1" = test ] && exit 7\nexit 0')
    code, _, log = run()
    assert (code, len(log)) == (7, 3)
