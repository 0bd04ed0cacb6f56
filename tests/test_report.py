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


@pytest.fixture
def page(browser, tmp_path):
    """A report with two charts, opened; whatever the browser complains about is collected."""
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
    path = write_page(tmp_path / "report.html", "A report", [Section("s", "Section", "Text.", charts)], [table])
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.complaints, opened.requests = [], []
    opened.on("console", lambda m: opened.complaints.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.on("request", lambda request: opened.requests.append(request.url))
    opened.goto(path.as_uri())
    yield opened
    opened.close()


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


def test_dark_screens_get_light_text(page):
    def brightness(selector, what):
        colour = page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{what}")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert brightness("body", "color") < brightness("body", "backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert brightness("body", "color") > brightness("body", "backgroundColor")
    assert brightness("td.holds span", "color") > brightness("td.holds span", "backgroundColor")
    assert page.complaints == []
