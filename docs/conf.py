"""How the site is built: ``python -m sphinx -W --keep-going -b html docs docs/_build``."""

from typing import Any

from sphinx_gallery.scrapers import figure_rst

from mfbandit.study.state import _planner
from mfbandit.version import __version__

project = "mfbandit"
author = "The mfbandit developers"
copyright = "The mfbandit developers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
# The function below that shows pictures is no reason to build everything anew.
suppress_warnings = ["config.cache"]
html_theme = "furo"
html_title = "mfbandit"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False

# Headings can be linked to as they are on the pages of a repository.
myst_heading_anchors = 4
myst_links_external_new_tab = False

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
default_role = "code"
# Every name of the package that a page links to must be there. Types in words ("optional", "array") are no links.
nitpicky = True
nitpick_ignore_regex = [("py:class", r"(?!mfbandit\.).*"), ("py:class", r".*\._.*")]
python_use_unqualified_type_names = True


# Studies of examples are short: to compile their policies beside them took as long as to build all pages.
_planner._COMPILE_AFTER_SECONDS = float("inf")


def figures(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Show the picture that an example has made and called `figure`."""
    figure = variables["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=150)
    return str(figure_rst([path], settings["src_dir"], "What the example has found"))


sphinx_gallery_conf = {
    "image_scrapers": (figures,),
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py",
    # Data of ads.py are not part of the project; the others are a test, and a module of another example.
    "ignore_pattern": r"(ads|test_prompt_gate|training)\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    # How long an example took on a busy machine says nothing to readers.
    "min_reported_time": 3600,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}
