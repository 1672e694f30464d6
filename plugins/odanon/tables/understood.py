"""What a command understands of a table before it does anything: how it is written, and which columns mean what."""

import itertools
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from odanon.errors import OdanonError
from odanon.geo.h3cells import cell_names
from odanon.hierarchies.named import USUAL
from odanon.model.matrix import not_counts
from odanon.reading.files import listed
from odanon.tables.columns import Progress as RowsRead
from odanon.tables.columns import whole_labels
from odanon.tables.coordinates import named_lat_lon, pair_of, whereabouts
from odanon.tables.guess import Guess, guess, person_column
from odanon.tables.look import Seen
from odanon.tables.read import TableInput

_ENDS = ("origin", "destination")
_COUNTED = ("persons", "vehicles", "population")
_SAID = (
    "weight",
    "timezone",
    "resolution",
    "crs",
    "tile_weights",
)  # options of a table with a value, beside those that are proposed
_DEGREES = 360  # the largest longitude that somebody may write
_SIGNS = {"\t": "tab", True: "yes", False: "no"}  # values of --csv-set as they are written


def with_ends(table: TableInput, console: Console) -> TableInput:
    """The table with the columns of its ends found by their names where nobody named them; what was found out is told."""
    seen = table.seen
    if seen.notes:
        told(console, f"{table.path.name}: {', '.join(seen.notes)}")
    if table.time is not None and table.time in seen.names and table.timezone is None and not _zoned(seen, table.time):
        told(console, f"times in {table.time!r} say no offset and are taken as UTC; name their zone with --timezone")
    unnamed = [side for side in _ENDS if getattr(table, side) == side and side not in seen.names]
    found = guess(seen)
    sides = {side: column for side in unnamed if (column := getattr(found, side)) is not None}
    for side, column in sides.items():
        told(console, f"{side}: {column}, by its name; another one is named with --{side}")
    table = replace(table, **sides)
    if where := _where(table, table.origin):
        told(console, where)
    return table


def _where(table: TableInput, origin: str | None) -> str:
    """Where the first rows lie, of columns of degrees that may be swapped for all that their size tells, whatever they are called."""
    if table.crs is not None or origin is None or origin in table.seen.names or "," not in origin:
        return ""
    pair = pair_of("--origin", origin)
    first, second = (table.seen.numbers(table.seen.find(name, "--origin")) or [] for name in pair)
    place = whereabouts(first, second)
    if not place:
        return ""
    swapped = shlex.quote(f"{pair[1]},{pair[0]}")
    remedy = (
        "the columns have each other's names: rename them"
        if named_lat_lon(pair)
        else f"write --origin {swapped}, and --destination likewise"
    )
    return f"trips start around {place}; if that is the wrong place, {remedy}"


def refuse_uncounted(table: TableInput, unit: str) -> None:
    """What k counts is never guessed: without a column of people it can only be trips, and somebody must say so."""
    if unit not in _COUNTED or table.person is not None:
        return
    likely = person_column(name for name in table.seen.names if name not in (table.origin, table.destination))
    named = f"--person {shlex.quote(likely)}" if likely else "--person COLUMN"
    raise OdanonError(
        f"unit {unit} needs a person id on every row and no column of {table.path.name} was named; add {named}, or --unit trips if"
        " it is enough that k trips are behind a flow, all of which may be one person's"
    )


@contextmanager
def while_reading(console: Console, name: str) -> Iterator[tuple[Progress, RowsRead]]:
    """A bar that counts rows while they are read, and says afterwards what is done."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"reading {name} ...", total=None)
        yield progress, lambda rows, total: progress.update(task, completed=rows, total=total)


def told(console: Console, sentence: str) -> None:
    """A line beside the output, as it is."""
    console.print(sentence, highlight=False, markup=False, soft_wrap=True)


@dataclass(frozen=True)
class Proposal:
    """What would be done with a table of which nothing was said, and what is still to be said."""

    command: str
    columns: dict[str, Any]
    lines: tuple[str, ...]
    lacking: tuple[str, ...]

    def show(self) -> None:
        for line in self.lines:
            typer.echo(line)
        for line in self.lacking:
            typer.echo(f"  ? {line}")
        typer.echo("nothing is written yet; to do it" + (", once that is settled:" if self.lacking else ":"))
        typer.echo(f"  {self.command}")

    def accepted(self, table: TableInput) -> TableInput:
        """The table read as it is proposed."""
        return replace(table, **self.columns)


def proposal(
    table: TableInput, unit: str, k: int, algorithm: str, suppression: float, others: Sequence[str] = ()
) -> Proposal:
    """The meaning of the columns, what would be made of them, and the whole command; `others` are words of it that are about neither."""
    seen = table.seen
    table.check()
    _find_named(table)
    used = {table.person, table.weight, table.time}
    found = guess(seen, used)
    bins = _bin(table)
    ends = {side: _end(table, found, side) for side in _ENDS}
    person, count = table.person or found.person, table.count or found.count
    lacking = [
        f"which column is the {side}? Name it with --{side}; there are {seen.listed}"
        for side, column in ends.items()
        if column is None
    ]
    if unknown := unit in _COUNTED and person is None:
        lacking.append(
            f"no column looks like ids of people: name it with --person, or say --unit trips if it is enough that k trips are behind a flow,"
            f" all of which may be one person's; there are {seen.listed}"
        )
    if unit == "population" and table.weight is None:
        lacking.append("which column is the weight of a row's person? Name it with --weight")
    if why := not_counts(np.array(seen.numbers(count) or (), np.float64)) if count not in (None, "1") else "":
        lacking.append(f"column {count!r} {why}")
    if count is None and None not in ends.values():
        question = table.uncounted(
            str(ends["origin"]), str(ends["destination"]), person, {*ends.values(), *used, person}
        )
        lacking += [question] if question else []
    maps = _map(table, seen, ends)
    lacking += maps.lacking
    lines = [
        f"{table.path.name}: about {seen.rows:,} rows" + (f"; {', '.join(seen.notes)}" if seen.notes else ""),
        *(f"  {side:12} {column or '?'}{maps.meaning if column else ''}" for side, column in ends.items()),
        *(f"  {'':12} {where}" for where in [_where(table, ends["origin"])] if where),
        f"  {'person':12} {person or '?'}" + (f": k counts different {unit}" if unit in _COUNTED and person else ""),
        f"  {'count':12} " + (f"{count}: trips of a row" if count and count != "1" else "every row is one trip"),
        f"  {'time':12} " + _when(table, found),
        f"it would make flows of at least {k} {_units(unit)} with {algorithm}, at most {suppression:.0%} of the trips left out or told coarsely",
    ]
    words = ["odanon", "anonymize", str(table.path)]
    words += [word for side, column in ends.items() for word in (f"--{side}", column or "COLUMN")]
    words += ["--person", person or "COLUMN"] if person or unknown else []
    words += ["--count", count] if count else []
    words += ["--time", table.time] if table.time else []
    words += ["--bin", bins] if bins else []
    words += [*maps.words, *_given(table)]
    words += ["-k", str(k), "--unit", unit, *others, "--out", str(release_folder(table))]
    named = {**ends, "person": person, "count": count, "bin": bins}
    columns: dict[str, Any] = {name: column for name, column in named.items() if column is not None}
    return Proposal(shlex.join(words), columns, tuple(lines), tuple(lacking))


def _units(unit: str) -> str:
    return "persons, and k_population of weight," if unit == "population" else unit


def release_folder(table: TableInput) -> Path:
    """The folder that is proposed, in which nothing lies yet."""
    name = f"{table.path.name.partition('.')[0]}-release"
    numbered = (Path(name if number == 1 else f"{name}-{number}") for number in itertools.count(1))
    return next(folder for folder in numbered if not folder.exists())


def _given(table: TableInput) -> list[str]:
    """What else somebody said of the table, in words of the command line."""
    said = {name: value for name in _SAID if (value := getattr(table, name)) != getattr(TableInput, name)}
    words = [word for name, value in said.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    words += [f"--{name.replace('_', '-')}" for name in ("drop_missing", "drop_unknown") if getattr(table, name)]
    usual = USUAL.get(table.hierarchy, {})
    parameters = {name: value for name, value in table.hierarchy_parameters.items() if usual.get(name) != value}
    words += [word for name, value in parameters.items() for word in ("--hierarchy-set", f"{name}={value}")]
    return words + [
        word for name, value in table.csv.items() for word in ("--csv-set", f"{name}={_SIGNS.get(value, value)}")
    ]


@dataclass(frozen=True)
class _Map:
    meaning: str
    words: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


def _map(table: TableInput, seen: Seen, ends: Mapping[str, str | None]) -> _Map:
    """Where the tiles lie, as far as the columns tell."""
    origin = ends["origin"]
    if table.zones is not None:
        words = ("--zones", str(table.zones), "--zone-id", table.zone_id, "--hierarchy", table.hierarchy)
        return _Map(": zones", words, _unknown(table, seen, ends))
    tree = () if table.hierarchy == TableInput.hierarchy else ("--hierarchy", table.hierarchy)
    if origin is None:
        return _Map("", tree)
    if "," in origin and origin not in seen.names:
        return _coordinates(table, seen, origin, tree)
    if _are_cells(seen.sample[origin]):
        return _Map(": H3 cells", tree)
    if Path(table.hierarchy).suffix:
        return _Map(f": tiles of the tree in {table.hierarchy}", tree)
    question = "the tiles are no H3 cells: say where they lie with --zones FILE --zone-id COLUMN"
    return _Map(": names of zones", ("--zones", "FILE", "--zone-id", "COLUMN", "--hierarchy", "ward"), (question,))


def _unknown(table: TableInput, seen: Seen, ends: Mapping[str, str | None]) -> tuple[str, ...]:
    """The question what becomes of zones that the layer does not have, as far as the first rows show some."""
    samples = [seen.sample.get(str(column), []) for column in ends.values()]  # coordinates name no zones
    found = [
        table.map.unknown(whole_labels(pd.Series(texts, dtype=pd.CategoricalDtype()))) for texts in samples if texts
    ]
    names = sorted({name for unknown in found for name in unknown})
    if not names or table.drop_unknown:
        return ()
    return (f"{table.zones} has no zones {listed(names)}: add them there, or leave their rows out with --drop-unknown",)


def _coordinates(table: TableInput, seen: Seen, origin: str, tree: tuple[str, ...]) -> _Map:
    """Coordinates are degrees, unless they cannot be and nobody has named their system."""
    meaning = f": coordinates, put into H3 cells of resolution {table.resolution}"
    numbers = [number for name in pair_of("--origin", origin) for number in seen.numbers(name) or ()]
    if table.crs is not None or not numbers or median(map(abs, numbers)) <= _DEGREES:
        return _Map(meaning, tree)
    question = "the coordinates are no degrees but metres or feet: which projected system is it? Name it with --crs, such as EPSG:2154"
    return _Map(meaning, (*tree, "--crs", "EPSG:CODE"), (question,))


def _are_cells(labels: list[str]) -> bool:
    return bool(labels) and cell_names(labels) is not None


def _end(table: TableInput, found: Guess, side: str) -> str | None:
    named = getattr(table, side)
    return named if named != side or side in table.seen.names else getattr(found, side)


def _when(table: TableInput, found: Guess) -> str:
    if table.time is not None:
        bins = _bin(table)
        return (
            f"{table.time}, cut into {bins} by the clock of {table.zone.key}"
            if bins
            else f"{table.time}: names of time bins"
        )
    if found.time is None:
        return "all rows together"
    return f"all rows together; --time {found.time} --bin 1h would tell hours as well"


def _bin(table: TableInput) -> str | None:
    """How times are cut: as somebody says, else instants into hours and dates into days; names of bins are not."""
    if table.time is None or table.bin is not None or not table.seen.time_formats(table.time):
        return table.bin
    return "1h" if table.seen.has_clock(table.time) else "day"


def _find_named(table: TableInput) -> None:
    """Columns that somebody named are there, each once."""
    for option in ("origin", "destination", "person", "count", "weight", "time"):
        named = getattr(table, option)
        if named is None or (option in _ENDS and named == option) or (option, named) == ("count", "1"):
            continue
        pair = option in _ENDS and named not in table.seen.names and "," in named
        for name in pair_of(f"--{option}", named) if pair else (named,):
            table.seen.find(name, f"--{option}")


def _zoned(seen: Seen, column: str) -> bool:
    return not seen.time_formats(column) or seen.zoned(column)
