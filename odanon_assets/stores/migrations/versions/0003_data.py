"""The ledger knows which data a release was made from."""

from importlib.resources import files

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0003_data.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
