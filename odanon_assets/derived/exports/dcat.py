"""The record of an export for data catalogues: DCAT 3 as JSON-LD, from the manifests and the data package."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from odanon_assets.derived.exports.datapackage import NAME as PACKAGE
from odanon_assets.stores.interface import window_of

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

NAME = "dcat.jsonld"
_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"


def record(package: dict[str, Any], manifests: list[dict[str, Any]], zones: "GeoDataFrame") -> dict[str, Any]:
    """The data set with its extent in time and space, and a distribution for each file.

    Names are relative to where the record lies, since nobody here knows where it will be put.
    """
    owner = manifests[-1]["owner"]
    windows = [window_of(manifest) for manifest in manifests]
    licence = {"@id": package["licenses"][0]["path"]}
    return {
        "@context": _CONTEXT,
        "@id": "#dataset",
        "@type": "dcat:Dataset",
        "dcterms:title": package["title"],
        "dcterms:description": package["description"],
        "dcterms:identifier": [manifest["release_id"] for manifest in manifests],
        "dcterms:publisher": {"@type": "foaf:Agent", "foaf:name": owner},
        **({"dcat:contactPoint": _contact(owner)} if "@" in owner else {}),
        "dcterms:license": licence,
        "dcterms:temporal": _period(min(start for start, _ in windows), max(end for _, end in windows)),
        "dcterms:spatial": _box(zones),
        "rdfs:seeAlso": {"@id": PACKAGE},
        "dcat:distribution": [_distribution(resource, licence) for resource in package["resources"]],
    }


def _contact(address: str) -> dict[str, Any]:
    return {"@type": "vcard:Kind", "vcard:fn": address, "vcard:hasEmail": {"@id": f"mailto:{address}"}}


def _period(start: datetime, end: datetime) -> dict[str, Any]:
    bounds = {"dcat:startDate": start, "dcat:endDate": end}
    typed = {key: {"@type": "xsd:dateTime", "@value": f"{at:%Y-%m-%dT%H:%M:%SZ}"} for key, at in bounds.items()}
    return {"@type": "dcterms:PeriodOfTime", **typed}


def _box(zones: "GeoDataFrame") -> dict[str, Any]:
    west, south, east, north = (round(float(edge), 6) for edge in zones.total_bounds)
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    text = f"POLYGON(({', '.join(f'{x} {y}' for x, y in corners)}))"
    return {"@type": "dcterms:Location", "dcat:bbox": {"@type": "geo:wktLiteral", "@value": text}}


def _distribution(resource: dict[str, Any], licence: dict[str, str]) -> dict[str, Any]:
    algorithm, digest = resource["hash"].split(":")
    checksum = {
        "@type": "spdx:Checksum",
        "spdx:algorithm": {"@id": f"spdx:checksumAlgorithm_{algorithm}"},
        "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": digest},
    }
    return {
        "@id": f"#{resource['name']}",
        "@type": "dcat:Distribution",
        "dcterms:title": resource["path"],
        **({"dcterms:description": resource["description"]} if "description" in resource else {}),
        "dcterms:license": licence,
        "dcat:downloadURL": {"@id": resource["path"]},
        "dcat:mediaType": {"@id": f"{_MEDIA_TYPES}{resource['mediatype']}"},
        "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(resource["bytes"])},
        "spdx:checksum": checksum,
    }
