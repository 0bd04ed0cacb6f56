"""Parts by their written name: ``"simulated(0.1)"``, ``"random(printed=True)"``, ``"ascd(pick='largest-lower')"``.

The command line and the experiments use them: a name, with literal arguments in parentheses (nothing else is run).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ascd._core.checks import unknown_name


def named_part(text: str, table: Mapping[str, Any], argument: str) -> Any:
    """Return the part that a text names.

    Examples
    --------
    >>> from ascd.engine.naming import named_part
    >>> from ascd.engine.oracles import ORACLES
    >>> named_part("simulated(0.1)", ORACLES, "oracle")
    Simulated(epsilon=0.1)
    >>> named_part("random(printed=True)", ORACLES, "oracle")
    Random(printed=True)
    """
    name, parenthesis, rest = text.partition("(")
    if name not in table:
        raise unknown_name(name, argument, table)
    if parenthesis and not rest.endswith(")"):
        raise ValueError(f"{argument} must be a name or name(arguments); got {text!r}")
    positional, keywords = _literals(rest[:-1], argument, text) if parenthesis else ([], {})
    try:
        return table[name](*positional, **keywords)
    except TypeError as error:
        raise ValueError(f"{argument} {text!r} has arguments that {name!r} does not take: {error}") from error


def _literals(arguments: str, argument: str, text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the literal arguments of a call."""
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        assert isinstance(call, ast.Call)
        keywords = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        return [ast.literal_eval(value) for value in call.args], keywords
    except (SyntaxError, ValueError, AssertionError) as error:
        raise ValueError(f"{argument} arguments must be literals like 0.1 or printed=True; got {text!r}") from error
