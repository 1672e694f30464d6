"""`odanon advise`: windows, time bins, resolutions and k tried on restricted data, and the trade-off drawn."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pandas as pd
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from odanon.advise.folder import check_folder, open_folder, write_advice
from odanon.advise.measure import FIGURES, Method
from odanon.advise.rows import PeopleRows, table_rows
from odanon.advise.runner import advice_table, tried
from odanon.advise.settings import (
    Grid,
    Setting,
    cell_minutes,
    time_bins,
    ways_in_time,
    whole_numbers,
    window_lengths,
)
from odanon.commands.table_options import with_table
from odanon.compare.plan import splits_time
from odanon.errors import OdanonError
from odanon.report.advice import render_advice
from odanon.tables.read import TableInput
from odanon_assets.advise.days import held_days, known_bins, method_of, present_setting, product_rows
from odanon_assets.commands.shared import find_product
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root

PANEL = ("One table", 3)
_TABLES = (".csv", ".parquet")
_PUBLISHED = ("published", "derived")  # folders of the root that are for readers
_BINS, _KS, _COARSER = "1h,3h,1d", "5,10,20", 2  # what is tried unless asked otherwise; steps of coarser tiles
_WIDEST = 1000
_MOST_STEPS = 6  # between the finest and the coarsest resolution
T = TypeVar("T")


@dataclass(frozen=True)
class _Asked:
    """What the options say, as text; None: what is usual."""

    k: str | None
    bins: str | None
    times: str | None
    resolutions: str | None
    windows: str | None

    def grid(self, present: Setting | None, finest: int | None, method: Method, plain: bool) -> Grid:
        """The values to try, all but windows; the usual ones have those of the present setting among them."""
        bins = time_bins(self.bins or _BINS)
        ks = whole_numbers("--k", self.k or _KS, 1)
        timed = splits_time(method.algorithm) and not plain
        adaptive = ways_in_time(self.times or ("fixed,adaptive" if timed else "fixed"))
        if True in adaptive and not timed:
            raise OdanonError("--times adaptive: needs atg-lattice, without segments or noise; choose fixed")
        return Grid(
            (),
            bins if self.bins or present is None else _with(present.starts, bins),
            adaptive,
            self._cells(finest),
            ks if self.k or present is None else tuple(sorted(_with(present.k, ks))),
        )

    def _cells(self, own: int | None) -> tuple[int | None, ...]:
        if self.resolutions is None:
            return (None,) if own is None else tuple(range(own, max(-1, own - _COARSER - 1), -1))
        if own is None:
            raise OdanonError("--resolutions: the tiles are no H3 cells, so there is one map only; leave it out")
        asked = whole_numbers("--resolutions", self.resolutions, 0, 15)
        if max(asked) - min(asked) > _MOST_STEPS:
            raise OdanonError(f"--resolutions: at most {_MOST_STEPS} steps apart, so that cells can be compared")
        return asked

    def lengths(self, data: PeopleRows) -> Any:
        """The windows to try."""
        if self.windows is None:
            return data.lengths
        asked = window_lengths(self.windows)
        data.refuse_uncounted(asked)
        return asked


@with_table
def advise(
    source: Annotated[
        TableInput,
        typer.Argument(
            metavar="PRODUCT|TABLE", help="A product whose trips the lake holds, or a Parquet or CSV table."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the advice, restricted; running again continues.")],
    k: Annotated[str | None, typer.Option("-k", "--k", help=f"Values of k with commas between; {_KS}.")] = None,
    bins: Annotated[str | None, typer.Option(help=f"Lengths of time bins; {_BINS}.")] = None,
    times: Annotated[str | None, typer.Option(help="fixed, adaptive or both: fixed,adaptive.")] = None,
    resolutions: Annotated[str | None, typer.Option(help="H3 resolutions; the present and two coarser ones.")] = None,
    windows: Annotated[str | None, typer.Option(help="day, week, month; all that the days tell apart.")] = None,
    first: Annotated[
        datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First day of a product.")
    ] = None,
    last: Annotated[
        datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day of a product, included.")
    ] = None,
    trial: Annotated[bool, typer.Option("--trial", help="The days of a product's trials.")] = False,
    algorithm: Annotated[str | None, typer.Option(help="Of a table: the anonymiser; atg-lattice.")] = None,
    unit: Annotated[str | None, typer.Option(help="Of a table: what k counts; persons.")] = None,
    suppression: Annotated[
        float | None, typer.Option(help="Of a table: largest share of trips left out or told coarsely; 0.10.")
    ] = None,
) -> None:
    """Try windows, time bins, resolutions and k on restricted data, and draw what each costs.

    A product: `odanon advise demo --k 5,10 --bins 1h,3h --out advice`.
    A table with a column of instants: `odanon advise trips.parquet --origin alat,alon --destination blat,blon --person user --time start --out advice`.
    Everything in the folder is RESTRICTED: figures of rows of people, to choose by and not to publish.
    """
    asked = _Asked(k, bins, times, resolutions, windows)
    check_folder(out, [default_root() / name for name in _PUBLISHED])
    own: dict[str, Any] = {"algorithm": algorithm, "unit": unit, "suppression": suppression}
    given = {name: value for name, value in own.items() if value is not None}
    if source.path.suffix in _TABLES or source.path.is_file():
        method = Method(**given)
        data, settings, present = _of_table(source, asked, method)
    else:
        if given:
            raise OdanonError(f"--{next(iter(given))} is for tables; a product's file says it")
        range_ = first and first.date(), last and last.date()
        data, settings, present, method = _of_product(str(source.path), range_, asked, trial)
    folder = open_folder(out)
    table = advice_table(_run(data, settings, method, folder), present)
    name = source.path.stem
    write_advice(folder, table, render_advice(f"Advice on {name}", table, FIGURES, _facts(name, data, table, method)))
    _print_edge(table)
    typer.echo(f"written to {out}: advice.html, advice.csv, advice.parquet; RESTRICTED, made from rows of people")


def _of_table(table: TableInput, asked: _Asked, method: Method) -> tuple[PeopleRows, tuple[Setting, ...], None]:
    if table.bin is not None:
        raise OdanonError("--bin: advice tries several lengths of time bins; name them with --bins")
    if asked.resolutions is not None:
        finest = max(whole_numbers("--resolutions", asked.resolutions, 0, 15))
        table = replace(table, resolution=finest if "," in table.origin else table.resolution)
    data = table_rows(table)
    grid = asked.grid(None, data.resolution, method, plain=False)
    if data.resolution is not None and max(each or 0 for each in grid.resolutions) > data.resolution:
        raise OdanonError(
            f"--resolutions: the table has cells of resolution {data.resolution}; try that or coarser ones"
        )
    return data, replace(grid, windows=asked.lengths(data)).settings(), None


def _of_product(
    name: str, days: tuple[Any, Any], asked: _Asked, trial: bool
) -> tuple[PeopleRows, tuple[Setting, ...], Setting, Method]:
    product = find_product(name)
    lake = Lake(default_root(), trial=trial or product.status == "trial")
    present, method = present_setting(product), method_of(product)
    plain = bool(product.segmented) or product.publish.perturb is not None
    grid = asked.grid(present, present.resolution, method, plain)
    if asked.bins is None:
        grid = replace(grid, bins=known_bins(product, grid.bins))
    cell = cell_minutes([present.starts, *grid.bins])
    finest = None if present.resolution is None else max(present.resolution, *(each or 0 for each in grid.resolutions))
    data = product_rows(product, lake, held_days(product, lake, *days), cell, finest)
    return data, replace(grid, windows=asked.lengths(data)).settings(present), present, method


def _run(
    data: PeopleRows, settings: tuple[Setting, ...], method: Method, folder: Path
) -> list[tuple[Setting, dict[str, Any]]]:
    outcomes = []
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(f"trying {len(settings)} settings", total=len(settings))
        for setting, outcome in tried(data, settings, method, folder / "settings"):
            outcomes.append((setting, outcome))
            why = f" ({outcome['message']})" if "message" in outcome else ""
            progress.console.print(f"{setting.label}: {outcome['status']}{why}", highlight=False, markup=False)
            progress.advance(task)
    return outcomes


def _facts(name: str, data: PeopleRows, table: pd.DataFrame, method: Method) -> dict[str, str]:
    days, pooled = data.days, ""
    for length in data.lengths[1:]:
        pooled += f", {len(data.windows(length))} {length}(s)"
    resolution = "" if data.resolution is None else f" of H3 resolution {data.resolution}"
    return {
        "byline": f"{name} · {days[0]} to {days[-1]}: {len(days)} day(s){pooled} with trips · finest tiles{resolution}",
        "summary": f"{len(table)} settings with {method.algorithm}, unit {method.unit}, asked to leave out or tell coarsely at most"
        f" {method.suppression:.0%} of the trips. Settings that leave out more, because too few travel in a window or a bin, are grey and never on the edge. Windows that lack days are tried with those that are there.",
    }


def _print_edge(table: pd.DataFrame) -> None:
    """The settings on the edge of the trade-off and the present one; no column is cut, however narrow the terminal."""
    if not table["edge"].any():
        typer.echo("no setting can be published; try longer windows, longer bins, coarser tiles or a smaller k")
        return
    shown = Table(box=None, title="RESTRICTED: the edge of the trade-off, by k", title_justify="left")
    for head in ("setting", *(figure.symbol or figure.name for figure in FIGURES), ""):
        shown.add_column(head, justify="left" if head in ("setting", "") else "right", no_wrap=True)
    for row in table[table["edge"] | (table["present"] & (table["status"] == "done"))].to_dict("records"):
        figures = (figure.in_words(row[figure.name]) for figure in FIGURES)
        shown.add_row(row["label"], *figures, "present" if row["present"] else "")
    width = Console(width=_WIDEST).measure(shown).maximum
    Console(width=width).print(shown)


def _with(own: T, others: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((own, *others)))
