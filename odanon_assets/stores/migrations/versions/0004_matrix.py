"""Matrices on drawn areas without compiling the query."""

from importlib.resources import files

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0004_matrix.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
