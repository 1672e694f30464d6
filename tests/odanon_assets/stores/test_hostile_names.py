"""Names are data, never code: quotes, semicolons, NUL, right-to-left, 10 kB."""

from datetime import UTC, datetime
from pathlib import Path

import psycopg2
import pytest
from bundles import DAY, accept, bundle, town_zones
from psycopg2 import sql
from store_databases import run_sql

from odanon.errors import OdanonError
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act, Store
from odanon_assets.stores.postgis import PostgisStore

HOSTILE = [
    "a'b",
    'a"b',
    "'; DROP TABLE published.flow; --",
    "$$; select 1; $$",
    "%s %(x)s {0} {x} :x",
    "\\N",
    "\\.",
    "",
    " ",
    "NULL",
    "a\tb\nc\r\nd",
    "{1,2}",
    "../../../etc/passwd",
    "שלום مرحبا",
    "\u202eevil\u202c",
    "💥\ufeff",
    "x" * 10_000,
    "é" * 5_000,
]
SINCE, UNTIL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)


def test_zones_segments_and_texts_come_back_as_they_went_in(store: Store) -> None:
    zones = town_zones(HOSTILE, size=0.01)
    zones["hierarchy"] = HOSTILE
    zones["tiles"] = [HOSTILE] * len(HOSTILE)
    made = bundle(rows=len(HOSTILE), zones=zones, segment="".join(HOSTILE), title=" ".join(HOSTILE))
    store.publish(bundle(), accept)
    store.publish(made, accept, Act(HOSTILE[2], HOSTILE[13]))
    assert store.audit_log()[["by_name", "reason"]].iloc[-1].tolist() == [HOSTILE[2], HOSTILE[13]]
    assert store.zones(made.release_id)["zone_id"].tolist() == HOSTILE
    assert store.zones(made.release_id)["hierarchy"].tolist() == HOSTILE
    assert all(list(tiles) == HOSTILE for tiles in store.zones(made.release_id)["tiles"])
    assert store.flows(made.release_id)["segment"].unique().tolist() == ["".join(HOSTILE)]
    assert store.flows(made.release_id)["origin_zone"].tolist() == made.flows["origin_zone"].tolist()
    assert store.problems(made.release_id) == []
    assert len(store.query("select distinct origin_zone from flows")) == len(HOSTILE)


@pytest.mark.parametrize("name", HOSTILE[:5] + HOSTILE[7:9] + HOSTILE[12:], ids=range(13))
def test_products_with_such_names_are_refused_before_anything_is_touched(store: Store, name: str) -> None:
    with pytest.raises(OdanonError, match="name is not a plain one"):
        store.publish(bundle(product=name), accept)
    with pytest.raises(OdanonError, match="name is not a plain one"):
        store.purge(name, DAY, Act("a", "b"))
    assert store.windows("town") == []


@pytest.mark.parametrize("place", ["zone", "tile", "segment", "title", "report"])
def test_a_nul_character_is_refused_with_a_sentence(store: Store, place: str) -> None:
    zones = town_zones(["z\0" if place == "zone" else "z1", "z2"])
    if place == "tile":
        zones["tiles"] = [["a\0"], None]
    made = bundle(zones=zones, segment="a\0" if place == "segment" else "all", title="a\0" if place == "title" else "t")
    if place == "report":
        object.__setattr__(made, "report", "a\0")
    with pytest.raises(OdanonError, match="NUL"):
        store.publish(made, accept)
    assert store.windows("town") == []


def test_looked_up_names_are_data_too(store: Store) -> None:
    store.publish(bundle(), accept)
    for name in HOSTILE:
        with pytest.raises(OdanonError):
            store.flows(name)
    assert store.windows("town") == ["2026-03-02"]


def test_the_longest_product_name_has_its_own_view(database: str) -> None:
    store = PostgisStore(database)
    names = ["a" * 63, "a" * 62 + "b", "flows", "a-b"]
    for name in names:
        store.publish(bundle(product=name), accept)
    views = store.query("select viewname from pg_views where viewname like 'product\\_%' order by 1")["viewname"]
    assert len(views) == len(names)
    assert {"product_flows", "product_a_b"} <= set(views)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name and len(name.encode()) < 63])
def test_a_users_table_of_polygons_may_be_called_anything(database: str, name: str) -> None:
    store = PostgisStore(database)
    store.publish(bundle(), accept)
    table, column, shape = (sql.Identifier(part + name) for part in ("t", "c", "g"))
    run_sql(
        database,
        sql.SQL(
            "DROP TABLE IF EXISTS {t}; CREATE TABLE {t} ({c} text, {g} geometry); INSERT INTO {t} VALUES"
            " ({n}, ST_MakeEnvelope(0, 0, 1, 1, 4326)), ('other', ST_MakeEnvelope(1, 0, 2, 1, 4326))"
        ).format(t=table, c=column, g=shape, n=sql.Literal(name)),
    )
    connection = psycopg2.connect(database)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT origin, destination, estimate FROM odanon.matrix(%s::text::regclass, %s, %s, %s, %s) ORDER BY 3",
            (table.as_string(cursor), f"c{name}", f"g{name}", SINCE, UNTIL),
        )
        found = cursor.fetchall()
    connection.close()
    assert found == [(name, "other", pytest.approx(40)), ("other", "other", pytest.approx(41))]
    run_sql(database, sql.SQL("DROP TABLE {t}").format(t=table))


def test_files_stay_inside_the_store(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "store")
    for name in ("../evil", "/etc/evil", "a/b"):
        with pytest.raises(OdanonError):
            store.publish(bundle(product=name), accept)
        with pytest.raises(OdanonError):
            store.windows(name)
        with pytest.raises(OdanonError):
            store.folder(name)
    assert [path.name for path in tmp_path.iterdir()] in ([], ["store"])
