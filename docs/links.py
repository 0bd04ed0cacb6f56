"""Cross-references without markup: a public name in code font leads to its page.

In docstrings ``Lasso`` and ``ascd.solve``, in pages `Lasso` and `ascd.solve` (never inside blocks of code or headings)
become references to the page of that object.  Names below ``ascd`` are linked with or without the prefix where they
cannot be anything else: classes, and functions with an underscore.
"""

from __future__ import annotations

import re
from typing import Any

import ascd

IN_DOCSTRING = re.compile(r"(?<!`)``(?:ascd\.)?(\w+)``(?!`)")
IN_PAGE = re.compile(r"(?<![`\[\]}])`(ascd\.)?(\w+)`(?!`)")
FENCE = re.compile(r"^\s*(```|~~~|:::)")


def is_known(name: str, has_prefix: bool) -> bool:
    """Is this the name of an object with a page, and of nothing else?"""
    return name in ascd.__all__ and name != "estimators" and (has_prefix or name[0].isupper() or "_" in name)


def link_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put references into a docstring, except to the object itself."""

    def reference(found: re.Match[str]) -> str:
        is_other = found[1] != name.rpartition(".")[2]
        return f":py:obj:`~ascd.{found[1]}`" if is_other and is_known(found[1], "ascd." in found[0]) else found[0]

    lines[:] = [IN_DOCSTRING.sub(reference, line) for line in lines]


def link_page(app: Any, name: str, source: list[str]) -> None:
    """Put references into a page."""
    if name.startswith(("gallery/", "generated/")) or not source[0].lstrip().startswith("#"):
        return

    def reference(found: re.Match[str]) -> str:
        shown = f"{found[1] or ''}{found[2]}"
        return f"{{py:obj}}`{shown} <ascd.{found[2]}>`" if is_known(found[2], bool(found[1])) else found[0]

    inside, lines = False, []
    for line in source[0].split("\n"):
        inside ^= bool(FENCE.match(line)) and not line.lstrip().startswith(":::")
        lines.append(line if inside or line.startswith("#") else IN_PAGE.sub(reference, line))
    source[0] = "\n".join(lines)


def skip_foreign(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what is not ours: scikit-learn's methods, the fields and methods of tuples."""
    function = getattr(obj, "fget", obj)
    return None if str(getattr(function, "__module__", "")).startswith("ascd") else True


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", link_docstring, priority=400)  # before napoleon reads it
    app.connect("source-read", link_page)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True}
