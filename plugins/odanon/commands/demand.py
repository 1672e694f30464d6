"""`odanon demand`: synthetic travellers from a census, a travel survey and origin-destination matrices."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from odanon.demand.run import Run, Stage
from odanon.demand.settings import load_demand
from odanon.demand.stages.summary import LINES, summary

PANEL = ("Demand", 1)
Settings = Annotated[Path, typer.Argument(metavar="FILE", help="YAML file that names the tables and methods.")]
Out = Annotated[Path | None, typer.Option(help="Folder to write; without it, one named as the file names itself.")]

demand = typer.Typer(
    help="Synthetic travellers: agents of a census with days of a survey, calibrated and placed by matrices. For instance:"
    " `odanon demand run city.yaml --out city`.",
    no_args_is_help=True,
)


@demand.command("prepare")
def prepare(file: Settings, out: Out = None) -> None:
    """Read and check all tables, and filter the days of the survey.

    Every stage leaves its tables in the folder `work` of the output; what was made from the same before is not made again. For
    instance: `odanon demand prepare city.yaml --out city`.
    """
    _until(file, out, "prepare")


@demand.command("match")
def match(file: Settings, out: Out = None) -> None:
    """Give every agent the day of a respondent, after the stage before.

    For instance: `odanon demand match city.yaml --out city`.
    """
    _until(file, out, "match")


@demand.command("calibrate")
def calibrate(file: Settings, out: Out = None) -> None:
    """Weigh agents so that their trips lie at the times of the matrices, after the stages before.

    For instance: `odanon demand calibrate city.yaml --out city`.
    """
    _until(file, out, "calibrate")


@demand.command("place")
def place(file: Settings, out: Out = None) -> None:
    """Give every activity a zone by the matrices, after the stages before.

    For instance: `odanon demand place city.yaml --out city`.
    """
    _until(file, out, "place")


@demand.command("evaluate")
def evaluate(file: Settings, out: Out = None) -> None:
    """Tell how well agents fit what they were made from, after the stages before; nothing but their tables is written.

    For instance: `odanon demand evaluate city.yaml --out city`.
    """
    _until(file, out, "evaluate")


@demand.command("run")
def run(file: Settings, out: Out = None) -> None:
    """Make agents and activities, and write the folder: all stages, tables, files for MATSim and eqasim, a report.

    For instance: `odanon demand run city.yaml --out city`.
    """
    made, folder = _run(file, out)
    with _bars(made):
        made.write(folder)
    for line in summary(made.evaluation):
        typer.echo(line)
    typer.echo(
        f"written to {folder}; report.html shows it, and README.md says what this is and what must be said of it"
    )


def _until(file: Path, out: Path | None, stage: Stage) -> None:
    made, folder = _run(file, out)
    with _bars(made):
        figures = made.until(stage)
    for line in summary(figures) if stage == "evaluate" else LINES[stage](figures):
        typer.echo(line)
    typer.echo(f"kept in {made.kept.folder}; `odanon demand run {file} --out {folder}` goes on from here")


def _run(file: Path, out: Path | None) -> tuple[Run, Path]:
    settings = load_demand(file)
    folder = out or Path(settings.demand)
    return Run(settings, folder), folder


@contextmanager
def _bars(made: Run) -> Iterator[None]:
    """A line for every stage while it is made."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks = {}

        def told(stage: str, done: int, of: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=None)
            progress.update(tasks[stage], completed=done, total=of if done or of > 1 else None)

        made.progress = told
        yield
