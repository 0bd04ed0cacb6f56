"""The block problem: minimise F(X, c) = Σ_k s_k·loss(y_k, (AX + 1cᵀ)_k) + Σ_b Ψ_b(X_b), X of shape (n, T).

A block X_b is several rows of X (a group of columns), with all T outputs.  With V = ∇f(AX), of shape (d, T), its
gradient is A_bᵀV, and by Cauchy and Schwarz ‖A_bᵀE‖ ≤ ‖A_b‖·‖E‖ for every change E of V (norms of Frobenius).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_vector, finite_values, refuse_masks
from ascd._core.contracts import check_methods
from ascd._core.devices import to_host
from ascd.blocks.losses import Outputs
from ascd.blocks.penalties import open_penalty
from ascd.blocks.softmax import Softmax
from ascd.blocks.terms import total_cost
from ascd.blocks.tuning import MOST_CLASSES
from ascd.matrix.base import Design
from ascd.matrix.open import open_design
from ascd.problem.norms import read_norms
from ascd.protocols import BlockPenalty


class BlockProblem:
    """F(X) = Σ_k s_k·loss(y_k, (AX)_k) + Σ_b Ψ_b(X_b), for groups of columns and several outputs.

    Parameters
    ----------
    A : array, sparse matrix or DataFrame of shape (n_samples, n_features), or a design
    b : array of shape (n_samples,) or (n_samples, n_outputs); for "softmax" the classes 0 .. T − 1
    loss : a loss as in ``Problem``, added up over the outputs, or "softmax"
    penalty : GroupL2, SparseGroup, L21 or a block penalty of one's own; None for none
    groups : number, sizes, labels or lists of columns
        For a penalty of one's own; the library's bring theirs.
    sample_weight : array of length n_samples, optional

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.BlockProblem(np.eye(3), [[3.0, 4.0], [0.0, 1.0], [0.0, 0.0]], penalty=ascd.L21(1.0))
    >>> problem.objective([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    5.5
    """

    def __init__(
        self, A: Any, b: Any, loss: Any = "squared", penalty: Any = None, groups: Any = None, sample_weight: Any = None
    ) -> None:
        d = samples_of(b)
        self.design: Design = open_design(A)
        self.n_samples, self.n_features = self.design.shape
        if d != self.n_samples:
            raise ValueError(f"b must have length {self.n_samples}; got {d}")
        self._weigh(sample_weight)
        self.groups, self.penalty = open_penalty(penalty, groups, self.n_features)
        check_methods(self.penalty, BlockPenalty, "penalty")
        self.loss: Any = as_block_loss(loss, b, self.weight)

    def __repr__(self) -> str:
        return (
            f"BlockProblem({self.n_samples} x {self.n_features}, {self.n_outputs} outputs, {self.groups.count} blocks, "
            f"loss={type(getattr(self.loss, 'loss', self.loss)).__name__}, penalty={type(self.penalty).__name__})"
        )

    @property
    def n_outputs(self) -> int:
        return int(self.loss.n_outputs)

    def _weigh(self, sample_weight: Any) -> None:
        """Weights of the samples, and the norms of columns with them."""
        weight, self.survey = read_norms(self.design, sample_weight)
        self.norm, self.weight = np.sqrt(self.survey.square), np.full(self.n_samples, weight, dtype=np.float64)
        #: of the weights, a row a sample; None where all are 1
        self.root = None if sample_weight is None or (self.weight == 1.0).all() else np.sqrt(self.weight)[:, None]

    def replace(self, *, penalty: Any = None, sample_weight: Any = None) -> BlockProblem:
        """The same problem with another compiled penalty or other weights; it shares A with this one.

        Examples
        --------
        >>> import numpy as np, ascd
        >>> problem = ascd.BlockProblem(np.eye(2), [3.0, 4.0], penalty=ascd.GroupL2(1.0, groups=2))
        >>> problem.replace(sample_weight=[1.0, 0.0]).objective([0.0, 0.0])
        4.5
        """
        other = BlockProblem.__new__(BlockProblem)
        vars(other).update(vars(self))
        if penalty is not None:
            other.penalty = penalty
        if sample_weight is not None:
            other._weigh(sample_weight)
            loss = self.loss
            other.loss = (
                Softmax(loss.labels, loss.n_outputs, other.weight) if isinstance(loss, Softmax)
                else Outputs(loss.loss, loss.target[:, 0] if loss.is_flat else loss.target, other.weight)
            )  # fmt: skip
        return other

    def objective(self, x: Any, intercept: Any = 0.0) -> float:
        """F(x, c)."""
        from ascd.blocks.products import add

        point = self.as_point(x, "x")
        image = np.zeros((self.n_samples, self.n_outputs)) + np.asarray(intercept, dtype=np.float64)
        moved = np.flatnonzero(point.any(axis=1))
        add(self.design, self.groups.order[moved], point[moved], image)
        return float(self.loss.look(image).value + total_cost(self.penalty, point.ravel(), self.ends))

    @cached_property
    def ends(self) -> Array:
        """Where blocks begin and end in the flat vector of coefficients."""
        return self.groups.starts * self.n_outputs

    @property
    def longest(self) -> int:
        """Coefficients of the largest block."""
        return self.groups.longest * self.n_outputs

    def as_point(self, x: Any, name: str) -> Array:
        """Coefficients of shape (n_features, n_outputs), or flat for one target, in the order of the blocks."""
        array: Array = as_vector(np.ravel(x), name).reshape(np.shape(x))
        shape = (self.n_features, self.n_outputs)
        if array.shape != shape and not (self.n_outputs == 1 and array.shape == shape[:1]):
            allowed = f"{shape[:1]} or {shape}" if self.n_outputs == 1 else f"{shape}"
            raise ValueError(f"{name} must have the shape {allowed}; got {array.shape}")
        finite_values(array, name)
        return np.ascontiguousarray(array.reshape(shape)[self.groups.order])

    def as_given(self, point: Array) -> Array:
        """A copy of coefficients, in the user's order and shape."""
        x = self.as_columns(point.copy())
        return x[:, 0] if self.loss.is_flat else x

    def as_columns(self, point: Array) -> Array:
        """Coefficients in the order of the columns; themselves where the blocks have it too."""
        if self.groups.is_plain:
            return point
        x = np.empty(point.shape)
        x[self.groups.order] = point
        return x


def samples_of(b: Any) -> int:
    """How many samples the target is for."""
    shape = b.shape if hasattr(b, "shape") else np.shape(b)
    if len(shape) == 0:
        raise ValueError(f"b must have the shape (n_samples,) or (n_samples, n_outputs); got {b!r}")
    return int(shape[0])


def as_block_loss(loss: Any, b: Any, weight: Array) -> Any:
    """The loss with its targets."""
    if not (isinstance(loss, str) and loss == "softmax"):
        return Outputs(loss, b, weight)
    refuse_masks(b, "b")
    labels = np.asarray(to_host(b))
    if labels.ndim != 1 or labels.size != weight.size:
        raise ValueError(f"b must have length {weight.size}; got shape {labels.shape}")
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError("b must hold the classes 0, 1, 2, ... as integers for the softmax loss")
    largest = int(labels.max())
    if largest >= MOST_CLASSES:
        raise ValueError(
            f"b must hold the classes 0, 1, 2, ... below {MOST_CLASSES:,}; the largest is {largest}: number them "
            "without gaps, as np.unique(b, return_inverse=True) does"
        )
    return Softmax(labels.astype(np.int64), max(2, largest + 1), weight)
