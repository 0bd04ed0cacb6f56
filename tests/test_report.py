"""The page in a real browser: it loads without a network and without errors, and its toggles redraw the charts."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from ascd.report import Axis, Chart, Section, Series, write_page
from ascd.report.page import Table

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


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
    """A report with two charts."""
    t = np.arange(20)
    x = {"epochs": (t / 2).tolist(), "reads": (100 * t).tolist(), "seconds": (t / 1000).tolist()}
    axes = (Axis("epochs", "epochs"), Axis("reads", "columns read"), Axis("seconds", "seconds"))
    series = tuple(
        Series(name, x, (0.5**t).tolist(), low=(0.4**t).tolist(), high=(0.6**t).tolist(), right=(50 - t).tolist())
        for name in ("UCD", "<b>ASCD</b>")
    )
    flat = Chart("flat", "Flat", "One point.", (Axis("t", "t"),), (Series("s", {"t": [0]}, [0.0]),), "y", log=False)
    charts = (Chart("c", "A chart", "Caption & all", axes, series, "error", "active"), flat)
    table = Table("claims", "Claims", ("claim", "verdict"), [("1 < 2", ("holds", "holds"))])
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_page(path, "A report", [Section("s", "Section", "Text.", charts)], [table])


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
    """The report, loaded anew in a bright window of usual size."""
    window.set_viewport_size({"width": 1200, "height": 900})
    window.emulate_media(media="screen", color_scheme="light")
    window.complaints.clear()
    window.requests.clear()
    window.goto(written.as_uri())
    return window


def test_it_loads_alone_and_without_complaints(page):
    assert page.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in page.requests)
    assert page.locator("#chart-c svg path.curve").count() == 4  # two curves, two active sets
    assert page.locator("td.holds").inner_text() == "holds"


def test_the_axis_toggle_redraws(page):
    before = page.locator("#chart-c svg path.curve").first.get_attribute("d")
    assert page.locator("#chart-c svg").get_attribute("data-axis") == "epochs"
    page.get_by_role("button", name="column reads").click()
    assert page.locator("#chart-c svg").get_attribute("data-axis") == "reads"
    assert "columns read" in page.locator("#chart-c svg").text_content()
    assert before is not None
    page.locator('[data-choice="y"] [data-value="linear"]').click()
    assert page.locator("#chart-c svg").get_attribute("data-scale") == "linear"
    assert page.locator("#chart-c svg path.curve").nth(1).get_attribute("d") != before
    page.locator('[data-choice="xs"] [data-value="log"]').click()
    assert page.locator("#chart-c svg").get_attribute("data-far") == "true"
    assert page.locator("#chart-flat svg").get_attribute("data-far") == "false", "iterations stay linear"
    assert "NaN" not in page.content()
    assert page.complaints == []


def test_the_active_set_and_single_curves_can_be_hidden(page):
    page.get_by_role("button", name="hidden").click()
    assert page.locator("#chart-c svg path.curve.right").count() == 0
    page.locator("#chart-c .legend button").first.click()
    assert page.locator("#chart-c svg path.curve").count() == 1
    page.locator("#chart-c .legend button").first.click()
    assert page.locator("#chart-c svg path.curve").count() == 2
    assert page.complaints == []


def test_hovering_tells_the_values(page):
    box = page.locator("#chart-c svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.4)
    text = page.locator("#chart-c .tip").inner_text()
    assert "epochs:" in text
    assert "<b>ASCD</b>" in text, "names are text, never markup"


def test_small_screens_get_charts_and_tables_they_can_show(page):
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.querySelector('#chart-c svg').viewBox.baseVal.width < 400")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box, drawn = page.locator("#chart-c svg").bounding_box(), page.locator("#chart-c svg").get_attribute("viewBox")
    assert float(drawn.split()[2]) == pytest.approx(box["width"], rel=0.02), "a unit is a pixel: labels keep their size"
    assert page.complaints == []


def brightness(page, selector, what):
    """Of a colour: 0 is black, 765 is white."""
    colour = page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{what}")
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


def test_dark_screens_get_light_text(page):
    assert brightness(page, "body", "color") < brightness(page, "body", "backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert brightness(page, "body", "color") > brightness(page, "body", "backgroundColor")
    assert brightness(page, "td.holds span", "color") > brightness(page, "td.holds span", "backgroundColor")
    assert page.complaints == []


def test_every_control_has_a_line_of_help(page):
    groups = page.locator("#toolbar .group")
    assert groups.count() == 4
    for number in range(4):
        assert len(groups.nth(number).locator("small").inner_text()) > 20
        assert groups.nth(number).locator('button[aria-pressed="true"]').count() == 1
    assert "Dotted lines, right axis" in page.locator('[data-choice="right"] small').inner_text()
    assert "dotted, right axis" in page.locator("#chart-c .legend .key").inner_text()


def test_a_chart_alone_is_as_wide_as_the_page(window, tmp_path):
    series = (Series("UCD", {"t": [0, 1]}, [1.0, 0.1]),)
    chart = Chart("one", "One", "", (Axis("t", "t"),), series, "error")
    window.set_viewport_size({"width": 1400, "height": 900})
    window.goto(write_page(tmp_path / "p.html", "P", [Section("s", "S", "", (chart,))]).as_uri())
    figure, main = (window.locator(name).bounding_box() for name in ("figure", "main"))
    assert figure["width"] > 0.95 * (main["width"] - 48)
    assert window.locator("svg").bounding_box()["width"] > 1100


def test_a_curve_is_drawn_against_the_axes_it_has(window, tmp_path):
    axes = (Axis("reads", "columns read"), Axis("seconds", "seconds"))
    both = Series("UCD", {"reads": [1, 10], "seconds": [0.1, 1.0]}, [1.0, 0.1])
    timed = Series("scikit-learn", {"seconds": [0.2, 0.5]}, [0.5, 1e-3])
    chart = Chart("c", "C", "", axes, (both, timed), "error", far=True)
    window.goto(write_page(tmp_path / "p.html", "P", [Section("s", "S", "", (chart,))]).as_uri())
    assert window.locator("svg").get_attribute("data-axis") == "reads"
    assert window.locator("svg").get_attribute("data-far") == "true", "it asked for a logarithmic axis"
    assert window.locator("svg path.curve").count() == 1
    assert window.locator(".legend button.absent").inner_text() == "scikit-learn"
    window.get_by_role("button", name="seconds").click()
    assert window.locator("svg path.curve").count() == 2


@pytest.fixture
def without_script(browser, written):
    """The same report in a browser that runs no scripts."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 800})
    opened = context.new_page()
    opened.goto(written.as_uri())
    yield opened
    context.close()


def test_without_javascript_the_numbers_are_there(without_script):
    assert not without_script.locator("#toolbar").is_visible(), "buttons that do nothing are not shown"
    table = without_script.locator("#chart-c .numbers table")
    assert table.is_visible()
    rows = table.locator("tbody tr")
    assert rows.nth(0).locator("td").all_inner_texts()[:2] == ["UCD", "1"]
    assert rows.nth(0).locator("td").all_inner_texts()[6] == f"{0.5**19:.3g}"
    assert rows.nth(0).locator("td").all_inner_texts()[7] == "31", "the active set at the end"
    assert without_script.locator("#claims table").is_visible()


def test_with_javascript_the_numbers_are_folded(page):
    assert not page.locator("#chart-c .numbers table").is_visible()
    page.locator("#chart-c .numbers summary").click()
    assert page.locator("#chart-c .numbers table").is_visible()


def test_wide_tables_scroll_on_a_phone_and_the_page_does_not(window, tmp_path):
    table = Table("wide", "Wide", [f"a long heading {j}" for j in range(9)], [[f"{10.0**j:.3f}" for j in range(9)]])
    window.set_viewport_size({"width": 390, "height": 800})
    window.goto(write_page(tmp_path / "p.html", "P", [table]).as_uri())
    assert window.evaluate("document.documentElement.scrollWidth") <= 390
    inside = window.locator("#wide .scroll")
    assert inside.evaluate("box => box.scrollWidth") > inside.evaluate("box => box.clientWidth")
    inside.evaluate("box => { box.scrollLeft = 10000; }")
    assert inside.evaluate("box => box.scrollLeft") > 0


def test_paper_is_white_whatever_the_screen_was(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert brightness(page, "h1", "color") < 200
    assert brightness(page, "body", "backgroundColor") == 3 * 255
    assert brightness(page, "td.holds span", "color") < brightness(page, "td.holds span", "backgroundColor")


def test_a_printed_page_has_charts_and_no_buttons(page):
    page.emulate_media(media="print")
    assert not page.locator("#toolbar").is_visible()
    assert not page.locator("nav").is_visible()
    assert page.locator("#chart-c svg").is_visible()
    assert len(page.pdf(format="A4")) > 10_000
    assert page.complaints == []
