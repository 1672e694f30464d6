"""Settings of Sphinx. Nothing in the pages asks another host: fonts are the system's, the search runs in the browser."""

import importlib.metadata
from typing import Any

project = "odanon"
copyright = "the odanon authors, Apache-2.0"
release = importlib.metadata.version("odanon")
extensions = ["myst_parser"]
myst_heading_anchors = 4  # as GitHub names them
suppress_warnings = ["myst.header"]  # a page may begin with a table of contents
html_theme = "furo"
html_title = f"odanon {release}"
html_static_path = ["static"]
html_css_files = ["odanon.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
smartquotes = False


def setup(app: Any) -> None:
    """The page of the search has scripts of ours: sections.py writes what search.js looks through."""
    app.connect("html-page-context", lambda app, page, *_: _search_scripts(app) if page == "search" else None)


def _search_scripts(app: Any) -> None:
    for name in ("sections.js", "search.js"):
        app.add_js_file(name, loading_method="defer")  # after Sphinx's, before it asks
