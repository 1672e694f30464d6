"""`odanon summary`: the figures a newcomer wants to see at the end of a run, all from the published manifest.

What the working area holds may be of a later attempt that was refused, so nothing is read from there.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from odanon.metrics.declared import every_figure
from odanon.model.figure import Figure
from odanon.product import Product
from odanon_assets.commands.shared import ProductName, find_product
from odanon_assets.lake.places import default_root
from odanon_assets.lake.trials import outcomes
from odanon_assets.stores.choice import open_store

PANEL = ("Run and watch", 3)
_INPUT = {
    "points": "points",
    "people": "people",
    "staypoints": "stay points",
    "trips": "trips",
    "od_pairs": "OD pairs",
}
# Headline figures with a row of their own, or told within one.
_ROWS = {"coarse_share": "coarse", "suppressed_share": "left out", "gbar": "precision"}
_WITHIN = {"flows", "trips_published", "persons_min_band"}
_OF_THE_REPOSITORY = ("Makefile", "pipelines/demo.yaml")  # whoever installed with pip has neither


def summary(product: ProductName) -> None:
    """Show what a product has published: figures, tables and reports.

    For instance: `odanon summary my-city`.
    """
    print_summary(Console(), find_product(product))


def print_summary(console: Console, product: Product) -> None:
    """What went in, what came out and where it lies, for the latest published day."""
    store = open_store(product)
    standings = store.standings(product.product)
    days = [date.fromisoformat(day) for day, standing in standings.items() if standing == "published"]
    gone = _gone(standings.values())
    if not days:
        tried = len(outcomes(default_root(), product.product))
        when = "any more" if gone else "yet"
        told = [
            f"nothing is published {when} for {product.product}",
            *gone,
            *([f"days tried: {tried}"] if tried else []),
        ]
        advice = ", see `odanon status`" if len(told) > 1 else ""
        console.print("; ".join(told) + advice, highlight=False, soft_wrap=True)
        return
    manifest = json.loads(store.manifest_text(str(store.released(product.product, days[-1]))))
    folder = store.window_folder(product.product, days[-1])
    what = product.publish.window
    count = f"1 {what}" if len(days) == 1 else f"{len(days)} {what}s"
    title = f"[bold]{escape(product.title)}[/bold]"
    days_told = ", ".join([f"{count} published", *gone])
    console.print(f"\n{title} — {days_told}; the latest is {days[-1]}:", highlight=False, soft_wrap=True)
    command = f"odanon report {product.product} --date {days[-1]} --open"
    _print_rows(console, (*_figures(manifest), *_places(folder, command)))
    console.print("\nNext:")
    for step in _steps():
        console.print(f"  - {escape(step)}", highlight=False, soft_wrap=True)


def _gone(standings: Iterable[str]) -> list[str]:
    """How many days were taken away, by how."""
    count = Counter(standings)
    return [f"{count[how]} {how}" for how in ("withdrawn", "purged") if count[how]]


def print_trial(console: Console, product: Product, days: list[date]) -> None:
    """What publication would have said of days that were tried: the latest that would be published, with its figures."""
    tried = outcomes(default_root(), product.product)
    good = [tried[day] for day in days if day in tried and tried[day].would_publish]
    what = product.publish.window
    count = f"{len(good)} of {len(days)} {what}s" if len(days) > 1 else f"{days[0]}" if good else "nothing"
    title = f"[bold]{escape(product.title)}[/bold]"
    console.print(f"\n{title} — a trial, nothing is published; {count} would be", highlight=False)
    if not good:
        return
    latest = good[-1]
    console.print(f"  the latest, {latest.day}, {latest.sentence}:", highlight=False, soft_wrap=True)
    report = ("report", f"{_short(latest.folder)}/report.html (restricted)")
    _print_rows(console, (*_figures(latest.manifest), report))
    console.print("\nNext:")
    live = (
        "run the same command without --trial"
        if product.status == "live"
        else "write status: live in its file to publish"
    )
    console.print(f"  - look at the report; change k, areas or time bins as you like\n  - {live}", highlight=False)


def _print_rows(console: Console, rows: Iterable[tuple[str, str]]) -> None:
    for label, text in rows:
        console.print(f"  [bold]{label:<11}[/bold]{escape(text)}", highlight=False, soft_wrap=True)


def _figures(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Rows of what went in and came out; every headline figure that the manifest declares has its place."""
    metrics = manifest["metrics"]
    counts = manifest.get("input_counts", {})
    # A source of ready trips or matrices has nothing to count before it. What went in is rounded, what came out is not.
    words = {**_INPUT, "people": _who(manifest)}
    if told := ", ".join(f"{counts[key]:,} {label}" for key, label in words.items() if counts.get(key)):
        yield "in", f"about {told}"
    yield "published", _volumes(metrics)
    headlines = [
        (name, figure) for name, figure in _declared(manifest).items() if figure.headline and name not in _WITHIN
    ]
    for name, figure in sorted(headlines, key=lambda item: _place(item[0])):
        if metrics.get(name) is not None:
            yield _ROWS.get(name, "figures"), figure.in_a_line(metrics[name])
    unit = manifest.get("parameters", {}).get("unit")
    yield "promise" if unit == "trips" else _who(manifest), _promise(manifest)


def _declared(manifest: Mapping[str, Any]) -> dict[str, Figure]:
    """Figures by their public names, as the manifest declares them; of an older one, as installed metrics do."""
    said = manifest.get("figures")
    if said is None:
        return {figure.public: figure for figure in every_figure().values() if figure.public is not None}
    return {
        name: Figure(name, each["label"], each["meaning"], each.get("unit", ""), headline=each["headline"])
        for name, each in said.items()
    }


def _place(name: str) -> int:
    return list(_ROWS).index(name) if name in _ROWS else len(_ROWS)


def _volumes(metrics: Mapping[str, Any]) -> str:
    told = "1 flow" if metrics["flows"] == 1 else f"{metrics['flows']:,.0f} flows"
    if "origin_areas" in metrics and "destination_areas" in metrics:
        areas = f"{metrics['origin_areas']:,.0f} origin and {metrics['destination_areas']:,.0f} destination areas"
        told += f" between {areas} (busiest time bin)"
    return f"{told}, {metrics['trips_published']:,.0f} trips" if "trips_published" in metrics else told


def _who(manifest: Mapping[str, Any]) -> str:
    """What is counted as one, in the words of the product: people or vehicles."""
    return "vehicles" if manifest.get("parameters", {}).get("unit") == "vehicles" else "people"


def _promise(manifest: Mapping[str, Any]) -> str:
    band, promise = manifest["metrics"].get("persons_min_band"), manifest.get("promise")
    noise = manifest.get("perturb", {}).get("sentence")
    told = (f"the smallest flow holds {band} {_who(manifest)}" if band else "", promise, noise)
    return "; ".join(part for part in told if part)


def _places(folder: Path | None, command: str) -> Iterator[tuple[str, str]]:
    yield "tables", f"{_short(folder)}/flows.parquet, zones.parquet" if folder else "in PostGIS, schema published"
    yield "report", f"{_short(folder)}/report.html" if folder else f"in the database; {command}"


def _steps() -> tuple[str, ...]:
    here = all(Path(name).is_file() for name in _OF_THE_REPOSITORY)
    home = os.environ.get("DAGSTER_HOME", default_root().absolute() / "dagster")
    up = "make up" if here else f"DAGSTER_HOME={home} dagster dev -m odanon_assets.definitions"
    begin = "copy pipelines/demo.yaml" if here else "begin a product file (docs/product-files.md)"
    command = _short(Path(sys.argv[0])) if Path(sys.argv[0]).name == "odanon" else "odanon"
    return (
        "open the report in a browser",
        f'{command} sql "select origin_zone, destination_zone, trips from flows order by trips desc limit 5"',
        f"{up}, then look at the Dagster UI",
        f"{begin} and point it at your own data; {command} plugins shows what it may say",
    )


def _short(path: Path) -> str:
    """The path relative to the working folder when it lies inside."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
