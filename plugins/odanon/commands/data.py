"""Making data: `odanon simulate`."""

import typer

from odanon.simulate.command import simulate


def register(app: typer.Typer) -> None:
    app.command()(simulate)
