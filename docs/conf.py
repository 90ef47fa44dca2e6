"""Sphinx: `make docs` builds the site into docs/_build/html, and a warning is an error."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
# The examples are small: one BLAS thread each is fastest, and the time stays the same on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import flgp

project = "flgp"
author = "The flgp developers"
project_copyright = "2026, the flgp developers"
version = release = flgp.__version__

extensions = [
    "executed",
    "mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "sg_execution_times.rst", "**/sg_execution_times.rst"]

executed_pages = ["quickstart", "active_learning", "uncertainty", "calibration"]

# Every reference must lead somewhere. Nothing is fetched: the build works offline.
nitpicky = True
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

# Docstrings: `name` in single backticks is code; the types stand in the text, with shapes.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = "flgp"
html_static_path = ["_static"]
html_css_files = ["flgp.css"]
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#7fb8ea", "color-brand-content": "#7fb8ea"},
    "navigation_with_keys": True,
}

copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = ">>> |\\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(?<!\d_)(demo|active_learning|learned_features|suggest_curves)\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "thumbnail_size": (640, 250),
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "min_reported_time": 1000,
    "capture_repr": (),
}

# `make linkcheck` asks the outside world, so it is no part of the build.
linkcheck_timeout = 20
linkcheck_retries = 2


def of_scikit_learn(app, what, name, member, skip, options):
    """Inherited methods of scikit-learn's own are documented there."""
    return skip or str(getattr(member, "__module__", "")).startswith("sklearn")


def setup(app):
    app.connect("autodoc-skip-member", of_scikit_learn)
