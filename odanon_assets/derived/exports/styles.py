"""How QGIS draws the layers of a GeoPackage: its table layer_styles, which QGIS reads by itself."""

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as Xml

import pandas as pd

_POLYGON, _LINE = "2", "1"  # QGIS's numbers of kinds of geometry
# The share of lines below each class, from thin and pale to wide and dark, and their colour and millimetres.
_CLASSES = (
    (0.0, "#c6d7e6", 0.1),
    (0.5, "#94b8d6", 0.2),
    (0.8, "#5592c3", 0.4),
    (0.95, "#2166ac", 0.7),
    (0.99, "#08306b", 1.2),
)
_REST, _HAIR = "#d9d4cb", 0.1


def layer_styles(lines: pd.DataFrame) -> pd.DataFrame:
    """The default styles of the layers zones and desire_lines, as rows of the table layer_styles."""
    drawn = (
        ("zones", zones_style(), "Outlines, small zones over large ones"),
        (
            "desire_lines",
            lines_style(lines),
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
    root, renderer = _renderer("singleSymbol", ('"area_km2"',), ascending=False)
    fill = {"color": _rgba("#f4f1ea"), "outline_color": _rgba("#b3aca0"), "outline_width": "0.15", "style": "solid"}
    _symbol(Xml.SubElement(renderer, "symbols"), "0", "fill", "SimpleFill", fill)
    return _text(root, _POLYGON)


def lines_style(lines: pd.DataFrame) -> str:
    """Lines by volume in classes, so that there is a legend; rests are hairlines under all of them."""
    root, renderer = _renderer("graduatedSymbol", ("\"kind\" = 'flow'", '"trips"'), ascending=True)
    renderer.set("attr", "trips")
    ranges, symbols = Xml.SubElement(renderer, "ranges"), Xml.SubElement(renderer, "symbols")
    for at, (lower, upper, colour, width) in enumerate(_classes(lines)):
        told = {"lower": str(lower), "upper": str(upper), "label": f"{lower:,} to {upper:,} trips"}
        Xml.SubElement(ranges, "range", {**told, "symbol": str(at), "render": "true"})
        # Both directions of a pair lie on one line: half a width to the side, they lie beside each other.
        line = {
            "line_color": _rgba(colour),
            "line_width": f"{width}",
            "offset": f"{width / 2:.2f}",
            "capstyle": "round",
        }
        layer = _symbol(symbols, str(at), "line", "SimpleLine", line)
        rest = {"outlineColor": (f"'{_REST}'", f"'{colour}'"), "outlineWidth": (f"{_HAIR}", f"{width}")}
        _defined(layer, {what: f"if(\"kind\" = 'rest', {one}, {other})" for what, (one, other) in rest.items()})
    return _text(root, _LINE)


def _classes(lines: pd.DataFrame) -> list[tuple[int, int, str, float]]:
    """Lower and upper edge, colour and width of classes that hold all lines; the busiest flows are few, and seen first."""
    if lines.empty:
        return []
    flows = lines.loc[lines["kind"] == "flow", "trips"]
    counted = lines["trips"] if flows.empty else flows
    lowest, highest = int(lines["trips"].min()), int(lines["trips"].max())
    edges = {int(counted.quantile(share, interpolation="lower")): (colour, width) for share, colour, width in _CLASSES}
    starts = sorted({lowest, *edges} - {highest} or {lowest})
    styles = [edges.get(start, _CLASSES[0][1:]) for start in starts]
    return [(low, high, *style) for low, high, style in zip(starts, [*starts[1:], highest], styles, strict=True)]


def _renderer(kind: str, order: Sequence[str], ascending: bool) -> tuple[Xml.Element, Xml.Element]:
    root = Xml.Element("qgis", {"version": "3.22.0", "styleCategories": "Symbology"})
    renderer = Xml.SubElement(root, "renderer-v2", {"type": kind, "symbollevels": "0", "enableorderby": "1"})
    clauses = Xml.SubElement(renderer, "orderby")
    for expression in order:
        clause = Xml.SubElement(clauses, "orderByClause", {"asc": str(int(ascending)), "nullsFirst": "0"})
        clause.text = expression
    return root, renderer


def _symbol(parent: Xml.Element, name: str, kind: str, drawing: str, told: dict[str, str]) -> Xml.Element:
    symbol = Xml.SubElement(parent, "symbol", {"type": kind, "name": name, "alpha": "0.9"})
    layer = Xml.SubElement(symbol, "layer", {"class": drawing, "enabled": "1", "pass": "0", "locked": "0"})
    for key, value in told.items():
        Xml.SubElement(layer, "prop", {"k": key, "v": value})
    return layer


def _defined(layer: Xml.Element, properties: Mapping[str, str]) -> None:
    """Properties that QGIS works out for each feature, by an expression."""
    around = Xml.SubElement(Xml.SubElement(layer, "data_defined_properties"), "Option", {"type": "Map"})
    Xml.SubElement(around, "Option", {"name": "name", "type": "QString", "value": ""})
    listed = Xml.SubElement(around, "Option", {"name": "properties", "type": "Map"})
    for what, expression in properties.items():
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
