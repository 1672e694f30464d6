"""Every estimate has bounds, and a profile over time."""

from importlib.resources import files

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0011_bounds.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
