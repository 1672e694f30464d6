"""Alembic's entry: migrations run on the connection that `odanon_assets.stores.schema` hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], version_table="schema_version", version_table_schema="work"
)
with context.begin_transaction():
    context.run_migrations()
