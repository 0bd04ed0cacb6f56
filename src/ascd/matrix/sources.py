"""Where data are that are not near (``distant``), and what each kind of place answers by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ascd._core.checks import Array
from ascd.matrix.design import Survey
from ascd.matrix.local import Local


class Source(Protocol):
    """Where the data are: every answer is a pass over them, or over what it needs of them."""

    shape: tuple[int, int]

    @property
    def nbytes(self) -> int: ...
    @property
    def near_limit(self) -> float:
        """Bytes of columns that may be kept near."""

    @property
    def counts(self) -> Array:
        """Stored entries of each column."""

    @property
    def is_dear(self) -> bool:
        """Is a pass so dear that a proof from intervals is not confirmed by one?"""

    @property
    def bytes_read(self) -> int:
        """Bytes read of the data so far."""

    def survey(self, weight: Any, vectors: Array) -> Survey: ...
    def dots(self, columns: Array, vector: Array) -> Array: ...
    def add(self, columns: Array, factors: Array, image: Array) -> None: ...
    def fetch(self, columns: Array) -> Local:
        """These columns in local memory."""

    def check_finite(self) -> None: ...


class RemoteSource(Source, Protocol):
    """Data whose columns are dearer to fetch than their products: it answers for them itself."""

    #: Are products of columns with each other computed there too, because rows are many?
    gives_products: bool
    #: Up to so many columns may be one working set: their products come with a pass.
    at_once: int

    def squares(self, weight: Any, columns: Array) -> Array: ...
    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]: ...
    def products(self, first: Array, second: Array, weight: Array, means: Array | None) -> Array:
        """Products of the first columns with the second, each less its mean; ``means`` are those of all columns."""


class InRounds(RemoteSource, Protocol):
    """Data that are asked in rounds: what goes together is asked for together, and ``add`` takes several outputs."""

    def means(self, columns: Array, weight: Array) -> Array: ...
    def expect(self, columns: Array, weight: Array) -> None: ...
    @property
    def spans(self) -> list[slice]: ...
    def keep_beside(self, values: Sequence[Any]) -> list[Any]: ...
    def over_rows(self, function: Callable[..., Any], kept: Sequence[Any], *arguments: Any) -> Any: ...
    def all_moments(self, weight: Array) -> Any: ...
    def with_constant(self, value: float) -> InRounds: ...


class AnswersSeveral(Protocol):
    """Data whose products with several vectors take one pass."""

    def dots_with_several(self, columns: Array, vectors: Array) -> Array: ...
    def add_several(self, columns: Array, factors: Array, image: Array) -> None: ...


class BringsColumns(Protocol):
    """Data that tell by themselves which columns will be asked for, and bring them along."""

    def dots_and_worst(
        self, columns: Array, vector: Array, low: Array, high: Array, most: int
    ) -> tuple[Array, Array, Local]: ...
