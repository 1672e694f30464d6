"""The file of `odanon demand`: which tables, which methods, and what has to be said of the survey."""

from datetime import date, time
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, SkipValidation, field_validator, model_validator

from odanon import protocols
from odanon.demand.calibrators.integers import Method
from odanon.demand.contracts import COLUMNS, STEPS, Table
from odanon.plugin import Duration
from odanon.product.choices import PluginChoice
from odanon.product.clock import Clock
from odanon.product.load import load_file
from odanon.product.sections import Section

Key = Literal["age", "gender", "occupation", "car", "home_status", "canton"]  # as in odanon.demand.matching


class Input(Section):
    """A table: its path, or a mapping that also tells what its columns and words mean."""

    path: Path | None = Field(None, description="Parquet or CSV file; zones also GeoParquet, GeoPackage or GeoJSON")
    columns: dict[str, str] = Field({}, description="our name of a column: its name in the file")
    values: dict[str, dict[str, str | None]] = Field({}, description="by column, a word of the file: what it means")
    csv: dict[str, Any] = Field({}, description="how a CSV file is written: delimiter, decimal, encoding, header")

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        """A path alone, and words that YAML reads as numbers."""
        if isinstance(value, str):
            return {"path": value}
        if isinstance(value, dict) and isinstance(value.get("values"), dict):
            _refuse_switches(value["values"])
            words = {
                name: {str(word): None if mine is None else str(mine) for word, mine in each.items()}
                if isinstance(each, dict)
                else each
                for name, each in value["values"].items()
            }
            return {**value, "values": words}
        return value

    @field_validator("csv")
    @classmethod
    def _known(cls, value: dict[str, Any]) -> dict[str, Any]:
        if strange := set(value) - {"delimiter", "decimal", "encoding", "header"}:
            raise ValueError(
                f"{sorted(strange)[0]} says nothing of a CSV file; use delimiter, decimal, encoding, header"
            )
        return value

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if self.path is None and getattr(self, "published", None) is None:
            raise ValueError("no file is named; write its path")
        return self


def _refuse_switches(values: dict[Any, Any]) -> None:
    """YAML takes some words for switches, and does not tell which was written."""
    for name, each in values.items():
        said = [*each, *each.values()] if isinstance(each, dict) else []
        if any(isinstance(word, bool) for word in said):
            raise ValueError(f'values of {name} have a word that YAML reads as true or false; put it in quotes: "yes"')


class OdInput(Input):
    """Trips between zones by step: a table, or what a product has published of a month."""

    published: str | None = Field(None, description="folder or address in place of a path, as `odanon.open` takes it")
    product: str | None = Field(None, description="the product there")
    month: str | None = Field(None, description="the month, such as 2026-03")
    reading: Literal["auto", "even", "fitted", "prior"] = Field("auto", description="how published areas are read back")
    days: str | None = Field("working", description="the type of days of which one is made, such as working")
    holidays: tuple[date, ...] = Field(
        (), description="days of the month to leave out, where releases do not know them"
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.published is None:
            return self
        if self.path is not None:
            raise ValueError("there are a path and a published place; keep one of them")
        if self.product is None or self.month is None:
            raise ValueError("what was published is named by product and month; add both")
        return self


class InputFiles(Section):
    """The tables; docs/demand.md says what each holds."""

    zones: Input
    census: Input
    survey_people: Input
    survey_trips: Input
    od: OdInput
    commute: Input | None = Field(None, description="commuters by commune, to compare with")

    @model_validator(mode="after")
    def _known_columns(self) -> Self:
        for table, columns in COLUMNS.items():
            given: Input | None = getattr(self, table)
            for key in (*given.columns, *given.values) if given else ():
                if key not in columns:
                    raise ValueError(f"{table} has no column {key!r} to be named; it has {', '.join(columns)}")
        return self

    def named(self) -> dict[Table, Input]:
        """The tables that are given."""
        return {table: found for table in COLUMNS if (found := getattr(self, table)) is not None}


class Filter(Section):
    """What of a survey's day a phone would show (003 appendix 7.6)."""

    min_activity: Duration = Field("20min", validate_default=True, description="activities this short are passed by")
    min_trip_m: float = Field(100, ge=0, description="trips this short, in metres, lead nowhere else")


class Match(Section):
    """Who gets whose day (003 section 4.3.6)."""

    min_matches: int = Field(
        20, ge=1, description="respondents to choose from; keys are dropped until there are so many"
    )
    keys: tuple[Key, ...] = Field(
        get_args(Key), min_length=1, description="what agent and respondent agree on, important first"
    )
    min_donors: int = Field(5, ge=1, description="respondents who must have an agenda, or nobody gets it")

    @field_validator("keys")
    @classmethod
    def _each_once(cls, value: tuple[Key, ...]) -> tuple[Key, ...]:
        if len(set(value)) < len(value):
            raise ValueError("a key stands twice; list each once")
        return value


class Calibrate(PluginChoice):
    stage: ClassVar[str] = "calibrate"
    instance: SkipValidation[protocols.Calibrator] = Field(exclude=True, repr=False)


class Place(PluginChoice):
    stage: ClassVar[str] = "place"
    instance: SkipValidation[protocols.Placer] = Field(exclude=True, repr=False)


class Demand(Section):
    """One synthetic population: from a census, a survey and matrices to agents with places."""

    demand: str = Field(pattern=r"^[a-z][a-z0-9-]{0,62}$", description="name: lower-case letters, digits, hyphens")
    seed: int = Field(ge=0, description="the same seed gives the same agents")
    steps: tuple[Clock, ...] = Field(STEPS, validate_default=True, description="clock times at which steps start")
    inputs: InputFiles
    filter: Filter = Filter()
    match: Match = Match()
    calibrate: Calibrate = Field(default_factory=lambda: Calibrate.model_validate("raking"))
    integers: Annotated[Method, Field(description="how coefficients become whole people")] = "trs"
    place: Place = Field(default_factory=lambda: Place.model_validate("factor-graph"))
    licence: str = Field(min_length=1, description="what the survey's licence asks to be said; it goes with the agents")

    @field_validator("steps")
    @classmethod
    def _in_order(cls, value: tuple[time, ...]) -> tuple[time, ...]:
        if not value or value[0] != time() or list(value) != sorted(set(value)):
            raise ValueError(
                'list the start times of steps in order from 00:00 on, such as ["00:00", "06:00", "10:00"]'
            )
        return value

    @property
    def clock(self) -> tuple[str, ...]:
        """The start times of steps as text."""
        return tuple(f"{step:%H:%M}" for step in self.steps)


def load_demand(path: str | Path) -> Demand:
    """The settings in a file; paths in it start at its folder."""
    found, folder = load_file(Path(path), Demand), Path(path).parent
    moved: dict[str, Input] = {}
    for table, given in found.inputs.named().items():
        update: dict[str, Any] = {} if given.path is None else {"path": folder / given.path}
        published = getattr(given, "published", None)
        if published is not None and "://" not in published:
            update["published"] = str(folder / published)
        moved[table] = given.model_copy(update=update)
    return found.model_copy(update={"inputs": found.inputs.model_copy(update=moved)})
