"""``LinearSVC`` with penalty weights and bounds: the certificate is recomputed here from the textbook's formulas."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from estimators import make_data
from scipy import optimize, sparse

from ascd.estimators import LinearSVC

DATA = make_data(60, 8)
X, LABELS, SIGNS = DATA.X, DATA.labels, np.where(DATA.labels > 0, 1.0, -1.0)
C = 0.7
WEIGHTS = np.linspace(0.3, 3.0, X.shape[1])
BOUNDS = {
    "none": None,
    "narrow": (-0.3, 0.2),
    "non-negative": (0.0, np.inf),
    "mixed": (np.where(np.arange(8) % 2, -0.1, -np.inf), 0.4),
    "fixed": (np.r_[0.0, [-np.inf] * 7], np.r_[0.0, [np.inf] * 7]),
}


def primal_objective(model, weights, sample_weight):
    """½·Σ ω_j w_j² + ½c² + C·Σ s_k·loss, the intercept c with a penalty of its own, as in liblinear."""
    w, c = model.coef_.ravel(), np.ravel(model.intercept_)[0]
    short = np.maximum(0.0, 1.0 - SIGNS * (X @ w + c))
    losses = short if model.loss == "hinge" else short**2
    return 0.5 * weights @ w**2 + 0.5 * c**2 + C * np.sum(sample_weight * losses)


#: Penalty weights, intercept, sample weights; two of the eight for each loss with each kind of bounds: all is met by
#: all.
SETTINGS = list(product((False, True), repeat=3))
ROWS = [
    (loss, bounds, *SETTINGS[turn])
    for number, (loss, bounds) in enumerate(product(("hinge", "squared_hinge"), BOUNDS))
    for turn in (3 * number % 8, 7 - 3 * number % 8)
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(map(str, row)))
def test_weights_and_bounds_have_a_certificate(row):
    loss, bounds, has_weights, fit_intercept, weighted = row
    weights, bounds = WEIGHTS if has_weights else None, BOUNDS[bounds]
    sample_weight = DATA.weight if weighted else None
    model = LinearSVC(
        loss=loss, dual=True, C=C, penalty_weights=weights, bounds=bounds, fit_intercept=fit_intercept, tol=1e-9
    ).fit(X, LABELS, sample_weight=sample_weight)
    certificate, omega = model.certificate_, np.ones(8) if weights is None else weights
    found = primal_objective(model, omega, 1.0 if sample_weight is None else sample_weight)
    assert certificate.converged
    assert certificate.objective == pytest.approx(found, rel=1e-8)
    expected = reference_minimum(loss, omega, bounds, fit_intercept, sample_weight)
    assert found - certificate.gap <= expected * (1.0 + 1e-6)
    assert found <= expected * (1.0 + 1e-6)
    if bounds is not None:
        assert (model.coef_ >= np.asarray(bounds[0]) - 1e-12).all()
        assert (model.coef_ <= np.asarray(bounds[1]) + 1e-12).all()


def reference_minimum(loss, omega, bounds, fit_intercept, sample_weight):
    """L-BFGS-B on the primal; the hinge is smoothed over a width of 1e-5, which moves the minimum by less than that."""
    s = C * (np.ones(60) if sample_weight is None else sample_weight)
    low, high = (-np.inf, np.inf) if bounds is None else bounds
    box = [
        *zip(np.broadcast_to(low, 8), np.broadcast_to(high, 8), strict=True),
        (None, None) if fit_intercept else (0, 0),
    ]

    def objective(v, width):
        w, c = v[:-1], v[-1]
        short = np.maximum(0.0, 1.0 - SIGNS * (X @ w + c))
        if loss == "hinge":
            losses, pull = (
                np.where(short < width, short**2 / (2 * width), short - width / 2),
                np.minimum(short / width, 1),
            )
        else:
            losses, pull = short**2, 2.0 * short
        slope = -s * pull * SIGNS
        value = 0.5 * omega @ w**2 + 0.5 * c**2 + s @ losses
        return value, np.append(omega * w + X.T @ slope, c + slope.sum())

    start = np.zeros(9)
    for width in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-10}
        found = optimize.minimize(objective, start, (width,), jac=True, bounds=box, method="L-BFGS-B", options=options)
        start = found.x
    return found.fun + (1e-5 * s.sum() / 2 if loss == "hinge" else 0.0)


@pytest.mark.parametrize("bounds", [None, (-0.2, 0.3)])
def test_primal_and_dual_have_one_answer(bounds):
    size = 30
    models = [
        LinearSVC(dual=dual, bounds=bounds, tol=1e-11).fit(X[:size], LABELS[:size]) for dual in (True, False, "auto")
    ]
    for model in models:
        assert model.certificate_.converged
        np.testing.assert_allclose(model.coef_, models[0].coef_, atol=1e-5)
        np.testing.assert_allclose(model.intercept_, models[0].intercept_, atol=1e-5)
    assert models[2].certificate_.columns_read == models[1].certificate_.columns_read  # more samples than features
    few = LinearSVC().fit(X[:6], [0, 1] * 3).certificate_
    assert few.columns_read == LinearSVC(dual=True).fit(X[:6], [0, 1] * 3).certificate_.columns_read


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "hinge", "dual": False}, "loss='hinge' is not supported when dual=False"),
        ({"penalty": "l1", "dual": True}, "penalty='l1' and loss='squared_hinge' is not supported when dual=True"),
        ({"penalty_weights": [0.0] * 8, "dual": True}, "weight of 0 and loss='squared_hinge' is not supported"),
        ({"penalty_weights": [1.0] * 7}, "penalty_weights must have length 8; got 7"),
        ({"bounds": (0.1, 1.0), "loss": "hinge"}, "bounds must allow the coefficient 0"),
        ({"C": 1e308}, r"C times .* must be between 1e-20 and 1e\+20; got C=1e\+308"),
        ({"C": 1e-310, "dual": True}, r"C times .* must be between 1e-20 and 1e\+20; got C=1e-310"),
        ({"C": 1e300, "loss": "hinge"}, r"C times .* must be between 0 and 1e\+60; got C=1e\+300"),
        ({"intercept_scaling": 1e200}, r"intercept_scaling must be between 1e-60 and 1e\+60; got 1e\+200"),
        ({"intercept_scaling": 1e-200}, r"intercept_scaling must be between 1e-60 .*; got 1e-200"),
    ],
)
def test_what_cannot_be_solved_is_said(params, message):
    with pytest.raises(ValueError, match=message):
        LinearSVC(**params).fit(X, LABELS)


def test_an_l1_penalty_takes_weights_and_bounds_too():
    model = LinearSVC(penalty="l1", C=0.2, penalty_weights=WEIGHTS, bounds=(-0.1, 0.1), tol=1e-9).fit(X, LABELS)
    assert model.certificate_.converged
    assert np.abs(model.coef_).max() == pytest.approx(0.1)
    assert not LinearSVC(penalty="l1", C=0.2, penalty_weights=1e6 * WEIGHTS).fit(X, LABELS).coef_.any()


@pytest.mark.parametrize(("strength", "storage", "fit_intercept"), [
    (0.01, np.asarray, False), (0.01, sparse.csr_array, True), (1.0, np.asarray, True), (1.0, sparse.csr_array, False),
    (100.0, np.asarray, True), (100.0, sparse.csr_array, False),
])  # fmt: skip
def test_many_samples_have_the_same_answer_by_either_solver(strength, storage, fit_intercept, monkeypatch):
    """By ``solver.svm``, and by the production solver where there are few samples."""
    how = {"loss": "hinge", "C": strength, "fit_intercept": fit_intercept, "tol": 1e-8}
    models = []
    for few in (10, 1000):
        monkeypatch.setattr("ascd.solver.tuning.FEW_IN_BOX", few)
        models.append(LinearSVC(**how).fit(storage(X), LABELS))
        assert models[-1].certificate_.converged
    first, second = (model.certificate_ for model in models)
    assert abs(first.objective - second.objective) <= first.gap + second.gap
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=2e-3 * np.abs(models[1].coef_).max())
