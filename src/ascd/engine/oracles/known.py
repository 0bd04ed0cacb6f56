"""Oracles by name.  The package lists them; those that hold another oracle look it up here."""

from __future__ import annotations

from typing import Any

from ascd._base.checks import unknown_name
from ascd._base.contracts import prepared
from ascd.protocols import Oracle

ORACLES: dict[str, Any] = {}


def as_oracle(oracle: Any, parts: Any, rng: Any) -> Any:
    """The compiled oracle for a name or a part, ours or the user's own."""
    if isinstance(oracle, str):
        if oracle not in ORACLES:
            raise unknown_name(oracle, "oracle", ORACLES)
        oracle = ORACLES[oracle]()
    return prepared(oracle, Oracle, "oracle", parts, rng)
