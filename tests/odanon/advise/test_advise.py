"""Advice on a table: what a setting costs is what the door says of it, and losses are compared on cells that all settings share."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest
from shapely import box

from odanon.advise import runner
from odanon.advise.folder import MARKER, check_folder, open_folder
from odanon.advise.measure import Method, measured
from odanon.advise.rows import PeopleRows, table_rows
from odanon.advise.runner import advice_table, tried
from odanon.advise.settings import Grid, Setting, cell_minutes, time_bins
from odanon.door import release
from odanon.errors import OdanonError
from odanon.tables.read import TableInput

A, B = sorted(h3.grid_ring(h3.latlng_to_cell(45.75, 4.85, 7), 1))[:2]
HOURS, HALVES, DAYS = time_bins("1h,12h,1d")
SAME = ("E", "Gbar", "coarse_share", "flows")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TableInput:
    """Trips of three days from Monday on, with the hour of each beside its instant."""
    rng, n = np.random.default_rng(5), 1500
    lat, lon = 45.75 + rng.normal(0, 0.02, (2, n)), 4.85 + rng.normal(0, 0.02, (2, n))
    minutes = rng.integers(0, 3 * 24 * 60, n)
    rows = pd.DataFrame(
        {"who": rng.integers(0, 150, n), "alat": lat[0], "alon": lon[0], "blat": lat[1], "blon": lon[1]}
    )
    rows["start"] = pd.Timestamp("2026-03-02") + pd.to_timedelta(minutes, unit="min")
    rows["hour"], rows["half"] = minutes // 60 % 24, minutes // 720 % 2
    path = tmp_path_factory.mktemp("advice") / "trips.parquet"
    rows.to_parquet(path)
    ends = {"origin": "alat,alon", "destination": "blat,blon"}
    return TableInput(path=path, **ends, person="who", time="start", resolution=7)


@pytest.fixture(scope="module")
def data(table: TableInput) -> PeopleRows:
    return table_rows(table)


@pytest.mark.parametrize(
    ("starts", "adaptive", "time"), [(DAYS, False, None), (HALVES, False, "half"), (HOURS, True, "hour")]
)
def test_the_figures_of_a_setting_are_those_of_the_door_on_the_same_matrix(
    table: TableInput, data: PeopleRows, starts: tuple[int, ...], adaptive: bool, time: str | None
) -> None:
    loaded = replace(table, time=time, adaptive=adaptive).load()
    door = release(loaded.matrices, loaded.tree, *Method().case(5).create(len(loaded.matrices))).figures
    found = measured(data, Setting("week", starts, adaptive, 7, 5), Method(), cell_minutes([starts]))
    assert {name: found[name] for name in SAME} == pytest.approx({name: door[name] for name in SAME})
    assert adaptive or found["hours"] == 24 / len(starts)
    assert 1 <= found["hours"] <= 24


def test_on_the_finest_cells_the_loss_is_that_of_the_matrix(data: PeopleRows) -> None:
    for adaptive in (False, True):
        found = measured(data, Setting("day", HALVES, adaptive, 7, 5), Method(), 720)
        assert found["loss"] == pytest.approx(found["E"])
        assert found["tiles"] == found["Gbar"]


def small(*trips: tuple[int, int, int]) -> PeopleRows:
    """Trips from A to B: day, hour and how many people make one."""
    day = date(2026, 3, 2)
    rows = [
        {
            "day": day + timedelta(days=at),
            "minute": 60 * hour,
            "origin": A,
            "destination": B,
            "person": f"{n}",
            "trips": 1,
        }
        for at, hour, people in trips
        for n in range(people)
    ]
    table = TableInput(path=Path("none"))
    return PeopleRows(pd.DataFrame(rows), lambda part, _: table.map.under(part)[1], 7)


@pytest.mark.parametrize(("resolution", "cells"), [(7, 4), (6, 4 * 49)])
def test_the_loss_of_days_laid_over_each_other_is_as_counted_by_hand(resolution: int, cells: int) -> None:
    """Six trips on one morning and two on the next evening: all eight are read back evenly from every cell."""
    found = measured(small((0, 8, 6), (1, 20, 2)), Setting("week", DAYS, False, resolution, 2), Method(), 720)
    each = 8 / cells
    assert found["E"] == 0
    assert found["loss"] == pytest.approx((abs(6 - each) + abs(2 - each) + (cells - 2) * each) / 8)
    assert found["tiles"] == 2 * 7 ** (7 - resolution)


def test_rows_of_zones_that_the_map_lacks_are_left_out_if_so_asked(tmp_path: Path) -> None:
    rows = pd.DataFrame({"o": ["a", "b", "x"], "d": ["b", "a", "a"], "start": pd.Timestamp("2026-03-02 08:00")})
    rows.to_parquet(tmp_path / "trips.parquet")
    squares = [box(0, 0, 1, 1), box(1, 0, 2, 1)]
    geopandas.GeoDataFrame({"id": ["a", "b"]}, geometry=squares, crs=4326).to_file(tmp_path / "zones.gpkg")
    ends = {"origin": "o", "destination": "d", "time": "start", "zones": tmp_path / "zones.gpkg", "hierarchy": "ward"}
    table = TableInput(path=tmp_path / "trips.parquet", **ends)
    assert len(table_rows(replace(table, drop_unknown=True)).rows) == 2
    with pytest.raises(OdanonError, match="1 zones are not in"):
        table_rows(table)


@pytest.mark.parametrize("numbers", [[7.5, 8.0], [8, 24]])
def test_numbers_that_are_no_hours_are_refused(tmp_path: Path, numbers: list[float]) -> None:
    pd.DataFrame({"origin": [A, B], "destination": [B, A], "start": numbers}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(OdanonError, match="nor hours from 0 to 23"):
        table_rows(TableInput(path=tmp_path / "t.parquet", time="start"))


def test_whole_hours_may_be_written_as_any_numbers(tmp_path: Path) -> None:
    pd.DataFrame({"origin": [A, B], "destination": [B, A], "start": [8.0, 23.0]}).to_parquet(tmp_path / "t.parquet")
    found = table_rows(TableInput(path=tmp_path / "t.parquet", time="start"))
    assert found.rows["minute"].tolist() == [8 * 60, 23 * 60]


def test_figures_have_few_digits_and_a_setting_says_whether_it_keeps_its_budget(
    data: PeopleRows, tmp_path: Path
) -> None:
    settings = Grid(("day",), (HOURS, DAYS), (False,), (7,), (20,)).settings()
    thin, whole = (told for _, told in tried(data, settings, Method(), tmp_path / "settings"))
    assert (thin["kept"], whole["kept"]) == (False, True)
    for told in (thin, whole):
        assert all(
            float(f"{told[name]:.3g}") == told[name] for name in ("loss", "E", "S_share", "coarse_share", "tiles")
        )


def test_a_window_in_which_too_few_travel_is_left_out_whole_and_the_others_are_told() -> None:
    setting = Setting("day", DAYS, False, 7, 5)
    found = measured(small((0, 8, 30), (1, 8, 6), (2, 8, 4)), setting, Method(), 1440)
    assert (found["thin"], found["S_share"], found["loss"], found["E"]) == pytest.approx(
        (1 / 3, *[5 / 40], *[4 / 40] * 2)
    )
    with pytest.raises(OdanonError, match="fewer than k = 5"):
        measured(small((0, 8, 4), (1, 8, 4)), setting, Method(), 1440)


def test_fewer_than_k_trips_left_out_are_told_as_k() -> None:
    hidden = Method("suppression", suppression=0.9)
    found = measured(small((0, 8, 30), (0, 20, 2)), Setting("day", HALVES, False, 7, 5), hidden, 720)
    assert found["S_share"] == 5 / 32


def test_windows_hold_the_days_in_which_a_person_has_one_id() -> None:
    over_the_month = small(*((at, 8, 1) for at in range(28, 35)))  # Monday 2026-03-30 to Sunday
    assert over_the_month.lengths == ("day", "week")
    known_by_month = replace(over_the_month, counted="month")
    assert [len(days) for days in known_by_month.windows("week").values()] == [2, 5]
    known_by_day = replace(over_the_month, counted="day")
    assert known_by_day.lengths == ("day",)
    with pytest.raises(OdanonError, match=r"a new pseudonym every day, so nobody can count them over a week"):
        known_by_day.refuse_uncounted(("day", "week"))


def test_the_edge_is_what_no_setting_of_the_same_k_beats(tmp_path: Path) -> None:
    settings = Grid(("day", "week"), (HALVES, DAYS), (False,), (7,), (5, 10)).settings()
    figures = [(2, 0.9), (3, 0.5), (3, 0.6), (4, 0.4)]  # tiles and loss, for k = 5 and again for 10
    told = [
        {"status": "done", "tiles": tiles * setting.k, "loss": loss, "kept": True}
        for setting, (tiles, loss) in zip(settings, np.repeat(figures, 2, axis=0), strict=True)
    ]
    table = advice_table(list(zip(settings, told, strict=True)), settings[3])
    assert table.groupby("k")["edge"].sum().to_dict() == {5: 3, 10: 3}
    assert table.loc[~table["edge"], "loss"].tolist() == [0.6, 0.6]
    assert table.loc[table["present"], "label"].tolist() == [settings[3].label]
    none = {"status": "done", "tiles": 2, "loss": 0.3, "kept": False}
    with_none = advice_table([*zip(settings[1:], told[1:], strict=True), (settings[0], none)], None)
    assert not with_none.loc[with_none["label"] == settings[0].label, "edge"].any()


def test_what_was_tried_is_not_tried_again_and_a_refusal_is_a_result(
    data: PeopleRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Grid(("week",), (DAYS,), (False,), (7,), (5, 400)).settings()
    first = list(tried(data, settings, Method(), tmp_path / "settings"))
    assert [told["status"] for _, told in first] == ["done", "refused"]
    (broken,) = [path for path in (tmp_path / "settings").iterdir() if "refused" in path.read_text()]
    broken.write_text(broken.read_text()[:9])
    assert list(tried(data, settings, Method(), tmp_path / "settings")) == first
    monkeypatch.setattr(runner, "measured", _never)
    assert list(tried(data, settings, Method(), tmp_path / "settings")) == first
    with pytest.raises(AssertionError):
        list(tried(replace(data, rows=data.rows[1:]), settings, Method(), tmp_path / "settings"))


def _never(*_: object) -> dict[str, float]:
    raise AssertionError


def test_the_folder_is_marked_and_only_its_owner_enters(tmp_path: Path) -> None:
    out = open_folder(tmp_path / "advice")
    assert out.stat().st_mode & 0o777 == 0o700
    assert (out / MARKER).read_text().startswith("RESTRICTED: made from rows of people, not for publication")
    check_folder(out, [tmp_path / "published"])
    assert open_folder(out) == out


def test_advice_is_never_written_among_what_readers_see_nor_over_other_files(tmp_path: Path) -> None:
    with pytest.raises(OdanonError, match=r"which readers see, and advice is restricted"):
        check_folder(tmp_path / "published" / "town" / ".." / "advice", [tmp_path / "published"])
    with pytest.raises(OdanonError, match=r"or around it, which readers see"):
        check_folder(tmp_path, [tmp_path / "published"])
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / MARKER).touch()
    (tmp_path / "linked" / "settings").symlink_to(tmp_path)
    with pytest.raises(OdanonError, match=r"holds links"):
        check_folder(tmp_path / "linked", [])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    with pytest.raises(OdanonError, match=r"holds something else"):
        check_folder(tmp_path / "mine", [])
    assert not (tmp_path / "published").exists()


@pytest.mark.parametrize(
    ("read", "text"), [(time_bins, "7h"), (time_bins, "an hour")], ids=["no-part-of-a-day", "no-length"]
)
def test_a_mistake_in_an_option_is_one_sentence(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(OdanonError, match=rf"--bins {text}: write lengths that divide a day"):
        read(text)
