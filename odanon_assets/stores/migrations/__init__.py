"""The schema of the PostGIS store, version by version (Alembic); `odanon db init` brings a database to the newest."""
