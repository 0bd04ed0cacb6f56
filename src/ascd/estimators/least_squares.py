"""Linear regression with L1 and L2 penalties: Lasso, ElasticNet.

==============  =======================================================================
Lasso           1/(2n)·‖y − Xw − c‖² + alpha·‖w‖₁
ElasticNet      1/(2n)·‖y − Xw − c‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²)
==============  =======================================================================

With sample weights s, ‖r‖² is Σ s_k r_k² and n is Σ s_k, as in scikit-learn.  The intercept c has no penalty.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ascd.estimators._base import COMMON, COUNT, NON_NEGATIVE
from ascd.estimators._fitting import frames_to_the_user
from ascd.estimators._least_squares import LeastSquares
from ascd.estimators.paths import enet_path

if TYPE_CHECKING:
    from typing_extensions import Self


class ElasticNet(LeastSquares):
    r"""Linear regression with L1 and L2 penalties: 1/(2n)·‖y − Xw‖² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²).

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 is ordinary least squares.
    l1_ratio : float in [0, 1], default=0.5
        1 is the Lasso, 0 a ridge penalty.
    fit_intercept : bool, default=True
    precompute, copy_X, selection
        Taken as in scikit-learn and without effect: what is worth precomputing is decided by the solver, X is never
        changed, and the order of the coordinates follows from the data.
    max_iter : int, default=1000
        Most iterations of the solver (epochs for the engine's rules).
    tol : float, default=1e-6
        The fit ends when the duality gap is at most ``tol`` times the objective at zero coefficients.
    warm_start : bool, default=False
        Start from the last fit.
    positive : bool, default=False
        Only non-negative coefficients.
    random_state : int, RandomState instance, default=None
        The seed where ``solver`` is a rule of the engine; the production solver has no randomness.
    penalty_weights : array of shape (n_features,), optional
        Multiplies the penalty of each coefficient; 0 leaves it unpenalised.
    bounds : pair (lower, upper), optional
        Numbers or arrays with lower ≤ 0 ≤ upper, between which each coefficient stays.
    standardize : bool, default=False
        Penalise the coefficients of standardised features, as R's glmnet does by default: each coefficient's penalty is
        that of the coefficient times its feature's standard deviation.  No copy is made, a sparse matrix stays sparse,
        and ``coef_`` is in the units of the data.  Constant features count as if their deviation were 1.
    n_jobs : int, default=None
        Threads for passes over the data.
    solver : str or dict, default="ascd"
        "ascd" is the production solver; the name of a rule (for example "a-ascd") or a dict such as
        ``{"rule": "ascd", "oracle": "norm"}`` fits with ``ascd.minimize``.

    Attributes
    ----------
    coef_, intercept_ : the fitted model
    certificate_ : Certificate
        Gap, tolerance, objective, columns read and status, in the units of the objective above.
    dual_gap_, n_iter_, sparse_coef_, n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from ascd.estimators import ElasticNet
    >>> model = ElasticNet(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> model.coef_.round(4)
    array([0.4458, 0.4458])
    """

    path = staticmethod(enet_path)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **COMMON,
        "alpha": [NON_NEGATIVE],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "precompute": ["boolean", "array-like"],
        "max_iter": [COUNT, None],
        "copy_X": ["boolean"],
        "warm_start": ["boolean"],
        "positive": ["boolean"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_weights: Any = None,
        bounds: Any = None,
        n_jobs: int | None = None,
        solver: Any = "ascd",
        standardize: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.n_jobs = n_jobs
        self.solver = solver
        self.standardize = standardize

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Not copied where it is column-major float64 or CSC float64.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,) or a number, optional
            Non-negative weights.
        check_input : bool, default=True
            Taken as in scikit-learn and without effect: looking at the input costs no pass of its own.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def _strength(self, alpha: float, total: float) -> tuple[float, float, float]:
        if alpha == 0.0:
            name = type(self).__name__
            warnings.warn(
                f"{name} with alpha=0 has no penalty: this is ordinary least squares", stacklevel=frames_to_the_user()
            )
        return alpha * total, self._ratio(), 1.0 / total

    def _ratio(self) -> float:
        return self.l1_ratio


class Lasso(ElasticNet):
    r"""Linear regression with an L1 penalty: 1/(2n)·‖y − Xw‖² + alpha·‖w‖₁.

    Parameters are those of ``ElasticNet`` without ``l1_ratio``.

    Examples
    --------
    >>> from ascd import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> float(round(model.coef_.sum(), 4)), float(round(model.intercept_, 4))
    (0.85, 0.15)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: constraint for name, constraint in ElasticNet._parameter_constraints.items() if name != "l1_ratio"
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        penalty_weights: Any = None,
        bounds: Any = None,
        n_jobs: int | None = None,
        solver: Any = "ascd",
        standardize: bool = False,
    ) -> None:
        super().__init__(
            alpha=alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            max_iter=max_iter,
            copy_X=copy_X,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
            penalty_weights=penalty_weights,
            bounds=bounds,
            n_jobs=n_jobs,
            solver=solver,
            standardize=standardize,
        )

    def _ratio(self) -> float:
        return 1.0
