"""Questions have a day type, a span of the local clock and a segment."""

import json
from importlib.resources import files

import pandas as pd
from alembic import op

from odanon_assets.stores import load
from odanon_assets.stores.database import execute

revision = "0012"
down_revision = "0011"

_TIMES = (
    "SELECT time_start, time_end FROM published.flow WHERE release_no = :no AND window_start = :window"
    " UNION SELECT time_start, time_end FROM published.pulse WHERE release_no = :no ORDER BY 1, 2"
)


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0012_when.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
    connection = op.get_bind()
    every = "SELECT release_no, window_start, manifest FROM published.release WHERE report IS NOT NULL ORDER BY 1"
    for number, window, manifest in execute(connection, every).all():
        rows = execute(connection, _TIMES, {"no": number, "window": window}).all()
        told = pd.DataFrame(rows, columns=["time_start", "time_end"], dtype="object")
        named = {"window_start": window.isoformat(), **json.loads(manifest)}
        load.times(connection, named, told.astype("datetime64[us, UTC]"), number)
