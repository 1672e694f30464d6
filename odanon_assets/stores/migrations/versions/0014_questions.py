"""Questions that cannot be meant are refused, and bounds hold for large zones and small areas."""

from importlib.resources import files

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    script = files("odanon_assets.stores.migrations").joinpath("sql/0014_questions.sql").read_text()
    op.get_bind().connection.cursor().execute(script)
