"""Charts that people look at: one description, drawn twice, by matplotlib and inside a self-contained HTML page.

``chart.py`` says what a chart is; ``picture.py`` draws it as PNG and SVG; ``page.py`` writes the page with the buttons
of ``controls.py`` and the tables of ``numbers.py``; its script and style stand in ``assets/`` as a browser would read
them.  ``intervals.py`` draws coefficients with their range.
"""

from ascd.report.chart import Axis, Chart, Section, Series, chart_of_traces
from ascd.report.page import Drawing, Table, write_page
from ascd.report.picture import draw_charts

__all__ = ["Axis", "Chart", "Drawing", "Section", "Series", "Table", "chart_of_traces", "draw_charts", "write_page"]
