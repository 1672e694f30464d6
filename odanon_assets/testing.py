"""The conformance suite of stores, for their authors to run.

    from odanon_assets.testing import check_store

    def test_my_store(tmp_path):
        check_store(MyStore().open(tmp_path))

It raises AssertionError with a sentence that names the broken rule.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import geopandas
import numpy as np
import pandas as pd
from shapely.geometry import MultiPolygon, box

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon.reconstruct.readings import EVEN
from odanon.reconstruct.weights import no_weights
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle, release_id
from odanon_assets.stores.interface import AUDIT_COLUMNS, LEDGER_COLUMNS, MATRIX_COLUMNS, PROFILE_COLUMNS, Act, Store

_TOWN, _DAY, _NEXT = "conformance-town", date(2026, 3, 2), date(2026, 3, 3)
_ACT = Act("conformance suite", "a planted correction")


def check_store(store: Store) -> None:
    """All rules for an empty store; it is not empty afterwards."""
    name = type(store).__name__
    assert store.windows(_TOWN) == [], f"{name} is not empty; give the suite a new store"
    _check_gate(store, name)
    _check_release(store, name)
    _check_answers(store, name)
    _check_immutable(store, name)
    _check_supersede(store, name)
    _check_purge(store, name)
    _check_withdraw(store, name)


def accept() -> None:
    """A gate that lets everything pass."""


def _refuse() -> None:
    raise OdanonError("planted refusal")


def _check_gate(store: Store, name: str) -> None:
    told = _refusal(store, _bundle(), _refuse)
    assert told == "planted refusal", f"{name}: what the gate refuses is published, or its sentence is lost"
    assert store.released(_TOWN, _DAY) is None, f"{name}: a refused release is visible"
    assert store.ledger().empty, f"{name}: a refused release is in the ledger"
    assert store.audit_log().empty, f"{name}: a refused release is in the audit log"


def _check_release(store: Store, name: str) -> None:
    made = _bundle()
    assert store.publish(made, accept) is True, f"{name}: publish() does not say that a release is new"
    assert store.released(_TOWN, _DAY) == made.release_id, f"{name}: a published window does not show its release"
    assert store.windows(_TOWN) == [_DAY.isoformat()], f"{name}: windows() does not list a published window"
    pd.testing.assert_frame_equal(store.flows(made.release_id), made.flows, check_dtype=False)
    zones = store.zones(made.release_id)
    assert zones.crs.to_epsg() == 4326, f"{name}: zones come back in another coordinate system"
    assert zones["zone_id"].tolist() == made.zones["zone_id"].tolist(), f"{name}: zones come back in another order"
    same = zones.geometry.to_wkb().tolist() == made.zones.geometry.to_wkb().tolist()
    assert same, f"{name}: the ground of zones comes back changed"
    pd.testing.assert_frame_equal(store.weights(made.release_id), made.weights, check_dtype=False)
    tiles = store.tiles(made.release_id)
    assert [list(zones) for zones in tiles["zones"]] == made.tiles["zones"].tolist(), (
        f"{name}: tiles lie in other zones"
    )
    pd.testing.assert_frame_equal(tiles.drop(columns="zones"), made.tiles.drop(columns="zones"), check_dtype=False)
    assert store.report(made.release_id) == made.report, f"{name}: the report comes back changed"
    assert store.problems(made.release_id) == [], f"{name}: an untouched release has problems"
    for table, columns in ((store.ledger(), LEDGER_COLUMNS), (store.audit_log(), AUDIT_COLUMNS)):
        assert set(columns) <= set(table.columns), f"{name}: a log lacks one of the columns {', '.join(columns)}"
    count = store.query("select count(*) as n from flows")["n"].tolist()
    assert count == [len(made.flows)], f"{name}: query() does not see the published flows"
    count = store.query("select count(*) as n from weights")["n"].tolist()
    assert count == [len(made.weights)], f"{name}: query() does not see the published weights"
    count = store.query("select count(*) as n from tiles")["n"].tolist()
    assert count == [len(made.tiles)], f"{name}: query() does not see the published tiles"


def _check_answers(store: Store, name: str) -> None:
    """Of the flow from the first square to the second, half an hour of one, and half of its origin."""
    start, hour, trips = datetime(2026, 3, 2, tzinfo=UTC), timedelta(hours=1), 40
    half, first, second = box(0, 0, 0.5, 1), box(0, 0, 1, 1), box(1, 0, 2, 1)
    whole = store.flow(_TOWN, first, second, When(start, start + hour), EVEN)
    assert (whole.low, whole.high) == (trips, trips), f"{name}: a row that lies inside is not certain"
    part = store.flow(_TOWN, half, second, When(start, start + hour), EVEN)
    assert (part.low, part.high) == (0, trips), f"{name}: a row that lies inside in parts is certain, or not possible"
    assert abs(part.estimate - trips / 2) < 1e-6, f"{name}: a row is not spread over the ground of its zones"
    areas = geopandas.GeoDataFrame(geometry=[first, second], index=["a", "b"], crs="EPSG:4326")
    matrix = store.matrix(_TOWN, areas, When(start, start + hour), EVEN)
    assert tuple(matrix.columns) == MATRIX_COLUMNS, f"{name}: matrix() has other columns"
    told = matrix.set_index(["origin", "destination"]).loc[("a", "b"), ["low", "high"]].tolist()
    assert told == [trips, trips], f"{name}: matrix() tells something else than flow()"
    profile = store.profile(_TOWN, first, second, When(start, start + hour), hour / 2, EVEN)
    assert tuple(profile.columns) == PROFILE_COLUMNS, f"{name}: profile() has other columns"
    assert np.allclose(profile["estimate"], trips / 2), f"{name}: a row is not spread over its time"
    assert profile["spread_over_hours"].tolist() == [1, 1], f"{name}: profile() does not say how long rows are"


def _check_immutable(store: Store, name: str) -> None:
    before = _seen(store)
    assert store.publish(_bundle(), accept) is False, f"{name}: the same release twice is not told as such"
    assert _refusal(store, _bundle(trips=41)), f"{name}: another release replaces a published one"
    changed = _bundle()
    changed.flows.loc[0, "trips"] += 1
    assert _refusal(store, changed), f"{name}: other content under the same name replaces a published release"
    assert _seen(store) == before, f"{name}: a refusal leaves something behind"


def _check_supersede(store: Store, name: str) -> None:
    old, new = _bundle(), _bundle(trips=41)
    assert store.publish(new, accept, _ACT) is True, f"{name}: a named act does not replace a release"
    assert store.released(_TOWN, _DAY) == new.release_id, f"{name}: a superseded release is still shown"
    status = store.ledger().set_index("release_id")["status"].to_dict()
    assert status == {old.release_id: "superseded", new.release_id: "visible"}, f"{name}: the ledger forgets a release"
    log = store.audit_log()
    assert log["act"].tolist() == ["publish", "supersede"], f"{name}: the audit log does not tell what was done"
    assert log["by_name"].iloc[-1] == _ACT.by_name, f"{name}: the audit log does not tell who did it"
    assert _refusal(store, old, act=_ACT), f"{name}: what was withdrawn can be published again"


def _check_purge(store: Store, name: str) -> None:
    other = _bundle(day=_NEXT)
    store.publish(other, accept)
    assert store.purge(_TOWN, _DAY, _ACT) is True, f"{name}: purge() does not say that something was deleted"
    assert store.released(_TOWN, _DAY) is None, f"{name}: a purged window still shows a release"
    assert store.windows(_TOWN) == [_NEXT.isoformat()], f"{name}: purge() touches another window"
    assert len(store.ledger()) == 3, f"{name}: the ledger forgets what was purged"
    assert _refusal(store, _bundle(trips=42)), f"{name}: a purged window can be published again"
    assert store.problems(other.release_id) == [], f"{name}: purge() harms another release"


def _check_withdraw(store: Store, name: str) -> None:
    made, other = _bundle(day=_NEXT), _bundle(trips=41, day=_NEXT)
    assert store.withdraw(_TOWN, _NEXT, _ACT) is True, f"{name}: withdraw() does not say that something was taken back"
    assert store.released(_TOWN, _NEXT) is None, f"{name}: a withdrawn window still shows a release"
    told = {_DAY.isoformat(): "purged", _NEXT.isoformat(): "withdrawn"}
    assert store.standings(_TOWN) == told, f"{name}: standings() does not tell what became of windows"
    seen = store.query("select status from windows order by window_start")["status"].tolist()
    assert seen == list(told.values()), f"{name}: readers cannot ask what became of windows"
    assert store.query("select 1 from flows").empty, f"{name}: readers see flows that were withdrawn"
    assert store.query("select 1 from weights").empty, f"{name}: readers see weights that were withdrawn"
    assert store.withdraw(_TOWN, _NEXT, _ACT) is False, f"{name}: the same is withdrawn twice"
    assert "withdrawn" in set(store.ledger()["status"]), f"{name}: the ledger does not tell what was withdrawn"
    assert _refusal(store, other), f"{name}: a withdrawn window can be published again without a named act"
    assert _refusal(store, made, act=_ACT), f"{name}: what was withdrawn can be published again"
    assert store.publish(other, accept, _ACT) is True, (
        f"{name}: a correction cannot take the place of what was withdrawn"
    )


def _refusal(store: Store, bundle: Bundle, gate: Any = accept, act: Act | None = None) -> str:
    """The sentence with which a store refuses; nothing where it does not."""
    try:
        store.publish(bundle, gate, act)
    except OdanonError as error:
        return str(error)
    return ""


def _seen(store: Store) -> tuple[Any, ...]:
    """What readers and auditors see."""
    shown = [store.released(_TOWN, date.fromisoformat(day)) for day in store.windows(_TOWN)]
    return shown, store.ledger().to_json(), store.audit_log().to_json()


def _bundle(trips: int = 40, day: date = _DAY) -> Bundle:
    """A release of two flows and a rest between three squares; `trips` makes it another one."""
    names = ["z1", "z2", "z3"]
    name = release_id(_TOWN, day, {"trips": trips})
    flows = pd.DataFrame(
        {
            "product": _TOWN,
            "window_start": day,
            "time_start": pd.Series([pd.Timestamp(day, tz="UTC")] * 3).astype("datetime64[us, UTC]"),
            "time_end": pd.Series([pd.Timestamp(day, tz="UTC") + pd.Timedelta(hours=1)] * 3).astype(
                "datetime64[us, UTC]"
            ),
            "segment": "all",
            "origin_zone": names,
            "destination_zone": [*names[1:], names[0]],
            "kind": ["flow", "flow", "rest"],
            "trips": trips + np.arange(3),
            "spread": trips + np.arange(3) / 3,
            "spread_fitted": trips + np.arange(3) / 7,
            "spread_prior": trips + np.arange(3) / 9,
            "persons_band": "10-19",
            "release_id": name,
        }
    )[list(FLOW_COLUMNS)]
    zones = geopandas.GeoDataFrame(
        {
            "zone_id": pd.array(names, dtype="str"),
            "name": pd.array(["Old Town", None, "Harbour; 'east' \"pier\" — Пристань"], dtype="str"),
            "hierarchy": pd.array(["table"] * 3, dtype="str"),
            "level": np.ones(3, dtype=np.int16),
            "n_tiles": np.arange(1, 4),
            "area_km2": [0.1, 0.2, 0.3],
            "tiles": [[name] for name in names],
        },
        geometry=geopandas.GeoSeries([box(at, 0, at + 1, 1) for at in range(3)]).apply(_as_multi),
        crs="EPSG:4326",
    )
    manifest = {
        "release_id": name,
        "product": _TOWN,
        "window_start": day.isoformat(),
        "timezone": "UTC",
        "title": "Trips in a town",
        "owner": "team",
        "licence": "CC-BY-4.0",
        "parameters": {"k": 10, "zoning": {"plugin": "table"}, "hierarchy": {"plugin": "table"}},
        "metrics": {"flows": 3.0, "persons_min_band": "10-19"},
        "input_sha256": "0" * 64,
        "versions": {"odanon": "0"},
        "verifier": "passed",
        "reading": "fitted",
        "readings": ["even", "fitted", "prior"],
        "weights": {"columns": ["residents", "jobs"], "sha256": "0" * 64},
    }
    tiles = geopandas.GeoDataFrame(
        {
            "tile": pd.array(["t1", "t2"], dtype="str"),
            "zones": [["z1", "z2"], ["z3"]],
            "leaving": [1 / 3, 2 / 3],
            "entering": [0.0, 1.0],
        },
        geometry=zones.geometry.iloc[[0, 2]].to_list(),
        crs="EPSG:4326",
    )
    return Bundle(_TOWN, day, name, flows, zones, "<p>a report — «тест»</p>", manifest, _weights(names, day), tiles)


def _weights(names: list[str], day: date) -> pd.DataFrame:
    """All zones of both sides, the first one inside the second."""
    table = pd.DataFrame(
        {
            "time_bin": pd.Timestamp(day, tz="UTC"),
            "reading": "fitted",
            "side": np.repeat(["origin", "destination"], len(names)),
            "zone_id": names * 2,
            "around": [names[1], None, None] * 2,
            "weight": np.tile([1 / 3, 1 / 7, 11 / 21], 2),
        }
    )
    return table.astype(no_weights().dtypes.to_dict())


def _as_multi(shape: Any) -> MultiPolygon:
    return MultiPolygon([shape])
