"""Flows read back by shares of tiles: onto tiles, another zoning and polygons, and over time."""

import geopandas
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pooled import Pooled
from shapely.geometry import box

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.atg.joint import AtgJoint
from odanon.errors import OdanonError
from odanon.metrics.reconstruction import Reconstruction
from odanon.model.matrix import ODMatrix
from odanon.model.tiles import Tiles
from odanon.reconstruct.areas import spread
from odanon.reconstruct.even import over_tiles
from odanon.reconstruct.profile import time_profile
from odanon.reconstruct.tiles import by_polygons, by_zoning, themselves, tile_shares
from odanon.testing.trial.cities import random_city
from odanon.zoning.h3 import H3Zoning

ZONES = pd.DataFrame({"zone_id": ["left", "c"], "n_tiles": [2, 1], "tiles": [["a", "b"], ["c"]]})
FLOWS = pd.DataFrame({"origin_zone": ["left"], "destination_zone": ["c"], "spread": [8.0]})


def test_a_flow_onto_tiles_is_divided_by_their_number() -> None:
    found = spread(FLOWS, ZONES, tile_shares(ZONES, themselves("abc")))
    assert found.values.tolist() == [["a", "c", 4.0], ["b", "c", 4.0]]


def test_another_zoning_gets_the_tiles_that_lie_in_it() -> None:
    found = spread(FLOWS, ZONES, tile_shares(ZONES, pd.Series({"a": "west", "b": "east", "c": "east"})))
    assert found.values.tolist() == [["east", "east", 4.0], ["west", "east", 4.0]]


def test_tiles_without_traffic_keep_their_share() -> None:
    full = ZONES.assign(n_tiles=[4, 1])
    found = spread(FLOWS, full, tile_shares(full, themselves("abc")))
    assert found["trips"].tolist() == [2.0, 2.0]


def test_polygons_get_the_tiles_whose_centre_they_hold() -> None:
    tiles = Tiles(np.array(["a", "b", "c"], object), np.zeros(3), np.array([0.0, 1.0, 2.0]), "test", lambda: None)  # type: ignore[arg-type, return-value]
    areas = geopandas.GeoSeries([box(-1, -1, 1.5, 1), box(0.5, -1, 2.5, 1)], index=["west", "east"], crs="EPSG:4326")
    assert by_polygons(tiles, areas).to_dict() == {"a": "west", "b": "west", "c": "east"}
    assert by_polygons(tiles, areas.iloc[[1]]).to_dict() == {"b": "east", "c": "east"}


def test_h3_tiles_fall_into_coarser_cells() -> None:
    lat, lon = np.array([45.75, 45.80]), np.array([4.85, 4.95])
    tiles = H3Zoning(resolution=9).tiles(H3Zoning(resolution=9).assign(lat, lon))
    coarse = by_zoning(tiles, H3Zoning(resolution=6))
    assert coarse.tolist() == H3Zoning(resolution=6).assign(tiles.lat, tiles.lon).tolist()


def test_zones_that_do_not_list_their_tiles_are_refused() -> None:
    with pytest.raises(OdanonError, match="shares of area"):
        tile_shares(ZONES.assign(tiles=[["a", "b"], None]), themselves("abc"))


@given(st.integers(0, 500), st.sampled_from([AtgJoint(k=3, suppression=0.2), Pooled(k=3)]))
def test_reading_a_release_on_its_tiles_gives_the_reconstruction_loss(seed: int, made_by: Anonymizer) -> None:
    """E of the metric equals the loss of the table that an analyst makes of the release."""
    tree, rows = random_city(seed)
    od = ODMatrix.from_frame(rows, tree, tree)
    release = made_by.anonymize(od, tree, tree)
    names = tree.label[tree.tiles]
    areas = {
        str(label): names[part.members[a:b]].tolist()
        for part in (release.origins, release.destinations)
        for label, a, b in zip(part.label, part.start, part.start[1:], strict=False)
    }
    zones = pd.DataFrame({"zone_id": list(areas), "n_tiles": [len(t) for t in areas.values()], "tiles": areas.values()})
    flows = release.flows.astype({"origin": "str", "destination": "str"}).assign(spread=over_tiles(release))
    flows = flows.rename(columns={"origin": "origin_zone", "destination": "destination_zone"})
    estimated = spread(flows, zones, tile_shares(zones, themselves(names)))
    truth = rows.groupby(["origin", "destination"])["trips"].sum()
    both = estimated.set_index(["origin", "destination"])["trips"].sub(truth, fill_value=0)
    assert both.abs().sum() / truth.sum() == pytest.approx(Reconstruction().evaluate(od, release)["E"])


def test_a_profile_follows_one_flow_through_bins_that_are_generalised_differently() -> None:
    """At 7 the flow a->c is hidden in left->c, at 8 it is published alone, at 9 nothing is published."""
    zones = pd.DataFrame(
        {"zone_id": ["left", "a", "c"], "n_tiles": [2, 1, 1], "tiles": [["a", "b"], ["a"], ["c"]]},
    )
    flows = pd.DataFrame(
        {"time": [7, 8], "origin_zone": ["left", "a"], "destination_zone": ["c", "c"], "spread": [8.0, 5.0]}
    )
    original = pd.DataFrame(
        {"time": [7, 7, 8, 9], "origin": ["a", "b", "a", "a"], "destination": list("cccc"), "trips": [6, 2, 5, 1]}
    )
    wanted = pd.DataFrame({"origin": ["a"], "destination": ["c"]})
    table = time_profile(original, flows, zones, tile_shares(zones, themselves("abc")), wanted)
    assert table["time"].tolist() == [7, 8, 9]
    assert table["original"].tolist() == [6, 5, 1]
    assert table["reconstructed"].tolist() == [4, 5, 0]
