"""One reading query over the folders of the embedded store, in a session that reaches nothing else."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from odanon.errors import OdanonError
from odanon.reconstruct.areas import in_degrees
from odanon_assets.stores.answers.functions import add_functions, load_spatial
from odanon_assets.stores.duck import Windows, quoted, session_over
from odanon_assets.stores.seal import TILES, WEIGHTS

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

# Loading the extension takes half a second of computing: it is left out where nothing of it is named.
_SPATIAL = re.compile(r"\bst_|&&|geometry|_2d|\b(flow|matrix|profile)\W*\(|\bareas\b", re.IGNORECASE)
_OWN_WORDS = re.compile(r"OdanonError: (.*)")


def answer(
    releases: dict[str, list[Path]], windows: Windows, sql: str, areas: "GeoDataFrame | None" = None
) -> pd.DataFrame:
    """The rows of one reading query, which sees the views over the releases and no other file, variable or setting.

    `releases` are the folders of products; `areas`, by their index, become the table areas (name, geometry).
    """
    import duckdb

    folders, spatial = [folder for each in releases.values() for folder in each], _SPATIAL.search(sql) is not None
    session = session_over(folders, windows, load_spatial if spatial else None)
    if spatial:
        add_functions(session, releases)
    if spatial and areas is not None:
        drawn = pd.DataFrame({"name": areas.index.astype("str"), "wkb": in_degrees(areas.geometry).to_wkb()})
        session.register("given", drawn)
        session.execute("CREATE TABLE areas AS SELECT name, ST_GeomFromWKB(wkb) AS geometry FROM given")
        session.unregister("given")
    files = [str(folder / name) for folder in folders for name in ("flows.parquet", "zones.parquet", WEIGHTS, TILES)]
    session.execute("SET python_enable_replacements = false")
    session.execute(f"SET allowed_paths = [{', '.join(quoted(path) for path in files)}]")
    session.execute("SET enable_external_access = false")
    session.execute("SET lock_configuration = true")
    try:
        statements = session.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise OdanonError("only one query that reads is answered; ask with one SELECT")
        return session.execute(statements[0]).df()
    except duckdb.Error as error:
        if own := _OWN_WORDS.search(str(error)):
            raise OdanonError(own[1]) from None
        raise OdanonError(f"DuckDB does not accept the query: {str(error).splitlines()[0]}") from None
