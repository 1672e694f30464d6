"""Whether a release is still what was sealed: works offline, on a folder or through a store."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odanon.errors import OdanonError
from odanon_assets.lake.files import sha256, to_json
from odanon_assets.stores.content import SEAL, content_digests, seal_of

if TYPE_CHECKING:
    import pandas as pd
    from geopandas import GeoDataFrame

MANIFEST = "release.json"
_PARTS = {"flows.parquet", "zones.parquet", "report.html"}


def folder_problems(folder: Path) -> list[str]:
    """What differs between the files of a release's folder and its manifest; one changed byte is found."""
    path = folder / MANIFEST
    if not path.is_file():
        raise OdanonError(f"{folder} holds no {MANIFEST}; give the folder of a release")
    manifest, problems = read_sealed(path.read_bytes())
    if problems:
        return problems
    named = manifest.get("files", {})
    found = {entry.name for entry in folder.iterdir()} - {MANIFEST}
    problems = [f"{name} is missing" for name in sorted(named.keys() - found)]
    problems += [f"{name} is not part of the release" for name in sorted(found - named.keys())]
    problems += [f"{name} was changed" for name in sorted(named.keys() & found) if sha256(folder / name) != named[name]]
    if problems or not named.keys() >= _PARTS:
        return problems or ["the manifest does not name all files of a release"]
    return content_problems(manifest, *read_parts(folder))


def read_parts(folder: Path) -> tuple["pd.DataFrame", "GeoDataFrame", str]:
    """Flows, zones and report from the files of a release."""
    import geopandas
    import pandas as pd

    flows = pd.read_parquet(folder / "flows.parquet")
    zones = geopandas.read_parquet(folder / "zones.parquet").drop(columns="bbox", errors="ignore")
    return flows, zones, (folder / "report.html").read_text(encoding="utf-8")


def read_sealed(text: bytes) -> tuple[dict[str, Any], list[str]]:
    """A manifest and what is wrong with its seal."""
    try:
        manifest = json.loads(text.decode())
        whole = manifest.get(SEAL) == seal_of(manifest) and to_json(manifest).encode() == text
    except (ValueError, AttributeError):
        return {}, ["the manifest is not readable"]
    return manifest, [] if whole else ["the manifest was changed"]


def content_problems(manifest: dict[str, Any], flows: "pd.DataFrame", zones: "GeoDataFrame", report: str) -> list[str]:
    """Which of a release's parts no longer have the digests that the manifest names."""
    found = content_digests(flows, zones, report)
    return [f"the {part} were changed" for part, digest in found.items() if manifest["content"].get(part) != digest]
