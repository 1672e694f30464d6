"""Antenna events, logs, queries, ready trips, ready OD tables and multimno's time segments as sources."""

import socket
import sqlite3
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError
from store_databases import run_sql

from odanon import registry
from odanon.errors import OdanonError
from odanon.reading.origin import Sample, alike, data_sha256
from odanon.reading.validate import Tally, validate
from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.simulate.write import write_city
from odanon.traces.antennas import Antennas
from odanon.traces.logs import Logs
from odanon.traces.multimno import Multimno, trips_between_stays
from odanon.traces.points import Points
from odanon.traces.ready import OdTable, Trips
from odanon.traces.sql import Sql
from odanon.trips.build import TRIP_COLUMNS

START, END = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
NOON = pd.Timestamp("2026-03-02T12:00:00Z")


def together(frames) -> pd.DataFrame:
    return pd.concat([f.astype({"person": "str"}) for f in frames], ignore_index=True)


@pytest.mark.parametrize("name", registry.names("source"))
def test_every_source_says_where_it_enters_and_explains_its_parameters(name: str) -> None:
    source = registry.find("source", name)
    method = {"traces": "batches", "trips": "trips", "od": "od"}[source.cls.enters]
    assert callable(getattr(source.cls, method))
    assert callable(source.cls.available)
    assert source.summary.endswith(".")
    assert all(parameter.description for parameter in source.parameters)


def test_events_lie_where_their_antenna_stands(tmp_path: Path) -> None:
    (tmp_path / "antennas.csv").write_text("cell,y,x\nb,46,5\na,45,4\nb,46,5\nlost,,\n")
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "e.csv").write_text(
        "imsi,ts,cell\n1,1772452800,b\n1,1772452801,a\n2,1772452802,unknown\n2,1772452803,\n"
    )
    source = Antennas(
        path=f"{tmp_path}/events", antennas=f"{tmp_path}/antennas.csv", person="imsi", time="ts", antenna="cell",
        lat="y", lon="x", time_format="epoch_s",
    )  # fmt: skip
    tally = Tally()
    kept = together(validate(batch, START, END, tally) for batch in source.batches(START, END))
    assert kept[["person", "lat", "lon", "antenna"]].to_numpy().tolist() == [["1", 46.0, 5.0, 1], ["1", 45.0, 4.0, 0]]
    assert kept["antenna"].dtype == np.int32
    assert (tally.read, tally.reasons["not_finite"]) == (4, 2)


def test_an_antenna_at_two_places_is_refused(tmp_path: Path) -> None:
    (tmp_path / "antennas.csv").write_text("antenna,lat,lon\na,45,4\na,46,4\n")
    with pytest.raises(OdanonError, match="places an antenna twice"):
        Antennas(path=str(tmp_path), antennas=f"{tmp_path}/antennas.csv").places()
    with pytest.raises(OdanonError, match="holds no Parquet"):
        Antennas(path=str(tmp_path), antennas=f"{tmp_path}/none.csv").places()


def test_a_simulated_city_of_events_with_dirt_is_read_back(tmp_path: Path) -> None:
    city = Simulated(people=60, seed=4, dirt=0.1)
    manifest = write_city(city, Mode.nsd, date(2026, 3, 2), 1, tmp_path / "city", lambda _: None)
    source = Antennas(
        path=f"{tmp_path}/city/events", antennas=f"{tmp_path}/city/antennas.parquet", date_zone="Europe/Paris"
    )
    start = datetime(2026, 3, 1, 23, tzinfo=UTC)
    tally = Tally()
    for batch in source.batches(start, start + timedelta(days=1)):
        validate(batch, start, start + timedelta(days=1), tally)
    dirt = manifest["dirt"]
    assert tally.read == manifest["rows"]["events"]
    assert tally.reasons["no_time_zone"] == dirt["naive"]
    assert tally.reasons["not_finite"] == dirt["no_antenna"] + dirt["unknown_antenna"]
    assert tally.reasons["in_the_future"] == dirt["future"]
    assert tally.reasons["before_2000"] == dirt["epoch_1970"]
    assert tally.outside_window == 0


GPX = """<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><metadata><time>2020-01-01T00:00:00Z</time>
</metadata><trk><trkseg><trkpt lat="45.5" lon="4.5"><ele>200</ele><time>2026-03-02T12:00:00Z</time></trkpt>
<trkpt lat="45.6" lon="x"><time>2026-03-02T13:00:00+01:00</time></trkpt><trkpt lat="45.7" lon="4.7"><extensions><time>2001-01-01T00:00:00Z</time></extensions></trkpt></trkseg></trk></gpx>"""
PLT = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"


def test_logs_name_their_person_by_the_path(tmp_path: Path) -> None:
    (tmp_path / "ann.gpx").write_text(GPX)
    rows = together(Logs(path=str(tmp_path)).batches(START, END))
    assert list(rows["person"]) == ["ann"] * 3
    assert list(rows["time"][:2]) == [NOON, NOON]
    assert rows["time"].isna().tolist() == [False, False, True]
    assert rows["lat"].tolist() == [45.5, 45.6, 45.7]
    assert np.isnan(rows["lon"][1])


def test_geolife_logs_and_those_that_run_past_midnight(tmp_path: Path) -> None:
    for day, number in (("20260228", 3), ("20260301", 1), ("20260302", 2)):
        path = tmp_path / "007" / "Trajectory" / f"{day}230000.plt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PLT + f"39.{number},116.3,0,492,46083.5,2026-03-02,12:00:00\nbroken line\n")
    source = Logs(path=f"{tmp_path}/*/Trajectory/{{date:%Y%m%d}}*.plt", person_level=2)
    rows = together(source.batches(START, END))
    assert sorted(rows["lat"].dropna()) == [39.1, 39.2]
    assert len(rows) == 4  # broken lines are there to be counted
    assert set(rows["person"].dropna()) - {"nan"} == {"007"}
    assert source.available(date(2026, 3, 1))
    assert not source.available(date(2026, 3, 5))


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ODANON_SOURCE_URL", f"sqlite:///{tmp_path}/traces.db")
    with sqlite3.connect(tmp_path / "traces.db") as connection:
        connection.execute("create table fixes (who, at, y, x)")
        rows = [(f"p{n}", f"2026-03-0{1 + n % 3} 12:00:00+00:00", 45.0 + n / 100, 4.0) for n in range(9)]
        connection.executemany(
            "insert into fixes values (?, ?, ?, ?)", [*rows, ("naive", "2026-03-02 12:00:00", 45, 4)]
        )
    connection.close()
    return "select who as person, at as time, y as lat, x as lon from fixes where at >= :start and at < :end"


def test_a_query_gives_the_rows_of_a_window(database: str) -> None:
    source = Sql(query=database, day_query="select 1 from fixes where date(at) = :day limit 1")
    tally = Tally()
    kept = together(validate(batch, START, END, tally) for batch in source.batches(START, END))
    assert sorted(kept["person"]) == ["p1", "p4", "p7"]
    assert (tally.read, tally.reasons["no_time_zone"]) == (4, 1)
    assert [source.available(date(2026, 3, day)) for day in (2, 9)] == [True, False]
    assert Sql(query=database).available(date(2026, 3, 9))


def test_a_failing_query_shows_no_url_and_no_row(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OdanonError, match=r"failed \(OperationalError\)") as caught:
        list(Sql(query=database.replace("fixes", "secret_table")).batches(START, END))
    assert "secret_table" not in str(caught.value)
    assert caught.value.__suppress_context__
    monkeypatch.delenv("ODANON_SOURCE_URL")
    with pytest.raises(OdanonError, match="ODANON_SOURCE_URL; export it"):
        list(Sql(query=database).batches(START, END))


def identity(url: str, query: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, set[str]]:
    """The name of the data, and what a release of another name is compared by."""
    monkeypatch.setenv("ODANON_SOURCE_URL", url)
    source = Sql(query=query)
    return data_sha256(source, {}, None), set(source.reads(START, END))


def test_no_spelling_of_a_url_makes_another_database(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").symlink_to("traces.db")
    for same in (
        [f"sqlite:///{tmp_path}/traces.db", "sqlite:///traces.db", "sqlite+pysqlite:///./link.db"],
        [
            "postgresql://ada:x@localhost/phones",
            "postgresql+psycopg2://bob@127.0.0.1:5432/phones?sslmode=require",
            "postgresql://LOCALHOST./phones",
            "postgresql://[::1]/phones",
            "postgresql:///phones?host=/var/run/postgresql",
        ],
    ):
        found = [identity(url, database, monkeypatch) for url in same]
        assert len({name for name, _ in found}) == 1
        assert set.intersection(*(keys for _, keys in found))


def test_a_table_is_the_same_data_whatever_the_data_set_is_called(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`db.test` is a name of 192.0.2.7, which a query with the address cannot know."""
    there = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: there)
    named, numbered = (
        identity(f"postgresql://{host}/all", database, monkeypatch)[1] for host in ("db.test", "192.0.2.7")
    )
    assert named == numbered
    spelled = database.replace("from fixes", 'FROM\n  gps . "fixes" AS f JOIN days USING (day)')
    assert named & identity("postgresql://db.test/all", spelled, monkeypatch)[1]
    other = database.replace("from fixes", "from bikes")
    assert not named & identity("postgresql://db.test/all", other, monkeypatch)[1]


@pytest.mark.parametrize("query", ["select * from fixes", "select :start"])
def test_a_query_without_bounds_is_refused(query: str) -> None:
    with pytest.raises(ValidationError, match=":start and :end"):
        Sql(query=query)


def test_postgis_points_are_read_as_they_are(postgis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACES_URL", postgis_url.replace("postgresql://", "postgresql+psycopg2://", 1))
    source = Sql(
        url_variable="PLACES_URL",
        query="select 'ann' as person, t as time, ST_Y(g) as lat, ST_X(g) as lon from (select"
        " generate_series(:start, :end, interval '6 hours') as t, ST_SetSRID(ST_MakePoint(4.5, 45.5), 4326) as g) x",
    )
    tally = Tally()
    kept = together(validate(batch, START, END, tally) for batch in source.batches(START, END))
    assert (len(kept), tally.outside_window) == (4, 1)
    assert kept.iloc[0].to_list() == ["ann", pd.Timestamp(START), 45.5, 4.5]


def test_a_view_gives_the_sample_of_its_table(postgis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name says nothing of the table behind it, so only the rows tell that these are the same people."""
    monkeypatch.setenv("PLACES_URL", postgis_url.replace("postgresql://", "postgresql+psycopg2://", 1))
    run_sql(
        postgis_url,
        "CREATE TABLE phones AS SELECT n AS id, timestamptz '2026-03-02 12:00Z' + n * interval '1 s' AS t, 45.75 AS y, 4.85 AS x"
        " FROM generate_series(1, 300) n; CREATE VIEW guests AS SELECT id::text AS who, t, y, x FROM phones WHERE id % 2 = 0",
    )
    samples = []
    for person, table in (("id", "phones"), ("who", "guests")):
        query = f"SELECT {person} AS person, t AS time, y AS lat, x AS lon FROM {table} WHERE t >= :start AND t < :end"
        sample = Sample()
        for batch in Sql(url_variable="PLACES_URL", query=query).batches(START, END):
            sample.take(validate(batch, START, END, Tally()), ("time", "lat", "lon"))
        samples.append(list(sample.rows.items()))
    assert alike(*samples)


def test_trips_by_coordinates_and_by_zones(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "who,start,end,o_lat,o_lon,d_lat,d_lon,from,to\nann,2026-03-02T12:00:00Z,2026-03-02T12:30:00Z,45,4,46,4,A,B\n"
    )
    (trips,) = Trips(path=str(tmp_path), person="who").trips(START, END)
    assert set(trips.columns) == set(TRIP_COLUMNS)
    assert trips["distance_m"][0] == pytest.approx(111_195, rel=1e-3)
    (zones,) = Trips(path=str(tmp_path), person="who", origin="from", destination="to").trips(START, END)
    assert zones.astype("str").iloc[0, [0, 3, 4]].to_list() == ["ann", "A", "B"]
    with pytest.raises(ValidationError, match="both the origin and the destination"):
        Trips(path="x", origin="from")


def test_od_tables_with_and_without_persons(tmp_path: Path) -> None:
    (tmp_path / "od.csv").write_text("time_bin,origin,destination,trips,who\n2026-03-02T12:00:00Z,A,B,3,ann\n")
    (plain,) = OdTable(path=str(tmp_path)).od(START, END)
    assert list(plain.columns) == ["time_bin", "origin", "destination", "trips"]
    (personal,) = OdTable(path=str(tmp_path), person="who").od(START, END)
    assert personal["person"].to_list() == ["ann"]


def segments(*rows: tuple[str, str, int, int]) -> pd.DataFrame:
    """(person, state, first minute, last minute) after noon; each segment lies a tenth of a degree north of the last."""
    codes = {"stay": 0, "move": 1, "undetermined": 2, "unknown": 3, "abroad": 3}
    frame = pd.DataFrame(rows, columns=["person", "state", "start", "end"])
    return frame.assign(
        state=frame["state"].map(codes),
        start=NOON + pd.to_timedelta(frame["start"], unit="min"),
        end=NOON + pd.to_timedelta(frame["end"], unit="min"),
        lat=45 + np.arange(len(frame)) / 10,
        lon=4.0,
    )


@pytest.mark.parametrize(
    ("between", "made"),
    [
        (["move"], True),
        (["move", "undetermined", "move"], True),
        ([], False),  # one stay cut at midnight
        (["unknown"], False),
        (["move", "unknown", "move"], False),
        (["move", "abroad", "move"], False),
    ],
)
def test_a_trip_needs_a_move_and_nothing_unknown_between_two_stays(between: list[str], made: bool) -> None:
    states = ["stay", *between, "stay"]
    rows = segments(*[("ann", state, 10 * n, 10 * n + 10) for n, state in enumerate(states)])
    trips = trips_between_stays(pd.concat([rows, rows.sample(frac=1, random_state=2)]))
    assert len(trips) == made
    if made:
        assert trips["start"][0] == NOON + timedelta(minutes=10)
        assert trips["end"][0] == NOON + timedelta(minutes=10 * len(states) - 10)


def test_stays_of_two_people_make_no_trip() -> None:
    assert trips_between_stays(segments(("ann", "stay", 0, 1), ("ann", "move", 1, 2), ("bob", "stay", 2, 3))).empty


def test_time_segments_become_trips(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"cell_id": ["c1", "c2", "c3"], "latitude": [45.0, 45.2, 46.0], "longitude": [4.0, 4.0, 5.0]}),
        tmp_path / "network.parquet",
    )

    def write(day: int, rows: list[tuple]) -> None:
        folder = tmp_path / f"segments/year=2026/month=3/day={day}/user_id_modulo=1"
        folder.mkdir(parents=True)
        columns = list(zip(*rows, strict=True))
        table = {
            "user_id": pa.array(columns[0], pa.binary()),
            "time_segment_id": pa.array(range(len(rows)), pa.int32()),
            "start_timestamp": pa.array(columns[1], pa.timestamp("us", "UTC")),
            "end_timestamp": pa.array(columns[2], pa.timestamp("us", "UTC")),
            "cells": pa.array(columns[3], pa.list_(pa.string())),
            "state": pa.array(columns[4]),
        }
        pq.write_table(pa.table(table), folder / "part.parquet")

    at = lambda day, hour: datetime(2026, 3, day, hour, tzinfo=UTC)  # noqa: E731
    ann, bob = b"\xff\x01", b"\xff\x02"
    write(2, [(ann, at(2, 0), at(2, 23), ["c1", "c2"], "stay"), (bob, at(2, 0), at(2, 5), ["c9"], "stay")])
    write(3, [(ann, at(3, 0), at(3, 1), ["c2"], "move"), (ann, at(3, 1), at(3, 9), ["c3"], "stay")])
    source = Multimno(path=f"{tmp_path}/segments", network=f"{tmp_path}/network.parquet")
    (trips,) = source.trips(START, END)
    assert trips.drop(columns=["person", "distance_m"]).to_numpy().tolist() == [
        [pd.Timestamp(at(2, 23)), pd.Timestamp(at(3, 1)), 45.1, 4.0, 46.0, 5.0]
    ]
    assert set(trips.columns) == set(TRIP_COLUMNS)
    assert [source.available(date(2026, 3, day)) for day in (3, 4)] == [True, False]


def test_real_geolife_points_are_read_with_their_own_column_names(shared_data: Path) -> None:
    source = Points(path=str(shared_data / "geolife"), person="user", time="ts", timezone="UTC")
    start = datetime(2008, 10, 23, tzinfo=UTC)
    tally = Tally()
    for batch in source.batches(start, start + timedelta(days=1)):
        validate(batch, start, start + timedelta(days=1), tally)
    assert tally.read == 1_845_936
    assert tally.kept > 1_000
    assert tally.kept + tally.outside_window + tally.quarantined == tally.read
