"""What numba compiles: how often, as a test may count it whatever was compiled before it; and little of it at a time.

Kernels with parts of a test's own are compiled in every run of the tests, so the fewer the better.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from ascd._core import jit

#: Must numba not compile?
IS_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def skip_uncompiled() -> None:
    """Skip a test of compiled code where numba must not compile."""
    if IS_DISABLED:
        pytest.skip("NUMBA_DISABLE_JIT is set")


class Compilations(NamedTuple):
    """One entry a compilation: is it of the library's own types, so that it is stored?"""

    kept: list[bool]


@contextmanager
def compilations_of(kernel: jit.Kernel) -> Iterator[Compilations]:
    """What is compiled of this kernel inside; classes with the name of another one have a dispatcher of their own."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            dispatcher = event.data["dispatcher"]
            if dispatcher.py_func is kernel.py_func:
                found.kept.append(dispatcher.stats.cache_path is not None)

        def on_end(self, event: Any) -> None:
            pass

    found = Compilations([])
    with event.install_listener("numba:compile", Listener()):
        yield found


@contextmanager
def only_loops_compiled() -> Iterator[None]:
    """Kernels run as plain Python, but for the loops of the engines, which hold parts of almost all kinds."""
    from ascd.engine import minimize as run

    skip_uncompiled()
    with pytest.MonkeyPatch.context() as patch:
        descend = run.descend
        patch.setattr(run, "descend", lambda *args: descend.compiled_for(args)(*args))
        yield
