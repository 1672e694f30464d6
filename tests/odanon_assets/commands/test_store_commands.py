"""`odanon sql`, `flow`, `export`, `integrity`, `supersede`, `withdraw`, `purge` and `odanon db` as a person meets them."""

import json
from datetime import date
from io import StringIO
from pathlib import Path

import geopandas
import h3
import openmatrix
import pandas as pd
import pytest
import shapely
from bundles import accept, bundle
from dagster import AssetKey
from product_example import small_product
from shapely.geometry import box, mapping
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon_assets.platform.launch import open_instance, run_days
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act, Store

RUN = CliRunner()
CELLS = h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 1)
DAYS = [date(2026, 3, 2), date(2026, 3, 3)]


def called(*arguments: str) -> str:
    result = RUN.invoke(cli.main, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(params=["embedded", "postgis"])
def town(request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The product `town` with two published days, in the store that its file names."""
    publish = {"store": request.param, "retention": "30d"}
    if request.param == "postgis":
        monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
        publish["url"] = "${ODANON_DB_URL}"
    store = open_store(small_product(workspace / "pipelines", product="town", publish=publish))
    for day in DAYS:
        store.publish(bundle(day=day, rows=9), accept)
    return store


def test_sql_asks_the_products_store(town: Store) -> None:
    assert "18" in called("sql", "select count(*) as n from flows", "--product", "town")
    with pytest.raises(OdanonError):
        called("sql", "select nonsense", "--product", "town")


def test_sql_takes_areas_of_ones_own(town: Store, tmp_path: Path) -> None:
    drawn = geopandas.GeoDataFrame({"name": ["a", "b"]}, geometry=[box(0, 0, 0.5, 1), box(1, 0, 2, 1)], crs="EPSG:4326")
    drawn.to_file(tmp_path / "areas.geojson")
    ask = "select origin, destination, high from matrix('areas', days => 'monday') order by 1, 2"
    told = called("sql", ask, "--product", "town", "--areas", str(tmp_path / "areas.geojson"), "--format", "csv")
    table = pd.read_csv(StringIO(told)).set_index(["origin", "destination"])["high"]
    assert table["a", "b"] == 40
    with pytest.raises(OdanonError, match="label"):
        called("sql", ask, "--product", "town", "--areas", str(tmp_path / "areas.geojson"), "--name", "label")


def test_sql_writes_whole_answers_for_programs(town: Store, tmp_path: Path) -> None:
    ask = ["sql", "select * from flows order by release_id, origin_zone, destination_zone, time_start"]
    asked, rows = [*ask, "--product", "town"], town.query(ask[1])
    table = pd.read_csv(StringIO(called(*asked, "--format", "csv")))
    assert table["trips"].tolist() == rows["trips"].tolist()
    told = [json.loads(line) for line in called(*asked, "--format", "json").splitlines()]
    assert [each["origin_zone"] for each in told] == rows["origin_zone"].tolist()
    called(*asked, "--format", "parquet", "--out", str(tmp_path / "answer.parquet"))
    assert len(pd.read_parquet(tmp_path / "answer.parquet")) == len(rows)
    head, *lines = [line for line in called(*asked).splitlines() if line.strip()]
    assert head.split() == list(rows.columns)
    assert len(lines) == 1 + len(rows)
    outline = called("sql", "select geometry from zones limit 1", "--product", "town", "--format", "csv").splitlines()[
        1
    ]
    assert shapely.from_wkb(outline).area > 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--segment", "tourists"], "town has no segment 'tourists'; there is all"),
        (["--month", "2027-01"], "nothing of town is published in that time; its windows begin between 2026-03-0"),
    ],
)
def test_a_flow_of_what_nobody_published_is_a_mistake_and_none_is_told_as_such(
    town: Store, tmp_path: Path, words: list[str], sentence: str
) -> None:
    (tmp_path / "here.geojson").write_text(json.dumps(mapping(box(0, 0, 0.5, 1))))
    (tmp_path / "far.geojson").write_text(json.dumps(mapping(box(50, 50, 51, 51))))
    files = ("--from", str(tmp_path / "here.geojson"), "--to", str(tmp_path / "far.geojson"))
    assert called("flow", "town", *files).startswith("nothing is published from the one to the other")
    with pytest.raises(OdanonError, match=sentence):
        called("flow", "town", *files, *words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--format", "parquet"], "say which file with --out"),
        (["--out", "answer.csv", "--format", "csv"], "answer.csv is there already"),
    ],
)
def test_what_sql_cannot_write_is_one_sentence(
    town: Store, words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answer.csv").touch()
    with pytest.raises(OdanonError, match=sentence):
        called("sql", "select 1", "--product", "town", *words)


def test_flow_between_two_drawn_areas(town: Store, tmp_path: Path) -> None:
    for name, shape in (("a", box(0, 0, 0.5, 1)), ("b", box(1, 0, 2, 1))):
        (tmp_path / f"{name}.geojson").write_text(json.dumps(mapping(shape)))
    files = ("--from", str(tmp_path / "a.geojson"), "--to", str(tmp_path / "b.geojson"))
    assert called("flow", "town", *files) == "40.0 trips, from 0 for certain to 80 at most\n"  # half of 40, on two days
    assert called("flow", "town", *files, "--since", "2026-03-02", "--until", "2026-03-02T12:00").startswith(
        "20.0 trips, "
    )
    assert called("flow", "town", *files, "--reading", "even").startswith("40.0 trips, ")
    morning = ("--month", "2026-03", "--days", "monday", "--clock", "00:00-09:00", "--segment", "all")
    assert called("flow", "town", *files, *morning).startswith("20.0 trips, ")
    with pytest.raises(OdanonError, match="--month stands for --since and --until"):
        called("flow", "town", *files, "--month", "2026-03", "--since", "2026-03-02")
    with pytest.raises(OdanonError, match="the reading fitted has no weights in town-20260302-"):
        called("flow", "town", *files, "--reading", "fitted")
    with pytest.raises(OdanonError, match="does not exist; give the path of a polygon layer"):
        called("flow", "town", "--from", str(tmp_path / "none"), "--to", str(tmp_path / "none"))


def test_what_is_published_is_read_where_no_product_file_is(workspace: Path, tmp_path: Path) -> None:
    store = EmbeddedStore(workspace / "data")
    store.publish(bundle(day=DAYS[0], rows=9), accept)
    (tmp_path / "all.geojson").write_text(json.dumps(mapping(box(-1, -1, 9, 9))))
    files = ("--from", str(tmp_path / "all.geojson"), "--to", str(tmp_path / "all.geojson"))
    told = called("flow", "town", *files)
    assert told == called("flow", "town", *files, "--at", str(workspace / "data"))
    assert told == called("flow", "town", *files, "--month", "2026-03")
    assert called("export", "town", "--out", str(tmp_path / "out")).startswith("1 releases written")
    assert "9" in called("sql", "select count(*) as n from flows", "--product", "town")
    assert called("report", "town") == called("report", "town", "--date", str(DAYS[0]))
    with pytest.raises(OdanonError, match="there is no published product 'city'; there is town"):
        called("flow", "city", *files, "--at", str(workspace / "data"))
    with pytest.raises(OdanonError, match="no product files"):
        called("flow", "city", *files)


def test_the_report_is_of_the_latest_window_unless_told(town: Store) -> None:
    first, second = (store_report(town, day) for day in DAYS)
    assert called("report", "town").rstrip() == second.rstrip()
    assert called("report", "town", "--date", str(DAYS[0])).rstrip() == first.rstrip()
    for day in DAYS:
        town.withdraw("town", day, Act("somebody", "a test"))
    with pytest.raises(OdanonError, match="nothing of town is published; `odanon status town` says"):
        called("report", "town")


def store_report(store: Store, day: date) -> str:
    return store.report(str(store.released("town", day)))


def test_export_and_integrity(town: Store, tmp_path: Path) -> None:
    shown = called("export", "town", "--out", str(tmp_path / "out"), "--format", "csv", "--format", "gpkg")
    assert shown.startswith("2 releases written")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "flows.csv",
        "zones.csv",
        "town.gpkg",
        "releases.json",
        "datapackage.json",
        "dcat.jsonld",
    }
    with pytest.raises(OdanonError, match="there is no format 'shp'"):
        called("export", "town", "--out", str(tmp_path / "x"), "--format", "shp")
    release = town.released("town", DAYS[0])
    assert release is not None
    assert "is what was published" in called("integrity", release)


def test_export_of_matrices_between_own_zones(town: Store, tmp_path: Path) -> None:
    zones = geopandas.GeoDataFrame({"zone": [1, 2]}, geometry=[box(0, 0, 1.5, 1), box(1.5, 0, 3, 1)], crs="EPSG:4326")
    zones.to_file(tmp_path / "zones.gpkg")
    own, out = (
        ("--areas", str(tmp_path / "zones.gpkg"), "--id", "zone"),
        ("export", "town", "--out", str(tmp_path / "out")),
    )
    with pytest.raises(OdanonError, match="--areas and --id belong together"):
        called(*out, "--format", "omx", *own[:2])
    with pytest.raises(OdanonError, match="are for the format omx"):
        called(*out, "--format", "csv", *own)
    with pytest.raises(OdanonError, match="give their file with --areas and --id"):
        called(*out, "--format", "omx")
    assert called(*out, "--format", "omx", *own).startswith("2 releases written")
    with openmatrix.open_file(str(tmp_path / "out" / "town.omx")) as file:
        assert file.mapping("zone_id") == {1: 0, 2: 1}
        assert file["total"][:].sum() == pytest.approx(2 * bundle(rows=9).flows["trips"].sum())


def test_integrity_finds_a_changed_row_in_the_database(town: Store, request: pytest.FixtureRequest) -> None:
    release = town.released("town", DAYS[0])
    assert release is not None
    if request.node.callspec.params["town"] == "postgis":
        from store_databases import run_sql

        run_sql(request.getfixturevalue("database"), "UPDATE published.flow SET trips = trips + 1 WHERE position = 3")
    else:
        with (town.folder(release) / "flows.parquet").open("r+b") as handle:  # type: ignore[attr-defined]
            handle.seek(100)
            byte = handle.read(1)
            handle.seek(100)
            handle.write(bytes([byte[0] ^ 1]))
    with pytest.raises(OdanonError, match="is not what was published"):
        called("integrity", release)


def test_a_folder_that_nobody_sealed_is_told_apart_from_one_whose_seal_is_gone(workspace: Path) -> None:
    rows = "\n".join(f"{start},{end},40" for start in CELLS for end in CELLS)
    (workspace / "od.csv").write_text(f"origin,destination,trips\n{rows}\n")
    columns = ("--origin", "origin", "--destination", "destination", "--count", "trips", "--unit", "trips")
    called("anonymize", str(workspace / "od.csv"), *columns, "--out", str(workspace / "release"))
    for part in ("keep", "handout"):
        with pytest.raises(OdanonError, match="has no seal; it is no published release"):
            called("integrity", str(workspace / "release" / part))
    store = open_store(small_product(workspace / "pipelines", product="town"))
    assert isinstance(store, EmbeddedStore)
    store.publish(bundle(), accept)
    folder = store.folder(str(store.released("town", DAYS[0])))
    assert "is what was published" in called("integrity", str(folder))
    manifest = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps({**manifest, "manifest_sha256": None}))
    with pytest.raises(OdanonError, match="not what was published: the manifest was changed"):
        called("integrity", str(folder))
    del manifest["manifest_sha256"]
    (folder / "release.json").write_text(json.dumps(manifest))
    with pytest.raises(OdanonError, match="not what was published: the manifest was changed"):
        called("integrity", str(folder))


def test_purge_by_day_and_by_age(town: Store) -> None:
    who = ("--by", "Ada", "--reason", "asked to")
    assert called("purge", "town", "--date", "2026-03-02", *who) == "1 windows purged\n"
    assert town.windows("town") == ["2026-03-03"]
    called("purge", "town", "--expired", *who)
    assert town.windows("town") == []  # 30 days are long over
    with pytest.raises(OdanonError, match="either --date or --expired"):
        called("purge", "town", *who)


def test_purge_of_a_withdrawn_day_says_what_is_left(town: Store) -> None:
    who = ("--by", "Ada", "--reason", "asked to")
    called("withdraw", "town", "--date", "2026-03-02", *who)
    told = called("purge", "town", "--date", "2026-03-02", *who)
    assert told.startswith(
        "0 windows purged\n2026-03-02 was withdrawn before and had no tables left; rows of its people"
    )
    assert town.standings("town")["2026-03-02"] == "withdrawn"


def test_db_commands(fresh_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OdanonError, match="ODANON_OTHER is not set"):
        called("db", "init", "--url-from", "ODANON_OTHER")
    monkeypatch.setenv("ODANON_DB_URL", fresh_database)
    before = RUN.invoke(cli.main, ["db", "check"])
    assert before.exit_code == 1
    assert "is missing; run `odanon db init`" in before.output
    assert "the database is ready" in called("db", "init")
    assert "nothing is too open" in called("db", "check")


def test_a_day_runs_into_postgis_and_can_be_superseded(
    workspace: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole chain with the database as its store."""
    monkeypatch.setenv("ODANON_DB_URL", database)
    publish = {"store": "postgis", "url": "${ODANON_DB_URL}"}
    product = small_product(workspace / "pipelines", publish=publish)
    (done,) = run_days(product, [DAYS[0]], resume=False)
    assert done.error == ""
    store = open_store(product)
    first = store.released("small", DAYS[0])
    assert first is not None
    assert store.problems(first) == []
    with open_instance() as instance:
        event = instance.get_latest_materialization_event(AssetKey(["small", "published"]))
    report = Path(event.asset_materialization.metadata["report"].value)  # a link in the UI
    assert report.read_text() == store.report(first)
    (skipped,) = run_days(product, [DAYS[0]], resume=True)
    assert skipped.skipped
    other = small_product(workspace / "pipelines", publish=publish, anonymize={"plugin": "atg-joint", "k": 12})
    (refused,) = run_days(other, [DAYS[0]], resume=False)
    assert str(first) in refused.error
    act = ("supersede", "small", "--date", "2026-03-02", "--by", "Ada", "--reason", "k was too small")
    with pytest.raises(OdanonError, match=f"the auditor says no: nested-difference: .*{first}"):
        called(*act)  # who has both can subtract
    assert store.released("small", DAYS[0]) == first
    same = {"plugin": "atg-joint", "k": 5, "max_tiles": 100_000}  # a limit that changes no flow
    relabelled = small_product(workspace / "pipelines", publish=publish, anonymize=same)
    (refused,) = run_days(relabelled, [DAYS[0]], resume=False)
    assert "a release is never changed" in refused.error
    shown = called(*act)
    second = store.released("small", DAYS[0])
    assert second != first
    assert str(second) in shown
    assert store.audit_log()["act"].tolist() == ["publish", "supersede"]
    assert report.read_text() == store.report(str(second))
    called("withdraw", *act[1:])
    assert not report.exists()
    written = b"".join(path.read_bytes() for path in workspace.rglob("*") if path.is_file())
    assert database.encode() not in written  # the address stays out of events and logs
