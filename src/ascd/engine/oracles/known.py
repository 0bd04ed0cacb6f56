"""Oracles by name.  The package lists them; those that hold another oracle look it up here."""

from __future__ import annotations

from typing import Any

from ascd._core.checks import unknown_name
from ascd._core.contracts import prepared
from ascd.protocols import Oracle

ORACLES: dict[str, Any] = {}


def oracle_part(oracle: Any, rule: Any = None) -> Any:
    """The oracle of a name with its usual options, or the part itself, as it suits the rule's part."""
    if isinstance(oracle, str):
        if oracle not in ORACLES:
            raise unknown_name(oracle, "oracle", ORACLES)
        oracle = ORACLES[oracle]()
    is_open = hasattr(oracle, "suited_to") and not isinstance(oracle, type)
    return oracle.suited_to(rule) if is_open else oracle


def as_oracle(oracle: Any, parts: Any, rng: Any) -> Any:
    """The compiled oracle for a name or a part, ours or the user's own."""
    return prepared(oracle_part(oracle), Oracle, "oracle", parts, rng)
