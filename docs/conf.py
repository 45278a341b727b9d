"""The documentation site: ``make docs``. Neither building nor reading it needs a network."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate_reference  # noqa: E402

import primaldual  # noqa: E402

# The sections of methods are shown: numpydoc reads the docstring once more without them.
warnings.filterwarnings("ignore", message="Unknown section")

project = "primaldual"
author = "The primaldual developers"
copyright = "The primaldual developers"
version = release = primaldual.__version__

# Without the gallery the site builds in some ten seconds: for tests, and while writing.
WITH_GALLERY = os.environ.get("PRIMALDUAL_DOCS_GALLERY", "1") != "0"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "outside_links",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "examples", "schemas"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# A name between single backticks in a docstring is code.
default_role = "code"
nitpicky = True
# Classes of other libraries: their pages are not asked for, as that would need a network.
nitpick_ignore_regex = [("py:.*", r"(numpy|scipy|sklearn|matplotlib|dask)\..*")]

autosummary_generate = False
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_use_plots = False
viewcode_line_numbers = True

copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "primaldual"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "primaldual"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}

if WITH_GALLERY:
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": str(HERE.parent / "examples"),
        "gallery_dirs": "gallery",
        "filename_pattern": r"plot_",
        "within_subsection_order": "FileNameSortKey",
        "download_all_examples": False,
        "show_memory": False,
        "show_signature": False,
        "min_reported_time": 1000,
        "remove_config_comments": True,
        "abort_on_example_error": True,
        "plot_gallery": True,
        "image_scrapers": ("matplotlib",),
        # Without its own footer, which offers downloads and links to services elsewhere.
        "write_computation_times": False,
    }
else:
    exclude_patterns.append("gallery")


def setup(app):
    """Write the pages of the reference before Sphinx looks for pages."""
    generate_reference.write(HERE / "reference")
    app.connect("autodoc-process-docstring", prepared, priority=100)
    app.connect("html-page-context", mended)
    if not WITH_GALLERY:
        app.connect("source-read", without_gallery)


def prepared(app, kind, name, thing, options, lines):
    """Show |r| as it stands, and the sections of methods that numpydoc does not know."""
    lines[:] = generate_reference.with_own_sections(generate_reference.escaped(lines))


def mended(app, name, template, context, doctree):
    """Give the page on benchmarks its filters; lead from source to a page, not a place in it.

    The anchors are wrong where some names of a file are imported from it, others from the package.
    """
    if name == "benchmarks":
        app.add_js_file("benchmarks.js")
    if name.startswith("_modules/"):
        back = r'(class="viewcode-back" href="[^"#]*)#[^"]*'
        context["body"] = re.sub(back, r"\1", context["body"])


def without_gallery(app, name, source):
    """Leave the gallery out of the table of contents where it is not built."""
    source[0] = source[0].replace("Examples <gallery/index>", "").replace("gallery/index", "")
