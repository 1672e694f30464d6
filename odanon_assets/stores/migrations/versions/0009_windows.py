"""Windows longer than a day: their time bins with the days behind them, means by day, and readings that find such bins."""

from importlib.resources import files

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0009_windows.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
