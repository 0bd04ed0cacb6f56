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

Nothing else of the data is ever needed by the solver or by a certificate; ``tests/counting.py`` holds them to it.  A
design may answer more, and is asked then:

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


class Design(Protocol):
    """A matrix behind its questions; ``columns`` are arrays of column numbers."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def at_once(self) -> int: ...
    @property
    def in_rounds(self) -> bool: ...
    @property
    def is_dear(self) -> bool: ...
    def entries(self, columns: Array | None = None) -> int: ...
    def sweep_price(self, columns: Array) -> float: ...
    def products_price(self, columns: Array) -> float: ...
    def survey(self, weight: Any, vectors: Array) -> Survey: ...
    def squares(self, weight: Any, columns: Array) -> Array: ...
    def dots(self, columns: Array, vector: Array) -> Array: ...
    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]: ...
    def add(self, columns: Array, factors: Array, image: Array) -> None: ...
    def means(self, columns: Array, weight: Array) -> Array: ...
    def multiplier(self, keeps: bool) -> Multiplier: ...
    def take(self, columns: Array) -> Part: ...
    def check_finite(self) -> None: ...
