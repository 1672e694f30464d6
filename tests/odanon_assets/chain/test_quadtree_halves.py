"""A product on squares whose areas may be halves of squares, through the whole chain and both stores."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import gate_town as gate
import h3
import numpy as np
import pandas as pd
import pytest
import shapely
from gate_town import DAY, people, published, town
from shapely.geometry import box

from odanon import registry
from odanon.model.when import When
from odanon.reconstruct.areas import flow_between
from odanon_assets.stores.choice import open_store

pytestmark = pytest.mark.stores_in_turn

GRID = {"plugin": "grid", "cell_m": 700, "crs": "EPSG:2154", "bounds": [4.77, 45.70, 4.93, 45.80]}
LATTICE = {"plugin": "atg-lattice", "k": 10, "suppression": 0.1}


@pytest.fixture
def squares(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """People who travel between squares, and public weights of some squares."""
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    zoning = registry.create("zoning", "grid", {key: value for key, value in GRID.items() if key != "plugin"})
    rows = people(900, hours=(8, 9))
    for side in ("origin", "destination"):
        lat, lon = np.array([h3.cell_to_latlng(cell) for cell in rows[side]]).T
        rows[side] = zoning.assign(lat, lon)
    gate.write(workspace, rows)
    residents = rows.groupby("origin")["person"].nunique().rename_axis("tile").reset_index()
    residents.iloc[::2].to_csv(workspace / "residents.csv", index=False)
    return workspace


@pytest.mark.parametrize("store", ["embedded", "postgis"])
def test_halves_of_squares_are_published_and_read_back(
    store: str, squares: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    target: dict[str, Any] = {"store": store}
    if store == "postgis":
        monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
        target["url"] = "${ODANON_DB_URL}"
    product = town(
        squares,
        zoning={**GRID, "weights": str(squares / "residents.csv")},
        hierarchy={"plugin": "quadtree", "steps": "fine"},
        anonymize=LATTICE,
        publish=target,
    )
    release, shown = published(product), open_store(product)
    flows, zones = shown.flows(release), shown.zones(release).set_index("zone_id")
    halves = zones[[name.rpartition("/")[2] in ("01", "23") and "/" in name for name in zones.index]]
    assert len(halves) > 2
    used = {*flows["origin_zone"], *flows["destination_zone"]}
    assert set(zones.index) == used
    # A half says how many squares it has, lists them and lies where they do.
    member = registry.create("zoning", "grid", {key: value for key, value in GRID.items() if key != "plugin"})
    for zone in halves.itertuples():
        assert len(zone.tiles) == zone.n_tiles
        drawn = shapely.union_all(member.tiles(sorted(zone.tiles)).geometry)
        assert shapely.symmetric_difference(drawn, zone.geometry).area < 1e-9 * drawn.area
    start = pd.Timestamp(DAY, tz="UTC").to_pydatetime()
    day = start, start + timedelta(days=1)
    everywhere, part = box(-180, -90, 180, 90), halves.geometry.iloc[0].buffer(0.004)
    told = json.loads(shown.manifest_text(release))
    assert told["readings"] == ["even", "fitted", "prior"]
    placed = zones.reset_index()
    for reading, beside in (("even", None), ("fitted", shown.weights(release)), ("prior", shown.tiles(release))):
        assert shown.flow("town", everywhere, everywhere, When(*day), reading).estimate == pytest.approx(
            flows["trips"].sum()
        )
        expected = flow_between(flows, placed, part, everywhere, reading, beside)
        assert shown.flow("town", part, everywhere, When(*day), reading).estimate == pytest.approx(expected, rel=1e-7)
    assert shown.problems(release) == []
