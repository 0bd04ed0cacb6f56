"""A progress bar for long runs, when asked for (extra ``cli``)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from ascd._base.clock import announcing

Show = Callable[[int, float], None]


@contextmanager
def progress_bar(wanted: bool, total: int) -> Iterator[Show]:
    """Yield a function show(iteration, objective); it does nothing unless the bar is wanted."""
    if not wanted:
        yield lambda iteration, objective: None
        return
    try:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    except ImportError as error:
        raise ImportError("progress=True needs the package rich: pip install ascd[cli]") from error
    columns = (
        TextColumn("descending"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%  objective {task.fields[objective]:.6g}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    is_terminal = sys.stderr.isatty()
    with Progress(*columns, transient=True) as bar, announcing(_on_stderr) if is_terminal else nullcontext():
        task = bar.add_task("descend", total=total, objective=float("nan"))
        yield lambda iteration, objective: bar.update(task, completed=iteration, objective=objective)


def _on_stderr(text: str) -> None:
    print(text, file=sys.stderr)
