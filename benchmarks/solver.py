"""Our solver against its peers at equal, recomputed precision: tables of ratios, and JSON.

    python benchmarks/solver.py [--quick] [--only GROUP,…] [--case NAME,…] [--peers NAME,…] [--targets GAP,…]
                                [--parts PART,…] [--repeats N] [--budget SECONDS] [--threads one|default|both]
                                [--clock wall|processor] [--data FOLDER] [--json FILE]
    python benchmarks/solver.py --tables FILE        all a results file holds, as Markdown

Groups: lasso, path, enet, logistic, cv, svm, with blocks "tasks 10", "tasks 100", "groups of 5", "groups of 3 to 50",
"sparse groups of 5", "sparse groups of 3 to 50", "multinomial l1", "multinomial l2" (races); tiny, start, memory
(no races).  Peers that are not installed are named and left out.  How it is done: ``race/protocol.py``;
what is asked: ``race/groups.py``; what a gap is: ``race/gaps.py``.  Every race is stored in
benchmarks/results/solver.json as it ends, in the place of the same race of an earlier run (``common/ledger.py``); the
tables of the documentation are written from there (``make bench-tables``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from common.ledger import Ledger, place_of, read
from common.tables import markdown_table
from race import cases, groups, protocol, races, report
from race.extras import EXTRAS
from race.peers import installed

THREADS = {"one": (1,), "default": (None,), "both": (1, None)}
PARTS = (*groups.GROUPS, *EXTRAS)


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"parts to run, of {', '.join(PARTS)}")
    parser.add_argument("--case", default="", help="parts of names of cases")
    parser.add_argument("--peers", default="", help="parts of names of libraries (ascd among them)")
    parser.add_argument("--data", type=Path, default=cases.data_folder(), help="folder with npz files")
    parser.add_argument("--targets", type=_numbers, default=(), help="relative gaps instead of the groups' own")
    parser.add_argument("--parts", type=_numbers, default=(), help="λ_max/part, or C, instead of the groups' own")
    parser.add_argument("--repeats", type=int, default=5, help="timed repeats, in turn; the minimum counts")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds a fit may take")
    parser.add_argument("--threads", choices=THREADS, default="both")
    parser.add_argument("--clock", choices=protocol.CLOCKS, default="wall", help="processor: of one thread's work")
    parser.add_argument(
        "--quick", action="store_true", help="small cases, few repeats, one thread, a file of their own"
    )
    parser.add_argument("--json", type=Path, help="where the results go")
    parser.add_argument("--tables", type=Path, help="print the Markdown tables of this results file and stop")
    options = parser.parse_args(given)
    options.only = [part.strip() for part in options.only.split(",") if part.strip()] or list(PARTS)
    unknown = [part for part in options.only if part not in PARTS]
    if unknown:
        parser.error(f"--only knows {', '.join(PARTS)}; got {', '.join(unknown)}")
    if not cases.names(options.case):
        parser.error(f"--case must be part of one of {', '.join(cases.names())}; got {options.case!r}")
    if options.clock == "processor" and options.threads != "one":
        parser.error(f"--clock processor is for --threads one; got {options.threads}")
    options.threads = THREADS[options.threads]
    options.json = options.json or place_of("solver", options.quick)
    if options.quick:
        options.repeats, options.budget, options.threads = 2, 10.0, (1,)
    return options


def _numbers(text):
    return tuple(float(word) for word in text.split(","))


def measure(options, given=None, say=print):
    """Run what was asked for; every race and every part is stored as it ends, because all of them take long."""
    here, absent = installed(options.peers)
    peers = {name: peer.installed_version for name, peer in here.items()}
    settings = {"absent": absent, "repeats": options.repeats, "budget": options.budget, "clock": options.clock}
    ledger = Ledger(options.json, "solver.py", given, peers, **settings)
    for peer in here.values():
        peer.clock = options.clock  # those that stop themselves look at the wall's: with other work that is too early
        peer.limit = options.budget * (protocol.PATIENCE if options.clock == "processor" else 1.0)
    say(f"here: {', '.join(f'{name} {version}' for name, version in peers.items())}")
    for name, reason in absent.items():
        say(f"absent: {name} ({reason})")
    chosen = [part for part in options.only if part in groups.GROUPS]
    try:
        spent, unable = protocol.warm_up(here, [groups.GROUPS[part].kind for part in chosen])
        ledger.run |= {"warm_up": spent, "unable": unable}
        say("warm-up, not counted: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in spent.items()))
        for what, reason in unable.items():
            say(f"left out: {what} ({reason})")
        for part in chosen:
            say(f"\n{groups.GROUPS[part].title}")
            for records in races.run(part, here, options, say):
                ledger.put(report.RACES, report.RACE_KEY, records)
                for record in records:
                    say(report.line(record))
        for part in (part for part in options.only if part in EXTRAS):
            for row in EXTRAS[part](here, options):
                ledger.put(part, report.EXTRAS[part].key, [row])
                say(report.EXTRAS[part].line(row))
    finally:
        for peer in here.values():
            peer.close()


def main(given=None):
    options = arguments(given)
    if options.tables:
        print(report.tables(read(options.tables), markdown_table))
        return
    measure(options, given, lambda text: print(text, flush=True))
    print("\n" + report.tables(read(options.json)))
    print(f"\nwritten: {options.json.name}")


if __name__ == "__main__":
    main()
