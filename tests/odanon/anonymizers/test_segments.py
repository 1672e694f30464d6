"""Joint segments: a flow is split where every segment is safe or empty, and the auditor has nothing to subtract."""

import pandas as pd
import privacy_city as city
import pytest
from privacy_city import CITY, MONDAY, people, published, tables

from odanon.anonymizers.atg.joint import AtgJoint
from odanon.anonymizers.segments import split_by_segment
from odanon.errors import OdanonError
from odanon.gate.audit.auditor import audit
from odanon.gate.verifier import verify
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release

PROMISE = AtgJoint(k=10, suppression=0.1)
ROWS = people(1500, days=1)
SEGMENTS = {f"sex={sex}": part for sex, part in ROWS.groupby("sex")}


def matrix(rows: pd.DataFrame) -> ODMatrix:
    return ODMatrix.from_frame(rows, CITY, CITY)


@pytest.fixture(scope="module")
def whole() -> Release:
    return city.release(ROWS)


@pytest.fixture(scope="module")
def parts(whole: Release) -> dict[str, Release]:
    return split_by_segment(whole, {name: matrix(rows) for name, rows in SEGMENTS.items()}, PROMISE, CITY, CITY)


def test_every_part_keeps_the_promise(parts: dict[str, Release]) -> None:
    for name, rows in {**SEGMENTS, "all": ROWS}.items():
        assert len(parts[name].flows)
        assert verify(rows, promise=Promise(k=10), **tables(parts[name])) == []


def test_a_flow_is_split_or_whole_and_never_both(whole: Release, parts: dict[str, Release]) -> None:
    def pairs(made: Release) -> set[tuple[str, str]]:
        return set(zip(made.flows["origin"], made.flows["destination"], strict=True))

    split = pairs(parts["sex=F"]) | pairs(parts["sex=M"])
    assert split | pairs(parts["all"]) == pairs(whole)
    assert not split & pairs(parts["all"])


def test_nothing_is_lost(whole: Release, parts: dict[str, Release]) -> None:
    assert sum(made.flows["trips"].sum() for made in parts.values()) == whole.flows["trips"].sum()


def test_the_auditor_passes_the_parts_and_refuses_separate_tables(parts: dict[str, Release]) -> None:
    inputs = {**SEGMENTS, "all": ROWS}
    joint = [published(inputs[name], "joint", segment=name, made=made) for name, made in parts.items()]
    assert audit(joint, []) == []
    separate = [published(rows, "apart", segment=name) for name, rows in SEGMENTS.items()]
    assert audit(separate, [published(ROWS, "total")])


def test_the_total_is_published_only_when_the_auditor_allows(whole: Release, parts: dict[str, Release]) -> None:
    """Beside a joint release the same total adds nothing; a total with other areas gives people away."""
    inputs = {**SEGMENTS, "all": ROWS}
    joint = [published(inputs[name], "joint", segment=name, made=made) for name, made in parts.items()]
    assert audit([published(ROWS, "total", product="total", made=whole)], joint) == []
    assert audit([published(ROWS, "total", product="total", algorithm="atg-homogeneous")], joint)


def test_an_empty_segment_does_not_stop_a_split() -> None:
    one_way = pd.DataFrame({"origin": "1x0y0", "destination": "1x1y1", "person": range(12), "sex": "F", "trips": 1})
    both = one_way.assign(origin="1x4y4", person=range(100, 112), sex=["F", "M"] * 6)
    rows = pd.concat([one_way, both]).assign(time=pd.Timestamp(MONDAY))
    made = split_by_segment(
        city.release(rows), {sex: matrix(part) for sex, part in rows.groupby("sex")}, PROMISE, CITY, CITY
    )
    assert made["F"].flows["trips"].tolist() == [12]
    assert made["M"].flows.empty
    assert made["all"].flows["trips"].tolist() == [12]


def test_a_segment_cannot_be_called_all(whole: Release) -> None:
    with pytest.raises(OdanonError, match="stands for everybody"):
        split_by_segment(whole, {"all": matrix(ROWS)}, PROMISE, CITY, CITY)
