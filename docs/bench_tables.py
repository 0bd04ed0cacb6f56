"""The benchmarks' tables in README and documentation, written from the results files and never by hand.

    python docs/bench_tables.py            rewrite them (``make bench-tables``)

A page holds a table between two comments, ``<!-- table: NAME -->`` and ``<!-- end of table -->``; what stands between
them is replaced by ``TABLES[NAME]()``.  Building the documentation does the same with the pages as they are read.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from choosing import tables as choosing
from common.ledger import RESULTS, read
from common.tables import markdown_table
from price import tables as price
from race import report
from race.cases import RAW, REAL
from race.groups import GROUPS

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
BLOCK = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
NOTHING = "*Not measured yet.*"
#: Packages whose versions are shown below a table.
SHOWN = ("ascd", "numpy", "numba", "scikit-learn", "celer", "skglm", "blitzl1", "glmnet (R)")


def simple(file, name, table):
    """All rows of a table, then where they come from."""
    content = read(RESULTS / f"{file}.json")
    rows = content["tables"].get(name, [])
    return "\n\n".join([table.markdown(rows), origin(content, rows)]) if rows else NOTHING


def origin(content, rows):
    """Return where rows come from: a sentence for all runs on one kind of machine with the same versions."""
    groups: dict[str, dict[str, None]] = {}
    dates: dict[str, set[str]] = {}
    for number in dict.fromkeys(row["run"] for row in rows):
        run = content["runs"][number]
        machine, versions = run["machine"], {name: run["versions"][name] for name in SHOWN if name in run["versions"]}
        where = f"on {machine['cores']} cores of {machine['processor']} ({machine['architecture']})"
        told = ", ".join([where, *(f"{name} {version}" for name, version in versions.items())])
        told += f"; {run['note']}" if "note" in run else ""
        groups.setdefault(told, {})[f"`{run['command']}`"] = None
        dates.setdefault(told, set()).add(run["date"][:10])
    texts = [f"From {', '.join(found)} {told}, {' and '.join(sorted(dates[told]))}." for told, found in groups.items()]
    return f"<small>{' '.join(texts)}</small>"


def races(group):
    """Ours / best peer for all races of a group: a row a case, a column a gap and λ, a table a number of threads."""
    content = read(RESULTS / "solver.json")
    records = [record for record in content["tables"].get(report.RACES, []) if record["group"] == group]
    if not records:
        return NOTHING
    parts = []
    for threads in dict.fromkeys(record["threads"] for record in records):
        chosen = [record for record in records if record["threads"] == threads]
        parts += [ratio_table(chosen, threads), in_words(chosen)]
    return "\n\n".join([*parts, origin(content, records)])


def ratio_table(records, threads):
    """Ratios as Markdown, cases in the order of the benchmark."""
    columns = sorted({(-record["target"], record["part"]) for record in records})
    several = len({part for _, part in columns}) > 1
    head = [f"ours / best peer, {'default threads' if threads is None else 'one thread'}"]
    what = "C = " if records[0]["group"] == "svm" else "λmax/"
    head += [f"{_gap(-target)}: {what}{part:g}" if several else f"gap ≤ {_gap(-target)}" for target, part in columns]
    rows = []
    for case in sorted({record["case"] for record in records}, key=_place):
        found = {(-record["target"], record["part"]): record for record in records if record["case"] == case}
        any_one = next(iter(found.values()))
        size = f"{case}, {any_one['samples']:,} × {any_one['features']:,} {any_one['storage']}"
        rows.append([size, *(_quotient(found.get(column)) for column in columns)])
    return markdown_table(head, rows)


def _place(case):
    return (REAL.index(case), "") if case in REAL else (len(REAL), case)


def _gap(target):
    return f"{target:.0e}".replace("e-0", "e-")


def _quotient(record):
    if record is None:
        return ""
    value = report.ratio(record)
    if value is not None:
        return f"{value:.2f}"
    return "alone" if report.seconds_of(record, report.OURS) else "nobody"


def in_words(records):
    """Means, losses and columns read."""
    return " ".join(filter(None, [_means(records), _losses(records), _reads(records)]))


def _means(records):
    """The raw sets are kind to us: they are left out."""
    told = []
    raw = any(record["case"].endswith(RAW) for record in records)
    records = [record for record in records if not record["case"].endswith(RAW)]
    for target in sorted({record["target"] for record in records}, reverse=True):
        ratios = [report.ratio(record) for record in records if record["target"] == target]
        ratios = [value for value in ratios if value is not None]
        if ratios:
            races = "1 race" if len(ratios) == 1 else f"{len(ratios)} races"
            told.append(f"{report.geometric_mean(ratios):.2f} at {_gap(target)} ({races})")
    return f"Geometric mean{' without the raw sets' if raw else ''}: {', '.join(told)}." if told else ""


def _losses(records):
    raced = [record for record in records if report.ratio(record) is not None]
    lost = [record for record in raced if report.ratio(record) > 1.0]
    if not lost:
        return f"No race of {len(raced)} is lost."
    times = [1e3 * seconds for record in lost if (seconds := report.seconds_of(record, report.OURS))]
    cases = ", ".join(sorted({record["case"] for record in lost}, key=_place))
    span = " to ".join(dict.fromkeys(f"{value:.0f}" for value in (min(times), max(times)))) if times else ""
    spent = f", where our fit takes {span} ms" if span else ""
    return f"The best peer is faster in {len(lost)} of {len(raced)} races ({cases}){spent}."


def _reads(records):
    found = [(record["peers"].get(report.OURS) or {}).get("reads") for record in records]
    shares = [reads / record["features"] for reads, record in zip(found, records, strict=True) if reads is not None]
    return f"Columns read in a whole solve: {min(shares):.1f} n to {max(shares):.1f} n." if shares else ""


def summary():
    """Geometric means of all groups against their bars."""
    content = read(RESULTS / "solver.json")
    records = content["tables"].get(report.RACES, [])
    return markdown_table(report.SUMMARY_HEADER, report.summary(records)) if records else NOTHING


def short():
    """For README: the Lasso with one thread on real data, and the means of the other groups where there are any."""
    content = read(RESULTS / "solver.json")
    records = [record for record in content["tables"].get(report.RACES, []) if record["threads"] == 1]
    lasso = [record for record in records if record["group"] == "lasso" and record["case"] in REAL]
    lasso = [record for record in lasso if not record["case"].endswith(RAW)]
    others = [record for record in records if record["group"] != "lasso"]
    budgets = {content["runs"][record["run"]].get("budget") for record in lasso if _quotient(record) == "alone"}
    within = f" in {min(budgets):g} seconds" if None not in budgets and budgets else ""
    words = f'Below 1 we are faster; "alone" means that no peer got there{within}. {_means(lasso)} {_losses(lasso)}'
    parts = [ratio_table(lasso, 1), words]
    if others:
        rows = [row[:2] + row[3:5] for row in report.summary(others)]
        parts.append(markdown_table(["other models, one thread", "gap ≤", "races", "geometric mean"], rows))
    return "\n\n".join(parts)


def quotients_of_rules():
    """An iteration's time over that of ``uniform``: a row a case, a column a rule."""
    content = read(RESULTS / "selection.json")
    found: dict[str, dict[str, float]] = {}
    for row in content["tables"].get("iteration", []):
        found.setdefault(f"{row['case']}, λmax/{row['part']}", {})[row["rule"]] = row["seconds"] / row["uniform"]
    if not found:
        return NOTHING
    rules = list(next(iter(found.values())))
    rows = [[case, *(f"{one[rule]:.1f}" for rule in rules)] for case, one in found.items()]
    return "\n\n".join([markdown_table(["case", *rules], rows), origin(content, content["tables"]["iteration"])])


def means_of_defaults():
    """``minimize(problem)`` against random and cyclic steps: geometric means over problems and λ, a row a data set."""
    content = read(RESULTS / "selection.json")
    rows = content["tables"].get("default", [])
    if not rows:
        return NOTHING
    names, groups = list(rows[0]["quotients"]), {}
    for row in rows:
        for group in (row["case"], "all"):
            groups.setdefault(group, []).append(row["quotients"])
    groups["all"] = groups.pop("all")  # the last row
    lines = []
    for group, found in groups.items():
        means = [report.geometric_mean([one[name] for one in found]) for name in names]
        worst = max(one["of the better"] for one in found)
        lines.append([group, str(len(found)), *(f"{mean:.2f}" for mean in means), f"{worst:.2f}"])
    head = ["data", "problems", "seconds: of uniform", "of cyclic", "of the better", "reads: of uniform", "worst"]
    return "\n\n".join([markdown_table(head, lines), origin(content, rows)])


TABLES = {
    "short": short,
    "solver-summary": summary,
    **{f"solver-{group}": partial(races, group) for group in GROUPS},
    **{f"solver-{name}": partial(simple, "solver", name, table) for name, table in report.EXTRAS.items()},
    **{f"engine-{name}": partial(simple, "engine", name, table) for name, table in price.TABLES.items()},
    "selection-race": partial(simple, "selection", "race", choosing.TABLES["race"]),
    "selection-iteration": quotients_of_rules,
    "selection-default": means_of_defaults,
    "selection-reads": partial(simple, "selection", "race", choosing.READS),
}


def filled(text):
    """The text with every table as the results files have it."""
    unknown = [name for _, name, _ in BLOCK.findall(text) if name not in TABLES]
    if unknown:
        raise ValueError(f"no table named {', '.join(unknown)}: there are {', '.join(TABLES)}")
    return BLOCK.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}", text)


def setup(app):
    """Sphinx: fill pages as they are read."""

    def fill(app, name, source):
        source[0] = filled(source[0])

    app.connect("source-read", fill)
    return {"parallel_read_safe": True}


def main():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(filled(text), encoding="utf-8")


if __name__ == "__main__":
    main()
