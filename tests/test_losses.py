"""Every loss against its definition: derivatives by differences, conjugates by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from formulas import LOSSES as BOUNDED

import ascd
from ascd.problem.problem import LOSSES, as_loss


def poisson(y, z):
    return np.exp(z) - y * z + (y * np.log(y) if y > 0.0 else 0.0) - y


FORMULAS = {**BOUNDED, "poisson": (poisson, lambda y, z: np.exp(z) - y, False)}
POINTS = (-7.3, -1.0, -0.4, 0.0, 0.2, 0.9, 2.6, 11.0)
GRID = np.linspace(-60.0, 60.0, 240_001)
TARGETS = {"logistic": (-1.0, 1.0), "squared_hinge": (-1.0, 1.0), "poisson": (0.0, 1.0, 3.0)}
CASES = [(name, y) for name in FORMULAS for y in TARGETS.get(name, (-2.0, 0.0, 1.7))]
all_losses = pytest.mark.parametrize(("name", "y"), CASES)


def jumps(name, y, z, h=1e-3):
    """Is z so near a jump of the curvature that differences mean nothing there?"""
    return (name == "huber" and abs(abs(z - y) - 1.35) < h) or (name == "squared_hinge" and abs(1.0 - y * z) < h)


def test_the_table_of_formulas_is_complete():
    assert set(FORMULAS) == set(LOSSES)
    assert all(f'"{name}"' in ascd.Problem.__doc__ for name in LOSSES)


@all_losses
def test_value_and_derivative_equal_the_formula(name, y):
    loss, (value, slope, _) = LOSSES[name](), FORMULAS[name]
    np.testing.assert_allclose([loss.value(y, z) for z in POINTS], value(y, np.array(POINTS)), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose([loss.derivative(y, z) for z in POINTS], slope(y, np.array(POINTS)), rtol=1e-12)


@all_losses
def test_curvature_is_the_difference_quotient_of_the_derivative(name, y):
    loss, h = LOSSES[name](), 1e-5
    points = [z for z in POINTS if not jumps(name, y, z)]
    assert len(points) >= 5
    for z in points:
        quotient = (loss.derivative(y, z + h) - loss.derivative(y, z - h)) / (2 * h)
        assert loss.curvature(y, z) == pytest.approx(quotient, rel=1e-5, abs=1e-8)


@all_losses
def test_curvature_lies_between_zero_and_its_bound_and_reaches_it(name, y):
    loss = LOSSES[name]()
    curvatures = [loss.curvature(y, z) for z in np.linspace(-5, 5, 2001)]
    assert min(curvatures) >= 0.0
    if math.isfinite(loss.curvature_bound()):
        assert loss.curvature_bound() * (1 - 1e-6) <= max(curvatures) <= loss.curvature_bound()
    assert loss.is_quadratic() == (min(curvatures) == max(curvatures) == loss.curvature_bound())


@all_losses
@pytest.mark.parametrize("u", [-3.0, -1.0, -0.75, -1e-3, 0.0, 0.3, 1.0, 1.35, 2.5])
def test_conjugate_is_the_supremum(name, y, u):
    loss, value = LOSSES[name](), FORMULAS[name][0]
    grid = GRID if name != "poisson" else GRID / 2.0  # exp is huge soon enough
    brute = np.max(u * grid - value(y, grid))
    conjugate = loss.conjugate(y, u)
    if math.isinf(conjugate):
        far = np.array([-1e8, 1e8 if name != "poisson" else 1e2])
        assert np.max(u * far - value(y, far)) > 1e4
    else:
        assert conjugate == pytest.approx(brute, rel=1e-5, abs=1e-6)
        assert conjugate >= brute - 1e-12


@all_losses
@pytest.mark.parametrize("z", POINTS)
def test_fenchel_young_is_an_equality_at_the_derivative(name, y, z):
    loss = LOSSES[name]()
    u = loss.derivative(y, z)
    assert loss.value(y, z) + loss.conjugate(y, u) == pytest.approx(u * z, rel=1e-9, abs=1e-9)


@all_losses
def test_the_curvature_of_chords_is_twice_that_of_the_parabola_down_to_the_minimum(name, y):
    value, derivative, _ = FORMULAS[name]
    z = np.array(POINTS)
    problem = ascd.Problem(np.ones((z.size, 1)), np.full(z.size, y), name, sample_weight=np.full(z.size, 2.0))
    v, above = 2.0 * derivative(y, z), 2.0 * (value(y, z) - value(y, np.linspace(-40.0, 40.0, 80_001)).min())
    found = problem.loss.chord_curvature(z[:, None], v[:, None])[:, 0]
    seen = above > 1e-6
    np.testing.assert_allclose(found[seen], v[seen] ** 2 / above[seen], rtol=1e-3)


@all_losses
def test_rounding_just_outside_the_domain_is_forgiven_and_more_is_not(name, y):
    loss = LOSSES[name]()
    if name == "poisson":
        assert math.isfinite(loss.conjugate(y, -y - 1e-15))
        assert loss.conjugate(y, -y - 1e-6) == math.inf
        return
    edge = {"logistic": -y, "huber": 1.35, "squared_hinge": 0.0}.get(name)
    if edge is None:
        assert math.isfinite(loss.conjugate(y, 1e6))
        return
    outward = -y if name != "huber" else 1.0
    assert math.isfinite(loss.conjugate(y, edge + outward * 1e-15 if name != "squared_hinge" else 1e-15 * y))
    beyond = edge + (outward if name != "squared_hinge" else y) * 1e-6
    assert loss.conjugate(y, beyond) == math.inf


@pytest.mark.parametrize("name", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("z", [-1e3, 1e3, 1e5])
def test_far_away_nothing_overflows(name, z):
    loss = LOSSES[name]()
    for y in (-1.0, 1.0):
        numbers = (loss.value(y, z), loss.derivative(y, z), loss.curvature(y, z), loss.conjugate(y, 0.0))
        assert all(map(math.isfinite, numbers))
        assert loss.value(y, z) == pytest.approx(FORMULAS[name][0](y, z), rel=1e-15)


BAD = [
    ("squard", ValueError, ["loss", "'squard'", "Did you mean 'squared'", "squared_hinge"]),
    ("zzz", ValueError, ["loss", "'zzz'", "squared, logistic, huber, squared_hinge"]),
    (3.0, TypeError, ["loss", "3.0", "value", "derivative"]),
    (ascd.Huber, TypeError, ["loss", "NamedTuple", "Huber"]),
]


@pytest.mark.parametrize(("loss", "error", "words"), BAD)
def test_a_bad_loss_is_named(loss, error, words):
    with pytest.raises(error) as caught:
        as_loss(loss)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("threshold", [0.0, -1.0, math.nan])
def test_huber_threshold_must_be_positive(threshold):
    with pytest.raises(ValueError, match=rf"Huber threshold must be in \(0, inf\]; got {threshold}"):
        ascd.Problem(np.eye(2), [1.0, 2.0], loss=ascd.Huber(threshold))


@pytest.mark.parametrize("name", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("b", [[0.0, 1.0], [1.0, 2.0], [-1.0, 0.5]])
def test_labels_must_be_signs(name, b):
    with pytest.raises(ValueError, match=rf"b must hold labels -1 and \+1 for the {name} loss; got"):
        ascd.Problem(np.eye(2), b, loss=name)
