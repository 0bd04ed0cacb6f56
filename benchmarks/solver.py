"""Our solver against its peers at equal, recomputed precision: tables of ratios, JSON, pictures of gap against time.

    python benchmarks/solver.py [--quick] [--only GROUP,…] [--case NAME,…] [--peers NAME,…] [--targets GAP,…]
                                [--repeats N] [--budget SECONDS] [--threads one|default|both]
                                [--data FOLDER] [--json FILE]
    python benchmarks/solver.py --tables FILE        Markdown tables of a results file, for the docs

Groups: lasso, path, enet, logistic, cv, svm (races); tiny, start, memory (no races).  Peers that are not installed are
named and left out.  How it is done: ``race/protocol.py``; what is asked: ``race/groups.py``; what a gap is:
``race/gaps.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from datetime import datetime, timezone
from pathlib import Path

from race import cases, groups, picture, protocol, races, report
from race.extras import EXTRAS
from race.peers import installed

RESULTS = Path(__file__).resolve().parent / "results"
THREADS = {"one": (1,), "default": (None,), "both": (1, None)}
PARTS = (*groups.GROUPS, *EXTRAS)


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"parts to run, of {', '.join(PARTS)}")
    parser.add_argument("--case", default="", help="parts of names of cases")
    parser.add_argument("--peers", default="", help="parts of names of libraries (ascd among them)")
    parser.add_argument("--data", type=Path, default=cases.data_folder(), help="folder with npz files")
    parser.add_argument("--targets", type=_numbers, default=(), help="relative gaps instead of the groups' own")
    parser.add_argument("--repeats", type=int, default=5, help="timed repeats, in turn; the minimum counts")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds a fit may take")
    parser.add_argument("--threads", choices=THREADS, default="both")
    parser.add_argument("--quick", action="store_true", help="small cases, two repeats, ten seconds, one thread")
    parser.add_argument("--json", type=Path, default=RESULTS / "solver.json", help="where the results go")
    parser.add_argument("--tables", type=Path, help="print the Markdown tables of this results file and stop")
    options = parser.parse_args(given)
    options.only = [part.strip() for part in options.only.split(",") if part.strip()] or list(PARTS)
    unknown = [part for part in options.only if part not in PARTS]
    if unknown:
        parser.error(f"--only knows {', '.join(PARTS)}; got {', '.join(unknown)}")
    if not cases.names(options.case):
        parser.error(f"--case must be part of one of {', '.join(cases.names())}; got {options.case!r}")
    options.threads = THREADS[options.threads]
    if options.quick:
        options.repeats, options.budget, options.threads = 2, 10.0, (1,)
    return options


def _numbers(text):
    return tuple(float(word) for word in text.split(","))


def environment(here, absent, options):
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: peer.installed_version for name, peer in here.items()},
        "absent": absent,
        "repeats": options.repeats,
        "budget": options.budget,
    }


def measure(options, say=print):
    """Run what was asked for; the results, stored after every part because all of them take long."""
    here, absent = installed(options.peers)
    for peer in here.values():
        peer.limit = options.budget
    results = {"environment": environment(here, absent, options), "records": [], "extras": {}}
    say(f"here: {', '.join(f'{name} {peer.installed_version}' for name, peer in here.items())}")
    for name, reason in absent.items():
        say(f"absent: {name} ({reason})")
    chosen = [part for part in options.only if part in groups.GROUPS]
    try:
        spent, unable = protocol.warm_up(here, [groups.GROUPS[part].kind for part in chosen])
        results |= {"warm_up": spent, "unable": unable}
        say("warm-up, not counted: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in spent.items()))
        for what, reason in unable.items():
            say(f"left out: {what} ({reason})")
        for part in chosen:
            say(f"\n{groups.GROUPS[part].title}")
            results["records"] += races.run(part, here, options, say)
            store(results, options.json)
        for part in (part for part in options.only if part in EXTRAS):
            results["extras"][part] = EXTRAS[part](here, options)
            store(results, options.json)
    finally:
        for peer in here.values():
            peer.close()
    return results


def store(results, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))


def pictures(results, path):
    """One picture a group beside the results; the files drawn."""
    drawn = []
    for key in dict.fromkeys(record["group"] for record in results["records"]):
        image = path.with_name(f"{path.stem}_{key}.png")
        if picture.draw([record for record in results["records"] if record["group"] == key], image):
            drawn.append(image)
    return drawn


def main(given=None):
    options = arguments(given)
    if options.tables:
        print(report.tables(json.loads(options.tables.read_text()), report.markdown_table))
        return
    results = measure(options, lambda text: print(text, flush=True))
    print("\n" + report.tables(results))
    print("\nwritten: " + ", ".join(path.name for path in [options.json, *pictures(results, options.json)]))


if __name__ == "__main__":
    main()
