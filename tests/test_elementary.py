"""exp and log for loops over samples, compiled and plain, against ``math``."""

import math

import numpy as np
import pytest

from ascd._core import scalars
from ascd._core.jit import kernel

EPS = np.finfo(float).eps


@kernel
def exps(t, out):
    for k in range(t.size):
        out[k] = scalars.exp_of_negative(t[k])


@kernel
def logs_of_one_plus(u, out):
    for k in range(u.size):
        out[k] = scalars.log_of_one_plus(u[k])


def exponents(rng):
    return -np.concatenate([[0.0], rng.exponential(10.0, 2000), rng.uniform(0.0, 708.0, 2000), small(rng)])


def small(rng):
    return 10.0 ** rng.uniform(-300.0, 0.0, 2000)


FUNCTIONS = {
    "exp": (exps, scalars.exp_of_negative, math.exp, exponents),
    "log1p": (logs_of_one_plus, scalars.log_of_one_plus, math.log1p, lambda rng: np.append(small(rng), [0.0, 1.0])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree_with_math(name):
    compiled, plain, exact, points = FUNCTIONS[name]
    values = points(np.random.default_rng(0))
    expected, found = np.array([exact(value) for value in values]), np.empty(values.size)
    compiled(values, found)
    np.testing.assert_allclose(found, expected, rtol=6 * EPS, atol=0.0)
    np.testing.assert_allclose([plain(value) for value in values[::20]], expected[::20], rtol=6 * EPS, atol=0.0)


def test_exp_far_out_is_nothing_and_nan_stays():
    found = np.empty(3)
    exps(np.array([-math.inf, -800.0, math.nan]), found)
    assert not found[:2].any()
    assert math.isnan(found[2])
    assert scalars.exp_of_negative(-math.inf) == 0.0
    assert math.isnan(scalars.exp_of_negative(math.nan))
