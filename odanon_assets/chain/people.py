"""What a product knows of its people beside traces: attributes at the door, then segments and weights."""

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.sections import RESIDENCE, People, Population
from odanon.protocols import KnowsPeople, Source, Zoning
from odanon.reading.batches import Column, Kind
from odanon.reading.persons import IdKinds, persons, spelling_of
from odanon.reading.pseudonym import pseudonyms
from odanon.reading.table import read_small
from odanon.trips.people import expansion_weights, given_weights, segment_labels
from odanon_assets.lake.files import read_frame, write_parquet
from odanon_assets.lake.lake import Lake

PEOPLE = "people.parquet"


def write_people(product: Product, source: Source, key: bytes, folder: Path) -> IdKinds:
    """The attributes that the product uses, with pseudonyms instead of ids, beside the day's points; the kinds of ids."""
    if product.people is None:
        return IdKinds()
    used = _used(product.people)
    read = _own_table if product.people.table is None else _given_table
    table, kinds = read(product, source)
    table = table[table["person"].notna()]
    if table["person"].duplicated().any():
        raise OdanonError(f"{product.product}: the table of people has two rows for one person; keep one of them")
    hidden = table[list(used)].assign(person=pseudonyms(table["person"].astype("str"), key))
    write_parquet(hidden.sort_values("person", ignore_index=True), folder / PEOPLE)
    return kinds


def _used(people: People) -> dict[str, Kind]:
    """The columns that a product uses of its table of people, ids apart, and what they hold."""
    attributes: dict[str, Kind] = {name: "text" for name in people.segments if name != RESIDENCE}
    return attributes | ({people.weight: "number"} if people.weight is not None else {})


def _given_table(product: Product, source: Source) -> tuple[pd.DataFrame, IdKinds]:
    """The table that the product's file names: the person of each row, its attributes and its weight."""
    assert product.people is not None
    assert product.people.table is not None
    columns = [Column("person", product.people.id, "id")]
    columns += [Column(name, name, kind) for name, kind in _used(product.people).items()]
    table = read_small(product.people.table, columns, spelling_of(source)).to_pandas()
    ids, kinds = persons(table["person"], numbered=bool(table["person_number"].any()))
    return table.assign(person=ids), kinds


def _own_table(product: Product, source: Source) -> tuple[pd.DataFrame, IdKinds]:
    """The same from the source itself."""
    assert product.people is not None
    if not isinstance(source, KnowsPeople):
        raise OdanonError(
            f"{product.product}: the source {product.source.plugin} has no table of people; set people.table"
        )
    table = pd.concat(list(source.persons()), ignore_index=True)
    missing = [name for name in (product.people.id, *_used(product.people)) if name not in table.columns]
    if missing:
        raise OdanonError(f"{product.product}: the table of people has no column {missing[0]!r}; correct people")
    ids, kinds = persons(table[product.people.id], spelling_of(source))
    return table.assign(person=ids), kinds


def describe_people(product: Product, lake: Lake, day: date, zoning: Zoning) -> pd.DataFrame | None:
    """Segment and, where configured, weight of everybody seen on the day; None when nothing is asked.

    Columns person, segment and weight. Those who stay at home count too: they are part of what a zone's
    inhabitants are expanded from.
    """
    if product.people is None and product.population is None:
        return None
    people = _seen(product, lake, day)
    if product.trips.home_work is not None:
        home = zoning.assign(people["home_lat"].to_numpy(), people["home_lon"].to_numpy())
        people[RESIDENCE] = np.where(pd.notna(home), "resident", "visitor")
    if product.people is not None:
        known = read_frame(lake.read(product.product, "traces", day) / PEOPLE)
        people = people.merge(known, on="person", how="left")
    _refuse_slashes(product, people)
    described = people[["person"]].assign(
        segment=segment_labels(people[product.people.segments if product.people else []])
    )
    if product.people is not None and product.people.weight is not None:
        described["weight"] = given_weights(people[product.people.weight])
    if product.population is not None:
        described["weight"] = expanded(product.population, people, zoning)
    return described


def _refuse_slashes(product: Product, people: pd.DataFrame) -> None:
    """A slash separates the values of a segment's attributes, so none may hold one."""
    names = product.segmented if len(product.segmented) > 1 else ()
    for name in names:
        if people[name].astype("str").str.contains("/").any():
            raise OdanonError(
                f"{product.product}: the attribute {name!r} of people holds a value with a slash; write it without"
            )


def _seen(product: Product, lake: Lake, day: date) -> pd.DataFrame:
    """Everybody with a trip, or everybody with a stay and where they live when homes are looked for."""
    if product.trips.home_work is not None:
        homes = sorted(lake.read(product.product, "trips", day).glob("homes-*.parquet"))
        return pd.concat([read_frame(path) for path in homes], ignore_index=True)
    buckets = [read_frame(path, ["person"]) for path in lake.buckets(product.product, "trips", day)]
    return pd.concat(buckets).drop_duplicates(ignore_index=True)


def expanded(rules: Population, people: pd.DataFrame, zoning: Zoning) -> np.ndarray:
    """The weight of everybody: the inhabitants of the home's zone over those who are seen to live there."""
    columns = [Column("zone", rules.zone, "text"), Column("inhabitants", rules.inhabitants, "number")]
    table = read_small(rules.table, columns).to_pandas().astype({"zone": "str"})
    zones = zoning if rules.zoning is None else rules.zoning.instance
    home = zones.assign(people["home_lat"].to_numpy(), people["home_lon"].to_numpy())
    return expansion_weights(home, table.set_index("zone")["inhabitants"], rules.otherwise)
