"""Settings of Sphinx. Nothing in the pages asks another host: fonts are the system's, the search runs in the browser."""

import importlib.metadata
from pathlib import Path

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
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
smartquotes = False
