"""How Sphinx builds the site: `make docs`, without network, with warnings as errors."""

import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

os.environ["TOPICLOOM_QUIET"] = "1"  # no line about compiling in the output of tutorials

import topicloom

project = "topicloom"
author = "The topicloom developers"
project_copyright = "The topicloom developers"
version = release = topicloom.__version__
_REPOSITORY = "https://github.com/topicloom/topicloom/blob/main"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "command_help",
]
root_doc = "index"
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]

# -- pages -----------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "cache"  # a tutorial is run again only if its code has changed
nb_execution_cache_path = str(Path(__file__).parent / "_build" / ".notebooks")
nb_execution_in_temp = True  # what tutorials write is thrown away
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type"]  # of widgets, which have a text form beside them

# -- API reference -----------------------------------------------------------------------------------------------------

add_module_names = False
autodoc_typehints = "none"  # types are in the docstrings
autosummary_generate = True
numpydoc_show_class_members = False  # the class template lists them
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# -- HTML ------------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "topicloom"
html_static_path = ["_static"]
html_css_files = ["topicloom.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # browsers do not let a page on disk read other files
html_last_updated_fmt = None
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "changes": []}
html_theme_options = {
    "logo": {"text": "topicloom"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


def _skip(app: object, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out what only repeats: fields of NamedTuples, scikit-learn's plumbing."""
    documented = getattr(member, "__doc__", None) or ""
    plumbing = name in {"get_metadata_routing", "get_params", "set_params", "set_output"} or name.endswith("_request")
    return True if documented.startswith("Alias for field number") or plumbing else None


def _signature(
    app: object, what: str, name: str, member: Any, options: object, given: str | None, result: str | None
) -> tuple[str, None] | None:
    """Parameters of a model are those of ``__init__``; types are in the docstring."""
    if what != "class" or given is None or "**params" not in given:
        return None
    parameters = inspect.signature(member).parameters.values()
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(plain)), None


def _link_to_repository(app: object, page: str, source: list[str]) -> None:
    """Links to files beside the documentation lead to the repository, as they do when the page is read there."""

    def absolute(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join("docs", os.path.dirname(page), match[1]))
        return match[0] if target.startswith("docs") or target.endswith(".png") else f"]({_REPOSITORY}/{target})"

    source[0] = re.sub(r"\]\((\.\./[^)\s]+)\)", absolute, source[0])


def setup(app: object) -> None:
    app.connect("autodoc-skip-member", _skip)  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", _signature)  # type: ignore[attr-defined]
    app.connect("source-read", _link_to_repository)  # type: ignore[attr-defined]
