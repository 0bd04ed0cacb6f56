"""One fit each on tasks that take minutes: seconds and the recomputed gap, at tolerances where searches would begin.

A fit that takes longer than the budget is stopped; ours ends there by itself, and its gap counts.
"""

from __future__ import annotations

from race import cases, class_tasks, protocol, tasks
from race.groups import GROUPS

CASES, TARGETS = ("news20",), (1e-4,)


def once(peers, options):
    """One row a task and peer; ``--parts`` and ``--targets`` say which."""
    protocol.warm_up(peers, class_tasks.KINDS)
    for name in (name for name in cases.names(options.case, options.quick) if name in CASES):
        case = cases.get(name, options.data)
        for kind in class_tasks.KINDS if case is not None else ():
            for part in options.parts or GROUPS[kind].parts:
                task = tasks.make(case, kind, part)
                for peer in (peer for peer in peers.values() if kind in peer.kinds):
                    yield from fits(peer, task, options)


def fits(peer, task, options):
    """The rows of one peer, None for seconds and gap where it was stopped."""
    targets = options.targets or TARGETS
    with protocol.threads_limited(1):
        runs = protocol.searched(peer, task, targets, options.budget, protocol.one_fit)
    for target, one in zip(targets, [*runs, *[None] * len(targets)], strict=False):
        what = {"group": task.kind, "case": task.case, "part": task.part, "label": task.label, "peer": peer.name}
        done = {"seconds": one.seconds, "gap": one.gap} if one else {"seconds": None, "gap": None}
        yield {**what, "target": target, "budget": options.budget, **done}


def cells(row):
    if row["seconds"] is None:
        return [row["group"], row["label"], row["peer"], f"none (limit {row['budget']:g} s)", "-"]
    return [row["group"], row["label"], row["peer"], f"{row['seconds']:.1f}", f"{row['gap']:.0e}"]
