"""The problem: minimise F(X, c) = Σ_k s_k·loss(b_k, o_k + (AX + 1cᵀ)_k) + Σ_b Ψ_b(X_b), X of shape (n, T).

With one target, X is a vector x; with a penalty by coordinate, each block is one coefficient.  In general a block X_b
is several rows of X (a group of columns) with all T outputs.  There is no 1/n anywhere.

With V = ∇f(AX), of shape (d, T), the gradient of a block is A_bᵀV, and ‖A_bᵀE‖ ≤ ‖A_b‖·‖E‖ for every change E of V
(Frobenius norms).  For one target and single coordinates 0 ≤ loss'' ≤ M implies, with ‖a_j‖² = Σ_k s_k a_kj²,

    |∂∇_j/∂x_i| ≤ M‖a_i‖‖a_j‖,       L_j = M‖a_j‖².

For a quadratic loss the change is known exactly, γ·M·⟨a_i, a_j⟩.  For others ⟨a_i, H a_j⟩ lies within
M/2·‖a_i‖‖a_j‖ of M/2·⟨a_i, a_j⟩, since H − M/2·I has norm at most M/2.  Both are ``gain``·product ± ``slack``·norms.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_finite_vector, as_number, as_parameter, finite_values, unknown_name
from ascd._core.contracts import check_methods, methods_of, users_classes
from ascd._core.threads import as_n_jobs, use_threads
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats, Matrix, as_block
from ascd.matrix.open import open_design
from ascd.problem import losses
from ascd.problem.arithmetic import add, lengths_of_blocks, nonzero_rows, norm, products
from ascd.problem.block_penalties import Entrywise, GroupL2, Groups, as_groups
from ascd.problem.certificate import Point, certify
from ascd.problem.losses import Sample, as_classes, as_targets, check_range
from ascd.problem.penalties import as_penalty, check_bounded, nearest_allowed
from ascd.problem.samples import Outputs
from ascd.problem.softmax import SOFTMAX, Softmax
from ascd.problem.terms import Terms
from ascd.problem.tuning import LARGEST, LARGEST_WEIGHT
from ascd.protocols import BlockPenalty, Loss

#: Losses by sample that have a name.
LOSSES: dict[str, Any] = {
    "squared": losses.Squared,
    "logistic": losses.Logistic,
    "huber": losses.Huber,
    "squared_hinge": losses.SquaredHinge,
    "poisson": losses.Poisson,
}


class Parts(NamedTuple):
    """What compiled code sees of a problem with one target and a penalty by coordinate."""

    matrix: Any
    sample: Sample
    loss: Any
    penalty: Any
    norm: Array  # ‖a_j‖, weighted by the samples
    lipschitz: Array  # L_j > 0
    largest: float  # L = max L_j
    gain: float
    slack: float
    offset: Array  # of length n_samples, or 0 where there is none


class Problem:
    """F(X, c) = Σ_k s_k·loss(b_k, o_k + (AX + 1cᵀ)_k) + Σ_b Ψ_b(X_b).

    Parameters
    ----------
    A : array, sparse matrix or DataFrame of shape (n_samples, n_features), or a design
        Used dense or sparse as it comes; converted at most once and never modified.  A
        ``ascd.matrix.base.Matrix`` provides products with its columns, wherever they are stored.
    b : array of shape (n_samples,) or (n_samples, n_outputs)
        Targets; labels −1 and +1 for classification losses, the classes 0 .. T − 1 for "softmax".  The largest in size
        is 0 or between 1e-60 and 1e60; so are the norms of A's columns, weighted or not.
    loss : {"squared", "logistic", "huber", "squared_hinge", "poisson", "softmax"} or a loss object
        Summed over outputs; "softmax" is the multinomial logistic loss of several classes.
    penalty : penalty object, optional
        By coordinate (Zero, L1, L2, L1L2, Box, BoundedL1L2 or one of your own; with several outputs it is applied to
        every entry of X), or by block (GroupL2, SparseGroup, L21 or one of your own).
    sample_weight : array of length n_samples, optional
        Weights s, 0 or between 1e-20 and 1e20.
    offset : array of length n_samples or of the shape of b, optional
        Known parts o of the predictions, which no coefficient changes: the logarithm of the exposure for counts, the
        predictions of another model; 0 by default.  ``linear_predictor`` and the gradients are those of AX, without it.
    n_jobs : threads for the first pass over the data; −1 for all processors, −2 for all but one
    groups : number, sizes, labels or lists of columns, optional
        Blocks for a block penalty of your own; the library's have this argument themselves.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> problem.objective([2.0, 0.0, -1.0])
    4.5
    >>> problem.gap([2.0, 0.0, -1.0]) < 1e-12
    True
    >>> several = ascd.Problem(np.eye(3), [[3.0, 4.0], [0.0, 1.0], [0.0, 0.0]], penalty=ascd.L21(1.0))
    >>> several.objective([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    5.5
    """

    def __init__(
        self, A: Any, b: Any, loss: Any = "squared", penalty: Any = None, sample_weight: Any = None, offset: Any = None,
        n_jobs: int | None = None, groups: Any = None,
    ) -> None:  # fmt: skip
        loss = as_loss(loss)
        threads = as_n_jobs(n_jobs)
        self.design: Matrix = open_design(A)
        weight = 1.0 if sample_weight is None else as_weights(sample_weight, self.design.shape[0])
        found = open_loss(loss, b, offset, self.design.shape[0], weight)
        with use_threads(threads):
            self._set_up(*found, penalty, groups, weight, None)

    def _set_up(self, loss: Any, offset: Any, penalty: Any, groups: Any, weight: Any, known: Problem | None) -> None:
        """Choose the kind of problem, and read all columns once unless a problem is ``known`` with the same weights."""
        self.n_samples, self.n_features = self.design.shape
        #: The loss as a function of all predictions (see ``ascd.problem.samples``), and known parts of these, of shape
        #: (n_samples, n_outputs) or the number 0.0
        self.loss, self.offset = loss, offset
        self.n_outputs, self.sample_weight = loss.n_outputs, weight
        #: √Σ s·o²
        self.offset_length = norm(np.sqrt(self.weight)[:, None] * offset) if np.ndim(offset) else 0.0
        self.penalty, self._blocks = open_penalty(penalty, groups, self.n_features, loss.is_flat)
        #: True for one target and a penalty by coordinate: then ``parts`` are there for compiled code
        self.is_by_coordinate = self._blocks is None
        self.total_weight = float(self.weight.sum())
        if known is None:
            #: Raw gradients that the first pass has computed products of all columns with, one a row
            self.vectors: Array = gradients_at_zero(self)
            #: Sums of the columns and of their squares, and these products
            self.column_stats: ColumnStats = self.design.column_stats(weight, self.vectors)
            check_norms(self.design, self.column_stats, weight)
        else:
            self.vectors, self.column_stats = known.vectors, known.column_stats
        #: Column norms, weighted by the samples, in column order
        self.norm: Array = np.sqrt(self.column_stats.square)
        if self.is_by_coordinate and not self.norm.all():
            check_bounded(self.penalty, self.norm)

    def __repr__(self) -> str:
        loss = "Softmax" if self.loss.is_coupled else type(self.loss.loss).__name__
        penalty: Any = self.penalty.penalty if isinstance(self.penalty, Entrywise) else self.penalty
        storage = type(getattr(self.design, "matrix", None) or self.design).__name__
        blocks = "" if self.is_by_coordinate else f", {self.n_outputs} outputs, {self.groups.count} blocks"
        offset = ", offset" if np.ndim(self.offset) else ""
        said = f"{blocks}, loss={loss}, penalty={type(penalty).__name__}{offset}"
        return f"Problem({self.n_samples} x {self.n_features} {storage}{said})"

    def replace(
        self, *, b: Any = None, loss: Any = None, penalty: Any = None, sample_weight: Any = None, offset: Any = None,
        groups: Any = None,
    ) -> Problem:  # fmt: skip
        """Return the same problem with another target, loss, penalty, weights or offset; it shares A with this one.

        A pass over A is needed only for other weights.  Held-out samples of a cross-validation are samples of weight 0:
        so all folds share one matrix.

        Examples
        --------
        >>> import numpy as np, ascd
        >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
        >>> problem.replace(penalty=ascd.L1(2.0)).objective([1.0, 0.0, 0.0])
        6.5
        >>> problem.replace(sample_weight=[1.0, 0.0, 0.0]).objective([0.0, 0.0, 0.0])
        4.5
        """
        other, is_same = Problem.__new__(Problem), sample_weight is None
        weight = self.sample_weight if is_same else as_weights(sample_weight, self.n_samples)
        found = self.loss, self.offset
        if not (b is None and loss is None and offset is None and is_same):
            new_loss, known = self.loss.loss if loss is None else as_loss(loss), offset
            if offset is None and np.ndim(self.offset):
                known = self.offset.reshape(self.loss.given.shape)
            found = open_loss(new_loss, self.loss.given if b is None else b, known, self.n_samples, weight)
        penalty = self.penalty if penalty is None else penalty
        if groups is None and is_by_block(penalty) and not hasattr(penalty, "compiled"):
            groups = self._blocks
        other.design = self.design
        other._set_up(*found, penalty, groups, weight, self if is_same else None)
        return other

    # ---- what the solver reads

    @cached_property
    def parts(self) -> Parts:
        """The problem as compiled code sees it; for one target and a penalty by coordinate only."""
        if not self.is_by_coordinate:
            raise TypeError("this needs one target and a penalty by coordinate; otherwise use ascd.solve or ascd.path")
        bound, square = self.loss.bound, self.column_stats.square
        # any positive number bounds the curvature of a zero column; the smallest gives its penalty the longest step
        least = square[square > 0.0].min(initial=math.inf) if square.any() else (1.0 / bound or 1.0)
        lipschitz = bound * np.where(square > 0.0, square, least)
        gain, slack = (bound, 0.0) if self.loss.is_quadratic else (0.5 * bound, 0.5 * bound)
        return Parts(
            self.design.matrix, self.loss.sample, self.loss.loss, self.penalty, self.norm, lipschitz,
            float(lipschitz.max()), gain, slack, self.offset[:, 0] if np.ndim(self.offset) else np.empty(0),
        )  # fmt: skip

    def products_at(self, vector: Array) -> Array | None:
        """Return the products of all columns with this vector, if it is zero or the first pass has computed them."""
        for found, known in zip(self.column_stats.products, self.vectors, strict=True):
            if np.array_equal(known, vector):
                return found
        return None if vector.any() else np.zeros(self.n_features)

    @cached_property
    def weight(self) -> Array:
        """The weights as an array of length n_samples."""
        return np.full(self.n_samples, self.sample_weight, dtype=np.float64)

    @cached_property
    def groups(self) -> Groups:
        """The blocks of columns; single columns for a penalty by coordinate."""
        return as_groups(self._blocks, self.n_features)

    # ---- values at a point

    def linear_predictor(self, x: Any) -> Array:
        """Return A·x, without the offset."""
        product = self._product(self.as_point(x, "x"))
        return product[:, 0] if self.loss.is_flat else product

    def objective(self, x: Any, intercept: Any = 0.0) -> float:
        """Return F(x, c)."""
        return self.evaluate(x, intercept)[0]

    def gradient(self, x: Any) -> Array:
        """Return ∇f, the gradient of the smooth part, with the shape of x."""
        raw_gradient = self.evaluate(x)[2]
        found = products(self.design, np.arange(self.n_features), raw_gradient.reshape(self.n_samples, -1))
        return found[:, 0] if raw_gradient.ndim == 1 else found

    def gap(self, x: Any, intercept: Any = None) -> float:
        """Return an upper bound on F(x, c) − min F: where an intercept is given, the minimum over intercepts too."""
        point = self.as_point(x, "x")
        known = 0.0 if intercept is None else as_parameter(intercept, "intercept", self.n_outputs)
        constant = np.zeros(self.n_outputs) + known
        Z = self._product(point) + (constant + self.offset)
        _, gradient, curvature, _ = self.loss.evaluate(Z, False)
        read = partial(products, self.design, self.groups.order)
        place = Point(point, constant, Z, gradient, curvature, intercept is not None)
        return certify(self, self.terms(), place, read(gradient), np.zeros(self.groups.count), read)[0]

    def terms(self, penalty: Any = None) -> Terms:
        """Return the sums over the penalty, or over another one of the same kind."""
        penalty = self.penalty if penalty is None else penalty
        if self.is_by_coordinate:
            return Terms(penalty, self.norm)
        return Terms(penalty, self.block_norm, self.groups.starts * self.n_outputs, self.n_outputs)

    def cost(self, point: Array) -> float:
        """Return Σ Ψ_b for coefficients of shape (n, T) in the order of the blocks."""
        return self.terms().cost(point)

    @cached_property
    def nearest(self) -> Array:
        """The allowed point nearest to zero, of shape (n, T); for penalties of blocks it must be zero."""
        if self.is_by_coordinate:
            return nearest_allowed(self.penalty, self.n_features)[:, None]
        x = np.zeros((self.n_features, self.n_outputs))
        if not math.isfinite(self.cost(x)):
            raise ValueError("the penalty must allow zero coefficients")
        return x

    @cached_property
    def block_norm(self) -> Array:
        """Frobenius norms of the blocks of columns, weighted by the samples."""
        return lengths_of_blocks(self.norm[self.groups.order][:, None], self.groups.starts)

    def evaluate(self, x: Any, intercept: Any = 0.0) -> tuple[float, Array, Array]:
        """Return F(x, c), the predictions o + Ax + c and the gradient of f with respect to them."""
        point = self.as_point(x, "x")
        Z = self._product(point) + (np.asarray(intercept, dtype=np.float64) + self.offset)
        value, gradient, _, _ = self.loss.evaluate(Z, False)
        objective = value + self.cost(point)
        return (objective, Z[:, 0], gradient[:, 0]) if self.loss.is_flat else (objective, Z, gradient)

    def _product(self, point: Array) -> Array:
        """Return Ax, of shape (n_samples, n_outputs), for coefficients in the order of the blocks."""
        product, moved = np.zeros((self.n_samples, self.n_outputs)), nonzero_rows(point)
        add(self.design, self.groups.order[moved], point[moved], product)
        return product

    # ---- coefficients in the order of the blocks

    def as_point(self, x: Any, name: str) -> Array:
        """Return coefficients (n_features, n_outputs) in the order of the blocks; for one target flat ones will do."""
        array = as_finite_vector(np.ravel(x), name).reshape(np.shape(x))
        shape = (self.n_features,) if self.is_by_coordinate else (self.n_features, self.n_outputs)
        if array.shape != shape and (self.n_outputs > 1 or array.shape != shape[:1]):
            allowed = f"length {shape[0]}" if self.n_outputs == 1 else f"the shape {shape}"
            raise ValueError(f"{name} must have {allowed}; got shape {array.shape}")
        return np.ascontiguousarray(array.reshape(-1, self.n_outputs)[self.groups.order])

    def as_given(self, point: Array) -> Array:
        """Return a copy of coefficients in the user's order and shape."""
        x = np.empty(point.shape)
        x[self.groups.order] = point
        return x[:, 0] if self.loss.is_flat else x


def as_loss(loss: Any) -> Any:
    """Return the loss for a name (``SOFTMAX`` itself for that), or the user's own after a check of its methods."""
    if isinstance(loss, str):
        if loss == SOFTMAX:
            return loss
        if loss not in LOSSES:
            raise unknown_name(loss, "loss", [*LOSSES, SOFTMAX])
        return LOSSES[loss]()
    check_methods(loss, Loss, "loss")
    as_number(loss.curvature_bound(), f"{type(loss).__name__}.curvature_bound()", low=0.0, strict=True)
    return loss


def open_loss(loss: Any, b: Any, offset: Any, n_samples: int, weight: Any) -> tuple[Any, Any]:
    """Return the loss of all predictions, and the offset of shape (n_samples, n_outputs) or the number 0.0."""
    if isinstance(loss, str) and loss == SOFTMAX:
        if offset is not None:
            raise ValueError("offset is for losses of one sample and output; the softmax loss takes none")
        labels = as_classes(b, n_samples)
        return Softmax(labels, max(2, int(labels.max()) + 1), np.full(n_samples, weight, dtype=np.float64)), 0.0
    target = as_targets(b, "b", n_samples)
    if hasattr(loss, "check_target"):
        loss.check_target(target.ravel())
    found = Outputs(loss, target, weight)
    if offset is None:
        return found, 0.0
    known = as_targets(offset, "offset", n_samples)
    if known.ndim == 2 and known.shape != target.shape:
        raise ValueError(f"offset must have the shape of b, {target.shape}, or ({n_samples},); got {known.shape}")
    return found, np.ascontiguousarray(np.broadcast_to(known.reshape(n_samples, -1), found.target.shape))


def is_by_block(penalty: Any) -> bool:
    """Return True for a penalty of blocks: one of the library's, or one with at least one method of that contract."""
    return hasattr(penalty, "compiled") or any(map(partial(hasattr, penalty), methods_of(BlockPenalty)))


def open_penalty(penalty: Any, groups: Any, n: int, is_plain: bool) -> tuple[Any, Groups | None]:
    """Return the compiled penalty and its blocks, None for a penalty by coordinate.

    ``is_plain`` says that there is one output; else a penalty by coordinate becomes one of blocks of one column.
    """
    if callable(penalty):
        raise TypeError(f"penalty must be made with its parameters, as {penalty.__name__}(...); got {penalty!r}")
    if isinstance(penalty, str):
        raise TypeError(f"penalty must be an object such as ascd.L1(1.0) or ascd.GroupL2(1.0, 5); got {penalty!r}")
    if penalty is None and not (is_plain and groups is None):
        penalty = GroupL2(0.0)
    if not is_by_block(penalty):
        if groups is not None:
            raise ValueError("groups are for penalties of blocks, and this one is by coordinate")
        checked = as_penalty(penalty, n)
        return (checked, None) if is_plain else (Entrywise(checked), as_groups(None, n))
    own = getattr(penalty, "groups", None) if hasattr(penalty, "compiled") else None
    if own is not None and groups is not None:
        raise ValueError("groups: the penalty has its own groups; leave groups=None")
    found = as_groups(groups if own is None else own, n)
    compiled = penalty.compiled(found) if hasattr(penalty, "compiled") else penalty
    check_methods(compiled, BlockPenalty, "penalty")
    return compiled, found


def gradients_at_zero(problem: Problem) -> Array:
    """Return the raw gradients at zero, without an intercept and with the best, one a row.

    No rows for a user's loss, which would be compiled for this alone, nor where entries are few: another pass over them
    costs less than preparing one that computes more.
    """
    loss, size, design = problem.loss, problem.n_samples, problem.design
    is_cheap = design.matrix is not None and design.entries() <= 200_000
    if is_cheap or not problem.is_by_coordinate or users_classes(loss.loss):
        return np.empty((0, size))
    with np.errstate(all="ignore"):  # exp may overflow on the way to an intercept
        start = np.zeros((size, 1)) + problem.offset
        return np.stack([loss.evaluate(start.copy(), intercept)[1].ravel() for intercept in (False, True)])


def as_weights(sample_weight: Any, n_samples: int) -> Any:
    """Return the weights as an array, or the number 1.0 where all are 1."""
    if np.ndim(sample_weight) == 0:
        raise ValueError(f"sample_weight must be one-dimensional; got {sample_weight!r}")
    weight: Any = as_parameter(sample_weight, "sample_weight", n_samples, low=0.0)
    check_range(weight, "sample_weight", LARGEST_WEIGHT)
    return 1.0 if (weight == 1.0).all() else weight


def check_norms(design: Any, column_stats: ColumnStats, weight: Any) -> None:
    """Raise where entries are not finite, or norms are out of range: the norms have seen every entry."""
    square = column_stats.square
    largest = float(np.maximum(square, column_stats.plain).max())
    if not math.isfinite(largest):
        check_finite(design, column_stats.total)
    if not largest <= LARGEST**2:
        raise ValueError(f"A has columns whose norm is above {LARGEST:g}: rescale A")
    if square.min() < LARGEST**-2:
        columns = np.flatnonzero((square < LARGEST**-2) & (design.counts > 0))  # a column may just be empty
        # products with positive numbers of no pattern, 0 for samples that do not count, show which have entries
        vector = np.random.default_rng(0).uniform(1.0, 2.0, design.shape[0]) * (np.asarray(weight) > 0.0)
        found = columns[design.dots(columns, vector) != 0.0]
        if found.size:
            raise ValueError(
                f"A has columns whose norm (weighted by the samples) is below {1.0 / LARGEST:g}, the first is column "
                f"{found[0]}: rescale A, or set them to zero"
            )


def check_finite(design: Matrix, total: Array) -> None:
    """Raise a ValueError that names what is not finite; ``total`` are the sums of the columns, which show where."""
    columns, names = np.flatnonzero(~np.isfinite(total)), design.feature_names
    columns = columns[: max(1, costs.BLOCK // design.shape[0])]
    block = as_block(design.take(columns), design.shape[0])
    try:
        finite_values(block, "A")
    except ValueError as error:
        j = columns[~np.isfinite(block).all(axis=0)][0]
        raise ValueError(f"{error}; the first column with such is {j if names is None else repr(names[j])}") from None
