"""Rules and oracles by their names, with literal arguments in parentheses."""

from __future__ import annotations

import pytest

from ascd.engine.naming import named_part
from ascd.engine.oracles import ORACLES
from ascd.engine.rules import RULES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("simulatd(0.1)", "unknown oracle 'simulatd'. Did you mean 'simulated'"),
        ("simulated(0.1", r"must be a name or name\(arguments\)"),
        ("simulated(open('x'))", "must be literals"),
        ("simulated(size=3)", "arguments that 'simulated' does not take"),
    ],
)
def test_what_is_no_part_is_an_error(text, message):
    with pytest.raises(ValueError, match=message):
        named_part(text, ORACLES, "oracle")


def test_literals_are_taken():
    assert named_part("ascd(pick='largest-lower')", RULES, "rule").pick == "largest-lower"
