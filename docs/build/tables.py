"""The pages of tables, SQL and checks: columns as files, stages and stores declare them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from marks import code, fenced, page, table

from odanon_assets.checks.catalogue import CHECKS, OF_WINDOWS
from odanon_assets.checks.columns import TABLES as STAGES
from odanon_assets.derived.exports.fields import MEANINGS, TABLES
from odanon_assets.stores.duck import session_over

_COLUMNS = ("column", "type", "meaning")
_TABLES = """Published tables are for readers; the files of a stage are **restricted** and never leave the house. In SQL: [SQL](sql.md). What each table is for: [what is published](../operations.md#what-is-published)."""
_PUBLISHED = """The columns of `flows.parquet`, `zones.parquet`, `weights.parquet` and `tiles.parquet` of a release, and of the files of [`odanon export`](commands.md), which add the local
clock (`local_start`, `local_end`, `local_bin`). A release whose zones have no names leaves out the column `name`."""
_STAGES = "What the stages of a day leave under `ODANON_ROOT/work/<product>/<stage>/date=DAY/`: rows of people, or exact counts."
_SQL = """Readers see published data only. On **PostGIS** they ask the views of the schema `published` and the functions of the schema `odanon`; on the **embedded store** `odanon sql "SELECT ..."` asks DuckDB, and
`odanon flow`, [`odanon.open`](python.md) answer what the functions do. An answer has bounds: [bounds](../algorithms.md#bounds)."""
_FUNCTIONS = (
    "For areas of your own. `reading` says how rows are spread over their zones: [readings](../algorithms.md#readings)."
)
_EXAMPLE = """SELECT * FROM odanon.matrix('my_areas', 'id', 'geom', '2026-03-02', '2026-03-09', 'my-city');

SELECT origin_zone, destination_zone, trips FROM published.flows
WHERE product = 'my-city' AND window_start = '2026-03-02' ORDER BY trips DESC LIMIT 10;"""
_AUDIT = "`work.audit_log` in PostGIS, for publisher and administrator alone. How to ask it: [who did what](../how-to/who-did-what.md)."
_MAIN = ("flow", "matrix", "profile", "crosswalk")
_CHECKS = """After each stage of a day its checks run. One that **blocks** ends the day, and nothing of it is published; one that **warns** is told in the UI, at the end of `odanon run` and to Prometheus.
Limits are set under `checks` in [the product file](product-file.md). A check of your own: [a check](../plugins/checks.md)."""


def tables_page() -> str:
    """Published tables and exports, then those of the stages."""
    published = [(f"### {name}", _columns(fields), _key(key)) for name, (fields, key) in TABLES.items()]
    others = table(("file", "holds"), [(code(name), text) for name, text in MEANINGS.items()])
    stages = [
        (f"### stage {name}: {code(each.files)}", _columns((c.name, c.kind, c.meaning) for c in each.columns))
        for name, each in STAGES.items()
        if name != "published"
    ]
    return page(
        "Tables and their columns",
        _TABLES,
        "## Published tables and exports",
        _PUBLISHED,
        *(part for parts in published for part in parts),
        "### Other files",
        others,
        "## Tables of the stages",
        _STAGES,
        *(part for parts in stages for part in parts),
    )


def _columns(fields: Iterable[tuple[str, str, str]]) -> str:
    return table(_COLUMNS, [(code(name), kind, meaning) for name, kind, meaning in fields])


def _key(names: list[str]) -> str:
    return f"A row is told apart by {', '.join(map(code, names))}."


def sql_page(here: Path) -> str:
    """Functions and views of PostGIS as a real one describes them, and the views of the embedded store."""
    database = json.loads((here / "database.json").read_text())
    functions, views = database["functions"], database["views"]
    main = [each for name in _MAIN for each in functions if each["name"] == name]
    helpers = [each for each in functions if each["name"] not in _MAIN]
    return page(
        "SQL: functions and views",
        _SQL,
        fenced("sql", _EXAMPLE),
        "## Functions of PostGIS",
        _FUNCTIONS,
        *map(_function, main),
        "### What they are made of",
        table(("function", "what it tells"), [(code(_call(each)), each["comment"]) for each in helpers]),
        "## Views of PostGIS",
        *(f"### published.{name}\n\n{each['comment']}\n\n{_columns(each['columns'])}" for name, each in views.items()),
        "## The audit log",
        _AUDIT,
        _columns(database["audit_log"]),
        "## Views of the embedded store",
        "For `odanon sql` and `odanon.open(...).sql`: the same names and meanings as in PostGIS, without a schema.",
        table(("view", "columns"), _embedded()),
    )


def _call(each: dict[str, Any]) -> str:
    return f"odanon.{each['name']}({each['arguments']})"


def _function(each: dict[str, Any]) -> str:
    arguments = ",\n    ".join(each["arguments"].split(", "))
    text = f"odanon.{each['name']}(\n    {arguments}\n) -> {each['result']}"
    return f"### odanon.{each['name']}\n\n{each['comment']}\n\n{fenced('sql', text)}"


def _embedded() -> list[tuple[str, str]]:
    """The views over no release at all, as DuckDB describes them."""
    session = session_over([])
    names = [name for (name,) in session.sql("SHOW TABLES").fetchall() if name != "told_times"]
    told = {name: session.sql(f"DESCRIBE {name}").fetchall() for name in names}
    return [(code(name), ", ".join(f"`{row[0]}` {row[1].lower()}" for row in rows)) for name, rows in told.items()]


def checks_page() -> str:
    """Every check of ours, stage by stage."""
    rows = [
        (each.stage, code(each.name), "**blocks**" if each.blocking else "warns", each.description)
        for each in (*CHECKS, *OF_WINDOWS)
    ]
    return page("Checks", _CHECKS, table(("stage", "check", "when it fails", "what it looks at"), rows))
