"""The DCAT record, read back as RDF by a reader of its own."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import shapely
from bundles import accept, bundle
from rdflib import DCTERMS, FOAF, RDF, Graph, Literal, Namespace, URIRef

from odanon_assets.derived.export import Format
from odanon_assets.stores.embedded import EmbeddedStore

BASE = "https://example.org/town/"
DCAT = Namespace("http://www.w3.org/ns/dcat#")
SPDX, VCARD = Namespace("http://spdx.org/rdf/terms#"), Namespace("http://www.w3.org/2006/vcard/ns#")
DATASET = URIRef(f"{BASE}dcat.jsonld#dataset")


def graph(out: Path) -> Graph:
    return Graph().parse(out / "dcat.jsonld", format="json-ld", publicID=f"{BASE}dcat.jsonld")


def test_the_record_tells_what_the_manifests_tell(
    town: Callable[..., EmbeddedStore], exported: Callable[[Format], Path]
) -> None:
    town()
    told = graph(exported(Format.csv))
    assert told.value(DATASET, RDF.type) == DCAT.Dataset
    assert told.value(DATASET, DCTERMS.title) == Literal("Trips in the town")
    assert told.value(told.value(DATASET, DCTERMS.publisher), FOAF.name) == Literal("team")
    assert told.value(DATASET, DCTERMS.license) == URIRef("https://spdx.org/licenses/CC-BY-4.0.html")
    assert (DATASET, DCAT.contactPoint, None) not in told  # "team" is no address
    period = told.value(DATASET, DCTERMS.temporal)
    # Two days of Paris, of which the second has 23 hours.
    assert told.value(period, DCAT.startDate).toPython().isoformat() == "2026-03-27T23:00:00+00:00"
    assert told.value(period, DCAT.endDate).toPython().isoformat() == "2026-03-29T22:00:00+00:00"
    area = shapely.from_wkt(str(told.value(told.value(DATASET, DCTERMS.spatial), DCAT.bbox)))
    assert area.bounds == (0, 0, 3, 1)


def test_every_file_is_a_distribution_with_size_and_checksum(
    town: Callable[..., EmbeddedStore], exported: Callable[[Format], Path]
) -> None:
    town()
    out = exported(Format.csv)
    told = graph(out)
    found = {}
    for each in told.objects(DATASET, DCAT.distribution):
        path = out / str(told.value(each, DCAT.downloadURL)).removeprefix(BASE)
        found[path.name] = str(told.value(each, DCAT.mediaType)).rsplit("media-types/")[1]
        assert told.value(each, DCAT.byteSize).toPython() == path.stat().st_size
        checksum = told.value(each, SPDX.checksum)
        assert told.value(checksum, SPDX.algorithm) == SPDX.checksumAlgorithm_sha256
        digest = told.value(checksum, SPDX.checksumValue)
        assert str(digest) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found == {"flows.csv": "text/csv", "zones.csv": "text/csv", "releases.json": "application/json"}


def test_an_owner_with_an_address_is_the_contact(store: EmbeddedStore, exported: Callable[[Format], Path]) -> None:
    store.publish(bundle(owner="data@town.example"), accept)
    told = graph(exported(Format.csv))
    contact = told.value(DATASET, DCAT.contactPoint)
    assert told.value(contact, VCARD.hasEmail) == URIRef("mailto:data@town.example")
