"""Views, GIS layers and SQL functions for analysts."""

from importlib.resources import files

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0002_analysts.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
