"""A progress bar for long runs, when asked for: by rich (extra ``cli``), which knows terminals and notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import NamedTuple

from ascd._core.checks import as_flag
from ascd._core.timing import announcing

Show = Callable[[int, float], None]


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


_onlooker: ContextVar[Callable[[Round], None] | None] = ContextVar("callback for rounds", default=None)


@contextmanager
def looking_on(tell: Callable[[Round], None]) -> Iterator[None]:
    """Let ``tell`` be called in every round of the runs inside."""
    token = _onlooker.set(tell)
    try:
        yield
    finally:
        _onlooker.reset(token)


def tell_onlooker(now: Round) -> None:
    tell = _onlooker.get()
    if tell is not None:
        tell(now)


@contextmanager
def progress_bar(wanted: bool, total: int) -> Iterator[Show]:
    """Yield a function show(iteration, objective); it does nothing unless the bar is wanted."""
    if not as_flag(wanted, "progress"):
        yield lambda iteration, objective: None
        return
    try:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    except ImportError as error:
        raise ImportError("progress=True needs the package rich: pip install ascd[cli]") from error
    columns = (
        TextColumn("descending"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%{task.fields[said]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    is_terminal = sys.stderr.isatty()
    with Progress(*columns, transient=True) as bar, announcing(_on_stderr) if is_terminal else nullcontext():
        task = bar.add_task("descend", total=total, said="")
        yield lambda iteration, objective: bar.update(task, completed=iteration, said=objective_text(objective))


def _on_stderr(text: str) -> None:
    print(text, file=sys.stderr)


def objective_text(objective: float) -> str:
    """The objective for a bar; nothing where there is none, as for folds.

    Examples
    --------
    >>> objective_text(1.25), objective_text(float("nan"))
    ('  objective 1.25', '')
    """
    return "" if objective != objective else f"  objective {objective:.6g}"
