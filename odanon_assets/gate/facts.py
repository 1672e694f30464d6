"""What names a release and says with which others it shares input, read from the files of its day.

None of it is taken from the product's file, which may have changed since or been overridden (PRIVACY rule 19).
"""

import hashlib
import json
import os
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from odanon.gate.verifier import Finding
from odanon.model.files.times import TIMES
from odanon.model.perturbation import TABLE
from odanon.model.when.question import WEEKEND
from odanon.product import Product
from odanon.product.windows import bins_of, is_longer, matrix_days, told_bins, told_intervals
from odanon.reconstruct.prior import read_weights
from odanon_assets.gate.evidence import ROWS
from odanon_assets.lake.files import sha256
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.origin import choice_digest, origin_of, rules_of
from odanon_assets.lake.places import DAYS, rows_stage
from odanon_assets.stores.bundle import release_id


def release_facts(product: Product, lake: Lake, day: date) -> dict[str, Any]:
    """What names the release of a day's files and says with which others it shares input; part of its manifest."""
    parameters = lake.figures(product.product, "anonymized", day)["parameters"]
    origin = origin_of(lake, product.product, "anonymized", day)
    input_hash = sha256(lake.read(product.product, rows_stage(product), day) / ROWS)
    identity = {
        "input": input_hash,
        "parameters": parameters,
        "hierarchy": origin["hierarchy"],
        "odanon": version("odanon"),
    }
    told: dict[str, Any] = {}
    if is_longer(product):
        told |= _told_window(product, lake, day)
    if (lake.read(product.product, "anonymized", day) / TIMES).is_file():
        told["time"] = "adaptive"
    if product.publish.perturb is not None:
        told["perturb"] = TABLE.told(parameters["k"])
    identity |= told
    if (names := _names(lake.read(product.product, "hierarchy", day) / "tree.parquet")) is not None:
        identity["names"] = names  # of the same rows under other names, another release
    if (weights := product.zoning.weights) is not None:
        told["weights"] = {"columns": read_weights(weights).names, "sha256": sha256(weights)}
        identity |= {"weights": told["weights"]}
    return {
        "release_id": release_id(product.product, day, identity),
        "product": product.product,
        "window_start": day.isoformat(),
        "timezone": origin["timezone"],
        "data_sha256": origin["data_sha256"],
        "input_sha256": input_hash,
        "parameters": {
            **without_paths(parameters),
            "zoning": without_paths(origin["zoning"]),
            "hierarchy": without_paths(origin["hierarchy"]),
        },
        **({"segments": list(product.segmented)} if product.segmented else {}),
        **told,
    }


def _names(tree: Path) -> str | None:
    """A digest of what people call the nodes of a tree; None where nobody says."""
    import pyarrow.parquet as pq

    if "name" not in pq.read_schema(tree).names:
        return None
    told = pq.ParquetFile(tree).read(["label", "name"]).to_pydict()
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def other_origin(product: Product, lake: Lake, day: date) -> list[Finding]:
    """What the tables of a day were read from or made with that the product's file, as it is now, does not say."""
    made = origin_of(lake, product.product, "anonymized", day)
    said = {
        **_rules(product),
        **{name: getattr(product, name).model_dump(mode="json") for name in ("hierarchy", "anonymize")},
        **(window_rules(product, day) if is_longer(product) else {}),
    }
    rows = origin_of(lake, product.product, rows_stage(product), day)  # made again since, perhaps of other data
    if is_longer(product):  # days may have been made again since they were gathered
        days = {
            day: origin_of(lake, product.product, DAYS, date.fromisoformat(day)).get("read")
            for day in rows.get("read", {})
        }
        said["read"] = days
    other = sorted({name for told in (said, rows) for name, value in told.items() if made.get(name) != value})
    what = f"tables made with another {', '.join(other)} than the product's file says; run the day again as it says"
    return [Finding("origin", len(other), what)] if other else []


def other_rules(product: Product, made: dict[str, Any]) -> list[str]:
    """What the rows of a day were read from or made with that the product's file, as it is now, does not say."""
    return sorted(name for name, value in _rules(product).items() if made.get(name) != value)


def window_rules(product: Product, window: date) -> dict[str, str]:
    """How the rows of a longer window are laid over each other, as it is noted beside them: its length, and its time bins with
    their days, which follow from the calendar of the product's file and of the country."""
    bins = [
        [each.start.isoformat(), each.day_type, each.until, [*map(str, each.days)]]
        for each in bins_of(product, window).bins
    ]
    return {"window": product.publish.window, "bins": choice_digest({"bins": bins})}


def _rules(product: Product) -> dict[str, Any]:
    """What the product's file says of how the rows of people are made, as it is noted beside them."""
    return {
        **{name: getattr(product, name).model_dump(mode="json") for name in ("staypoints", "zoning")},
        "source": choice_digest(product.source.model_dump(mode="json")),
        "dataset": product.dataset,
        "timezone": product.timezone,
        **rules_of(product, "trips", "od", "people", "population"),
    }


def _told_window(product: Product, lake: Lake, window: date) -> dict[str, Any]:
    """What a manifest says of a window longer than a day: its length, the days that it lacks, and the days behind each time bin.

    Days and bins follow from the product's file and from the days that are there, of which the tables tell.
    """
    made = {*lake.days_of(product.product, window)}
    bins = told_bins(product, window, made)
    missing = [day.isoformat() for day in matrix_days(product, window) if day not in made]
    told: dict[str, Any] = {"window": product.publish.window, "days": len(made), "missing_days": missing, "bins": bins}
    if (weekend := product.calendar.weekend) != [*WEEKEND]:
        told["weekend"] = weekend  # readers need it to know which days may be of a type
    return told if product.od.time == "fixed" else {**told, "intervals": told_intervals(bins)}


def without_paths(value: Any) -> Any:
    """Parameters as readers may see them: instead of a path on the server, the digest of what lies there (PRIVACY rule 27)."""
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(item) for item in value]
    if not isinstance(value, str) or not _is_path(value):
        return value
    path = Path(value)
    return f"sha256:{sha256(path) if path.is_file() else hashlib.sha256(value.encode()).hexdigest()}"


def _is_path(text: str) -> bool:
    """Whether a parameter names a file, a folder (as some layers are) or an address; a plain word or a time zone does not."""
    path = Path(text)
    return "://" in text or path.is_absolute() or ((path.suffix != "" or os.sep in text) and path.exists())
