"""Charts and the page: what they contain, and, where a browser is installed, how they behave in it."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from ascd.reproduction import demo, panels
from ascd.reproduction.page import (
    Axis,
    Chart,
    Interval,
    Section,
    Series,
    TableSection,
    colors_of,
    draw_intervals,
    numbers_of,
    toolbar,
    write_page,
)

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TIME = (Axis("t", "t"),)


def named(*names):
    return dict(zip(names, colors_of([Series(name, {}, []) for name in names]), strict=True))


def test_a_method_has_one_colour_on_all_pages():
    paper = named("UCD", "SCD", "ASCD", "a-ASCD")
    shown = named(*demo.METHODS, "ascd.solve")
    assert [shown[name] for name in demo.METHODS] == list(paper.values())
    for panel in panels.PANELS.values():
        found = named(*(method.label for method in panel.methods))
        assert len(set(found.values())) == len(found), panel.name
        assert all(found[name] == color for name, color in paper.items() if name in found)


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


def test_there_are_switches_only_for_what_can_be_chosen():
    flat = Chart("c", "", "", TIME, (Series("s", {"t": [0]}, [0.0]),), "y", log=False)
    assert toolbar([flat]) == ""
    assert 'data-choice="y"' in toolbar([flat._replace(log=True)])


def test_intervals_have_every_row_escaped():
    picture = draw_intervals([Interval(f"<{j}>", j - 5.0, j - 6.0, j - 4.0, j / 10) for j in range(11)], "effect")
    assert picture.count("<circle") == 11
    assert "&lt;3&gt;" in picture
    assert "<3>" not in picture
    assert ">30 %<" in picture


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
    axes = (Axis("epochs", "epochs"), Axis("reads", "columns read"), Axis("seconds", "seconds"))
    series = tuple(
        Series(name, x, (0.5**t).tolist(), low=(0.4**t).tolist(), high=(0.6**t).tolist(), right=(50 - t).tolist())
        for name in ("UCD", "<b>ASCD</b>")
    )
    flat = Chart("flat", "Flat", "One point.", TIME, (Series("s", {"t": [0]}, [0.0]),), "y", log=False)
    charts = (Chart("c", "A chart", "Caption & all", axes, series, "error", "active"), flat)
    first = TableSection("first", "First", ("a", "b"), [("1", "2")])
    claims = TableSection("claims", "Claims", ("claim", "verdict"), [("1 < 2", ("holds", "holds"))])
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


def show(window, path, *sections):
    window.emulate_media(media="screen", color_scheme="light")
    window.goto(write_page(path / "p.html", "P", sections).as_uri())


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


def test_hovering_shows_values_and_numbers_unfold(page):
    page.locator("#chart-c svg").scroll_into_view_if_needed()
    box = page.locator("#chart-c svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.4)
    text = page.locator("#chart-c .tip").inner_text()
    assert "epochs:" in text
    assert "<b>ASCD</b>" in text, "names are text, never markup"
    assert not page.locator("#chart-c .numbers table").is_visible()
    page.locator("#chart-c .numbers summary").click()
    assert page.locator("#chart-c .numbers table").is_visible()


def test_small_screens_get_charts_that_fit(page):
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.querySelector('#chart-c svg').viewBox.baseVal.width < 400")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box, drawn = page.locator("#chart-c svg").bounding_box(), page.locator("#chart-c svg").get_attribute("viewBox")
    assert float(drawn.split()[2]) == pytest.approx(box["width"], rel=0.02), "a unit is a pixel: labels keep their size"


def brightness(page, selector, what):
    """Of a colour: 0 is black, 765 is white."""
    colour = page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{what}")
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


@pytest.mark.parametrize(
    ("media", "scheme", "dark"), [("screen", "light", 0), ("screen", "dark", 1), ("print", "dark", 0)]
)
def test_colours_follow_the_screen_and_paper_is_white(page, media, scheme, dark):
    page.emulate_media(media=media, color_scheme=scheme)
    for text, back in (("h1", "body"), ("td.holds span", "td.holds span")):
        assert (brightness(page, text, "color") > brightness(page, back, "backgroundColor")) == dark
    if media == "print":
        assert brightness(page, "body", "backgroundColor") == 3 * 255
        assert not page.locator("#toolbar").is_visible()
        assert not page.locator("nav").is_visible()
        assert page.locator("#chart-c svg").is_visible()
        assert len(page.pdf(format="A4")) > 10_000


def test_a_curve_is_drawn_against_the_axes_it_has_and_a_chart_alone_is_wide(window, tmp_path):
    axes = (Axis("reads", "columns read"), Axis("seconds", "seconds"))
    both = Series("UCD", {"reads": [1, 10], "seconds": [0.1, 1.0]}, [1.0, 0.1])
    timed = Series("scikit-learn", {"seconds": [0.2, 0.5]}, [0.5, 1e-3])
    window.set_viewport_size({"width": 1400, "height": 900})
    show(window, tmp_path, Section("s", "S", "", (Chart("c", "C", "", axes, (both, timed), "error", far=True),)))
    svg = window.locator("svg")
    assert (svg.get_attribute("data-axis"), svg.get_attribute("data-far")) == ("reads", "true")
    assert window.locator("svg path.curve").count() == 1
    assert window.locator(".legend button.absent").inner_text() == "scikit-learn"
    window.get_by_role("button", name="seconds").click()
    assert window.locator("svg path.curve").count() == 2
    assert window.locator("svg").bounding_box()["width"] > 1100


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


def test_wide_tables_scroll_on_a_phone_and_the_page_does_not(window, tmp_path):
    window.set_viewport_size({"width": 390, "height": 800})
    head, row = [f"a long heading {j}" for j in range(9)], [f"{10.0**j:.3f}" for j in range(9)]
    show(window, tmp_path, TableSection("wide", "Wide", head, [row]))
    assert window.evaluate("document.documentElement.scrollWidth") <= 390
    inside = window.locator("#wide .scroll")
    assert inside.evaluate("box => box.scrollWidth") > inside.evaluate("box => box.clientWidth")
