"""The styles that QGIS finds in a GeoPackage; test_qgis.py has them drawn."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as Xml

import pandas as pd
import pyogrio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon_assets.derived.export import Format
from odanon_assets.derived.exports.styles import lines_style
from odanon_assets.stores.embedded import EmbeddedStore


def test_a_geopackage_has_a_default_style_for_zones_and_for_lines(
    town: Callable[..., EmbeddedStore], exported: Callable[[Format], Path]
) -> None:
    town()
    path = exported(Format.gpkg) / "town.gpkg"
    styles = pyogrio.read_dataframe(path, layer="layer_styles").set_index("f_table_name")
    assert {*styles.index} == {"zones", "desire_lines"}
    assert styles["useAsDefault"].all()
    for layer, style in styles.iterrows():
        assert pyogrio.read_info(path, layer=str(layer))["geometry_name"] == style["f_geometry_column"]
        assert Xml.fromstring(style["styleQML"]).find("renderer-v2") is not None


@given(st.lists(st.tuples(st.integers(0, 10**7), st.sampled_from(["flow", "rest"])), min_size=1, max_size=40))
def test_every_line_falls_into_a_class(lines: list[tuple[int, str]]) -> None:
    table = pd.DataFrame(lines, columns=["trips", "kind"])
    style = Xml.fromstring(lines_style(table))
    ranges = [(int(each.get("lower", "")), int(each.get("upper", ""))) for each in style.iter("range")]
    assert len(ranges) == len([*style.iter("symbol")]) <= 6
    assert all(low <= high for low, high in ranges)
    assert [high for _, high in ranges[:-1]] == [low for low, _ in ranges[1:]]
    assert ranges[0][0] == table["trips"].min()
    assert ranges[-1][1] == table["trips"].max()


def test_no_lines_are_no_mistake() -> None:
    assert Xml.fromstring(lines_style(pd.DataFrame({"trips": [], "kind": []}))).findall(".//range") == []


@pytest.mark.parametrize("kind", ["flow", "rest"])
def test_busier_classes_are_wider(kind: str) -> None:
    style = Xml.fromstring(lines_style(pd.DataFrame({"trips": range(10, 500), "kind": kind})))
    widths = [float(prop.get("v", "")) for prop in style.iter("prop") if prop.get("k") == "line_width"]
    assert len(widths) == 5
    assert widths == sorted(widths)
