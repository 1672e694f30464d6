"""The report of a release as a file, where the store has none, and the addresses of reports and of the explorer for those who follow links.

The bytes of a report are sealed with its release, so that no address is in them. A link to a report says after its # where the explorer is, and
the page links there if that is on the same site.
"""

import os
from datetime import date
from pathlib import Path
from urllib.parse import quote, urlsplit

from odanon_assets.derived.folders import Derived, made_from
from odanon_assets.lake.lake import write_figures
from odanon_assets.lake.places import default_root
from odanon_assets.stores.interface import Store

REPORT = "report.html"
# Where a web server shows reports: those in `published` and, of stores without files, the copies in `derived`.
PUBLISHED_URL_VARIABLE = "ODANON_PUBLISHED_URL"
EXPLORE_URL_VARIABLE = "ODANON_EXPLORE_URL"


def report_address(product: str, window_start: date | str, release: str | None) -> str | None:
    """The link to the report of a release in the store's own files, or to its copy where `release` is None; None if no server shows them."""
    served = os.environ.get(PUBLISHED_URL_VARIABLE, "").rstrip("/")
    if not served:
        return None
    place = f"report={window_start}" if release is None else f"releases/{release}"
    explorer = urlsplit(os.environ.get(EXPLORE_URL_VARIABLE, ""))
    beside = bool(explorer.netloc) and explorer[:2] == urlsplit(served)[:2]
    return f"{served}/{product}/{place}/{REPORT}" + (f"#explore={quote(explorer.path)}" if beside else "")


def explorer_address(product: str) -> str | None:
    """The link to a product in the explorer; None if the operator does not say where it is."""
    explorer = os.environ.get(EXPLORE_URL_VARIABLE, "")
    return f"{explorer}#product={quote(product, safe='')}" if explorer else None


def report_copy(store: Store, product: str, day: date, release: str) -> Path:
    """A copy of the report of the release that a window shows; it goes when the release does."""
    derived, name = Derived(default_root()), f"report={day}"
    folder = derived.folder(product, name)
    if made_from(folder) != [release]:
        with derived.new(store, product, name, {day: release}) as draft:
            (draft / REPORT).write_text(store.report(release), encoding="utf-8")
            write_figures(draft, {"releases": [release]})
    return folder / REPORT
