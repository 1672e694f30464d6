"""The Dagster code location of odanon: assets, checks and schedules built from product files."""
