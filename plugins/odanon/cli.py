"""The `odanon` command. Each subject has its own module in `odanon.commands`; heavy imports happen when a command runs."""

import sys

import typer

from odanon.commands import anonymize, catalogue, compare, data, traces
from odanon.errors import OdanonError
from odanon_assets.commands import pipeline, store

main = typer.Typer(
    help="Publish where people travel without showing who does.\n\n"
    "Start with `odanon run demo`, look at `odanon plugins`, then copy pipelines/demo.yaml.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for module in (pipeline, traces, anonymize, compare, catalogue, data, store):
    module.register(main)


def app() -> None:
    """Entry point: a mistake ends with its sentence on stderr and exit code 1, never with a traceback."""
    try:
        main()
    except OdanonError as error:
        typer.secho(f"odanon: {error}", fg="red", err=True)
        sys.exit(1)
    except OSError as error:
        if error.filename is None:
            raise
        typer.secho(f"odanon: {error.filename}: {error.strerror}; choose a path that you may use", fg="red", err=True)
        sys.exit(1)
