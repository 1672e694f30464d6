"""One person, one id: every type and spelling of an id that means the same person gives one text."""

import json
import sqlite3
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.errors import OdanonError
from odanon.reading.ids import AS_WRITTEN, Spelling, canonical
from odanon.reading.persons import persons
from odanon.reading.validate import Tally, validate
from odanon.tables.read import TableInput
from odanon.traces.logs import Logs
from odanon.traces.points import Points
from odanon.traces.ready import OdTable, Trips
from odanon.traces.sql import Sql
from odanon.trips.ready import validate_od, validate_trips

START, END = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
NOON = "2026-03-02T12:00:00Z"
UUID = "123e4567-e89b-12d3-a456-426614174000"

SEVENTEEN = [
    pd.Series([17]),
    pd.Series([17], dtype=np.uint8),
    pd.Series([17.0]),
    pd.Series([17.0, np.nan]),
    pd.Series([17], dtype="Int64"),
    pd.Series([17.0], dtype="Float32"),
    pd.Series(["17"]),
    pd.Series(["17.0", None]),
    pd.Series(["17.00"], dtype=object),
    pd.Series(["1.7E1"]),
    pd.Series([b"17"], dtype=object),
    pd.Series([Decimal("17.00"), None], dtype=object),
    pd.Series([np.int64(17), None], dtype=object),
    pd.Series([17, "17", 17.0, Decimal(17), np.float64(17), np.int32(17)], dtype=object),
    pd.Series(pd.Categorical([17.0, 17.0])),
    pd.Series(pd.Categorical(["17", "17.0"])),
    pd.Series(pd.array([17], dtype=pd.ArrowDtype(pa.decimal128(10, 2)))),
]


@pytest.mark.parametrize("ids", SEVENTEEN, ids=lambda ids: f"{ids.dtype}-{type(ids[0]).__name__}")
def test_seventeen_is_one_person(ids: pd.Series) -> None:
    named, _ = persons(ids)
    assert set(named.dropna()) == {"17"}
    assert (named.isna() == ids.isna()).all()


@pytest.mark.parametrize(
    "text", ["017", "17.5", "+17", "-0", " 17", "17.", "1e5", "12e45", "17,0", "0x11", "A", "nan", "٣", "1.2.0"]
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert list(persons(pd.Series([text, "17"]))[0]) == [text, "17"]


def test_a_float_without_a_point_is_a_whole_number() -> None:
    """As Python writes it from 1e+16 on, and others earlier."""
    named, _ = persons(pd.Series(["1E+15", "2e+03"]))
    assert named.tolist() == ["1000000000000000", "2000"]
    with pytest.raises(OdanonError, match="floats too large"):
        persons(pd.Series(["1e+16"]))


def test_large_integers_keep_every_digit() -> None:
    for large in (2**53 + 1, 2**63 - 1, 2**64 - 1, 10**30 + 1):
        for ids in ([large, None], [Decimal(large)], [str(large)], [large, str(large)]):
            assert list(persons(pd.Series(ids, dtype=object))[0].dropna().unique()) == [str(large)]


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (pd.Series([2.0**53]), "too large"),
        (pd.Series([-(2.0**53)]), "too large"),
        (pd.Series([np.inf]), "too large"),
        (pd.Series([2.0**24], dtype=np.float32), "too large"),
        (pd.Series(["9007199254740992.0"]), "too large"),
        (pd.Series(["1.2345678901234568e+16"]), "too large"),
        (pd.Series([4711.5]), "fractions"),
        (pd.Series([Decimal("4711.5")], dtype=object), "fractions"),
        (pd.Series([4711, "04711"], dtype=object), "numbers beside others"),
        (pd.Series([4711.0, "x4711"], dtype=object), "numbers beside others"),
        (pd.Series([True]), "of a type"),
        (pd.Series(pd.to_datetime(["2026-03-02"])), "of a type"),
        (pd.Series([("4711",)], dtype=object), "of a type"),
    ],
)
def test_ids_that_cannot_be_told_apart_are_refused_and_not_shown(ids: pd.Series, said: str) -> None:
    with pytest.raises(OdanonError, match=said) as refused:
        persons(ids)
    assert "4711" not in str(refused.value)
    assert refused.value.__context__ is None


def test_blanks_and_capitals_make_another_person_unless_told_otherwise() -> None:
    ids = pd.Series(["Ada", " ada ", "ADA", " 17.0", ""])
    assert persons(ids)[0].nunique() == 4
    assert list(persons(ids, Spelling(trim=True))[0].dropna()) == ["Ada", "ada", "ADA", "17"]
    assert list(persons(ids, Spelling(trim=True, fold_case=True))[0].dropna().unique()) == ["ada", "17"]
    assert persons(pd.Series(["  "]), Spelling(trim=True))[0].isna().all()


def test_a_uuid_is_its_usual_text() -> None:
    typed = pd.Series([None, uuid.UUID(UUID)], dtype=object)
    assert list(persons(typed)[0].dropna()) == [UUID]
    assert set(persons(pd.Series([uuid.UUID(UUID), UUID.upper(), UUID], dtype=object))[0]) == {UUID}


def test_entries_that_a_dictionary_has_twice_are_one_person() -> None:
    given = pa.DictionaryArray.from_arrays([0, 1, 2, None, 3], ["a", "b", "a", None])
    found = canonical(given, AS_WRITTEN).names
    assert found.to_pylist() == ["a", "b", "a", None, None]
    assert found.dictionary.to_pylist() == ["a", "b"]


def test_rows_keep_their_ids_whatever_their_labels() -> None:
    """Rows of a query with and without a zone are two parts of one frame."""
    for ids in (
        pd.Series([1, 2, 3, 4]),
        pd.Series(["1", "2.0", "3", "4"]),
        pd.Series([1, "2", 3.0, None], dtype=object),
    ):
        part = ids[[False, True, True, False]]
        assert list(persons(part)[0]) == ["2", "3"]
        assert list(persons(part)[0].index) == [1, 2]


def slow(value: Any) -> str | None:
    """The same in plain Python, value by value."""
    if value is None or value == "" or value != value:
        return None
    return str(int(value)) if isinstance(value, float | Decimal) else str(value)


NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1)


@given(st.lists(st.one_of(st.none(), NUMBERS, NUMBERS.map(float), NUMBERS.map(Decimal), NUMBERS.map(str))))
def test_mixed_columns_equal_the_plain_twin_and_repeating_changes_nothing(values: list[Any]) -> None:
    named, kinds = persons(pd.Series(values, dtype=object))
    assert [None if pd.isna(name) else name for name in named] == [slow(value) for value in values]
    assert list(persons(named)[0].astype(object).fillna("-")) == list(named.astype(object).fillna("-"))
    assert not kinds.other_texts


def points(folder: Path, **columns: pa.Array) -> None:
    """Files of one point each, by name of the file; the suffix says the format."""
    for name, ids in columns.items():
        n, path = len(ids), folder / f"{name.rsplit('_', 1)[0]}.{name.rsplit('_', 1)[1]}"
        rows = {"person": ids, "time": pa.array([NOON] * n), "lat": pa.array([45.0] * n), "lon": pa.array([4.0] * n)}
        if path.suffix == ".parquet":
            pq.write_table(pa.table(rows), path)
        elif path.suffix == ".csv":
            pa.table(rows).to_pandas().to_csv(path, index=False)
        else:
            lines = [json.dumps(row) for row in pa.table(rows).to_pylist()]
            path.write_text("\n".join(lines) + "\n")


def taken(source: Any) -> tuple[set[str], Tally]:
    tally = Tally()
    kept = [validate(batch, START, END, tally, source.spelling) for batch in source.batches(START, END)]
    tally.ids.refuse_mixed()
    return {name for frame in kept for name in frame["person"].astype("str")}, tally


def test_files_of_every_format_and_type_name_the_same_person(tmp_path: Path) -> None:
    points(
        tmp_path,
        a_parquet=pa.array([17, 18]),
        b_parquet=pa.array([17.0, None]),
        c_parquet=pa.array([Decimal("17.0")]),
        d_parquet=pa.array(["17", "17.0"]),
        e_parquet=pa.array(["17", "18"]).dictionary_encode(),
        f_csv=pa.array([17, None]),
        g_csv=pa.array(["17"]),
        h_jsonl=pa.array([17]),
        i_jsonl=pa.array([17.0, None]),
        j_jsonl=pa.array(["17"]),
    )
    (tmp_path / "k.jsonl").write_text(
        "".join(f'{{"person": {id_}, "time": "{NOON}", "lat": 45, "lon": 4}}\n' for id_ in ("17", '"17"', "17.0", "{}"))
    )
    found, tally = taken(Points(path=str(tmp_path)))
    assert found == {"17", "18"}
    assert tally.reasons["no_person"] == 4


@pytest.mark.parametrize(
    ("column", "said"),
    [(pa.array([2.0**53]), "too large"), (pa.array([0.5]), "fractions"), (pa.array([True]), "type that does not fit")],
)
def test_a_file_with_unclear_ids_is_named(tmp_path: Path, column: pa.Array, said: str) -> None:
    points(tmp_path, a_parquet=column)
    with pytest.raises(OdanonError, match=rf"file 1 of 1 .*{said}"):
        taken(Points(path=str(tmp_path)))


@pytest.mark.parametrize("other", [pa.array(["017"]), pa.array(["abc"])])
def test_numbers_in_one_file_and_other_texts_in_another_are_refused(tmp_path: Path, other: pa.Array) -> None:
    points(tmp_path, a_parquet=pa.array([17]), b_csv=other)
    with pytest.raises(OdanonError, match="numbers beside others"):
        taken(Points(path=str(tmp_path)))
    (tmp_path / "a.parquet").unlink()
    points(tmp_path, a_csv=pa.array([17]))  # all texts: nothing is known of their types
    assert len(taken(Points(path=str(tmp_path)))[0]) == 2


def test_a_null_in_a_query_changes_no_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = 2**53 + 1
    with sqlite3.connect(tmp_path / "p.db") as db:
        db.execute("CREATE TABLE p (person, time, lat, lon)")
        db.executemany("INSERT INTO p VALUES (?, ?, 45, 4)", [(id_, NOON) for id_ in (17, None, large, 17.0, "17")])
    monkeypatch.setenv("ODANON_SOURCE_URL", f"sqlite:///{tmp_path}/p.db")
    monkeypatch.setattr("odanon.traces.sql._ROWS", 2)
    found, tally = taken(Sql(query="SELECT * FROM p WHERE time >= :start OR :end > ''"))
    assert found == {"17", str(large)}
    assert tally.reasons["no_person"] == 1


def test_ready_trips_ready_tables_logs_and_anonymize_use_the_same_form(tmp_path: Path) -> None:
    for name, ids in {"a": [17, 18], "b": [17.0, np.nan]}.items():
        rows = pd.DataFrame(
            {"person": ids, "time_bin": NOON, "start": NOON, "end": NOON, "origin": "o", "destination": "d"}
        )
        rows.assign(trips=1).to_parquet(tmp_path / f"{name}.parquet")
    for check, frames in (
        (validate_trips, Trips(path=str(tmp_path), origin="origin", destination="destination").trips(START, END)),
        (validate_od, OdTable(path=str(tmp_path), person="person").od(START, END)),
    ):
        tally = Tally()
        kept = pd.concat([check(frame, START, END, tally).astype({"person": "str"}) for frame in frames])
        assert sorted(kept["person"]) == ["17", "17", "18"]
        assert tally.reasons["no_person"] == 1
    table = tmp_path / "table.csv"
    table.write_text("origin,destination,id\na,b,17\na,b,17.0\na,b,017\n")
    assert sorted(TableInput(path=table, person="id").rows()["person"].unique()) == ["017", "17"]
    (tmp_path / "logs").mkdir()
    for person in ("Ada", "ada"):
        log = f'<gpx><trkpt lat="45" lon="4"><time>{NOON}</time></trkpt></gpx>'
        (tmp_path / "logs" / f"{person}.gpx").write_text(log)
    assert taken(Logs(path=f"{tmp_path}/logs"))[0] == {"Ada", "ada"}
    assert taken(Logs(path=f"{tmp_path}/logs", fold_case=True))[0] == {"ada"}


def test_the_same_day_is_available_whatever_the_spelling(tmp_path: Path) -> None:
    points(tmp_path, a_csv=pa.array([" x "]), b_csv=pa.array(["X"]))
    source = Points(path=str(tmp_path), trim=True, fold_case=True)
    assert source.available(date(2026, 3, 2))
    assert taken(source)[0] == {"x"}
