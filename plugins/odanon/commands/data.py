"""Making data: `odanon simulate`."""

import typer

from odanon.commands.simulate import simulate


def register(app: typer.Typer) -> None:
    app.command()(simulate)
