"""`odanon plugins`: what is installed."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from odanon import registry
from odanon.errors import OdanonError, one_line
from odanon.metrics.declared import refused_metrics

PANEL = ("Plugins", 1)


def plugins(
    stage: Annotated[str | None, typer.Argument(help="Only this stage, such as anonymize or staypoints.")] = None,
) -> None:
    """List the installed plugins with their parameters.

    For instance: `odanon plugins anonymize`.
    """
    if stage is not None and stage not in registry.STAGES:
        raise OdanonError(f"there is no stage {stage!r}; the stages are {', '.join(registry.STAGES)}")
    console, refused = Console(), refused_metrics()
    for found in (found for name in registry.STAGES if stage in (None, name) for found in registry.installed(name)):
        console.print(f"\n[bold]{found.stage}: {_said(found.name)}[/bold]  [dim]({_said(found.distribution)})[/dim]")
        why = found.why if isinstance(found, registry.Broken) else None
        if found.stage == "metrics":
            why = why or refused.get(found.name)
        if isinstance(found, registry.Broken) or why is not None:
            console.print(f"  [red]broken: {_said(why or '')}[/red]", highlight=False)
            continue
        console.print(f"  {_said(found.summary)}", highlight=False)
        for line in _limits(found.cls) if found.stage == "anonymize" else ():
            console.print(f"  {line}", highlight=False)
        table = Table(box=None, padding=(0, 2), show_header=False)
        for each in found.parameters:
            table.add_row(f"  {each.name}", *map(_said, (each.type, each.default, each.description)))
        if table.row_count:
            console.print(table)


def _said(text: str) -> str:
    """What a stranger's package says, letter by letter."""
    return escape(one_line(text))


def _limits(cls: type) -> Iterator[str]:
    """Which limits an anonymiser keeps and refuses, and whether its releases can be verified."""
    limits = cls.limits() if hasattr(cls, "limits") else {}
    for verb, wanted in (("keeps", True), ("refuses", False)):
        if named := [name for name, kept in limits.items() if kept is wanted]:
            yield f"{verb}: {', '.join(named)}"
    if not getattr(cls, "verifiable", True):
        yield "not verified: nobody can count its flows again, so that the pipeline does not publish them"
