"""The seventh stage: what the anonymisation of a day cost, and what risk remains: figures for readers, tables for the publisher."""

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

import pandas as pd

from odanon import registry
from odanon.metrics.generalisation import Generalisation
from odanon.metrics.measure import measured_window, numbers
from odanon.model.files.releases import read_releases
from odanon.model.ground import Ground
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.product import Product
from odanon.risk.bands import rounded
from odanon.risk.closeness import MOST_MOVED
from odanon.risk.figures import PREFIX
from odanon.risk.membership import membership_auc
from odanon.risk.report import RiskReport, risk_report
from odanon_assets.chain.anonymized import by_segment
from odanon_assets.chain.hierarchy import read_tree
from odanon_assets.chain.od import day_matrices, moment, read_rows
from odanon_assets.lake.files import to_json, write_parquet, write_text
from odanon_assets.lake.lake import Lake, write_figures

_log = logging.getLogger("odanon")


def metrics(product: Product, lake: Lake, day: date) -> dict[str, Any]:
    """Every metric of the product for each time bin, and combined for the day; the risk report."""
    tree = read_tree(lake, product, day)
    parameters = lake.figures(product.product, "anonymized", day)["parameters"]
    releases = read_releases(lake.read(product.product, "anonymized", day), tree, tree, parameters)
    # Areas of tiles are drawn only if a metric asks for them.
    ground = Ground.of(tree, tree, product.zoning.instance.tiles(tree.label[tree.tiles]))
    matrices = {at: replace(od, ground=ground) for at, od in day_matrices(lake, product, day, tree)}
    combined = _suppressed(matrices, releases)
    with lake.new(product.product, "metrics", day) as folder:
        for metric in product.metrics:
            figures = pd.DataFrame(
                [metric.instance.evaluate(matrices[time_bin], release) for time_bin, release in releases.items()]
            )
            combined |= numbers(metric.instance.combine(figures))
            figures.insert(0, "time_bin", list(releases))
            write_parquet(figures, folder / f"{metric.plugin}.parquet")
        rows = read_rows(lake, product, day) if product.segmented else None
        risk = _risk(rows, matrices, releases, tree)
        if risk is not None:
            write_parquet(risk.flows, folder / "risk_flows.parquet")
            write_parquet(risk.origins, folder / "risk_origins.parquet")
            told = {**risk.public(parameters["k"], parameters["unit"]), **_membership(lake, parameters)}
            combined |= {f"{PREFIX}{name}": value for name, value in {**risk.restricted(), **told}.items()}
        return write_figures(folder, combined)


def _suppressed(matrices: Mapping[datetime, ODMatrix], releases: Mapping[datetime, Release]) -> dict[str, float]:
    """S and its share, whatever metrics the product names: what may be told of the others depends on them."""
    figures = measured_window(matrices, releases, [Generalisation(measure="trips")])
    return {name: figures[name] for name in ("S", "S_share")}


def _risk(
    rows: pd.DataFrame | None,
    matrices: Mapping[datetime, ODMatrix],
    releases: Mapping[datetime, Release],
    tree: Hierarchy,
) -> RiskReport | None:
    """The report over all time bins that have flows, None when there is none.

    Given the rows of a product with segments, it is of the flows as they are shown by segment.
    """
    shown = {at: release for at, release in releases.items() if len(release.flows)}
    rows_of = {} if rows is None else {moment(at): part for at, part in rows.groupby("time_bin")}
    reports = {}
    for at, release in shown.items():
        # The earth mover is the dear part; a day of many bins pays no more for it than one bin.
        report = risk_report(matrices[at], release, tree, tree, moved=max(MOST_MOVED // len(shown), 1))
        if at in rows_of:
            made_by = _anonymizer(release.parameters)
            report = report.by_segment(by_segment(rows_of[at], matrices[at], release, made_by, tree))
        reports[at] = report
    return RiskReport.joined(reports, "time_bin") if reports else None


def _anonymizer(parameters: dict[str, Any]) -> Any:
    """The plugin that made a release."""
    asked = {name: value for name, value in parameters.items() if name != "algorithm"}
    return registry.create("anonymize", parameters["algorithm"], asked)


def _membership(lake: Lake, parameters: dict[str, Any]) -> dict[str, float]:
    """What the anonymiser scores in the fixed city, computed once for its parameters and kept: it takes seconds.

    Nobody there stands for others: of a population release its threshold of people is measured.
    """
    if parameters["unit"] == "population":
        parameters = {**parameters, "unit": "persons", "k_population": None}
    said = json.dumps(parameters, sort_keys=True)
    maker = registry.find("anonymize", parameters["algorithm"]).distribution
    made_by = version(maker) if maker != "unknown" else ""
    name = hashlib.sha256(f"{maker} {made_by} {said}".encode()).hexdigest()
    known = lake.root / "work" / ".membership" / f"{name}.json"
    if not known.exists():
        known.parent.mkdir(parents=True, exist_ok=True)
        write_text(known, to_json(_attacked(said)))
    return json.loads(known.read_text())


@cache
def _attacked(parameters: str) -> dict[str, float]:
    try:
        found = membership_auc(_anonymizer(json.loads(parameters)))
    except Exception as error:  # whatever a plugin does in a city that is not its own keeps no day from being published
        _log.warning("no membership figure: the anonymiser failed in the test city (%s)", type(error).__name__)
        return {}
    return {"membership_auc": rounded(found["released"], 2)} if "released" in found else {}
