"""Tables of times and ratios, geometric means against bars, and the same from JSON as Markdown."""

from __future__ import annotations

import math

from common.tables import Table, text_table

from race.cases import RAW
from race.groups import GROUPS

OURS = "ascd"
RACES, RACE_KEY = "races", ("group", "case", "part", "target", "threads")


def seconds_of(record, peer):
    result = record["peers"].get(peer)
    return result["seconds"] if result else None


def best_peer(record):
    """The fastest peer that reached the gap, and its seconds; None where none did."""
    reached = {name: found["seconds"] for name, found in record["peers"].items() if name != OURS and found["seconds"]}
    return min(reached.items(), key=lambda item: item[1], default=None)


def ratio(record):
    """Ours / best peer; inf where only peers reached the gap, None where there is nothing to compare."""
    ours, best = seconds_of(record, OURS), best_peer(record)
    if best is None or OURS not in record["peers"]:
        return None
    return ours / best[1] if ours else math.inf


def geometric_mean(values):
    values = list(values)
    if not values:
        return None
    return math.exp(sum(map(math.log, values)) / len(values)) if all(map(math.isfinite, values)) else math.inf


def solvers(records):
    """Names of the solvers in the order they raced."""
    return list(dict.fromkeys(name for record in records for name in record["peers"]))


def header(names):
    return ["case", "gap ≤", "threads", *names, "best peer", "ours / best", "our gap", "nonzero", "reads / n"]


def cells(record, names):
    """A row of the table: what was asked, every solver's time, then ratio, gap, support and columns read."""
    found, best = record["peers"].get(OURS), best_peer(record)
    reference = found or next(iter(record["peers"].values()), {"nonzero": "-"})
    return [
        record["label"],
        f"{record['target']:.0e}",
        str(record["threads"] or "all"),
        *(_seconds(record["peers"].get(name)) for name in names),
        best[0] if best else "none",
        _ratio(ratio(record), found, best),
        f"{found['gap']:.1e}" if found else "-",
        str(reference["nonzero"]),
        f"{found['reads'] / record['features']:.2f}" if found and found["reads"] is not None else "-",
    ]


def line(record):
    """The row as one line, told as soon as a race ends."""
    names = list(record["peers"])
    pairs = zip(header(names)[1:], cells(record, names)[1:], strict=True)
    return f"  {record['label']}:  " + ",  ".join(f"{head} {cell}" for head, cell in pairs)


def _seconds(found):
    if found is None:
        return "-"
    if found["seconds"]:
        return f"{found['seconds']:.4g} s"
    return "not reached" if found["gap"] is None else f"not reached ({found['gap']:.0e})"


def _ratio(quotient, found, best):
    if quotient is None:
        return "alone" if found and found["seconds"] and best is None else "-"
    return f"{quotient:.2f}"


def summary(records):
    """Rows under ``SUMMARY_HEADER``; beside the mean of all races stands that without the tiny problem,
    which has a bar of its own, and the raw sets, which are kind to us.
    """
    rows = []
    keys = dict.fromkeys((record["group"], record["target"], record["threads"]) for record in records)
    for group, target, threads in keys:
        ratios = [
            (ratio(record), record["label"])
            for record in records
            if (record["group"], record["target"], record["threads"]) == (group, target, threads)
            and ratio(record) is not None
        ]
        mean, worst = geometric_mean(value for value, _ in ratios), max(ratios, default=None)
        usual = geometric_mean(value for value, label in ratios if not label.startswith("tiny") and RAW not in label)
        rows.append(
            [
                GROUPS[group].title,
                f"{target:.0e}",
                str(threads or "all"),
                str(len(ratios)),
                "-" if mean is None else f"{mean:.3f}",
                "-" if usual is None else f"{usual:.3f}",
                "-" if worst is None else f"{worst[0]:.2f} ({worst[1]})",
                *_bars(group, target),
            ]
        )
    return rows


SUMMARY_HEADER = [
    "group",
    "gap ≤",
    "threads",
    "races",
    "geometric mean of ours / best",
    "without tiny and raw",
    "worst",
    "bar",
    "aim",
]


def _bars(key, target):
    group = GROUPS[key]
    if target not in group.targets:
        return ["-", "-"]
    place = group.targets.index(target)
    return [f"{group.bars[place]:g}", f"{group.aims[place]:g}"]


def tables(results, table=text_table):
    """Everything a results file holds, as one text; ``table`` decides the form."""
    records = results["tables"].get(RACES, [])
    parts = []
    for key in dict.fromkeys(record["group"] for record in records):
        rows = [record for record in records if record["group"] == key]
        names = solvers(rows)
        parts += [GROUPS[key].title, table(header(names), [cells(record, names) for record in rows])]
    for key, extra in EXTRAS.items():
        rows = results["tables"].get(key, [])
        if rows:
            parts += [extra.title, table(extra.head, [extra.cells(row) for row in rows])]
    if records:
        parts += ["Ratios", table(SUMMARY_HEADER, summary(records))]
    return "\n\n".join(parts)


def _overhead(row):
    ours, base = row["microseconds"], row["scikit-learn"]
    return [row["peer"], f"{ours:.0f}", "-" if base is None else f"{ours / base:.2f}"]


def _share(row, field):
    return "-" if row[field] is None else f"{row[field] / row['input']:.2f}"


EXTRAS = {
    "tiny": Table(
        "Lasso.fit on 100 × 50 in a warm process (bar: 2 × scikit-learn, aim 1 ×)",
        ("peer",),
        ("library", "microseconds", "/ scikit-learn"),
        _overhead,
    ),
    "start": Table(
        "First fit in a fresh process, seconds (bars: cold 12, warm 1.5; aims 6 and 0.8)",
        ("peer", "storage"),
        ("library", "storage", "import", "first fit, cold cache", "first fit, warm cache"),
        lambda row: [row["peer"], row["storage"], *(f"{row[key]:.2f}" for key in ("import", "cold", "warm"))],
    ),
    "memory": Table(
        "Peak memory of a Lasso fit above the input, relative to it (bars: sparse 1, dense 0.2)",
        ("case", "peer"),
        ("case", "storage", "library", "traced", "resident"),
        lambda row: [row["case"], row["storage"], row["peer"], _share(row, "traced"), _share(row, "resident")],
    ),
}
