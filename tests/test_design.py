"""The door to the data: its answers equal NumPy's, and solver and certificates ask for nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from counting import behind_the_door
from solving import LOSSES, make_case

import ascd
from ascd.matrix.base import Design, as_block
from ascd.matrix.open import open_design

SOLVER = Path(ascd.__file__).parent / "solver"
RNG = np.random.default_rng(0)
A = RNG.standard_normal((12, 7)) * (RNG.random((12, 7)) < 0.6)
WEIGHT, VECTOR, COLUMNS = RNG.random(12), RNG.standard_normal(12), np.array([5, 0, 3])
MAKE = {"dense": np.asarray, "sparse": sp.csc_array, "row-major": np.ascontiguousarray}
STORAGES = {name: make(A) for name, make in MAKE.items()}
storages = pytest.mark.parametrize("storage", STORAGES)


@storages
def test_answers_equal_numpy(storage):
    design = open_design(STORAGES[storage])
    assert design.shape == (12, 7)
    survey = design.survey(WEIGHT, np.stack([VECTOR, WEIGHT]))
    np.testing.assert_allclose(survey.square, WEIGHT @ A**2)
    np.testing.assert_allclose(survey.plain, (A**2).sum(axis=0))
    np.testing.assert_allclose(survey.total, A.sum(axis=0))
    np.testing.assert_allclose(survey.products, np.stack([VECTOR, WEIGHT]) @ A)
    np.testing.assert_allclose(design.squares(1.0, COLUMNS), (A[:, COLUMNS] ** 2).sum(axis=0))
    np.testing.assert_allclose(design.dots(COLUMNS, VECTOR), VECTOR @ A[:, COLUMNS])
    product, error = design.careful_dots(COLUMNS, VECTOR)
    np.testing.assert_allclose(product, VECTOR @ A[:, COLUMNS])
    assert np.all(error <= 1e-15)
    image = VECTOR.copy()
    design.add(COLUMNS, np.array([1.0, 0.0, -2.0]), image)
    np.testing.assert_allclose(image, VECTOR + A[:, 5] - 2.0 * A[:, 3])
    np.testing.assert_allclose(design.means(COLUMNS, WEIGHT), WEIGHT @ A[:, COLUMNS] / WEIGHT.sum())
    np.testing.assert_array_equal(as_block(design.take(COLUMNS), 12), A[:, COLUMNS])
    several = np.stack([VECTOR, WEIGHT, -VECTOR], axis=1)
    for columns in (COLUMNS, np.arange(7)):
        np.testing.assert_allclose(design.dots_with_several(columns, several), A[:, columns].T @ several, atol=1e-13)
        factors, together = RNG.standard_normal((columns.size, 3)), several.copy()
        design.add_several(columns, factors, together)
        np.testing.assert_allclose(together, several + A[:, columns] @ factors, atol=1e-13)


@storages
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("keeps", [False, True])
def test_products_equal_numpys(storage, centred, keeps):
    design = open_design(STORAGES[storage])
    multiplier, means = design.multiplier(keeps), design.means(np.arange(7), WEIGHT) if centred else None
    B = A - means if centred else A
    store, columns = np.zeros((4, 4), order="F"), np.array([6, 2, 0, 4])
    every = np.arange(4)
    for _ in range(2):  # the second time from what was kept
        multiplier.fill(store, columns, every, every, WEIGHT, means)
        np.testing.assert_allclose(store, B[:, columns].T @ (WEIGHT[:, None] * B[:, columns]), atol=1e-12)
    multiplier.forget()
    left, right = np.array([1, 3]), np.array([0, 2])
    store[:] = 0.0
    multiplier.fill(store, columns, left, right, WEIGHT, means)
    expected = B[:, columns[left]].T @ (WEIGHT[:, None] * B[:, columns[right]])
    np.testing.assert_allclose(store[np.ix_(left, right)], expected, atol=1e-12)


@storages
@pytest.mark.parametrize("keeps", [False, True])
def test_products_of_columns_far_from_zero_keep_their_digits(storage, keeps):
    """Also beside columns with zeros, and with other curvatures than those they were first listed for."""
    far = A.copy()
    far[:, :3] = 1e8 + np.arange(36.0).reshape(12, 3) % 7
    columns = np.array([6, 2, 0, 4])
    design, exact = open_design(MAKE[storage](far)), far - [1e8, 1e8, 1e8, 0, 0, 0, 0]
    multiplier, store, every = design.multiplier(keeps), np.zeros((4, 4), order="F"), np.arange(4)
    for weight in (WEIGHT, WEIGHT[::-1].copy()):
        multiplier.fill(store, columns, every, every, weight, design.means(np.arange(7), weight))
        B = exact - weight @ exact / weight.sum()
        np.testing.assert_allclose(store, B[:, columns].T @ (weight[:, None] * B[:, columns]), atol=1e-5)


@storages
def test_a_column_that_is_constant_where_samples_count_is_told(storage):
    """What rounding leaves of its square is nothing, whether all its entries are stored or not."""
    constant, weight = A.copy(), WEIGHT.copy()
    constant[:, 0], constant[:, 1], constant[3, 1], weight[3] = 0.1, 0.1, 0.0, 0.0
    design, store, both = open_design(MAKE[storage](constant)), np.zeros((2, 2), order="F"), np.arange(2)
    multiplier = design.multiplier(False)
    multiplier.fill(store, both, both, both, weight, design.means(np.arange(7), weight))
    assert (store.diagonal() <= multiplier.constant * 0.01 * weight.sum()).all()


@storages
def test_prices_grow_with_what_is_read(storage):
    design = open_design(STORAGES[storage])
    few, many = np.arange(2), np.arange(7)
    assert 0 < design.entries(few) < design.entries(many) == design.entries()
    assert 0.0 < design.sweep_price(few) < design.sweep_price(many)
    assert 0.0 < design.products_price(few) < design.products_price(many)
    assert design.nbytes > 0


PENALTIES = ("l1", "none", "box", "elastic net, some free")


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_solver_asks_nothing_else(loss, penalty):
    """With no matrix to read and columns under other numbers, it gives the answer that it gives with them.

    Every two of loss, penalty, intercept and storage meet.
    """
    number, turn = list(LOSSES).index(loss), PENALTIES.index(penalty)
    intercept, storage = (number + turn) % 2 == 0, ("dense", "sparse")[(number + turn // 2) % 2]
    case = make_case(loss, penalty, intercept, seed=4)
    plain = case.problem(storage)
    design = behind_the_door(sp.csc_array(case.A) if storage == "sparse" else case.A)
    closed = case.problem(design)
    expected = ascd.solve(plain, tol=1e-9, intercept=intercept)
    found = ascd.solve(closed, tol=1e-9, intercept=intercept)
    assert str(found.status) == str(expected.status)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.reads == expected.reads
    assert design.asked["dots"] >= closed.n_features
    assert closed.gap(found.x) < np.inf


@pytest.mark.usefixtures("interpreted")
def test_paths_and_sweeps_over_columns_keep_to_the_door(monkeypatch):
    monkeypatch.setattr("ascd.solver.tuning.GRAM_FLOOR", 0)
    monkeypatch.setattr("ascd.solver.tuning.GRAM_SHARE", 0.0)
    case = make_case("squared", "l1", True, seed=4)
    plain, design = case.problem("sparse"), behind_the_door(sp.csc_array(case.A))
    closed = case.problem(design)
    expected = ascd.path(plain, n_alphas=4, eps=0.1, intercept=True)
    found = ascd.path(closed, n_alphas=4, eps=0.1, intercept=True)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=1e-9)
    assert design.asked["take"] > 0


def test_the_engine_says_that_it_needs_columns():
    with pytest.raises(TypeError, match=r"minimize reads single columns.*Counting.*ascd\.solve"):
        ascd.minimize(ascd.Problem(behind_the_door(A), VECTOR))


def test_a_design_is_a_subclass_that_answers_what_has_no_default():
    class Alien:
        def careful_dots(self, columns, vector): ...

    with pytest.raises(TypeError, match=r"Alien must be a subclass of ascd\.matrix\.design\.Design"):
        ascd.Problem(Alien(), VECTOR)

    class Half(Design):
        def careful_dots(self, columns, vector): ...

    with pytest.raises(TypeError, match=r"abstract.*dots.*take"):
        Half()


def test_the_solver_knows_no_storage():
    for path in SOLVER.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bDense\b|\bCSC\b|parts\.matrix|data\.(dense|sparse|device|on_dask)", text), path.name


def test_every_question_is_in_the_contract():
    asked = {name for name in dir(Design) if not name.startswith("_")}
    for storage in STORAGES.values():
        offered = {name for name in dir(open_design(storage)) if not name.startswith("_")}
        assert offered - asked == {
            "shape", "entry_price", "entry_bytes", "pass_price", "price_of_products", "running_entries", "beside",
        }  # fmt: skip
