"""What is checked after each stage of a day. The gate's own checks block; what only looks odd warns.

The publishing stage refuses by itself, whoever launches it; these checks make the same visible, early and per day.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from odanon.product import Product
from odanon_assets.checks.columns import TABLES
from odanon_assets.checks.history import usual
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake


@dataclass(frozen=True)
class Verdict:
    """What a check found: one sentence without anything personal, and release-level figures."""

    passed: bool
    sentence: str
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """A check of one stage; a blocking one ends the day, any other warns."""

    stage: str
    name: str
    blocking: bool
    description: str
    run: Callable[[Product, Lake, date], Verdict]


def _schema(stage: str) -> Callable[[Product, Lake, date], Verdict]:
    """Every promised column is there with its kind; the tables of ready sources have their own."""

    def run(product: Product, lake: Lake, day: date) -> Verdict:
        table = TABLES[stage]
        if stage in ("traces", "staypoints", "trips") and product.source.instance.enters != "traces":
            return Verdict(True, f"the source gives {product.source.instance.enters}, whose columns it checks itself")
        paths = sorted(lake.read(product.product, stage, day).glob(table.files))
        wrong = sorted({fault for path in paths for fault in _faults(path, {c.name: c.kind for c in table.columns})})
        sentence = f"{'; '.join(wrong)}" if wrong else f"{len(table.columns)} columns as declared"
        return Verdict(bool(paths) and not wrong, sentence if paths else f"there is no {table.files}")

    return run


def _faults(path: Path, promised: dict[str, str]) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds: dict[str, Callable[[pa.DataType], bool]] = {
        "text": lambda t: pa.types.is_large_string(t) or pa.types.is_string(t) or pa.types.is_dictionary(t),
        "integer": pa.types.is_integer,
        "number": lambda t: pa.types.is_floating(t) or pa.types.is_integer(t),
        "time": pa.types.is_timestamp,
        "date": pa.types.is_date,
    }
    schema = pq.read_schema(path)
    missing = [f"column {name} is missing" for name in promised if name not in schema.names]
    other = [
        f"column {name} is no {kind}"
        for name, kind in promised.items()
        if name in schema.names and not kinds[kind](schema.field(name).type)
    ]
    return missing + other


def _volume(stage: str, figure: str) -> Callable[[Product, Lake, date], Verdict]:
    """A count against the same weekday of the trailing weeks."""
    return _against_usual(stage, figure, lambda product: product.checks.max_change)


def _against_usual(
    stage: str, figure: str, limit_of: Callable[[Product], float]
) -> Callable[[Product, Lake, date], Verdict]:
    def run(product: Product, lake: Lake, day: date) -> Verdict:
        value = lake.figures(product.product, stage, day).get(figure)
        before = usual(product, lake, day, stage, figure)
        if value is None or before is None:
            return Verdict(True, "not enough earlier days to compare with")
        change = (value - before) / before if before else float(value != before)
        limit = limit_of(product)
        return Verdict(
            abs(change) <= limit,
            f"{figure} changed by {change:+.0%} against the median of the days before; the limit is {limit:.0%}",
            {"change": round(change, 3)},
        )

    return run


def _share(stage: str, figure: str, words: str, limit: str) -> Callable[[Product, Lake, date], Verdict]:
    """A share against a limit of the product file."""

    def run(product: Product, lake: Lake, day: date) -> Verdict:
        share, most = lake.figures(product.product, stage, day).get(figure, 0.0), getattr(product.checks, limit)
        if share <= most:
            return Verdict(True, f"{share:.2%} of {words}; the limit is {most:.1%}", {"share": round(share, 5)})
        return Verdict(False, f"{share:.1%} of {words}, above checks.{limit} = {most:.1%}", {"share": round(share, 5)})

    return run


def _rows_add_up(product: Product, lake: Lake, day: date) -> Verdict:
    seen = lake.figures(product.product, "traces", day)
    parts = sum(seen[name] for name in ("points", "quarantined", "duplicates", "outside_window"))
    missing = seen["points_read"] - parts
    return Verdict(missing == 0, "kept + quarantined + duplicates + outside the window = read" + _off(missing))


def _trips_add_up(product: Product, lake: Lake, day: date) -> Verdict:
    if product.source.instance.enters == "od":
        return Verdict(True, "the source gives OD rows; there are no trips before them")
    trips, od = (lake.figures(product.product, stage, day) for stage in ("trips", "od"))
    unknown = round(od["unknown_zone_share"] * trips["trips"])
    missing = trips["trips"] - od["od_trips"] - unknown - od["intrazonal_dropped"]
    return Verdict(missing == 0, "trips in the matrix + unknown zones + dropped within a tile = trips" + _off(missing))


def _volumes_add_up(product: Product, lake: Lake, day: date) -> Verdict:
    assigned = read_frame(lake.read(product.product, "anonymized", day) / "assignment.parquet", ["trips"])
    missing = lake.figures(product.product, "od", day)["od_trips"] - int(assigned["trips"].sum())
    return Verdict(missing == 0, "published + suppressed = trips of the matrix" + _off(missing))


def _off(missing: int) -> str:
    return "" if missing == 0 else " does not hold; a stage loses or invents rows"


def _in_time(product: Product, lake: Lake, day: date) -> Verdict:
    return Verdict(True, "the day was open, or nothing came after it was published")


def late_verdict(points: int, k: int) -> Verdict:
    """Data that came for a published day; numbers below k stay unsaid."""
    sentence = "the source changed after the day was published; what came is counted and not published"
    return Verdict(False, sentence, {"late_points": points} if abs(points) >= k else {})


def _covers(product: Product, lake: Lake, day: date) -> Verdict:
    tiles = lake.figures(product.product, "od", day)["tiles"], lake.figures(product.product, "hierarchy", day)["tiles"]
    return Verdict(tiles[0] <= tiles[1], f"the hierarchy has {tiles[1]} tiles, the matrix uses {tiles[0]}")


def _verifier(product: Product, lake: Lake, day: date) -> Verdict:
    from odanon_assets.gate.verification import verify_day

    return _of_findings(verify_day(product, lake, day), "every flow keeps its promise")


def _auditor(product: Product, lake: Lake, day: date) -> Verdict:
    from odanon_assets.gate.auditing import audit_day
    from odanon_assets.stores import open_store

    return _of_findings(
        audit_day(product, lake, day, open_store(product)), "no difference of releases isolates anybody"
    )


def _of_findings(findings: list[Any], well: str) -> Verdict:
    return Verdict(
        not findings, "; ".join(map(str, findings)) or well, {finding.rule: finding.count for finding in findings}
    )


def _budget(product: Product, lake: Lake, day: date) -> Verdict:
    share = lake.figures(product.product, "metrics", day)["S_share"]
    most = getattr(product.anonymize.instance, "suppression", 1.0)
    return Verdict(
        share <= most + 1e-9,
        f"{share:.1%} of the trips are suppressed; the budget is {most:.0%}",
        {"S": round(share, 4)},
    )


def _sealed(product: Product, lake: Lake, day: date) -> Verdict:
    from odanon_assets.stores import open_store

    store = open_store(product)
    release = store.released(product.product, day)
    problems = ["the window shows no release"] if release is None else store.problems(release)
    return Verdict(not problems, "; ".join(problems) or "what lies in the store is what the manifest seals")


LATE_DATA = Check("traces", "late_data", False, "Data for a published day is counted, not published.", _in_time)

CHECKS = (
    Check("traces", "schema", True, "The points have the declared columns.", _schema("traces")),
    Check("traces", "conservation", True, "Kept, quarantined, duplicate and outside rows add up.", _rows_add_up),
    Check(
        "traces",
        "quarantine",
        True,
        "The share of bad rows stays below checks.max_quarantined.",
        _share("traces", "quarantined_share", "the input rows are bad", "max_quarantined"),
    ),
    LATE_DATA,
    Check("traces", "volume", False, "Points against the trailing weeks.", _volume("traces", "points")),
    Check("staypoints", "schema", True, "The stays have the declared columns.", _schema("staypoints")),
    Check("staypoints", "volume", False, "Stays against the trailing weeks.", _volume("staypoints", "staypoints")),
    Check("trips", "schema", True, "The trips have the declared columns.", _schema("trips")),
    Check("trips", "volume", False, "Trips against the trailing weeks.", _volume("trips", "trips")),
    Check("od", "schema", True, "The matrix has the declared columns.", _schema("od")),
    Check("od", "conservation", True, "Trips in the matrix and those left out add up.", _trips_add_up),
    Check(
        "od",
        "unknown_zones",
        True,
        "The share of trips outside the zoning stays below checks.max_unknown_zone.",
        _share("od", "unknown_zone_share", "the trips lie outside the zoning", "max_unknown_zone"),
    ),
    Check("od", "volume", False, "OD pairs against the trailing weeks.", _volume("od", "od_pairs")),
    Check("hierarchy", "schema", True, "The tree has the declared columns.", _schema("hierarchy")),
    Check("hierarchy", "coverage", True, "Every tile of the matrix has a place in the tree.", _covers),
    Check("anonymized", "schema", True, "The flows have the declared columns.", _schema("anonymized")),
    Check("anonymized", "conservation", True, "Published and suppressed trips add up to the matrix.", _volumes_add_up),
    Check(
        "anonymized",
        "verifier",
        True,
        "Counts the people behind every flow again, from the rows before anonymisation, and checks that flows are "
        "disjoint and volumes add up. Shares no code with the anonymisers.",
        _verifier,
    ),
    Check(
        "anonymized",
        "auditor",
        True,
        "Compares the release with every published one of the same people: no difference may isolate fewer than k.",
        _auditor,
    ),
    Check("metrics", "suppression", False, "S, the suppressed share, stays within its budget.", _budget),
    Check(
        "metrics",
        "drift_S",
        False,
        "The suppressed share against the trailing weeks.",
        _against_usual("metrics", "S_share", lambda product: product.checks.max_drift),
    ),
    Check(
        "metrics",
        "drift_Gbar",
        False,
        "The mean generalisation error against the trailing weeks.",
        _against_usual("metrics", "Gbar", lambda product: product.checks.max_drift),
    ),
    Check("published", "sealed", True, "The release in the store agrees with its sealed manifest.", _sealed),
    Check("published", "volume", False, "Flows against the trailing weeks.", _volume("published", "flows")),
)
