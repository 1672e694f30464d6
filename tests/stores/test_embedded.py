"""The embedded store: immutable, atomic, queryable."""

from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import pytest
from shapely.geometry import MultiPolygon, box

from odanon.errors import OdanonError
from odanon_assets.stores import embedded
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle, release_id
from odanon_assets.stores.embedded import EmbeddedStore

DAY = date(2026, 3, 2)


def bundle(trips: int = 40, product: str = "town") -> Bundle:
    name = release_id(product, DAY, {"trips": trips})
    flows = pd.DataFrame(
        [[product, DAY, pd.Timestamp(DAY, tz="UTC"), "all", "z1", "z2", trips, "10-19", name]],
        columns=list(FLOW_COLUMNS),
    )
    zones = geopandas.GeoDataFrame(
        {"zone_id": ["z1", "z2"], "n_tiles": [1, 2]},
        geometry=[MultiPolygon([box(0, 0, 1, 1)]), MultiPolygon([box(1, 0, 3, 1)])],
        crs="EPSG:4326",
    )
    return Bundle(product, DAY, name, flows, zones, "<p>report</p>", {"release_id": name, "product": product})


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_release_becomes_visible_and_queryable(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    assert store.current("town", DAY) is None
    assert store.publish(bundle()) is True
    assert store.windows("town") == ["2026-03-02"]
    session = store.connect()
    assert session.sql("select origin_zone, trips from flows").fetchall() == [("z1", 40)]
    assert session.sql("select count(*) from zones").fetchone() == (2,)
    assert session.sql("select product from releases").fetchone() == ("town",)
    zones = geopandas.read_parquet(store.current("town", DAY) / "zones.parquet")
    assert zones.crs.to_epsg() == 4326


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    store.publish(bundle())
    before = files(tmp_path)
    assert store.publish(bundle()) is False
    assert files(tmp_path) == before


def test_another_release_of_a_published_window_is_refused_with_a_sentence(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    store.publish(bundle())
    before = files(tmp_path)
    with pytest.raises(OdanonError, match=r"already published as .* a release is never changed"):
        store.publish(bundle(trips=41))
    assert files(tmp_path) == before


@pytest.mark.parametrize("step", ["_write_release", "write_text", "sha256"])
def test_a_failure_at_any_step_leaves_nothing_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("No space left on device")

    store = EmbeddedStore(tmp_path)
    monkeypatch.setattr(embedded, step, fail)
    with pytest.raises(OSError, match="No space"):
        store.publish(bundle())
    assert store.current("town", DAY) is None
    monkeypatch.undo()
    assert store.publish(bundle()) is True


def _publish(root: Path, trips: int) -> str:
    try:
        return "new" if EmbeddedStore(root).publish(bundle(trips)) else "same"
    except OdanonError:
        return "refused"


def test_concurrent_publishers_give_one_release(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4) as pool:
        outcomes = list(pool.map(_publish, [tmp_path] * 8, [40, 41] * 4))
    assert outcomes.count("new") == 1
    assert outcomes.count("same") == 3
    assert outcomes.count("refused") == 4
    assert len(EmbeddedStore(tmp_path).releases()) == 1
    assert len(list((tmp_path / "published/town/releases").iterdir())) == 1


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(OdanonError, match="odanon run demo"):
        EmbeddedStore(tmp_path).connect()
