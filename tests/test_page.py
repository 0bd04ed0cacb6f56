"""Charts and the page: what they contain, and, where a browser is installed, how they behave in it."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
from command_line import run

from ascd.reproduction.page import Chart, Section, Series, draw_charts, numbers_of, write_page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TIME = {"t": "t"}


def test_numbers_of_a_chart():
    """A curve that has ended shows a dash; thin curves have numbers only where there are no others."""
    long, short = Series("long", {"t": [0, 10]}, [1.0, 0.1]), Series("short", {"t": [0, 4]}, [1.0, 0.5], right=[7, 3])
    head, rows = numbers_of(Chart("c", "", "", TIME, (long, short), "error", "active set (dotted)"))
    assert head == ["at t", "0", "2", "4", "6", "8", "10", "active set at the end"]
    assert rows == [["long", "1", "1", "1", "1", "1", "0.1", "–"], ["short", "1", "1", "0.5", "–", "–", "–", "3"]]
    thin = tuple(Series(f"component {rank}", {"t": [0, 1]}, [1.0, 1.0 / rank], thin=True) for rank in range(1, 21))
    _, rows = numbers_of(Chart("c", "", "", TIME, thin, "share"))
    assert [row[0] for row in rows] == [f"component {rank}" for rank in (1, 5, 9, 12, 16, 20)]
    assert rows[-1][-1] == "0.05"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)}")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A report with a table before and after two charts."""
    t = np.arange(20)
    x = {"epochs": (t / 2).tolist(), "reads": (100 * t).tolist(), "seconds": (t / 1000).tolist()}
    axes = {"epochs": "epochs", "reads": "columns read", "seconds": "seconds"}
    series = tuple(
        Series(name, x, (0.5**t).tolist(), low=(0.4**t).tolist(), high=(0.6**t).tolist(), right=(50 - t).tolist())
        for name in ("UCD", "<b>ASCD</b>")
    )
    flat = Chart("flat", "Flat", "One point.", TIME, (Series("s", {"t": [0]}, [0.0]),), "y", log=False)
    charts = (Chart("c", "A chart", "Caption & all", axes, series, "error", "active"), flat)
    first = Section("first", "First", head=("a", "b"), rows=[("1", "2")])
    claims = Section("claims", "Claims", head=("claim", "verdict"), rows=[("1 < 2", ("holds", "holds"))])
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_page(path, "A report", [first, Section("s", "Section", "Text.", charts), claims])


@pytest.fixture(scope="module")
def window(browser):
    """One window for all; whatever the browser complains about is collected."""
    opened = browser.new_page()
    opened.complaints, opened.requests = [], []
    opened.on("console", lambda m: opened.complaints.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.on("request", lambda request: opened.requests.append(request.url))
    yield opened
    opened.close()


@pytest.fixture
def page(window, written):
    """The report, loaded again in a bright window of usual size."""
    window.set_viewport_size({"width": 1200, "height": 900})
    window.emulate_media(media="screen", color_scheme="light")
    window.complaints.clear()
    window.requests.clear()
    window.goto(written.as_uri())
    yield window
    assert window.complaints == []


def test_it_loads_alone_with_the_switches_above_the_charts(page):
    assert all(url.startswith(("file:", "data:")) for url in page.requests)
    assert page.locator("#chart-c svg path.curve").count() == 4  # two curves, two active sets
    assert page.locator("td.holds").inner_text() == "holds"
    tops = [page.locator(name).bounding_box()["y"] for name in ("h1", "#first", "#toolbar", "#chart-c", "#claims")]
    assert tops == sorted(tops)
    groups = page.locator("#toolbar .group")
    assert groups.count() == 4
    for number in range(4):
        assert len(groups.nth(number).locator("small").inner_text()) > 20
        assert groups.nth(number).locator('button[aria-pressed="true"]').count() == 1
    assert "dotted, right axis" in page.locator("#chart-c .legend .key").inner_text()


def test_the_switches_redraw_and_hide(page):
    svg = page.locator("#chart-c svg")
    before = svg.locator("path.curve").nth(1).get_attribute("d")
    assert svg.get_attribute("data-axis") == "epochs"
    page.get_by_role("button", name="column reads").click()
    assert svg.get_attribute("data-axis") == "reads"
    assert "columns read" in svg.text_content()
    page.locator('[data-choice="y"] [data-value="linear"]').click()
    assert svg.get_attribute("data-scale") == "linear"
    assert svg.locator("path.curve").nth(1).get_attribute("d") != before
    page.locator('[data-choice="xs"] [data-value="log"]').click()
    assert svg.get_attribute("data-far") == "true"
    assert page.locator("#chart-flat svg").get_attribute("data-far") == "false", "iterations stay linear"
    assert "NaN" not in page.content()
    page.get_by_role("button", name="hidden").click()
    assert page.locator("#chart-c svg path.curve.right").count() == 0
    for count in (1, 2):
        page.locator("#chart-c .legend button").first.click()
        assert page.locator("#chart-c svg path.curve").count() == count


def test_without_javascript_the_numbers_are_there(browser, written):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(written.as_uri())
    assert not page.locator("#toolbar").is_visible(), "buttons that do nothing are not shown"
    assert page.locator("#chart-c .numbers table").is_visible()
    cells = page.locator("#chart-c .numbers table tbody tr").nth(0).locator("td").all_inner_texts()
    assert [cells[k] for k in (0, 1, 6, 7)] == ["UCD", "1", f"{0.5**19:.3g}", "31"], "31: the active set at the end"
    assert page.locator("#claims table").is_visible()
    context.close()


# --- Names that features may have, and that HTML, JSON, matplotlib or a terminal would take for something else


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
    return Chart("c", names[0], names[0], {"t": names[0]}, series, names[0], names[0], log=False)


def page_with(name, path):
    """The scripts and tags of a page that has a name in every place."""
    table = Section("t", name, name, head=(name,), rows=[(name,), ((name, "holds"),)])
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


def test_path_and_fit_take_any_name(named, tmp_path, capsys):
    data, names = named
    code, out, error = run(capsys, "path", data, "--points", 4, "--out", tmp_path / "out", "--json")
    assert (code, error) == (0, "")
    with np.load(tmp_path / "out" / "path.npz") as stored:
        assert stored["names"].tolist() == names
    code, out, error = run(capsys, "fit", data, "--model", "lasso", "--out", tmp_path / "model.npz")
    assert code == 0, error
    assert "[/b]" in out
