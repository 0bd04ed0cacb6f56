"""What a run gives back: solution or path with a status, a trace; limits, progress and news of lost data on the way."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count, as_flag, as_number, unknown_name
from ascd._core.timing import announcing
from ascd.matrix.base import DataGone

Show = Callable[[int, float], None]

# ---- why a run ends

#: An objective that has fallen this far, relative to where it started, has no minimum.
BOTTOMLESS = -1e15


class Status(str, Enum):
    """Why a run ended; ``str(status)`` is the short name, ``status.sentence`` says it in words."""

    sentence: str

    def __new__(cls, name: str, sentence: str) -> Status:
        status = str.__new__(cls, name)
        status._value_, status.sentence = name, sentence
        return status

    CONVERGED = "converged", "Converged: the certificate is within the tolerance."
    STATIONARY = (
        "stationary",
        "Stationary: the first-order conditions hold within the tolerance, but no dual point was found that proves it.",
    )
    ITERATION_LIMIT = "iteration limit", "Stopped at max_iter before the tolerance was reached."
    TIME_LIMIT = "time limit", "Stopped at max_time before the tolerance was reached."
    INTERRUPTED = "interrupted", "Interrupted by Ctrl-C or by the callback; x is the current point."
    DIVERGED = "diverged", "Diverged: the objective left the finite numbers or fell without end."
    STALLED = "stalled", "Stopped before the tolerance was reached: rounding errors leave nothing to gain."
    UNREACHABLE = "unreachable", "The data went out of reach during the run; x is the best point so far."

    def __str__(self) -> str:
        return self.value

    @property
    def is_answer(self) -> bool:
        """Has the run reached what was asked for, proved (converged) or by first-order conditions (stationary)?"""
        return self in (Status.CONVERGED, Status.STATIONARY)

    @staticmethod
    def of_all(statuses: Iterable[Status]) -> Status:
        """The status of several runs together: the first that is no answer, else stationary if one is.

        Examples
        --------
        >>> from ascd import Status
        >>> str(Status.of_all([Status.CONVERGED, Status.STATIONARY, Status.TIME_LIMIT]))
        'time limit'
        """
        return min(statuses, key=lambda one: (one.is_answer, one is Status.CONVERGED), default=Status.CONVERGED)


class Limits(NamedTuple):
    """Iterations (coordinate steps or rounds) and seconds."""

    max_iter: int
    max_time: float


def as_limits(max_iter: Any, max_time: Any, callback: Any) -> Limits:
    """Return the limits that a user passed; no ``max_time`` is endless, and a callback must be a function."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a Snapshot; got {callback!r}")
    seconds = math.inf if max_time is None else as_number(max_time, "max_time", low=0.0)
    return Limits(as_count(max_iter, "max_iter", low=0), seconds)


def has_no_minimum(objective: float, start: float) -> bool:
    """Has the objective left the finite numbers, or fallen without end?"""
    return not math.isfinite(objective) or objective < BOTTOMLESS * (1.0 + abs(start))


# ---- what happened on the way

COLUMNS = ("iteration", "objective", "gap", "active", "zero_lower", "bound", "violations", "reads", "seconds")


class Trace:
    """Recorded history; every column is an attribute that gives an array.

    ========== =======================================================================================
    iteration  coordinate steps so far; rounds of ``solve`` and ``path``
    objective  F(x)
    gap        duality gap (nan unless ``record_gap=True``); of ``solve`` an estimate until the end
    active     number of coordinates that the rule chooses from; columns of the last working set
    zero_lower share of coordinates whose lower bound on steepness is 0 (``minimize``)
    bound      the largest upper bound on steepness; the largest possible violation of optimality
    violations gradient entries outside their interval (counted for unsafe oracles only, nan otherwise)
    reads      columns read so far
    seconds    time spent so far
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

    def plot(self, x: str = "iteration", ax: Any = None, label: str = "run", **style: Any) -> Any:
        """Plot F(x) less its smallest value against ``x``, with the active set on a second axis; see ``plot_traces``.

        Several runs on one ``ax`` have a colour each; ``label`` names a run.
        """
        from ascd.plotting import plot_traces

        return plot_traces({label: self}, x=x, ax=ax, **style)


class Schedule:
    """At which iterations to record: every k, every epoch, geometrically, or only at both ends.

    Geometric recording keeps about ten records for each factor of ten.
    """

    def __init__(self, record: Any, n: int) -> None:
        steps = {"epoch": n, "geometric": 1, None: math.inf}
        if isinstance(record, str) and record not in steps:
            raise unknown_name(record, "record", ("epoch", "geometric"))
        is_named = record is None or isinstance(record, str)
        self._step = steps[record] if is_named else as_count(record, "record")
        self._factor = 10.0**0.1 if is_named and record == "geometric" else 1.0
        self.next: float = self._step

    def advance(self, t: int) -> None:
        """Plan the record after the one at iteration t."""
        while self.next <= t:
            self.next = max(math.floor(self.next * self._factor), self.next + self._step)


class Snapshot(NamedTuple):
    """What a callback sees: the iteration, the point (a view: copy it to keep it), F(x) and the trace so far.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> run = ascd.minimize(problem, rule="cyclic", callback=lambda now: now.objective <= 4.5)
    >>> run.n_iter, str(run.status)
    (3, 'interrupted')
    """

    iteration: int
    x: Array
    objective: float
    trace: Trace


# ---- what comes back


@dataclass(frozen=True)
class Solution:
    """The result of ``minimize`` and ``solve``.

    Attributes
    ----------
    x : the last point, of shape (n_features,), or (n_features, n_outputs) for a target with two dimensions or classes
    objective : F(x)
    status, message : why the run ended, as a ``Status`` and as a sentence
    n_iter : number of coordinate steps (``minimize``) or of rounds (``solve``)
    gap : duality gap at x, an upper bound on F(x) − min F with all rounding errors counted (inf where no dual point is
        known)
    steepness : the largest score at x, from exact gradient entries; of ``solve`` the largest possible violation of
        optimality.  0 means optimal (nan where it is not asked for)
    reads : columns read during the run, the pass for init="gradient" and checks included
    seconds : time spent without compiling; of ``minimize`` also without recording
    trace : the recorded history
    intercept : the constant c of ``solve(..., intercept=True)``; an array of length n_outputs where x has outputs
    compile_seconds : time that kernels took to compile or to load, which a first call needs once
    chosen : the rule, oracle, steepness and step of ``minimize``, by name
    confidence : the probability with which all intervals of the run of ``minimize`` held together: 1 where they are
        proved, 0 where nothing is known.  Below 1 neither status nor gap rests on them: both come from exact entries
    zero_objective : F at zero coefficients (or the nearest that are allowed), intercept fitted, which the tolerance
        is relative to

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> solution = ascd.solve(problem)
    >>> solution.x, solution.objective, solution.gap <= 1e-6 * solution.zero_objective, str(solution.status)
    (array([ 2.,  0., -1.]), 4.5, True, 'converged')
    """

    x: Array = field(repr=False)
    objective: float
    status: Status
    n_iter: int
    gap: float
    steepness: float = math.nan
    reads: int = 0
    seconds: float = 0.0
    trace: Trace = field(default_factory=Trace, repr=False)
    intercept: Any = 0.0
    zero_objective: float = math.nan
    compile_seconds: float = 0.0
    chosen: dict[str, str] = field(default_factory=dict, repr=False)
    confidence: float = field(default=1.0, repr=False)

    @property
    def message(self) -> str:
        return self.status.sentence

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED

    @property
    def intervals(self) -> str:
        """How far the intervals that the steps were chosen by can be trusted, in a sentence."""
        if self.confidence == 1.0:
            return "The intervals of the run are proved."
        # near 1 the six digits of a short number would be those of 1 itself
        said = f"{self.confidence:g}" if self.confidence < 0.999 else f"1 - {1.0 - self.confidence:.2g}"
        held = f"held with probability {said}" if self.confidence > 0.0 else "may not have held"
        return f"The intervals of the run {held}; status and gap do not rest on them."


@dataclass(frozen=True)
class Path:
    """The result of ``path``; one entry for each alpha, along the last axis of ``coefs`` and ``intercepts``.

    Attributes
    ----------
    alphas : factors of the penalty, falling
    coefs : array of shape (n_features, n_alphas), or (n_features, n_outputs, n_alphas) for a target with two
        dimensions or classes
    intercepts : array of shape (n_alphas,), or (n_outputs, n_alphas)
    objectives, n_iters : per alpha
    gaps : duality gaps, upper bounds on F − min F with all rounding errors counted; from intervals but for the last,
        which comes from an exact pass
    deviance_ratio : share of the loss at zero coefficients that is explained
    reads : columns read in the whole path
    status : why the path ended
    zero_objective : F at zero coefficients, which the tolerance refers to
    seconds : time spent, compiling left out

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> found = ascd.path(problem, alphas=[2.0, 1.0])
    >>> found.coefs.T.tolist(), found.objectives.tolist(), str(found.status)
    ([[1.0, 0.0, 0.0], [2.0, 0.0, -1.0]], [6.5, 4.5], 'converged')
    """

    alphas: Array
    coefs: Array = field(repr=False)
    intercepts: Array = field(repr=False)
    objectives: Array = field(repr=False)
    gaps: Array = field(repr=False)
    n_iters: Array = field(repr=False)
    deviance_ratio: Array = field(repr=False)
    reads: int
    status: Status
    zero_objective: float
    seconds: float

    def plot(self, ax: Any = None, most: int = 50, names: Sequence[str] | None = None) -> Any:
        """Draw the coefficients against alpha, the ``most`` largest; see ``plot_coefficients`` (extra ``plot``)."""
        from ascd.plotting import plot_coefficients

        rows = self.coefs.reshape(math.prod(self.coefs.shape[:-1]), self.coefs.shape[-1])
        return plot_coefficients(self.alphas, rows, ax, as_count(most, "most"), names)


# ---- news for callers: progress, lost data


class Round(NamedTuple):
    """Where a run is.

    Iterations, round trips to remote data (0 for local ones), objective, duality gap, and the gap that is small enough
    (0 where that is not known).
    """

    iteration: int
    rounds: int
    objective: float
    gap: float
    enough: float = 0.0


#: Who is told of every round; None: nobody.
onlooker: ContextVar[Callable[[Round], None] | None] = ContextVar("callback for rounds", default=None)
_listener: ContextVar[Callable[[DataGone], None] | None] = ContextVar("who hears of lost data", default=None)


@contextmanager
def _set(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def looking_on(tell: Callable[[Round], None]) -> AbstractContextManager[None]:
    """Let ``tell`` be called in every round of the runs inside."""
    return _set(onlooker, tell)


@contextmanager
def hearing_of_losses() -> Iterator[list[DataGone]]:
    """Yield a list that gets the errors of the runs inside instead of warnings, for callers that handle them."""
    heard: list[DataGone] = []
    with _set(_listener, heard.append):
        yield heard


def tell_of_loss(error: DataGone, stacklevel: int = 2) -> None:
    """Report that the best point so far is returned because data were lost: to the caller above, or as a warning."""
    hear = _listener.get()
    if hear is not None:
        hear(error)
        return
    warnings.warn(f"{error}. The best point so far is returned", RuntimeWarning, stacklevel=stacklevel + 1)


@contextmanager
def progress_bar(wanted: bool, total: int) -> Iterator[Show | None]:
    """Yield a function show(iteration, objective): a bar by rich (extra ``cli``); None unless it is wanted."""
    if not as_flag(wanted, "progress"):
        yield None
        return
    try:
        from rich.progress import Progress, TextColumn, TimeElapsedColumn
    except ImportError as error:
        raise ImportError("progress=True needs the package rich: pip install ascd[cli]") from error
    columns = *Progress.get_default_columns(), TimeElapsedColumn(), TextColumn("{task.fields[said]}")
    heard = announcing(lambda text: print(text, file=sys.stderr)) if sys.stderr.isatty() else nullcontext()
    with Progress(*columns, transient=True) as bar, heard:
        task = bar.add_task("descending", total=total, said="")

        def show(iteration: int, objective: float) -> None:
            said = "" if math.isnan(objective) else f"  objective {objective:.6g}"  # folds have none
            bar.update(task, completed=iteration, said=said)

        yield show
