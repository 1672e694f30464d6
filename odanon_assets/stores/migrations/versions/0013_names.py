"""Zones have the names of their places."""

from importlib.resources import files

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0013_names.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
