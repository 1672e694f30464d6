"""Published weights: a function of published rows and zones alone, and the same reading over tiles as cell by cell."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from nested_rows import cases, tree_of_a_reader
from rested import PRIOR, TREE, dense, rested, rested_bundle
from shapely import Point, Polygon, box

from odanon import registry
from odanon.errors import OdanonError
from odanon.metrics.reconstruction import Reconstruction
from odanon.model.ground import Ground
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.reconstruct.areas import reconstruct, spread
from odanon.reconstruct.layout import Layout
from odanon.reconstruct.prior import TileWeights, node_weights, read_weights
from odanon.reconstruct.readings import better, resolved
from odanon.reconstruct.tiles import themselves, tile_shares
from odanon.reconstruct.weights import weigh

DAY = date(2026, 3, 2)


@pytest.mark.parametrize("split", [False, True])
def test_a_reader_computes_the_published_weights_from_rows_and_zones_to_the_last_bit(split: bool) -> None:
    made = rested_bundle(DAY, 3, split=split)
    public = made.flows[["time_start", "time_end", "segment", "origin_zone", "destination_zone", "kind", "trips"]]
    found = weigh(public, made.zones, tree_of_a_reader(made.zones))
    told = made.weights[made.weights["reading"] == "fitted"].reset_index(drop=True)
    assert (told["around"].notna()).any()
    pd.testing.assert_frame_equal(found.table, told, check_exact=True)
    assert found.spread["fitted"].tobytes() == made.flows["spread_fitted"].to_numpy().tobytes()


def test_trips_that_differ_below_the_published_rows_have_the_same_weights() -> None:
    """Every trip is moved to other tiles of the same row: the rows stay, and so does all that is published of them."""
    released = rested(4)[0]
    rng, tables = np.random.default_rng(0), []
    node = {name: number for number, name in enumerate(TREE.label)}
    rows = released.flows.index[released.flows["kind"] == "flow"]
    for _ in range(2):
        ends = []
        for side in ("origin", "destination"):
            at = np.array([node[name] for name in released.flows.loc[rows, side]])
            at = np.repeat(at, released.flows.loc[rows, "trips"])
            ends.append((rng.integers(TREE.tile_start[at], TREE.tile_end[at]), at))
        od = ODMatrix.from_arrays(ends[0][0], ends[1][0], np.ones(len(ends[0][0]), dtype=np.int64))
        keys = pd.DataFrame({"o": ends[0][0], "d": ends[1][0], "on": ends[0][1], "dn": ends[1][1]}).drop_duplicates()
        nodes = keys.set_index(["o", "d"]).loc[list(zip(od.pairs.origin, od.pairs.destination, strict=True))]
        made = Release.from_nodes(od, TREE, TREE, nodes["on"].to_numpy(), nodes["dn"].to_numpy(), {})
        flows = made.flows.rename(columns={"origin": "origin_zone", "destination": "destination_zone"})
        zones = pd.DataFrame({"zone_id": TREE.label, "n_tiles": TREE.n_tiles})
        tables.append((od, weigh(flows.assign(time_start=0, time_end=1), zones, TREE).table))
    assert not np.array_equal(tables[0][0].pairs.origin, tables[1][0].pairs.origin)
    pd.testing.assert_frame_equal(tables[0][1], tables[1][1], check_exact=True)


def test_flows_between_tiles_are_those_of_single_cells() -> None:
    """Inside its own part a zone is even, so the weights of tiles are those of own parts by their tiles."""
    made = rested_bundle(DAY, 1)
    tiles, expected = np.arange(TREE.n_leaves), 0.0
    names = TREE.label[TREE.tiles]
    weights = made.weights.set_index(["time_bin", "side", "zone_id"])["weight"].sort_index()
    for hour, release in enumerate(rested(1)):
        layout = Layout.of(release)
        assert layout is not None
        at = pd.Timestamp(DAY, tz="UTC") + pd.Timedelta(hours=hour)
        by_tile = [
            layout.by_tile(side, weights[at, name].loc[layout.areas[side].label].to_numpy(), tiles)
            for side, name in enumerate(("origin", "destination"))
        ]
        expected = expected + dense(release, (by_tile[0], by_tile[1]))
    shares, size = tile_shares(made.zones, themselves(names)), made.zones.set_index("zone_id")["n_tiles"]
    table = spread(made.flows, made.zones, shares, reading="fitted", weights=made.weights, size=size)
    found = table.set_index(["origin", "destination"])["trips"].unstack(fill_value=0.0)
    found = found.reindex(index=names, columns=names, fill_value=0.0)
    np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-8)


def square(west: float, east: float) -> Polygon:
    return box(west / 100, 0, east / 100, 0.01)


def test_a_drawn_area_takes_the_tiles_inside_it_and_a_zone_without_any_is_even() -> None:
    """Two zones side by side: the people of the one live in its western tile, the file names no tile of the other."""
    shapes = [square(0, 2), square(2, 4)]
    zones = geopandas.GeoDataFrame({"zone_id": ["west", "east"]}, geometry=shapes, crs="EPSG:4326")
    told = {"tile": ["a", "b"], "zones": [["west"], ["west"]], "leaving": [0.75, 0.25], "entering": [0.0, 1.0]}
    tiles = geopandas.GeoDataFrame(told, geometry=[square(0, 1), square(1, 2)], crs="EPSG:4326")
    flows = pd.DataFrame(
        {"origin_zone": ["west", "east"], "destination_zone": ["west", "west"], "spread_prior": [100.0, 10.0]}
    )
    areas = geopandas.GeoSeries([square(0, 1), square(1, 2), square(2, 2.5)], ["a", "b", "c"], crs="EPSG:4326")
    found = reconstruct(flows, zones, areas, "prior", tiles).set_index(["origin", "destination"])["trips"].round(2)
    assert found[found > 0].to_dict() == {("a", "b"): 75.0, ("b", "b"): 25.0, ("c", "b"): 2.5}
    with pytest.raises(OdanonError, match="the reading prior needs its published weights"):
        reconstruct(flows, zones, areas, "prior")


@given(cases())
def test_the_loss_by_public_weights_is_that_of_single_cells(case):
    rng = np.random.default_rng(len(case.trips))
    truth = rng.integers(0, 4, case.owner.shape)
    truth[0, 0] += 1
    trips = np.bincount(case.owner[case.owner >= 0], truth[case.owner >= 0], len(case.trips))
    if (trips == 0).any():  # such a row is not in the release, and the ones around it count its cells
        return
    origin, destination = np.nonzero(truth)
    weights = [pd.Series(rng.pareto(1.0, tree.n_leaves), tree.label[tree.tiles]) for tree in case.trees]
    prior = tuple(node_weights(tree, given) for tree, given in zip(case.trees, weights, strict=True))
    od = replace(
        ODMatrix.from_arrays(origin, destination, truth[origin, destination]), ground=Ground(*case.trees, prior=prior)
    )
    row = case.owner[od.pairs.origin, od.pairs.destination]
    nodes = [np.where(row >= 0, n[e][row], -1) for n, e in zip(case.nodes, case.ends, strict=True)]
    release = Release.from_nodes(od, *case.trees, *nodes, {}, pair_rest=(row >= 0) & case.rest[row])
    case.trips = trips
    cells = case.spread(np.outer(*(each[tree.tiles] for each, tree in zip(prior, case.trees, strict=True))))
    told = Reconstruction().evaluate(od, release)
    assert told["E_prior"] == pytest.approx(np.abs(cells - truth).sum() / truth.sum())
    assert np.isnan(Reconstruction().evaluate(replace(od, ground=None), release)["E_prior"])


@pytest.mark.parametrize("steps", ["standard", "fine"])
def test_zones_of_h3_hold_the_weights_of_all_their_cells_visited_or_not(steps: str) -> None:
    top = h3.latlng_to_cell(45.75, 4.85, 6)
    cells = sorted(h3.cell_to_children(top, 8))
    zoning = registry.create("zoning", "h3", {"resolution": 8})
    tree = registry.create("hierarchy", "h3", {"steps": steps, "root": 6}).build(zoning.tiles(cells[::5]))
    given = pd.Series(np.random.default_rng(1).integers(0, 50, len(cells)).astype(float), cells)
    found, members = node_weights(tree, given), {}
    for zone, weight, n_tiles in zip(tree.label.tolist(), found.tolist(), tree.n_tiles.tolist(), strict=True):
        cell, _, children = zone.partition("/")
        resolution = h3.get_resolution(cell)
        inside = [
            c
            for c in cells
            if h3.cell_to_parent(c, resolution) == cell
            and (
                not children
                or str(int(h3.cell_to_parent(c, resolution + 1), 16) >> 3 * (14 - resolution) & 7) in children
            )
        ]
        assert len(inside) == n_tiles
        assert weight == pytest.approx(given[inside].sum() / given.sum() + 1e-8 * n_tiles)
        members[zone] = inside
    named = pd.DataFrame({"zone_id": tree.label[::2].astype(str)})
    listed = TileWeights(given, given).drawn(named, tree, zoning.tiles(cells[::5]))
    assert listed["tile"].tolist() == [
        cell for cell in cells if given[cell] > 0 and any(cell in members[z] for z in named["zone_id"])
    ]
    for tile, zones in zip(listed["tile"], listed["zones"], strict=True):
        assert zones == [zone for zone in named["zone_id"] if tile in members[zone]]
    assert listed.set_index("tile")["leaving"].to_dict() == pytest.approx(
        (given / given.sum())[listed["tile"]].to_dict()
    )
    assert all(
        shape.contains(Point(h3.cell_to_latlng(tile)[::-1]))
        for tile, shape in zip(listed["tile"], listed.geometry, strict=True)
    )


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"place": ["a"], "people": [1]}, "need the column tile"),
        ({"tile": ["a"], "x": [1], "y": [1], "z": [1]}, "one or two columns"),
        ({"tile": ["a", "a"], "people": [1, 2]}, "named twice"),
        ({"tile": ["a", "b"], "people": [1, -2]}, "numbers from 0 on"),
        ({"tile": ["a", "b"], "people": [0, 0]}, "numbers from 0 on"),
        ({"tile": ["a", "b"], "people": ["many", 0]}, "numbers from 0 on"),
    ],
)
def test_weights_that_are_none_are_refused(table: dict[str, list], sentence: str, tmp_path: Path) -> None:
    pd.DataFrame(table).to_csv(tmp_path / "weights.csv", index=False)
    with pytest.raises(OdanonError, match=sentence):
        read_weights(tmp_path / "weights.csv")


def test_one_column_serves_both_sides_and_labels_keep_their_zeros(tmp_path: Path) -> None:
    (tmp_path / "weights.csv").write_text("tile,people\n01,3\n2,4\n")
    given = read_weights(tmp_path / "weights.csv")
    assert given.names == ["people", "people"]
    assert given.entering.to_dict() == {"01": 3.0, "2": 4.0}
    with pytest.raises(OdanonError, match="no tile of the zoning"):
        given.of_nodes(TREE)
    assert PRIOR.of_nodes(TREE)[0][TREE.root] == pytest.approx(1 + 64e-8)


def test_auto_is_the_reading_with_the_smaller_loss_that_is_told() -> None:
    assert better({"reconstruction_loss": 0.7, "reconstruction_loss_fitted": 0.6}) == "fitted"
    assert better({"reconstruction_loss": 0.6, "reconstruction_loss_fitted": 0.6}) == "even"
    assert better({"reconstruction_loss_fitted": 0.6}) == better({}) == "even"
    told = {"release_id": "r", "reading": "fitted", "readings": ["even", "fitted"]}
    assert [resolved(reading, told) for reading in ("auto", "even", "fitted")] == ["fitted", "even", "fitted"]
    assert resolved("auto", {"release_id": "old"}) == "even"
    with pytest.raises(OdanonError, match="the reading prior has no weights in r"):
        resolved("prior", told)
