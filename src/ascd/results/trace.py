"""The history of a run: one row a record, turned into columns, a DataFrame or a plot on request."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_count, unknown_name

COLUMNS = ("iteration", "objective", "gap", "active", "zero_lower", "bound", "violations", "reads", "seconds")


class Trace:
    """Recorded history; every column is an attribute that gives an array.

    ========== =======================================================================================
    iteration  coordinate steps so far
    objective  F(x)
    gap        duality gap (nan unless ``record_gap=True``)
    active     number of coordinates that the rule chooses from
    zero_lower share of coordinates whose lower bound on steepness is 0
    bound      the largest upper bound on steepness
    violations gradient entries outside their interval (counted for unsafe oracles only, nan otherwise)
    reads      columns read so far
    seconds    time spent descending so far
    ========== =======================================================================================

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> trace = ascd.minimize(problem, rule="cyclic", record=1).trace
    >>> trace.objective[[0, -1]]
    array([7. , 4.5])
    """

    def __init__(self) -> None:
        self._rows: list[dict[str, float]] = []

    def add(self, **values: float) -> None:
        """Append a row; columns that are not given are nan."""
        self._rows.append(values)

    def replace_last(self, **values: float) -> None:
        """Put a row in the place of the last one."""
        self._rows[-1] = values

    def __len__(self) -> int:
        return len(self._rows)

    def __getattr__(self, name: str) -> Array:
        if name not in COLUMNS:
            raise AttributeError(str(unknown_name(name, "column of a trace", COLUMNS)))
        return np.array([row.get(name, math.nan) for row in self._rows], dtype=np.float64)

    def __repr__(self) -> str:
        return f"Trace({len(self)} records)"

    def to_frame(self) -> Any:
        """The trace as a pandas DataFrame (extra ``plot``)."""
        import pandas

        return pandas.DataFrame({name: getattr(self, name) for name in COLUMNS})

    def plot(self, x: str = "iteration", ax: Any = None, **style: Any) -> Any:
        """Plot F(x) less its smallest value against ``x``, with the active set on a second axis; see ``plot_traces``.

        Several runs on one ``ax`` have a colour each; ``label`` names a run.
        """
        from ascd.plotting import plot_traces

        return plot_traces({style.pop("label", "run"): self}, x=x, ax=ax, **style)


class Schedule:
    """At which iterations to record: every k, every epoch, geometrically, or only at both ends.

    Geometric recording keeps about ten records for each factor of ten.
    """

    def __init__(self, record: Any, n: int) -> None:
        self._next: float
        self._step, self._factor = math.inf, 1.0
        if isinstance(record, str):
            if record not in ("epoch", "geometric"):
                raise unknown_name(record, "record", ("epoch", "geometric"))
            self._step, self._factor = (n, 1.0) if record == "epoch" else (math.inf, 10.0**0.1)
        elif record is not None:
            self._step = as_count(record, "record")
        self._next = 1.0 if self._factor > 1.0 else self._step

    @property
    def next(self) -> float:
        """The next iteration to record at."""
        return self._next

    def advance(self, t: int) -> None:
        """Plan the record after the one at iteration t."""
        while self._next <= t:
            ahead = math.floor(self._next * self._factor) if self._factor > 1.0 else self._next + self._step
            self._next = max(ahead, self._next + 1)
