"""Linear support vector machines: ½‖w‖² + C·Σ s_k·loss(y_k, x_k·w), or ‖w‖₁ in place of ½‖w‖².

The coordinates of the dual are the samples; the gap between the two is the certificate of either.
As in liblinear and scikit-learn, the intercept is the weight of a constant feature ``intercept_scaling`` and shares the
penalty.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ascd._core.checks import Array, as_parameter
from ascd.estimators._base import COMMON, NON_NEGATIVE_COUNT, as_threads
from ascd.estimators._classes import LinearClassifier, liblinear_class_weights, positives, signs, times
from ascd.estimators._elsewhere import is_elsewhere
from ascd.estimators._fitting import certificate_of, check_finite, warn_unless_converged
from ascd.estimators._given import fit_method
from ascd.estimators._layouts import by_features, by_samples, with_constant
from ascd.estimators._penalty import as_bounds, regulariser
from ascd.estimators._solving import in_turn, solve_problem
from ascd.estimators._svm_dual import solve_dual
from ascd.problem.problem import Problem
from ascd.problem.tuning import BEYOND_BOUNDS, FAR, SMALLEST_SQUARE
from ascd.svm import Clipped, signed_box

if TYPE_CHECKING:
    from typing_extensions import Self


class LinearSVC(LinearClassifier):
    r"""Linear support vector classification: ½‖w‖² + C·Σ s_k·loss(y_k, x_k·w).

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l1" has ‖w‖₁ in place of ½‖w‖² and takes the squared hinge only.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    dual : bool or "auto", default="auto"
        Which problem is solved; the answer is the same.  "auto": for the squared hinge, the dual where there are fewer
        samples than features; the hinge has the dual only, L1 and penalty weights of 0 the primal only.
    tol : float, default=1e-6
        The fit ends when the duality gap is at most ``tol`` times C·Σ s_k, the objective at w = 0; with the L2 penalty
        also, as far as float64 allows, when the relative error of the coefficients is at most √tol.
    C : float, default=1.0
    multi_class : {"ovr"}
        More than two classes are fitted one against the rest.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        The intercept is the weight of a constant feature of this size, and penalised like the others.
    class_weight : dict or "balanced", optional
        Multiplies C for the samples of a class; "balanced" gives a class n_samples / (n_classes·its samples).  With
        more than two classes, as in liblinear and scikit-learn, each problem takes the factor of its own class, and
        all other samples have factor 1.
    verbose : int, default=0
        Without effect.
    random_state, solver, n_jobs : as in ``ElasticNet``
    max_iter : int, default=1000
    penalty_weights : array of shape (n_features,), optional
        Multiplies the penalty of each coefficient.  With loss="hinge" only positive numbers; otherwise 0 leaves a
        coefficient unpenalised.
    bounds : pair (lower, upper), optional
        As in ``ElasticNet``; the intercept has none.

    Attributes
    ----------
    classes_ : the labels
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : array of shape (1,) or (n_classes,); 0.0 where it is not fitted
    n_iter_ : the most iterations of a problem
    certificate_ : Certificate
        ``columns_read`` counts samples where the dual is solved.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ascd import LinearSVC
    >>> model = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-10).fit([[2.0, 0.0], [-2.0, 0.0]], ["yes", "no"])
    >>> model.coef_.round(4), model.predict([[1.0, 5.0]])
    (array([[0.5, 0. ]]), array(['yes'], dtype='<U3'))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: constraint for name, constraint in COMMON.items() if name != "standardize"
    } | {
        "max_iter": [NON_NEGATIVE_COUNT],
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "multi_class": [StrOptions({"ovr"})],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "verbose": ["verbose"],
    }

    _keeps_float32 = False

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        penalty_weights: Any = None,
        bounds: Any = None,
        n_jobs: int | None = None,
        solver: Any = "ascd",
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.n_jobs = n_jobs
        self.solver = solver

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Not copied where there is no intercept and the layout fits: row-major or CSR for the dual, column-major or
            CSC for the primal.
        y : labels of shape (n_samples,)
        sample_weight : array of shape (n_samples,) or a number, optional

        Returns
        -------
        self
        """
        X, y, weight = self._read(X, y, sample_weight, order=None, dtype=np.float64, accept_sparse=["csr", "csc"])
        codes = self._encode(y, weight)
        weights = self._class_weights(codes, weight)
        is_dual = self._is_dual(X.shape[0] < X.shape[1] and not is_elsewhere(X))
        X = by_samples(X) if is_dual else by_features(X)
        restrictions = self._restrictions(X.shape[1])
        totals = [float(X.shape[0] if one is None else one.sum()) for one in weights]
        self._check_range(totals, X.shape[0], is_dual)
        if self.fit_intercept:
            X = with_constant(X, self.intercept_scaling)
        fit = self._fit_dual if is_dual else self._fit_primal
        self._keep(fit(X, list(signs(codes, len(self.classes_))), weights, *restrictions))
        return self

    def _check_range(self, totals: list[float], n_samples: int, is_dual: bool) -> None:
        """What float64 cannot hold because of C or of the constant feature is not told as a fault of X."""
        largest = sys.float_info.max
        least, most = (0.0, BEYOND_BOUNDS) if self.loss == "hinge" else (SMALLEST_SQUARE, FAR if is_dual else largest)
        if self.C * min(totals) < least or self.C * max(totals) > 0.5 * most:
            raise ValueError(
                f"C times the sum of sample_weight must be between {least:g} and {0.5 * most:g}, for float64; "
                f"got C={self.C!r}"
            )
        least, size = 0.0 if is_dual else SMALLEST_SQUARE, float(self.intercept_scaling)
        if self.fit_intercept and not least <= size * size * n_samples < largest:
            raise ValueError(f"intercept_scaling must have a square within float64's range; got {size!r}")

    def _class_weights(self, codes: Array, weight: Array | None) -> list[Any]:
        """The weights of the samples in each problem."""
        if self.class_weight is None:
            return [weight] * len(positives(len(self.classes_)))
        factors = liblinear_class_weights(self.class_weight, self.classes_, codes, weight)
        return [times(one, weight) for one in factors]

    def _is_dual(self, is_wide: bool) -> bool:
        """Is the dual solved?  L1 and coefficients without a penalty have none; the hinge has nothing else."""
        if self.loss == "hinge":
            self._refuse_for_the_hinge()
            return True
        has_dual = self.penalty == "l2" and not self._spared().size
        if self.dual is True and not has_dual:
            what = "penalty='l1'" if self.penalty == "l1" else "a penalty weight of 0"
            raise ValueError(f"The combination of {what} and loss='squared_hinge' is not supported when dual=True")
        return has_dual and (is_wide if self.dual == "auto" else bool(self.dual))

    def _refuse_for_the_hinge(self) -> None:
        if self.penalty == "l1":
            raise ValueError("The combination of penalty='l1' and loss='hinge' is not supported: use squared_hinge.")
        if self.dual is False:
            raise ValueError("The combination of penalty='l2' and loss='hinge' is not supported when dual=False")
        if self._spared().size:
            raise ValueError(
                "penalty_weights must be positive where loss='hinge', whose dual has no unpenalised coefficients "
                f"(loss='squared_hinge' takes zeros); penalty_weights[{self._spared()[0]}] is 0"
            )

    def _spared(self) -> Array:
        """The coefficients without penalty."""
        if self.penalty_weights is None:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(np.atleast_1d(self.penalty_weights) == 0.0)

    def _restrictions(self, n_features: int) -> tuple[Any, Any]:
        """Penalty weights and bounds with one more entry for the constant feature; None where there are none."""
        free = int(self.fit_intercept)
        weights, bounds = self.penalty_weights, self.bounds
        if weights is not None:
            weights = np.broadcast_to(as_parameter(weights, "penalty_weights", n_features, low=0.0), n_features)
            weights = np.append(weights, np.ones(free))
        if bounds is not None:
            sides = [np.broadcast_to(side, n_features) for side in as_bounds(bounds, n_features)]
            bounds = tuple(np.append(side, [end] * free) for side, end in zip(sides, (-np.inf, np.inf), strict=True))
        return weights, bounds

    def _fit_primal(
        self, X: Any, targets: list[Array], sample_weights: list[Any], weights: Any, bounds: Any
    ) -> list[Any]:
        strengths = [np.full(X.shape[0], self.C) if one is None else self.C * one for one in sample_weights]
        share = 1.0 if self.penalty == "l1" else 0.0
        penalty = regulariser(share, 1.0 - share, X.shape[1], weights=weights, bounds=bounds)
        problem = self._problem(X, targets[0], "squared_hinge", penalty, strengths[0])
        problems = [problem]
        for target, strength, one in zip(targets[1:], strengths[1:], sample_weights[1:], strict=True):
            other = {} if one is sample_weights[0] else {"sample_weight": strength}
            problems.append(problem.replace(b=target, **other))
        return in_turn((partial(solve_problem, one, intercept=False) for one in problems), self._settings())

    def _fit_dual(
        self, X: Any, targets: list[Array], sample_weights: list[Any], weights: Any, bounds: Any
    ) -> list[Any]:
        pairs = list(zip(targets, sample_weights, strict=True))
        boxes = [signed_box(target, self.C, self.loss, weight) for target, weight in pairs]
        loss: Any = "squared"
        numbers, scale = np.zeros(X.shape[1]), None if weights is None else 1.0 / weights
        if bounds is not None:
            sides = bounds if weights is None else [weights * side for side in bounds]
            loss, numbers = Clipped(*sides), np.arange(X.shape[1], dtype=np.float64)
        threads, samples = as_threads(self.n_jobs), X.T
        problem = self._built(X, partial(Problem, samples, numbers, loss, boxes[0], scale, n_jobs=threads))
        problems = [problem, *(problem.replace(penalty=box) for box in boxes[1:])]
        totals = [self.C * (X.shape[0] if weight is None else float(weight.sum())) for weight in sample_weights]
        solvers = (partial(solve_dual, *pair) for pair in zip(problems, totals, strict=True))
        solutions = in_turn(solvers, self._settings())
        if bounds is None or weights is None:
            return solutions
        # ω·(bound)/ω may be beyond the bound by its last digit, which the certificate counts as it does all of w
        return [replace(solution, x=np.clip(solution.x, *bounds)) for solution in solutions]

    def _keep(self, solutions: list[Any]) -> None:
        weights = np.stack([solution.x for solution in solutions])
        check_finite("LinearSVC", weights)
        self.coef_ = weights[:, :-1].copy() if self.fit_intercept else weights
        constants = self.intercept_scaling * weights[:, -1]
        self.intercept_ = constants if self.fit_intercept else 0.0
        self.n_iter_ = max(self._count(solution) for solution in solutions)
        self.certificate_ = certificate_of(solutions, self.tol, 1.0)
        warn_unless_converged(self, self.certificate_)
