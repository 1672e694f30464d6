"""`odanon report`: the report of a release, whichever store it is in."""

import webbrowser
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon.product.windows import window_of
from odanon_assets.commands.shared import ProductName, find_product, has_file, store_of
from odanon_assets.derived.reports import REPORT, report_copy
from odanon_assets.lake.files import write_text
from odanon_assets.stores.interface import Store

PANEL = ("Stores", 3)


def report(
    product: ProductName,
    day: Annotated[
        datetime | None, typer.Option("--date", formats=["%Y-%m-%d"], help="The window; the latest unless told.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the page to this file.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Print, save or open the report of a published window; a reader of the database may.

    For instance: `odanon report my-city --open`, or of one window `odanon report my-city --date 2026-03-02 --out report.html`.
    """
    store = store_of(product)
    window = _latest(store, product) if day is None else _window(product, day.date())
    release = store.released(product, window)
    if release is None:
        standing = store.standings(product).get(window.isoformat())
        raise OdanonError(
            f"{product} {window} {f'was {standing}' if standing else 'is not published'}; it shows no report"
        )
    page = store.report(release)
    if out is not None:
        write_text(out, page)
    if show:
        folder = store.window_folder(product, window)
        shown = report_copy(store, product, window, release) if folder is None else folder / REPORT
        path = out or shown
        webbrowser.open(path.absolute().as_uri())
    if out is None and not show:
        print(page)


def _window(product: str, day: date) -> date:
    """The first day of the window that holds a day, as the product's file says; by the day itself where there is none."""
    return window_of(find_product(product), day) if has_file(product) else day


def _latest(store: Store, product: str) -> date:
    windows = store.windows(product)
    if not windows:
        raise OdanonError(
            f"nothing of {product} is published; `odanon status {product}` says what became of its windows"
        )
    return date.fromisoformat(windows[-1])
