"""Text from files as a terminal may show it: names of columns and values of cells can hold anything."""

from __future__ import annotations

import re

#: Characters without a space that are shown of a word, and how long it may be.
SHOWN, LONGEST = 60, 200
LONG = re.compile(rf"\S{{{LONGEST},}}")


def readable(text: str) -> str:
    """The text without characters that would steer a terminal, and with long words cut short.

    Examples
    --------
    >>> from ascd.cli.words import readable
    >>> readable("a\\x1b[31m red\\n  name"), len(readable("x" * 5000))
    ('a [31m red\\n  name', 61)
    """
    plain = "".join(letter if letter.isprintable() or letter in "\n\u00a0\u202f" else " " for letter in text)
    return LONG.sub(lambda word: f"{word[0][:SHOWN]}…", plain)
