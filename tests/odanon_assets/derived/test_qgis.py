"""What QGIS makes of an export and of the views of a database: the real one, without a desktop, draws both."""

import json
import os
import subprocess
from pathlib import Path

import geopandas
import numpy as np
import pytest
from bundles import DAY, accept, bundle, town_zones
from PIL import Image
from shapely.geometry import MultiPolygon, box
from sqlalchemy.engine import make_url

from odanon_assets.derived.export import Format, export
from odanon_assets.stores.postgis import PostgisStore

SCRIPT = Path(__file__).parents[2] / "support" / "qgis_map.py"
PYTHON = "/usr/bin/python3"  # that QGIS was built for
SIDE = 6
DARK, FILL = (8, 48, 107), (244, 241, 234)  # of the busiest lines, and of zones


def without_ours() -> dict[str, str]:
    """The environment of another Python, which must not see our packages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "QT_QPA_PLATFORM": "offscreen"}


def has_qgis() -> bool:
    asked = [PYTHON, "-c", "import qgis.core"]
    return Path(PYTHON).exists() and subprocess.run(asked, env=without_ours(), capture_output=True).returncode == 0


pytestmark = [
    pytest.mark.skipif(not os.environ.get("ODANON_STRESS"), reason="draws with a real QGIS: set ODANON_STRESS=1"),
    pytest.mark.skipif(bool(os.environ.get("ODANON_STRESS")) and not has_qgis(), reason="run deploy/setup/qgis.sh"),
]


def block_of_squares() -> geopandas.GeoDataFrame:
    zones = town_zones([f"z{at}" for at in range(SIDE * SIDE)])
    squares = [box(at % SIDE, at // SIDE, at % SIDE + 1, at // SIDE + 1) for at in range(len(zones))]
    return zones.set_geometry([MultiPolygon([square]) for square in squares], crs="EPSG:4326")


def drawn(image: Path, styles: Path, *layers: str) -> list[dict]:
    """What QGIS says of the layers that it has drawn into an image."""
    command = [PYTHON, str(SCRIPT), str(image), str(styles), *layers]
    done = subprocess.run(command, env=without_ours(), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def share_of(image: Path, colour: tuple[int, int, int]) -> float:
    """How much of an image has about a colour; symbols let a little of what is below shine through."""
    pixels = np.asarray(Image.open(image).convert("RGB")).astype(int)
    return float((np.abs(pixels - colour).max(axis=2) < 40).mean())


def test_qgis_opens_the_geopackage_and_the_views_as_the_same_map(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_ROOT", str(tmp_path / "root"))
    store = PostgisStore(database)
    store.publish(bundle(rows=300, zones=block_of_squares()), accept)
    export(store, "town", tmp_path / "out", [Format.gpkg], DAY, DAY)
    package = tmp_path / "out" / "town.gpkg"
    names = ("desire_lines", "zones")

    of_file = drawn(tmp_path / "file.png", package, *(f"ogr:{package}|layername={name}" for name in names))
    url = make_url(database)
    at = (
        f"dbname='{url.database}' host={url.host} port={url.port} user='{url.username}' password='{url.password or ''}'"
    )
    views = (
        f'postgres:{at} key=\'{key}\' srid=4326 type={kind} table="published"."{name}" (geometry)'
        for name, key, kind in (("desire_lines", "line_key", "LineString"), ("zones", "zone_key", "MultiPolygon"))
    )
    of_views = drawn(tmp_path / "views.png", package, *views)

    lines = geopandas.read_file(package, layer="desire_lines")
    assert of_file == of_views
    assert [layer["features"] for layer in of_file] == [len(lines), SIDE * SIDE]
    assert [layer["renderer"] for layer in of_file] == [
        "graduatedSymbol",
        "singleSymbol",
    ]  # of layer_styles, not by default
    assert of_file[0]["classes"][0].startswith(f"{lines['trips'].min()} to ")
    for image in (tmp_path / "file.png", tmp_path / "views.png"):
        assert share_of(image, DARK) > 0.0005
        assert share_of(image, FILL) > 0.2
    one, other = (
        np.asarray(Image.open(tmp_path / name).convert("RGB")).astype(int) for name in ("file.png", "views.png")
    )
    assert np.abs(one - other).mean() < 1
