"""Rows carry the start and the end of their time."""

from importlib.resources import files

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0010_times.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
