"""How many there are, for sentences."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """A number with its word, in the plural unless it is 1.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"
