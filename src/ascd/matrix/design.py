"""The door to the data: what may be asked of the columns of A, in batches and without a word on how they are stored.

=========================  =====================================================================
question                   used for
=========================  =====================================================================
``shape``, ``nbytes``      sizes; how much memory products may take beside the input
``at_once``                how many columns may be one working set because their products come with a
                           pass; 0 where products are computed as they are needed
``in_rounds``              does a question cost a round trip, however few columns it is about?  Then all are
                           asked for at once
``is_dear``                is a pass so dear that a proof from intervals is not confirmed by one?
``entries``                stored entries: what a pass over these columns reads
``sweep_price``            a sweep over these columns in nanoseconds, and the products of all
``products_price``         pairs of them: the solver chooses by these two
``survey``                 norms, means and the first products, in one pass at the start
``squares``                Σ s·a² of these columns
``dots``                   gradient entries of these columns
``careful_dots``           the same with a proven error bound, for certificates
``add``                    Ax follows a step
``means``                  means of these columns, weighted by curvatures; for the intercept
``multiplier``             products A_Lᵀ H A_R of columns with each other
``take``                   these columns made local, for sweeps over them
``check_finite``           an error that names what is not finite, once norms have shown that something is
=========================  =====================================================================

Nothing else of the data is ever needed by the solver or by a certificate; ``tests/counting.py`` holds them to it.
What follows has a default in ``Design``:

=========================  =====================================================================
``dots_with_several``      products with several vectors at once, and images of several
``add_several``            coefficients: one pass instead of one each
``answers_several``        is a pass dear, and one for several vectors no dearer than one for one?  Then
                           penalties of a path share passes (``solver.foresight``)
``brings_columns``         does a round that finds columns outside their rest bring them near too?
                           Then ``dots_and_worst`` and ``are_near`` are asked
``most_near``              how many columns can be made local and kept: working sets are no larger
``expect``                 what will be asked for next, so that a round brings it along
``kept_products``          products that stay where the data are (``KeptProducts``)
``row_parts``              parts that hold all columns of some rows and take functions (``RowParts``)
``rounds``                 round trips so far
=========================  =====================================================================

``local`` answers from the memory of this process; ``dense`` and ``sparse`` are its storages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ascd._core.checks import Array


class DataGone(ConnectionError):
    """The data cannot be asked any more: what they were on has gone away.  The message says what, and what to do."""


class Part(NamedTuple):
    """Columns in local memory: ``matrix`` is a compiled storage, ``places`` are their numbers in it."""

    matrix: Any
    places: Array


class Survey(NamedTuple):
    """What the first pass over all columns brings: Σ s·a², Σ a², Σ a, and products with vectors, one a row."""

    square: Array
    plain: Array
    total: Array
    products: Array

    @classmethod
    def nothing(cls, columns: int, vectors: int) -> Survey:
        """Sums over no rows, for others to be added."""
        return cls(np.zeros(columns), np.zeros(columns), np.zeros(columns), np.zeros((vectors, columns)))


class Multiplier(Protocol):
    """Products of columns with each other, with curvatures H as weights and less their ``means``.

    ``keeps`` says that other curvatures will follow on the same columns, so that what does not depend on them is worth
    keeping; ``forget`` ends that.
    """

    #: A column that varies by less than this share of its square is constant, up to rounding.
    constant: float

    def fill(self, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None) -> None:
        """store[left, right] = the products of columns[left] with columns[right]."""

    def is_cheap(self, count: int, size: int) -> bool:
        """Are all products of ``count`` new columns among ``size`` cheaper than finding out which are needed?"""

    def forget(self) -> None: ...


class Bends(NamedTuple):
    """Slopes of a penalty at zero, where alone it bends, and its curvature beside it, for some coordinates."""

    low: Array
    high: Array
    curvature: Array


class Advanced(NamedTuple):
    """Where proximal steps have led, the slopes there, and the largest aᵀGa/aᵀDa that they met."""

    x: Array
    gradient: Array
    bend: float


class Multiplied(Protocol):
    """G = A_Wᵀ H A_W on ``columns``, wherever it is.

    ``largest`` is for whoever uses it: the largest eigenvalue of D^(−½) G D^(−½) that was met, D the diagonal; or 0.
    """

    columns: Array
    diagonal: Array
    largest: float

    def times(self, vector: Array) -> Array:
        """G·vector."""

    def solve(self, free: Array, curvature: Array, right: Array, shift: float) -> Array | None:
        """(G + curvature)⁻¹·right on the free coordinates; None where G is singular."""


class KeptProducts(Multiplied, Protocol):
    """Products that stay where the data are; columns join, ``position`` is where each stands (−1: not there).

    Where they are not ``is_exact``, ``times_exactly`` tells what they are not, and ``widen`` forgets them and makes
    the next ones exact.
    """

    position: Array
    is_exact: bool

    @property
    def room(self) -> float:
        """Bytes that they may take."""

    def clear(self) -> None: ...
    def keep(self, columns: Array) -> None: ...
    def widen(self) -> None: ...
    def times_exactly(self, vector: Array) -> Array: ...
    def admit(self, joining: Array, weight: Array, means: Array) -> None: ...
    def by_passes(self, columns: Array, weight: Array, means: Array, accuracy: float, most: int) -> Any:
        """The same without G, which has no room: passes over the columns, counted as ``reads``."""


class RowParts(Protocol):
    """Rows in parts, wherever they are: what belongs to the samples can be computed beside them.

    Functions travel by name, so both sides must have them; answers say how they add up (``part_answers.Additive``).
    """

    @property
    def spans(self) -> list[slice]:
        """The rows of each part."""

    def keep_beside(self, values: Sequence[Any]) -> list[Any]:
        """A value for each part, which stays there; what comes back stands for it in ``over_rows``."""

    def over_rows(self, function: Callable[..., Any], kept: Sequence[Any], *arguments: Any) -> Any:
        """``function(part, value, *arguments)`` of all parts, added up; one round trip."""

    def all_moments(self, weight: Array) -> Any:
        """Means and products (``part_answers.Moments``) with these weights, if they are known already."""


class Design(ABC):
    """A matrix A of shape (n_samples, n_features) behind its questions; ``columns`` are arrays of column numbers.

    The abstract methods must be written; everything else has a default, which those who know better replace.  A
    matrix of one's own is a subclass of this class.
    """

    #: (n_samples, n_features); set by whoever makes the matrix.
    shape: tuple[int, int]
    #: The compiled storage where all columns are in local memory, as ``take`` gives it.
    matrix: Any = None
    #: Names of the columns for errors.
    feature_names: list[str] | None = None
    #: Columns that may be one working set because their products come with a pass.
    at_once: int = 0
    #: True where a question costs a round trip, however few columns it is about.
    in_rounds: bool = False
    #: True where a pass is so expensive that a proof from intervals is not confirmed by one.
    is_dear: bool = False
    #: True where a pass is expensive and one for several vectors costs no more than one for one.
    answers_several: bool = False
    #: True where a round that finds columns to move copies them into local memory too.
    brings_columns: bool = False

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that the matrix takes where it is."""

    @property
    def counts(self) -> Array:
        """Stored entries of each column."""
        return np.full(self.shape[1], self.shape[0])

    @property
    def most_near(self) -> int:
        """Columns that can be copied into local memory and kept: working sets are no larger."""
        return self.shape[1]

    @property
    def rounds(self) -> int:
        """Round trips so far."""
        return 0

    @property
    def row_parts(self) -> RowParts | None:
        """Row chunks that evaluate functions where they are, or None."""
        return None

    @abstractmethod
    def entries(self, columns: Array | None = None) -> int:
        """Stored entries of these columns (all)."""

    @abstractmethod
    def sweep_price(self, columns: Array) -> float:
        """Nanoseconds of a sweep over these columns."""

    @abstractmethod
    def products_price(self, columns: Array) -> float:
        """Nanoseconds of the products of all pairs of these columns."""

    @abstractmethod
    def survey(self, weight: Any, vectors: Array) -> Survey:
        """Norms, sums and products with ``vectors`` (one a row) of all columns, in one pass."""

    @abstractmethod
    def squares(self, weight: Any, columns: Array) -> Array:
        """Σ_k s_k·a_kj² of these columns."""

    @abstractmethod
    def dots(self, columns: Array, vector: Array) -> Array:
        """⟨a_j, vector⟩ for these columns."""

    @abstractmethod
    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        """⟨a_j, vector⟩ for these columns, and bounds on their rounding errors."""

    @abstractmethod
    def add(self, columns: Array, factors: Array, image: Array) -> None:
        """image += A_columns·factors."""

    @abstractmethod
    def multiplier(self, keeps: bool) -> Multiplier:
        """Products of columns with each other."""

    @abstractmethod
    def take(self, columns: Array) -> Part:
        """These columns in local memory."""

    @abstractmethod
    def check_finite(self) -> None:
        """Raise a ValueError that names what is not finite."""

    def means(self, columns: Array, weight: Array) -> Array:
        """Σ_k s_k·a_kj / Σ_k s_k of these columns; 0 where no sample counts."""
        total = float(weight.sum())
        return self.dots(columns, weight) / total if total > 0.0 else np.zeros(columns.size)

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        """⟨a_j, vector_t⟩ for the columns of ``vectors``, one row a column here."""
        return np.stack([self.dots(columns, vector) for vector in np.ascontiguousarray(vectors.T)], axis=1)

    def add_several(self, columns: Array, factors: Array, image: Array) -> None:
        """image += A_columns·factors, both with a column an output."""
        for number in range(image.shape[1]):
            column = image[:, number].copy()
            self.add(columns, factors[:, number].copy(), column)
            image[:, number] = column

    def dots_and_worst(self, columns: Array, vector: Array, low: Array, high: Array, most: int) -> Array:
        """Products; where ``brings_columns``, those farthest outside −high .. −low are copied into local memory."""
        return self.dots(columns, vector)

    def are_near(self, columns: Array) -> Array:
        """Which of these columns are in local memory?"""
        return np.ones(columns.size, dtype=bool)

    def expect(self, columns: Array, weight: Array) -> None:  # noqa: B027
        """Announce that products of these columns with such weights will be asked for next."""

    def kept_products(self, intercept: bool, constant: float) -> KeptProducts | None:
        """Products that stay where the matrix is, or None."""
        return None

    def with_constant(self, value: float) -> Design | None:
        """The matrix with one more column, which is constant; None where only its columns could be put beside it."""
        return None

    def in_memory(self) -> Design | None:
        """A copy of all columns in local memory; None where there is no such copy."""
        return None
