"""The stages of the chain as plain functions: (product, lake, day) in, a partition and its figures out.

Dagster wraps them one to one (`odanon_assets.assets`); nothing here knows about Dagster.
"""
