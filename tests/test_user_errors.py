"""Mistakes in parts of one's own end with an error that names class, method and line, compiled or not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compilations import compilations_of
from user_parts import broken_parts
from user_parts.broken_parts import BlockNans, Counted, Shrinking, Signed, Slopeless, Told, Typo, Undefined, Wild

import ascd
from ascd._core.jit import debugging
from ascd.engine.descent import descend

D, N = 12, 5
RNG = np.random.default_rng(4)
A, B = RNG.standard_normal((D, N)), RNG.standard_normal(D)
with debugging(True):  # nothing is compiled while tests are collected
    PROBLEM = ascd.Problem(A, B, penalty=ascd.L1(0.1))


def line_of(name):
    """Where the line marked with a name stands."""
    lines = Path(broken_parts.__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {name}"))


# ------------------------------------------------------------------------------------------ wrong answers

PICKS = [(Wild(N), N, 0), (Wild(-1), -1, 0), (Wild(10**9, 7), 10**9, 7), (Wild(np.nan), np.nan, 0), (Wild(1.5), 1.5, 0)]


@pytest.mark.parametrize(("rule", "pick", "step"), [*PICKS, (Counted(N), N, 0), (Counted(-3), -3, 0)])
def test_a_pick_that_does_not_exist(rule, pick, step):
    name = type(rule).__name__
    with pytest.raises(IndexError) as caught:
        ascd.minimize(PROBLEM, rule=rule, rng=0)
    assert str(caught.value) == f"rule {name}: select returned {pick:g} in step {step}; it must return one of 0 .. 4"


@pytest.mark.parametrize("oracle", [Shrinking(1e6), ascd.Cached(fallback=Shrinking(1e6)), Shrinking(np.nan)])
def test_an_oracle_with_negative_radii(oracle):
    with pytest.raises(ValueError, match=r"oracle Shrinking: after step \d+ coordinate 0 .* must not be negative"):
        ascd.minimize(PROBLEM, rule="uniform", oracle=oracle, rng=0)


@pytest.mark.parametrize("rule", ["working-set", "ascd", "uniform"])
def test_a_steepness_that_is_no_number_proves_nothing(rule):
    solution = ascd.minimize(PROBLEM, rule, steepness=Told((np.nan, np.nan)), max_iter=20, rng=0)
    assert solution.status is ascd.Status.ITERATION_LIMIT
    assert solution.steepness == np.inf


@pytest.mark.parametrize("rule", ["working-set", "a-ascd", "cyclic"])
@pytest.mark.parametrize(("loss", "penalty"), [(Slopeless(), ascd.L1(0.1)), ("squared", Signed(0.1))])
@pytest.mark.parametrize("steepness", ["gs-s", "gsl-q"])
def test_slopes_that_are_no_numbers_prove_nothing(loss, penalty, steepness, rule):
    """Such a run once was "stationary" where it began."""
    problem = ascd.Problem(A, B, loss, penalty)
    solution = ascd.minimize(problem, rule, steepness=steepness, max_iter=40, rng=0)
    assert not solution.status.is_answer or solution.converged
    assert solution.gap >= solution.objective - ascd.solve(PROBLEM, tol=1e-12).objective - 1e-12
    assert not ascd.solve(problem, max_iter=30).status.is_answer


@pytest.mark.parametrize("wrong", ["in_prox", "in_distance", "in_conjugate"])
def test_answers_of_block_penalties_that_are_no_numbers_prove_nothing(wrong):
    """A conjugate of nan once counted as 0, a distance of nan as "stationary"; a prox of nan was the oracle's fault."""
    problem = ascd.Problem(A, B, penalty=BlockNans(**{wrong: np.nan}), groups=1)
    solution = ascd.solve(problem, max_iter=30)
    assert not solution.converged
    assert not np.isnan([solution.objective, solution.gap]).any()
    if wrong == "in_conjugate":
        assert solution.gap == np.inf
    else:
        assert not solution.status.is_answer


# -------------------------------------------------------------------------------------------- debug mode


def place_of(caught):
    """Function, file and line where an error was raised."""
    last = caught.traceback[-1]
    return last.name, Path(str(last.path)).name, last.lineno + 1


def test_debug_names_method_and_line(compiled):
    with pytest.raises(AttributeError, match="'DescentPoint' object has no attribute 'intervalls'") as caught:
        ascd.minimize(PROBLEM, rule=Typo(), debug=True)
    assert place_of(caught) == ("select", "broken_parts.py", line_of("Typo"))


def test_debug_compiles_nothing_and_agrees(compiled):
    """Also about picks that do not exist, of a rule whose picks were good before."""
    good = {"rule": Wild(0.0, 10**9), "tol": 1e-8}
    with compilations_of(descend) as compilations:
        plain = ascd.minimize(PROBLEM, **good, debug=True)
        assert compilations.kept == []
        fast = ascd.minimize(PROBLEM, **good)
        for rule in (Wild(float(N)), Wild(-1e12, 3)):
            words = f"rule Wild: select returned {rule.pick:g} in step {rule.since}; it must return one of 0 .. 4"
            for debug in (False, True):
                with pytest.raises(IndexError, match=re.escape(words)):
                    ascd.minimize(PROBLEM, rule=rule, rng=0, debug=debug)
        assert compilations.kept == [False]
    assert plain.n_iter == fast.n_iter
    assert plain.converged
    np.testing.assert_allclose(plain.x, fast.x, rtol=1e-10, atol=1e-14)


def test_the_documented_command_line_switch():
    code = (
        "import numpy as np, sys, ascd\n"
        "problem = ascd.Problem(np.eye(2), [1.0, 2.0], penalty=ascd.L1(0.5))\n"
        "print(ascd.minimize(problem).x.tolist(), 'numba' in sys.modules)\n"
    )
    source = str(Path(ascd.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "NUMBA_DISABLE_JIT": "0", "ASCD_DEBUG": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split("] ") == ["[0.5, 1.5", "False\n"]


# -------------------------------------------------------------------------------------- what numba refuses


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: ascd.minimize(PROBLEM, rule=Typo()), "Typo.select: Unknown attribute 'intervalls'"),
        (
            lambda: ascd.solve(ascd.Problem(A, B, penalty=Undefined(1.0))),
            "Undefined.prox: Unknown attribute 'strenght'",
        ),
    ],
)
def test_a_failed_compilation_names_class_method_and_line(use, words, compiled):
    with pytest.raises(TypeError) as caught:
        use()
    first = str(caught.value).split(".  ")[0]
    name = words.partition(".")[0]
    assert first == f"a part of your own could not be compiled: {words} (broken_parts.py, line {line_of(name)})"
    assert "debug=True" in str(caught.value)
