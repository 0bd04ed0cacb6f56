"""Sphinx configuration: `make docs` builds with warnings as errors and without a network."""

import ascd

project = "ascd"
author = "the ascd developers"
release = ascd.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "amsmath"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "Approximate steepest coordinate descent", "page_width": "1100px"}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_rtype = False
nitpicky = False
