"""Bad input of ``solve`` is refused before any work, with the argument, the value and what is allowed."""

from __future__ import annotations

import numpy as np
import pytest

import ascd

NAN, INF = float("nan"), float("inf")
A, B = np.random.default_rng(0).standard_normal((6, 3)), np.arange(6.0)

BAD = {
    "negative tol": ({"tol": -1e-3}, ValueError, ["tol must be in [0", "-0.001"]),
    "nan tol": ({"tol": NAN}, ValueError, ["tol", "nan"]),
    "string tol": ({"tol": "1e-3"}, TypeError, ["tol must be a number", "'1e-3'"]),
    "negative max_iter": ({"max_iter": -1}, ValueError, ["max_iter must be at least 0", "-1"]),
    "float max_iter": ({"max_iter": 1.5}, TypeError, ["max_iter must be an integer", "1.5"]),
    "bool max_iter": ({"max_iter": True}, TypeError, ["max_iter must be an integer", "True"]),
    "negative max_time": ({"max_time": -1.0}, ValueError, ["max_time must be in [0", "-1.0"]),
    "string max_time": ({"max_time": "1s"}, TypeError, ["max_time must be a number", "'1s'"]),
    "short x0": ({"x0": [0.0, 1.0]}, ValueError, ["x0 must have length 3", "got 2"]),
    "2-D x0": ({"x0": np.zeros((3, 1))}, ValueError, ["x0 must be one-dimensional", "(3, 1)"]),
    "nan x0": ({"x0": [0.0, NAN, 1.0]}, ValueError, ["x0 must be finite", "nan"]),
    "string x0": ({"x0": list("abc")}, TypeError, ["x0 must hold real numbers"]),
    "nan intercept0": ({"intercept0": NAN, "intercept": True}, ValueError, ["intercept0 must be in", "nan"]),
    "inf intercept0": ({"intercept0": INF, "intercept": True}, ValueError, ["intercept0 must be in", "inf"]),
    "string intercept0": ({"intercept0": "a"}, TypeError, ["intercept0 must be a number", "'a'"]),
    "intercept0 alone": ({"intercept0": 2.0}, ValueError, ["intercept0", "intercept=False", "2.0"]),
    "n_jobs 0": (
        {"n_jobs": 0},
        ValueError,
        ["n_jobs must be None, a positive integer, or a negative one (-1", "got 0"],
    ),
    "n_jobs 1.5": ({"n_jobs": 1.5}, TypeError, ["n_jobs must be None, a positive integer", "1.5"]),
    "n_jobs string": ({"n_jobs": "2"}, TypeError, ["n_jobs must be None, a positive integer", "'2'"]),
    "n_jobs bool": ({"n_jobs": True}, TypeError, ["n_jobs must be None, a positive integer", "True"]),
    "callback": ({"callback": 3}, TypeError, ["callback must be a function of a Snapshot", "got 3"]),
    "intercept": ({"intercept": "no"}, TypeError, ["intercept must be True or False", "got 'no'"]),
    "progress": ({"progress": "no"}, TypeError, ["progress must be True or False", "got 'no'"]),
}


@pytest.mark.parametrize(("options", "error", "words"), BAD.values(), ids=BAD)
def test_bad_options_are_refused_before_any_work(options, error, words, monkeypatch):
    problem = ascd.Problem(A, B, penalty=ascd.L1(0.1))
    monkeypatch.setattr("ascd.solver.loop.Solver.minimise", lambda *_: pytest.fail("work was done before the error"))
    with pytest.raises(error) as caught:
        ascd.solve(problem, **options)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("flag", ["intercept", "early_stop", "progress"])
def test_flags_of_paths_are_true_or_false(flag):
    with pytest.raises(TypeError, match=f"{flag} must be True or False; got 'no'"):
        ascd.path(ascd.Problem(A, B, penalty=ascd.L1(0.1)), **{flag: "no"})


@pytest.mark.parametrize("run", [ascd.solve, ascd.path])
@pytest.mark.parametrize("flag", ["intercept", "progress"])
def test_flags_of_block_problems_are_true_or_false(run, flag):
    with pytest.raises(TypeError, match=f"{flag} must be True or False; got 'no'"):
        run(ascd.Problem(A, B, penalty=ascd.L21(0.1)), **{flag: "no"})


def test_a_start_outside_the_box_is_refused():
    with pytest.raises(ValueError, match=r"x0 must have a finite objective \(lie inside the box"):
        ascd.solve(ascd.Problem(A, B, penalty=ascd.Box(0.0, 1.0)), x0=[0.5, 2.0, 0.5])


def test_only_problems_are_solved():
    with pytest.raises(TypeError, match=r"problem must be an ascd\.Problem; got ndarray"):
        ascd.solve(A)


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match="b must not be negative for the poisson loss; the smallest entry is -1"):
        ascd.Problem(A, B - 1.0, "poisson")


def test_the_engine_sends_losses_without_a_curvature_bound_to_solve():
    with pytest.raises(ValueError, match=r"(?s)Poisson.*solve"):
        ascd.minimize(ascd.Problem(A, B, "poisson", ascd.L1(0.1)))


@pytest.mark.usefixtures("interpreted")
def test_the_input_is_not_changed():
    design, target, start, weights = A.copy(), B.copy(), np.zeros(3), np.ones(6)
    for array in (design, target, start, weights):
        array.flags.writeable = False
    problem = ascd.Problem(design, target, penalty=ascd.L1(0.1), sample_weight=weights)
    solution = ascd.solve(problem, tol=1e-10, x0=start, intercept=True, n_jobs=-1)
    assert solution.x.any()
    assert not start.any()


@pytest.mark.usefixtures("interpreted")
def test_a_progress_bar_is_shown_on_request(capsys):
    pytest.importorskip("rich", reason="rich is not installed (extra 'cli')")
    assert ascd.solve(ascd.Problem(A, B, penalty=ascd.L1(0.1)), progress=True).converged
