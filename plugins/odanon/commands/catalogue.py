"""What is installed and what a product file may say: `odanon plugins`, `odanon schema`, `odanon check`."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command()(plugins)
    app.command()(schema)
    app.command()(check)


def plugins(
    stage: Annotated[str | None, typer.Argument(help="Only this stage, such as anonymize or staypoints.")] = None,
) -> None:
    """List the installed plugins with their parameters."""
    from rich.console import Console
    from rich.table import Table

    from odanon import registry
    from odanon.errors import OdanonError

    if stage is not None and stage not in registry.STAGES:
        raise OdanonError(f"there is no stage {stage!r}; the stages are {', '.join(registry.STAGES)}")
    console = Console()
    for found in (found for name in registry.STAGES if stage in (None, name) for found in registry.installed(name)):
        console.print(f"\n[bold]{found.stage}: {found.name}[/bold]  [dim]({found.distribution})[/dim]")
        if isinstance(found, registry.Broken):
            console.print(f"  [red]broken: {found.why}[/red]", highlight=False)
            continue
        console.print(f"  {found.summary}", highlight=False)
        table = Table(box=None, padding=(0, 2), show_header=False)
        for parameter in found.parameters:
            table.add_row(f"  {parameter.name}", parameter.type, parameter.default, parameter.description)
        if table.row_count:
            console.print(table)


def schema(
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Print the JSON Schema of product files, for editors that complete and check YAML."""
    from odanon.product.schema import product_schema

    text = product_schema()
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text)


def check(
    files: Annotated[list[Path], typer.Argument(help="Product files.", exists=False)],
) -> None:
    """Check product files without running anything."""
    from odanon.product import load_product

    for path in files:
        product = load_product(path)
        typer.echo(f"{path}: {product.product} is fine ({product.title})")
