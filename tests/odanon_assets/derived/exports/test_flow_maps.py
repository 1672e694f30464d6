"""flowmap.blue and kepler.gl: places and trips read back, and compared with the store."""

import json
from collections.abc import Callable
from pathlib import Path

import h3
import pandas as pd
import pytest
from bundles import accept, bundle, town_zones

from odanon_assets.derived.export import Format
from odanon_assets.stores.embedded import EmbeddedStore

ENDS = ["origin_zone", "destination_zone"]


def by_pair(store: EmbeddedStore) -> dict[tuple[str, str], int]:
    shown = [store.flows(str(store.released("town", pd.Timestamp(day).date()))) for day in store.windows("town")]
    return pd.concat(shown).groupby(ENDS)["trips"].sum().to_dict()


def test_the_tables_of_flowmap_hold_all_trips_between_named_places(
    town: Callable[..., EmbeddedStore], exported: Callable[[Format], Path]
) -> None:
    store, out = town(), exported(Format.flowmap)
    places, flows = (pd.read_csv(out / f"flowmap_{name}.csv") for name in ("locations", "flows"))
    assert [*places] == ["id", "name", "lat", "lon"]
    assert [*flows] == ["origin", "dest", "count", "time"]
    assert flows.groupby(["origin", "dest"])["count"].sum().to_dict() == by_pair(store)
    assert {*flows["origin"], *flows["dest"]} <= {*places["id"]}
    zones = store.zones(str(store.released("town", pd.Timestamp("2026-03-28").date()))).set_index("zone_id")
    for place in places.itertuples():
        west, south, east, north = zones.geometry[place.id].bounds
        assert west < place.lon < east
        assert south < place.lat < north
    # As flowmap.blue reads times, and on the local clock: midnight in UTC is one in Paris.
    times = pd.to_datetime(flows["time"], format="%Y-%m-%d %H:%M:%S")
    assert times.min() == pd.Timestamp("2026-03-28 01:00")
    assert times.max() == pd.Timestamp("2026-03-29 01:01")


def test_a_name_that_means_two_shapes_is_two_places(
    town: Callable[..., EmbeddedStore], exported: Callable[[Format], Path]
) -> None:
    names = ["z1", "z2", "z3"]
    days = [pd.Timestamp(day).date() for day in ("2026-03-28", "2026-03-29")]
    both = zip(days, (town_zones(names), town_zones(names, shift=0.5)), strict=True)
    town(*(bundle(day=day, zones=zones) for day, zones in both))
    places = pd.read_csv(exported(Format.flowmap) / "flowmap_locations.csv")
    assert len(places) == 6
    assert places["id"].is_unique


def cells() -> list[str]:
    return sorted(h3.grid_disk(h3.latlng_to_cell(48.85, 2.35, 7), 1))[:3]


@pytest.mark.parametrize(
    ("names", "file", "mode"),
    [(cells(), "kepler_cells.csv", "H3"), (["z1", "z2", "z3"], "kepler_points.csv", "LAT_LNG")],
    ids=["cells", "areas"],
)
def test_kepler_gets_cells_where_zones_are_cells_and_otherwise_points(
    town: Callable[..., EmbeddedStore], exported: Callable[[Format], Path], names: list[str], file: str, mode: str
) -> None:
    store, out = town(zones=town_zones(names)), exported(Format.kepler)
    assert sorted(path.name for path in out.glob("kepler*")) == sorted(["kepler.json", file])
    rows = pd.read_csv(out / file)
    assert rows.groupby(["source", "target"])["count"].sum().to_dict() == by_pair(store)
    saved = json.loads((out / "kepler.json").read_text())
    assert saved["info"]["app"] == "kepler.gl"  # how kepler.gl tells a map from other JSON
    (data,) = (each["data"] for each in saved["datasets"])
    assert data["allData"] == rows.to_numpy().tolist()
    assert [field["name"] for field in data["fields"]] == [*rows]
    (layer,) = saved["config"]["config"]["visState"]["layers"]
    assert layer["type"] == "flow"
    assert layer["config"]["dataId"] == data["id"]
    assert layer["config"]["columnMode"] == mode
    assert {*layer["config"]["columns"].values()} <= {*rows}
    needed = {"H3": {"sourceH3", "targetH3"}, "LAT_LNG": {"lat0", "lng0", "lat1", "lng1"}}
    assert needed[mode] <= {*layer["config"]["columns"]}


def test_names_that_a_spreadsheet_would_run_are_made_harmless_everywhere_alike(
    store: EmbeddedStore, exported: Callable[[Format], Path]
) -> None:
    store.publish(bundle(rows=9, zones=town_zones(["=1+1", "-x", "plain"])), accept)
    out = exported(Format.flowmap)
    places, flows = (pd.read_csv(out / f"flowmap_{name}.csv") for name in ("locations", "flows"))
    assert {*places["id"]} == {"'=1+1", "'-x", "plain"}
    assert {*flows["origin"], *flows["dest"]} <= {*places["id"]}
    assert {*pd.read_csv(exported(Format.kepler) / "kepler_points.csv")["source"]} <= {*places["id"]}
