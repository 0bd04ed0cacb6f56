"""Sphinx configuration: `make docs` builds with warnings as errors, and the pages need no network, not for formulas."""

import sys
from importlib import import_module
from pathlib import Path
from shutil import copyfile
from typing import Any

import ascd

sys.path.insert(0, str(Path(__file__).parent))  # bench_tables, links

project = "ascd"
author = "the ascd developers"
release = version = ascd.__version__
html_title = f"ascd {release}"
extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton"]
extensions += ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
extensions += ["sphinx.ext.mathjax", "sphinx_gallery.gen_gallery", "bench_tables", "links"]
exclude_patterns = ["_build", "claims.md", "**sg_execution_times.rst"]  # the last asks for scripts of the network
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
#: The whole of MathJax that draws SVG, in one file: no fonts, nothing is loaded later.
mathjax_path = "tex-svg-full.js"

autosummary_generate = True
autosummary_filename_map = {"ascd.path": "ascd.path_function"}  # ascd.Path is another file only where case counts
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_use_param = False  # else "array of shape" would lead to whatever is called shape
nitpicky = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "doc_module": ("ascd",),
    "reference_url": {"ascd": None},
    "backreferences_dir": "generated/examples",
    "inspect_global_variables": False,
}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "logo": {"text": "ascd"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "navigation_with_keys": False,
    "show_prev_next": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def ship_mathjax(app: Any) -> None:
    """Put MathJax beside the pages, from the package that carries it."""
    carrier = Path(str(import_module("sphinx-mathjax-offline").__file__)).parent
    target = Path(app.outdir) / "_static" / mathjax_path
    target.parent.mkdir(parents=True, exist_ok=True)
    copyfile(carrier / "static" / "mathjax" / mathjax_path, target)


def colour_without_scripts(app: Any, error: Exception | None) -> None:
    """Give pages the light colours until a script has looked which are wanted: the theme's own "auto" has none."""
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace('data-theme="auto">', 'data-theme="light">', 1), encoding="utf-8")


def setup(app: Any) -> None:
    app.connect("builder-inited", ship_mathjax)
    app.connect("build-finished", colour_without_scripts)
