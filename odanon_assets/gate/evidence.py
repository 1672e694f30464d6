"""What is kept of a published release so that later ones can be audited against it (PRIVACY rule 5). Restricted.

    work/<product>/released/date=<day>/<release id>/release.json     manifest and time bins; stays for good
                                                    *.parquet        person-level rows, a sample of them, flows; until the retention
                                                    published.json   the release became visible

The folder exists before its release is visible, so that no release is ever without it. One that never became
visible counts as published until its own window is published.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from odanon import registry
from odanon.model.files.times import TIMES, read_times
from odanon.model.window import Times, day_window, window_instants
from odanon.product import Product
from odanon.product.windows import bins_of, is_longer, times_of
from odanon.reading.origin import alike
from odanon.trips.bins import bin_instants
from odanon_assets.lake.files import link, read_frame, to_json, write_parquet, write_text
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.origin import origin_of
from odanon_assets.lake.places import rows_stage
from odanon_assets.stores.interface import Store, shares_input, starts_near

ROWS = "person_rows.parquet"
SEGMENTS = "segments.parquet"  # beside the flows of everybody: those shown by segment, with each segment's part
METHOD = ("overlapping", "leaves_out", "budgeted")  # what the class of an anonymiser says of its releases
_FACTS, _VISIBLE, _SAMPLE = "release.json", "published.json", "sample.parquet"


@dataclass(frozen=True)
class Tables:
    """Where the tables of a release lie."""

    rows: Path
    folder: Path  # flows, areas, assignment and, for products with segments, SEGMENTS
    overlapping: bool  # whether flows may share tile pairs; the assignment then says in which one a pair counts
    leaves_out: bool  # whether pairs between the areas of a flow may be left out of it; the assignment says which

    @property
    def times(self) -> Times | None:
        """The bins of a release in time; None where every flow is of one bin."""
        return read_times(self.folder / TIMES) if (self.folder / TIMES).is_file() else None

    @classmethod
    def of_day(cls, product: Product, lake: Lake, day: date) -> "Tables":
        """The tables of the last run of a day."""
        how = method_of(lake.figures(product.product, "anonymized", day))
        folder = lake.read(product.product, "anonymized", day)
        return cls(
            lake.read(product.product, rows_stage(product), day) / ROWS, folder, how["overlapping"], how["leaves_out"]
        )


def method_of(told: dict[str, Any]) -> dict[str, bool]:
    """How a method publishes, from the figures of its stage; one of another package has told it there."""
    algorithm = told["parameters"]["algorithm"]
    if registry.is_ours("anonymize", algorithm):
        method: Any = registry.find("anonymize", algorithm).cls
        return {name: getattr(method, name) for name in METHOD}
    return {name: told.get(name) is True for name in METHOD}


def keep(product: Product, lake: Lake, day: date, store: Store, manifest: dict[str, Any]) -> None:
    """Keep what the auditor will need of a release that is about to be published in a store."""
    tables = Tables.of_day(product, lake, day)
    with lake.replacing(_folder(lake, manifest)) as draft:
        for path in (tables.rows, *sorted(tables.folder.glob("*.parquet"))):
            link(path, draft / path.name)  # stages replace their files and never write into them
        bins = time_bins(product, tables, day)
        origin = origin_of(lake, product.product, "anonymized", day)
        told: dict[str, Any] = {"manifest": manifest, "store": store.address, "time_bins": bins, "keys": origin["keys"]}
        told |= {"overlapping": tables.overlapping, "leaves_out": tables.leaves_out}
        write_parquet(pd.DataFrame({"row": origin["sample"]}), draft / _SAMPLE)
        (draft / _FACTS).write_text(to_json(told))


def confirm(lake: Lake, manifest: dict[str, Any]) -> None:
    """Note that a release is visible."""
    folder = _folder(lake, manifest)
    if folder.is_dir():
        write_text(folder / _VISIBLE, to_json({}))


def drop_unpublished(lake: Lake, product: str, day: date, store: Store, known: set[str]) -> None:
    """Remove what is kept of releases of a window that this store never showed; call it under the window's lock.

    What another store may have shown before somebody could note it stays, and counts as published.
    """
    for folder in lake.folder(product, "released", day).glob("[!.]*"):
        if folder.name in known or (folder / _VISIBLE).exists():
            continue
        if json.loads((folder / _FACTS).read_text()).get("store") == store.address:
            shutil.rmtree(folder)


def sharing(lake: Lake, store: Store, product: Product, day: date) -> list[dict[str, Any]]:
    """Manifests of all releases, in this store or made from this lake, that share input with one of a day.

    What was read tells, not what the product's file says now. A file in common is enough, whatever the data are called, and so
    are rows in common.
    """
    origin = origin_of(lake, product.product, "anonymized", day)
    start, end = window_instants(day, ZoneInfo(origin["timezone"]), product.publish.window)
    what = product.product, origin["data_sha256"], start, end
    found = {manifest["release_id"]: manifest for manifest in store.sharing(*what)}
    for manifest, keys, sample in _kept(lake, start, end):
        same = not keys.isdisjoint(origin["keys"]) or alike(sample, origin["sample"])
        called = {**manifest, "data_sha256": origin["data_sha256"]} if same else manifest
        if shares_input(called, *what):
            found.setdefault(manifest["release_id"], manifest)
    return [found[name] for name in sorted(found)]


def _kept(lake: Lake, start: datetime, end: datetime) -> Iterator[tuple[dict[str, Any], set[str], list[str]]]:
    """Manifests that are kept, with the keys of what their releases were read from and the sample of their rows."""
    for day in starts_near(start, end):
        for path in lake.root.glob(f"work/*/released/date={day}/*/{_FACTS}"):
            told = json.loads(path.read_text())
            sample = path.with_name(_SAMPLE)
            rows = read_frame(sample)["row"].tolist() if sample.is_file() else []
            yield told["manifest"], {*told.get("keys", ())}, rows


def kept_tables(lake: Lake, manifest: dict[str, Any]) -> tuple[Tables, list[list[str]]] | None:
    """The tables and time bins of a release; None when its rows are no longer kept."""
    folder = _folder(lake, manifest)
    if not (folder / ROWS).is_file():
        return None
    told = json.loads((folder / _FACTS).read_text())
    # Earlier versions did not tell; the assignment is right of flows that do not overlap as well.
    how = told.get("overlapping", True), told.get("leaves_out", True)
    return Tables(folder / ROWS, folder, *how), told["time_bins"]


def time_bins(product: Product, tables: Tables, day: date) -> list[list[str]]:
    """Start and end of the time bins of a day that have trips; of a longer window, those on each of the days of a bin in turn."""
    bins = pd.read_parquet(tables.rows, columns=["time_bin"])["time_bin"]
    used = pd.DatetimeIndex(bins.unique())
    if is_longer(product):
        made = (each for each in bins_of(product, day).bins if each.start in used)
        return [[at.isoformat() for span in each.spans for at in span] for each in made]
    starts = pd.DatetimeIndex(bin_instants(day, product.zone, product.od.bin)).tz_localize("UTC").union(used)
    ends = [*starts[1:], pd.Timestamp(day_window(day, product.zone)[1])]
    return [[s.isoformat(), e.isoformat()] for s, e in zip(starts, ends, strict=True) if s in used]


def window_times(product: Product, lake: Lake, day: date) -> Times | None:
    """The bins of a day or longer window that is released in time, as its file and days say; None where every row is of one bin."""
    return times_of(product, day, lake.days_of(product.product, day) if is_longer(product) else [day])


def _folder(lake: Lake, manifest: dict[str, Any]) -> Path:
    day = date.fromisoformat(manifest["window_start"])
    return lake.folder(manifest["product"], "released", day) / manifest["release_id"]
