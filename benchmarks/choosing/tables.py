"""The tables of selection.  The contest has two, seconds and reads: a row a data set and λ, a column a method."""

from __future__ import annotations

from functools import partial

from common.tables import Table

METHODS = (
    "uniform",
    "cyclic",
    "a-ascd norm",
    "u-ascd norm",
    "look-ahead norm",
    "look-ahead reference",
    "block norm",
    "block reference",
)


def _iteration(row):
    own, base, replayed = (1e9 * row[what] for what in ("seconds", "uniform", "replayed"))
    times = [f"{own:.0f} ns", f"{base:.0f} ns", f"{own / base:.2f}", f"{replayed:.0f} ns", f"{own / replayed:.2f}"]
    longer = f"{row['entries']:.2f}" if "entries" in row else "-"
    return [f"{row['case']}, λmax/{row['part']}", row["rule"], *times, longer]


def _growth(row):
    grown = [f"{row['grown']:.2f}", f"{row['uniform_grown']:.2f}", f"{row['grown'] / row['uniform_grown']:.2f}"]
    return [f"{row['features']:,}", row["rule"], f"{1e9 * row['seconds']:.0f} ns", *grown]


def _memory(row):
    return [row["rule"], f"{row['norm']:.2f}", f"{row['reference']:.2f}"]


def _contest(row, what, digits):
    """Every method's seconds or reads, in brackets as a part of uniform's; for the others how far they stayed away."""
    uniform = row["methods"]["uniform"][what]
    cells = [f"{row['case']}, λmax/{row['part']}"]
    for method in METHODS:
        found = row["methods"].get(method)
        if found is None:
            cells.append("-")
        elif found[what] is None:
            cells.append(f"{found['left']:.0e} left" if found.get("left") is not None else "not reached")
        else:
            share = f" ({found[what] / uniform:.2f})" if uniform else ""
            cells.append(f"{found[what]:.{digits}f}{share}")
    return cells


def _default(row):
    """Seconds of each, then the quotients; for a method that did not arrive in its time how far it stayed away."""
    cells = [f"{row['case']}, λmax/{row['part']}", row["problem"]]
    for method in ("uniform", "cyclic", "default"):
        found = row["methods"][method]
        late = f"> {found['spent']:.1f} ({found['left']:.0e} left)" if not found["seconds"] else ""
        cells.append(late or f"{found['seconds']:.3f}")
    return [*cells, *(f"{quotient:.2f}" for quotient in row["quotients"].values())]


TABLES = {
    "iteration": Table(
        "time of an iteration against uniform's (bar 3 for a-ascd), against the same steps replayed, and what it reads",
        ("case", "part", "rule"),
        ("case", "rule", "an iteration", "uniform", "quotient", "its own steps replayed", "quotient", "entries"),
        _iteration,
    ),
    "growth": Table(
        "growth from n = 1e4 on, sparse synthetic, 30 nonzeros a column (bar: 2 beyond uniform's)",
        ("features", "rule"),
        ("n", "rule", "an iteration", "grown", "uniform grown", "beyond it"),
        _growth,
    ),
    "race": Table(
        "Lasso to relative suboptimality 1e-4, coordinate steps, everything counted: seconds (of uniform's)",
        ("case", "part"),
        ("case", *METHODS),
        partial(_contest, what="seconds", digits=3),
    ),
    "default": Table(
        "minimize(problem) as it comes, to relative suboptimality 1e-4, everything counted: seconds and quotients",
        ("case", "problem", "part"),
        ("case", "problem", "uniform", "cyclic", "default", "of uniform", "of cyclic", "of the better", "reads"),
        _default,
    ),
    "memory": Table(
        "arrays of rule and oracle, in float64 vectors of length n (bar 8)",
        ("rule",),
        ("rule", "norm", "reference"),
        _memory,
    ),
}
#: The same rows in column reads, a column read once counting 1/n.
READS = TABLES["race"]._replace(cells=partial(_contest, what="reads", digits=2))
