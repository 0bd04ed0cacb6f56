"""All races of a group, one record each: what goes to the tables and to JSON."""

from __future__ import annotations

from dataclasses import asdict

from race import cases, protocol, tasks
from race.groups import GROUPS, takes


def run(key, peers, options, say):
    """All races of a group: after every task its records, one a target and number of threads."""
    group = GROUPS[key]
    targets = options.targets or group.targets
    for name in cases.names(options.case, options.quick):
        if not takes(group, name):
            continue
        case = cases.get(name, options.data)
        if case is None:
            say(f"  {name}: not found in the data folder")
            continue
        for part in options.parts or group.parts:
            task = tasks.make(case, group.kind, part)
            results = protocol.race(peers, task, targets, options.repeats, options.budget, options.threads)
            what = {"group": key, "case": case.name, "label": task.label, "part": task.part}
            size = {"samples": case.X.shape[0], "features": case.X.shape[1], "storage": case.storage}
            yield [
                {**what, **size, "target": target, "threads": threads, "peers": _asdicts(found)}
                for (target, threads), found in results.items()
            ]


def _asdicts(found):
    return {name: asdict(result) for name, result in found.items()}
