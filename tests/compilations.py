"""How often numba compiled a kernel: what a test may count, whatever was compiled before it in the same process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ascd._base.jit import Kernel


class Compilations(NamedTuple):
    """One entry a compilation: will it be kept on disk?  What is loaded from there is not compiled."""

    kept: list[bool]


@contextmanager
def compilations_of(kernel: Kernel) -> Iterator[Compilations]:
    """What is compiled of this kernel inside; classes with the name of another one have a dispatcher of their own."""
    from numba.core import event
    from numba.core.caching import NullCache

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            dispatcher = event.data["dispatcher"]
            if dispatcher.py_func is kernel.py_func:
                found.kept.append(not isinstance(dispatcher._cache, NullCache))

        def on_end(self, event: Any) -> None:
            pass

    found = Compilations([])
    with event.install_listener("numba:compile", Listener()):
        yield found
