"""Do all find the same minimum?  Block figures solved by us and by every peer to high precision, objectives compared.

Ours is solved to the relative gap ``OURS``; a peer with falling tolerances until its recomputed gap is ``SHARE`` of the
minimum or its budget ends, and its best answer counts.  The difference is (F_peer − F_ours)/F_ours, both computed by
the same NumPy.  It may be at most ``MOST``; a peer that is further away and whose own gap says so has not arrived.
"""

from __future__ import annotations

import contextlib

import numpy as np

from race import block_tasks, cases, class_tasks, protocol, tasks
from race.groups import GROUPS, takes
from race.peers.base import Answer, Failed

OURS, SHARE, MOST = 1e-12, 1e-8, 1e-7
KINDS = (*block_tasks.KINDS, *class_tasks.KINDS)


def agreement(peers, options):
    """One row a task: our gap, and of every peer the difference of objectives and its gap."""
    _, unable = protocol.warm_up(peers, KINDS)
    for kind in KINDS:
        for name in cases.names(options.case, options.quick):
            case = cases.get(name, options.data) if takes(GROUPS[kind], name) else None
            for part in GROUPS[kind].parts if case is not None else ():
                yield compared(
                    peers, tasks.make(case, kind, part), options.budget, _reasons(unable, kind, case.storage)
                )


def compared(peers, task, budget, left_out=()):
    """The row of one task."""
    with protocol.threads_limited(1):
        ours, _ = protocol.timed(peers["ascd"], task, OURS)
        least = task.objective(ours)
        target = SHARE * least / task.objective(Answer(np.zeros_like(ours.coef)))
        able = {name: peer for name, peer in peers.items() if name != "ascd" and task.kind in peer.kinds}
        found = {name: best(peer, task, target, budget) for name, peer in able.items()}
    rows = {
        name: {"difference": (task.objective(answer) - least) / least, "gap": task.gap(answer)}
        for name, answer in found.items()
        if answer is not None
    }
    late = {name: f"nothing in {budget:g} s" for name in able if name not in rows}
    what = {"group": task.kind, "label": task.label, "case": task.case, "part": task.part}
    return {**what, "gap": task.gap(ours), "target": target, "peers": rows, "left_out": late | dict(left_out)}


def best(peer, task, target, budget):
    """The most precise answer of a search; None where there was none in time."""
    runs = protocol.searched(peer, task, (target,), budget)
    with contextlib.suppress(Failed):
        return protocol.timed(peer, task, min(runs, key=lambda run: run.gap).tol)[0] if runs else None
    return None


def _reasons(unable, kind, storage):
    """Why peers take no part in a task."""
    tail = f" for {kind}, {storage}"
    return {what.removesuffix(tail): reason for what, reason in unable.items() if what.endswith(tail)}


def cells(row):
    """What was asked, our gap, every peer's difference (with its gap where it has not arrived), and the verdict."""
    said = [
        f"{name} {_one(found)}" if is_there(found) else f"{name} {_one(found)} at its gap {found['gap']:.0e}"
        for name, found in row["peers"].items()
    ]
    said += [f"{name}: {reason.splitlines()[0]}" for name, reason in row["left_out"].items()]
    there = [abs(found["difference"]) for found in row["peers"].values() if is_there(found)]
    apart = [name for name, found in row["peers"].items() if found["gap"] <= row["target"] and not is_there(found)]
    verdict = f"apart: {', '.join(apart)}" if apart else f"{max(there):.0e}" if there else "nobody arrived"
    return [row["group"], row["label"], f"{row['gap']:.0e}", "; ".join(said), verdict]


def is_there(found):
    return abs(found["difference"]) <= MOST


def _one(found):
    return f"{found['difference']:+.0e}"
