"""A user's own tables: trips or flows in, release folders out."""
