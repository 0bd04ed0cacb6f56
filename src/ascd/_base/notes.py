"""What a user should know about the surroundings, and should be told once a process."""

from __future__ import annotations

import warnings

_told: set[str] = set()


def tell_once(text: str) -> None:
    """Warn, the first time only, whatever the filters of warnings are."""
    if text not in _told:
        _told.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)
