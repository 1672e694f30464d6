"""A release of a table to hand out: bands instead of people, in formats that others open, with a report and a README."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.door import Released
from odanon.geo.geopackages import write_layers
from odanon.metrics.declared import OF_TABLES, every_figure
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles
from odanon.model.zones import as_told, release_zones
from odanon.reconstruct.even import over_tiles
from odanon.report.release import render_release
from odanon.risk.bands import persons_band
from odanon.risk.public import declarations, public_metrics
from odanon.tables.spreadsheet import write_csv
from odanon.tables.times import SOME_DAY, are_hours, is_interval

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_HOUR = timedelta(hours=1)
_SHOWN = {
    "time": "time bin, as the table named it",
    "time_start": "start of the time of departure, with the offset of the local clock",
    "time_end": "end of it",
    "origin_zone": "zone where the trips start; zones are drawn in the layer and table `zones`",
    "destination_zone": "zone where they end",
    "kind": "flow, or rest: the trips between its zones that no finer row of the same time counts",
    "trips": "number of trips; of a release about the population, its rounded estimate",
    "persons_band": "band of the number of people behind the row; empty where nobody counted people",
}


@dataclass(frozen=True, eq=False)
class Handout:
    """What readers get of a release: rows, the zones they name (None where nobody knows where they lie), and its record."""

    flows: pd.DataFrame
    zones: "GeoDataFrame | None"
    manifest: dict[str, Any]
    drawn: pd.DataFrame = field(default_factory=pd.DataFrame)  # the rows as the report reads them

    def write(self, folder: Path) -> None:
        """Write everything into a folder that is there and empty."""
        told = _in_words(self.flows)
        write_csv(told, folder / "flows.csv")
        self.flows.to_parquet(folder / "flows.parquet", index=False)
        if self.zones is not None:
            self.zones.to_parquet(folder / "zones.parquet", index=False)
            _geopackage(folder / "release.gpkg", told, self.zones)
            if len(self.flows):
                page = render_release(self.drawn, self.zones, self.manifest)
                (folder / "report.html").write_text(page, encoding="utf-8")
        record = {name: value for name, value in self.manifest.items() if name != "bin_names"}
        (folder / "release.json").write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        (folder / "README.md").write_text(self._readme(folder), encoding="utf-8")

    def _readme(self, folder: Path) -> str:
        files = {
            "flows.csv": "the flows, for spreadsheets",
            "flows.parquet": "the same, for programs",
            "zones.parquet": "the zones that flows name, as GeoParquet",
            "release.gpkg": "zones and flows as layers, for QGIS",
            "report.html": "a page with map, figures and parameters; it needs no network",
            "release.json": "what was promised, parameters and figures, for programs",
        }
        columns = "\n".join(f"| `{name}` | {_SHOWN[name]} |" for name in self.flows)
        listed = "\n".join(f"| `{name}` | {what} |" for name, what in files.items() if (folder / name).exists())
        parameters = self.manifest["parameters"]
        warning = ""
        if parameters["unit"] == "trips":
            warning = "\n**Not person-anonymous.** The threshold counts trips: a single frequent traveller may be behind a flow.\n"
        return (
            f"# {self.manifest['title']}\n\nOrigin-destination flows, made with odanon {self.manifest['versions']['odanon']}"
            f" ({parameters['algorithm']}).\n\nPromise: {self.manifest['promise']}. An independent verifier counted again before this was"
            f" written.\n{warning}\n| file | what |\n|---|---|\n{listed}\n\n| column of flows | meaning |\n|---|---|\n{columns}\n\n"
            "Trips that few people made are told between larger areas, or left out: what is not here may still have happened. k-anonymity"
            " alone does not stop somebody with outside knowledge from guessing.\n"
        )


def handout(
    released: Released[Any], tree: Hierarchy, tiles: Tiles, algorithm: str, title: str, timezone: str = "UTC"
) -> Handout:
    """What readers may get of a verified release; figures that tell what was left out stay inside."""
    k, unit = int(released.parameters["k"]), str(released.parameters["unit"])
    parts = []
    for at, (name, release) in enumerate(released.releases.items()):
        rows = release.flows.assign(spread=over_tiles(release))
        intervals = rows["time"].astype("str") if "time" in rows else pd.Series(str(name), rows.index, dtype="str")
        if release.times is not None or is_interval(name):
            start, end = (pd.to_datetime(intervals.str.split("/").str[edge], utc=True) for edge in (0, 1))
        else:
            start, end = (pd.Series(pd.Timestamp(SOME_DAY + n * _HOUR), rows.index) for n in (at, at + 1))
        parts.append(rows.assign(time_start=start, time_end=end, bin=name))
    rows = pd.concat(parts, ignore_index=True)
    told = [release.times is not None or is_interval(name) for name, release in released.releases.items()]
    instants, clock = all(told), all(told) and are_hours(rows["time_start"], rows["time_end"])
    if clock:  # hours of a day are those of any clock
        wall = {name: rows[name].dt.tz_localize(None).dt.tz_localize(timezone) for name in ("time_start", "time_end")}
        rows = rows.assign(**wall)
    public = _public(rows, k, unit, timezone)
    manifest: dict[str, Any] = {
        "title": title,
        "product": title,
        "owner": "",
        "licence": "",
        "timezone": timezone,
        "promise": released.sentence,
        "verifier": "passed",
        "parameters": {"algorithm": algorithm, **released.parameters},
        "hierarchy": tree.kind,  # not of how many tiles, which may be those that somebody visited
        "versions": {"odanon": version("odanon")},
    }
    figures = [figure for figure in every_figure().values() if figure.public is not None]
    manifest["metrics"] = public_metrics(released.figures, public, k, figures, None)
    manifest["figures"] = declarations(manifest["metrics"], (*figures, *OF_TABLES))
    if instants and len(rows) and not clock:
        moments = public["time_start"].min(), public["time_end"].max() - timedelta(seconds=1)
        first, last = (f"{moment:%Y-%m-%d}" for moment in moments)
        manifest |= {"window_start": first} | ({"window_end": last} if last > first else {})
    elif not instants:
        named = rows["bin"].drop_duplicates()  # a bin without a flow would tell when somebody travelled who is in none
        manifest["bin_names"] = ["all trips"] if None in released.releases else named.astype(str).tolist()
    shown = public.drop(columns=["segment", "spread"] + ([] if instants else ["time_start", "time_end"]))
    if not instants and None not in released.releases:
        shown.insert(0, "time", rows["bin"].to_numpy())
    if clock:  # hours of a day, as it shows them
        shown["time_start"] = shown["time_start"].dt.strftime("%H:%M")
        shown["time_end"] = shown["time_end"].dt.strftime("%H:%M").replace("00:00", "24:00")
    zones = None if tiles.kind == "unplaced" else release_zones(released.releases.values(), tree, tiles)
    if zones is not None:  # an area that no flow uses would tell of what was left out
        used = zones["zone_id"].isin(public["origin_zone"]) | zones["zone_id"].isin(public["destination_zone"])
        zones = as_told(zones[used].reset_index(drop=True))
    return Handout(shown, zones, manifest, public)


def _public(rows: pd.DataFrame, k: int, unit: str, timezone: str) -> pd.DataFrame:
    """The columns that readers get, and those that the report needs beside them."""
    people = rows["persons"] if "persons" in rows else pd.Series(pd.NA, rows.index, "Int64")
    edges = {name: pd.to_datetime(rows[name], utc=True).dt.tz_convert(timezone) for name in ("time_start", "time_end")}
    band = pd.Series(persons_band(people, k)).astype("str").where(people.notna().to_numpy(), None)
    return pd.DataFrame(
        {
            **edges,
            "segment": "all",
            "origin_zone": rows["origin"].astype("str"),
            "destination_zone": rows["destination"].astype("str"),
            "kind": rows["kind"].astype("str"),
            "trips": (rows["weight"] if unit == "population" else rows["trips"]).astype("int64"),
            "spread": rows["spread"],
            "persons_band": band,
        }
    )


def _in_words(flows: pd.DataFrame) -> pd.DataFrame:
    """Flows with their times as ISO 8601 text."""
    times = flows.select_dtypes("datetimetz").columns
    return flows.assign(**{name: [moment.isoformat() for moment in flows[name]] for name in times})


def _geopackage(path: Path, flows: pd.DataFrame, zones: "GeoDataFrame") -> None:
    """Zones, and flows as lines between points inside of them; within one zone a line has no length."""
    import geopandas
    import shapely

    listed = zones.assign(tiles=[None if members is None else json.dumps(list(members)) for members in zones["tiles"]])
    places = pd.Series(zones.geometry.representative_point().to_numpy(), index=zones["zone_id"])
    ends = [shapely.get_coordinates(places.loc[flows[side]].to_numpy()) for side in ("origin_zone", "destination_zone")]
    lines = shapely.linestrings(list(zip(*ends, strict=True))) if len(flows) else []
    write_layers(path, {"zones": listed, "flows": geopandas.GeoDataFrame(flows, geometry=lines, crs="EPSG:4326")})
