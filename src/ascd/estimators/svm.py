"""Linear support vector machines: ½‖w‖² + C·Σ s_k·loss(y_k, x_k·w), or ‖w‖₁ in place of ½‖w‖².

The coordinates of the dual are the samples.  The raw gradient of its loss is the primal weight vector, and the gap
between both problems is the certificate of either (``primal_value``).  All but a few samples in memory are
solved for by ``ascd.solver.svm``, made for boxes, all others by the production solver.
As in liblinear and scikit-learn, the intercept is the weight of a constant feature ``intercept_scaling`` and shares the
penalty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.threads import thread_limits
from ascd._core.timing import Stopwatch
from ascd.estimators._base import LinearClassifier, certificate_of
from ascd.estimators._data import Data, Training, fit_method
from ascd.estimators._parameters import FROM_ZERO, POSITIVE, Parameter, Self, StrOptions, estimator
from ascd.estimators._solving import FINEST, Followed, Settings, energy_of, one_by_one, solve_in_turn, solve_problem
from ascd.problem.penalties import Net
from ascd.problem.problem import Problem
from ascd.problem.tuning import LARGEST, LARGEST_WEIGHT
from ascd.results import Solution, Status
from ascd.solver import tuning
from ascd.solver.svm import BoxDescent, Clipped, is_box_problem, primal_value, signed_box


@estimator
class LinearSVC(LinearClassifier):
    r"""Linear support vector classification: ½‖w‖² + C·Σ s_k·loss(y_k, x_k·w).

    More than two classes are fitted one against the rest.

    Examples
    --------
    >>> from ascd import LinearSVC
    >>> model = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-10).fit([[2.0, 0.0], [-2.0, 0.0]], ["yes", "no"])
    >>> model.coef_.round(4), model.predict([[1.0, 5.0]])
    (array([[0.5, 0. ]]), array(['yes'], dtype='<U3'))
    """

    penalty: str = field(default="l2", kw_only=False)
    loss: str = field(default="squared_hinge", kw_only=False)
    dual: Any = "auto"
    C: float = 1.0
    multi_class: str = "ovr"
    intercept_scaling: float = 1
    class_weight: Any = None
    verbose: int = 0
    random_state: Any = None
    penalty_weights: Any = None
    bounds: Any = None
    solver: Any = "auto"

    _unit = 1.0
    _keeps_float32: ClassVar[bool] = False
    _checks: ClassVar[dict[str, Any]] = {"order": None, "dtype": np.float64, "accept_sparse": ["csr", "csc"]}
    _fitted: ClassVar[dict[str, str]] = {
        "certificate_": "Certificate; ``columns_read`` counts samples where the dual is solved"
    }
    _own: ClassVar[dict[str, Parameter]] = {
        "max_iter": FROM_ZERO,
        "penalty": Parameter(
            [StrOptions({"l1", "l2"})], '{"l2", "l1"}', '"l1" is ‖w‖₁ in place of ½‖w‖², for the squared hinge only.'
        ),
        "loss": Parameter([StrOptions({"hinge", "squared_hinge"})], '{"squared_hinge", "hinge"}'),
        "dual": Parameter(
            ["boolean", StrOptions({"auto"})], 'bool or "auto"',
            'Which problem is solved; the answer is the same.  "auto": for the squared hinge, the dual where there are '
            "fewer samples than features; the hinge has the dual only, L1 and penalty weights of 0 the primal only.",
        ),
        "C": Parameter([POSITIVE], "float", "Factor of the losses."),
        "multi_class": Parameter([StrOptions({"ovr"})], '{"ovr"}'),
        "intercept_scaling": Parameter(
            [POSITIVE], "float",
            "The intercept is the weight of a constant feature of this size, and penalised like the others.",
        ),
        "class_weight": Parameter(
            [dict, StrOptions({"balanced"}), None], 'dict or "balanced"',
            'Multiplies C for the samples of a class; "balanced" gives a class n_samples / (n_classes·its samples).  '
            "With more than two classes, as in liblinear and scikit-learn, each problem takes the factor of its own "
            "class, and all other samples have factor 1.",
        ),
    }  # fmt: skip

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        X is not copied where there is no intercept and the layout fits: row-major or CSR for the dual, column-major or
        CSC for the primal.
        """
        data = self._read(X, y, sample_weight)
        self._keep(self._solve(data, [self._problems(data)[0]._replace(C=self.C)]))
        return self

    def _problems(self, data: Training, ratios: Sequence[float] = (1.0,), strength: float = 1.0) -> list[Any]:
        """Return the problems of all classes, for C = 1/strength."""
        X, share = data.X, 1.0 if self.penalty == "l1" else 0.0
        penalty = self._penalty(1.0, share, X.shape[1], None)
        is_dual = self._is_dual(X.shape[0] < X.shape[1] and X.is_local, np.atleast_1d(penalty.l1 + penalty.l2))
        X = X.laid_out(by_samples=is_dual)
        if self.fit_intercept:
            X, penalty = (
                X.with_constant(self.intercept_scaling),
                with_constant(penalty, X.shape[1], Net(share, 1.0 - share)),
            )
        # the class that each problem sets against the rest: the second of two, or each of more
        positives = range(1 if len(self.classes_) == 2 else 0, len(self.classes_))
        targets = [np.where(data.y == k, 1.0, -1.0) for k in positives]
        return [Machines(X, targets, self._weights(data), penalty, is_dual, 1.0 / strength)]

    def _weights(self, data: Training) -> list[Any]:
        """Return the weights of the samples in each problem, None where all are 1."""
        count, weight = len(self.classes_), 1.0 if data.weight is None else data.weight
        if count == 2 or data.factors is None:
            return [data.balanced_weight] * (1 if count == 2 else count)
        return [np.where(data.y == k, data.factors, 1.0) * weight for k in range(count)]  # the rest as in liblinear

    def _reweighed(self, data: Training, problem: Machines, ratio: float) -> Machines:
        return problem._replace(weights=self._weights(data))

    def _fit_strength(self, data: Training, problem: Machines, strength: float) -> None:
        self._keep(self._solve(data, [problem._replace(C=1.0 / strength)]))

    def _solve(self, data: Training, problems: list[Machines], settings: Settings | None = None) -> list[Solution]:
        """Solve the problem of each class."""
        machines, settings = problems[0], settings or self._settings()
        self._check_range(machines)
        return (self._solve_dual if machines.is_dual else self._solve_primal)(machines, settings)

    def _keep(self, solutions: list[Solution], unit: float = 1.0, model: Any = None) -> None:
        super()._keep(solutions, unit, self._as_model(solutions))

    def _follow(
        self, data: Training, problem: Machines, strengths: Array, settings: Settings, x0: Array | None = None
    ) -> Followed:
        """Fit for each C = 1/strength; all classes are one solution, whose intercepts are in the user's units."""

        def fit(strength: float, before: Any) -> Solution:
            solutions = self._solve(data, [problem._replace(C=1.0 / strength)], settings)
            whole, (coefs, constants) = certificate_of(solutions, settings.tol, 1.0), self._as_model(solutions)
            return Solution(
                coefs.T, whole.objective, whole.status, whole.n_iter, whole.gap,
                zero_objective=sum(one.zero_objective for one in solutions), intercept=constants * np.ones(len(coefs)),
            )  # fmt: skip

        return one_by_one(fit, strengths, settings.tol)

    def _check_range(self, machines: Machines) -> None:
        """Raise a ValueError where C or the constant feature make data of a size that a problem does not take."""
        n_samples, C = machines.X.shape[0], machines.C
        totals = [float(n_samples if one is None else one.sum()) for one in machines.weights]
        least, most = (0.0, LARGEST) if self.loss == "hinge" else (1.0 / LARGEST_WEIGHT, LARGEST_WEIGHT)
        if C * min(totals) < least or C * max(totals) > most:
            raise ValueError(f"C times the sum of sample_weight must be between {least:g} and {most:g}; got C={C!r}")
        least, size = 0.0 if machines.is_dual else 1.0 / LARGEST, float(self.intercept_scaling)
        if self.fit_intercept and not least <= size * math.sqrt(n_samples) <= LARGEST:
            raise ValueError(f"intercept_scaling must be between {least:g} and {LARGEST:g}; got {size!r}")

    def _is_dual(self, is_wide: bool, weights: Array) -> bool:
        """Return True for the dual: L1 and coefficients without a penalty have none; the hinge has nothing else."""
        unpenalised = np.flatnonzero(weights == 0.0)
        if self.loss == "hinge":
            if self.penalty == "l1":
                raise ValueError(
                    "The combination of penalty='l1' and loss='hinge' is not supported: use squared_hinge."
                )
            if self.dual is False:
                raise ValueError("The combination of penalty='l2' and loss='hinge' is not supported when dual=False")
            if unpenalised.size:
                raise ValueError(
                    "penalty_weights must be positive where loss='hinge', whose dual has no unpenalised coefficients "
                    f"(loss='squared_hinge' takes zeros); penalty_weights[{unpenalised[0]}] is 0"
                )
            return True
        has_dual = self.penalty == "l2" and not unpenalised.size
        if self.dual is True and not has_dual:
            what = "penalty='l1'" if self.penalty == "l1" else "a penalty weight of 0"
            raise ValueError(f"The combination of {what} and loss='squared_hinge' is not supported when dual=True")
        return has_dual and (is_wide if self.dual == "auto" else bool(self.dual))

    def _solve_primal(self, machines: Machines, settings: Settings) -> list[Solution]:
        X, C = machines.X, machines.C
        strengths = [np.full(X.shape[0], C) if one is None else C * one for one in machines.weights]
        data = Training(X, machines.targets[0], strengths[0])
        problems = [self._problem(data, machines.penalty, "squared_hinge")]
        for target, strength in zip(machines.targets[1:], strengths[1:], strict=True):
            other = {} if self.class_weight is None else {"sample_weight": strength}
            problems.append(problems[0].replace(b=target, **other))
        return solve_in_turn((partial(solve_problem, one, intercept=False) for one in problems), settings)

    def _solve_dual(self, machines: Machines, settings: Settings) -> list[Solution]:
        X, C, penalty = machines.X, machines.C, machines.penalty
        weights, has_bounds = penalty.l2, np.isfinite(penalty.lower).any() or np.isfinite(penalty.upper).any()
        pairs = list(zip(machines.targets, machines.weights, strict=True))
        boxes = [signed_box(target, C, self.loss, weight) for target, weight in pairs]
        loss: Any = "squared"
        numbers, scale = np.zeros(X.shape[1]), 1.0 / weights if np.ndim(weights) else None
        if has_bounds:
            sides = [np.broadcast_to(weights * side, X.shape[1]) for side in (penalty.lower, penalty.upper)]
            loss, numbers = Clipped(*sides), np.arange(X.shape[1], dtype=np.float64)
        problem = self._problem(Training(Data(X.matrix.T), numbers, scale), boxes[0], loss)
        problems = [problem, *(problem.replace(penalty=box) for box in boxes[1:])]
        totals = [C * (X.shape[0] if weight is None else float(weight.sum())) for _, weight in pairs]
        solvers = (partial(solve_dual, *pair) for pair in zip(problems, totals, strict=True))
        solutions = solve_in_turn(solvers, settings)
        if not has_bounds or scale is None:
            return solutions
        # ω·(bound)/ω may be beyond the bound by its last digit, which the certificate counts as it does all of w
        return [replace(solution, x=np.clip(solution.x, penalty.lower, penalty.upper)) for solution in solutions]

    def _as_model(self, solutions: list[Solution]) -> tuple[Array, Any]:
        """Return coefficients, one row a problem, and intercepts in the user's units."""
        weights = np.stack([solution.x for solution in solutions])
        if not self.fit_intercept:
            return weights, 0.0
        return weights[:, :-1].copy(), self.intercept_scaling * weights[:, -1]


class Machines(NamedTuple):
    """The problems of all classes: data in the layout that is read, with the constant feature, ±1 and weights."""

    X: Any
    targets: list[Array]
    weights: list[Any]
    penalty: Any
    is_dual: bool
    C: float


def with_constant(penalty: Net, n_features: int, own: Net) -> Net:
    """Return the penalty with a last coordinate, whose penalty is ``own``."""
    return Net(*(np.append(np.broadcast_to(field, n_features), last) for field, last in zip(penalty, own, strict=True)))


def solve_dual(problem: Problem, zero_objective: float, settings: Settings) -> Solution:
    """Return the weights, their primal objective and its gap; ``zero_objective`` is that of zero weights."""
    enough, scale = settings.tol * zero_objective, problem.parts.sample.weight
    is_for_boxes = settings.solver == "auto" and problem.n_features > tuning.FEW_IN_BOX and settings.max_iter > 0

    def proved(x: Array, status: Status, **spent: Any) -> Solution:
        weights, objective, gap = primal_value(problem, x)
        status = Status.CONVERGED if gap <= enough and status is not Status.INTERRUPTED else status
        return Solution(weights, objective, status, gap=gap, zero_objective=zero_objective, **spent)

    def goal(weights: Array) -> float:  # see ``_solving`` for what it says of the weights' error
        wanted = settings.tol * energy_of(1.0 / scale, weights)
        return tuning.UNDER_GOAL * min(enough, max(wanted, FINEST * zero_objective))

    if is_for_boxes and is_box_problem(problem):
        stopwatch, limits = Stopwatch(), (settings.n_jobs, problem.n_samples * problem.n_features)
        with thread_limits(*limits, library=settings.n_jobs):
            outcome = BoxDescent(problem, np.zeros(problem.n_features))
            outcome.minimise(goal, settings.max_iter)
            status = Status.ITERATION_LIMIT if outcome.n_iter >= settings.max_iter else Status.STALLED
            status = Status.INTERRUPTED if outcome.is_interrupted else status
            reads = outcome.reads + 2 * problem.n_features
            found = proved(outcome.x, status, n_iter=outcome.n_iter, reads=reads)
        return replace(found, seconds=stopwatch.seconds, compile_seconds=stopwatch.compile_seconds)
    how: dict[str, Any] = {"energy": lambda x: energy_of(1.0 / scale, problem.evaluate(x)[2])}
    dual = solve_problem(problem, settings, intercept=False, **how)
    spent = {name: getattr(dual, name) for name in ("n_iter", "reads", "seconds", "compile_seconds")}
    return proved(dual.x, Status.STALLED if dual.converged else dual.status, **spent)
