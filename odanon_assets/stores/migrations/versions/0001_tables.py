"""Schemas, tables, partitions and the append-only audit log."""

from importlib.resources import files

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0001_tables.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
