"""A second process that compiles: it is started on a cold machine only, waited for, and ended with the first one."""

from __future__ import annotations

import os
import stat

import pytest

from ascd._core.clock import Stopwatch
from ascd.experiments import warming


@pytest.fixture
def cold(monkeypatch, tmp_path):
    """A machine with two cores and no compiled code, whose Python notes that it was called."""

    def python(body):
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\necho $* > {tmp_path}/called\n{body}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(warming.sys, "executable", str(script))
        return tmp_path / "called"

    monkeypatch.setattr(warming, "is_cold", lambda: True)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return python


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the stand-in is a shell script")


def test_waiting_for_it_counts_as_compiling(cold):
    called = cold("sleep 0.3")
    clock = Stopwatch()
    with warming.compiled_beside() as wait:
        wait()
        assert clock.compile_seconds >= 0.2
    assert called.read_text() == "-m ascd.experiments.warming\n"


def test_it_ends_with_the_first_one(cold, monkeypatch):
    cold("exec sleep 600")
    started = []
    whole = warming.subprocess.Popen
    monkeypatch.setattr(
        warming.subprocess, "Popen", lambda *given, **how: started.append(whole(*given, **how)) or started[-1]
    )

    def interrupted():
        with warming.compiled_beside():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert started[0].poll() is not None


def test_nothing_is_started_where_it_is_of_no_use(cold, monkeypatch):
    called = cold("exit 0")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with warming.compiled_beside() as wait:
        wait()
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(warming, "is_cold", lambda: False)
    with warming.compiled_beside() as wait:
        wait()
    assert not called.exists()


def test_plain_python_is_never_cold(interpreted):
    assert not warming.is_cold()


def test_one_step_of_every_rule_is_taken(interpreted, monkeypatch):
    from ascd.engine import minimize as module
    from ascd.experiments import demo

    steps = []
    whole = module.minimize
    monkeypatch.setattr(
        module, "minimize", lambda *given, **how: steps.append((how["rule"], how["max_iter"])) or whole(*given, **how)
    )
    small = demo.synthetic_data(60, 80)
    monkeypatch.setattr(demo, "synthetic_data", lambda: small)
    warming.compile_rules()
    assert len(steps) == len(demo.METHODS)
    assert {count for _, count in steps} == {1}
