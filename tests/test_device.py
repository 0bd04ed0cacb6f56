"""Data on a device, as far as a machine without one can tell: array_api_strict's, NumPy's and torch's on the host."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from device_checks import as_read, check_answers, check_case, check_estimator, check_products, design_of
from estimators import EVERY, make_data, target_of
from problems import CASES

import ascd
from ascd import estimators as ours
from ascd._base.devices import is_on_device, to_host
from ascd.data import prices
from ascd.data.device.compensated import careful_products
from ascd.data.device.dense import DeviceDense
from ascd.data.device.spaces import space_of
from ascd.data.device.sparse import DeviceSparse
from ascd.data.distant import Distant
from ascd.data.executors import InTurn
from ascd.data.parted import Parted
from ascd.data.storages import open_design

strict = pytest.importorskip("array_api_strict")
HOST, DEVICE = strict.Device("CPU_DEVICE"), strict.Device("device1")


def on_device(values):
    return strict.asarray(np.asarray(values), device=DEVICE)


def as_tensor(values):
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    return torch.from_numpy(np.ascontiguousarray(values.T)).T if values.flags.f_contiguous else torch.from_numpy(values)


def as_it_is(values):
    return values


#: As those of a GPU, in which tiles and vectors are filled; here chunks are, and array_api_strict takes its time.
SHAPES = ((41, 23), (110, 36), (40, 60))
PLACES = {"array_api_strict": on_device, "numpy": as_it_is, "torch": as_tensor}
DTYPES = (np.float32, np.float64, np.int8)
#: Every two of place, type, shape and order meet.
ROWS = [
    (place, dtype, SHAPES[(number + turn) % 3], "CF"[number == turn])
    for number, place in enumerate(PLACES)
    for turn, dtype in enumerate(DTYPES)
]


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch):
    monkeypatch.setattr(prices, "DEVICE_SMALL", 0)


@pytest.mark.parametrize(("place", "dtype", "shape", "order"), ROWS)
def test_answers_equal_numpys(place, dtype, shape, order, monkeypatch):
    monkeypatch.setattr(prices, "DEVICE_FLOOR", 4000)  # several chunks
    check_answers(PLACES[place], dtype, order, shape)


@pytest.mark.parametrize("name", CASES)
def test_every_problem_of_the_table(interpreted, name):
    check_case(CASES[name], on_device, DTYPES[list(CASES).index(name) % 2], intercept=False)


@pytest.mark.parametrize(("number", "name"), [*enumerate(name for name in CASES if "scaled" not in name)])
def test_large_models_stay_there(interpreted, number, name, monkeypatch):
    """With room for their products, and without."""
    room = (0.0, 1e9)[number % 2]
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_FETCHED", 0)
    monkeypatch.setattr("ascd.solver.tuning.GRAM_FLOOR", room)
    monkeypatch.setattr(DeviceDense, "products_room", room)
    check_case(CASES[name], on_device, np.float64, intercept=True)


def gram_of(A, intercept=True):
    """Products of all columns of A but the first, short ones, joined in two steps; and what they are."""
    source, weight = DeviceDense(on_device(A)), np.linspace(0.5, 1.5, len(A))
    means = np.average(A, axis=0, weights=weight)
    gram, every = source.kept_products(intercept, 1e-12), np.arange(1, A.shape[1])
    gram.admit(every[::2], weight, means)
    gram.admit(every[1::2], weight, means)
    centred = A[:, gram.columns] - (means[gram.columns] if intercept else 0.0)
    return gram, centred.T @ (weight[:, None] * centred)


@pytest.mark.parametrize("intercept", [False, True])
def test_short_products_are_near_and_widen(intercept):
    """Columns of very different lengths, one of zeros, one constant."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((50, 12)) * 10.0 ** rng.integers(-6, 6, 12)
    A[:, 3], A[:, 4] = 0.0, 7.0
    gram, expected = gram_of(A, intercept)
    assert not gram.is_exact
    held = np.flatnonzero(gram.columns == 4) if intercept else np.empty(0, dtype=np.int64)
    expected[held, held] = gram.diagonal[held]  # a constant column is held
    lengths = np.sqrt(np.diag(expected))
    vector = rng.standard_normal(11) / np.where(lengths > 0.0, lengths, 1.0)
    error = np.abs(gram.times(vector) - expected @ vector)
    assert np.all(error <= 1e-5 * lengths)
    assert np.any(error > 1e-13 * lengths)  # they are short
    vector[held] = 0.0
    np.testing.assert_allclose(gram.times_exactly(vector), expected @ vector, rtol=1e-9, atol=1e-12)
    free = np.flatnonzero(lengths > 0.0)
    right = expected[np.ix_(free, free)] @ (1.0 / lengths[free])
    found = gram.solve(free, np.zeros(free.size), right, 0.0)
    np.testing.assert_allclose(found * lengths[free], 1.0, rtol=1e-3)
    columns = gram.columns
    gram.widen()
    assert gram.is_exact
    assert gram.columns.size == 0
    gram.admit(columns, gram.weight, np.average(A, axis=0, weights=gram.weight))
    np.testing.assert_allclose(gram.times(vector), expected @ vector, rtol=1e-9, atol=1e-12)


def test_lengths_that_short_numbers_do_not_reach():
    gram, _ = gram_of(np.random.default_rng(0).standard_normal((20, 6)) * np.array([1.0, 1.0, 1e-150, 1.0, 1e120, 1.0]))
    assert gram.is_exact


@pytest.mark.parametrize(("nearness", "fetched", "is_exact"), [(1.0, 0, False), (1e-3, 0, True), (1e-3, 99, False)])
def test_products_become_exact_where_short_ones_do_not_do(compiled_sweeps, nearness, fetched, is_exact, monkeypatch):
    """Pairs of columns that differ by less than short numbers tell; a gap that nothing but their difference closes."""
    rng = np.random.default_rng(5)
    half = rng.standard_normal((40, 8))
    other = half + nearness * rng.standard_normal((40, 8))
    A = np.stack([half, other], axis=2).reshape(40, 16)
    b = half @ np.ones(8) + (other - half) @ np.linspace(1.0, 2.0, 8) / nearness + 0.1 * rng.standard_normal(40)
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_FETCHED", fetched)  # the third model comes to the host
    kept, make = [], DeviceDense.kept_products
    monkeypatch.setattr(DeviceDense, "kept_products", lambda *given: kept.append(make(*given)) or kept[-1])
    penalty = ascd.L1(1e-3)
    found = ascd.solve(ascd.Problem(design_of(on_device(A)), b, penalty=penalty), tol=1e-8)
    expected = ascd.solve(ascd.Problem(A, b, penalty=penalty), tol=1e-10)
    assert found.converged
    assert found.objective - expected.objective <= found.gap + 1e-9 * expected.zero_objective
    assert kept[0].is_exact == is_exact


def test_models_of_columns_that_have_much_in_common_come_to_the_host(interpreted, monkeypatch):
    """One eigenvalue is about n: proximal steps are so short that 1,000 of them lead nowhere."""
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", 0)
    asked, products = [], DeviceDense.products
    monkeypatch.setattr(DeviceDense, "products", lambda *given: asked.append(1) or products(*given))
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 1)) + rng.standard_normal((60, 40)) / 10.0
    b = A[:, :5] @ rng.standard_normal(5) + 0.1 * rng.standard_normal(60)
    penalty = ascd.L1(1e-3 * np.abs(A.T @ b).max())
    found = ascd.solve(ascd.Problem(design_of(on_device(A)), b, penalty=penalty), tol=1e-10)
    assert asked
    assert found.converged
    expected = ascd.solve(ascd.Problem(A, b, penalty=penalty), tol=1e-12)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


@pytest.mark.parametrize("host", [0, 600])
@pytest.mark.parametrize("call", [1, 2, 5])
def test_ctrl_c_inside_a_model_states_the_point_that_is_returned(interpreted, host, call, monkeypatch):
    """From a start where F is lower without the penalty: an image of the start would promise too much."""
    monkeypatch.setattr("ascd.solver.tuning.LARGEST_HOST_MODEL", host)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 30))
    b = A[:, :6].sum(axis=1) + rng.standard_normal(40)
    start = ascd.solve(ascd.Problem(A, b, penalty=ascd.L1(0.1))).x
    calls = []

    def interrupting(function):
        def called(*given):
            calls.append(1)
            found = function(*given)
            if len(calls) == call:
                raise KeyboardInterrupt
            return found

        return called

    name = "ascd.solver.large_model.violation_at" if host == 0 else "ascd.solver.gram_model.sweep_gram"
    module, _, function = name.rpartition(".")
    monkeypatch.setattr(name, interrupting(getattr(sys.modules[module], function)))
    problem = ascd.Problem(design_of(on_device(A)), b, penalty=ascd.L1(20.0))
    found = ascd.solve(problem, x0=start, tol=1e-12)
    on_host = ascd.Problem(A, b, penalty=ascd.L1(20.0))
    assert found.objective == pytest.approx(on_host.objective(found.x), rel=1e-12)
    if len(calls) >= call:
        assert str(found.status) == "interrupted"
    assert found.objective <= on_host.objective(start) * (1.0 + 1e-12)
    assert found.objective - ascd.solve(on_host, tol=1e-12).objective <= found.gap * (1.0 + 1e-9) + 1e-9


def test_fitted_there_and_used_here():
    data = make_data(40, 6)
    model, expected = ours.Lasso(0.1).fit(on_device(data.X), on_device(data.y)), ours.Lasso(0.1).fit(data.X, data.y)
    np.testing.assert_allclose(model.predict(data.X), expected.predict(data.X), atol=1e-4)
    assert model.score(data.X, on_device(data.y)) == pytest.approx(expected.score(data.X, data.y), abs=1e-4)
    assert expected.score(data.X, on_device(data.y)) == expected.score(data.X, data.y)
    odds = ours.LogisticRegression().fit(on_device(data.X), data.labels).predict_proba(data.X)
    np.testing.assert_allclose(
        odds, ours.LogisticRegression().fit(data.X, data.labels).predict_proba(data.X), atol=1e-3
    )
    with pytest.raises(ValueError, match="X must be two-dimensional"):
        model.predict(on_device(data.y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EVERY)
def test_every_estimator(plain_but_huber, name, dtype):
    data = make_data(30, 4)
    check_estimator(EVERY[name], on_device, to_host, dtype, (data.X, target_of(name, data), data.weight))


@pytest.mark.parametrize("model", [
    ours.MultiTaskLasso(0.1, tol=1e-10), ours.GroupLasso(0.1, groups=2, tol=1e-10),
    ours.LogisticRegression(C=1.0, l1_ratio=1.0, tol=1e-10), ours.Lasso(0.05, standardize=True, tol=1e-10),
    ours.LinearSVC(fit_intercept=False, tol=1e-10), ours.MultiTaskLassoCV(alphas=3, cv=2),
])  # fmt: skip
def test_several_outputs_and_other_options(interpreted, model):
    data = make_data(40, 6)
    y = np.stack([data.y, -data.y], axis=1) if "MultiTask" in type(model).__name__ else data.y
    y = np.arange(40) % 3 if isinstance(model, ours.LogisticRegression) else y
    y = data.labels if isinstance(model, ours.LinearSVC) else y
    expected = model.fit(data.X, y).coef_
    found = model.fit(on_device(data.X), on_device(y))
    assert found.coef_.device == DEVICE
    np.testing.assert_allclose(to_host(found.coef_), expected, rtol=1e-4, atol=1e-4)
    assert np.isfinite(found.score(on_device(data.X), on_device(y)))


@pytest.mark.parametrize("form", [sp.csc_array, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("floor", [16 << 20, 3000])
def test_sparse_matrices(interpreted, form, floor, monkeypatch):
    """CuPy's are SciPy's with another namespace; the second floor makes several chunks."""
    dtype = DTYPES[((form is sp.csr_array) + (floor == 3000)) % 2]
    monkeypatch.setattr(prices, "DEVICE_FLOOR", floor)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 80)) * (rng.random((60, 80)) < 0.2)
    weight, vectors, some = rng.random(60), rng.standard_normal((2, 60)), np.array([5, 0, 17, 3])
    design, A = Distant(DeviceSparse(form(A.astype(dtype)))), as_read(A, dtype)
    survey = design.survey(weight, vectors)
    np.testing.assert_allclose(survey.square, weight @ A**2, atol=1e-12)
    np.testing.assert_allclose(survey.plain, (A**2).sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(survey.total, A.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(survey.products, vectors @ A, atol=1e-12)
    for columns in (some, rng.permutation(80)[:60], np.arange(80)):
        np.testing.assert_allclose(design.dots(columns, vectors[0]), vectors[0] @ A[:, columns], atol=1e-12)
        np.testing.assert_allclose(design.squares(weight, columns), weight @ A[:, columns] ** 2, atol=1e-12)
        product, error = design.careful_dots(columns, vectors[1])
        np.testing.assert_allclose(product, vectors[1] @ A[:, columns], atol=1e-12)
        assert np.all(error < 1e-13)
        image = np.zeros(60)
        design.add(columns, np.ones(columns.size), image)
        np.testing.assert_allclose(image, A[:, columns].sum(axis=1), atol=1e-12)
    check_products(design, A, weight)
    b = A[:, :5].sum(axis=1) + 1.0 + 0.1 * vectors[0]
    found = ascd.solve(ascd.Problem(design, b, penalty=ascd.L1(0.8)), tol=1e-10, intercept=True)
    expected = ascd.solve(ascd.Problem(A, b, penalty=ascd.L1(0.8)), tol=1e-12, intercept=True)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


def test_column_parts_on_devices(interpreted):
    """Two parts, each on a device of its own."""
    data = make_data(40, 6)
    others = strict.asarray(data.X[:, 2:], device=strict.Device("device2"))
    parts = [open_design(on_device(data.X[:, :2])), open_design(others)]
    design = Distant(Parted(InTurn(parts), np.array([0, 40]), np.array([0, 2, 6])))
    for penalty in (ascd.L1(2.0), ascd.L2(1.0)):
        found = ascd.solve(ascd.Problem(design, data.y, penalty=penalty), tol=1e-10, intercept=True)
        expected = ascd.solve(ascd.Problem(data.X, data.y, penalty=penalty), tol=1e-12, intercept=True)
        assert found.converged
        assert found.objective == pytest.approx(expected.objective, rel=1e-9)


def test_paths_and_solutions(interpreted):
    data = make_data(40, 6)
    problem, on_host = (ascd.Problem(X, data.y, penalty=ascd.L1(1.0)) for X in (on_device(data.X), data.X))
    path, expected = (ascd.path(one, n_alphas=5, eps=0.05, tol=1e-10, intercept=True) for one in (problem, on_host))
    np.testing.assert_allclose(path.coefs, expected.coefs, atol=1e-6)
    alphas, coefs, _ = ascd.lasso_path(on_device(data.X), on_device(data.y), alphas=4)
    np.testing.assert_allclose(coefs, ascd.lasso_path(data.X, data.y, alphas=alphas)[1], atol=1e-3)
    coefs, _, _ = ascd.logistic_path(on_device(data.X), on_device(data.labels), Cs=[0.1, 1.0], l1_ratio=1.0)
    expected = ascd.logistic_path(data.X, data.labels, Cs=[0.1, 1.0], l1_ratio=1.0)[0]
    np.testing.assert_allclose(coefs, expected, atol=1e-2)


def test_passes_are_counted(interpreted):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 400))
    problem = ascd.Problem(on_device(A), A[:, 0], penalty=ascd.L1(5.0))
    assert problem.design.bytes_read == problem.design.nbytes  # norms and first products: one pass
    found = ascd.solve(problem, tol=1e-8)
    assert found.converged
    assert problem.design.bytes_read <= 4 * problem.design.nbytes


def test_nothing_is_copied_to_the_host(interpreted, monkeypatch):
    """No block of X is ever fetched: only vectors of samples and columns, and products of the working set."""
    A = np.random.default_rng(0).standard_normal((300, 400))
    shapes, fetch = [], type(space_of(on_device(A))).fetch

    def noted(self, array):
        shapes.append(tuple(array.shape))
        return fetch(self, array)

    monkeypatch.setattr("ascd.data.device.spaces.Space.fetch", noted)
    problem = ascd.Problem(on_device(A), A[:, :3].sum(axis=1), penalty=ascd.L1(50.0))
    assert ascd.solve(problem, tol=1e-8).converged
    assert len(shapes) > 3
    assert not [shape for shape in shapes if len(shape) == 2 and 300 in shape and min(shape) > 2]


def test_small_arrays_come_to_the_host(monkeypatch):
    monkeypatch.setattr(prices, "DEVICE_SMALL", 100)
    assert not hasattr(open_design(on_device(np.ones((9, 9)))), "source")
    assert hasattr(open_design(on_device(np.ones((10, 10)))), "source")


def test_careful_products_hold_their_bound():
    """Products that cancel: the ordinary sum is wrong by far more than the bound says of the careful one."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((500, 3)) * 10.0 ** rng.integers(-8, 8, (500, 3))
    A, v = (
        np.concatenate([half, half, rng.standard_normal((7, 3))]),
        np.concatenate([np.ones(500), -np.ones(500), np.ones(7)]),
    )
    product, error = careful_products(space_of(A), A, v)
    exact = A[1000:].astype(np.longdouble).sum(axis=0)
    assert np.all(np.abs(product - exact) <= error + 1e-18 * np.abs(exact))
    assert np.all(error <= 1e-6)


def test_where_arrays_are():
    assert is_on_device(on_device(np.ones(3)))
    for here in (np.ones(3), [1.0], 2.0, None, strict.asarray(np.ones(3)), np.float64(1.0)):
        assert not is_on_device(here)


@pytest.mark.parametrize(("A", "message"), [
    (np.ones(5), "two-dimensional"), (np.ones((0, 3)), "at least one sample"), (np.ones((4, 2)) + 1j, "real numbers"),
])  # fmt: skip
def test_what_is_refused(A, message):
    with pytest.raises((ValueError, TypeError), match=message):
        design_of(on_device(A))


def test_what_is_not_finite_is_named():
    A = np.ones((5, 4))
    A[2, 1] = np.nan
    with pytest.raises(ValueError, match="A must be finite"):
        ascd.Problem(on_device(A), np.arange(5.0))
    with pytest.raises(ValueError, match="X must be finite"):
        ours.Lasso().fit(on_device(A), np.arange(5.0))


def test_duals_of_vector_machines_are_refused():
    data = make_data(40, 6)
    with pytest.raises(ValueError, match="must be in memory"):
        ours.LinearSVC(loss="hinge").fit(on_device(data.X), data.labels)


def test_another_number_of_samples_is_named():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ours.Lasso().fit(on_device(np.ones((5, 4))), np.arange(4.0))


def test_no_library_is_imported_for_numpys_arrays():
    ascd.Lasso(alpha=0.1).fit(np.eye(4), np.arange(4.0))
    assert "cupy" not in sys.modules
