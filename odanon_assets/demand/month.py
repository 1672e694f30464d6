"""Travellers of a month of a product (DEMAND, From a release to travellers), made from what it has published and from the tables that its demand file names.

    demand/<product>/month=2026-03/    figures.json names the releases behind; work/ what stages hand to each other; then all that
                                       `odanon demand run` writes

Nothing that the operator has of people is read: this room imports neither lake nor chain. Agents copy agendas of survey respondents, so that the
folder is not for readers, and it goes with any release that it was made from (`odanon_assets.derived.folders`).
"""

import json
import shutil
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, Literal

from odanon.client.publications import Publications
from odanon.demand.released import releases_of
from odanon.demand.run import WORK, Run
from odanon.demand.settings import Demand, load_demand
from odanon.demand.write import write_folder
from odanon.errors import OdanonError
from odanon.model.when.question import WORKING
from odanon.product import Product
from odanon_assets.derived.folders import RECORD, RESTRICTED, Derived, made_from
from odanon_assets.stores.interface import Store

Part = Literal["demand_agents", "demand_places", "demand_metrics"]
Progress = Callable[[str, int, int], None]


def demand_folder(root: Path, product: Product, month: date) -> Path:
    """Where the travellers of a month lie."""
    return Derived(root, RESTRICTED).folder(product.product, _name(month))


def make_demand(
    root: Path, product: Product, month: date, store: Store, part: Part, progress: Progress
) -> dict[str, Any]:
    """Make agents, places or everything of a month; returns what `evaluation.json` says of it, as far as it is made.

    What was made from the same releases, tables and settings before is taken as it is; anything else is made again, parts before included.
    """
    settings, published = settings_of(product, month), Publications(store)[product.product]
    od = settings.inputs.od
    releases = releases_of(published, str(od.month), od.days, od.holidays)
    with _new(root, product, month, store, releases) as draft:
        run = Run(settings, draft, progress, published)
        found = {"inputs": run.prepared.figures, "matching": run.matching.figures}
        if found["inputs"]["od"]["published"]["releases"] != sorted(
            releases.values()
        ):  # what it names is what it goes with
            raise OdanonError(f"{product.product} has published a day of {month:%Y-%m} meanwhile; do the same again")
        found["calibration"] = run.calibration.figures
        if part == "demand_places":
            found["places"] = run.placement.figures
        if part == "demand_metrics":
            write_folder(run.result, draft)
            found = run.evaluation
    return found


def settings_of(product: Product, month: date) -> Demand:
    """What the demand file of a product says, for one of its months; days off are those of its calendar."""
    if product.demand is None:
        raise OdanonError(
            f"{product.product} names no file under demand; write one, such as demand: my-city-demand.yaml"
        )
    settings = load_demand(product.demand)
    given = settings.inputs.od
    if given.published is None or given.product != product.product:
        raise OdanonError(
            f"{product.demand}: inputs.od must be what {product.product} publishes; write published: FOLDER, product: {product.product}"
            " and any month, which stands for each"
        )
    days = [month.replace(day=day) for day in range(1, monthrange(month.year, month.month)[1] + 1)]
    off = [day for day in days if given.days == WORKING and not product.calendar.is_working(day)]
    od = given.model_copy(update={"month": f"{month:%Y-%m}", "holidays": (*sorted({*given.holidays, *off}),)})
    return settings.model_copy(update={"inputs": settings.inputs.model_copy(update={"od": od})})


@contextmanager
def _new(root: Path, product: Product, month: date, store: Store, releases: Mapping[date, str]) -> Iterator[Path]:
    """The month's folder, which appears when the block ends well and its releases still show; with the work of before, if made from these."""
    derived, name = Derived(root, RESTRICTED), _name(month)
    before = derived.folder(product.product, name)
    with derived.new(store, product.product, name, releases) as draft:
        if made_from(before) == sorted(releases.values()) and (before / WORK).is_dir():
            shutil.copytree(before / WORK, draft / WORK)
        yield draft
        told = {"releases": sorted(releases.values())}
        (draft / RECORD).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def _name(month: date) -> str:
    return f"month={month:%Y-%m}"
