"""`odanon staypoints`, `odanon trips` and `odanon od` on files."""

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError

RUN = CliRunner()


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten people; each is in one place in the morning and 3 km further north in the afternoon."""
    minutes = pd.date_range("2026-03-02 06:00", "2026-03-02 18:00", freq="5min", tz="UTC").as_unit("us")
    moved = minutes.hour >= 12
    people = [
        pd.DataFrame({"who": f"canary-{n}", "time": minutes, "lat": 45.75 + 0.03 * moved, "lon": 4.85 + n / 1000})
        for n in range(10)
    ]
    path = tmp_path_factory.mktemp("points") / "points.parquet"
    pd.concat(people).to_parquet(path, index=False)
    return path


def test_points_become_stays_become_trips_become_a_matrix(points: Path, tmp_path: Path) -> None:
    stays, trips, matrix = (tmp_path / f"{name}.parquet" for name in ("stays", "trips", "od"))
    done = RUN.invoke(cli.main, ["staypoints", str(points), "--out", str(stays), "--person", "who"])
    assert done.exit_code == 0, done.exception
    assert "20 stays" in done.output
    assert "canary" not in stays.read_bytes().decode("latin1")
    done = RUN.invoke(cli.main, ["trips", str(stays), "--out", str(trips)])
    assert "10 trips between 20 stays" in done.output
    command = ["od", str(trips), "--out", str(matrix), "--set", "resolution=6", "--timezone", "Europe/Paris"]
    done = RUN.invoke(cli.main, [*command, "--bin", "00:00,12:00,13:30"])
    assert done.exit_code == 0, done.exception
    assert pd.read_parquet(matrix)[["trips", "persons"]].sum().tolist() == [10, 10]
    assert set(pd.read_parquet(matrix)["time_bin"].dt.hour) == {11}
    RUN.invoke(cli.main, [*command, "--typical-day", "--persons"])
    assert set(pd.read_parquet(matrix)["time_bin"]) == {"12:00"}


def test_unknown_and_intrazonal_trips_are_handled_as_asked(tmp_path: Path) -> None:
    trips = pd.DataFrame(
        {
            "person": [1, 2, 3],
            "start": pd.to_datetime(["2026-03-02 08:00"] * 3, utc=True).as_unit("us"),
            "o_lat": 45.75,
            "o_lon": 4.85,
            "d_lat": [45.75, 46.0, float("nan")],
            "d_lon": 4.85,
        }
    )
    source, out = tmp_path / "trips.parquet", tmp_path / "od.parquet"
    trips.to_parquet(source)
    counts = {}
    for intrazonal in ("keep", "drop"):
        for unknown in ("keep", "drop"):
            options = ["--intrazonal", intrazonal, "--unknown", unknown, "--out", str(out)]
            assert RUN.invoke(cli.main, ["od", str(source), *options]).exit_code == 0
            counts[intrazonal, unknown] = int(pd.read_parquet(out)["trips"].sum())
    assert counts == {("keep", "keep"): 3, ("keep", "drop"): 2, ("drop", "keep"): 2, ("drop", "drop"): 1}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--bin", "7h"], "must divide a day evenly"),
        (["--bin", "06:00,09:00"], "from 00:00 on"),
        (["--timezone", "Mars/Base"], "IANA time zone"),
        (["--set", "resolution"], "write name=value"),
        (["--set", "resolution=[1"], "write name=value"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(tmp_path: Path, options: list[str], sentence: str) -> None:
    failed = RUN.invoke(cli.main, ["od", "none.parquet", "--out", str(tmp_path / "x.parquet"), *options])
    assert isinstance(failed.exception, OdanonError)
    assert sentence in str(failed.exception)


STAYS = "person,start,end,lat,lon"
TRIPS = "person,start,o_lat,o_lon,d_lat,d_lon"


@pytest.mark.parametrize(
    ("command", "content", "sentence"),
    [
        ("staypoints", "person,time,lat,lon\n", "holds no points"),
        ("trips", "", "cannot be read"),
        ("trips", f"{STAYS}\na,2026-03-02T08:00,2026-03-02T09:00,45,4", "have no zone"),
        ("trips", f"{STAYS}\na,yesterday evening,2026-03-02T09:00Z,45,4", "no times"),
        ("trips", f"{STAYS}\na,2026-03-02T08:00Z,2026-03-02T09:00Z,canary,4", "'lat' holds texts"),
        ("od", f"{TRIPS}\na,,45,4,46,4", "1 rows lack a person or a time"),
        ("od", f"{TRIPS}\n,2026-03-02T08:00Z,45,4,46,4", "1 rows lack a person or a time"),
    ],
)
def test_hostile_tables_are_answered_with_a_sentence(tmp_path: Path, command: str, content: str, sentence: str) -> None:
    source = tmp_path / "table.csv"
    source.write_text(content)
    failed = RUN.invoke(cli.main, [command, str(source), "--out", str(tmp_path / "x.parquet")])
    assert isinstance(failed.exception, OdanonError)
    assert sentence in str(failed.exception)
    assert "canary" not in str(failed.exception)
    assert not (tmp_path / "x.parquet").exists()


def test_points_that_are_not_there_and_places_to_write_that_are_none_are_mistakes(points: Path, tmp_path: Path) -> None:
    for source, out, sentence in (
        (tmp_path / "none.csv", tmp_path / "x.parquet", "holds no points"),
        (points, tmp_path, "cannot be written"),
        (points, points / "x.parquet", "cannot be made"),
    ):
        failed = RUN.invoke(cli.main, ["staypoints", str(source), "--out", str(out), "--person", "who"])
        assert isinstance(failed.exception, OdanonError)
        assert sentence in str(failed.exception)


def test_ids_keep_their_zeros_and_times_their_own_offsets(tmp_path: Path) -> None:
    """Two people, 007 and 7; the clock goes back between the stays of the first."""
    rows = [
        "007,2026-10-25T00:00+02:00,2026-10-25T02:30+02:00,45.75,4.85",
        "007,2026-10-25T02:30+01:00,2026-10-25T04:00+01:00,45.80,4.85",
        "7,2026-10-25T05:00+01:00,2026-10-25T06:00+01:00,45.90,4.85",
    ]
    source, out = tmp_path / "stays.csv", tmp_path / "trips.parquet"
    source.write_text("\n".join([STAYS, *rows]))
    assert RUN.invoke(cli.main, ["trips", str(source), "--out", str(out)]).exit_code == 0
    (trip,) = pd.read_parquet(out).to_dict("records")
    assert trip["person"] == "007"
    assert trip["end"] - trip["start"] == pd.Timedelta("1h")
