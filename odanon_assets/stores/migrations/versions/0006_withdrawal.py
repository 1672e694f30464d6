"""Releases that were withdrawn, what became of windows, and reports for readers."""

from importlib.resources import files

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0006_withdrawal.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
