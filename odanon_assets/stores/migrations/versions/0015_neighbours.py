"""Neighbours whose outlines overlap by less than two millimetres have no ground in common."""

from importlib.resources import files

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0015_neighbours.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
