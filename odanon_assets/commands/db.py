"""`odanon db`: the PostGIS database behind a store."""

import os
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon_assets.stores import schema

PANEL = ("Stores", 9)
NEEDS = "postgis"
UrlVariable = Annotated[
    str, typer.Option("--url-from", help="Environment variable that holds the database URL (never the URL itself).")
]

db = typer.Typer(
    help="The PostGIS database: create the schema and roles, check them. For instance: `odanon db init`.",
    no_args_is_help=True,
)


@db.command("init")
def init(url_from: UrlVariable = "ODANON_DB_URL") -> None:
    """Create or upgrade schemas, tables, functions and roles; safe to repeat.

    For instance: `odanon db init --url-from ODANON_DB_URL`.
    """
    schema.init(_url(url_from))
    typer.echo("the database is ready; grant odanon_reader, odanon_publisher or odanon_admin to its users")


@db.command("check")
def check(url_from: UrlVariable = "ODANON_DB_URL") -> None:
    """Say what is missing or too open in the database.

    For instance: `odanon db check --url-from ODANON_DB_URL`.
    """
    findings = schema.check(_url(url_from))
    for finding in findings:
        typer.echo(f"- {finding}")
    if findings:
        raise typer.Exit(1)
    typer.echo("nothing is missing and nothing is too open")


def _url(variable: str) -> str:
    url = os.environ.get(variable)
    if not url:
        raise OdanonError(f"the variable {variable} is not set; put the database URL into it")
    return url
