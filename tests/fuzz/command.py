"""The command: cases of consecutive seeds on several processes, counts of what they were, and a report."""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import platform
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import ascd

from .calls import Outcome
from .cases import Case, source
from .checks import Violation, judge
from .draw import FAMILIES, draw
from .shrink import as_test, order_of, shrink

Work = Callable[[int, int], Any]
DIED = "process died"
CHUNK = 200
#: One case in so many is judged by SciPy and scikit-learn, too.
DEEP = 50
#: The seeds of one run are this far from those of the next.
SPAN = 10**9
#: A process whose case takes longer than this writes down where it is and ends, which is a violation.
SECONDS_A_CASE = 120.0
#: The report is written this often while the run goes on.
SECONDS_UNSAVED = 30.0
#: What is counted of a case.
TABLES = ("family", "loss", "penalty", "storage", "weights", "shape", "ended")


@dataclass
class Found:
    """A violation and the seed of its case."""

    seed: int
    family: str
    size: int  # entries of A
    violation: Violation


@dataclass
class Tally:
    """What was seen in some cases; tallies add up."""

    cases: int = 0
    answers: int = 0
    certified: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in TABLES})
    found: list[Found] = field(default_factory=list)

    def count(self, seed: int, case: Case, outcome: Outcome, violations: Iterable[Violation], seconds: float) -> None:
        certified = sum(np.isfinite(answer.gap) for answer in outcome.answers)
        found = [Found(seed, case.family, case.A.size, violation) for violation in violations]
        ended = [answer.status or "no status" for answer in outcome.answers[-1:]] or ["no answer"]
        values = {
            "family": case.family, "loss": case.loss, "penalty": case.penalty,
            "storage": re.sub(r":\d+$", "", case.storage),
            "weights": "unweighted" if case.weight is None else "weighted",
            "shape": "1 entry" if case.A.size == 1 else f"up to {10 ** len(str(case.A.size - 1))} entries",
            "ended": ended[0] if outcome.error is None else type(outcome.error).__name__,
        }  # fmt: skip
        counts = {name: Counter([values[name]]) for name in TABLES}
        self.add(Tally(1, len(outcome.answers), certified, seconds, seconds, counts, found))

    def add(self, other: Tally) -> None:
        for name in ("cases", "answers", "certified", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, counter in other.counts.items():
            self.counts[name].update(counter)
        self.found += other.found
        self.longest = max(self.longest, other.longest)

    def by_kind(self) -> dict[tuple[str, str, int], list[Found]]:
        """Violations by kind, family and order of size, the smallest cases first."""
        groups: dict[tuple[str, str, int], list[Found]] = {}
        for one in sorted(self.found, key=lambda one: (one.size, one.seed)):
            groups.setdefault((one.violation.kind, one.family, order_of(one.violation)), []).append(one)
        return dict(sorted(groups.items()))


# ------------------------------------------------------------------------------------------- cases


def judge_seeds(first: int, count: int, few: bool, family: str | None) -> Tally:
    """Cases of consecutive seeds."""
    tally = Tally()
    for seed in range(first, first + count):
        case = draw(seed, few, family)
        began = time.perf_counter()
        outcome, violations = judge(case, deep=seed % DEEP == 0)
        tally.count(seed, case, outcome, violations, time.perf_counter() - began)
    return tally


def judge_watched(first: int, count: int, few: bool, family: str | None, seconds: float = SECONDS_A_CASE) -> Tally:
    """The same, one by one, in a process that ends where a case does not."""
    total = Tally()
    for seed in range(first, first + count):
        faulthandler.dump_traceback_later(seconds, exit=True)
        total.add(judge_seeds(seed, 1, few, family))
    faulthandler.cancel_dump_traceback_later()
    return total


def run(args: argparse.Namespace, keep: Callable[[Tally], Any]) -> Tally:
    """All cases, on ``args.jobs`` processes; ``keep`` is called now and then.  Ctrl-C ends the run early."""
    first, total, kept = args.seed * SPAN, Tally(), time.perf_counter()
    chunks = [(start, min(CHUNK, first + args.n - start)) for start in range(first, first + args.n, CHUNK)]
    options = {"few": args.few, "family": args.family}
    if args.jobs == 1:
        tallies: Iterable[Tally] = (judge_seeds(*chunk, **options) for chunk in chunks)
    else:
        tallies = side_by_side(chunks, args.jobs, partial(judge_watched, **options))
    with suppress(KeyboardInterrupt):
        for tally in tallies:
            total.add(tally)
            if sys.stderr.isatty():
                print(f"\r{total.cases:,} of {args.n:,}, {len(total.found)} violations", end="", file=sys.stderr)
            if time.perf_counter() - kept > SECONDS_UNSAVED:
                keep(total)
                kept = time.perf_counter()
    return total


def side_by_side(chunks: list[tuple[int, int]], jobs: int, work: Work) -> Iterator[Any]:
    """Tallies of the chunks in their order, each from a process of its own."""
    with ThreadPoolExecutor(jobs) as pool:
        for tallies in pool.map(partial(apart, work=work), chunks):
            yield from tallies


def apart(chunk: tuple[int, int], work: Work) -> list[Any]:
    """A chunk in a process of its own; seed by seed where that ends, and the end of one seed's is a violation."""
    start, count = chunk
    with processes(1) as pool:
        try:
            return [pool.submit(work, start, count).result()]
        except BrokenProcessPool:
            pass
    if count == 1:
        return [Tally(cases=1, found=[Found(start, "", 0, Violation(DIED, "the process ended without an answer"))])]
    return [tally for seed in range(start, start + count) for tally in apart((seed, 1), work)]


def processes(jobs: int) -> ProcessPoolExecutor:
    """Fresh ones: what a fork would share is not safe to share while threads run."""
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


# ------------------------------------------------------------------------------------------- the report


def shrunk_tests(tally: Tally, args: argparse.Namespace) -> Iterator[str]:
    """The smallest case of each kind, made smaller, as tests."""
    for (kind, family, _), group in tally.by_kind().items():
        if kind == DIED:
            yield from (f"# ends the process: {source(draw(one.seed, args.few, args.family))}" for one in group)
            continue
        for one in {found.seed: found for found in group[: args.shrink]}.values():
            case = draw(one.seed, args.few, args.family)
            small, violation = shrink(case, one.violation, seconds=args.shrink_seconds)
            name = f"{kind}_{family}_{one.seed}".replace(" ", "_").lower()
            yield as_test(small, violation, name)


def markdown(tally: Tally, command: str, seconds: float, tests: Iterable[str] = ()) -> str:
    """The report."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "scikit-learn"))
    versions = f"ascd {ascd.__version__}, {versions}"  # also where it is not installed
    lines = [
        f"Command: `{command}`  ",
        f"Versions: Python {platform.python_version()}, {versions}, {platform.system()} {platform.machine()}  ",
        f"Cases: **{tally.cases:,}**, answers {tally.answers:,}, with a finite gap {tally.certified:,}, violations "
        f"**{len(tally.found):,}**; {seconds:,.0f} s, {1e3 * tally.seconds / max(tally.cases, 1):.1f} ms a case, "
        f"the longest {tally.longest:.1f} s",
    ]
    for name in TABLES:
        lines += ["", f"| {name} | cases |", "|---|---:|"]
        lines += [f"| {value} | {count:,} |" for value, count in tally.counts[name].most_common()]
    if tally.found:
        lines += ["", "| violation | family | size | cases | largest | smallest seed |", "|---|---|---|---:|---:|---:|"]
    for (kind, family, order), group in tally.by_kind().items():
        largest = max((one.violation.size for one in group if one.violation.size >= 0.0), default=-1.0)
        size = ("rounding", "coarse")[order] if largest >= 0.0 else ""
        shown = f"{largest:.2g}" if largest >= 0.0 else ""
        lines.append(f"| {kind} | {family} | {size} | {len(group):,} | {shown} | {group[0].seed} |")
    for test in tests:
        lines += ["", "```python", test.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="which thousand million of seeds")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    families = f"{', '.join(FAMILIES)}, or the name of an estimator; single: no blocks, data in memory"
    parser.add_argument("--family", help=f"only this family ({families})")
    parser.add_argument("--few", action="store_true", help="only the few combinations of parts that the tests compile")
    parser.add_argument("--shrink", type=int, default=1, help="cases of each kind of violation that are made smaller")
    parser.add_argument("--shrink-seconds", type=float, default=60.0, help="time to make one case smaller")
    parser.add_argument("--report", type=Path, help="where to write the report; standard output by default")
    args = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of processes side by side: they would wait for each other
    began, command = time.perf_counter(), "python -m tests.fuzz " + " ".join(sys.argv[1:])

    def keep(tally: Tally, tests: Iterable[str] = ()) -> str:
        text = markdown(tally, command, time.perf_counter() - began, tests)
        if args.report is not None:
            args.report.write_text(text, encoding="utf-8")
        return text

    tally = run(args, keep)
    keep(tally)
    text = keep(tally, list(shrunk_tests(tally, args)))
    if args.report is None:
        print(text)
    sys.exit(1 if tally.found else 0)
