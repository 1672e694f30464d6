"""The seventh stage: what the anonymisation of a day cost, and what risk remains: figures for readers, tables for the publisher."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from odanon import registry
from odanon.metrics.declared import figures_of, is_ours
from odanon.metrics.generalisation import Generalisation
from odanon.metrics.left_out import LeftOut
from odanon.metrics.measure import told_by
from odanon.model.files.releases import read_releases
from odanon.model.ground import Ground
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.product import Product
from odanon.protocols import Metric
from odanon.reconstruct.prior import read_weights
from odanon.risk.bands import rounded
from odanon.risk.closeness import MOST_MOVED
from odanon.risk.figures import PREFIX
from odanon.risk.membership import membership_auc
from odanon.risk.report import RiskReport, risk_report
from odanon_assets.chain.anonymized import by_segment
from odanon_assets.chain.hierarchy import read_tree
from odanon_assets.chain.od import day_matrices, read_rows, rows_by_matrix
from odanon_assets.gate.counts import told_counts
from odanon_assets.gate.evidence import window_times
from odanon_assets.gate.facts import release_facts
from odanon_assets.lake.files import to_json, write_parquet, write_text
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.publisher.bundle import DECLARED

EXACT = "exact.json"  # the figures as they are, for the publisher alone
_log = logging.getLogger("odanon")


def metrics(product: Product, lake: Lake, day: date) -> dict[str, Any]:
    """Every metric of the product for each time bin, and combined for the day; the risk report.

    The figures are those that may be told: while fewer than k people are behind what no flow counts, they are of a day
    without those trips (PRIVACY rule 23). The exact ones lie beside them, for the publisher alone.
    """
    tree = read_tree(lake, product, day)
    parameters = lake.figures(product.product, "anonymized", day)["parameters"]
    times = window_times(product, lake, day)
    releases = read_releases(lake.read(product.product, "anonymized", day), tree, tree, parameters, times)
    # Areas of tiles are drawn only if a metric asks for them.
    ground = Ground.of(tree, tree, product.zoning.instance.tiles(tree.label[tree.tiles]))
    if ground is not None and product.zoning.weights is not None:
        ground = replace(ground, prior=read_weights(product.zoning.weights).of_nodes(tree))
    matrices = {at: replace(od, ground=ground) for at, od in day_matrices(lake, product, day, tree)}
    rows = rows_by_matrix(read_rows(lake, product, day), times)
    ids = {at: np.unique(part["person"]) if "person" in part else np.empty(0) for at, part in rows.items()}
    missing = LeftOut.of(matrices, releases, ids, parameters["k"])
    chosen = [metric.instance for metric in product.metrics]
    with lake.new(product.product, "metrics", day) as folder:
        exact, tables = _measured(chosen, matrices, releases)
        for metric, table in zip(product.metrics, tables, strict=True):
            write_parquet(table, folder / f"{metric.plugin}.parquet")
        write_text(folder / EXACT, to_json({**exact, "left_out_people": missing.everybody}))
        if others := [figure for metric in chosen if not is_ours(metric) for figure in figures_of(metric)]:
            write_text(folder / DECLARED, to_json([asdict(figure) for figure in others]))
        combined = _measured(chosen, *missing.worlds)[0] if missing.hidden else dict(exact)
        risk = _risk(rows if product.segmented else {}, matrices, releases, tree)
        if risk is not None:
            write_parquet(risk.flows, folder / "risk_flows.parquet")
            write_parquet(risk.origins, folder / "risk_origins.parquet")
            told = {**risk.public(parameters["k"], parameters["unit"]), **_membership(lake, parameters)}
            combined |= {f"{PREFIX}{name}": value for name, value in {**risk.restricted(), **told}.items()}
        counts = told_counts(product, lake, day, missing, rows, parameters["k"])
        people, release = missing.people, release_facts(product, lake, day)["release_id"]
        told_of: dict[str, Any] = {"left_out_people": people, "input_counts": counts, "release_id": release}
        if product.publish.perturb is not None:
            told_of["perturbed"] = True  # the figures are of the true numbers, and the platform has to know
        return write_figures(folder, {**combined, **told_of})


def _measured(
    chosen: Sequence[Metric], matrices: Mapping[datetime, ODMatrix], releases: Mapping[datetime, Release]
) -> tuple[dict[str, float], list[pd.DataFrame]]:
    """The day's figures, those of what was suppressed whatever metrics are chosen; and of each chosen one those by time bin."""
    figures, tables = _of_day(Generalisation(measure="trips"), matrices, releases)[0], []
    figures = {name: figures[name] for name in ("S", "S_share")}
    for metric in chosen:
        combined, table = _of_day(metric, matrices, releases)
        figures |= {name: value for name, value in combined.items() if name not in figures}
        tables.append(table)
    return figures, tables


def _of_day(
    metric: Metric, matrices: Mapping[datetime, ODMatrix], releases: Mapping[datetime, Release]
) -> tuple[dict[str, float], pd.DataFrame]:
    """What a metric tells of a day, and of each time bin."""
    combined, told = told_by(metric, matrices, releases)
    table = pd.DataFrame(told)
    table.insert(0, "time_bin", list(releases))
    return combined, table


def _risk(
    rows: Mapping[datetime, pd.DataFrame],
    matrices: Mapping[datetime, ODMatrix],
    releases: Mapping[datetime, Release],
    tree: Hierarchy,
) -> RiskReport | None:
    """The report over all time bins that have flows, None when there is none.

    Given the rows of a product with segments, it is of the flows as they are shown by segment.
    """
    shown = {at: release for at, release in releases.items() if len(release.flows)}
    reports = {}
    for at, release in shown.items():
        # The earth mover is the dear part; a day of many bins pays no more for it than one bin.
        report = risk_report(matrices[at], release, tree, tree, moved=max(MOST_MOVED // len(shown), 1))
        if at in rows:
            report = report.by_segment(by_segment(rows[at], matrices[at], release, tree))
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
