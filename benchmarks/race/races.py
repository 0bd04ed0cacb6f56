"""All races of a group, one record each: what goes to the tables and to JSON."""

from __future__ import annotations

from dataclasses import asdict

from race import cases, protocol, report, tasks
from race.groups import GROUPS, takes


def run(key, peers, options, say):
    """All races of a group, as records for the report; each is told as it ends."""
    group = GROUPS[key]
    targets = options.targets or group.targets
    records = []
    for name in cases.names(options.case, options.quick):
        if not takes(group, name):
            continue
        case = cases.get(name, options.data)
        if case is None:
            say(f"  {name}: not found in the data folder")
            continue
        for part in group.parts:
            task = tasks.make(case, group.kind, part)
            results, runs = protocol.race(peers, task, targets, options.repeats, options.budget, options.threads)
            for (target, threads), found in results.items():
                records.append(_record(key, case, task, target, threads, found, runs))
                say(report.line(records[-1]))
    return records


def _record(key, case, task, target, threads, found, runs):
    return {
        "group": key,
        "case": case.name,
        "samples": case.X.shape[0],
        "features": case.X.shape[1],
        "storage": case.storage,
        "label": task.label,
        "part": task.part,
        "target": target,
        "threads": threads,
        "peers": {name: asdict(result) for name, result in found.items()},
        "runs": runs,
    }
