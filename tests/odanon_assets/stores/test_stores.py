"""What both stores promise: immutable, atomic, verifiable, audited."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import geopandas
import pandas as pd
import pytest
from bundles import DAY, accept, bundle, town_zones
from shapely.geometry import box

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon_assets.stores.interface import MATRIX_COLUMNS, Act, Store, zoning_version

ACT = Act("Ada Auditor", "wrong zoning file")
SINCE, UNTIL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)


def state(store: Store) -> tuple[Any, ...]:
    """Everything a reader can see, and the log."""
    windows = store.windows("town")
    shown = [store.manifest_text(store.released("town", date.fromisoformat(day))) for day in windows]  # type: ignore[arg-type]
    return windows, shown, store.ledger().to_json(), store.audit_log().to_json()


def test_a_release_becomes_visible_and_can_be_read_back(store: Store) -> None:
    made = bundle(rows=20)
    assert store.released("town", DAY) is None
    assert store.windows("town") == []
    assert store.publish(made, accept) is True
    assert store.windows("town") == ["2026-03-02"]
    assert store.released("town", DAY) == made.release_id
    pd.testing.assert_frame_equal(store.flows(made.release_id), made.flows, check_dtype=False)
    zones = store.zones(made.release_id)
    assert zones.crs.to_epsg() == 4326
    pd.testing.assert_frame_equal(
        pd.DataFrame(zones.drop(columns=["geometry", "tiles"])),
        pd.DataFrame(made.zones.drop(columns=["geometry", "tiles"])),
    )
    assert [None if tiles is None else list(tiles) for tiles in zones["tiles"]] == made.zones["tiles"].tolist()
    assert zones.geometry.to_wkb().tolist() == made.zones.geometry.to_wkb().tolist()
    assert store.report(made.release_id) == made.report
    assert store.problems(made.release_id) == []


def test_a_release_with_no_flows_and_one_without_people_are_kept(store: Store) -> None:
    empty = bundle(rows=0)
    store.publish(empty, accept)
    assert len(store.flows(empty.release_id)) == 0
    assert store.problems(empty.release_id) == []
    unknown = bundle(day=date(2026, 3, 3))
    unknown.flows["persons_band"] = pd.Series([None] * 3, dtype="str")
    store.publish(unknown, accept)
    assert store.flows(unknown.release_id)["persons_band"].isna().all()
    assert store.problems(unknown.release_id) == []


def test_publishing_again_changes_nothing(store: Store) -> None:
    store.publish(bundle(), accept)
    before = state(store)
    assert store.publish(bundle(), accept) is False
    assert state(store) == before


def test_another_release_of_a_published_window_is_refused_with_a_sentence(store: Store) -> None:
    store.publish(bundle(), accept)
    before = state(store)
    with pytest.raises(OdanonError, match=r"already published as .* a release is never changed"):
        store.publish(bundle(trips=41), accept)
    assert state(store) == before


def test_the_same_name_with_other_content_is_refused(store: Store) -> None:
    store.publish(bundle(), accept)
    other = bundle()
    other.flows.loc[0, "trips"] += 1
    with pytest.raises(OdanonError, match="a release is never changed"):
        store.publish(other, accept)


def test_a_gate_that_refuses_publishes_nothing(store: Store) -> None:
    def refuse() -> None:
        raise OdanonError("at-least-k")

    with pytest.raises(OdanonError, match="at-least-k"):
        store.publish(bundle(), refuse)
    assert store.windows("town") == []
    assert store.ledger().empty
    assert store.audit_log().empty
    assert store.publish(bundle(), accept) is True


def test_a_named_act_supersedes_and_the_log_says_so(store: Store) -> None:
    old, new = bundle(), bundle(trips=41)
    store.publish(old, accept)
    assert store.publish(new, accept, ACT) is True
    assert store.released("town", DAY) == new.release_id
    assert store.query("select distinct release_id from flows")["release_id"].tolist() == [new.release_id]
    assert store.problems(old.release_id) == []  # the auditor still needs what was public once
    ledger = store.ledger().set_index("release_id")["status"].to_dict()
    assert ledger == {old.release_id: "superseded", new.release_id: "visible"}
    log = store.audit_log()
    assert log["act"].tolist() == ["publish", "supersede"]
    assert log.iloc[1][["release_id", "by_name", "reason"]].tolist() == [new.release_id, ACT.by_name, ACT.reason]
    with pytest.raises(OdanonError, match="is closed"):
        store.publish(old, accept, ACT)


def test_a_purged_window_is_empty_and_stays_closed(store: Store) -> None:
    made, kept = bundle(), bundle(day=date(2026, 3, 3))
    store.publish(made, accept)
    store.publish(kept, accept)
    assert store.purge("town", DAY, ACT) is True
    assert store.purge("town", DAY, ACT) is False
    assert store.windows("town") == ["2026-03-03"]
    assert store.released("town", DAY) is None
    assert store.query("select distinct release_id from flows")["release_id"].tolist() == [kept.release_id]
    with pytest.raises(OdanonError, match="purged"):
        store.flows(made.release_id)
    for again in (made, bundle(trips=41)):
        with pytest.raises(OdanonError, match="is closed"):
            store.publish(again, accept)
        with pytest.raises(OdanonError, match="is closed"):
            store.publish(again, accept, ACT)
    assert store.ledger()["status"].tolist() == ["purged", "visible"]
    assert store.audit_log()["act"].tolist() == ["publish", "publish", "purge"]
    assert store.problems(kept.release_id) == []


def test_a_withdrawn_window_shows_nothing_and_says_that_it_was(store: Store) -> None:
    first, made, kept = bundle(), bundle(trips=41), bundle(day=date(2026, 3, 3))
    store.publish(first, accept)
    store.publish(made, accept, ACT)
    store.publish(kept, accept)
    assert store.withdraw("town", DAY, ACT) is True
    assert store.withdraw("town", DAY, ACT) is False
    assert store.withdraw("town", date(2026, 3, 4), ACT) is False  # never published
    assert (store.windows("town"), store.released("town", DAY)) == (["2026-03-03"], None)
    assert store.standings("town") == {"2026-03-02": "withdrawn", "2026-03-03": "published"}
    shown = store.query("select cast(window_start as text) as day, status, release_id from windows order by 1")
    assert shown.values.tolist() == [
        ["2026-03-02", "withdrawn", made.release_id],
        ["2026-03-03", "published", kept.release_id],
    ]
    for view in ("flows", "zones", "releases", "metrics"):
        assert store.query(f"select distinct release_id from {view}")["release_id"].tolist() == [kept.release_id]
    for gone in (first, made):
        for read in (store.flows, store.zones, store.report, store.manifest_text, store.problems):
            with pytest.raises(OdanonError, match="withdrawn"):
                read(gone.release_id)
    assert store.ledger()["status"].tolist() == ["withdrawn", "withdrawn", "visible"]
    log = store.audit_log()
    assert log["act"].tolist() == ["publish", "supersede", "publish", "withdraw"]
    assert log.iloc[-1][["release_id", "by_name", "reason"]].tolist() == [made.release_id, ACT.by_name, ACT.reason]
    window = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 2, 12, tzinfo=UTC)
    known = {manifest["release_id"] for manifest in store.sharing("town", "other", *window)}
    assert known == {first.release_id, made.release_id}  # what was public is known for ever


def test_only_another_release_takes_the_place_of_a_withdrawn_one_and_somebody_answers_for_it(store: Store) -> None:
    made, other = bundle(), bundle(trips=41)
    store.publish(made, accept)
    store.withdraw("town", DAY, ACT)
    assert store.query("select * from flows").empty
    with pytest.raises(OdanonError, match="was withdrawn and is not published again by itself"):
        store.publish(other, accept)
    with pytest.raises(OdanonError, match="is closed"):
        store.publish(made, accept, ACT)
    assert store.publish(other, accept, ACT) is True
    assert store.publish(other, accept) is False
    assert store.standings("town") == {"2026-03-02": "published"}
    assert store.problems(other.release_id) == []
    assert store.ledger()["status"].tolist() == ["withdrawn", "visible"]
    assert store.audit_log()["act"].tolist() == ["publish", "withdraw", "supersede"]
    assert store.purge("town", DAY, ACT) is True
    assert store.ledger()["status"].tolist() == ["withdrawn", "purged"]
    assert store.standings("town") == {"2026-03-02": "purged"}


@pytest.mark.parametrize(("name", "reason"), [("", "x"), ("x", " "), ("x", "y\0"), ("x" * 1001, "y")])
def test_an_act_needs_a_name_and_a_reason(name: str, reason: str) -> None:
    with pytest.raises(OdanonError, match="for the audit log"):
        Act(name, reason)


def test_the_ledger_holds_what_an_auditor_needs(store: Store) -> None:
    made = bundle()
    store.publish(made, accept)
    (row,) = store.ledger().to_dict("records")
    assert row["release_id"] == made.release_id
    assert row["input_sha256"] == "0" * 64
    assert json.loads(row["parameters"])["k"] == 10
    assert row["code_version"] == "0.1.0"
    assert row["manifest_sha256"] == json.loads(store.manifest_text(made.release_id))["manifest_sha256"]


def test_the_same_queries_run_on_both(store: Store) -> None:
    made = bundle(rows=20)
    store.publish(made, accept)
    found = store.query("select origin_zone, sum(trips) as total from flows group by origin_zone order by 1")
    expected = made.flows.groupby("origin_zone")["trips"].sum()
    assert found["origin_zone"].tolist() == expected.index.tolist()
    assert found["total"].astype(int).tolist() == expected.tolist()
    joined = store.query(
        "select count(*) as n from flows f join zones z on z.release_id = f.release_id and z.zone_id = f.origin_zone"
    )
    assert joined["n"].tolist() == [20]
    assert store.query("select product from releases")["product"].tolist() == ["town"]
    assert store.query("select value from metrics where name = 'flows'")["value"].tolist() == [20.0]


def test_queries_cannot_change_anything(store: Store) -> None:
    store.publish(bundle(), accept)
    before = state(store)
    for statement in (
        "create table x (a int)",
        "select nonsense from nowhere",
        "drop schema published cascade",
        "select 1; select 2",
        "select 1; commit; begin; insert into work.audit_log (act) values ('nothing happened')",
        "commit",
        "",
    ):
        with pytest.raises(OdanonError):
            store.query(statement)
    assert state(store) == before
    assert store.query("select 'a;b%c' as text;")["text"].tolist() == ["a;b%c"]


def test_flow_between_drawn_areas(store: Store) -> None:
    """z1 = [0,1], z2 = [1,2], z3 = [2,3] on the equator; flows z1->z2: 40, z2->z2: 41, z3->z2: 42."""
    store.publish(bundle(), accept)
    half_of_z1, all_of_z2 = box(0, 0, 0.5, 1), box(1, 0, 2, 1)
    assert store.flow("town", half_of_z1, all_of_z2, When(SINCE, UNTIL)) == pytest.approx((0, 20, 40, 0))
    all_but = store.flow("town", box(-1, -1, 1.5, 9), all_of_z2, When(SINCE, UNTIL))
    assert all_but == pytest.approx((40, 60.5, 81, 40 / 60.5))
    assert store.flow("town", box(0, -1, 9, 9), box(1.25, 0, 1.5, 1), When(SINCE, UNTIL)).estimate == pytest.approx(
        123 / 4
    )
    assert store.flow("town", half_of_z1, box(50, 50, 51, 51), When(SINCE, UNTIL)) == (0, 0, 0, None)
    assert store.flow("elsewhere", half_of_z1, all_of_z2, When(SINCE, UNTIL)) == (0, 0, 0, None)
    areas = geopandas.GeoDataFrame(geometry=[box(0, 0, 1.5, 1), all_of_z2], index=["west", "mid"], crs="EPSG:4326")
    matrix = store.matrix("town", areas, When(SINCE, UNTIL))
    assert tuple(matrix.columns) == MATRIX_COLUMNS
    told = {(row.origin, row.destination): tuple(row)[3:] for row in matrix.itertuples()}
    assert told == {
        ("west", "west"): pytest.approx((0, (40 + 41 / 2) / 2, 81, 0)),
        ("west", "mid"): pytest.approx((40, 40 + 41 / 2, 81, 40 / 60.5)),
        ("mid", "west"): pytest.approx((0, 41 / 2, 41, 0)),
        ("mid", "mid"): pytest.approx((41, 41, 41, 1)),
    }


def test_areas_that_are_no_polygons_are_refused_with_a_sentence(store: Store) -> None:
    store.publish(bundle(), accept)
    with pytest.raises(OdanonError, match="draw polygons only"):
        store.flow("town", box(0, 0, 1, 1).centroid, box(0, 0, 1, 1), When(SINCE, UNTIL))


def test_zoning_versions_have_a_crosswalk(store: Store) -> None:
    store.publish(bundle(), accept)
    finer = {"k": 10, "zoning": {"plugin": "table", "file": "b"}, "hierarchy": {"plugin": "table"}}
    other = bundle(day=date(2026, 3, 3), zones=town_zones(["a", "b"], size=2.0, shift=0.5), parameters=finer)
    store.publish(other, accept)
    old, new = (zoning_version(json.loads(store.manifest_text(r))) for r in (bundle().release_id, other.release_id))
    assert old != new
    table = store.crosswalk("town", old, new)
    pairs = table.set_index(["zone", "area"])["share"].to_dict()
    assert pairs == pytest.approx({("z1", "a"): 0.5, ("z2", "a"): 1.0, ("z3", "a"): 0.5, ("z3", "b"): 0.5}, rel=1e-6)


def test_the_ledger_knows_which_releases_share_input(store: Store) -> None:
    """Of the same data or product, or of data that nobody named, at overlapping times; withdrawn ones too."""
    phones = {"data_sha256": "phones"}
    mine, replaced = bundle(data_sha256="earlier"), bundle(trips=41, **phones)
    others = [bundle(product="other", timezone="Asia/Tokyo", **phones), bundle(product="old")]
    for made in (mine, *others, bundle(product="bikes", data_sha256="bikes"), bundle(day=date(2026, 3, 4), **phones)):
        store.publish(made, accept)
    store.publish(replaced, accept, ACT)
    store.purge("other", DAY, ACT)
    day = datetime(2026, 3, 2, tzinfo=UTC)
    found = {manifest["release_id"] for manifest in store.sharing("town", "phones", day, day + timedelta(days=1))}
    assert found == {release.release_id for release in (mine, replaced, *others)}
    later = day + timedelta(hours=15)  # the second of March is over in Tokyo
    names = {manifest["product"] for manifest in store.sharing("town", "phones", later, later + timedelta(hours=1))}
    assert names == {"town", "old"}
    assert store.ledger().set_index("release_id")["data_sha256"][mine.release_id] == "earlier"


def test_unknown_releases_are_named(store: Store) -> None:
    with pytest.raises(OdanonError, match="there is no release 'town-1'"):
        store.flows("town-1")
