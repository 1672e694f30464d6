"""Draw layers with the real QGIS: `/usr/bin/python3 qgis_map.py image.png style.gpkg LAYER...`, topmost layer first.

A layer is a source that QGIS knows: `ogr:FILE|layername=NAME`, or `postgres:CONNECTION`. One from a database gets the style that the
GeoPackage has for a layer of its name, since views carry none. Prints what became of each layer, as JSON. It is run by the Python that QGIS
was built for, so it imports nothing of ours.
"""

import json
import sys

from qgis.core import (
    QgsApplication,
    QgsDataSourceUri,
    QgsMapRendererParallelJob,
    QgsMapSettings,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QSize
from qgis.PyQt.QtGui import QColor


def loaded(told: str, styles: str) -> QgsVectorLayer:
    """A layer with its style."""
    provider, source = told.split(":", 1)
    name = QgsDataSourceUri(source).table() if provider == "postgres" else source.rsplit("=", 1)[1]
    layer = QgsVectorLayer(source, name, provider)
    if provider == "postgres":
        like = QgsVectorLayer(f"{styles}|layername={name}", name, "ogr")
        layer.setRenderer(like.renderer().clone())
    return layer


def draw(layers: list, image: str) -> None:
    """All layers on white, where the topmost one is."""
    extent = layers[0].extent()
    extent.scale(1.1)
    settings = QgsMapSettings()
    settings.setLayers(layers)
    settings.setDestinationCrs(layers[0].crs())
    settings.setExtent(extent)
    settings.setOutputSize(QSize(1200, 900))
    settings.setOutputDpi(120)
    settings.setBackgroundColor(QColor("white"))
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    job.renderedImage().save(image)


def main() -> None:
    image, styles, *sources = sys.argv[1:]
    application = QgsApplication([], False)
    application.initQgis()
    layers = [loaded(source, styles) for source in sources]
    told = [
        {
            "name": layer.name(),
            "valid": layer.isValid(),
            "features": layer.featureCount(),
            "renderer": layer.renderer().type() if layer.isValid() else None,
            "classes": [item.label() for item in layer.renderer().legendSymbolItems()] if layer.isValid() else [],
        }
        for layer in layers
    ]
    draw(layers, image)
    print(json.dumps(told))
    layers.clear()  # before QGIS goes, or it crashes
    application.exitQgis()


main()
