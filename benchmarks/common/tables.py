"""Rows of results as text: one line as soon as it is measured, a table of Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Table(NamedTuple):
    """How a table's rows are told apart and shown."""

    title: str
    key: tuple[str, ...]
    head: tuple[str, ...]
    cells: Callable[[dict[str, Any]], list[str]]

    def line(self, row):
        """A row for the terminal."""
        return "  " + ",  ".join(f"{head}: {cell}" for head, cell in zip(self.head, self.cells(row), strict=True))

    def markdown(self, rows):
        return markdown_table(self.head, [self.cells(row) for row in rows])


def markdown_table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def text_table(head, rows):
    """Columns as wide as they need to be."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *rows]
    )


def measured(parts, tables, ledger, chosen=None):
    """Run the parts (name → rows, one after the other); every row is told and stored as it comes."""
    for name, rows in parts.items():
        if chosen not in (None, name):
            continue
        print(f"\n{tables[name].title}", flush=True)
        for row in rows():
            ledger.put(name, tables[name].key, [row])
            print(tables[name].line(row), flush=True)
