"""The gate in front of publication: the verifier on the files of a day (PRIVACY rule 2)."""

from datetime import date

import pandas as pd

from odanon import registry
from odanon.privacy.verify import Finding, verify
from odanon.product import Product
from odanon_assets.lake import Lake


def verify_day(product: Product, lake: Lake, day: date) -> list[Finding]:
    """All broken rules over the time bins of a day; counts of one rule are added up."""
    folder = lake.read(product.product, "anonymized", day)
    parameters = lake.figures(product.product, "anonymized", day)["parameters"]
    rows = pd.read_parquet(lake.read(product.product, "od", day) / "person_rows.parquet")
    flows = pd.read_parquet(folder / "flows.parquet")
    assignment = pd.read_parquet(
        folder / "assignment.parquet", columns=["time_bin", "origin", "destination", "trips", "flow"]
    )
    areas = pd.read_parquet(folder / "areas.parquet", columns=["time_bin", "side", "area", "tiles"])
    strangers = int((~flows["time_bin"].isin(rows["time_bin"])).sum())
    findings = [Finding("time-bins", strangers, "flows in time bins without input")] if strangers else []
    overlapping = registry.find("anonymize", parameters["algorithm"]).cls.overlapping
    for time_bin, part in rows.groupby("time_bin"):
        assigned = assignment[assignment["time_bin"] == time_bin]
        tiles = areas[areas["time_bin"] == time_bin].explode("tiles").rename(columns={"tiles": "tile"})
        findings += verify(
            part,
            flows[flows["time_bin"] == time_bin],
            *(tiles.loc[tiles["side"] == side, ["area", "tile"]] for side in ("origin", "destination")),
            suppressed_trips=int(assigned.loc[assigned["flow"] < 0, "trips"].sum()),
            k=parameters["k"],
            unit=parameters["unit"],
            contribution_cap=parameters["contribution_cap"],
            assignment=assigned[["origin", "destination", "flow"]] if overlapping else None,
        )
    return _add_up(findings)


def _add_up(findings: list[Finding]) -> list[Finding]:
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        key = finding.rule, finding.explanation
        counts[key] = counts.get(key, 0) + finding.count
    return [Finding(rule, count, explanation) for (rule, explanation), count in counts.items()]
