"""What the documentation promises about itself: short examples, and links that lead somewhere."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_titled_and_draws(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 80
    assert lines[0] == '"""'
    assert set(lines[2]) == {"="}
    assert any("plt." in line or ".plot(" in line for line in lines)


def test_the_gallery_has_every_topic():
    assert len(EXAMPLES) >= 9


def test_broken_links_are_found(tmp_path):
    broken = runpy.run_path(str(ROOT / "docs" / "check_links.py"))["broken"]
    (tmp_path / "b.html").write_text('<p id="here">x</p>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="https://example.org/x">2</a><a href="#top" id="top">3</a>'
    )
    assert broken(tmp_path) == []
    (tmp_path / "c.html").write_text('<a href="b.html#gone">1</a><img src="no.png">')
    assert broken(tmp_path) == ["c.html: b.html#gone (no such place)", "c.html: no.png (no such file)"]
