"""The rows of people of a product that its lake holds, as finely as they are asked for, and the setting that its file has now."""

from datetime import date, timedelta

import pandas as pd

from odanon import registry
from odanon.advise.measure import Method
from odanon.advise.rows import PeopleRows, TreeOver, own_columns
from odanon.advise.settings import DAY_MINUTES, Setting, bin_starts, cell_minutes
from odanon.errors import OdanonError
from odanon.hierarchies.over import tree_over
from odanon.product import Product
from odanon.product.windows import day_type, has_matrix
from odanon.protocols import Zoning
from odanon.tables.times import on_the_clock
from odanon_assets.chain.od import tile_labels, told_rows
from odanon_assets.lake.lake import Lake

_OF_PROMISE = ("k", "unit", "suppression")


def present_setting(product: Product) -> Setting:
    """What the product's file says."""
    return Setting(
        product.publish.window,
        bin_starts(product.od.bin),
        product.od.time == "adaptive",
        h3_resolution(product),
        product.anonymize.promise.k,
    )


def h3_resolution(product: Product) -> int | None:
    """The resolution of a product's tiles, where they are H3 cells."""
    return product.zoning.parameters["resolution"] if product.zoning.plugin == "h3" else None


def method_of(product: Product) -> Method:
    """The product's anonymiser with all of its promise but k."""
    told = product.anonymize.parameters
    others = {name: value for name, value in told.items() if name not in _OF_PROMISE}
    suppression = told.get("suppression", Method.suppression)
    return Method(product.anonymize.plugin, product.anonymize.promise.unit, suppression, others)


def known_bins(product: Product, bins: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """The time bins that the rows of the product can be counted by: those of a source of counts are never split."""
    if product.source.instance.enters != "od":
        return bins
    own = cell_minutes([bin_starts(product.od.bin)])
    return tuple(starts for starts in bins if cell_minutes([starts]) % own == 0)


def held_days(product: Product, lake: Lake, first: date | None, last: date | None) -> list[date]:
    """The days of a range whose trips the lake holds."""
    home = lake.folder(product.product, "trips", date.min).parent
    held = sorted(date.fromisoformat(path.name.removeprefix("date=")) for path in home.glob("date=*"))
    wanted = [day for day in held if has_matrix(product, day) and (first or day) <= day <= (last or day)]
    if not wanted:
        trial = " --trial" if lake.trial else ""
        raise OdanonError(
            f"{product.product}: no trips of these days are there; make some with `odanon run{trial}` first"
        )
    return wanted


def product_rows(product: Product, lake: Lake, days: list[date], cell: int, resolution: int | None) -> PeopleRows:
    """The rows of some days, by stretches of `cell` minutes and tiles of `resolution`."""
    zoning = _zoning(product, resolution)
    if not known_bins(product, (tuple(range(0, DAY_MINUTES, cell)),)):
        raise OdanonError(
            "--bins: the source counts trips by time bins of the product and none is split; try longer ones"
        )
    finer = product.model_copy(
        update={"od": product.od.model_copy(update={"bin": timedelta(minutes=cell), "unknown": "drop"})}
    )
    parts = []
    for day in days:
        with lake.holding(product.product, day):
            rows = told_rows(finer, lake, day, zoning)[0]
        clock = on_the_clock(rows["time_bin"].reset_index(drop=True), product.zone)
        parts.append(pd.concat([rows.reset_index(drop=True), clock], axis="columns"))
    rows = own_columns(pd.concat(parts, ignore_index=True))
    if rows.empty:
        raise OdanonError(f"{product.product}: nobody travels on these days; choose others with --from and --to")
    return PeopleRows(rows, _tree(product), resolution, lambda day: day_type(product, day), product.publish.window)


def _zoning(product: Product, resolution: int | None) -> Zoning:
    if resolution == h3_resolution(product):
        return product.zoning.instance
    if product.population is not None and product.population.zoning is None:
        raise OdanonError("--resolutions: the inhabitants are told by the product's own tiles; try coarser ones only")
    return _cells(product, resolution)


def _cells(product: Product, resolution: int | None) -> Zoning:
    """The product's zoning, with H3 cells of a resolution if one is given."""
    if resolution is None:
        return product.zoning.instance
    return registry.create("zoning", "h3", {**product.zoning.parameters, "resolution": resolution})


def _tree(product: Product) -> TreeOver:
    builder = product.hierarchy.instance
    return lambda rows, resolution: tree_over(_cells(product, resolution), builder, tile_labels(rows))[1]
