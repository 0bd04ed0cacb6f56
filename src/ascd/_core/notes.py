"""What a user should know about the surroundings, and should be told once a process."""

from __future__ import annotations

import warnings

_told: set[str] = set()


def tell_once(text: str, about: str = "") -> None:
    """Warn, the first time only (``about`` the same thing, if it is said), whatever the filters of warnings are."""
    if (about or text) not in _told:
        _told.add(about or text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)
