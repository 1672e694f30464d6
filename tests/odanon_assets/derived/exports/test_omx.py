"""OMX, read back with openmatrix and compared with what the store answers."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import geopandas
import numpy as np
import openmatrix
import pandas as pd
import pytest
from bundles import accept, bundle, own_zones
from shapely.geometry import box

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon_assets.derived.export import Format, export
from odanon_assets.derived.exports.omx import read_zones
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.embedded import EmbeddedStore

LONG_AGO, LATER = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


def squares(path: Path) -> dict[str, np.ndarray]:
    """The matrices of a file by name."""
    with openmatrix.open_file(str(path)) as file:
        assert file.shape() == (2, 2)
        return {name: np.array(file[name]) for name in file.list_matrices()}


def answered(store: EmbeddedStore, since: datetime, until: datetime) -> np.ndarray:
    found = store.matrix("town", own_zones().areas, When(since, until))
    return found.pivot_table(index="origin", columns="destination", values="estimate").to_numpy()


def at_times(day: date, times: list[tuple[int, int]]) -> Bundle:
    """A release in Paris's time with a row for each (start, end), in hours of UTC after the midnight of a day."""
    made = bundle(day=day, rows=len(times), timezone="Europe/Paris")
    midnight = pd.Timestamp(day, tz="UTC")
    start, end = (
        pd.Series([midnight + timedelta(hours=hours[side]) for hours in times]).astype("datetime64[us, UTC]")
        for side in (0, 1)
    )
    return replace(made, flows=made.flows.assign(time_start=start, time_end=end))


def test_there_is_a_matrix_for_each_time_bin_and_their_total(
    town: Callable[..., EmbeddedStore], exported: Callable[[Format], Path]
) -> None:
    store, path = town(), exported(Format.omx) / "town.omx"
    found = squares(path)
    bins = [f"t202603{day}_010{minute}" for day in (28, 29) for minute in (0, 1)]
    assert [*found] == [*bins, "total"]
    start = datetime(2026, 3, 28, tzinfo=UTC)
    np.testing.assert_allclose(
        found[bins[1]], answered(store, start + timedelta(minutes=1), start + timedelta(hours=1))
    )
    np.testing.assert_allclose(found["total"], sum(found[name] for name in bins))
    np.testing.assert_allclose(found["total"], answered(store, LONG_AGO, LATER), rtol=1e-6)
    with openmatrix.open_file(str(path)) as file:
        assert file.version() == b"0.2"
        assert file.mapping("zone_id") == {7: 0, 12: 1}
        told = file[bins[1]].attrs
        assert told["time_start"] == "2026-03-28T00:01:00+00:00"
        assert told["local_end"] == "2026-03-28T01:02:00"


def test_rows_of_several_hours_are_spread_over_the_hours_that_others_tell_apart(
    store: EmbeddedStore, exported: Callable[[Format], Path]
) -> None:
    store.publish(at_times(date(2026, 3, 2), [(6, 7), (6, 9), (12, 13)]), accept)
    found = squares(exported(Format.omx) / "town.omx")
    assert [*found] == ["t20260302_0700", "t20260302_0800", "t20260302_1300", "total"]
    six = datetime(2026, 3, 2, 6, tzinfo=UTC)
    hour = found["t20260302_0700"]
    np.testing.assert_allclose(
        hour.sum(), store.flow("town", *[box(0, 0, 3, 1)] * 2, When(six, six + timedelta(hours=1))).estimate
    )
    assert found["total"].sum() == pytest.approx(bundle(rows=3).flows["trips"].sum())


def test_the_hour_that_comes_twice_has_two_matrices(store: EmbeddedStore, exported: Callable[[Format], Path]) -> None:
    store.publish(at_times(date(2026, 10, 25), [(0, 1), (1, 2), (2, 3)]), accept)
    found = squares(exported(Format.omx) / "town.omx")
    assert [*found] == ["t20261025_0200", "t20261025_0200b", "t20261025_0300", "total"]


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_window_that_tells_its_bins_has_a_matrix_for_each_with_a_day(
    store: EmbeddedStore, exported: Callable[[Format], Path], *, adaptive: bool
) -> None:
    told = [
        {
            "time_bin": f"2026-03-02T0{hour}:00:00+00:00",
            **({"time_end": f"2026-03-02T0{hour + 1}:00:00+00:00"} if adaptive else {}),
            "day_type": "all",
            "since": f"{hour + 1:02}:00",
            "until": f"{hour + 2:02}:00",
            "days": days,
        }
        for hour, days in ((6, 5), (7, 0), (8, 5))
    ]
    made = at_times(date(2026, 3, 2), [(6, 7), (8, 9)])
    store.publish(replace(made, manifest={**made.manifest, "bins": told, "window": "week"}), accept)
    found = squares(exported(Format.omx) / "town.omx")
    assert [*found] == ["t20260302_0700", "t20260302_0900", "total"]
    for name, trips in zip(["t20260302_0700", "t20260302_0900"], made.flows["trips"], strict=True):
        assert found[name].sum() == pytest.approx(trips)  # of all days, not of the one that gives the name


def layer(path: Path, ids: list) -> Path:
    shapes = [box(at, 0, at + 1, 1) for at in range(len(ids))]
    geopandas.GeoDataFrame({"ID": ids}, geometry=shapes, crs="EPSG:4326").to_crs("EPSG:3857").to_file(path)
    return path


def test_zones_keep_numbers_as_numbers_and_codes_as_text(town: Callable[..., EmbeddedStore], tmp_path: Path) -> None:
    numbers = read_zones(layer(tmp_path / "numbers.gpkg", [10, 2]), "ID")
    assert numbers.ids.tolist() == [2, 10]
    assert [round(shape.bounds[0], 6) for shape in numbers.areas.geometry] == [1, 0]
    codes = read_zones(layer(tmp_path / "codes.gpkg", ["01", "É2"]), "ID")
    export(town(), "town", tmp_path / "out", [Format.omx], None, None, codes)
    with openmatrix.open_file(str(tmp_path / "out" / "town.omx")) as file:
        assert [name.decode() for name in file.map_entries("zone_id")] == ["01", "É2"]


def test_names_of_zones_are_a_lookup_in_the_order_of_ids(town: Callable[..., EmbeddedStore], tmp_path: Path) -> None:
    shapes = [box(at, 0, at + 1, 1) for at in range(3)]
    told = geopandas.GeoDataFrame({"ID": [10, 2, 3], "called": ["Été", None, "=1+1"]}, geometry=shapes, crs="EPSG:4326")
    told.to_file(tmp_path / "named.gpkg")
    zones = read_zones(tmp_path / "named.gpkg", "ID", "called")
    export(town(), "town", tmp_path / "out", [Format.omx], None, None, zones)
    with openmatrix.open_file(str(tmp_path / "out" / "town.omx")) as file:
        assert [name.decode() for name in file.map_entries("name")] == ["", "=1+1", "Été"]


def test_mistakes_get_a_sentence(town: Callable[..., EmbeddedStore], tmp_path: Path) -> None:
    with pytest.raises(OdanonError, match="give their file with --areas and --id"):
        export(town(), "town", tmp_path / "out", [Format.omx], None, None)
    assert not (tmp_path / "out").exists()
    with pytest.raises(OdanonError, match="other"):
        read_zones(layer(tmp_path / "zones.gpkg", [1]), "other")
