"""`odanon plugins`: what is installed."""

from collections.abc import Iterator
from textwrap import fill
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from odanon import registry
from odanon.errors import OdanonError, one_line
from odanon.metrics.declared import refused_metrics

PANEL = ("Plugins", 1)
_BESIDE = 6  # columns around a name


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
        for line in _parameters(tuple(found.parameters), console.width):
            console.print(line, highlight=False, markup=False)


def _said(text: str) -> str:
    """What a stranger's package says, letter by letter."""
    return escape(one_line(text))


def _parameters(parameters: tuple[registry.Parameter, ...], width: int) -> Iterator[str]:
    """A line or more for each, what it means beside its name; written out, since tables of Rich take longer than all else."""
    column = max((len(each.name) for each in parameters), default=0) + _BESIDE
    for each in parameters:
        told = one_line(f"{each.type}, {each.default}: {each.description}")
        name = f"    {one_line(each.name)}".ljust(column)
        yield fill(told, max(width, 2 * column), initial_indent=name, subsequent_indent=" " * column)


def _limits(cls: type) -> Iterator[str]:
    """Which limits an anonymiser keeps and refuses, and whether its releases can be verified."""
    limits = cls.limits() if hasattr(cls, "limits") else {}
    for verb, wanted in (("keeps", True), ("refuses", False)):
        if named := [name for name, kept in limits.items() if kept is wanted]:
            yield f"{verb}: {', '.join(named)}"
    if not getattr(cls, "verifiable", True):
        yield "not verified: nobody can count its flows again, so that the pipeline does not publish them"
