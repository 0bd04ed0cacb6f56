"""Three choices of which each two meet in some run: not the product of all three."""

from __future__ import annotations

import pytest


def in_pairs(**choices):
    """Parametrize a test by three named choices: all pairs of the longest two, and of the third another one in turn.

    Row by row the third moves on by one, so that it meets every value of both others (a Latin square).
    """
    long, other, short = sorted(choices, key=lambda name: -len(choices[name]))
    values = {name: list(choices[name]) for name in choices}
    rows = [
        {long: a, other: b, short: values[short][(i + j) % len(values[short])]}
        for i, a in enumerate(values[long])
        for j, b in enumerate(values[other])
    ]
    return pytest.mark.parametrize(tuple(choices), [tuple(row[name] for name in choices) for row in rows])
