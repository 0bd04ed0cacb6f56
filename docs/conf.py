"""Sphinx configuration: `make docs` builds with warnings as errors and without a network."""

import sys
from pathlib import Path

import ascd

sys.path.insert(0, str(Path(__file__).parent))  # bench_tables

project = "ascd"
author = "the ascd developers"
release = ascd.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
extensions += ["sphinx_gallery.gen_gallery", "bench_tables"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
}
myst_enable_extensions = ["dollarmath", "amsmath"]
exclude_patterns = ["_build", "claims.md"]
html_theme = "alabaster"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_theme_options = {
    "description": "Approximate steepest coordinate descent",
    "page_width": "1180px",
    "body_max_width": "none",
}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_rtype = False
nitpicky = False
