"""The engine's tables.  Seconds are the minima of interleaved repeats; quotients come from one run."""

from __future__ import annotations

from common.tables import Table


def _nanoseconds(seconds):
    return f"{1e9 * seconds:.0f} ns"


def _microseconds(seconds):
    return f"{1e6 * seconds:.1f} µs" if seconds >= 1e-5 else f"{1e6 * seconds:.2f} µs"


def _clock(pair):
    """Seconds by the clock, in brackets those of the processor."""
    return "-" if pair is None else "{:.2f} ({:.2f})".format(*pair)


def _generic(row):
    size = f"{row['samples']:,} × {row['features']:,}, {row['per_column']} a column"
    quotient = row["ours"] / row["bare"]
    return [row["problem"], size, _nanoseconds(row["ours"]), _nanoseconds(row["bare"]), f"{quotient:.2f}"]


def _selection(row):
    times = [_microseconds(row["seconds"]), _microseconds(row["numpy"])]
    return [f"{row['features']:,}", row["rule"], *times, f"{row['seconds'] / row['numpy']:.2f}"]


def _dense(row):
    times = [_microseconds(row["a-ascd"]), _microseconds(row["uniform"])]
    return [row["problem"], row["step"], *times, f"{row['a-ascd'] / row['uniform']:.2f}"]


def _start(row):
    return [row["what"], _clock(row["cold"]), _clock(row["warm"])]


def _memory(row):
    longer = max(row["samples"], row["features"])
    allowed = 10 * row["features"] + 4 * row["samples"]
    size = f"{row['samples']:,} × {row['features']:,}"
    return [size, row["rule"], f"{row['numbers'] / longer:.1f}", f"{row['numbers'] / allowed:.2f}"]


TABLES = {
    "generic": Table(
        "uniform on sparse data against a bare numba loop (bar 1.5)",
        ("problem", "samples", "features"),
        ("problem", "data", "an iteration", "bare loop", "quotient"),
        _generic,
    ),
    "selection": Table(
        "one iteration with oracle 'norm' against a NumPy pass over four arrays (bar 3)",
        ("features", "rule"),
        ("n", "rule", "an iteration", "NumPy pass", "quotient"),
        _selection,
    ),
    "dense": Table(
        "dense 2000 × 2000, a-ascd against uniform (bar 1.3)",
        ("problem", "step"),
        ("problem", "step", "a-ascd", "uniform", "quotient"),
        _dense,
    ),
    "start": Table(
        "fresh process, seconds, in brackets those of the processor (bars: import 0.6; cold 8, warm 1.0)",
        ("what",),
        ("what", "cold", "warm"),
        _start,
    ),
    "memory": Table(
        "peak memory above the data, in float64 vectors (bar: 10 of length n and 4 of length d)",
        ("samples", "features", "rule"),
        ("samples × features", "rule", "vectors of the longer side", "of the bar"),
        _memory,
    ),
}
