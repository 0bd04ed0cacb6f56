"""Errors in the words of estimators: below them the matrix is A and the target b, here they are X and y."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ascd.matrix.on_dask import check_collection, is_collection

#: What follows where A and b are names, and no words.
_NAMED = r"\b(?= (?:must|has|and|are|is)\b|[,:;.]|$)"


def renamed(message: str) -> str:
    """A message about A, or b, as one about X, or y.

    Examples
    --------
    >>> renamed("A must be finite; b has the length 3. A number is not.")
    'X must be finite; y has the length 3. A number is not.'
    >>> renamed("its norm overflows: rescale A")
    'its norm overflows: rescale X'
    """
    return re.sub(rf"\bb{_NAMED}", "y", re.sub(rf"\bA{_NAMED}", "X", message))


@contextmanager
def speaking_of_x(X: Any = None) -> Iterator[None]:
    """Errors of what is done inside speak of X; what of Dask's is no matrix is refused first."""
    try:
        if is_collection(X):
            check_collection(X)
        yield
    except (TypeError, ValueError) as error:
        message = renamed(str(error))
        if message == str(error) or type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(message) from None
