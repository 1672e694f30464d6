"""Origin areas of ATG-Lattice lie inside each other: everything behind an anonymiser takes that as it is."""

import numpy as np
import pandas as pd
import privacy_city as city
import pytest
from privacy_city import CITY, people, published, tables

from odanon.anonymizers.lattice.lattice import AtgLattice
from odanon.anonymizers.segments import split_by_segment
from odanon.door import release
from odanon.gate.audit.auditor import audit
from odanon.gate.verifier import verify
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release
from odanon.risk.report import risk_report

ROWS = people(1500, days=1)
OD = ODMatrix.from_frame(ROWS, CITY, CITY)
SEGMENTS = {f"sex={sex}": part for sex, part in ROWS.groupby("sex")}


@pytest.fixture(scope="module", params=[False, True], ids=["flows", "rests"])
def made(request: pytest.FixtureRequest) -> Release:
    return city.release(ROWS, "atg-lattice", rests=request.param)


def test_areas_of_flows_are_nested_on_both_sides(made: Release) -> None:
    at = {label: node for node, label in enumerate(CITY.label)}
    flows = made.flows[made.flows["kind"] == "flow"]
    for side in ("origin", "destination"):
        nodes = np.array(sorted({at[label] for label in flows[side]}))
        assert (CITY.is_ancestor(nodes[:, None], nodes[None, :]).sum(axis=0) > 1).any()


def test_the_door_and_the_verifier_take_them(made: Release) -> None:
    assert verify(ROWS, promise=Promise(k=10), **tables(made)) == []
    through = release({None: OD}, CITY, AtgLattice(rests=made.parameters["rests"]))
    assert through.releases[None].flows["trips"].sum() == made.flows["trips"].sum()


def test_risk_figures_are_told(made: Release) -> None:
    risks = risk_report(OD, made, CITY, CITY)
    assert len(risks.flows) == len(made.flows)
    assert 0 < risks.flows["prosecutor"].max() <= 0.1
    assert risks.origins["homogeneity"].between(0, 1).all()


def told_elsewhere(whole: Release, part: Release) -> pd.DataFrame:
    ends = ["origin", "destination"]
    mine = pd.MultiIndex.from_frame(part.flows[ends].astype(str))
    return whole.flows[~pd.MultiIndex.from_frame(whole.flows[ends].astype(str)).isin(mine)]


def test_segments_are_split_and_the_auditor_has_nothing_to_subtract(made: Release) -> None:
    matrices = {name: ODMatrix.from_frame(rows, CITY, CITY) for name, rows in SEGMENTS.items()}
    parts = split_by_segment(made, matrices, AtgLattice(), CITY, CITY)
    inputs = {**SEGMENTS, "all": ROWS}
    for name, part in parts.items():
        assert len(part.flows)
        assert verify(inputs[name], promise=Promise(k=10), **tables(part), beside=told_elsewhere(made, part)) == []
    assert sum(part.flows["trips"].sum() for part in parts.values()) == made.flows["trips"].sum()
    assert audit([published(inputs[name], "x", segment=name, made=part) for name, part in parts.items()], []) == []
