"""Names that features may have, and that HTML, JSON, matplotlib or a terminal would take for something else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from command_line import run

from ascd.reproduction.page import Axis, Chart, Section, Series, TableSection, as_html, draw_charts, write_page

NAMES = [
    "<!--<script>",
    "</script><script>alert(1)</script>",
    "a$\\frac$",
    "$",
    "\\$x$",
    "x_1",
    "x_1_2_3",
    "a__b",
    "_hidden",
    "a_b_",
    "[/b]",
    "[red]",
    "&amp;",
    "`tick`",
    "\u2028",
    "x\ny",
    'quoted "name"',
    "{data}",
]


class Scripts(HTMLParser):
    """The contents of a page's scripts, and the tags outside of them."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.tags, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


def chart_of(names):
    series = tuple(Series(name, {"t": [0.0, 1.0]}, [1.0, 0.1 * k]) for k, name in enumerate(names))
    return Chart("c", names[0], names[0], (Axis("t", names[0]),), series, names[0], names[0], log=False)


def page_with(name, path):
    """The scripts and tags of a page that has a name in every place."""
    table = TableSection("t", name, (name,), [(name,), ((name, "holds"),)], text=name)
    section = Section("s", name, name, (chart_of([name]),))
    return Scripts(write_page(path, name, [section, table], [name], name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_holds_any_name_as_it_is(name, tmp_path):
    found, plain = page_with(name, tmp_path / "p.html"), page_with("n", tmp_path / "plain.html")
    held = json.loads(found.scripts[0])["c"]
    assert (held["title"], held["series"][0]["name"]) == (name, name)
    assert found.scripts[1:] == plain.scripts[1:]
    assert not re.search("<!--|<script|</", found.scripts[0])
    assert [tag for tag in found.tags if tag not in ("code", "sub")] == plain.tags


def test_names_with_several_underscores_stay_as_they_are():
    assert as_html("x_1 x_1_2 a_b_") == "x<sub>1</sub> x_1_2 a_b_"


def test_matplotlib_draws_any_name_as_it_is(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    names = [name for name in NAMES if name != "\u2028"]  # the font lacks it
    draw_charts([chart_of(names)], tmp_path / "all", endings=["svg"])
    comments = re.findall("<!-- (.*?) -->", (tmp_path / "all.svg").read_text(), re.DOTALL)  # the texts it drew
    for name in ("x_1_2_3", " _hidden", "[/b]", "a__b"):
        assert name in comments
    assert any("frac" in each for each in comments)


@pytest.fixture
def named(tmp_path):
    """A table whose features have hostile names."""
    pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
    pytest.importorskip("rich", reason="the extra 'cli' is not installed")
    rng = np.random.default_rng(0)
    names = [name for name in NAMES if name not in ("\u2028", "x\ny")]
    X = rng.standard_normal((40, len(names)))
    frame = pandas.DataFrame(X, columns=names).assign(price=X.sum(axis=1) + 9.0 * X[:, names.index("[/b]")])
    path = tmp_path / "named.csv"
    frame.to_csv(path, index=False)
    return path, names


@pytest.mark.usefixtures("interpreted")
def test_path_and_fit_take_any_name(named, tmp_path, capsys):
    data, names = named
    code, out, error = run(capsys, "path", data, "--points", 4, "--out", tmp_path / "out", "--json")
    assert (code, error) == (0, "")
    assert {"path.html", "path.npz"} <= {path.name for path in (tmp_path / "out").iterdir()}
    held = json.loads(Scripts((tmp_path / "out" / "path.html").read_text()).scripts[0])["path"]
    assert {series["name"] for series in held["series"]} == {*names, "nonzero coefficients"}
    code, out, error = run(capsys, "fit", data, "--model", "lasso", "--out", tmp_path / "model.npz")
    assert code == 0, error
    assert "[/b]" in out


@pytest.mark.usefixtures("interpreted")
def test_a_path_that_cannot_be_drawn_writes_nothing(named, tmp_path, capsys, monkeypatch):
    def fails(*arguments):
        raise ValueError("cannot be drawn")

    monkeypatch.setattr("ascd.reproduction.page.draw_charts", fails)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: True)
    code, _, error = run(capsys, "path", named[0], "--points", 4, "--out", tmp_path / "out")
    assert code == 1
    assert "cannot be drawn" in error
    assert [path.name for path in tmp_path.iterdir()] == ["named.csv"]
