"""Tables as layers of one GeoPackage, with the same bytes whenever it is written."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

_FIXED_DATE = "2000-01-01T00:00:00.000Z"  # a GeoPackage carries its date of writing; ours must not
_TIMES = {"DATETIME_PRECISION": "MILLISECOND"}  # as the standard writes them; old readers warn of others


def write_layers(path: Path, layers: Mapping[str, pd.DataFrame]) -> None:
    """Write tables, with shapes or without, in their order."""
    import pyogrio

    before = pyogrio.get_gdal_config_option("OGR_CURRENT_DATE")
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": _FIXED_DATE})
    try:
        for layer, table in layers.items():
            pyogrio.write_dataframe(table, path, layer=layer, driver="GPKG", layer_options=_TIMES)
    finally:
        pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": before})
