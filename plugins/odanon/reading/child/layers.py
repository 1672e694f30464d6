"""Vector layers as streams of raw columns: the wanted ones, `geometry` in WKB and `crs`; runs in the child process."""

import json
import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from odanon.reading.child.formats import parquet, present
from odanon.reading.child.unpack import Raw, RefusedError

# Formats whose files say what else to open: other files, addresses, or programs to run.
_ELSEWHERE = "ADBC,AmigoCloud,Carto,CSW,EEDA,Elasticsearch,GDALG,GPSBabel,HTTP,NGW,OAPIF,OGCAPI,OGR_VRT,PLSCENES,WFS"
# A GeoJSON file may name an address for its reference system, which GDAL would fetch. A proxy that cannot be is one way to
# forbid that; lists of hosts without a proxy would open it again.
_NO_WAY_OUT = {"GDAL_HTTP_PROXY": "none://odanon", "GDAL_HTTPS_PROXY": "none://odanon"}
_WAYS_AROUND = ("no_proxy", "NO_PROXY")
_DEGREES = "OGC:CRS84"  # of GeoParquet files that do not say


def layer_batches(path: str, size: int, columns: list[dict[str, Any]], layer: str | None) -> Raw:
    """The rows of a layer; the columns `geometry` and `crs` are what it calls its shapes and where they lie."""
    plain = [column for column in columns if column["source"] not in ("geometry", "crs")]
    read = _geoparquet if path.lower().endswith((".parquet", ".pq")) else _vectors
    return read(path, size, plain, layer)


def _geoparquet(path: str, size: int, columns: list[dict[str, Any]], _: str | None) -> Raw:
    with open(path, "rb") as file:
        told = json.loads((pq.read_metadata(file).metadata or {}).get(b"geo", b"{}"))
        name = told.get("primary_column")
        shape = told.get("columns", {}).get(name, {})
        crs = shape.get("crs", _DEGREES)
        if name is None or shape.get("encoding") != "WKB" or crs is None:
            raise RefusedError("no_shapes")
        wanted = [*columns, {"source": name, "kind": "shape"}]
        for batch, _lost in parquet(file, size, wanted):
            arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield _with_shapes(arrays, arrays.pop(name), crs if isinstance(crs, str) else json.dumps(crs)), 0


def _vectors(path: str, _: int, columns: list[dict[str, Any]], layer: str | None) -> Raw:
    """Every format that GDAL reads; in memory at once, which is limited."""
    os.environ.setdefault("GDAL_SKIP", _ELSEWHERE)
    os.environ.update(_NO_WAY_OUT)
    for name in _WAYS_AROUND:
        os.environ.pop(name, None)
    import pyogrio  # slow to import, and most files are no layers

    names = [column["source"] for column in columns]
    try:
        present(columns, pyogrio.read_info(path, layer=layer)["fields"].tolist())
        meta, _fids, shapes, fields = pyogrio.raw.read(path, layer=layer, columns=names)
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError, ValueError):
        raise RefusedError("no_layer") from None
    if shapes is None or meta["crs"] is None:
        raise RefusedError("no_shapes")
    arrays = dict(zip(meta["fields"].tolist(), (pa.array(field, from_pandas=True) for field in fields), strict=True))
    yield _with_shapes(arrays, pa.array(shapes, pa.large_binary()), meta["crs"]), 0


def _with_shapes(arrays: dict[str, pa.Array], shapes: pa.Array, crs: str) -> pa.RecordBatch:
    where = pa.DictionaryArray.from_arrays(pa.array([0] * len(shapes), pa.int32()), pa.array([crs]))
    return pa.RecordBatch.from_pydict({**arrays, "geometry": shapes, "crs": where})
