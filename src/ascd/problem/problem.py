"""The problem: minimise F(x) = f(Ax) + Σ_j Ψ_j(x_j) with f(z) = Σ_k s_k · loss(b_k, o_k + z_k).

The offset o is 0 unless it is given (``losses.shifted``).  There is no 1/n anywhere (½‖Ax − b‖² for the squared loss);
scikit-learn's conventions are the estimators' matter.

With v = ∇f(Ax), kept as the *slope*, a gradient entry is one inner product, ∇_j = ⟨a_j, v⟩.  How fast it can
change follows from 0 ≤ loss'' ≤ M: with the norms ‖a_j‖² = Σ_k s_k a_kj²,

    |∂∇_j/∂x_i| ≤ M‖a_i‖‖a_j‖,       L_j = M‖a_j‖².

For a quadratic loss the change is known exactly, γ·M·⟨a_i, a_j⟩.  For others ⟨a_i, H a_j⟩ lies within
M/2·‖a_i‖‖a_j‖ of M/2·⟨a_i, a_j⟩, since H − M/2·I has norm at most M/2.  Both are ``gain``·product ± ``slack``·norms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_finite_vector
from ascd._core.jit import at, kernel
from ascd._core.threads import as_n_jobs, crew
from ascd.matrix.base import Design
from ascd.matrix.open import open_design
from ascd.problem.first_pass import FirstPass, read_first
from ascd.problem.losses import as_loss
from ascd.problem.losses.formulas import weighted_value
from ascd.problem.losses.shifted import Stated
from ascd.problem.norms import as_weights, check_norms
from ascd.problem.penalties import as_penalty
from ascd.problem.proof import Place, Products, prove
from ascd.problem.recession import check_bounded


class Sample(NamedTuple):
    """Targets b and weights s (the number 1.0 where all weigh the same)."""

    target: Array
    weight: Any


class Parts(NamedTuple):
    """What compiled code sees of a problem."""

    matrix: Any
    sample: Sample
    loss: Any
    penalty: Any
    norm: Array  # ‖a_j‖, weighted by the samples
    lipschitz: Array  # L_j > 0
    largest: float  # L = max L_j
    gain: float
    slack: float
    target_error: float = 0.0  # how far the targets are from b − o, in the norm of the columns


class Problem:
    """F(x) = Σ_k s_k·loss(b_k, o_k + (Ax)_k) + Σ_j Ψ_j(x_j).

    Parameters
    ----------
    A : array, sparse matrix or DataFrame of shape (n_samples, n_features), or a design
        Taken dense or sparse as it comes; converted at most once and never modified.  A design (``ascd.matrix.base``)
        answers questions about its columns, wherever they are.
    b : array of length n_samples
        Targets; labels −1 and +1 for classification losses.
    loss : {"squared", "logistic", "huber", "squared_hinge", "poisson"} or a loss object
    penalty : Zero, L1, L2, L1L2, Box or a penalty object; None for none
    sample_weight : array of length n_samples, optional
        Non-negative weights s.
    offset : array of length n_samples, optional
        Known parts o of the predictions, which no coefficient changes: the logarithm of the exposure for counts, the
        predictions of another model; 0 by default.  ``image`` and the slopes are those of Ax, without it.
    n_jobs : threads for the first pass over the data; −1 for all processors, −2 for all but one

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> problem.objective([2.0, 0.0, -1.0])
    4.5
    >>> problem.gap([2.0, 0.0, -1.0]) < 1e-12
    True
    """

    def __init__(
        self, A: Any, b: Any, loss: Any = "squared", penalty: Any = None, sample_weight: Any = None, offset: Any = None,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        loss = as_loss(loss)
        threads = as_n_jobs(n_jobs)
        self.design: Design = open_design(A)
        self.n_samples, self.n_features = self.design.shape
        self.stated = Stated.of(loss, b, offset, self.n_samples)
        loss, target = self.stated.as_parts()
        penalty = as_penalty(penalty, self.n_features)
        sample = Sample(target, as_weights(sample_weight, self.n_samples))
        with crew(threads):
            self.first = read_first(self.design, sample, loss)
        self.parts = _assemble(self.design, self.first, sample, loss, penalty, self.stated)
        check_bounded(self.design, self.parts)

    def __repr__(self) -> str:
        loss, penalty = (type(part).__name__ for part in (self.stated.loss, self.parts.penalty))
        storage = type(self.design if self.parts.matrix is None else self.parts.matrix).__name__
        offset = "" if self.stated.offset is None else ", offset"
        return f"Problem({self.n_samples} x {self.n_features} {storage}, loss={loss}, penalty={penalty}{offset})"

    def replace(
        self, *, b: Any = None, loss: Any = None, penalty: Any = None, sample_weight: Any = None, offset: Any = None
    ) -> Problem:
        """The same problem with another target, loss, penalty, weights or offset; it shares A with this one.

        A pass over A is needed only for other weights or a loss with another curvature bound.  Held-out samples of a
        cross-validation are samples of weight 0: so all folds share one matrix.

        Examples
        --------
        >>> import numpy as np, ascd
        >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
        >>> problem.replace(penalty=ascd.L1(2.0)).objective([1.0, 0.0, 0.0])
        6.5
        >>> problem.replace(sample_weight=[1.0, 0.0, 0.0]).objective([0.0, 0.0, 0.0])
        4.5
        """
        other, old = Problem.__new__(Problem), self.parts
        other.design, (other.n_samples, other.n_features) = self.design, self.design.shape
        was = self.stated
        other.stated = Stated.of(
            was.loss if loss is None else as_loss(loss),
            was.target if b is None else b,
            was.offset if offset is None else offset,
            self.n_samples,
        )
        new_loss, target = other.stated.as_parts()
        penalty = old.penalty if penalty is None else as_penalty(penalty, self.n_features)
        if sample_weight is None and _same_curvature(new_loss, old.loss):
            sample, error = Sample(target, old.sample.weight), other.stated.target_error(old.sample.weight)
            other.parts = old._replace(sample=sample, loss=new_loss, penalty=penalty, target_error=error)
            is_same = b is None and loss is None and offset is None
            other.first = self.first if is_same else self.first.without_products()
        else:
            weight = old.sample.weight if sample_weight is None else as_weights(sample_weight, self.n_samples)
            sample = Sample(target, weight)
            other.first = read_first(self.design, sample, new_loss)
            other.parts = _assemble(self.design, other.first, sample, new_loss, penalty, other.stated)
        check_bounded(self.design, other.parts)
        return other

    def image(self, x: Any) -> Array:
        """A·x."""
        return self.evaluate(x)[1]

    def objective(self, x: Any) -> float:
        """F(x)."""
        return self.evaluate(x)[0]

    def gradient(self, x: Any) -> Array:
        """∇f: the gradient of the smooth part, one entry a coordinate."""
        return self._products(self.evaluate(x)[2])

    def partial(self, x: Any, j: int) -> float:
        """∇_j f(x), reading one column."""
        if not 0 <= j < self.n_features:
            raise IndexError(f"j must be in 0 .. {self.n_features - 1}; got {j}")
        return float(self.design.dots(np.array([j]), self.evaluate(x)[2])[0])

    def gap(self, x: Any) -> float:
        """F(x) minus the best dual value found at x: an upper bound on F(x) − min F."""
        point = self._point(x)
        _, image, slope = self.evaluate(point)
        curvature = np.empty(self.n_samples)
        fill_curvatures(self.parts, image, curvature)
        products = Products(self._products(slope), np.zeros(self.n_features), self._products)
        place = Place(point, 0.0, image, slope, curvature, False)
        return prove(self.design, self.parts, self.parts.penalty, place, products).gap

    def evaluate(self, x: Any) -> tuple[float, Array, Array]:
        """F(x), the image Ax and the slope v = ∇f(Ax)."""
        point = self._point(x)
        image, slope = np.zeros(self.n_samples), np.empty(self.n_samples)
        moved = np.flatnonzero(point)
        if moved.size:
            self.design.add(moved, point[moved], image)
        objective = evaluate_at(self.parts.sample, self.parts.loss, self.parts.penalty, point, image, slope)
        return float(objective), image, slope

    def _products(self, vector: Array) -> Array:
        """Aᵀ·vector."""
        return self.design.dots(np.arange(self.n_features), vector)

    def _point(self, x: Any) -> Array:
        return as_finite_vector(x, "x", self.n_features)


@kernel
def evaluate_at(sample: Any, loss: Any, penalty: Any, x: Array, image: Array, slope: Array) -> float:
    """F(x), where the image is Ax; the slope is filled in."""
    total = 0.0
    for k in range(image.size):
        weight, target = at(sample.weight, k), sample.target[k]
        # exp may overflow in a sample without weight: 0·inf is nan
        slope[k] = weight * loss.derivative(target, image[k]) if weight > 0.0 else 0.0
    for k in range(image.size):
        weight, target = at(sample.weight, k), sample.target[k]
        total += weighted_value(loss, weight, target, image[k]) if weight > 0.0 else 0.0
    for j in range(x.size):
        total += penalty.cost(x[j], j)
    return total


@kernel
def fill_curvatures(problem: Any, image: Array, out: Array) -> None:
    """out_k = s_k·loss''(b_k, z_k)."""
    for k in range(out.size):
        weight = at(problem.sample.weight, k)
        out[k] = weight * problem.loss.curvature(problem.sample.target[k], image[k]) if weight > 0.0 else 0.0


def _assemble(design: Any, first: FirstPass, sample: Sample, loss: Any, penalty: Any, stated: Stated) -> Parts:
    bound, n = float(loss.curvature_bound()), design.shape[1]
    square = first.survey.square
    check_norms(design, first.survey, sample.weight, bound)
    lipschitz = bound * square if bound < math.inf else np.full(n, bound)
    if not lipschitz.all():
        # Any positive number bounds the curvature of a zero column; the smallest gives its penalty the longest steps.
        lipschitz[lipschitz == 0.0] = lipschitz[lipschitz > 0.0].min(initial=math.inf if lipschitz.any() else 1.0)
    gain, slack = (bound, 0.0) if loss.is_quadratic() else (0.5 * bound, 0.5 * bound)
    # compiled steps of the engine read columns themselves; the solver asks the design alone
    return Parts(
        design.matrix, sample, loss, penalty, np.sqrt(square), lipschitz, float(lipschitz.max()),
        gain, slack, stated.target_error(sample.weight),
    )  # fmt: skip


def _same_curvature(first: Any, second: Any) -> bool:
    return (first.curvature_bound(), first.is_quadratic()) == (second.curvature_bound(), second.is_quadratic())
