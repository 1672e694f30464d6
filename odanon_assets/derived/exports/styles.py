"""How QGIS draws the layers of a GeoPackage: its table layer_styles, which QGIS reads by itself."""

from math import floor, log10
from xml.etree import ElementTree as Xml

import pandas as pd

_POLYGON, _LINE = "2", "1"  # QGIS's numbers of kinds of geometry
# From thin and pale to wide and dark: colour and millimetres of a class of lines.
_CLASSES = (
    ("#b9cfe0", 0.2),
    ("#86b0d1", 0.45),
    ("#4f8dbf", 0.9),
    ("#2166ac", 1.6),
    ("#0b3c73", 2.6),
)
_GREY = "#8f8f8f"
_STEPS = (1.0, 2.0, 5.0)


def layer_styles(lines: pd.DataFrame) -> pd.DataFrame:
    """The default styles of the layers zones and desire_lines, as rows of the table layer_styles."""
    drawn = (
        ("zones", zones_style(), "Outlines, small zones over large ones"),
        (
            "desire_lines",
            lines_style(lines["trips"]),
            "Width and colour by trips; each direction on its right-hand side",
        ),
    )
    return pd.DataFrame(
        {
            "f_table_catalog": "",
            "f_table_schema": "",
            "f_table_name": [name for name, *_ in drawn],
            "f_geometry_column": "geom",
            "styleName": [name for name, *_ in drawn],
            "styleQML": [style for _, style, _ in drawn],
            "styleSLD": "",
            "useAsDefault": True,
            "description": [meaning for *_, meaning in drawn],
            "owner": "odanon",
            "ui": None,
            "update_time": pd.Timestamp("2000-01-01", tz="UTC"),  # the same export has the same bytes
        }
    )


def zones_style() -> str:
    """Light areas with thin outlines; zones may lie inside each other, so the smaller ones are drawn last."""
    root, renderer = _renderer("singleSymbol", order='"area_km2"', ascending=False)
    fill = {"color": _rgba("#f4f1ea"), "outline_color": _rgba("#b3aca0"), "outline_width": "0.15", "style": "solid"}
    _symbol(Xml.SubElement(renderer, "symbols"), "0", "fill", "SimpleFill", fill)
    return _text(root, _POLYGON)


def lines_style(trips: pd.Series) -> str:
    """Lines by volume in classes of round numbers, so that there is a legend; rests are grey."""
    root, renderer = _renderer("graduatedSymbol", order='"trips"', ascending=True)
    renderer.set("attr", "trips")
    ranges, symbols = Xml.SubElement(renderer, "ranges"), Xml.SubElement(renderer, "symbols")
    edges = class_edges(trips)
    styles = _CLASSES[-(len(edges) - 1) :]
    for at, (lower, upper, (colour, width)) in enumerate(zip(edges, edges[1:], styles, strict=False)):
        told = {"lower": str(lower), "upper": str(upper), "label": f"{lower:,} – {upper:,}"}
        Xml.SubElement(ranges, "range", {**told, "symbol": str(at), "render": "true"})
        # Both directions of a pair lie on one line: half a width to the side, they lie beside each other.
        line = {
            "line_color": _rgba(colour),
            "line_width": f"{width}",
            "offset": f"{width / 2 + 0.08:.2f}",
            "capstyle": "flat",
        }
        layer = _symbol(symbols, str(at), "line", "SimpleLine", line)
        _defined(layer, "outlineColor", f"if(\"kind\" = 'rest', '{_GREY}', '{colour}')")
    return _text(root, _LINE)


def class_edges(trips: pd.Series) -> list[int]:
    """Edges of at most five classes that hold all numbers, at 1, 2 or 5 times a power of ten; the lowest class takes the rest."""
    if trips.empty:
        return [0, 1]
    low, high = int(trips.min()), int(trips.max())
    top = max(floor(log10(max(high, 1))), 0)
    round_numbers = [int(step * 10**power) for power in range(top + 1) for step in _STEPS]
    inside = [number for number in round_numbers if low < number < high]
    return [low, *inside[-(len(_CLASSES) - 1) :], max(high, low + 1)]


def _renderer(kind: str, order: str, ascending: bool) -> tuple[Xml.Element, Xml.Element]:
    root = Xml.Element("qgis", {"version": "3.22.0", "styleCategories": "Symbology"})
    renderer = Xml.SubElement(root, "renderer-v2", {"type": kind, "symbollevels": "0", "enableorderby": "1"})
    clauses = Xml.SubElement(renderer, "orderby")
    clause = Xml.SubElement(clauses, "orderByClause", {"asc": str(int(ascending)), "nullsFirst": "0"})
    clause.text = order
    return root, renderer


def _symbol(parent: Xml.Element, name: str, kind: str, drawing: str, told: dict[str, str]) -> Xml.Element:
    symbol = Xml.SubElement(parent, "symbol", {"type": kind, "name": name, "alpha": "1"})
    layer = Xml.SubElement(symbol, "layer", {"class": drawing, "enabled": "1", "pass": "0", "locked": "0"})
    for key, value in told.items():
        Xml.SubElement(layer, "prop", {"k": key, "v": value})
    return layer


def _defined(layer: Xml.Element, what: str, expression: str) -> None:
    """A property that QGIS works out for each feature."""
    around = Xml.SubElement(Xml.SubElement(layer, "data_defined_properties"), "Option", {"type": "Map"})
    Xml.SubElement(around, "Option", {"name": "name", "type": "QString", "value": ""})
    listed = Xml.SubElement(around, "Option", {"name": "properties", "type": "Map"})
    one = Xml.SubElement(listed, "Option", {"name": what, "type": "Map"})
    Xml.SubElement(one, "Option", {"name": "active", "type": "bool", "value": "true"})
    Xml.SubElement(one, "Option", {"name": "expression", "type": "QString", "value": expression})
    Xml.SubElement(one, "Option", {"name": "type", "type": "int", "value": "3"})
    Xml.SubElement(around, "Option", {"name": "type", "type": "QString", "value": "collection"})


def _rgba(colour: str) -> str:
    return ",".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5)) + ",255"


def _text(root: Xml.Element, geometry: str) -> str:
    Xml.SubElement(root, "layerGeometryType").text = geometry
    return Xml.tostring(root, encoding="unicode")
