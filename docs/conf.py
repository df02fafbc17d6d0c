"""How the documentation is built: ``make docs``; nothing is fetched from the network."""

import os
import re
import sys
from pathlib import Path

# The gallery's matrices are small: a second BLAS thread would only wait for the first.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import mercer

project = "mercer"
author = "The mercer developers"
copyright = author
version = release = mercer.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
root_doc = "index"
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
default_role = "obj"
nitpicky = False
suppress_warnings = ["ref.python"]  # attributes that several models have, such as rkhs_function_

autosummary_generate = True
autodoc_inherit_docstrings = False  # an override without words of its own adds nothing to a page
autodoc_typehints = "none"  # numpydoc's parameter lists state the types
autodoc_default_options = {
    # what scikit-learn generates on estimators, and a ufunc that a class holds
    "exclude-members": "set_fit_request, set_predict_request, set_score_request, "
    "set_partial_fit_request, set_predict_proba_request, set_decision_function_request, "
    "set_transform_request, set_inverse_transform_request, combine"
}
html_math_renderer = "mathml"
numpydoc_show_class_members = False
numpydoc_use_plots = False
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "backreferences_dir": "api/generated/backreferences",
    "doc_module": ("mercer",),
    "within_subsection_order": "ExampleTitleSortKey",
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_show_sourcelink = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
if _URL := os.environ.get("MERCER_DOCS_URL"):  # where the site of all versions is shown
    html_theme_options |= {
        "switcher": {"json_url": f"{_URL.rstrip('/')}/versions.json", "version_match": version},
        "navbar_end": ["version-switcher", "theme-switcher"],
        "check_switcher": False,  # it is written after the build
        "show_version_warning_banner": True,
    }
_ALONE = ("install", "choosing", "benchmarks", "benchmarks-gpu", "architecture", "changes")
html_sidebars = {page: [] for page in _ALONE}  # pages without others below them


# ---- the benchmark table, where it has been measured --------------------------------------------
_TABLE = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "table.md"


def _insert_benchmarks(app, docname, source):
    """Put the table that ``make bench`` wrote into its page."""
    if docname == "benchmarks":
        measured = _TABLE.read_text() if _TABLE.exists() else "Run `make bench` to fill this page."
        source[0] = source[0].replace("@BENCHMARKS@", measured)


# ---- docstrings ----------------------------------------------------------------------------------
def _keep_bars(app, what, name, obj, options, lines):
    """|x| in a docstring is an absolute value, where reStructuredText would see a substitution."""
    until = None  # what ends a part that is left alone: a blank line, or text left of this margin
    for i, line in enumerate(lines):
        text = line.lstrip()
        margin = len(line) - len(text)
        if text.startswith((".. math::", ">>>")):
            until = margin if text.startswith("..") else "blank"
        elif (until == "blank" and not text) or (
            isinstance(until, int) and text and margin <= until
        ):
            until = None
        if until is None:
            parts = line.split("``")
            parts[::2] = [re.sub(r"(?<!\\)\|", r"\|", part) for part in parts[::2]]
            lines[i] = "``".join(parts)


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _keep_bars, priority=400)
    app.connect("source-read", _insert_benchmarks)
