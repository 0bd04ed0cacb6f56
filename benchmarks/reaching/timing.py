"""Variants of one run, timed in turns: the shortest of the repeats counts, and answers must agree."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from common.tables import markdown_table


def in_turns(variants: Mapping[Any, Callable[[], Any]], repeats: int) -> tuple[dict[Any, float], dict[Any, Any]]:
    """Seconds of each variant, and its answer; every variant runs once before, to compile."""
    answers = {name: run() for name, run in variants.items()}
    best = dict.fromkeys(variants, float("inf"))
    for _ in range(repeats):
        for name, run in variants.items():
            start = time.perf_counter()
            answers[name] = run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best, answers


def show(title: str, head: list[str], rows: list[list[str]]) -> None:
    """A table as it goes into docs/benchmarks.md."""
    print(f"\n### {title}\n\n{markdown_table(head, rows)}", flush=True)
