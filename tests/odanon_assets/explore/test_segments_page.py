"""A product by segment that the pipeline has published, on both stores, as people see it in the browser."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gate_town as gate
import geopandas
import pytest
from chromium import Page, chromium
from explorer_server import serving
from gate_town import people, published, town
from shapely.geometry import box
from store_databases import as_role

import odanon

pytestmark = pytest.mark.stores_in_turn

BY_SEX = {"person": "person", "segment": "sex"}
HALVES = {"west": box(4.75, 45.65, 4.85, 45.85), "east": box(4.85, 45.65, 4.95, 45.85)}
READY = "!document.querySelector('[aria-busy]') && document.querySelectorAll('#matrix .cell').length === 4"
WRITTEN = "new Promise((done) => setTimeout(done, 400))"  # the view into the address
SHOWN = "[0, 1].map((i) => [0, 1].map((j) => odanon.matrix.shown().cell(i, j).first))"


@contextmanager
def opened(at: str, areas: geopandas.GeoDataFrame, folder: Path) -> Iterator[Page]:
    """The page of the product with two areas from a file."""
    areas.rename_axis("name").reset_index().to_file(folder / "areas.geojson", driver="GeoJSON")
    with serving(at) as address, chromium() as page:
        page.open(f"{address}#product=sexes")
        page.until("!document.querySelector('[aria-busy]') && document.querySelectorAll('#table tbody tr').length")
        page.choose_file("#upload", folder / "areas.geojson")
        page.until(READY)
        yield page
        assert page.complaints == []


def choose(page: Page, segment: str) -> None:
    page.run(f"odanon.byId('segment').value = {json.dumps(segment)}")
    page.run("odanon.byId('segment').dispatchEvent(new Event('change'))")
    page.until(f"(odanon.state.segment || '') === {json.dumps(segment)} && {READY}")


def test_a_chosen_segment_shows_its_trips_and_all_together_every_trip_once(
    workspace: Path, publish: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people(1500, hours=(8, 9)))
    published(town(workspace, "sexes", BY_SEX, publish=publish))
    at = as_role(os.environ["ODANON_DB_URL"], "odanon_reader") if "url" in publish else str(workspace / "data")
    areas = geopandas.GeoDataFrame(geometry=[*HALVES.values()], index=[*HALVES], crs="EPSG:4326")
    told = odanon.open(at)["sexes"]
    with opened(at, areas, tmp_path) as page:
        options = page.run("[...odanon.byId('segment').options].map((each) => each.innerText)")
        assert options == ["All together", "F", "M"]
        for segment in ("F", "M", ""):
            choose(page, segment)
            expected = told.matrix(areas, segment=segment or None).set_index(["origin", "destination"])
            for origin, row in zip(HALVES, page.run(SHOWN), strict=True):
                for destination, cell in zip(HALVES, row, strict=True):
                    bounds = expected.loc[(origin, destination), ["low", "estimate", "high"]].tolist()
                    assert [cell["low"], cell["estimate"], cell["high"]] == pytest.approx(bounds, abs=1e-3)
        choose(page, "F")
        page.run(WRITTEN)
        page.open(page.run("location.href"))  # a link keeps the segment
        page.until(READY)
        assert page.run("odanon.byId('segment').value") == "F"
