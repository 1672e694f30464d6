"""What is handed out of a table's release: bands and public figures alone, in files that others open; what is kept says so."""

import json
from pathlib import Path

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest

from odanon.door import Released, release
from odanon.registry import create
from odanon.tables.read import Loaded, TableInput
from odanon.tables.write import write_release

K = 5


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TableInput:
    """Trips of 120 people on two days, with the hour of each and a part of the day."""
    rng, n = np.random.default_rng(6), 2500
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 2)), dtype=object)
    at = pd.Timestamp("2026-03-02", tz="Europe/Paris") + pd.to_timedelta(rng.integers(0, 48 * 60, n), unit="min")
    frame = pd.DataFrame({"origin": rng.choice(cells, n), "destination": rng.choice(cells, n), "at": at})
    frame["who"] = rng.choice([f"Canary-{n}" for n in range(120)], n)
    frame["hour"], frame["part"] = at.hour, np.where(at.hour < 12, "=early", "late")
    path = tmp_path_factory.mktemp("Secret-Folder") / "town.csv"
    frame.to_csv(path, index=False)
    return TableInput(path=path, person="who", timezone="Europe/Paris")


def made(table: TableInput, folder: Path, **options: str | bool | None) -> tuple[Released, Loaded, Path]:
    source = TableInput(**{**vars_of(table), **options})
    loaded = source.load()
    released = release(loaded.matrices, loaded.tree, create("anonymize", "atg-lattice", {"k": K}))
    write_release(folder, released, loaded, "atg-lattice", "town", source.zone.key)
    return released, loaded, folder / "handout"


def vars_of(table: TableInput) -> dict[str, object]:
    return {name: getattr(table, name) for name in TableInput.__dataclass_fields__}


@pytest.fixture(scope="module")
def whole(table: TableInput, tmp_path_factory: pytest.TempPathFactory) -> tuple[Released, Loaded, Path]:
    return made(table, tmp_path_factory.mktemp("made") / "release")


def test_flows_are_those_of_the_release_with_bands_in_every_format(whole: tuple[Released, Loaded, Path]) -> None:
    released, _, out = whole
    true = released.releases[None].flows
    flows = pd.read_parquet(out / "flows.parquet")
    assert list(flows) == ["origin_zone", "destination_zone", "kind", "trips", "persons_band"]
    assert flows["trips"].tolist() == true["trips"].tolist()
    edges = flows["persons_band"].str.rstrip("+").str.split("-")
    assert (edges.str[0].astype(int) <= true["persons"].to_numpy()).all()
    assert (flows["persons_band"] != true["persons"].astype(str).to_numpy()).all()
    as_text = pd.read_csv(out / "flows.csv")
    lines = geopandas.read_file(out / "release.gpkg", layer="flows")
    for other in (as_text, lines):
        assert other[list(flows)].astype(str).equals(flows.astype(str).astype(other[list(flows)].astype(str).dtypes))
    zones = geopandas.read_parquet(out / "zones.parquet")
    assert set(zones["zone_id"]) == set(flows["origin_zone"]) | set(flows["destination_zone"])
    assert len(geopandas.read_file(out / "release.gpkg", layer="zones")) == len(zones)


def test_nothing_exact_and_nobody_is_handed_out(whole: tuple[Released, Loaded, Path], table: TableInput) -> None:
    out = whole[2]
    told = json.loads((out / "release.json").read_text())
    assert {"S", "S_share", "E", "volume", "min_persons"} & told["metrics"].keys() == set()
    assert told["metrics"]["persons_min_band"] == f"{K}-{2 * K - 1}"
    assert told["promise"] == f"every flow holds at least {K} distinct persons"
    for path in out.iterdir():
        content = path.read_bytes()
        for secret in (b"Canary", b"Secret-Folder", str(table.path.parent).encode(), b"persons_x"):
            assert secret not in content, path.name
    assert {path.name for path in out.iterdir()} == {
        *("README.md", "flows.csv", "flows.parquet", "release.gpkg", "release.json", "report.html", "zones.parquet")
    }


def test_what_is_kept_lies_apart_and_says_so(whole: tuple[Released, Loaded, Path]) -> None:
    kept = whole[2].parent / "keep"
    assert (kept / "README.md").read_text().startswith("# Restricted: keep this, do not hand it out")
    assert pd.read_parquet(kept / "assignment.parquet")["trips"].sum() == 2500
    assert pd.read_parquet(kept / "flows.parquet")["persons"].min() >= K


def test_the_same_release_has_the_same_bytes(whole: tuple[Released, Loaded, Path], tmp_path: Path) -> None:
    released, loaded, out = whole
    write_release(tmp_path / "again", released, loaded, "atg-lattice", "town", "Europe/Paris")
    for path in out.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / "handout" / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ({"time": "at", "bin": "12h", "adaptive": True}, "2026-03-02T00:00:00+01:00"),
        ({"time": "at", "bin": "day"}, "2026-03-02T00:00:00+01:00"),
        ({"time": "hour", "adaptive": True, "timezone": None}, "00:00"),
        ({"time": "hour", "adaptive": True}, "00:00"),
        ({"time": "hour", "bin": "6h"}, "00:00"),
        ({"time": "part"}, "'=early"),
    ],
    ids=["adaptive", "fixed", "hours", "hours-of-a-zone", "hours-cut", "names"],
)
def test_times_are_told_as_the_table_has_them(
    table: TableInput, tmp_path: Path, options: dict[str, str | bool | None], times: str
) -> None:
    out = made(table, tmp_path / "release", **options)[2]
    flows = pd.read_csv(out / "flows.csv")
    assert flows.iloc[:, 0].min() == times
    assert flows.columns[0] == ("time" if options["time"] == "part" else "time_start")
    page = (out / "report.html").read_text()
    assert "2000" not in page.partition("<script")[0]
    named = json.loads((out / "release.json").read_text())
    assert named.get("window_start") == ("2026-03-02" if options["time"] == "at" else None)


def test_a_time_bin_of_few_is_not_told_and_others_keep_their_names(table: TableInput, tmp_path: Path) -> None:
    rows = pd.read_csv(table.path)
    first = rows[rows["hour"] >= 12].iloc[:3].assign(part="hermit")  # between the names of the others
    pd.concat([first, rows.iloc[3:]]).to_csv(tmp_path / "town.csv", index=False)
    out = made(table, tmp_path / "release", path=tmp_path / "town.csv", time="part")[2]
    page = (out / "report.html").read_text()
    told = json.loads(page.partition("<script")[2].partition(">")[2].partition("</script>")[0])
    flows = pd.read_parquet(out / "flows.parquet")
    trips = (
        pd.Series(told["flows"]["trips"])
        .groupby(np.array([b["label"] for b in told["bins"]])[told["flows"]["bin"]])
        .sum()
    )
    assert trips.to_dict() == flows.groupby("time")["trips"].sum().to_dict()
    assert all("hermit" not in path.read_text(errors="replace") for path in out.iterdir())


def test_tiles_without_a_place_have_no_map(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("child,parent\na,left\nb,left\nc,right\nleft,all\nright,all\n")
    rows = {"origin": ["a"] * 9 + ["b"] * 3, "destination": ["c"] * 12, "person": range(12)}
    pd.DataFrame(rows).to_csv(tmp_path / "od.csv", index=False)
    source = TableInput(path=tmp_path / "od.csv", person="person", hierarchy=str(tmp_path / "tree.csv"))
    loaded = source.load()
    released = release(loaded.matrices, loaded.tree, create("anonymize", "atg-joint", {"k": 10, "suppression": 0}))
    write_release(tmp_path / "out", released, loaded, "atg-joint", "od", "UTC")
    names = {path.name for path in (tmp_path / "out" / "handout").iterdir()}
    assert names == {"README.md", "flows.csv", "flows.parquet", "release.json"}
    assert "zones.parquet" not in (tmp_path / "out" / "handout" / "README.md").read_text()
