"""The local clock beside every instant, in each format as its readers can use it."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyogrio
from bundles import accept, bundle

from odanon_assets.derived.export import Format
from odanon_assets.stores.embedded import EmbeddedStore

COLUMNS = ["time_start", "time_end", "local_start", "local_end"]


def test_every_format_tells_the_local_clock(
    town: Callable[..., EmbeddedStore], exported: Callable[[Format], Path]
) -> None:
    town()
    told = pd.read_parquet(exported(Format.geoparquet) / "flows.parquet")
    expected = told["time_start"].dt.tz_convert("Europe/Paris").dt.tz_localize(None)
    assert told["local_start"].tolist() == expected.tolist()
    assert [*told][2:6] == COLUMNS
    text = pd.read_csv(exported(Format.csv) / "flows.csv", parse_dates=COLUMNS)
    package = pyogrio.read_dataframe(exported(Format.gpkg) / "town.gpkg", layer="flows")
    for column in COLUMNS[2:]:
        assert text[column].tolist() == told[column].tolist()
        assert pd.to_datetime(package[column]).tolist() == told[column].tolist()
    assert package["time_start"].tolist() == told["time_start"].tolist()


def test_geojson_holds_the_zones_and_lines_of_the_geopackage(
    town: Callable[..., EmbeddedStore], exported: Callable[[Format], Path]
) -> None:
    town()
    out, package = exported(Format.geojson), exported(Format.gpkg) / "town.gpkg"
    for name in ("zones", "desire_lines"):
        told, other = pyogrio.read_dataframe(out / f"{name}.geojson"), pyogrio.read_dataframe(package, layer=name)
        assert told.geometry.geom_equals_exact(other.geometry, 1e-7).all()
        assert [*told.columns] == [*other.columns]
        assert told.drop(columns="geometry").astype(str).equals(other.drop(columns="geometry").astype(str))
    resources = json.loads((out / "datapackage.json").read_text())["resources"]
    assert {each["mediatype"] for each in resources if each["path"].endswith(".geojson")} == {"application/geo+json"}


def test_a_release_that_does_not_tell_its_time_zone_has_no_local_clock(
    store: EmbeddedStore, exported: Callable[[Format], Path]
) -> None:
    store.publish(bundle(timezone=None), accept)
    text = pd.read_csv(exported(Format.csv) / "flows.csv")
    assert text["local_start"].isna().all()
    assert text["time_start"].notna().all()
    for kind in (Format.gpkg, Format.flowmap, Format.kepler):
        exported(kind)
