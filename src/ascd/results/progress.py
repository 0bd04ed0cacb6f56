"""A progress bar for long runs, when asked for: in terminals by rich (extra ``cli``), in notebooks as plain HTML."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple

from ascd._core.checks import as_flag
from ascd._core.timing import announcing

Show = Callable[[int, float], None]
#: Seconds between two pictures of a notebook's bar.
PAUSE = 0.1


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
    notebook = notebook_display()
    if notebook is not None:
        with notebook_bar(notebook, total) as show:
            yield show
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


def notebook_display() -> Any:
    """IPython's module for showing things, where the caller runs in a notebook; None otherwise."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython import display  # type: ignore[import-not-found, unused-ignore]

    return display


@contextmanager
def notebook_bar(display: Any, total: int) -> Iterator[Show]:
    """A bar in the cell's output, gone at the end."""
    stopwatch, start = time.monotonic, time.monotonic()
    handle, next_at = display.display(display.HTML(""), display_id=True), start

    def show(iteration: int, objective: float) -> None:
        nonlocal next_at
        if stopwatch() >= next_at:
            next_at = stopwatch() + PAUSE
            handle.update(display.HTML(bar_html(iteration, total, objective, stopwatch() - start)))

    try:
        yield show
    finally:
        handle.update(display.HTML(""))


def objective_text(objective: float, before: str = "  ") -> str:
    """The objective for a bar; nothing where there is none, as for folds.

    Examples
    --------
    >>> objective_text(1.25), objective_text(float("nan"))
    ('  objective 1.25', '')
    """
    return "" if objective != objective else f"{before}objective {objective:.6g}"


def bar_html(iteration: int, total: int, objective: float, seconds: float) -> str:
    """The bar itself.

    Examples
    --------
    >>> bar_html(5, 10, 1.25, 2.0)
    '<progress value="5" max="10"></progress> 50%, objective 1.25, 2 s, at most 2 s left'
    """
    left = f", at most {seconds / iteration * (total - iteration):.0f} s left" if iteration else ""
    said = objective_text(objective, ", ")
    share = iteration / max(total, 1)
    return f'<progress value="{iteration}" max="{total}"></progress> {share:.0%}{said}, {seconds:.0f} s{left}'
