"""What may be asked and what is answered: the models that check requests and that OpenAPI is made from."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from odanon.errors import OdanonError
from odanon_assets.explore.limits import AREAS

Reading = Literal["auto", "even", "fitted", "prior"]
Longitude = Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)]
Latitude = Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
Position = tuple[Longitude, Latitude] | tuple[Longitude, Latitude, float]
Ring = Annotated[list[Position], Field(min_length=4)]
_YEAR = r"(19|20|21)\d{2}"
Moment = Annotated[
    str,
    StringConstraints(pattern=rf"^{_YEAR}-\d{{2}}-\d{{2}}(T\d{{2}}:\d{{2}}(:\d{{2}})?)?$"),
    Field(description="a date or a date-time on the local clock of the product", examples=["2026-03-02"]),
]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
_CLOCK = r"^([01]\d|2[0-3]):[0-5]\d-(([01]\d|2[0-3]):[0-5]\d|24:00)$"


class Asked(BaseModel):
    """Something that is sent to us; what nobody asks for is refused, not ignored."""

    model_config = ConfigDict(extra="forbid")


class WhenAsked(Asked):
    """The time that is asked for; everything published unless told."""

    since: Moment | None = None
    until: Annotated[Moment | None, Field(description="the end, which is not part of it")] = None
    month: Annotated[str, StringConstraints(pattern=rf"^{_YEAR}-(0[1-9]|1[0-2])$")] | None = None
    days: (
        Literal[
            "working",
            "saturday",
            "sunday_holiday",
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "sunday",
        ]
        | None
    ) = None
    clock: Annotated[str, StringConstraints(pattern=_CLOCK)] | None = None
    segment: Name | None = None

    @field_validator("since", "until")
    @classmethod
    def _exists(cls, value: str | None) -> str | None:
        if value is not None:
            datetime.fromisoformat(value)
        return value

    def told(self, zone: ZoneInfo) -> dict[str, Any]:
        """The arguments of the client. A time that clocks have twice is the first, one that they leave out as if they were not turned yet."""
        given = {name: value for name, value in self.model_dump().items() if value is not None}
        for name in given.keys() & {"since", "until"}:
            given[name] = datetime.fromisoformat(given[name]).replace(tzinfo=zone)
        return given


class Polygon(BaseModel):
    type: Literal["Polygon"]
    coordinates: Annotated[list[Ring], Field(min_length=1)]


class MultiPolygon(BaseModel):
    type: Literal["MultiPolygon"]
    coordinates: Annotated[list[Annotated[list[Ring], Field(min_length=1)]], Field(min_length=1)]


Geometry = Annotated[Polygon | MultiPolygon, Field(discriminator="type")]


class Named(BaseModel):
    name: Name


class Area(BaseModel):
    """A feature of GeoJSON with a name."""

    type: Literal["Feature"]
    properties: Named
    geometry: Geometry


class Areas(BaseModel):
    """GeoJSON in longitude and latitude."""

    type: Literal["FeatureCollection"]
    features: Annotated[list[Area], Field(min_length=1, max_length=AREAS)]


class MatrixAsked(Asked):
    areas: Areas
    when: WhenAsked = WhenAsked()
    reading: Reading = "auto"


class ProfileAsked(Asked):
    origin: Geometry
    destination: Geometry
    when: WhenAsked = WhenAsked()
    step: Literal["1h", "3h", "1d", "7d"] = "1h"
    fold: Literal["day", "week"] | None = None
    along: Literal["even", "surroundings"] = "even"
    reading: Reading = "auto"


class FileAsked(Asked):
    name: Annotated[str, StringConstraints(max_length=200)] = "areas.geojson"
    label: Annotated[str, StringConstraints(max_length=200)] | None = None


class ZoneAsked(Asked):
    id: Annotated[Name, Field(description="as `flows` names it")]


class Mistake(BaseModel):
    """What is wrong and what to do, in one sentence."""

    error: str


class BaseMap(BaseModel):
    tiles: str
    min_zoom: int
    max_zoom: int
    attribution: str


class ProductLine(BaseModel):
    name: str
    title: str
    timezone: str
    licence: str | None
    windows: int
    first: str | None
    last: str | None


class Catalogue(BaseModel):
    products: list[ProductLine]
    basemap: BaseMap | None


class Window(BaseModel):
    start: str
    end: Annotated[str, Field(description="the first day after it")]
    length: Literal["day", "week", "month"]
    status: Literal["published", "withdrawn", "purged"]
    missing: Annotated[list[str], Field(description="days inside it that its release is not of")]
    trips: float | None
    report: str | None


class Promise(BaseModel):
    k: int
    unit: str


class Product(BaseModel):
    name: str
    title: str
    timezone: str
    licence: str | None
    citation: str
    promise: Promise
    readings: list[Reading]
    segments: list[str]
    day_types: list[str]
    months: list[str]
    windows: list[Window]
    box: Annotated[list[float], Field(min_length=4, max_length=4, description="west, south, east, north")]


class Zones(BaseModel):
    """Columns, `name` where some zone has one; `rings` has, for each zone, rings [x0, y0, dx, dy, ...] in 1e-5 degrees, without the closing point."""

    id: list[str]
    name: Annotated[list[str], Field(description="what people call each, empty where nobody says")] = []
    level: list[int]
    tiles: list[int]
    km2: list[float]
    rings: list[list[list[int]]]


class FlowColumns(BaseModel):
    """Columns; `o` and `d` are positions in the zones, `rest` is 1 where a row tells the rest of its areas."""

    o: list[int]
    d: list[int]
    trips: list[float]
    rest: list[int]


class Flows(BaseModel):
    zones: Zones
    flows: FlowColumns
    trips: float
    left_out: Annotated[int, Field(description="number of further flows where the largest alone are sent")]


class Cell(BaseModel):
    origin: str
    destination: str
    low: float
    estimate: float
    high: float
    exact: float | None


class Matrix(BaseModel):
    areas: list[str]
    cells: list[Cell]
    reading: str
    note: str | None


class Step(BaseModel):
    """On the local clock; steps that are laid over each other are called by the time of the day or the week."""

    start: str
    end: str
    label: str
    low: float
    estimate: float
    high: float
    exact: float | None
    spread_over_hours: float | None
    days: Annotated[
        float | None, Field(description="over how many days a mean is, where steps are laid over each other")
    ]


class Profile(BaseModel):
    steps: list[Step]
    note: str | None


def sentence(problems: list[Any]) -> OdanonError:
    """The first mistake that a model found, without what was sent."""
    first = problems[0]
    where = ".".join(str(part) for part in first["loc"]) or "the question"
    what = re.sub(r"^Value error, ", "", first["msg"])
    return OdanonError(f"{where}: {what[:200]}; openapi.json describes what can be asked")
