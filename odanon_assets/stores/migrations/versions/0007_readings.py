"""Weights of zones, and the readings of a release: even, fitted, prior, auto."""

from importlib.resources import files

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0007_readings.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
