"""`flow`, `matrix` and `profile` in the SQL of the embedded store, as the PostGIS store has them."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from importlib.metadata import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from odanon.errors import OdanonError
from odanon.model.when import When, clock_of, month_of
from odanon.model.when.clock import span_of
from odanon_assets.stores.answers.folders import flow_over, matrix_over, profile_over
from odanon_assets.stores.duck import manifest_of
from odanon_assets.stores.interface import MATRIX_COLUMNS, PROFILE_COLUMNS, Estimate

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EXTENSION = "duckdb-extension-spatial"
# What is asked, with the names, types and defaults of its arguments.
_WHEN = (
    ("since", "TIMESTAMPTZ", "NULL"),
    ("until", "TIMESTAMPTZ", "NULL"),
    ("product", "VARCHAR", "NULL"),
    ("reading", "VARCHAR", "'auto'"),
    ("segment", "VARCHAR", "NULL"),
    ("days", "VARCHAR", "NULL"),
    ("clock", "VARCHAR", "NULL"),
    ("month", "VARCHAR", "NULL"),
)
_STEP = (("step", "INTERVAL", "INTERVAL 1 HOUR"), ("along", "VARCHAR", "'even'"))
_SHAPES = "ST_AsWKB(origin)::BLOB, ST_AsWKB(destination)::BLOB"
_LISTED = "(SELECT list({}) FROM (SELECT COLUMNS(c -> c = {}) AS told FROM query_table(areas)))"


def load_spatial(session: "DuckDBPyConnection") -> None:
    """The functions ST_... of DuckDB's extension, which comes as a package of its own."""
    found = [path for path in files(_EXTENSION) or () if path.name.endswith(".duckdb_extension")]
    where = str(found[0].locate()).replace("'", "''")
    session.execute(f"LOAD '{where}'")


def add_functions(session: "DuckDBPyConnection", releases: dict[str, list[Path]]) -> None:
    """Add them for what products have published, given the folders of their releases in order of windows."""
    import shapely
    from geopandas import GeoSeries

    # Libraries of projections fail on the threads of DuckDB: questions are answered on one of Python's own.
    worker = ThreadPoolExecutor(1, "odanon-answers")

    def flow(origin: bytes, destination: bytes, asked: dict[str, Any]) -> list[dict[str, Any]]:
        folders, when, reading, segment = _question(releases, **asked)
        found = flow_over(folders, (_shape(origin), _shape(destination)), when, reading, segment)
        return [found._asdict()]

    def matrix(names: list[str] | None, shapes: list[bytes] | None, asked: dict[str, Any]) -> list[dict[str, Any]]:
        folders, when, reading, segment = _question(releases, **asked)
        if names is None or shapes is None:  # of a table without rows
            return []
        if len({*names}) < len(names):
            raise OdanonError("two drawn areas have the same name; give every area its own")
        drawn = GeoSeries([_shape(each) for each in shapes], index=names, crs="EPSG:4326")
        return _rows(matrix_over(folders, drawn, when, reading, segment))

    def profile(origin: bytes, destination: bytes, asked: dict[str, Any]) -> list[dict[str, Any]]:
        step, along = asked.pop("step"), asked.pop("along")
        folders, when, reading, segment = _question(releases, **asked)
        ends = _shape(origin), _shape(destination)
        return _rows(profile_over(folders, ends, when, step, reading, along, segment))

    def _shape(told: bytes) -> Any:
        if told is None:
            raise OdanonError("a drawn area is not a polygon; draw polygons only")
        return shapely.from_wkb(bytes(told))

    listed = [
        _LISTED.format(*each) for each in (("told::VARCHAR", "id_column"), ("ST_AsWKB(told)::BLOB", "geometry_column"))
    ]
    areas = "areas, id_column := 'name', geometry_column := 'geometry'"
    _add(session, worker, flow, ("origin, destination", _SHAPES, "BLOB"), _struct(Estimate._fields))
    _add(session, worker, matrix, (areas, ", ".join(listed), "BLOB[]"), _struct(MATRIX_COLUMNS), names="VARCHAR[]")
    _add(session, worker, profile, ("origin, destination", _SHAPES, "BLOB"), _struct(PROFILE_COLUMNS), _STEP)


def _struct(columns: Iterable[str]) -> str:
    """The type of rows with these columns."""
    texts = dict.fromkeys(MATRIX_COLUMNS[:2], "VARCHAR") | dict.fromkeys(PROFILE_COLUMNS[:2], "TIMESTAMPTZ")
    told = ", ".join(f"{name} {texts.get(name, 'DOUBLE')}" for name in columns)
    return f"STRUCT({told})[]"


def _add(
    session: "DuckDBPyConnection",
    worker: ThreadPoolExecutor,
    function: Callable[..., list[dict[str, Any]]],
    given: tuple[str, str, str],
    rows: str,
    more: tuple[tuple[str, str, str], ...] = (),
    names: str | None = None,
) -> None:
    """A table function whose arguments have names; what does the work has another name.

    `given` are its first arguments, what is made of them, and their type; `names` is that of the first where it is another.
    """
    from duckdb.func import FunctionNullHandling

    def elsewhere(first: Any, second: Any, told: dict[str, Any]) -> list[dict[str, Any]]:
        return worker.submit(function, first, second, told).result()

    # In the order in which PostGIS has them: the step comes after since and until.
    name, asked = function.__name__, [*_WHEN[:2], *more[:1], *_WHEN[2:4], *more[1:], *_WHEN[4:]]
    question = f"STRUCT({', '.join(f'{each} {kind}' for each, kind, _ in asked)})"
    kinds: list[Any] = [names or given[2], given[2], question]
    session.create_function(f"odanon_{name}", elsewhere, kinds, rows, null_handling=FunctionNullHandling.SPECIAL)
    arguments = ", ".join(f"{each} := {default}" for each, _, default in asked)
    values = ", ".join(f"{each} := {each}::{kind}" for each, kind, _ in asked)
    session.execute(
        f"CREATE MACRO {name}({given[0]}, {arguments}) AS TABLE"
        f" SELECT unnest(odanon_{name}({given[1]}, struct_pack({values})), recursive := true)"
    )


def _question(
    releases: dict[str, list[Path]],
    since: datetime | None,
    until: datetime | None,
    product: str | None,
    reading: str,
    segment: str | None,
    days: str | None,
    clock: str | None,
    month: str | None,
) -> tuple[list[Path], When, str, str | None]:
    """The folders that are asked, and what is asked of them."""
    if product is None and len(releases) > 1:
        raise OdanonError("several products are published; name one, such as product => 'my-city'")
    if product is not None and product not in releases:
        raise OdanonError("there is no published product of this name; the table windows lists them")
    folders = releases.get(next(iter(releases)) if product is None else product, []) if releases else []
    span = _span(folders, since, until, month)
    return folders, When(*span, days, clock_of(clock) if clock is not None else None), reading, segment


def _span(
    folders: list[Path], since: datetime | None, until: datetime | None, month: str | None
) -> tuple[datetime, datetime]:
    """From since to until, a month, or all that is published."""
    if month is not None:
        if since is not None or until is not None:
            raise OdanonError("a month stands for since and until; give the one or the others")
        last = manifest_of(folders[-1]) if folders else {}
        return month_of(month, ZoneInfo(last.get("timezone") or "UTC"))
    if since is not None and until is not None:
        return since, until
    windows = [span_of(manifest_of(folder)) for folder in folders]
    first = since or min((start for start, _ in windows), default=until)
    last_one = until or max((end for _, end in windows), default=since)
    if first is None or last_one is None or last_one <= first:
        raise OdanonError("nothing is published in the time asked for; `windows` lists what is")
    return first, last_one


def _rows(table: Any) -> list[dict[str, Any]]:
    """Rows as DuckDB takes them, without a number where there is none."""
    told = table.astype("object").where(table.notna(), None)
    found: list[dict[str, Any]] = told.to_dict("records")
    return found
