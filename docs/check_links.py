"""Check every internal link of the built pages, without a network: ``python docs/check_links.py docs/_build/html``.

A link must lead to a file that is there and, with a fragment, to an element with that id.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the ids of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.ids.update(value for name in ("id", "name") if (value := found.get(name)))
        self.links += [value for name in ("href", "src") if (value := found.get(name))]


@cache
def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(root: Path) -> list[str]:
    """One line for each link that leads nowhere."""
    found = []
    for path in sorted(root.rglob("*.html")):
        if {"_modules", "_static"} & set(path.relative_to(root).parts):
            continue  # listings of source code, whose links back Sphinx guesses; the theme's own templates
        for link in read(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{path.relative_to(root)}: {link} (no such file)")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).ids:
                found.append(f"{path.relative_to(root)}: {link} (no such place)")
    return found


if __name__ == "__main__":
    complaints = broken(Path(sys.argv[1]).resolve())
    print("\n".join(complaints) or "all internal links lead somewhere")
    sys.exit(bool(complaints))
