"""What is published: `odanon sql`, `flow`, `export`, `verify`, `supersede`, `purge` and `odanon db`."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

    from odanon.product import Product
    from odanon_assets.stores.interface import Act, Store

ProductName = Annotated[str, typer.Argument(help="Name of the product, as in its file in pipelines/.")]
UrlVariable = Annotated[
    str, typer.Option("--url-from", help="Environment variable that holds the database URL (never the URL itself).")
]
ByName = Annotated[str, typer.Option("--by", help="Who answers for it; goes to the audit log.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; goes to the audit log.")]
Moment = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M"])]

db = typer.Typer(help="The PostGIS database: create the schema and roles, check them.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    for command in (sql, flow, export, verify, supersede, purge):
        app.command()(command)
    app.add_typer(db, name="db")


def sql(
    query: Annotated[str, typer.Argument(help="A query on the views flows, zones, releases and metrics.")],
    product: Annotated[
        str | None, typer.Option(help="Ask the store of this product; without it, the embedded store.")
    ] = None,
) -> None:
    """Query what is published: with DuckDB on the embedded store, in the database on PostGIS.

    For instance: `odanon sql "select origin_zone, sum(trips) from flows group by 1 order by 2 desc limit 10"`.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = _store(product).query(query)
    table = Table(box=box.SIMPLE)
    for name in rows.columns:
        table.add_column(Text(str(name)))
    for row in rows.head(50).itertuples(index=False, name=None):
        table.add_row(*(Text(str(value)) for value in row))
    Console().print(table)
    if len(rows) > 50:
        typer.echo(f"the first 50 of {len(rows):,} rows")


def flow(
    product: ProductName,
    origin: Annotated[Path, typer.Option("--from", help="GeoJSON (or any vector file) with the area of departure.")],
    destination: Annotated[Path, typer.Option("--to", help="The area of arrival.")],
    since: Moment = None,
    until: Moment = None,
) -> None:
    """Estimate the trips from one drawn area to another, with flows spread evenly over the ground of their zones.

    Times are local to the product; without them, everything published counts.
    """
    chosen = _product(product)
    first, last = (
        moment.replace(tzinfo=chosen.zone) if moment is not None else bound
        for moment, bound in ((since, datetime(1, 1, 3, tzinfo=UTC)), (until, datetime(9999, 12, 1, tzinfo=UTC)))
    )
    from odanon_assets.stores.choice import open_store

    trips = open_store(chosen).flow(product, _area(origin), _area(destination), first, last)
    typer.echo(f"{trips:,.1f} trips")


def export(
    product: ProductName,
    out: Annotated[Path, typer.Option(help="Folder for the files; it must be new or empty.")],
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="geoparquet, csv or gpkg; may be given several times.")
    ] = None,
    first: Annotated[datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First window.")] = None,
    last: Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last window, included.")] = None,
) -> None:
    """Write published flows and zones as GeoParquet, CSV or GeoPackage, with a datapackage.json."""
    from odanon.errors import OdanonError
    from odanon_assets.stores.choice import open_store
    from odanon_assets.stores.export import Format
    from odanon_assets.stores.export import export as write

    wanted = formats or [Format.geoparquet.value]
    unknown = sorted(set(wanted) - {kind.value for kind in Format})
    if unknown:
        raise OdanonError(f"there is no format {unknown[0]!r}; choose from {', '.join(Format)}")
    bounds = [moment.date() if moment is not None else None for moment in (first, last)]
    count = write(open_store(_product(product)), product, out, [Format(kind) for kind in wanted], *bounds)
    typer.echo(f"{count} releases written to {out}; datapackage.json describes the files")


def verify(
    release: Annotated[str, typer.Argument(help="Folder of a release, or the id of one in a store.")],
) -> None:
    """Compare a release with its sealed manifest; a folder needs no store and no network."""
    from odanon.errors import OdanonError
    from odanon_assets.stores.seal import folder_problems

    if Path(release).is_dir():
        problems = folder_problems(Path(release))
    else:
        problems = _store(_known_product(release)).problems(release)
    if problems:
        raise OdanonError(f"the release is not what was published: {'; '.join(problems)}")
    typer.echo("the release is what was published: manifest, flows, zones and report agree")


def supersede(
    product: ProductName,
    day: Annotated[datetime, typer.Option("--date", formats=["%Y-%m-%d"], help="The window.")],
    by: ByName,
    reason: Reason,
) -> None:
    """Replace a published window by what the last run of that day made; verified, named and audited."""
    from odanon_assets.chain.published import published
    from odanon_assets.lake.lake import Lake
    from odanon_assets.lake.places import default_root
    from odanon_assets.stores.choice import open_store
    from odanon_assets.stores.interface import Act

    chosen = _product(product)
    figures = published(
        chosen,
        Lake(default_root()),
        day.date(),
        zoning=chosen.zoning.instance,
        store=open_store(chosen),
        act=Act(by, reason),
    )
    typer.echo(f"{product} {day.date()} shows {figures['release_id']}")


def purge(
    product: ProductName,
    by: ByName,
    reason: Reason,
    day: Annotated[datetime | None, typer.Option("--date", formats=["%Y-%m-%d"], help="One window.")] = None,
    expired: Annotated[
        bool, typer.Option("--expired", help="Windows past publish.retention, data of people past retention.")
    ] = False,
) -> None:
    """Delete the tables of published windows for good; manifests and audit log stay, the windows stay closed.

    With --expired also rows of people and pseudonym keys of days that are older than the product's `retention`.
    """
    from odanon.errors import OdanonError
    from odanon_assets.stores.choice import open_store
    from odanon_assets.stores.interface import Act

    chosen = _product(product)
    if (day is None) != expired:
        raise OdanonError("give either --date or --expired")
    store, act, today = open_store(chosen), Act(by, reason), datetime.now(chosen.zone).date()
    if expired and chosen.publish.retention is None and chosen.retention is None:
        raise OdanonError(f"{product} keeps everything for ever; its file declares no retention nor publish.retention")
    windows = [day.date()] if day is not None else _expired(chosen, store, today)
    count = sum(store.purge(product, window, act) for window in windows)
    typer.echo(f"{count} windows purged")
    if expired and chosen.retention is not None:
        forgotten = _forget(chosen, today - chosen.retention, act)
        typer.echo(f"rows of people and keys of {forgotten} days deleted")


@db.command("init")
def init(url_from: UrlVariable = "ODANON_DB_URL") -> None:
    """Create or upgrade schemas, tables, functions and roles; safe to repeat."""
    from odanon_assets.stores import schema

    schema.init(_url(url_from))
    typer.echo("the database is ready; grant odanon_reader, odanon_publisher or odanon_admin to its users")


@db.command("check")
def check(url_from: UrlVariable = "ODANON_DB_URL") -> None:
    """Say what is missing or too open in the database."""
    from odanon_assets.stores import schema

    findings = schema.check(_url(url_from))
    for finding in findings:
        typer.echo(f"- {finding}")
    if findings:
        raise typer.Exit(1)
    typer.echo("nothing is missing and nothing is too open")


def _url(variable: str) -> str:
    import os

    from odanon.errors import OdanonError

    url = os.environ.get(variable)
    if not url:
        raise OdanonError(f"the variable {variable} is not set; put the database URL into it")
    return url


def _product(name: str) -> "Product":
    from odanon.errors import OdanonError
    from odanon.product import load_products
    from odanon_assets.lake.places import products_folder

    for product in load_products(products_folder()):
        if product.product == name:
            return product
    raise OdanonError(f"no product is called {name[:100]!r} in {products_folder()}")


def _store(product: str | None) -> "Store":
    from odanon_assets.lake.places import default_root
    from odanon_assets.stores.choice import open_store
    from odanon_assets.stores.embedded import EmbeddedStore

    return EmbeddedStore(default_root()) if product is None else open_store(_product(product))


def _known_product(release: str) -> str | None:
    """The product of a release id when there is a file for it; a release may outlive the file."""
    from odanon.product import load_products
    from odanon_assets.lake.places import products_folder

    name = release.rsplit("-", 2)[0]
    return name if any(product.product == name for product in load_products(products_folder())) else None


def _area(path: Path) -> "BaseGeometry":
    import geopandas

    from odanon.errors import OdanonError

    try:
        layer = geopandas.read_file(path)
    except Exception:
        raise OdanonError(f"{path} is not a vector file that can be read; give a GeoJSON with a polygon") from None
    if layer.empty or layer.crs is None:
        raise OdanonError(f"{path} holds no area with a coordinate reference system; give a GeoJSON with a polygon")
    return layer.geometry.to_crs("EPSG:4326").union_all()


def _expired(product: "Product", store: "Store", today: date) -> list[date]:
    retention: timedelta | None = product.publish.retention
    windows = [date.fromisoformat(day) for day in store.windows(product.product)]
    return [] if retention is None else [day for day in windows if day < today - retention]


def _forget(product: "Product", before: date, act: "Act") -> int:
    """Delete what is kept of people of the days before a date; how many days there were."""
    from odanon_assets.lake.lake import Lake
    from odanon_assets.lake.places import default_root

    lake = Lake(default_root())
    days = [day for day in lake.personal_days(product.product, product.data_sha256) if day < before]
    for day in days:
        lake.forget(product.product, product.data_sha256, day, act.by_name, act.reason)
    return len(days)
