"""Bad input: the error names the argument, what was given and what is allowed, and comes before any work."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import sparse

import ascd
from ascd._core.checks import check_places
from ascd.matrix import costs
from ascd.results import Status

A = np.arange(1.0, 13.0).reshape(4, 3) ** 0.5
B, SIGNS = np.array([1.0, -2.0, 0.5, 3.0]), np.array([1.0, -1.0, 1.0, 1.0])
NAN, INF = math.nan, math.inf


def with_entry(array, value):
    changed = np.array(array, dtype=float)
    changed.flat[1] = value
    return changed


PROBLEMS = {
    "nan in A": ({"A": with_entry(A, NAN)}, ValueError, ["A must be finite", "1 nan or inf", "nan"]),
    "inf in A": ({"A": with_entry(A, -INF)}, ValueError, ["A must be finite", "-inf"]),
    "inf and -inf in A": ({"A": with_entry(with_entry(A, INF)[::-1], -INF)}, ValueError, ["A must be finite", "2"]),
    "nan in sparse A": ({"A": sparse.csr_array(with_entry(A, NAN))}, ValueError, ["A must be finite", "nan"]),
    "1-D A": ({"A": A[0]}, ValueError, ["A must be two-dimensional", "(3,)"]),
    "3-D A": ({"A": A[None]}, ValueError, ["A must be two-dimensional", "(1, 4, 3)"]),
    "no samples": ({"A": A[:0]}, ValueError, ["A", "at least one sample", "(0, 3)"]),
    "no features": ({"A": A[:, :0]}, ValueError, ["A", "one feature", "(4, 0)"]),
    "empty sparse A": ({"A": sparse.csc_array((4, 0))}, ValueError, ["A", "one feature", "(4, 0)"]),
    "complex A": ({"A": A + 1j}, TypeError, ["A must hold real numbers", "complex128"]),
    "complex sparse A": ({"A": sparse.csc_array(A + 1j)}, TypeError, ["A must hold real numbers", "complex128"]),
    "object A": ({"A": A.astype(object)}, TypeError, ["A must hold real numbers", "object"]),
    "string A": ({"A": A.astype(str)}, TypeError, ["A must hold real numbers", "<U"]),
    "None A": ({"A": None}, TypeError, ["A must hold real numbers", "object"]),
    "nan in b": ({"b": with_entry(B, NAN)}, ValueError, ["b must be finite", "nan"]),
    "inf in b": ({"b": with_entry(B, INF)}, ValueError, ["b must be finite", "inf"]),
    "short b": ({"b": B[:3]}, ValueError, ["b must have length 4", "got 3"]),
    "3-D b": ({"b": B[:, None, None]}, ValueError, ["b must have the shape (4,) or (4, n_outputs)", "(4, 1, 1)"]),
    "complex b": ({"b": B + 1j}, TypeError, ["b must hold real numbers", "complex128"]),
    "string b": ({"b": list("abcd")}, TypeError, ["b must hold real numbers", "<U1"]),
    "labels 0 and 1": ({"b": SIGNS > 0, "loss": "logistic"}, ValueError, ["b must hold labels -1 and +1", "got 0"]),
    "nan weight": ({"sample_weight": with_entry(B**2, NAN)}, ValueError, ["sample_weight must be finite", "nan"]),
    "inf weight": ({"sample_weight": with_entry(B**2, INF)}, ValueError, ["sample_weight must be finite", "inf"]),
    "negative weight": ({"sample_weight": B}, ValueError, ["sample_weight must be at least 0", "-2"]),
    "short weights": ({"sample_weight": B[:2]}, ValueError, ["sample_weight must have length 4", "got 2"]),
    "one weight": ({"sample_weight": 2.0}, ValueError, ["sample_weight must be one-dimensional", "2.0"]),
    "string weights": ({"sample_weight": list("abcd")}, TypeError, ["sample_weight must hold real numbers"]),
    "penalty length": ({"penalty": ascd.L1([1.0, 2.0])}, ValueError, ["penalty l1 must have length 3", "got 2"]),
    "unknown loss": ({"loss": "logistics"}, ValueError, ["loss 'logistics'", "mean 'logistic'", "squared_hinge"]),
    "loss of wrong type": ({"loss": 1}, TypeError, ["loss", "got 1", "derivative"]),
    "overflow": ({"A": with_entry(A, 1e200)}, ValueError, ["A has columns whose norm is above 1e+60"]),
}


@pytest.mark.parametrize(("change", "error", "words"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_bad_problem_is_refused(change, error, words):
    with np.errstate(over="ignore"), pytest.raises(error) as caught:
        ascd.Problem(**{"A": A, "b": B, **change})
    assert all(word in str(caught.value) for word in words), str(caught.value)


#: Options of ``minimize`` and ``solve``.
OPTIONS = {
    "negative tol": ({"tol": -1e-3}, ValueError, ["tol must be in [0", "-0.001"]),
    "nan tol": ({"tol": NAN}, ValueError, ["tol", "nan"]),
    "string tol": ({"tol": "1e-3"}, TypeError, ["tol must be a number", "'1e-3'"]),
    "negative max_iter": ({"max_iter": -1}, ValueError, ["max_iter must be at least 0", "-1"]),
    "float max_iter": ({"max_iter": 10.5}, TypeError, ["max_iter must be an integer", "10.5"]),
    "bool max_iter": ({"max_iter": True}, TypeError, ["max_iter must be an integer", "True"]),
    "negative max_time": ({"max_time": -1.0}, ValueError, ["max_time must be in [0", "-1.0"]),
    "string max_time": ({"max_time": "1s"}, TypeError, ["max_time must be a number", "'1s'"]),
    "short x0": ({"x0": [0.0, 1.0]}, ValueError, ["x0 must have length 3", "2"]),
    "nan x0": ({"x0": [0.0, NAN, 1.0]}, ValueError, ["x0 must be finite", "nan"]),
    "2-D x0": ({"x0": np.zeros((3, 1))}, ValueError, ["x0 must", "(3, 1)"]),
    "callback": ({"callback": 3}, TypeError, ["callback", "3"]),
    "intercept": ({"intercept": "no"}, TypeError, ["intercept must be True or False", "got 'no'"]),
    "progress": ({"progress": 2}, TypeError, ["progress must be True or False", "got 2"]),
}
#: Of ``solve`` alone.
SOLVES = {
    "string x0": ({"x0": list("abc")}, TypeError, ["x0 must hold real numbers"]),
    "nan intercept0": ({"intercept0": NAN, "intercept": True}, ValueError, ["intercept0 must be in", "nan"]),
    "string intercept0": ({"intercept0": "a"}, TypeError, ["intercept0 must be a number", "'a'"]),
    "intercept0 alone": ({"intercept0": 2.0}, ValueError, ["intercept0", "intercept=False", "2.0"]),
    "n_jobs 0": ({"n_jobs": 0}, ValueError, ["n_jobs must be None, a positive integer, or a negative one", "got 0"]),
    "n_jobs 1.5": ({"n_jobs": 1.5}, TypeError, ["n_jobs must be None, a positive integer", "1.5"]),
    "n_jobs bool": ({"n_jobs": True}, TypeError, ["n_jobs must be None, a positive integer", "True"]),
}
#: Of ``minimize`` alone.
RUNS = {
    "rule": ({"rule": "stepest"}, ValueError, ["rule 'stepest'", "mean 'steepest'", "cyclic, uniform"]),
    "oracle": ({"oracle": "nrm"}, ValueError, ["oracle 'nrm'", "mean 'norm'", "exact, sketch"]),
    "steepness": ({"steepness": "gs-x"}, ValueError, ["steepness 'gs-x'", "Did you mean", "gsl-q"]),
    "step": ({"step": "linesearch"}, ValueError, ["step 'linesearch'", "mean 'line-search'", "fixed, coordinate"]),
    "init": ({"init": "grad"}, ValueError, ["init 'grad'", "mean 'gradient'", "none"]),
    "record": ({"record": "epochs"}, ValueError, ["record 'epochs'", "mean 'epoch'", "geometric"]),
    "nothing near": ({"rule": "zzzzzz"}, ValueError, ["rule 'zzzzzz'. Valid names: cyclic, uniform, importance"]),
    "rule type": ({"rule": 3}, TypeError, ["rule", "got 3", "select"]),
    "oracle type": ({"oracle": 3}, TypeError, ["oracle", "3", "update"]),
    "step type": ({"step": 0.5}, TypeError, ["step", "0.5", "take"]),
    "steepness type": ({"steepness": 1}, TypeError, ["steepness", "got 1", "score"]),
    "gs with L1": ({"steepness": "gs"}, ValueError, ["steepness 'gs'", "smooth", "L2", "gs-s, gs-r, gs-q"]),
    "gsl with L1": ({"steepness": "gsl"}, ValueError, ["steepness 'gsl'", "smooth", "L2"]),
    "epsilon": ({"oracle": ascd.Sketch(1.5)}, ValueError, ["Sketch epsilon must be in [1e-100, 1]", "1.5"]),
    "negative epsilon": ({"oracle": ascd.Simulated(-0.1)}, ValueError, ["Simulated epsilon", "-0.1"]),
    "capacity": ({"oracle": ascd.Cached(0)}, ValueError, ["Cached capacity must be at least 1", "got 0"]),
    "pick": ({"rule": ascd.ASCD("largest")}, ValueError, ["ASCD pick 'largest'", "largest-lower"]),
    "power": ({"rule": ascd.Importance(-1.0)}, ValueError, ["Importance power", "-1.0"]),
    "record 0": ({"record": 0}, ValueError, ["record must be at least 1", "got 0"]),
    "record 2.5": ({"record": 2.5}, TypeError, ["record must be an integer", "2.5"]),
    "record array": ({"record": np.array([1, 2])}, TypeError, ["record must be an integer", "array([1, 2])"]),
    "printed": ({"oracle": ascd.Random(printed="no")}, TypeError, ["Random printed must be True or False", "'no'"]),
    "anchored": ({"oracle": ascd.Stochastic(anchored="no")}, TypeError, ["anchored must be True or False", "'no'"]),
    "init type": ({"init": 3}, TypeError, ["init must be", "(estimate, radius)", "got 3"]),
    "init length": ({"init": (np.zeros(2), np.zeros(3))}, ValueError, ["init estimate must have length 3", "2"]),
    "init nan": ({"init": (np.full(3, NAN), np.zeros(3))}, ValueError, ["init estimate must be finite"]),
    "init radius": ({"init": (np.zeros(3), -np.ones(3))}, ValueError, ["init radius must be non-negative", "-1"]),
    "seed": ({"rng": -1}, ValueError, ["rng must be", "non-negative", "got -1"]),
    "named seed": ({"rng": "x"}, TypeError, ["rng must be", "integer", "got 'x'"]),
    "float seed": ({"rng": 1.5}, TypeError, ["rng must be", "Generator", "got 1.5"]),
    "debug": ({"debug": "no"}, TypeError, ["debug must be True or False", "got 'no'"]),
    "record_gap": ({"record_gap": None}, TypeError, ["record_gap must be True or False", "got None"]),
    "scan u": ({"rule": ascd.UpperASCD(scan="no")}, TypeError, ["scan must be True or False", "got 'no'"]),
    "scan a": ({"rule": ascd.HeuristicASCD(scan=A)}, TypeError, ["scan must be True or False"]),
    "scan l": ({"rule": ascd.LowerASCD(scan=2)}, TypeError, ["scan must be True or False", "got 2"]),
    "scan steepest": ({"rule": ascd.Steepest(scan=None)}, TypeError, ["scan must be True or False", "got None"]),
}


CALLS = [("minimize", row) for row in ({**OPTIONS, **RUNS}).values()]
CALLS += [("solve", row) for row in ({**OPTIONS, **SOLVES}).values()]


@pytest.mark.parametrize(("call", "row"), CALLS)
def test_a_bad_option_is_refused_before_any_work(call, row, monkeypatch):
    change, error, words = row
    problem = ascd.Problem(A, B, penalty=ascd.L1(0.1))
    for work in ("ascd.engine.minimize.descend", "ascd.solver.loop.Solver.minimise"):
        monkeypatch.setattr(work, lambda *_: pytest.fail("work was done before the error"))
    with pytest.raises(error) as caught:
        getattr(ascd, call)(problem, **change)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_start_outside_the_box_is_refused():
    problem = ascd.Problem(A, B, penalty=ascd.Box(0.0, 1.0))
    for call in (ascd.minimize, ascd.solve):
        with pytest.raises(ValueError, match=r"x0 must have a finite objective \(lie inside the box"):
            call(problem, x0=[0.5, 2.0, 0.5])


def test_only_problems_are_minimised():
    with pytest.raises(TypeError, match=r"problem must be an ascd\.Problem .*ascd\.solve takes groups.*got ndarray"):
        ascd.minimize(A)
    blocks = ascd.Problem(A, np.ones((len(A), 2)), penalty=ascd.L21(1.0))
    with pytest.raises(TypeError, match=r"problem must be .* one output \(ascd\.solve takes .*got Problem"):
        ascd.minimize(blocks, intercept=True)


def test_a_smooth_l1_may_use_gs():
    problem = ascd.Problem(A, B, penalty=ascd.L1(1.0, 0.0))
    assert ascd.minimize(problem, steepness="gs", max_iter=10).n_iter <= 10


NULL = np.c_[A[:, 0], A[:, 0], A[:, 1]]  # (1, −1, 0) costs the loss nothing
TINY = np.c_[np.zeros(4), A[:, :2]]
LINEAR = [
    ("squared", TINY, ascd.Zero([1.0, 0.0, 0.0]), False),
    ("squared", TINY, ascd.Zero([0.0, 1.0, 0.0]), True),
    ("squared", TINY, ascd.L1(1.0, 1.0, [1.5, 0.0, 0.0]), False),
    ("squared", TINY, ascd.L1(1.0, 1.0, [0.9, 0.0, 0.0]), True),
    ("squared", TINY, ascd.L2(1.0, 1.0, 5.0), True),
    ("squared", TINY, ascd.L2(1.0, [0.0, 1.0, 1.0], 5.0), False),
    ("squared", TINY, ascd.Box(0.0, INF, 0.0, -1.0), False),
    ("squared", TINY, ascd.Box(0.0, INF, 0.0, 1.0), True),
    ("squared", TINY, ascd.Box(0.0, 9.0, 0.0, -1.0), True),
    ("squared", NULL, ascd.Zero([1.0, 0.0, 0.0]), False),
    ("squared", NULL, ascd.Zero([1.0, 1.0, 0.0]), True),
    ("squared", NULL, ascd.L1(1.0, 1.0, [1.5, -1.5, 0.0]), False),
    ("squared", NULL, ascd.L1(1.0, 1.0, [1.5, 0.0, 0.0]), True),
    ("squared", NULL, ascd.Box(0.0, INF, 0.0, [-1.0, 0.0, 0.0]), True),
    ("squared", NULL, ascd.L1L2(0.0, 1.0, 1.0, [1.0, 0.0, 0.0]), True),
    ("squared", A, ascd.Zero(7.0), True),
    ("squared", 1e-6 * A, ascd.Zero(7.0), True),
    ("squared", A * [1e-6, 1.0, 1e6], ascd.Zero(7.0), True),
    ("logistic", np.c_[SIGNS, -SIGNS], ascd.Zero([-0.5, 0.0]), False),
    ("logistic", np.c_[SIGNS, SIGNS * [1.0, 1.0, -1.0, -1.0]], ascd.Zero([0.5, 0.0]), True),
    ("logistic", np.c_[SIGNS, SIGNS * [1.0, 1.0, -1.0, -1.0]], ascd.Zero([5.0, 0.0]), False),
    ("squared_hinge", np.c_[SIGNS], ascd.Zero(-0.5), False),
    ("squared_hinge", np.c_[SIGNS], ascd.Zero(0.5), True),
    ("huber", np.ones((4, 1)), ascd.Zero(4 * 1.35 * 0.99), True),
    ("huber", np.ones((4, 1)), ascd.Zero(4 * 1.35 * 1.01), False),
]


@pytest.mark.parametrize(("loss", "design", "penalty", "bounded"), LINEAR)
def test_linear_terms_are_answered_exactly_where_the_problem_is_bounded(loss, design, penalty, bounded):
    b = SIGNS if loss in ("logistic", "squared_hinge") else B
    if bounded:
        problem = ascd.Problem(design, b, loss, penalty)
        assert math.isfinite(problem.objective(np.ones(design.shape[1])))
    elif design is TINY:
        with pytest.raises(ValueError, match=r"unbounded below: .* remove the linear term or bound the coordinates"):
            ascd.Problem(design, b, loss, penalty)
    else:  # found by the run
        assert not ascd.solve(ascd.Problem(design, b, loss, penalty), max_iter=100).status.is_answer


def test_zero_weights_can_make_a_problem_unbounded():
    with pytest.raises(ValueError, match="unbounded below"):
        ascd.Problem(np.eye(2), [1.0, 1.0], penalty=ascd.Zero(1.0), sample_weight=[1.0, 0.0])


def test_a_step_that_leads_away_for_ever_diverges():
    problem = ascd.Problem(NULL, B, penalty=ascd.Zero([1e13, 0.0, 0.0]))
    assert ascd.minimize(problem, rule="cyclic", max_iter=3000).status is Status.DIVERGED


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"y": [1.0, 0.0, 1.0, 1.0]}, ValueError, ["y must hold labels -1 and +1", "got 0"]),
        ({"y": SIGNS[:2]}, ValueError, ["y must have length 4", "got 2"]),
        ({"C": 0.0}, ValueError, ["C must be in (0", "0.0"]),
        ({"C": -1.0}, ValueError, ["C must be in (0", "-1.0"]),
        ({"C": "1"}, TypeError, ["C must be a number", "'1'"]),
        ({"loss": "squared"}, ValueError, ["loss 'squared'", "hinge, squared_hinge"]),
        ({"X": with_entry(A, NAN)}, ValueError, ["must be finite", "nan"]),
    ],
)
def test_a_bad_svm_is_refused(arguments, error, words):
    with pytest.raises(error) as caught:
        ascd.DualSVM(**{"X": A, "y": SIGNS, **arguments})
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_bound_far_out_is_no_direction_to_fall_in():
    """The upper bound lies beyond the place where slopes at infinity are read."""
    penalty = ascd.BoundedL1L2(l1=0.0, l2=1.6, lower=-np.inf, upper=-5.9e59)
    assert ascd.Problem([[1.0]], [0.0], penalty=penalty).n_features == 1


# ------------------------------------------------------------------------------------------- solve and path


def test_the_engine_sends_losses_without_a_curvature_bound_to_solve():
    with pytest.raises(ValueError, match=r"(?s)Poisson.*solve"):
        ascd.minimize(ascd.Problem(A, np.arange(4.0), "poisson", ascd.L1(0.1)))


# --- Indices of sparse matrices that lead outside of them: refused by name, before anybody follows them


D, N = 40, 12
GOOD = sp.random_array((D, N), density=0.4, random_state=0, format="csc")
Y = np.random.default_rng(0).standard_normal(D)


def broken(form, place=5, index=-4, field="indices"):
    A = GOOD.asformat(form).copy()
    getattr(A, field)[place] = index
    return A


BROKEN = {
    "negative row": (broken("csc"), "must have row indices from 0 to 39; {}.indices[5] is -4"),
    "row beyond": (broken("csc", index=D), "must have row indices from 0 to 39; {}.indices[5] is 40"),
    "column beyond": (broken("csr", index=57), "must have column indices from 0 to 11; {}.indices[5] is 57"),
    "negative column": (broken("csr", index=-(2**31)), "column indices from 0 to 11; {}.indices[5] is -2147483648"),
    "row of coo": (broken("coo", index=D, field="row"), "must have row indices from 0 to 39; {}.row[5] is 40"),
    "column of coo": (broken("coo", field="col"), "must have column indices from 0 to 11; {}.col[5] is -4"),
    "falling offsets": (broken("csc", 5, 0, "indptr"), "must have offsets that begin with 0, never fall and end at"),
    "offset beyond": (broken("csr", D, 10**6, "indptr"), "{}.indptr[40] is 1000000"),
    "first offset": (broken("csr", 0, -1, "indptr"), "{}.indptr[0] is -1"),
}


@pytest.mark.parametrize("limit", [0, 10**6], ids=["read in place", "converted"])
@pytest.mark.parametrize(("A", "words"), BROKEN.values(), ids=BROKEN)
def test_problems_fits_and_predictions_refuse_them(A, words, limit, monkeypatch):
    monkeypatch.setattr(costs, "SMALL_DATA", limit)
    model = ascd.Lasso(0.1).fit(GOOD.toarray(), Y)
    ways = [lambda: ascd.Problem(A, Y), lambda: ascd.Problem(A, Y[:, None]), lambda: ascd.lasso_path(A, Y)]
    ways += [lambda: ascd.Lasso(0.1).fit(A, Y), lambda: ascd.LinearSVC().fit(A, Y > 0.0), lambda: model.predict(A)]
    for number, way in enumerate(ways):
        with pytest.raises(ValueError, match=r"[AX] must have (row|column|offsets)") as caught:
            way()
        assert words.format("AX"[number > 1]) in str(caught.value)


def test_matrices_that_are_in_order_pass():
    for form in ("csc", "csr", "coo", "bsr", "lil", "dok", "dia"):
        check_places(GOOD.asformat(form))
    check_places(sp.csr_array((3, 0)))
    check_places(np.eye(3))
    blocks = sp.bsr_array(GOOD.toarray(), blocksize=(2, 2))
    blocks.indices[0] = 9
    with pytest.raises(ValueError, match=r"column indices from 0 to 5; A\.indices\[0\] is 9"):
        check_places(blocks)
