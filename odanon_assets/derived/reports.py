"""The report of a release as a file, where the store has none: for those who follow a link in the platform's UI."""

from datetime import date
from pathlib import Path

from odanon_assets.derived.folders import Derived, made_from
from odanon_assets.lake.lake import write_figures
from odanon_assets.lake.places import default_root
from odanon_assets.stores.interface import Store

REPORT = "report.html"


def report_copy(store: Store, product: str, day: date, release: str) -> Path:
    """A copy of the report of the release that a window shows; it goes when the release does."""
    derived, name = Derived(default_root()), f"report={day}"
    folder = derived.folder(product, name)
    if made_from(folder) != [release]:
        with derived.new(store, product, name, {day: release}) as draft:
            (draft / REPORT).write_text(store.report(release), encoding="utf-8")
            write_figures(draft, {"releases": [release]})
    return folder / REPORT
