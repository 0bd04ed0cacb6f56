"""What people who come from R's glmnet look for: standardised features, an offset, the one-standard-error rule."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.optimize import minimize as scipy_minimize
from sklearn import linear_model
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ascd

#: What would have kernels of its own runs as plain Python; other tests compile what the rest needs.
OF_THEIR_OWN = ("ElasticNet", "Ridge", "elastic_net", "weights_and_bounds", "offset")


@pytest.fixture(autouse=True)
def compiled_as_elsewhere(request, monkeypatch):
    is_interpreted = any(name in request.node.name for name in OF_THEIR_OWN)
    monkeypatch.setattr("ascd._base.jit.is_interpreted", is_interpreted)


N, P = 60, 8
SCALES = np.array([0.01, 0.3, 1.0, 5.0, 100.0, 2.0, 7.0, 0.5])


def data(seed=0, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) * SCALES + 3.0 * SCALES
    X *= rng.random((N, P)) < density
    signal = (X / SCALES)[:, :3] @ [1.0, -2.0, 0.5]
    return X, signal + 0.3 * rng.standard_normal(N), rng.integers(1, 4, N).astype(float)


def labels(y):
    return np.where(y > np.median(y), "yes", "no")


def counts(y):
    return np.round(np.exp(0.3 * (y - y.mean()))).astype(float)


OURS = {
    "Lasso": (ascd.Lasso, linear_model.Lasso, {"alpha": 0.1}, lambda y: y),
    "ElasticNet": (ascd.ElasticNet, linear_model.ElasticNet, {"alpha": 0.1, "l1_ratio": 0.6}, lambda y: y),
    "Ridge": (ascd.Ridge, linear_model.Ridge, {"alpha": 3.0}, lambda y: y),
    "HuberRegressor": (ascd.HuberRegressor, linear_model.HuberRegressor, {"alpha": 1.0}, lambda y: y),
    "PoissonRegressor": (ascd.PoissonRegressor, linear_model.PoissonRegressor, {"alpha": 0.5}, counts),
    "LogisticRegression": (ascd.LogisticRegression, linear_model.LogisticRegression, {"C": 0.5}, labels),
}


@pytest.mark.parametrize("stored", [np.asarray, np.asfortranarray, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("name", OURS)
def test_standardize_is_the_fit_of_standardised_features(name, stored):
    ours, theirs, parameters, target = OURS[name]
    X, y, weight = data(density=0.7)
    y = target(y)
    model = ours(standardize=True, tol=1e-11, **parameters).fit(stored(X), y, sample_weight=weight)
    scaler = StandardScaler().fit(X, sample_weight=weight)
    peer = theirs(tol=1e-10, max_iter=100_000, **parameters).fit(scaler.transform(X), y, sample_weight=weight)
    expected = np.ravel(peer.coef_) / scaler.scale_
    assert np.ravel(model.coef_) * scaler.scale_ == pytest.approx(expected * scaler.scale_, rel=1e-4, abs=1e-5)
    assert np.ravel(model.intercept_) == pytest.approx(
        np.ravel(peer.intercept_) - expected @ scaler.mean_, rel=1e-4, abs=1e-5
    )
    assert model.certificate_.converged


def test_standardize_changes_the_fit():
    X, y, _ = data()
    plain, standard = ascd.Lasso(alpha=0.1).fit(X, y), ascd.Lasso(alpha=0.1, standardize=True).fit(X, y)
    assert not np.allclose(plain.coef_, standard.coef_)


def test_standardize_copies_nothing_and_goes_with_weights_and_bounds():
    X, y, _ = data()
    X = np.asfortranarray(X)
    before, deviations = X.copy(), X.std(axis=0)
    factors = np.array([0.0, 1.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.0])
    model = ascd.Lasso(alpha=0.1, standardize=True, penalty_weights=factors, bounds=(-3.0, 3.0), tol=1e-11).fit(X, y)
    plain = ascd.Lasso(alpha=0.1, penalty_weights=factors * deviations, bounds=(-3.0, 3.0), tol=1e-11).fit(X, y)
    assert model.coef_ == pytest.approx(plain.coef_)
    assert np.abs(model.coef_).max() <= 3.0
    assert np.array_equal(X, before)


@pytest.mark.parametrize("how", [{"positive": True}, {"solver": "a-ascd"}])
def test_both_parts_of_the_elastic_net_are_standardised_everywhere(how):
    X, y = (given[:30] for given in data()[:2])
    scaler = StandardScaler().fit(X)
    model = ascd.ElasticNet(alpha=0.1, l1_ratio=0.4, standardize=True, tol=1e-10, **how).fit(X, y)
    plain = ascd.ElasticNet(alpha=0.1, l1_ratio=0.4, tol=1e-10, **how).fit(scaler.transform(X), y)
    assert model.coef_ * scaler.scale_ == pytest.approx(plain.coef_, rel=1e-4, abs=1e-5)
    assert model.certificate_.objective == pytest.approx(plain.certificate_.objective, rel=1e-8)


def test_a_constant_feature_stays_out_of_a_standardised_fit():
    X, y, _ = data()
    X[:, 4] = 7.0
    model = ascd.Lasso(alpha=0.1, standardize=True).fit(X, y)
    assert model.coef_[4] == 0.0
    assert model.coef_[0] != 0.0


@pytest.mark.parametrize("stored", [np.asarray, sparse.csc_array])
def test_folds_are_standardised_by_what_they_fit(stored):
    X, y, _ = data(density=0.7)
    alphas, cv = np.geomspace(1.0, 0.01, 7), KFold(3)
    ours = ascd.LassoCV(standardize=True, alphas=alphas, cv=cv, tol=1e-10).fit(stored(X), y)
    pipeline = make_pipeline(StandardScaler(), linear_model.Lasso(tol=1e-8, max_iter=100_000))
    search = GridSearchCV(pipeline, {"lasso__alpha": alphas}, cv=cv, scoring="neg_mean_squared_error").fit(X, y)
    errors = np.array([-search.cv_results_[f"split{k}_test_score"] for k in range(3)]).T
    assert ours.mse_path_ == pytest.approx(errors, rel=1e-4)
    assert ours.alpha_ == pytest.approx(search.best_params_["lasso__alpha"])


def test_logistic_folds_are_standardised_by_what_they_fit():
    X, y, _ = data()
    y, cv, Cs = labels(y), KFold(3), [0.05, 0.5]
    ours = ascd.LogisticRegressionCV(Cs=Cs, cv=cv, standardize=True, scoring="neg_log_loss", tol=1e-8).fit(X, y)
    for place, C in enumerate(Cs):
        pipeline = make_pipeline(StandardScaler(), linear_model.LogisticRegression(C=C, tol=1e-8))
        scores = cross_val_score(pipeline, X, y, cv=cv, scoring="neg_log_loss")
        assert ours.scores_[:, 0, place] == pytest.approx(scores, rel=1e-4)


def test_paths_are_those_of_standardised_features():
    X, y, weight = data()
    scaled = StandardScaler(with_mean=False).fit(X, sample_weight=weight)
    alphas, coefs, _ = ascd.lasso_path(X, y, standardize=True, alphas=5, sample_weight=weight, tol=1e-10)
    theirs, expected, _ = ascd.lasso_path(scaled.transform(X), y, alphas=5, sample_weight=weight, tol=1e-10)
    assert alphas == pytest.approx(theirs)
    assert coefs * scaled.scale_[:, None] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    ours, _, _ = ascd.logistic_path(X, labels(y), standardize=True, Cs=[0.1, 1.0], tol=1e-10)
    scaler = StandardScaler().fit(X)
    peer, _, _ = ascd.logistic_path(scaler.transform(X), labels(y), Cs=[0.1, 1.0], tol=1e-10)
    assert ours[:, :-1] * scaler.scale_ == pytest.approx(peer[:, :-1], rel=1e-4, abs=1e-6)


# --- offsets ---


def offset_of(seed=1):
    return np.random.default_rng(seed).normal(0.0, 1.0, N)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csc_array])
def test_an_exposure_is_a_weight_and_a_rate(stored):
    """exp(z + log E) − y·(z + log E) = E·(exp(z) − (y/E)·z) + constant: scikit-learn's way to say it."""
    X, y, _ = data()
    X, y, exposure = stored(X / SCALES - 3.0), counts(y), np.exp(offset_of())
    ours = ascd.PoissonRegressor(alpha=0.2, tol=1e-11).fit(X, y, offset=np.log(exposure))
    peer = linear_model.PoissonRegressor(alpha=0.2 * N / exposure.sum(), tol=1e-10, max_iter=10_000)
    peer.fit(X, y / exposure, sample_weight=exposure)
    assert ours.coef_ == pytest.approx(peer.coef_, rel=1e-4, abs=1e-6)
    assert ours.intercept_ == pytest.approx(peer.intercept_, rel=1e-4)
    assert ours.predict(X, offset=np.log(exposure)) == pytest.approx(exposure * peer.predict(X), rel=1e-4)
    assert ours.certificate_.converged
    scored = d2_tweedie_score(y, exposure * peer.predict(X), power=1)
    assert ours.score(X, y, offset=np.log(exposure)) == pytest.approx(scored, rel=1e-3)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_logistic_regression_with_an_offset_is_the_minimum(l1_ratio):
    X, y, _ = data()
    X, y, known = X / SCALES - 3.0, labels(y), offset_of()
    model = ascd.LogisticRegression(C=0.5, l1_ratio=l1_ratio, tol=1e-11).fit(X, y, offset=known)
    sign = np.where(y == "yes", 1.0, -1.0)

    def objective(both):  # positive and negative parts: smooth inside their bounds, for L1 too
        w, c = both[:P] - both[P:-1], both[-1]
        loss = np.logaddexp(0.0, -sign * (X @ w + c + known)).sum()
        return loss + 2.0 * (l1_ratio * both[:-1].sum() + (1.0 - l1_ratio) / 2.0 * w @ w)

    limits = [(0.0, None)] * (2 * P) + [(None, None)]
    peer = scipy_minimize(objective, np.zeros(2 * P + 1), bounds=limits, options={"maxfun": 10**6, "maxiter": 10**4})
    assert model.certificate_.objective <= peer.fun + 1e-9 * abs(peer.fun)
    assert model.certificate_.objective == pytest.approx(peer.fun, rel=1e-5)
    assert model.certificate_.objective - model.certificate_.gap <= peer.fun


def test_predictions_add_the_offset():
    X, y, _ = data()
    y, known = labels(y), 3.0 * offset_of()
    model = ascd.LogisticRegression().fit(X, y, offset=known)
    odds = X @ model.coef_[0] + model.intercept_[0] + known
    assert model.decision_function(X, offset=known) == pytest.approx(odds)
    assert model.predict_proba(X, offset=known)[:, 1] == pytest.approx(1.0 / (1.0 + np.exp(-odds)))
    assert np.exp(model.predict_log_proba(X, offset=known)) == pytest.approx(model.predict_proba(X, offset=known))
    assert (model.predict(X, offset=known) == np.where(odds > 0.0, "yes", "no")).all()
    assert model.score(X, y, offset=known) == np.mean(model.predict(X, offset=known) == y)
    assert model.predict_proba(X, offset=np.zeros(N)) == pytest.approx(model.predict_proba(X))


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_cross_validation_fits_and_scores_with_the_offset(stored):
    size = 30
    X, y, _ = data()
    X, y, known, cv = (X / SCALES - 3.0)[:size], labels(y)[:size], 2.0 * offset_of()[:size], KFold(3)
    how = {"Cs": [0.1, 1.0], "cv": cv, "scoring": "neg_log_loss", "tol": 1e-12}
    found = ascd.LogisticRegressionCV(**how).fit(stored(X), y, offset=known)
    for fold, (train, test) in enumerate(cv.split(X)):
        model = ascd.LogisticRegression(C=1.0, tol=1e-12).fit(X[train], y[train], offset=known[train])
        share = model.predict_proba(X[test], offset=known[test])[np.arange(test.size), (y[test] == "yes").astype(int)]
        assert found.scores_[fold, 0, 1] == pytest.approx(np.log(share).mean(), rel=1e-5)
    last = ascd.LogisticRegression(C=found.C_, tol=1e-10).fit(X, y, offset=known)
    assert found.coef_ == pytest.approx(last.coef_, rel=1e-4, abs=1e-5)
    truth = np.log(last.predict_proba(X, offset=known)[np.arange(size), (y == "yes").astype(int)]).mean()
    assert found.score(stored(X), y, offset=known) == pytest.approx(truth, rel=1e-4)


def test_paths_take_offsets():
    X, y, _ = data()
    X, y, known = X / SCALES - 3.0, labels(y), offset_of()
    coefs, _, _ = ascd.logistic_path(X, y, Cs=[0.1, 1.0], l1_ratio=1.0, offset=known, tol=1e-10)
    model = ascd.LogisticRegression(C=1.0, l1_ratio=1.0, tol=1e-10).fit(X, y, offset=known)
    assert coefs[1] == pytest.approx([*model.coef_[0], *model.intercept_], rel=1e-4, abs=1e-6)


def test_offsets_are_routed():
    X, y, _ = data()
    X, y, known = X / SCALES - 3.0, counts(y), offset_of()
    with sklearn.config_context(enable_metadata_routing=True):
        model = ascd.PoissonRegressor(alpha=0.1).set_fit_request(offset=True).set_score_request(offset=True)
        routed = cross_val_score(model, X, y, cv=KFold(3), params={"offset": known})
    by_hand = [
        ascd.PoissonRegressor(alpha=0.1).fit(X[a], y[a], offset=known[a]).score(X[b], y[b], offset=known[b])
        for a, b in KFold(3).split(X)
    ]
    assert routed == pytest.approx(by_hand)


def test_float32_fits_with_an_offset_are_certified_as_they_are():
    X, y, _ = data()
    X, y, known = (X / SCALES - 3.0).astype(np.float32), labels(y), offset_of()
    model = ascd.LogisticRegression(C=0.5).fit(X, y, offset=known)
    assert model.coef_.dtype == np.float32
    exact = ascd.LogisticRegression(C=0.5, tol=1e-12).fit(X.astype(float), y, offset=known)
    excess = model.certificate_.objective - exact.certificate_.objective
    assert -1e-12 <= excess <= model.certificate_.gap


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (np.zeros(N - 1), "offset must have length 60; got 59"),
        (np.full(N, np.nan), "offset must be finite"),
        (np.zeros((N, 2)), "offset must be one-dimensional"),
        (["a"] * N, "offset must"),
    ],
)
def test_wrong_offsets_are_named(offset, said):
    X, y, _ = data()
    with pytest.raises((ValueError, TypeError), match=said):
        ascd.PoissonRegressor().fit(X, counts(y), offset=offset)
    with pytest.raises((ValueError, TypeError), match=said):
        ascd.LogisticRegression().fit(X, labels(y), offset=offset)


def test_an_offset_is_for_two_classes():
    X, y, _ = data()
    three = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    with pytest.raises(ValueError, match="offset must be None unless there are two classes; there are 3"):
        ascd.LogisticRegression().fit(X, three, offset=np.zeros(N))
    with pytest.raises(ValueError, match="offset must be None where there are more than two classes; got 3"):
        ascd.LogisticRegression().fit(X, three).decision_function(X, offset=np.zeros(N))


# --- one standard error ---


def test_one_standard_error_fits_the_simpler_model():
    X, y, _ = data()
    X = X / SCALES
    best, simple = (ascd.LassoCV(alphas=40, cv=5, choose=choose, tol=1e-10).fit(X, y) for choose in ("best", "1se"))
    assert simple.alpha_ == simple.alpha_1se_ == best.alpha_1se_ > best.alpha_ == simple.alpha_best_
    assert simple.coef_ == pytest.approx(ascd.Lasso(alpha=best.alpha_1se_, tol=1e-10).fit(X, y).coef_, abs=1e-6)
    means = best.mse_path_.mean(axis=1)
    row = int(np.argmin(means))
    limit = means[row] + best.mse_path_[row].std(ddof=1) / np.sqrt(5)
    assert simple.alpha_ == best.alphas_[means <= limit].max()


def test_one_standard_error_for_classes():
    X, y, _ = data()
    best, simple = (
        ascd.LogisticRegressionCV(
            Cs=np.geomspace(0.05, 50.0, 12), l1_ratios=(1.0,), cv=4, choose=choose, scoring="neg_log_loss"
        ).fit(X, labels(y))
        for choose in ("best", "1se")
    )
    assert simple.C_ == simple.C_1se_ == best.C_1se_ < best.C_ == simple.C_best_
    again = ascd.LogisticRegression(C=simple.C_, l1_ratio=1.0, tol=1e-10).fit(X, labels(y))
    assert simple.coef_ == pytest.approx(again.coef_, rel=1e-4, abs=1e-5)
    with pytest.raises(ValueError, match="choose must be 'best' where refit=False"):
        ascd.LogisticRegressionCV(refit=False, choose="1se").fit(X, labels(y))
    with pytest.raises(ValueError, match="'choose' parameter of LassoCV must be"):
        ascd.LassoCV(choose="lambda.min").fit(X, y)
